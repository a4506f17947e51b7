//! Turns words into arguments, in two passes as git does.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use clap::{
    Command, CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue},
};

use gix::bstr;

use super::{
    Args, NAME,
    extra::Extra,
    grammar::{Item, Opt, Scanner, Taken, command, list_hint},
    guide::after_help,
};
use crate::base::error::{Error, ExitKind, Result, Words, filled};

/// Options of the first pass.
const FIRST: [&str; 3] = ["output", "remote", "exec"];
/// Options of git-sluice that change no byte of the archive.
const HARMLESS: [&str; 11] = [
    "threads",
    "memory",
    "progress",
    "no-progress",
    "cache",
    "no-cache",
    "cache-always",
    "cache-size",
    "cache-age",
    "cache-jobs",
    "cache-wait",
];
/// The only option that git cannot take back with a `--no-` form.
const FINAL: &str = "mtime";

/// An option that does something else than make an archive, and needs no repository.
struct Mode {
    option: &'static str,
    /// The options that go with it.
    with: &'static [&'static str],
    /// The most words behind the options.
    words: usize,
    complaint: &'static str,
}

const MODES: [Mode; 3] = [
    Mode {
        option: "apply",
        with: &[
            "apply",
            "verify",
            "repair",
            "commit",
            "bucket-timeout",
            "verbose",
            "progress",
            "no-progress",
        ],
        words: 1,
        complaint: "--apply goes with nothing but -v, --verify, --repair, --commit, --bucket-timeout, --progress and --no-progress",
    },
    Mode {
        option: "prune",
        with: &["prune", "prune-age", "bucket-timeout"],
        words: 0,
        complaint: "--prune goes with nothing but --prune-age and --bucket-timeout",
    },
    Mode {
        option: "generate",
        with: &["generate"],
        words: 0,
        complaint: "--generate goes with nothing else",
    },
];

/// Options that mean nothing without one of the options in front of them.
const COMPANIONS: [(&[&str], &[&str]); 7] = [
    (&["apply"], &["verify", "repair", "commit"]),
    (&["publish", "apply", "prune"], &["bucket-timeout"]),
    (
        &["base"],
        &[
            "deletions",
            "ignore-mode",
            "max-changed-paths",
            "max-changed-ratio",
            "verify-delta",
        ],
    ),
    (&["pathspec-from-file"], &["pathspec-file-nul"]),
    (&["prune"], &["prune-age"]),
    (
        &["publish"],
        &["publish-steps", "publish-ratio", "force", "create"],
    ),
    (&["range"], &["if-range"]),
];

/// Why there are no arguments.
#[derive(Debug)]
pub enum Stop {
    /// The answer to a question about the program.
    Answer(clap::Error),
    /// A failure.
    Fatal(Error),
}

/// What a shell shows for a death by SIGPIPE.
const BROKEN_PIPE: u8 = 141;

impl Stop {
    /// The exit status of the process. A process that has lost its reader ends by the signal, before it has one.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Answer(_) => 0,
            Self::Fatal(error) if error.kind() == ExitKind::BrokenPipe => BROKEN_PIPE,
            Self::Fatal(error) => error.exit_status(),
        }
    }
}

