//! The steps from arguments to a request, in the order in which git notices that something is wrong.

use std::{cell::RefCell, io::Write, os::unix::ffi::OsStrExt, path::Path, sync::Arc};

use bstr::ByteSlice;
use gix_hash::ObjectId;

use super::{
    Budget, Content, Limits, Request, Run, clock, delta,
    extras::planned,
    format::NamedFormat,
    inputs::{Inputs, Preflight},
    key::KeyInputs,
    purpose::Purpose,
    scope::Scope,
    sharing,
    view_builder::{Fetching, ViewBuilder},
};
use crate::{
    cache::Key,
    plan::{BlobPolicy, read_ahead_if_cold},
};
use sluice_base::error::Result;
use sluice_format::zip::Times;
use sluice_git::{
    objects::reader::Reader,
    pathspec::Top,
    repository::{settings::Umask, treeish::Treeish},
};

impl<'a> Inputs<'a> {
    /// The request, as `reader` finds the objects. With `fetching`, what submodules lack is noted.
    pub(super) fn request(
        self,
        known: &Preflight<'_>,
        mut reader: Reader,
        fetching: Option<Fetching<'_>>,
        diagnostics: &mut dyn Write,
    ) -> Result<Request> {
        let Inputs { args, .. } = self;
        let repository = &known.repository;
        let budget = Budget::new(args.run.memory);
        let limits = match self.purpose {
            Purpose::Archive => Limits::read(repository, self.environment)?,
            _ => Limits::default(),
        };
        if self.is_about_all_files(repository) {
            reader.odb.expect_most(budget.index_ahead());
        }
        let treeish = self.treeish(repository, &known.filters, &mut reader, diagnostics)?;
        known.filters.fit_access(&reader, treeish.tree)?;
        self.fit_relative(known, treeish.tree, &mut reader)?;
        read_ahead_if_cold(&mut reader, treeish.tree, budget.read_ahead());
        let top = self.top(repository);
        let view = self.view_builder(known, (&top, treeish.tree), fetching, &mut reader)?;
        let mut content = self.content(known, &view, treeish, reader, diagnostics)?;
        let cache = sharing::settings(args, self.environment, repository)?;
        let mut decisive = KeyInputs {
            content: &mut content,
            view: &view,
        };
        if args.fail_if_varies {
            decisive.refuse_variation(repository)?;
        }
        let key = if cache.is_some() || self.asks_for_key() {
            decisive.key()
        } else {
            Err("nothing asks for the key".to_owned())
        };
        let family = cache
            .as_ref()
            .and_then(|_| decisive.family(&repository.common_dir).ok());
        let filters_hash = self.filters_hash(&mut decisive);
        delta::fit_filters(&args.delta, filters_hash.as_ref())?;
        if self.notes_filters() {
            content.filters = filters_hash.as_ref().ok().map(Key::hex);
        }
        Ok(Request {
            content,
            run: Run {
                threads: args.run.threads.map(usize::from),
                budget,
                limits,
                verbose: args.verbosity.is_verbose(),
                range: self.range(key.as_ref().ok()),
                shareable: repository.settings.attributes.shareable.clone(),
                cache,
                promisors: None,
                read_ahead: view.read_ahead.into_inner().into(),
                absent_rules: known.filters.absent(),
                dead_rules: known.filters.dead_rules(),
            },
            key,
            family,
            filters_hash,
        })
    }

    /// How trees are seen. `top` is the directory against which absolute pathspecs are read, and `tree` is archived.
    fn view_builder<'b>(
        self,
        known: &'b Preflight<'_>,
        (top, tree): (&'b Path, ObjectId),
        fetching: Option<Fetching<'b>>,
        reader: &mut Reader,
    ) -> Result<ViewBuilder<'b>>
    where
        'a: 'b,
    {
        let Preflight {
            format,
            filters,
            repository,
        } = known;
        let budget = Budget::new(self.args.run.memory);
        let rules = self.tree_rules(repository, budget);
        let mut attributes = self.attributes(repository, (top, tree), format, reader)?;
        attributes.lfs = filters.lfs_files(repository, self.environment, budget)?;
        attributes.needs_files = filters.does_without(repository);
        Ok(ViewBuilder {
            args: self.args,
            purpose: self.purpose,
            filters,
            attributes,
            below: &repository.prefix,
            top: Top {
                path: top.as_os_str().as_bytes().as_bstr(),
                is_work_tree: repository.work_tree.is_some(),
            },
            environment: self.environment,
            text: format.is_zip(),
            rules,
            budget,
            fetching,
            read_ahead: RefCell::default(),
            made: Arc::default(),
        })
    }

    /// What is archived of `treeish`, whose objects `reader` reads.
    fn content(
        self,
        known: &Preflight<'_>,
        view: &ViewBuilder<'_>,
        treeish: Treeish,
        mut reader: Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<Content> {
        let Preflight {
            format,
            filters,
            repository,
        } = known;
        let args = self.args;
        let below = &repository.prefix;
        let scope = view.scope(repository, &mut reader, &treeish, diagnostics);
        let scope = scope.map_err(|error| {
            let error = reader.odb.refusal().unwrap_or(error);
            self.hint_at_base(repository, &mut reader, error)
        })?;
        let Scope {
            mut repositories,
            delta,
        } = scope;
        let naming = repositories[0].tree.view.naming.clone();
        // It has found objects already, and knows of those that the system refused.
        repositories[0].tree.reader = reader;
        let mtime = self.mtime(repository, &treeish)?;
        let is_stable = self.environment.is_stable;
        let times = times(format, mtime, is_stable, self.chooses_time(&treeish))?;
        let directory = self.environment.directory();
        let extras = args.content.extras.iter();
        let extras = extras.map(|extra| planned(extra, directory, below));
        Ok(Content {
            format: self.encoding(format, repository)?,
            format_name: format.name().to_owned(),
            repositories,
            delta,
            blob_policy: Arc::new(BlobPolicy {
                policy: filters.policy(),
                naming,
            }),
            pax_notes: args.filters.pax_notes,
            filters: None,
            extras: extras.collect(),
            mtime,
            times,
            umask: args
                .content
                .umask
                .map_or(repository.settings.umask, Umask::Bits),
        })
    }
}

/// The archive's time as zip tells it; only a zip needs the local time, which is UTC if `in_utc`. A time that git-sluice chooses
/// (`is_chosen`) is one that a zip can have; any other wraps around as in git.
fn times(format: &NamedFormat, seconds: u64, in_utc: bool, is_chosen: bool) -> Result<Times> {
    let (seconds, unix) = if is_chosen {
        let seconds = clock::within_zip(seconds);
        (seconds, seconds.min(u32::MAX.into()))
    } else {
        (seconds, seconds)
    };
    Ok(Times {
        dos: if format.is_zip() {
            clock::dos(seconds, in_utc)?
        } else {
            [0; 2]
        },
        unix: unix as u32,
    })
}
