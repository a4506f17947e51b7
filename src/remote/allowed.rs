//! What a client may ask for at all: the options that git has.
//!
//! An option of ours may read a file, or take as much memory as it likes. So this lists what is
//! allowed, and whatever is added to our command line stays out of reach.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use crate::error::sanitised;

/// git's options that may be shortened, and whether they have a value.
const LONG: [(&str, bool); 12] = [
    ("add-file", true),
    ("add-virtual-file", true),
    ("exec", true),
    ("format", true),
    ("help", false),
    ("list", false),
    ("mtime", true),
    ("output", true),
    ("prefix", true),
    ("remote", true),
    ("verbose", false),
    ("worktree-attributes", false),
];
/// Those of one letter without a value; digits are a compression level.
const FLAGS: &[u8] = b"hlv";
/// The one with a value.
const OUTPUT: u8 = b'o';

/// What is wrong with the first of `words` that git does not know, if there is one.
pub fn refusal(words: &[OsString]) -> Option<String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value_follows = match word.as_bytes() {
            b"--" | b"--end-of-options" => return None,
            [b'-', b'-', long @ ..] => match value_of_long(long) {
                Some(value_follows) => value_follows,
                None => return Some(format!("unknown option `{}'", sanitised(long))),
            },
            [b'-', letters @ ..] => match value_of_letters(letters) {
                Ok(value_follows) => value_follows,
                Err(letter) => return Some(format!("unknown switch `{}'", sanitised(&[letter]))),
            },
            _ => false,
        };
        if value_follows {
            words.next();
        }
    }
    None
}

/// Whether the next word is the value of this option; nothing if there is no such option.
fn value_of_long(option: &[u8]) -> Option<bool> {
    let equals = option.iter().position(|&byte| byte == b'=');
    let name = &option[..equals.unwrap_or(option.len())];
    if b"no-".starts_with(name) {
        return Some(false);
    }
    let positive = name.strip_prefix(b"no-");
    let stem = positive.unwrap_or(name);
    let (_, has_value) = LONG
        .iter()
        .find(|(long, _)| long.as_bytes().starts_with(stem))?;
    Some(*has_value && positive.is_none() && equals.is_none())
}

/// The same for letters behind one dash; the letter that is no option as the error.
fn value_of_letters(letters: &[u8]) -> Result<bool, u8> {
    for (at, letter) in letters.iter().enumerate() {
        match letter {
            &OUTPUT => return Ok(at + 1 == letters.len()),
            letter if letter.is_ascii_digit() || FLAGS.contains(letter) => {}
            letter => return Err(*letter),
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::refusal;

    #[test]
    fn only_options_of_git_are_allowed() {
        for (line, expected) in [
            ("-v9 --pre -j4 --no-form HEAD - -- -j4", None),
            ("--add-virtual-file --threads=1 --list", None),
            ("-o -j4 --end-of-options --threads=1", None),
            ("HEAD --threads=2", Some("unknown option `threads=2'")),
            ("--mem=1g HEAD", Some("unknown option `mem=1g'")),
            (
                "--prefix=x --no-progress",
                Some("unknown option `no-progress'"),
            ),
            ("--no-prefix -j4", Some("unknown switch `j'")),
            ("-vj4 HEAD", Some("unknown switch `j'")),
            (
                "--pathspec-from-file=x",
                Some("unknown option `pathspec-from-file=x'"),
            ),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(refusal(&words).as_deref(), expected, "{line}");
        }
    }
}
