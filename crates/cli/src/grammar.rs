//! The spelling of options: the rules of git's `parse-options`.
//!
//! The scanner splits the words into items and reports errors in git's words, with a hint. The scanner knows a table of
//! options, and no option's meaning.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::{OsStrExt, OsStringExt},
    vec,
};

use clap::Arg;

use super::{commands::CommandName, likeness::most_like, names::NAME};
use sluice_base::error::{Error, Result};

/// Options of git itself, each with the form that git takes before the name of a command.
const OF_GIT_ITSELF: [(&str, &str); 13] = [
    ("C", "-C <dir>"),
    ("c", "-c <name>=<value>"),
    ("attr-source", "--attr-source=<tree-ish>"),
    ("bare", "--bare"),
    ("config-env", "--config-env=<name>=<variable>"),
    ("git-dir", "--git-dir=<dir>"),
    ("glob-pathspecs", "--glob-pathspecs"),
    ("icase-pathspecs", "--icase-pathspecs"),
    ("literal-pathspecs", "--literal-pathspecs"),
    ("namespace", "--namespace=<name>"),
    ("no-replace-objects", "--no-replace-objects"),
    ("noglob-pathspecs", "--noglob-pathspecs"),
    ("work-tree", "--work-tree=<dir>"),
];
/// Options of other commands and programs: their names, the option that a command needs for the hint, and the hint.
const OF_OTHERS: [(&[&str], &str, &str); 8] = [
    (
        &["recurse-submodules"],
        "submodules",
        "--submodules=recurse sends the files of submodules",
    ),
    (
        &["dry-run"],
        "prefix",
        "'git sluice ls' lists the files that would be sent",
    ),
    (
        &["since", "from"],
        "base",
        "--base=<commit> sends only what changed since that commit",
    ),
    (
        &["jobs"],
        "threads",
        "--threads=<count> sets the number of threads; '--jobs' is an option of 'git sluice batch'",
    ),
    (
        &["gitignore"],
        "exclude-from",
        "an archive has no untracked files; --exclude-from=<file> leaves out paths that match its patterns",
    ),
    (
        &["include", "include-from", "only"],
        "pathspec-from-file",
        "paths after the tree-ish select files; --pathspec-from-file=<file> reads them from a file",
    ),
    (
        &[
            "bzip2",
            "compress",
            "compression",
            "compression-level",
            "level",
            "xz",
            "zip",
            "zstd",
        ],
        "format",
        "--format=tar.gz, tar.zst or zip compresses the archive, and -<number> sets the level",
    ),
    (
        &["file"],
        "output",
        "--output=<file> writes the archive to this file",
    ),
];

/// An option.
#[derive(Clone, Debug)]
pub(super) struct Opt {
    /// The long name.
    pub(super) name: String,
    pub(super) short: Option<char>,
    pub(super) takes_value: bool,
    /// Whether the option has a `--no-` form.
    pub(super) negatable: bool,
    /// Whether git has the option too.
    pub(super) of_git: bool,
    /// Whether the option changes no byte of an archive, and git does not have it.
    pub(super) is_harmless: bool,
}

/// Whether clients of a server may use `option`. Other options of git-sluice may read files or take any amount of memory, and a
/// directory only shows less.
pub(super) fn is_for_clients(option: &Opt) -> bool {
    option.of_git || option.name == "relative"
}

/// A part of the words.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item<'t> {
    /// An option, with its value if it takes one.
    Set(&'t str, Option<OsString>),
    /// The `--no-` form of an option.
    Unset(&'t str),
    /// `-<number>`
    Level(i32),
    /// A word that is no option. Unknown options too, where they are kept.
    Operand(OsString),
    /// A question about a command, to be answered at once.
    Question(Question, CommandName),
}

/// A question about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// `-h`
    Usage,
    /// `--help`
    Help,
    /// `--version`
    Version,
    /// The question of git's completion: which options there are.
    Options,
}

/// The reader of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// A command.
    Command(CommandName),
    /// A server, whose client has typed `git archive`. Questions about the program are not for clients.
    Client,
}

