//! The context of a command: streams, environment, repository. Must not touch the process's own streams.

use std::{
    borrow::Cow,
    ffi::OsString,
    io::{BufReader, Write},
    os::unix::ffi::OsStringExt,
    path::Path,
};

use bstr::{BStr, BString, ByteSlice};
use clap::FromArgMatches;

use crate::runtime::Runtime;
use crate::{
    output::Destination,
    request::{self, Access, Inputs, Purpose, Request, extra_file, format::Formats},
};
use sluice_base::{
    error::{Error, Result},
    io::print_line,
    progress::Terminal,
    working_directory::WorkingDirectory,
};
use sluice_cli::{Args, CliError, Extra, ProgressOptions, RawArgs, Untracked, pathspecs_from};
use sluice_git::{
    config::Config,
    environment::Environment,
    repository::{Repository, config_without_repository, promisor::FetchAccount},
};

/// The context of a command. The caller owns the process and its streams.
pub struct Context<'a> {
    /// Variables and the current directory.
    pub environment: &'a Environment,
    /// For whom an archive is made.
    pub access: Access,
    /// Streams, the repository, and care for unfinished files.
    pub runtime: &'a dyn Runtime,
    /// Takes messages to the user.
    pub messages: &'a mut (dyn Write + Send + 'static),
    /// The place that messages go to. On a terminal, progress is shown unless the words say otherwise.
    pub screen: Terminal,
    /// The most memory that the words may ask for, in bytes.
    pub max_memory: u64,
}

impl<'a> Context<'a> {
    /// The directory in which files are named.
    pub fn directory(&self) -> &WorkingDirectory {
        self.environment.directory()
    }

    /// Where progress is shown, if it is.
    pub fn screen(&self, options: &ProgressOptions) -> Option<Terminal> {
        let is_wanted = options.progress || (!options.no_progress && self.screen.is_terminal);
        is_wanted.then_some(self.screen)
    }

    /// Writes a text as the output of the command.
    pub fn write_text(&self, text: &str) -> Result<()> {
        let mut destination = self.runtime.output()?;
        let written = destination.write_all(text.as_bytes());
        written.map_err(|error| Error::write(&error))?;
        destination.complete()
    }

