//! Reads the words of a command. The words of an archive are read in two passes, as git does.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use clap::{
    Arg, Command, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};
use gix::bstr;

use super::{
    candidates::{self, Candidates},
    commands::{Archive, CommandName},
    content::LEVEL,
    extra::{Extra, Untracked},
    grammar::{Item, Opt, Question, Scanner, Speaker, Taken},
    help, sharing,
};
use crate::base::error::{ByteMessage, Error, ExitKind, Result, format_bytes};

/// Options of the first pass.
const FIRST: [&str; 3] = ["output", "remote", "exec"];
/// The only option that git cannot take back with a `--no-` form.
const FINAL: &str = "mtime";
/// Options of git-sluice that change no byte of an archive, without those of the cache.
const HARMLESS: [&str; 4] = ["threads", "memory", "progress", "no-progress"];
/// Options that mean nothing without the option in front of them.
const COMPANIONS: [(&str, &[&str]); 3] = [
    (
        "base",
        &[
            "base-filters",
            "deletions",
            "ignore-mode-changes",
            "max-changed-paths",
            "max-changed-ratio",
        ],
    ),
    ("pathspec-from-file", &["pathspec-file-nul"]),
    ("byte-range", &["if-range"]),
];

/// Why there are no options.
#[derive(Debug)]
pub enum CliError {
    /// The answer to a question about the program.
    Answer(String),
    /// A failure.
    Fatal(Error),
}

/// What a shell shows for a death by SIGPIPE.
const BROKEN_PIPE: u8 = 141;

impl CliError {
    /// The exit status of the process. A process that has lost its reader ends by the signal, before it has one.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Answer(_) => 0,
            Self::Fatal(error) if error.kind() == ExitKind::BrokenPipe => BROKEN_PIPE,
            Self::Fatal(error) => error.exit_status(),
        }
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

/// The options of each command that was asked for. Building a table takes a good part of the time of a small request, so
/// a process does so once.
#[derive(Debug, Default)]
pub struct OptionTables(Vec<OptionTable>);

/// The options of one command.
#[derive(Debug)]
struct OptionTable {
    name: CommandName,
    command: Command,
    options: Vec<Opt>,
    takes_level: bool,
}