/// The command line up to the options.
impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(CommandName::Archive) => f.write_str(NAME),
            Self::Command(command) => write!(f, "{NAME} {}", command.as_str()),
            Self::Client => f.write_str("git archive"),
        }
    }
}

/// Splits words into items. The iteration must stop at an error.
pub(super) struct Scanner<'t> {
    options: &'t [Opt],
    words: vec::IntoIter<OsString>,
    /// A word of short options, and the position of the next one in the word.
    cluster: Option<(Vec<u8>, usize)>,
    /// Whether words outside the table are kept unchanged, the end of options included. Then no option is abbreviated.
    keeps_others: bool,
    speaker: Speaker,
    /// Whether `-<number>` is the compression level.
    takes_level: bool,
    ended: bool,
    taken: Vec<Taken>,
}

/// A word that an option without `=` took as its value.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    /// The option with its dashes, in full.
    pub(super) option: String,
    pub(super) value: OsString,
}

impl<'t> Scanner<'t> {
    /// Splits words whose options are all in the table.
    pub(super) fn of_all(options: &'t [Opt], speaker: Speaker, words: Vec<OsString>) -> Self {
        Self {
            options,
            words: words.into_iter(),
            cluster: None,
            keeps_others: false,
            speaker,
            takes_level: false,
            ended: false,
            taken: Vec::new(),
        }
    }

    /// The command whose options the words give, unless they are those of a client.
    fn command(&self) -> Option<CommandName> {
        match self.speaker {
            Speaker::Command(command) => Some(command),
            Speaker::Client => None,
        }
    }

    /// Accepts `-<number>`.
    pub(super) fn with_level(self, takes_level: bool) -> Self {
        Self {
            takes_level,
            ..self
        }
    }

    /// The values so far that an option may have taken by mistake.
    pub(super) fn into_taken(self) -> Vec<Taken> {
        self.taken
    }

    fn next_word(&mut self, option: String) -> Option<OsString> {
        let value = self.words.next()?;
        self.taken.push(Taken {
            option,
            value: value.clone(),
        });
        Some(value)
    }

    /// A usage error, with a hint at the list of options.
    fn misuse(&self, message: impl Into<String>) -> Error {
        let hint = format!("'{} -h' lists the options", self.speaker);
        Error::usage(message.into()).hinted(hint)
    }

    /// Finds these options anywhere and keeps all other words unchanged.
    pub(super) fn of_some(options: &'t [Opt], speaker: Speaker, words: Vec<OsString>) -> Self {
        Self {
            keeps_others: true,
            ..Self::of_all(options, speaker, words)
        }
    }

