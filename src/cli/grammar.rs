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

use strsim::normalized_damerau_levenshtein;

use super::NAME;
use crate::base::error::{Error, Result};

/// The command of a client, whose words another git has read before.
const COMMAND_OF_CLIENT: &str = "git archive";
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
/// Options that count as the first word only, each with the rest of its command line.
const FIRST_ONLY: [(&str, &str); 2] =
    [("batch", "[<options>]"), ("upload-archive", "<repository>")];

/// How much an unknown name has to be like an option's for a hint: a slip or two in a name of common length.
const LIKENESS: f64 = 0.6;

/// Options that only `--batch` knows, without their dashes.
const OF_BATCH: [&str; 2] = ["batch-jobs", "batch-repositories"];

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
    /// A question about the program itself, to be answered at once.
    Question(&'static str),
}

/// Splits words into items. The iteration must stop at an error.
pub(super) struct Scanner<'t> {
    options: &'t [Opt],
    words: vec::IntoIter<OsString>,
    /// A word of short options, and the position of the next one in the word.
    cluster: Option<(Vec<u8>, usize)>,
    /// Whether words outside the table are kept unchanged, the end of options included. Then no option is abbreviated.
    keeps_others: bool,
    /// Whether the words are those of a client. Questions about the program are not for clients.
    is_for_client: bool,
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
    pub(super) fn of_all(options: &'t [Opt], words: Vec<OsString>) -> Self {
        Self {
            options,
            words: words.into_iter(),
            cluster: None,
            keeps_others: false,
            is_for_client: false,
            ended: false,
            taken: Vec::new(),
        }
    }

    /// The same for words of a client, if `is_for_client`.
    pub(super) fn for_client(self, is_for_client: bool) -> Self {
        Self {
            is_for_client,
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
        Error::usage(message.into()).hinted(list_hint(command(self.is_for_client)))
    }

    /// Finds these options anywhere and keeps all other words unchanged.
    pub(super) fn of_some(options: &'t [Opt], words: Vec<OsString>) -> Self {
        Self {
            keeps_others: true,
            ..Self::of_all(options, words)
        }
    }

    /// `--name`, `--name=value`, `--name value`, `--no-name`
    fn long(&mut self, word: OsString) -> Result<Item<'t>> {
        let typed = &word.as_bytes()[2..];
        let mut parts = typed.splitn(2, |&byte| byte == b'=');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().map(|value| OsStr::from_bytes(value).into());
        let Some(spelling) = self.spelling(name, typed)? else {
            return match typed {
                _ if self.keeps_others => Ok(Item::Operand(word)),
                b"help" | b"help-all" if !self.is_for_client => Ok(Item::Question("--help")),
                b"version" if !self.is_for_client => Ok(Item::Question("--version")),
                _ => Err(self.unknown(name, typed)),
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

    /// The error about a `name` that no option has, a part of the `typed` word, with a hint at what may be meant.
    fn unknown(&self, name: &[u8], typed: &[u8]) -> Error {
        let name = shown(name);
        let error = self.misuse(format!("unknown option `{}'", shown(typed)));
        let similar = || {
            let similar = self.similar(&name)?;
            Some(format!("did you mean '--{similar}'?"))
        };
        match self.misplaced(&name).or_else(similar) {
            Some(hint) => error.hinted(hint),
            None => error,
        }
    }

    /// The hint at the place of an option that is not for the command, or not at this place.
    fn misplaced(&self, name: &str) -> Option<String> {
        let known = |options: &[(&str, &'static str)]| {
            let option = options.iter().find(|(known, _)| *known == name);
            option.map(|(_, form)| *form)
        };
        if let Some(form) = known(&OF_GIT_ITSELF) {
            let command = command(self.is_for_client).trim_start_matches("git ");
            return Some(format!("git {form} {command}"));
        }
        if OF_BATCH.contains(&name) && !self.is_for_client {
            return Some(format!("'--{name}' comes after '--batch'"));
        }
        let form = known(&FIRST_ONLY).filter(|_| !self.is_for_client)?;
        Some(format!("'--{name}' comes first: {NAME} --{name} {form}"))
    }

    /// The name of an option that is most like `name`.
    fn similar(&self, name: &str) -> Option<Spelling<'t>> {
        let all = self.options.iter().flat_map(Spelling::all);
        let likenesses = all.map(|spelling| {
            let likeness = normalized_damerau_levenshtein(name, &spelling.to_string());
            (likeness, spelling)
        });
        let similar = likenesses
            .filter(|(likeness, _)| *likeness >= LIKENESS)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        similar.map(|(_, spelling)| spelling)
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
        match (option, letter) {
            (Some(option), _) => {
                self.cluster = Some((word, at + 1));
                Ok(Item::Set(&option.name, None))
            }
            _ if self.keeps_others => Ok(Item::Operand(OsString::from_vec(word))),
            (None, '0'..='9') => {
                let digits = word[at..].iter().take_while(|byte| byte.is_ascii_digit());
                let digits = &word[at..at + digits.count()];
                let level = level(digits);
                let end = at + digits.len();
                self.cluster = Some((word, end));
                Ok(Item::Level(level))
            }
            (None, 'h') if !self.is_for_client => Ok(Item::Question("-h")),
            (None, 'V') if !self.is_for_client => Ok(Item::Question("-V")),
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

    /// A long name behind a single dash is a slip.
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

/// The command that takes the words.
pub(super) fn command(is_for_client: bool) -> &'static str {
    match is_for_client {
        true => COMMAND_OF_CLIENT,
        false => NAME,
    }
}

/// The hint that lists the options of `command`.
pub(super) fn list_hint(command: &str) -> String {
    format!("'{command} -h' lists the options")
}

fn shown(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}
