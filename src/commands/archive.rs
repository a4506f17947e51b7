//! `archive`: writes the archive of a tree, with its reports.

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

use sluice_base::{
    error::{Error, ExitKind, Result, format_bytes},
    io::print_line,
    progress::{Console, Meter, Terminal, Total},
};
use sluice_cli as cli;
use sluice_cli::{Args, CliError, RawArgs};
use sluice_core::context::{Context, Opened};
use sluice_core::{
    archive::{self, ArchiveOutputs, RunStats},
    cache::Account,
    output::{self, Destination, report::Reports},
    request::{self, Access, Purpose, Request, format::Formats},
};
use sluice_git::{
    convert::Shareable,
    environment::Environment,
    repository::{Repository, promisor::FetchAccount},
};

/// Writes the archive that `words` describe. Mistakes are reported in git's order: that of these lines.
pub(super) fn run(words: RawArgs<'_>, mut context: Context<'_>) -> Result<(), CliError> {
    let exists = |file: &OsStr| context.directory().file(file).path.exists();
    let words = words.first_pass(exists)?;
    if words.remote.is_some() {
        return Err(context.runtime.become_git(words.for_git()?).into());
    }
    let opened = context.open()?;
    let output = words.output.clone();
    let destination = match &output {
        Some(path) => {
            let mut file = context.directory().file(path);
            if let Ok(repository) = &opened.repository
                && path.is_relative()
            {
                // Messages have the name from the top, as those of git.
                let name = [&repository.prefix[..], path.as_os_str().as_bytes()].concat();
                file.name = OsString::from_vec(name).into();
            }
            let created = Destination::create(&file, |file| context.runtime.watch(file));
            created.map_err(|error| hint_at_home(path, error, context.environment))?
        }
        None => context.runtime.output()?,
    };
    let (options, extras) = words.second_pass(|word| context.extras(word, &opened.repository))?;
    if context.access == Access::Remote && !extras.is_empty() {
        let refused = "options '--add-file' and '--remote' cannot be used together";
        return Err(Error::fatal(refused).into());
    }
    if options.list {
        return Ok(list(&options, &opened.formats, destination)?);
    }
    let mut args = options.args(extras, output);
    args.fail_if_varies = options.reports.fail_if_varies;
    let Opened {
        repository,
        formats,
        environment,
    } = context.adjust(&mut args, opened)?;
    let command = ArchiveCommand {
        options: &options,
        args: &args,
        formats: &formats,
        environment: &environment,
        context,
    };
    Ok(command.report(repository, destination)?)
}

