//! Reads the words of a command. The words of an archive are read in two passes, as git does.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use clap::FromArgMatches;

use super::{
    commands::{Archive, CommandName},
    error::CliError,
    extra::{Extra, Untracked},
    grammar::{Item, Opt, Question, Scanner, Speaker, Taken, is_for_clients},
    help,
    parsed::ParsedOptions,
    tables::{OptionTable, OptionTables},
};
use sluice_base::error::{Error, Result};

/// Options of the first pass.
const FIRST: [&str; 3] = ["output", "remote", "exec"];
/// The words of a command.
#[derive(Debug)]
pub struct RawArgs<'t> {
    /// The command.
    pub command: CommandName,
    /// The words after the name of the command.
    pub words: Vec<OsString>,
    /// Whether the name of the command is the only word.
    pub is_alone: bool,
    table: &'t mut OptionTable,
    is_of_client: bool,
}

impl<'t> RawArgs<'t> {
    /// The words after the program's name: the first word is a command, exactly, or all of them are about an archive.
    pub fn new(tables: &'t mut OptionTables, words: impl IntoIterator<Item = OsString>) -> Self {
        let mut words: Vec<OsString> = words.into_iter().collect();
        let named = words.first().and_then(|word| CommandName::of(word));
        if named.is_some() {
            words.remove(0);
        }
        let command = named.unwrap_or(CommandName::Archive);
        Self {
            command,
            is_alone: named.is_some() && words.is_empty(),
            words,
            table: tables.of(command),
            is_of_client: false,
        }
    }

    /// The words of a client about an archive.
    pub fn of_client(
        tables: &'t mut OptionTables,
        words: impl IntoIterator<Item = OsString>,
    ) -> Self {
        Self {
            command: CommandName::Archive,
            words: words.into_iter().collect(),
            is_alone: false,
            table: tables.of(CommandName::Archive),
            is_of_client: true,
        }
    }

    /// Makes the first pass over the words of an archive; `exists` says whether a file is there. A client has made this pass.
    pub fn first_pass(self, exists: impl Fn(&OsStr) -> bool) -> Result<ArchiveWords<'t>, CliError> {
        let Self {
            words,
            table,
            is_of_client,
            ..
        } = self;
        let mut archive = ArchiveWords {
            output: None,
            remote: None,
            exec: None,
            rest: Vec::new(),
            table,
            is_of_client,
            taken: Vec::new(),
        };
        if is_of_client {
            archive.rest = words
        } else {
            archive.take_first(words, exists)?
        }
        Ok(archive)
    }

    /// Reads the options of a command, and the extra files; `find` looks at what the words name, or says what is wrong with it.
    pub fn parse<T: FromArgMatches>(
        self,
        find: impl Fn(Untracked<'_>) -> Result<Vec<Extra>>,
    ) -> Result<(T, Vec<Extra>), CliError> {
        let OptionTable {
            name,
            command,
            options,
            takes_level,
        } = self.table;
        let speaker = Speaker::Command(*name);
        let scanner = Scanner::of_all(options, speaker, self.words).with_level(*takes_level);
        let given = ParsedOptions::read(scanner, find)?;
        given.parse(command, speaker)
    }

    /// The words of a command that reads them itself, unless they are a question about the command.
    pub fn unread(self) -> Result<Vec<OsString>, CliError> {
        let question = match &self.words[..] {
            [word] if word == "-h" => Question::Usage,
            [word] if word == "--help" => Question::Help,
            _ => return Ok(self.words),
        };
        Err(CliError::Answer(help::answer(question, self.command)))
    }

    /// Reads the options of a command that takes no extra files.
    pub fn options<T: FromArgMatches>(self) -> Result<T, CliError> {
        let (options, _) = self.parse(|_| Ok(Vec::new()))?;
        Ok(options)
    }
}

/// The words of an archive after the first pass, which takes out the destination and the maker of the archive. The output file
/// is opened before the second pass reads the rest.
#[derive(Debug)]
pub struct ArchiveWords<'t> {
    /// `--output`
    pub output: Option<PathBuf>,
    /// `--remote`
    pub remote: Option<OsString>,
    /// `--exec`
    pub exec: Option<OsString>,
    /// All other words, in order.
    pub rest: Vec<OsString>,
    table: &'t mut OptionTable,
    is_of_client: bool,
    /// Values that options of the first pass may have taken by mistake.
    taken: Vec<Taken>,
}