impl From<clap::Error> for Stop {
    fn from(error: clap::Error) -> Self {
        match error.use_stderr() {
            true => Self::Fatal(refused_value(&error)),
            false => Self::Answer(error),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

/// The options that words may be. To work them out takes a good part of the time of a small request, so a process does
/// so once.
#[derive(Debug)]
pub struct Vocabulary {
    command: Command,
    options: Vec<Opt>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let command = Args::command();
        Self {
            options: options(&command),
            command,
        }
    }
}

/// The words after the first pass, which takes out the destination and the maker of the archive. The output file is
/// opened before the second pass reads the rest.
#[derive(Debug)]
pub struct Typed<'v> {
    /// `--output`
    pub output: Option<PathBuf>,
    /// `--remote`
    pub remote: Option<OsString>,
    /// `--exec`
    pub exec: Option<OsString>,
    /// All other words, in order.
    pub rest: Vec<OsString>,
    command: &'v mut Command,
    options: Cow<'v, [Opt]>,
    is_of_client: bool,
    /// Values that options of the first pass may have taken by mistake.
    taken: Vec<Taken>,
}

impl<'v> Typed<'v> {
    /// Read the words after the program's name; `exists` says whether a file is there.
    pub fn first_pass(
        vocabulary: &'v mut Vocabulary,
        words: impl Iterator<Item = OsString>,
        exists: impl Fn(&OsStr) -> bool,
    ) -> Result<Self, Stop> {
        let Vocabulary { command, options } = vocabulary;
        let first = |option: &&Opt| FIRST.contains(&option.name.as_str());
        let first: Vec<Opt> = options.iter().filter(first).cloned().collect();
        let mut typed = Self {
            output: None,
            remote: None,
            exec: None,
            rest: Vec::new(),
            command,
            options: Cow::Borrowed(options),
            is_of_client: false,
            taken: Vec::new(),
        };
        let mut scanner = Scanner::of_some(&first, words.collect());
        for item in scanner.by_ref() {
            match item? {
                Item::Set("output", Some(file)) => typed.set_output(&file, &exists),
                Item::Set("remote", repository) => typed.remote = repository,
                Item::Set("exec", program) => typed.exec = program,
                Item::Unset("remote") => typed.remote = None,
                Item::Unset("exec") => typed.exec = None,
                Item::Operand(word) => typed.rest.push(word),
                // Since git 2.52 `--no-output` takes nothing back.
                _ => {}
            }
        }
        typed.taken = scanner.into_taken();
        Ok(typed)
    }

    /// The words of a client, which has made the first pass. Options of git-sluice are out of a client's reach, since
    /// they may read files or take any amount of memory.
    pub fn of_client(
        vocabulary: &'v mut Vocabulary,
        words: impl Iterator<Item = OsString>,
    ) -> Self {
        let Vocabulary { command, options } = vocabulary;
        let of_git = options.iter().filter(|option| option.of_git);
        Self {
            output: None,
            remote: None,
            exec: None,
            rest: words.collect(),
            command,
            options: of_git.cloned().collect(),
            is_of_client: true,
            taken: Vec::new(),
        }
    }

    /// The words for `git archive`, without options of git-sluice that change no byte. The other ones stay, so that git
    /// refuses them and makes no archive that differs from the request.
    pub fn for_git(self) -> Result<Vec<OsString>, Stop> {
        let own = self
            .options
            .iter()
            .filter(|option| HARMLESS.contains(&option.name.as_str()));
        let own: Vec<Opt> = own.cloned().collect();
        let mut words = Vec::new();
        for (name, value) in [
            ("--output=", self.output.map(PathBuf::into_os_string)),
            ("--remote=", self.remote),
            ("--exec=", self.exec),
        ] {
            words.extend(value.map(|value| [name.into(), value].join(OsStr::new(""))));
        }
        for item in Scanner::of_some(&own, self.rest) {
            if let Item::Operand(word) = item? {
                words.push(word);
            }
        }
        Ok(words)
    }

    fn set_output(&mut self, file: &OsStr, exists: impl Fn(&OsStr) -> bool) {
        let optional = file.as_bytes().strip_prefix(b":(optional)");
        let optional = optional.map(OsStr::from_bytes);
        if optional.is_none_or(exists) {
            let file = optional.unwrap_or(file);
            self.output = (!file.is_empty()).then(|| file.into());
        }
    }

    /// Whether the words ask for something that needs no repository. An option that cannot be read is for the second
    /// pass.
    pub fn is_without_repository(&self) -> bool {
        let items = Scanner::of_all(&self.options, self.rest.clone());
        let mut given = Given::default();
        for item in items.map_while(std::result::Result::ok) {
            given.take(item);
        }
        given.mode().is_some()
    }