impl OptionTables {
    fn of(&mut self, name: CommandName) -> &mut OptionTable {
        let at = self.0.iter().position(|table| table.name == name);
        let at = at.unwrap_or_else(|| {
            self.0.push(OptionTable::new(name));
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

impl OptionTable {
    fn new(name: CommandName) -> Self {
        let command = name.definition();
        let is_level = |arg: &Arg| arg.get_long() == Some(LEVEL);
        let takes_level = command.get_arguments().any(is_level);
        Self {
            name,
            options: options(&command),
            takes_level,
            command,
        }
    }
}

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
        let given = read(scanner, find)?;
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
        let own = self.table.options.iter().filter(|it| !it.of_git);
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

    /// Reads the rest; `find` looks at the extra files that the words name, or says what is wrong with them. A client cannot use the
    /// options of git-sluice, since they may read files or take any amount of memory.
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
            let of_git = options.iter().filter(|option| option.of_git);
            (Speaker::Client, of_git.cloned().collect())
        } else {
            (Speaker::Command(CommandName::Archive), (&*options).into())
        };
        let scanner = Scanner::of_all(&options, speaker, self.rest).with_level(*takes_level);
        let mut given = read(scanner, find)?;
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

/// The options and operands that the words give.
#[derive(Default)]
struct ParsedOptions<'t> {
    /// All options that no later `--no-` form takes back.
    options: Vec<(&'t str, Option<OsString>)>,
    extras: Vec<Extra>,
    level: Option<i32>,
    operands: Vec<OsString>,
    /// Values that an option may have taken by mistake.
    taken: Vec<Taken>,
}

/// Reads all words of `scanner`.
fn read<'t>(
    mut scanner: Scanner<'t>,
    find: impl Fn(Untracked<'_>) -> Result<Vec<Extra>>,
) -> Result<ParsedOptions<'t>, CliError> {
    let mut given = ParsedOptions::default();
    for item in scanner.by_ref() {
        match item? {
            Item::Question(question, command) => {
                return Err(CliError::Answer(help::answer(question, command)));
            }
            Item::Set("add-file", Some(file)) => {
                given.add(find(Untracked::File(&file))?);
            }
            Item::Set("add-directory", Some(directory)) => {
                given.add(find(Untracked::Directory(&directory))?);
            }
            Item::Set("add-virtual-file", Some(text)) => given.extras.push(Extra::of_text(&text)?),
            Item::Unset("add-file" | "add-directory" | "add-virtual-file") => given.extras.clear(),
            Item::Set(name, value) => given.options.push((name, value)),
            Item::Unset(name) => given.options.retain(|(other, _)| *other != name),
            Item::Level(level) => given.level = Some(level),
            Item::Operand(word) => given.operands.push(word),
        }
    }
    given.taken = scanner.into_taken();
    Ok(given)
}

impl ParsedOptions<'_> {
    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(other, _)| *other == name)
    }

    /// Adds files outside of the tree, below the prefix that applies at this point.
    fn add(&mut self, found: Vec<Extra>) {
        let prefix = self.prefix().to_owned();
        let named = found.into_iter().map(|extra| extra.below(&prefix));
        self.extras.extend(named);
    }

    /// The prefix that applies at this point.
    fn prefix(&self) -> &OsStr {
        let prefix = self.options.iter().rfind(|(name, _)| *name == "prefix");
        let prefix = prefix.and_then(|(_, value)| value.as_deref());
        prefix.unwrap_or_default()
    }

    /// Abbreviated or in a cluster, an option of the first pass is found too late.
    fn refuse_late(&self) -> Result<()> {
        for (name, message) in [
            ("remote", "Unexpected option --remote"),
            ("exec", "the option '--exec' requires '--remote'"),
            ("output", "Unexpected option --output"),
        ] {
            if self.has(name) {
                return Err(Error::fatal(message));
            }
        }
        Ok(())
    }

    /// Refuses an option without its companion.
    fn refuse_alone(&self) -> Result<()> {
        for (companion, options) in COMPANIONS {
            if let Some(alone) = options.iter().find(|option| self.has(option))
                && !self.has(companion)
            {
                let refused = format!("the option '--{alone}' requires '--{companion}'");
                return Err(Error::usage(refused));
            }
        }
        Ok(())
    }

    /// Refuses the value of an option of git-sluice that is a path below `~`. A shell replaces the sign only at the start of a
    /// word, so the file would go to a directory with this name.
    fn refuse_home(&self, command: &Command) -> Result<()> {
        let is_path = |name: &str| {
            let mut options = command.get_arguments();
            let option = options.find(|option| option.get_long() == Some(name));
            let own = option.filter(|option| option.get_help_heading().is_some());
            let value = own.and_then(candidates::value);
            matches!(value, Some(Candidates::Files | Candidates::Directories))
        };
        let mut paths = self.options.iter().filter(|(name, _)| is_path(name));
        let below_home = paths.find_map(|(name, value)| {
            let below = value.as_ref()?.as_bytes().strip_prefix(b"~/")?;
            Some((name.as_bytes(), below))
        });
        match below_home {
            Some((name, below)) => {
                let refused =
                    format_bytes("--{}='~/{}': the shell did not replace '~'", &[name, below]);
                Err(Error::usage(refused)
                    .hinted(format_bytes(r#"--{}="$HOME"/{}"#, &[name, below])))
            }
            None => Ok(()),
        }
    }

    /// Reads the values with the definition of the `command`.
    fn parse<T: FromArgMatches>(
        mut self,
        command: &mut Command,
        speaker: Speaker,
    ) -> Result<(T, Vec<Extra>), CliError> {
        self.refuse_alone()?;
        self.refuse_home(command)?;
        if let Some(operand) = self.missing_operand(command) {
            return Err(self.without_operand(&operand, command, speaker).into());
        }
        let extras = std::mem::take(&mut self.extras);
        let words = std::iter::once(command.get_name().into()).chain(self.words());
        let words: Vec<OsString> = words.collect();
        let parsed = command.try_get_matches_from_mut(words);
        match parsed.and_then(|mut matches| T::from_arg_matches_mut(&mut matches)) {
            Ok(options) => Ok((options, extras)),
            Err(error) => Err(Self::refused(&error, command).into()),
        }
    }

    /// The options and operands in an unambiguous form, for clap.
    fn words(&self) -> impl Iterator<Item = OsString> {
        let level = self.level.filter(|&level| level != -1);
        let level = level.map(|level| format!("--{LEVEL}={level}").into());
        let options = self.options.iter().map(|(name, value)| {
            let mut word = OsString::from("--");
            word.push(name);
            if let Some(value) = value {
                word.push("=");
                word.push(value);
            }
            word
        });
        let operands = self.operands.iter().cloned();
        options.chain(level).chain(["--".into()]).chain(operands)
    }

    /// clap's `error` about options of the `command`, in git's words.
    fn refused(error: &clap::Error, command: &mut Command) -> Error {
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.as_str()),
            Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
            _ => None,
        };
        // Without the name of a value.
        let option = |kind| Some(context(kind)?.split([' ', '=']).next().unwrap_or_default());
        let invalid = context(ContextKind::InvalidArg).unwrap_or_default();
        match error.kind() {
            ErrorKind::ArgumentConflict => {
                let one = option(ContextKind::InvalidArg).unwrap_or_default();
                let other = option(ContextKind::PriorArg).unwrap_or_default();
                Error::usage(format!(
                    "options '{one}' and '{other}' cannot be used together"
                ))
            }
            ErrorKind::UnknownArgument => {
                let refused =
                    format_bytes("extra command line parameter '{}'", &[invalid.as_bytes()]);
                Error::usage(refused).hinted(usage(command))
            }
            _ => refused_value(error),
        }
    }

    /// The name of an operand that the `command` needs and the words lack. A list of formats needs no tree-ish, and `compare` may find
    /// one itself.
    fn missing_operand(&self, command: &Command) -> Option<String> {
        let finds_commit = command.get_name() == CommandName::Compare.as_str();
        let needs_treeish = !finds_commit && !self.has("list");
        let is_needed = |operand: &&Arg| {
            operand.is_required_set() || (operand.get_id() == "treeish" && needs_treeish)
        };
        let mut needed = command.get_positionals().filter(is_needed);
        let missing = needed.nth(self.operands.len())?;
        Some(candidates::name(missing))
    }

    /// The error about a missing operand, which one of the values that options took may be.
    fn without_operand(&self, operand: &str, command: &mut Command, speaker: Speaker) -> Error {
        let article = if operand.starts_with('a') { "an" } else { "a" };
        let missing = Error::usage(format!("{article} {operand} is required"));
        let Some(Taken { option, value }) = self.taken.last() else {
            return missing.hinted(match speaker {
                Speaker::Command(_) => usage(command),
                Speaker::Client => format!("{speaker} [<options>] <tree-ish> [<path>...]"),
            });
        };
        let values = self.taken.iter().map(|Taken { option, value }| {
            let values = [option.as_bytes(), value.as_bytes()];
            format_bytes("'{}' took '{}' as its value", &values)
        });
        let values = bstr::join("; ", values.collect::<Vec<_>>());
        let assign = if option.starts_with("--") { "=" } else { " " };
        let hint = format!("{speaker} {option}{assign}<value> {{}}");
        missing
            .caused_by(ByteMessage(values.into()))
            .hinted(format_bytes(&hint, &[value.as_bytes()]))
    }
}