impl ArchiveWords<'_> {
    fn take_first(&mut self, words: Vec<OsString>, exists: impl Fn(&OsStr) -> bool) -> Result<()> {
        let first = |option: &&Opt| FIRST.contains(&option.name.as_str());
        let first: Vec<Opt> = self.table.options.iter().filter(first).cloned().collect();
        let speaker = Speaker::Command(CommandName::Archive);
        let mut scanner = Scanner::of_some(&first, speaker, words);
        for item in scanner.by_ref() {
            match item? {
                Item::Set("output", Some(file)) => self.set_output(&file, &exists),
                Item::Set("remote", repository) => self.remote = repository,
                Item::Set("exec", program) => self.exec = program,
                Item::Unset("remote") => self.remote = None,
                Item::Unset("exec") => self.exec = None,
                Item::Operand(word) => self.rest.push(word),
                // Since git 2.52 `--no-output` takes nothing back.
                _ => {}
            }
        }
        self.taken = scanner.into_taken();
        Ok(())
    }

    fn set_output(&mut self, file: &OsStr, exists: impl Fn(&OsStr) -> bool) {
        let optional = file.as_bytes().strip_prefix(b":(optional)");
        let optional = optional.map(OsStr::from_bytes);
        if optional.is_none_or(exists) {
            let file = optional.unwrap_or(file);
            self.output = (!file.is_empty()).then(|| file.into());
        }
    }

    /// The words for `git archive`, without options of git-sluice that change no byte. Refuses the others, because git writes
    /// an archive that differs from the request.
    pub fn for_git(self) -> Result<Vec<OsString>, CliError> {
        let own = self.table.options.iter().filter(|it| !is_for_clients(it));
        let own: Vec<Opt> = own.cloned().collect();
        let mut words = Vec::new();
        for (name, value) in [
            ("--output=", self.output.map(PathBuf::into_os_string)),
            ("--remote=", self.remote),
            ("--exec=", self.exec),
        ] {
            words.extend(value.map(|value| [name.into(), value].join(OsStr::new(""))));
        }
        let speaker = Speaker::Command(CommandName::Archive);
        for item in Scanner::of_some(&own, speaker, self.rest) {
            match item? {
                Item::Operand(word) => words.push(word),
                Item::Set(name, _) if !is_harmless(&own, name) => {
                    return Err(not_for_remote(name).into());
                }
                _ => {}
            }
        }
        Ok(words)
    }

    /// Reads the rest; `find` looks at the extra files that the words name, or says what is wrong with them. A client can use
    /// few options of git-sluice.
    pub fn second_pass(
        self,
        find: impl Fn(Untracked<'_>) -> Result<Vec<Extra>>,
    ) -> Result<(Archive, Vec<Extra>), CliError> {
        let OptionTable {
            command,
            options,
            takes_level,
            ..
        } = self.table;
        let (speaker, options): (_, Cow<'_, [Opt]>) = if self.is_of_client {
            let for_clients = options.iter().filter(|it| is_for_clients(it));
            (Speaker::Client, for_clients.cloned().collect())
        } else {
            (Speaker::Command(CommandName::Archive), (&*options).into())
        };
        let scanner = Scanner::of_all(&options, speaker, self.rest).with_level(*takes_level);
        let mut given = ParsedOptions::read(scanner, find)?;
        given.refuse_late()?;
        given.taken.splice(0..0, self.taken);
        given.parse(command, speaker)
    }
}

/// Whether the option `name` of these `options` changes no byte of an archive.
fn is_harmless(options: &[Opt], name: &str) -> bool {
    options.iter().any(|it| it.name == name && it.is_harmless)
}

/// Refuses the option `name` of git-sluice for an archive that git writes.
fn not_for_remote(name: &str) -> Error {
    let refused = format!("options '--remote' and '--{name}' cannot be used together");
    Error::usage(refused).caused_by("git writes the archive of another repository")
}

#[cfg(test)]
mod tests {
    use crate::{Archive, CliError, CommandName, Extra, OptionTables, RawArgs, Untracked};
    use std::ffi::{OsStr, OsString};

    #[test]
    fn the_options_fit_together() {
        for command in CommandName::all() {
            command.definition().debug_assert();
        }
    }

    /// Both passes, in a directory where every file exists and none is executable.
    fn parse(line: &str) -> Result<(Archive, Vec<Extra>), String> {
        let words = line.split_whitespace().map(OsString::from);
        let mut tables = OptionTables::default();
        let parsed = RawArgs::new(&mut tables, words)
            .first_pass(|_| true)
            .and_then(|words| {
                words.second_pass(|untracked| {
                    Ok(match untracked {
                        Untracked::File(file) => vec![Extra::file(file, false)],
                        Untracked::Directory(_) => {
                            ["a", "b"].map(|it| Extra::file(it.as_ref(), false)).into()
                        }
                    })
                })
            });
        parsed.map_err(|error| match error {
            CliError::Answer(answer) => answer,
            CliError::Fatal(error) => {
                let text = error.to_string();
                text.lines().next().unwrap_or_default().to_owned()
            }
        })
    }

    fn archive(line: &str) -> Archive {
        parse(line).expect("sound").0
    }

    #[test]
    fn the_last_one_counts_unless_it_is_taken_back() {
        let prefix = |line| archive(line).described.content.prefix.unwrap_or_default();
        assert_eq!(prefix("--prefix=a HEAD --pref b"), "b");
        assert_eq!(prefix("--prefix=a --no-p HEAD"), "");
        assert_eq!(
            prefix("--prefix=a --no-prefix --prefix= --prefix -v HEAD"),
            "-v"
        );
        let verbose = |line| archive(line).verbosity.verbose;
        assert_eq!(verbose("-vv -9v HEAD"), 3);
        assert_eq!(verbose("-vv --no-verb --verb HEAD"), 1);
    }