    /// Read the rest; `examine` says whether an extra file is executable, or what is wrong with it.
    pub fn second_pass(self, examine: impl Fn(&OsStr) -> Result<bool>) -> Result<Args, Stop> {
        let Self {
            command, options, ..
        } = self;
        let mut given = Given::default();
        let mut scanner = Scanner::of_all(&options, self.rest).for_client(self.is_of_client);
        for item in scanner.by_ref() {
            match item? {
                Item::Question(word) => return Ok(answer(command, word)?),
                Item::Set("add-file", Some(file)) => {
                    let executable = examine(&file)?;
                    given
                        .extras
                        .push(Extra::file(given.prefix(), file, executable));
                }
                Item::Set("add-virtual-file", Some(text)) => {
                    given.extras.push(Extra::of_text(&text)?);
                }
                Item::Unset("add-file" | "add-virtual-file") => given.extras.clear(),
                item => given.take(item),
            }
        }
        given.refuse_late()?;
        let first_pass = self.output.is_some() || self.remote.is_some() || self.exec.is_some();
        if let Some(mode) = given
            .mode()
            .filter(|mode| first_pass || given.asks_for_more_than(mode))
        {
            return Err(Error::usage(mode.complaint).hinted(list_hint(NAME)).into());
        }
        given.refuse_alone()?;
        let args = Args {
            output: self.output,
            remote: self.remote,
            exec: self.exec,
            level: given.level.filter(|&level| level != -1),
            extras: std::mem::take(&mut given.extras),
            ..parse(command, given.words())?
        };
        args.check()?;
        if args.treeish.is_none() && !args.asks_only() {
            let taken = [self.taken, scanner.into_taken()].concat();
            return Err(without_treeish(&taken, self.is_of_client).into());
        }
        Ok(args)
    }
}

/// The findings of the second pass.
#[derive(Default)]
struct Given<'t> {
    /// All options that no later `--no-` form takes back.
    options: Vec<(&'t str, Option<OsString>)>,
    extras: Vec<Extra>,
    level: Option<i32>,
    operands: Vec<OsString>,
}

impl<'t> Given<'t> {
    /// Takes note of an item that has no meaning of its own.
    fn take(&mut self, item: Item<'t>) {
        match item {
            Item::Set(name, value) => self.options.push((name, value)),
            Item::Unset(name) => self.options.retain(|(other, _)| *other != name),
            Item::Level(level) => self.level = Some(level),
            Item::Operand(word) => self.operands.push(word),
            Item::Question(_) => {}
        }
    }

    /// The mode that is asked for.
    fn mode(&self) -> Option<&'static Mode> {
        MODES.iter().find(|mode| self.has(mode.option))
    }

    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(other, _)| *other == name)
    }

    /// Whether there are options or words that do not go with `mode`.
    fn asks_for_more_than(&self, mode: &Mode) -> bool {
        let others = |(name, _): &(&str, _)| !mode.with.contains(name);
        self.options.iter().any(others)
            || !self.extras.is_empty()
            || self.level.is_some()
            || self.operands.len() > mode.words
    }

    /// The prefix in force at this point.
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
        for (companions, options) in COMPANIONS {
            if let Some(alone) = options.iter().find(|option| self.has(option))
                && !companions.iter().any(|companion| self.has(companion))
            {
                let companions = companions.join("' or '--");
                let refused = format!("the option '--{alone}' requires '--{companions}'");
                return Err(Error::fatal(refused));
            }
        }
        Ok(())
    }

    /// The same in an unambiguous form.
    fn words(self) -> impl Iterator<Item = OsString> {
        let options = self.options.into_iter().map(|(name, value)| {
            let mut word = OsString::from("--");
            word.push(name);
            if let Some(value) = value {
                word.push("=");
                word.push(value);
            }
            word
        });
        options.chain(["--".into()]).chain(self.operands)
    }
}