/// How the `command` is used, in one line.
fn usage(command: &mut Command) -> String {
    let usage = command.render_usage().to_string();
    let line = usage.lines().next().unwrap_or_default();
    line.trim_start_matches("Usage: ").to_owned()
}

/// The table for the grammar.
fn options(command: &Command) -> Vec<Opt> {
    let has = |name: &str| {
        command
            .get_arguments()
            .any(|arg| arg.get_long() == Some(name))
    };
    let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let table = visible.filter_map(|arg| {
        let name = arg.get_long()?.to_owned();
        let heading = arg.get_help_heading();
        Some(Opt {
            short: arg.get_short(),
            takes_value: arg.get_action().takes_values(),
            negatable: name != FINAL && !name.starts_with("no-") && !has(&format!("no-{name}")),
            of_git: heading.is_none(),
            is_harmless: heading == Some(sharing::HEADING) || HARMLESS.contains(&name.as_str()),
            name,
        })
    });
    table.collect()
}

/// A value that its option does not take: the first line of clap's `error`, and the values that there are.
fn refused_value(error: &clap::Error) -> Error {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let refused = Error::usage(line.trim_start_matches("error: "));
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() => {
            refused.hinted(format!("the values are {}", values.join(", ")))
        }
        _ => refused,
    }
}

#[cfg(test)]
mod tests {
    use super::{CliError, OptionTables, RawArgs};
    use crate::cli::{Archive, CommandName, Extra, Untracked};
    use clap::ValueEnum;
    use std::ffi::{OsStr, OsString};

    #[test]
    fn the_options_fit_together() {
        for command in CommandName::value_variants() {
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