    #[test]
    fn levels() {
        let level = |line| archive(line).described.encoding.level.level;
        assert_eq!(level("HEAD"), None);
        assert_eq!(level("-9 HEAD -03"), Some(3));
        assert_eq!(level("-v12v HEAD"), Some(12));
        assert_eq!(level("-9 -4294967295 HEAD"), None);
        assert_eq!(level("-4294967294 HEAD"), Some(-2));
        assert_eq!(level("-9 -99999999999999999999 HEAD"), None);
    }

    #[test]
    fn output() {
        let output = |line: &str, exists: bool| {
            let words = line.split(' ').map(OsString::from);
            let mut tables = OptionTables::default();
            let words = RawArgs::new(&mut tables, words).first_pass(|_| exists);
            let output = words.expect("sound").output;
            output.unwrap_or_default().into_os_string()
        };
        for line in [
            "--output=x",
            "--output x",
            "-ox",
            "HEAD -o x",
            "-o a -o x --no-output",
        ] {
            assert_eq!(output(&format!("{line} HEAD"), true), "x", "{line}");
        }
        assert_eq!(output("HEAD -o :(optional)x", true), "x");
        assert_eq!(output("HEAD -o a --output=", true), "");
        assert_eq!(output("-- HEAD -o x", true), "");
        assert_eq!(output("-oa -o:(optional)x", false), "a");
    }

    /// A command is the first word, exactly.
    #[test]
    fn commands() {
        for (line, expected, is_alone) in [
            ("ls HEAD", CommandName::Ls, false),
            ("batch", CommandName::Batch, true),
            ("archive ls", CommandName::Archive, false),
            ("--format=tar ls", CommandName::Archive, false),
            ("-- ls", CommandName::Archive, false),
            ("LS HEAD", CommandName::Archive, false),
            ("publis HEAD", CommandName::Archive, false),
            ("HEAD", CommandName::Archive, false),
        ] {
            let words = line.split(' ').map(OsString::from);
            let mut tables = OptionTables::default();
            let args = RawArgs::new(&mut tables, words);
            assert_eq!(
                (args.command, args.is_alone),
                (expected, is_alone),
                "{line}"
            );
        }
    }

    /// The words that clap gets decide about nothing that the words of the user do not say.
    #[test]
    fn hidden_options_are_no_options() {
        let refused = |line| parse(line).expect_err("unknown");
        assert_eq!(refused("--level=9 HEAD"), "error: unknown option `level=9'");
    }

    /// A remote archiver gets the words unchanged.
    #[test]
    fn words_for_the_remote_side() {
        let words = "--remote=r --no-form -9o x --exec c --prefix --exec d HEAD -- --remote=s";
        let words = words.split(' ').map(OsString::from);
        let mut tables = OptionTables::default();
        let words = RawArgs::new(&mut tables, words).first_pass(|_| true);
        let words = words.expect("sound");
        let joined = words.rest.join(OsStr::new(" "));
        assert_eq!(joined, "--no-form -9o x --prefix HEAD -- --remote=s");
        assert_eq!(
            (words.remote, words.exec),
            (Some("r".into()), Some("d".into()))
        );
    }

    #[test]
    fn extra_files() {
        let names = |line| {
            let (_, extras) = parse(line).expect("sound");
            let names = extras.iter().map(|extra| extra.name.to_string());
            names.collect::<Vec<_>>().join(" ")
        };
        let line =
            "--add-file=x/f --prefix=p/ --add-file g --add-virt=v:t --no-prefix --add-f=h HEAD";
        assert_eq!(names(line), "f p/g v h");
        assert_eq!(
            names("--prefix=p/ --add-dir=d --add-file=f HEAD"),
            "p/a p/b p/f"
        );
        assert_eq!(names("--add-file=f --no-add-v --add-v=v:t HEAD"), "v");
        assert_eq!(names("--add-file=f --add-v=v:t --no-add-file HEAD"), "");
    }

    /// Options of git-sluice follow the same grammar and never make git's options ambiguous.
    #[test]
    fn options_of_ours() {
        let args = archive("-vj4 --mem=1m --prog --no-prog --thr 8 --p=p/ HEAD");
        let run = args.described.run;
        assert_eq!((run.threads, run.memory), (Some(8), 1 << 20));
        assert!(args.progress.no_progress && !args.progress.progress);
        assert_eq!(args.described.content.prefix, Some("p/".into()));
        let run = archive("--threads=8 --no-threads HEAD").described.run;
        assert_eq!(run.threads, None);
        let ambiguous = "error: ambiguous option: pathspec-f (could be --pathspec-from-file or \
                         --pathspec-file-nul)";
        assert_eq!(parse("--pathspec-f").expect_err("ambiguous"), ambiguous);
    }
}