    /// The repository, its formats and its environment. git's messages about the repository are printed.
    pub fn open(&mut self) -> Result<Opened<'a>> {
        let repository = self.runtime.repository()?;
        if let Ok(repository) = &repository {
            // A failed write of messages is ignored.
            let _ = self.messages.write_all(&repository.messages);
        }
        let formats = match &repository {
            Ok(repository) => self.formats(&repository.config, &repository.directory),
            Err(_) => {
                let config = config_without_repository(self.environment)?;
                self.formats(&config, &self.environment.cwd)
            }
        }?;
        Ok(Opened {
            repository,
            formats,
            environment: Cow::Borrowed(self.environment),
        })
    }

    /// The formats in `config`, whose commands run in `directory`.
    fn formats(&self, config: &Config, directory: &Path) -> Result<Formats> {
        let formats = Formats::read(config, directory)?;
        let formats = if self.environment.sluice.stands_in {
            formats.named_by_git()
        } else {
            formats
        };
        Ok(match self.access {
            Access::Local => formats,
            Access::Remote => formats.served(),
        })
    }

    /// Finds the extra files that a word names, or says what is wrong with them.
    pub fn extras(
        &self,
        word: Untracked<'_>,
        repository: &Result<Repository>,
    ) -> Result<Vec<Extra>> {
        let name = match word {
            Untracked::Directory(name) => return extra_file::below(&self.directory().file(name)),
            Untracked::File(name) => name,
        };
        let below = match repository {
            Ok(repository) => repository.prefix.as_bstr(),
            Err(_) => BStr::new(""),
        };
        let executable = extra_file::examine(&self.directory().file(name), below)?;
        Ok(vec![Extra::file(name, executable)])
    }

    /// The inputs of a request for a `purpose`.
    pub fn inputs<'i>(
        &self,
        (args, formats, environment): (&'i Args, &'i Formats, &'i Environment),
        purpose: Purpose,
        fetches: &'i FetchAccount,
    ) -> Inputs<'i> {
        Inputs {
            args,
            purpose,
            formats,
            environment,
            access: self.access,
            fetches,
        }
    }

    /// Adjusts options: pathspecs that come from a file count as if they were typed, and the memory has a limit. If the bytes
    /// must never change, the settings of what is `opened` do not count from here on. A file that varies fails somebody who asked
    /// for the promise, and not the clients of a host that made it.
    pub fn adjust(&mut self, args: &mut Args, opened: Opened<'a>) -> Result<Opened<'a>> {
        args.run.memory = args.run.memory.min(self.max_memory);
        self.read_pathspecs(args)?;
        args.fail_if_varies |= args.content.stable;
        if let Ok(repository) = &opened.repository {
            if !args.content.stable && request::is_stable(repository, self.environment)? {
                args.content.stable = true;
                if args.delta.base.is_some() || args.filters.pax_notes {
                    let text = b"sluice.stable makes no promise about --base and --pax-notes";
                    print_line(self.messages, "warning: ", text);
                }
            }
            request::fill_host_defaults(args, repository, self.environment)?;
        }
        let repository = match &args.content.relative {
            Some(directory) => opened.repository.and_then(|it| it.seen_from(directory)),
            None => opened.repository,
        };
        if !args.content.stable {
            return Ok(Opened {
                repository,
                ..opened
            });
        }
        let repository = repository.map(Repository::unconfigured);
        Ok(Opened {
            formats: match &repository {
                Ok(repository) => self.formats(&repository.config, &repository.directory)?,
                Err(_) => opened.formats,
            },
            repository,
            environment: Cow::Owned(self.environment.clone().stable()),
        })
    }

    fn read_pathspecs(&self, args: &mut Args) -> Result<()> {
        let content = &mut args.content;
        let Some(file) = &content.pathspec_from_file else {
            return Ok(());
        };
        if !content.paths.is_empty() {
            return Err(Error::usage(
                "'--pathspec-from-file' and pathspec arguments cannot be used together",
            ));
        }
        let nul = content.pathspec_file_nul;
        let pathspecs = if file == "-" {
            pathspecs_from(BufReader::new(self.runtime.input()?), nul)?
        } else {
            pathspecs_from(self.directory().file(file).open()?, nul)?
        };
        let word = |pathspec: BString| OsString::from_vec(pathspec.into());
        content.paths = pathspecs.into_iter().map(word).collect();
        Ok(())
    }

    /// Reads the words of a command that asks about an archive. Mistakes are reported in git's order: that of these lines.
    pub fn question<T: FromArgMatches>(
        &mut self,
        words: RawArgs<'_>,
        args: impl FnOnce(&T, Vec<Extra>) -> Args,
    ) -> Result<(T, Question<'a>), CliError> {
        let opened = self.open()?;
        let destination = self.runtime.output()?;
        let (options, extras) = words.parse(|word| self.extras(word, &opened.repository))?;
        let mut args = args(&options, extras);
        let opened = self.adjust(&mut args, opened)?;
        let question = Question {
            args,
            opened,
            destination,
        };
        Ok((options, question))
    }
}

/// A repository, or why there is none, its formats and its environment.
pub struct Opened<'a> {
    /// The repository, or why there is none.
    pub repository: Result<Repository>,
    /// The formats that its configuration defines.
    pub formats: Formats,
    /// The environment, without what `--stable` ignores.
    pub environment: Cow<'a, Environment>,
}

/// A question about an archive, before its options are resolved.
pub struct Question<'a> {
    /// The options.
    pub args: Args,
    /// The repository that is asked about.
    pub opened: Opened<'a>,
    /// Takes the answer.
    pub destination: Destination,
}

impl Question<'_> {
    /// Resolves the request for a `purpose` other than to make the archive. Nothing is fetched.
    pub fn request(
        self,
        purpose: Purpose,
        context: &mut Context<'_>,
    ) -> Result<(Request, Destination)> {
        let fetches = FetchAccount::new(false);
        let Opened {
            repository,
            formats,
            environment,
        } = self.opened;
        let inputs = context.inputs((&self.args, &formats, &environment), purpose, &fetches);
        let request = Request::resolve(inputs, repository, context.messages)?;
        request.run.warn(context.messages);
        Ok((request, self.destination))
    }
}

/// Refuses a command without further words whose name is also that of a ref: it may be meant as `git archive <ref>`.
/// `repository` opens the repository.
pub fn refuse_ambiguous(
    words: &RawArgs<'_>,
    repository: &dyn Fn() -> Result<Result<Repository>>,
) -> Result<()> {
    let name = words.command.as_str();
    let is_ref = || {
        let repository = repository().and_then(|repository| repository);
        repository.is_ok_and(|it| matches!(it.refs.find(name.into()), Ok(Some(_))))
    };
    if words.is_alone && is_ref() {
        Err(Error::usage(format!("'{name}' is a command and a ref")).hinted(format!(
        "'git sluice archive {name}' archives the ref, 'git sluice {name} --' runs the command"
    )))
    } else {
        Ok(())
    }
}
