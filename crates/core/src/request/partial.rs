//! Requests of a repository that may lack objects: those that the meaning of a request depends on are fetched, or noted.

use std::io::{self, Write};

use bstr::BStr;

use super::{
    Budget, Request,
    archived::ArchivedRepository,
    inputs::{Inputs, Preflight},
    view_builder::Fetching,
};
use crate::filter::access::AccessRules;
use sluice_base::error::{Error, ExitKind, Result};
use sluice_cli::Submodules;
use sluice_git::{
    objects::{
        reader::Reader,
        wanted::{Missing, MissingObjects},
    },
    odb::Odb,
    repository::{
        Repository,
        promisors::{self, Fetched, Lazy, Promisors},
    },
};

impl Request {
    /// Works out what `inputs` ask of `repository`; warnings go to `diagnostics`. A missing repository is
    /// an error only after the options that git checks before.
    pub fn resolve(
        inputs: Inputs<'_>,
        repository: Result<Repository>,
        diagnostics: &mut dyn Write,
    ) -> Result<Self> {
        let known = inputs.known(repository)?;
        match inputs.promisors(&known) {
            Some(promisors) => inputs.fetched_request(&known, promisors, diagnostics),
            None => {
                let reader = Reader::new(known.repository.odb());
                inputs.request(&known, reader, None, diagnostics)
            }
        }
    }
}

/// The request for which a repository may lack objects, to be resolved as often as they are looked for.
pub struct PartialRequest<'a> {
    inputs: Inputs<'a>,
    known: Preflight<'a>,
}

impl<'a> PartialRequest<'a> {
    /// Checks the options in `inputs` that git checks before it reads an object of `repository`.
    pub fn new(inputs: Inputs<'a>, repository: Result<Repository>) -> Result<Self> {
        let known = inputs.known(repository)?;
        Ok(Self { inputs, known })
    }

    /// The request as far as it can be worked out, with missing objects noted in `wanted`. Warnings go to `diagnostics`.
    pub fn resolve(&self, wanted: &MissingObjects, diagnostics: &mut dyn Write) -> Result<Request> {
        let reader = Reader::new(self.odb()).recording_missing(wanted);
        self.inputs.request(&self.known, reader, None, diagnostics)
    }

    /// The failure of the system to open what may hold an object that seems `missing`, if it fails.
    pub fn refusal(&self, missing: &[Missing]) -> Option<Error> {
        let mut odb = self.odb();
        let objects = missing.iter().filter(|it| it.submodule.is_empty());
        objects.for_each(|object| {
            odb.find(&object.id);
        });
        odb.refusal()
    }

    fn odb(&self) -> Odb {
        self.known.repository.odb()
    }

    /// Room for the missing objects that are held at once.
    pub fn wanted(&self) -> MissingObjects {
        self.inputs.wanted()
    }

    /// The access rules of the reader.
    pub fn access(&self) -> Option<&AccessRules> {
        self.known.filters.access.as_deref()
    }
}

impl<'a> Inputs<'a> {
    /// Room for the missing objects that are held at once.
    fn wanted(self) -> MissingObjects {
        MissingObjects::within(Budget::new(self.args.run.memory).wanted())
    }

    /// The sources of missing objects, if they are fetched: those of submodules are found with the submodules.
    fn promisors(self, known: &Preflight<'_>) -> Option<Promisors> {
        if !self.purpose.fetches() || !known.filters.fetches() {
            return None;
        }
        let lazy = if self.environment.no_lazy_fetch {
            Lazy::Forbidden
        } else {
            Lazy::Allowed
        };
        let promisors = Promisors::new(lazy, self.fetches.clone());
        promisors.add(BStr::new(""), &known.repository);
        let may_find_more = known.filters.submodules() != Submodules::Dir;
        (may_find_more || !promisors.is_empty()).then_some(promisors)
    }

    /// The request, with the trees and other objects that its meaning depends on fetched from `promisors`: each attempt
    /// finds what is missing for the next one.
    fn fetched_request(
        self,
        known: &Preflight<'a>,
        promisors: Promisors,
        diagnostics: &mut dyn Write,
    ) -> Result<Request> {
        let is_redacted = self.args.filters.access_rules.is_some();
        let wanted = self.wanted().redacted(is_redacted);
        let noted = promisors.noted(BStr::new(""), &known.repository.location, &wanted);
        let fetching = Fetching {
            promisors: &promisors,
            wanted: &wanted,
        };
        let reader = || Reader::new(known.repository.odb());
        loop {
            let noting = match &noted {
                Some(noted) => reader().recording_missing(noted),
                None => reader(),
            };
            let mut warnings = Vec::new();
            let request = self.request(known, noting, Some(fetching), &mut warnings);
            let missing = wanted.take();
            if missing.is_empty() {
                let _ = diagnostics.write_all(&warnings);
                let mut request = request?;
                let repositories = std::mem::take(&mut request.content.repositories).into_iter();
                let repositories = repositories.map(ArchivedRepository::failing_on_missing);
                request.content.repositories = repositories.collect();
                request.run.promisors = (!promisors.is_empty()).then_some(promisors);
                return Ok(request);
            }
            match promisors.fetch(missing, diagnostics)? {
                Fetched::All => {}
                Fetched::Unpromised => return self.request(known, reader(), None, diagnostics),
                // What is missing may be the base, which the caller can do without.
                Fetched::Lost(lost) => {
                    let failure = self.request(known, reader(), None, &mut io::sink()).err();
                    let failure = failure.filter(|it| it.kind() == ExitKind::NoBase);
                    return Err(match failure {
                        Some(failure) => promisors::without_base(failure, &lost),
                        None => promisors.could_not_fetch(&lost),
                    });
                }
            }
        }
    }
}