/// The table for the grammar.
fn options(command: &Command) -> Vec<Opt> {
    let has = |name: &str| {
        command
            .get_arguments()
            .any(|arg| arg.get_long() == Some(name))
    };
    let table = command.get_arguments().filter_map(|arg| {
        let name = arg.get_long()?.to_owned();
        Some(Opt {
            short: arg.get_short(),
            takes_value: arg.get_action().takes_values(),
            negatable: name != FINAL && !name.starts_with("no-") && !has(&format!("no-{name}")),
            of_git: arg.get_help_heading().is_none(),
            name,
        })
    });
    table.collect()
}

/// The arguments of words in an unambiguous form.
fn parse(
    command: &mut Command,
    words: impl IntoIterator<Item = OsString>,
) -> Result<Args, clap::Error> {
    let words = std::iter::once(NAME.into()).chain(words);
    let mut matches = command.try_get_matches_from_mut(words)?;
    Args::from_arg_matches_mut(&mut matches)
}

/// The answer to a question about the program, which comes as an error. Its end is worked out only here, since most runs
/// need none.
fn answer(command: &mut Command, question: &str) -> Result<Args, clap::Error> {
    let mut command = command.clone().after_help(after_help());
    parse(&mut command, [question.into()])
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

/// The error about a missing tree-ish, which one of the `taken` values may be.
fn without_treeish(taken: &[Taken], is_of_client: bool) -> Error {
    let missing = Error::usage("a tree-ish is required");
    let command = command(is_of_client);
    let Some(Taken { option, value }) = taken.last() else {
        return missing.hinted(format!("{command} [<options>] <tree-ish> [<path>...]"));
    };
    let values = taken.iter().map(|Taken { option, value }| {
        let values = [option.as_bytes(), value.as_bytes()];
        filled("'{}' took '{}' as its value", &values)
    });
    let values = bstr::join("; ", values.collect::<Vec<_>>());
    let assign = if option.starts_with("--") { "=" } else { " " };
    let hint = format!("{command} {option}{assign}<value> {{}}");
    missing
        .caused_by(Words(values.into()))
        .hinted(filled(&hint, &[value.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::{Stop, Typed, Vocabulary};
    use crate::cli::Args;
    use clap::CommandFactory;
    use std::ffi::{OsStr, OsString};

    #[test]
    fn the_options_fit_together() {
        Args::command().debug_assert();
    }

    /// Both passes, in a directory where every file exists and none is executable.
    fn parse(line: &str) -> Result<Args, String> {
        let words = line.split_whitespace().map(OsString::from);
        let mut vocabulary = Vocabulary::default();
        let typed = Typed::first_pass(&mut vocabulary, words, |_| true);
        let args = typed.and_then(|typed| typed.second_pass(|_| Ok(false)));
        args.map_err(|stop| match stop {
            Stop::Answer(answer) => answer.to_string(),
            Stop::Fatal(error) => {
                let text = error.to_string();
                text.lines().next().unwrap_or_default().to_owned()
            }
        })
    }

    #[test]
    fn the_last_one_counts_unless_it_is_taken_back() {
        let prefix = |line| parse(line).expect("sound").prefix.unwrap_or_default();
        assert_eq!(prefix("--prefix=a HEAD --pref b"), "b");
        assert_eq!(prefix("--prefix=a --no-p HEAD"), "");
        assert_eq!(
            prefix("--prefix=a --no-prefix --prefix= --prefix -v HEAD"),
            "-v"
        );
        let verbose = |line| parse(line).expect("sound").verbose;
        assert_eq!(verbose("-vv -9v HEAD"), 3);
        assert_eq!(verbose("-vv --no-verb --verb HEAD"), 1);
    }

    #[test]
    fn levels() {
        let level = |line| parse(line).expect("sound").level;
        assert_eq!(level("HEAD"), None);
        assert_eq!(level("-9 HEAD -03"), Some(3));
        assert_eq!(level("-v12v HEAD"), Some(12));
        assert_eq!(level("-9 -4294967295 HEAD"), None);
        assert_eq!(level("-4294967294 HEAD"), Some(-2));
        assert_eq!(level("-9 -99999999999999999999 HEAD"), None);
    }

    #[test]
    fn output() {
        let output = |line: &str| {
            parse(line)
                .expect("sound")
                .output
                .unwrap_or_default()
                .into_os_string()
        };
        for line in [
            "--output=x",
            "--output x",
            "-ox",
            "HEAD -o x",
            "-o a -o x --no-output",
        ] {
            assert_eq!(output(&format!("{line} HEAD")), "x", "{line}");
        }
        assert_eq!(output("HEAD -o :(optional)x"), "x");
        assert_eq!(output("HEAD -o a --output="), "");
        assert_eq!(output("-- HEAD -o x"), "");
        let mut vocabulary = Vocabulary::default();
        let typed = Typed::first_pass(
            &mut vocabulary,
            ["-oa", "-o:(optional)x"].map(Into::into).into_iter(),
            |_| false,
        );
        assert_eq!(typed.expect("sound").output, Some("a".into()));
    }

    #[test]
    fn modes_need_no_repository() {
        for (line, expected) in [
            ("--appl=d archive.tar", true),
            ("--prune url", true),
            ("--apply=d --prune=u --no-prune", true),
            ("--no-apply --apply=d --threads", true),
            ("--apply=d --no-apply HEAD", false),
            ("-- --apply=d", false),
            ("--prefix --apply=d HEAD", false),
        ] {
            let words = line.split(' ').map(OsString::from);
            let mut vocabulary = Vocabulary::default();
            let typed = Typed::first_pass(&mut vocabulary, words, |_| true).expect("sound");
            assert_eq!(typed.is_without_repository(), expected, "{line}");
        }
    }

    /// A remote archiver gets the words unchanged.
    #[test]
    fn words_for_the_remote_side() {
        let words = "--remote=r --no-form -9o x --exec c --prefix --exec d HEAD -- --remote=s";
        let words = words.split(' ').map(OsString::from);
        let mut vocabulary = Vocabulary::default();
        let typed = Typed::first_pass(&mut vocabulary, words, |_| true).expect("sound");
        let joined = typed.rest.join(OsStr::new(" "));
        assert_eq!(joined, "--no-form -9o x --prefix HEAD -- --remote=s");
        assert_eq!(
            (typed.remote, typed.exec),
            (Some("r".into()), Some("d".into()))
        );
    }

    #[test]
    fn extra_files() {
        let names = |line| {
            let args = parse(line).expect("sound");
            let names = args.extras.iter().map(|extra| extra.name.to_string());
            names.collect::<Vec<_>>().join(" ")
        };
        let line =
            "--add-file=x/f --prefix=p/ --add-file g --add-virt=v:t --no-prefix --add-f=h HEAD";
        assert_eq!(names(line), "f p/g v h");
        assert_eq!(names("--add-file=f --no-add-v --add-v=v:t HEAD"), "v");
        assert_eq!(names("--add-file=f --add-v=v:t --no-add-file HEAD"), "");
    }

    /// Options of git-sluice follow the same grammar and never make git's options ambiguous.
    #[test]
    fn options_of_ours() {
        let args = parse("-vj4 --mem=1k --prog --no-prog --thr 8 --p=p/ HEAD").expect("sound");
        assert_eq!(args.ours.threads, Some(8));
        assert_eq!(args.ours.memory, 1024);
        assert!(args.ours.no_progress && !args.ours.progress);
        assert_eq!(args.prefix, Some("p/".into()));
        assert_eq!(
            parse("--threads=8 --no-threads HEAD")
                .expect("sound")
                .ours
                .threads,
            None
        );
        let ambiguous = "error: ambiguous option: pathspec-f (could be --pathspec-from-file or \
                         --pathspec-file-nul)";
        assert_eq!(parse("--pathspec-f").expect_err("ambiguous"), ambiguous);
    }
}