    /// `--name`, `--name=value`, `--name value`, `--no-name`
    fn long(&mut self, word: OsString) -> Result<Item<'t>> {
        let typed = &word.as_bytes()[2..];
        let mut parts = typed.splitn(2, |&byte| byte == b'=');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().map(|value| OsStr::from_bytes(value).into());
        let Some(spelling) = self.spelling(name, typed)? else {
            return match self.question(typed) {
                _ if self.keeps_others => Ok(Item::Operand(word)),
                Some(question) => Ok(question),
                None => Err(self.unknown(name, typed)),
            };
        };
        let name = &spelling.option.name;
        if spelling.negated || !spelling.option.takes_value {
            return match value {
                Some(_) => Err(self.misuse(format!("option `{spelling}' takes no value"))),
                None if spelling.negated => Ok(Item::Unset(name)),
                None => Ok(Item::Set(name, None)),
            };
        }
        match value.or_else(|| self.next_word(format!("--{spelling}"))) {
            None => Err(self.misuse(format!("option `{spelling}' requires a value"))),
            value => Ok(Item::Set(name, value)),
        }
    }

    /// The question that the `typed` word asks about the command.
    fn question(&self, typed: &[u8]) -> Option<Item<'t>> {
        let question = match typed {
            b"help" | b"help-all" => Question::Help,
            b"version" => Question::Version,
            b"git-completion-helper" | b"git-completion-helper-all" => Question::Options,
            _ => return None,
        };
        Some(Item::Question(question, self.command()?))
    }

    /// The error about a `name` that no option has, a part of the `typed` word, with a hint at what may be meant.
    fn unknown(&self, name: &[u8], typed: &[u8]) -> Error {
        let name = shown(name);
        let error = self.misuse(format!("unknown option `{}'", shown(typed)));
        match self.misplaced(&name).or_else(|| self.similar(&name)) {
            Some(hint) => error.hinted(hint),
            None => error,
        }
    }

    /// The hint at the place of an option that another command has, or git itself.
    fn misplaced(&self, name: &str) -> Option<String> {
        let of_git = OF_GIT_ITSELF.iter().find(|(known, _)| *known == name);
        if let Some((_, form)) = of_git {
            let command = self.speaker.to_string();
            return Some(format!("git {form} {}", command.trim_start_matches("git ")));
        }
        if self.speaker == Speaker::Client {
            return None;
        }
        if let Some((_, hint)) = self.of_others().find(|(known, _)| *known == name) {
            return Some(hint.to_owned());
        }
        let is_it = |arg: &Arg| {
            let is_short = arg.get_short().is_some_and(|it| name.chars().eq([it]));
            !arg.is_hide_set() && (is_short || arg.get_long() == Some(name))
        };
        let has_it = |command: &CommandName| command.definition().get_arguments().any(is_it);
        if let Some(owner) = CommandName::all().find(has_it) {
            if self.speaker == Speaker::Command(CommandName::Help) && name.len() > 1 {
                return Some(format!("{NAME} help {name}"));
            }
            let dashes = if name.len() == 1 { "-" } else { "--" };
            let owner = owner.as_str();
            return Some(format!("'{dashes}{name}' is an option of '{NAME} {owner}'"));
        }
        let command = CommandName::of(OsStr::new(name))?;
        Some(format!("'{NAME} {}' is a command", command.as_str()))
    }

    /// The options of others that this command has something for, each with the hint.
    fn of_others(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let has = |name: &str| self.options.iter().any(|option| option.name == name);
        let known = OF_OTHERS.iter().filter(move |(_, needed, _)| has(needed));
        known.flat_map(|(names, _, hint)| names.iter().map(|name| (*name, *hint)))
    }

    /// The hint at the option that is most like `name`, which may be one of others.
    fn similar(&self, name: &str) -> Option<String> {
        let own = self.options.iter().flat_map(Spelling::all).map(|spelling| {
            let hint = format!("did you mean '--{spelling}'?");
            (spelling.to_string(), hint)
        });
        let is_client = self.speaker == Speaker::Client;
        let others = self.of_others().filter(|_| !is_client);
        let others = others.map(|(name, hint)| (name.to_owned(), hint.to_owned()));
        most_like(name, own.chain(others))
    }

    /// The option that `name`, a part of the `typed` word, spells out or abbreviates. Options of git-sluice never make
    /// an abbreviation of git's ambiguous.
    fn spelling(&self, name: &[u8], typed: &[u8]) -> Result<Option<Spelling<'t>>> {
        let all = || self.options.iter().flat_map(Spelling::all);
        let exact = all().find(|spelling| spelling.to_string().as_bytes() == name);
        if exact.is_some() || self.keeps_others {
            return Ok(exact);
        }
        for of_git in [true, false] {
            let meant: Vec<_> = all()
                .filter(|spelling| spelling.option.of_git == of_git)
                .filter(|spelling| spelling.to_string().as_bytes().starts_with(name))
                .collect();
            match meant[..] {
                [] => {}
                [one] => return Ok(Some(one)),
                [.., one, other] => {
                    let typed = shown(typed);
                    return Err(self.misuse(format!(
                        "ambiguous option: {typed} (could be --{one} or --{other})"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// The letter at `at` in `word`, which may have more: `-x`, `-xy`, `-ovalue`, `-o value`, `-9`
    fn short(&mut self, word: Vec<u8>, at: usize) -> Result<Item<'t>> {
        let letter = char::from(word[at]);
        let is_it = |option: &&Opt| option.short == Some(letter);
        let option = self.options.iter().find(is_it);
        if let Some(option) = option.filter(|option| option.takes_value) {
            let value = match &word[at + 1..] {
                [] => self.next_word(format!("-{letter}")),
                rest => Some(OsStr::from_bytes(rest).into()),
            };
            return match value {
                None => Err(self.misuse(format!("switch `{letter}' requires a value"))),
                value => Ok(Item::Set(&option.name, value)),
            };
        }
        if at == 1 {
            self.refuse_single_dash(&word[1..])?;
        }
        let question = match letter {
            'h' => Some(Question::Usage),
            'V' => Some(Question::Version),
            _ => None,
        };
        if let (None, false, Some(question), Some(command)) =
            (option, self.keeps_others, question, self.command())
        {
            return Ok(Item::Question(question, command));
        }
        match (option, letter) {
            (Some(option), _) => {
                self.cluster = Some((word, at + 1));
                Ok(Item::Set(&option.name, None))
            }
            _ if self.keeps_others => Ok(Item::Operand(OsString::from_vec(word))),
            (None, '0'..='9') if self.takes_level => {
                let digits = word[at..].iter().take_while(|byte| byte.is_ascii_digit());
                let digits = &word[at..at + digits.count()];
                let level = level(digits);
                let end = at + digits.len();
                self.cluster = Some((word, end));
                Ok(Item::Level(level))
            }
            (None, letter) if letter.is_ascii() => {
                let error = self.misuse(format!("unknown switch `{letter}'"));
                Err(match self.misplaced(&letter.to_string()) {
                    Some(hint) => error.hinted(hint),
                    None => error,
                })
            }
            (None, _) => {
                let rest = shown(&word[at..]);
                Err(self.misuse(format!("unknown non-ascii option in string: `-{rest}'")))
            }
        }
    }

    /// A long name after a single dash is a slip.
    fn refuse_single_dash(&self, typed: &[u8]) -> Result<()> {
        let abbreviates = |option: &Opt| option.name.as_bytes().starts_with(typed);
        let is_slip = typed.starts_with(b"no-") || self.options.iter().any(abbreviates);
        if typed.len() < 3 || !is_slip {
            return Ok(());
        }
        let typed = shown(typed);
        Err(self.misuse(format!("did you mean `--{typed}` (with two dashes)?")))
    }
}

impl<'t> Iterator for Scanner<'t> {
    type Item = Result<Item<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((word, at)) = self.cluster.take().filter(|(word, at)| *at < word.len()) {
            return Some(self.short(word, at));
        }
        let word = self.words.next()?;
        Some(match word.as_bytes() {
            _ if self.ended => Ok(Item::Operand(word)),
            b"--" | b"--end-of-options" => {
                self.ended = true;
                if !self.keeps_others {
                    return self.next();
                }
                Ok(Item::Operand(word))
            }
            [b'-', b'-', ..] => self.long(word),
            [b'-', _, ..] => self.short(word.into_vec(), 1),
            _ => Ok(Item::Operand(word)),
        })
    }
}

/// A long name as it is written in full; `Display` is without the dashes.
#[derive(Clone, Copy)]
struct Spelling<'t> {
    option: &'t Opt,
    negated: bool,
}

impl<'t> Spelling<'t> {
    fn all(option: &'t Opt) -> impl Iterator<Item = Self> {
        [false, true]
            .into_iter()
            .filter(|&negated| option.negatable || !negated)
            .map(move |negated| Self { option, negated })
    }
}

impl fmt::Display for Spelling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let no = if self.negated { "no-" } else { "" };
        write!(f, "{no}{}", self.option.name)
    }
}

/// The number as C's `strtol` reads it, cut to the 32 bits that git keeps.
fn level(digits: &[u8]) -> i32 {
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    digits.parse::<i64>().unwrap_or(i64::MAX) as i32
}

fn shown(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}
