//! The archive of an invocation, or what is asked about one, with its reports.

use std::{io::Write, os::unix::ffi::OsStrExt};

use super::streams::Streams;
use crate::{
    archive::{self, Outputs, RunStats},
    base::error::{Error, Result, filled, push_line},
    cache::Account,
    cli::Args,
    commands::preview,
    git::repository::{Repository, environment::Environment, promisor::FetchAccount},
    output::{
        self, Destination,
        report::{Console, Meter, Reports, Screen, Total},
    },
    request::{
        Access, Inputs, Request,
        format::{Format, Formats},
    },
};

/// An invocation whose words are understood.
pub(super) struct Invocation<'a> {
    pub(super) args: &'a Args,
    pub(super) formats: &'a Formats,
    pub(super) environment: &'a Environment,
    pub(super) access: Access,
    pub(super) streams: Streams<'a>,
}

impl Invocation<'_> {
    /// Makes the archive, or tells of it.
    pub(super) fn carry_out(
        mut self,
        repository: Result<Repository>,
        destination: Destination,
    ) -> Result<()> {
        let args = self.args;
        let wanted = &args.filters;
        let (manifest, summary) = (wanted.manifest.as_deref(), wanted.summary.as_deref());
        let mut reports = Reports::open(
            manifest,
            summary,
            args.output.as_deref(),
            self.environment.directory(),
            self.streams.bands,
        )?;
        let fetches = FetchAccount::new(self.screen().is_some());
        let inputs = Inputs {
            args,
            formats: self.formats,
            environment: self.environment,
            access: self.access,
            fetches: &fetches,
        };
        if let Some(place) = &args.fleet.publish {
            return self.publish(place, inputs, repository, destination);
        }
        if args.ours.list_missing {
            return self.list_missing(inputs, repository, destination);
        }
        let mut stats = RunStats::default();
        let mut subject = None;
        let request = Request::resolve(inputs, repository, self.streams.messages);
        let outcome = request.and_then(|request| {
            subject = Some(request.subject());
            request.warn(self.streams.messages);
            self.answer(request, destination, &mut reports, &mut stats)
        });
        stats.figures.fetched = fetches.sums();
        let failure = outcome.as_ref().err();
        let reported = reports.finish(
            subject,
            stats.figures,
            failure.filter(|error| error.is_cut()),
        );
        outcome.and(reported)
    }

    /// Sends what `request` asks for, or what is asked about it.
    fn answer(
        &mut self,
        request: Request,
        mut destination: Destination,
        reports: &mut Reports,
        stats: &mut RunStats,
    ) -> Result<()> {
        let wanted = &self.args.filters;
        if self.is_known(&request) {
            return Err(Error::not_modified());
        }
        match () {
            () if !wanted.explain.is_empty() => {
                let paths = wanted.explain.iter().map(|path| path.as_bytes());
                preview::explain(request, paths, &mut destination)?;
            }
            () if wanted.dry_run => preview::list(request, &mut destination)?,
            () if self.args.serving.head => preview::head(request, &mut destination)?,
            () => return self.archive(request, destination, reports, stats),
        }
        destination.complete()
    }

    /// Whether the caller has the archive already.
    fn is_known(&self, request: &Request) -> bool {
        let tags = self.args.serving.if_none_match.as_deref();
        let key = request.tag().ok();
        tags.zip(key).is_some_and(|(tags, key)| key.is_among(tags))
    }

    /// Lists what the archive needs and the repository lacks.
    fn list_missing(
        self,
        inputs: Inputs<'_>,
        repository: Result<Repository>,
        mut destination: Destination,
    ) -> Result<()> {
        let messages = self.streams.messages;
        let has_all = preview::list_missing(inputs, repository, &mut destination, messages)?;
        destination.complete()?;
        match has_all {
            true => Ok(()),
            false => Err(Error::missing()),
        }
    }

    /// Makes what `request` asks for, complete to the last byte.
    fn archive(
        &mut self,
        request: Request,
        destination: Destination,
        reports: &mut Reports,
        stats: &mut RunStats,
    ) -> Result<()> {
        if destination.is_terminal() {
            let refused = Error::fatal("an archive is not written to a terminal");
            return Err(refused.hinted(
                "name a file with -o, or send the archive on through a pipe; -o /dev/stdout writes it here",
            ));
        }
        let is_filtered = matches!(request.format, Format::Filtered(_));
        stats.figures.is_filtered = is_filtered;
        let mut destination = match request.cache.is_some() || is_filtered {
            true => destination.into_file()?,
            false => destination,
        };
        let length = || archive::archive_length(&request);
        stats.manifest = reports.manifest(&request.subject(), length)?;
        let meter = self.meter(&request);
        self.make(request, &mut destination, meter, stats)?;
        destination.complete()?;
        if let Some(manifest) = stats.manifest.take() {
            manifest.end()?;
        }
        let is_empty = stats.figures.counts.files == 0;
        match self.args.filters.fail_if_empty && is_empty {
            true => Err(Error::empty()),
            false => Ok(()),
        }
    }

    fn make(
        &mut self,
        mut request: Request,
        destination: &mut Destination,
        meter: Meter,
        stats: &mut RunStats,
    ) -> Result<()> {
        let screen = self.screen();
        let console = Console::new(&mut *self.streams.messages, screen);
        if let Some(range) = request.range {
            let outputs = Outputs {
                destination,
                console,
                meter,
            };
            return archive::send_range(request, range, outputs, stats);
        }
        let mut filter = match &request.format {
            Format::Filtered(command) => {
                Some(destination.filter(command.as_ref(), &request.command_context)?)
            }
            _ => None,
        };
        let file = match &filter {
            Some(filter) => filter.file(),
            None => destination.file(),
        };
        match (request.cache.take(), file) {
            (Some(cache), Some(file)) => {
                archive::share(&cache, request, file, console, meter, stats)?;
                self.warn_of_cache(stats.figures.cache.as_ref());
            }
            _ => {
                let destination: &mut (dyn Write + Send) = match &mut filter {
                    Some(filter) => filter,
                    None => destination,
                };
                let outputs = Outputs {
                    destination,
                    console,
                    meter,
                };
                archive::run(request, outputs, stats)?;
            }
        }
        filter.map_or(Ok(()), output::CommandFilter::finish)
    }

    /// Warns of a directory that the words name and that cannot be a cache. A directory of the configuration is not for
    /// the user to mend.
    fn warn_of_cache(&mut self, account: Option<&Account>) {
        if let Some(directory) = &self.args.sharing.cache
            && let Some(account) = account.filter(|account| account.is_unusable)
        {
            let reason = account.reason.as_deref().unwrap_or_default();
            let values = [directory.as_bytes(), reason.as_bytes()];
            let mut line = Vec::new();
            push_line(
                &mut line,
                "warning: ",
                &filled("--cache='{}' is not used: {}", &values),
            );
            // As git does not mind whether anybody reads it.
            let _ = self.streams.messages.write_all(&line);
        }
    }

    fn meter(&self, request: &Request) -> Meter {
        let total = self.screen().map(|_| total(request));
        Meter::new("Archiving", total.unwrap_or(Total::Unknown))
    }

    pub(super) fn screen(&self) -> Option<Screen> {
        self.streams.screen(&self.args.ours)
    }
}

/// The bytes of the archive that `request` asks for, before compression.
pub(super) fn total(request: &Request) -> Total {
    let mut request = request.clone();
    // The archive needs the other threads.
    request.threads = Some(1);
    Total::Measured(Box::new(|| archive::tar_length(request)))
}