/// The `error` of creating the file at `path`, with a hint if a shell did not replace its `~`. A caller of git gets the words of
/// git alone.
fn hint_at_home(path: &Path, error: Error, environment: &Environment) -> Error {
    match path.strip_prefix("~") {
        Ok(below) if !environment.sluice.stands_in => {
            let below = below.as_os_str().as_bytes();
            error.hinted(format_bytes(r#"-o "$HOME"/{}"#, &[below]))
        }
        _ => error,
    }
}

/// Lists the formats.
fn list(options: &cli::Archive, formats: &Formats, mut destination: Destination) -> Result<()> {
    if let Some(word) = &options.described.content.treeish {
        let refused = format_bytes("extra command line parameter '{}'", &[word.as_bytes()]);
        return Err(Error::fatal(refused));
    }
    let names: String = formats.names().map(|name| format!("{name}\n")).collect();
    let written = destination.write_all(names.as_bytes());
    match written.map_err(|error| Error::write(&error)) {
        // git writes a list when its program exits, and does not check whether it fits.
        Err(error) if error.kind() != ExitKind::BrokenPipe => Ok(()),
        Err(error) => Err(error),
        Ok(()) => destination.complete(),
    }
}

/// An archive whose options are understood.
struct ArchiveCommand<'a> {
    options: &'a cli::Archive,
    args: &'a Args,
    formats: &'a Formats,
    environment: &'a Environment,
    context: Context<'a>,
}

impl ArchiveCommand<'_> {
    /// Writes the archive, and its reports.
    fn report(mut self, repository: Result<Repository>, destination: Destination) -> Result<()> {
        let (manifest, summary) = (
            &self.options.reports.manifest,
            &self.options.reports.summary,
        );
        let reports = Reports::open(
            manifest.as_deref(),
            summary.as_deref(),
            self.args.output.as_deref(),
            self.context.directory(),
            &|number| self.context.runtime.band(number),
        )?;
        let is_served = self.context.access == Access::Remote;
        let log = request::run_log(self.environment, &repository, is_served)?;
        let mut reports = reports.with_log(log);
        let fetches = FetchAccount::new(self.screen().is_some());
        let described = (self.args, self.formats, self.environment);
        let inputs = self.context.inputs(described, Purpose::Archive, &fetches);
        let mut stats = RunStats::default();
        let mut shareable = Shareable::default();
        let request = Request::resolve(inputs, repository, self.context.messages);
        let outcome = request.and_then(|request| {
            stats.summary.subject = Some(request.content.subject());
            shareable = request.run.shareable.clone();
            request.run.warn(self.context.messages);
            if request.is_known(&self.args.condition) {
                Err(Error::not_modified())
            } else if self.args.fail_if_varies {
                let request = archive::refuse_varying(request, self.context.messages)?;
                self.archive(request, destination, &mut reports, &mut stats)
            } else {
                self.archive(request, destination, &mut reports, &mut stats)
            }
        });
        stats.summary.fetch = fetches.sums();
        stats.summary.varies = shareable.varies();
        reports.finish(stats.summary, outcome)
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
            return Err(
                refused.hinted("use a pipe or -o <file>; -o /dev/stdout forces the terminal")
            );
        }
        let is_filtered = request.content.format.command().is_some();
        stats.summary.is_filtered = is_filtered;
        let mut destination = if request.run.cache.is_some() || is_filtered {
            destination.into_file()?
        } else {
            destination
        };
        let mut length = None;
        stats.manifest = reports.manifest(&request.manifest_header(), || {
            length = archive::archive_length(&request);
            length
        })?;
        let meter = self.meter(&request, length);
        self.make(request, &mut destination, meter, stats)?;
        destination.complete()?;
        if let Some(manifest) = stats.manifest.take() {
            manifest.end()?;
        }
        let is_empty = stats.summary.counts.files == 0;
        if self.options.reports.fail_if_empty && is_empty {
            Err(Error::empty())
        } else {
            Ok(())
        }
    }

    fn make(
        &mut self,
        mut request: Request,
        destination: &mut Destination,
        meter: Meter,
        stats: &mut RunStats,
    ) -> Result<()> {
        archive::refuse_large(&request)?;
        let screen = self.screen();
        let console = Console::new(&mut *self.context.messages, screen);
        if let Some(range) = request.run.range {
            let outputs = ArchiveOutputs {
                destination,
                console,
                meter,
            };
            return archive::send_range(request, range, outputs, stats);
        }
        let command = request.content.format.command();
        let context = &request.content.archived().command_context;
        let filter = command.map(|command| destination.filter(command, context));
        let mut filter = filter.transpose()?;
        let file = match &filter {
            Some(filter) => filter.file(),
            None => destination.file(),
        };
        match (request.run.cache.take(), file) {
            (Some(cache), Some(file)) => {
                archive::share(&cache, request, file, console, meter, stats)?;
                self.warn_of_cache(stats.summary.cache.as_ref());
            }
            _ => {
                let destination: &mut (dyn Write + Send) = match &mut filter {
                    Some(filter) => filter,
                    None => destination,
                };
                let outputs = ArchiveOutputs {
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
            let text = format_bytes("--cache='{}' is not used: {}", &values);
            print_line(self.context.messages, "warning: ", &text);
        }
    }

    /// Measures progress. The `length` of the archive need not be worked out again if it is known.
    fn meter(&self, request: &Request, length: Option<u64>) -> Meter {
        let total = match (self.screen(), length) {
            (None, _) => Total::Unknown,
            (Some(_), Some(length)) => Total::Bytes(length),
            (Some(_), None) => total(request),
        };
        Meter::new("Archiving", total)
    }

    fn screen(&self) -> Option<Terminal> {
        self.context.screen(&self.options.progress)
    }
}

/// The bytes of the archive that `request` asks for, before compression.
pub(super) fn total(request: &Request) -> Total {
    let mut request = request.clone();
    // The archive needs the other threads.
    request.run.threads = Some(1);
    Total::Measured(Box::new(|| archive::tar_length(request)))
}
