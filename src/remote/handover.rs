//! The client's side of `--remote`: the installed git does it, with all that was typed.
//!
//! It knows ssh, `url.*.insteadOf` and whatever comes next; there is nothing in it that could be
//! faster. Options of ours that never change a byte speak of work that is done elsewhere, and are left
//! out; all others go along, so that nobody gets what was not asked for.

use std::{
    ffi::{OsStr, OsString},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    process::Command,
};

use crate::error::{Error, strerror};

/// Options of ours that change no byte: the name, how much of it no option of git begins with, and
/// whether it has a value.
const OWN: [(&str, usize, bool); 4] = [
    ("threads", 1, true),
    ("memory", 2, true),
    ("progress", 3, false),
    ("no-progress", 6, false),
];
/// git's options whose value may be the next word, whatever that looks like.
const VALUED: [&str; 9] = [
    "-o",
    "--output",
    "--remote",
    "--exec",
    "--format",
    "--prefix",
    "--add-file",
    "--add-virtual-file",
    "--mtime",
];

/// Whether `words`, all that was typed, ask for an archive of another repository.
pub fn is_wanted(words: &[OsString]) -> bool {
    let mut wanted = false;
    let mut words = options(words).iter();
    while let Some(word) = words.next() {
        match word.as_bytes() {
            b"--remote" => {
                wanted = true;
                words.next();
            }
            b"-o" | b"--output" | b"--exec" => {
                words.next();
            }
            b"--no-remote" => wanted = false,
            word => wanted |= word.starts_with(b"--remote="),
        }
    }
    wanted
}

/// Go on as `git archive` with `words`. Comes back only if that cannot be.
pub fn git_archive(words: &[OsString]) -> Error {
    let mut git = Command::new("git");
    let failure = git.arg("archive").args(without_own(words)).exec();
    Error::fatal(format!("cannot exec 'git': {}", strerror(&failure)))
}

fn without_own(words: &[OsString]) -> Vec<OsString> {
    let (options, rest) = words.split_at(options(words).len());
    let mut kept = Vec::new();
    let mut options = options.iter();
    while let Some(word) = options.next() {
        if VALUED.iter().any(|valued| word == valued) {
            kept.push(word.clone());
            kept.extend(options.next().cloned());
            continue;
        }
        match value_of_own(word) {
            None => kept.push(word.clone()),
            Some(Value::Next) => drop(options.next()),
            Some(Value::NoneOrHere) => {}
        }
    }
    kept.extend_from_slice(rest);
    kept
}

/// The words up to the one that ends the options.
fn options(words: &[OsString]) -> &[OsString] {
    let end = words
        .iter()
        .position(|word| word == "--" || word == "--end-of-options");
    &words[..end.unwrap_or(words.len())]
}

/// Where the value of an option is.
enum Value {
    NoneOrHere,
    Next,
}

/// The value of `word`, if it is one of our options.
fn value_of_own(word: &OsStr) -> Option<Value> {
    let word = word.to_str()?;
    if let Some(count) = word.strip_prefix("-j") {
        return Some(if count.is_empty() {
            Value::Next
        } else {
            Value::NoneOrHere
        });
    }
    let long = word.strip_prefix("--")?;
    let (name, value) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let (_, _, has_value) = OWN
        .iter()
        .find(|(own, enough, _)| own.starts_with(name) && name.len() >= *enough)?;
    Some(if *has_value && value.is_none() {
        Value::Next
    } else {
        Value::NoneOrHere
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{is_wanted, without_own};

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_wish_for_another_repository_is_seen() {
        for (line, wanted) in [
            ("--remote=. HEAD", true),
            ("HEAD --remote .", true),
            ("--remote", true),
            ("--remote=. --no-remote HEAD", false),
            ("--exec --remote=x HEAD", false),
            ("-o --remote=x HEAD", false),
            ("--remo=. HEAD", false),
            ("-- HEAD --remote=.", false),
        ] {
            assert_eq!(is_wanted(&words(line)), wanted, "{line}");
        }
    }

    #[test]
    fn git_sees_none_of_our_options() {
        for (line, kept) in [
            ("-j 2 --remote=. -j4 HEAD", "--remote=. HEAD"),
            ("--threads 2 --mem=1m --pro HEAD", "HEAD"),
            ("--no-progress -v HEAD", "-v HEAD"),
            ("--prefix -j4 --pre=x HEAD", "--prefix -j4 --pre=x HEAD"),
            ("HEAD -- -j4", "HEAD -- -j4"),
        ] {
            assert_eq!(without_own(&words(line)), words(kept), "{line}");
        }
    }
}
