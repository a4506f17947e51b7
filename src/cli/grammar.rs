//! The spelling of options: the rules of git's `parse-options`.
//!
//! The scanner splits the words into items and reports errors in git's words. A tip may follow them. The scanner knows a
//! table of options, and no option's meaning.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::{OsStrExt, OsStringExt},
    vec,
};

use strsim::normalized_damerau_levenshtein;

/// Fails with the text of a usage error.
pub(super) type Result<T> = std::result::Result<T, String>;

/// How much an unknown name has to be like an option's for a tip: a slip or two in a name of common length.
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
    ended: bool,
}

impl<'t> Scanner<'t> {
    /// Splits words whose options are all in the table.
    pub(super) fn of_all(options: &'t [Opt], words: Vec<OsString>) -> Self {
        Self {
            options,
            words: words.into_iter(),
            cluster: None,
            keeps_others: false,
            ended: false,
        }
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
                b"help" | b"help-all" => Ok(Item::Question("--help")),
                b"version" => Ok(Item::Question("--version")),
                _ => Err(self.unknown(name, typed)),
            };
        };
        let name = &spelling.option.name;
        if spelling.negated || !spelling.option.takes_value {
            return match value {
                Some(_) => Err(format!("option `{spelling}' takes no value")),
                None if spelling.negated => Ok(Item::Unset(name)),
                None => Ok(Item::Set(name, None)),
            };
        }
        match value.or_else(|| self.words.next()) {
            None => Err(format!("option `{spelling}' requires a value")),
            value => Ok(Item::Set(name, value)),
        }
    }

    /// The message about a `name` that no option has, a part of the `typed` word, with a tip.
    fn unknown(&self, name: &[u8], typed: &[u8]) -> String {
        let tip = self.tip(&shown(name));
        let tip = tip.map_or_else(String::new, |tip| format!("\n\n  tip: {tip}"));
        format!("unknown option `{}'{tip}", shown(typed))
    }

    /// What an unknown `name` may mean: an option that belongs to `--batch`, or the most similar one.
    fn tip(&self, name: &str) -> Option<String> {
        if OF_BATCH.contains(&name) {
            return Some(format!("'--{name}' comes after '--batch'"));
        }
        let all = self.options.iter().flat_map(Spelling::all);
        let likenesses = all.map(|spelling| {
            let likeness = normalized_damerau_levenshtein(name, &spelling.to_string());
            (likeness, spelling)
        });
        let similar = likenesses
            .filter(|(likeness, _)| *likeness >= LIKENESS)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        similar.map(|(_, spelling)| format!("a similar option exists: '--{spelling}'"))
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
                    return Err(format!(
                        "ambiguous option: {typed} (could be --{one} or --{other})"
                    ));
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
                [] => self.words.next(),
                rest => Some(OsStr::from_bytes(rest).into()),
            };
            return match value {
                None => Err(format!("switch `{letter}' requires a value")),
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
            (None, 'h') => Ok(Item::Question("-h")),
            (None, 'V') => Ok(Item::Question("-V")),
            (None, letter) if letter.is_ascii() => Err(format!("unknown switch `{letter}'")),
            (None, _) => {
                let rest = shown(&word[at..]);
                Err(format!("unknown non-ascii option in string: `-{rest}'"))
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
        Err(format!("did you mean `--{typed}` (with two dashes)?"))
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
