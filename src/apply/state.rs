//! Reads and writes the state file `.git-sluice`: one line that states which commit the directory holds.
//!
//! `holds <commit>`, or `applying <base> <target>` from before the first change until after the last, with
//! `-` for the base of a full archive. The file is replaced, never modified, and each state is on the disk
//! before anything depends on it.
//!
//! The file decides which delta applies to the directory, so it must come from a trusted user: it must be a
//! regular file, reached through no symbolic link, owned by the applying user and not writable by everybody.

use std::io::{self, Read, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::process::geteuid;

use crate::error::{Error, Result, strerror};

use super::delta::{Claim, Id};

const NAME: &str = ".git-sluice";
/// The next state, before the rename.
const NEW: &str = ".git-sluice.new";
/// The permissions of the file: only the owner may write.
const MODE: u32 = 0o644;
/// More than any state has.
const LEN_MAX: u64 = 256;

/// Whether a name at the top of the directory is reserved, on file systems with and without case.
pub(super) fn is_own(name: &[u8]) -> bool {
    [NAME, NEW]
        .iter()
        .any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
}

/// The content of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The tree of this commit.
    Holds(Id),
    /// A mixture of base and target.
    Applying { base: Option<Id>, target: Id },
}

/// The decision about an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Apply,
    /// The directory holds the target already.
    Nothing,
}

impl State {
    /// The state from before the first change to after the last.
    pub(super) fn applying(claim: &Claim) -> Self {
        Self::Applying {
            base: claim.base.clone(),
            target: claim.target.clone(),
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        match words[..] {
            [b"holds", id] => Id::new(id).map(Self::Holds),
            [b"applying", base, target] => Some(Self::Applying {
                base: match base {
                    b"-" => None,
                    id => Some(Id::new(id)?),
                },
                target: Id::new(target)?,
            }),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Holds(id) => format!("holds {id}\n"),
            Self::Applying { base, target } => {
                let base = base.as_ref().map_or("-".to_owned(), Id::to_string);
                format!("applying {base} {target}\n")
            }
        }
    }

    /// Read the state of `root`. The remains of an interrupted write are removed.
    pub(super) fn read(root: &Dir) -> Result<Option<Self>> {
        remove_new(root).map_err(failed)?;
        match root.symlink_metadata(NAME) {
            Ok(metadata) => check_origin(&metadata)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let file = root.open_with(NAME, &options).map_err(failed)?;
        let mut text = Vec::new();
        file.take(LEN_MAX).read_to_end(&mut text).map_err(failed)?;
        let state = Self::parse(&text).ok_or_else(|| {
            let what = format!("'{NAME}' does not say what the directory holds");
            Error::fatal(what).hinted(how_to_say())
        })?;
        Ok(Some(state))
    }

    /// Replace the state of `root`.
    pub(super) fn write(&self, root: &Dir) -> Result<()> {
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(MODE);
            let mut file = root.open_with(NEW, &options)?;
            file.write_all(self.text().as_bytes())?;
            file.sync_all()?;
            root.rename(NEW, root, NAME)?;
            root.try_clone()?.into_std_file().sync_all()
        };
        write().map_err(failed)
    }

    /// Decide about an archive for a directory in this state. `bare` says that the directory holds no other
    /// file.
    pub(super) fn judge(state: Option<&Self>, bare: bool, claim: &Claim) -> Result<Verdict> {
        let Claim { base, target, .. } = claim;
        match (state, base) {
            (_, None) if bare => Ok(Verdict::Apply),
            (Some(Self::Holds(held)), _) if held == target => Ok(Verdict::Nothing),
            (Some(Self::Holds(held)), Some(base)) if held == base => Ok(Verdict::Apply),
            (Some(state), _) if *state == Self::applying(claim) => Ok(Verdict::Apply),
            (state, Some(base)) => Err(Self::refusal(state, bare, base)),
            (_, None) => Err(Error::fatal(
                "cannot apply: the archive is a full one, and the directory is not empty",
            )),
        }
    }

    fn refusal(state: Option<&Self>, bare: bool, base: &Id) -> Error {
        let (holds, hint) = match state {
            Some(Self::Holds(held)) => (format!("holds {held}"), None),
            Some(Self::Applying {
                base: Some(from),
                target,
            }) => (
                format!("is on the way from {from} to {target}"),
                Some("apply the complete archive of that first".to_owned()),
            ),
            Some(Self::Applying { base: None, target }) => (
                format!("is on the way to {target}"),
                Some("apply the complete archive of that first".to_owned()),
            ),
            None if bare => (
                "is empty".to_owned(),
                Some(format!("apply the full archive of {base} first")),
            ),
            None => ("does not say what it holds".to_owned(), Some(how_to_say())),
        };
        let error = Error::fatal(format!(
            "cannot apply: the directory {holds}, the archive needs {base}"
        ));
        match hint {
            Some(hint) => error.hinted(hint),
            None => error,
        }
    }
}

/// Refuse a file that another user may have written.
fn check_origin(metadata: &Metadata) -> Result<()> {
    let kind = metadata.file_type();
    let fault = match () {
        () if kind.is_symlink() => "it is a symbolic link",
        () if !kind.is_file() => "it is no regular file",
        () if metadata.uid() != geteuid().as_raw() => "it belongs to another user",
        () if metadata.mode() & 0o002 != 0 => "everybody may write it",
        () => return Ok(()),
    };
    let error = Error::fatal(format!("cannot trust '{NAME}': {fault}"));
    Err(error.hinted("if you know what the directory holds, remove the file and write it anew"))
}

fn how_to_say() -> String {
    format!("if it is the tree of a commit, write 'holds <commit>' into the file '{NAME}' in it")
}

fn remove_new(root: &Dir) -> io::Result<()> {
    match root.remove_file(NEW) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn failed(error: io::Error) -> Error {
    Error::fatal(format!(
        "cannot read or write '{NAME}': {}",
        strerror(&error)
    ))
}

#[cfg(test)]
mod tests {
    use super::{Claim, Id, State, Verdict};

    fn id(digit: &str) -> Id {
        Id::new(digit.repeat(40).as_bytes()).expect("an id")
    }

    #[test]
    fn states_are_one_line() {
        let applying = |base| State::Applying {
            base,
            target: id("b"),
        };
        for state in [
            State::Holds(id("a")),
            applying(None),
            applying(Some(id("a"))),
        ] {
            assert_eq!(State::parse(state.text().as_bytes()), Some(state.clone()));
            assert_eq!(
                State::parse(state.text().trim_end().as_bytes()),
                Some(state)
            );
        }
        for text in [
            "",
            "holds",
            "holds ",
            "holds HEAD",
            "holds  a",
            "applying - -",
            "\n",
        ] {
            assert_eq!(State::parse(text.as_bytes()), None, "{text:?}");
        }
        let text = State::Holds(id("a")).text();
        assert_eq!(State::parse(format!("{text}\n").as_bytes()), None);
    }

    /// The decisions about a delta from `a` to `b` and about a full archive of `b`.
    #[test]
    fn verdicts() {
        let claim = |base: Option<&str>| Claim {
            base: base.map(id),
            target: id("b"),
            whiteouts: false,
        };
        let [delta, full] = [claim(Some("a")), claim(None)];
        let [on_the_way, from_nothing] = [State::applying(&delta), State::applying(&full)];
        let [held, base, other] = ["b", "a", "c"].map(|digit| State::Holds(id(digit)));
        let [apply, nothing] = [Verdict::Apply, Verdict::Nothing].map(Some);
        for (state, bare, of_delta, of_full) in [
            (None, true, None, apply),
            (None, false, None, None),
            (Some(&held), false, nothing, nothing),
            (Some(&held), true, nothing, apply),
            (Some(&base), false, apply, None),
            (Some(&base), true, apply, apply),
            (Some(&other), false, None, None),
            (Some(&on_the_way), false, apply, None),
            (Some(&from_nothing), false, None, apply),
        ] {
            let judge = |claim| State::judge(state, bare, claim).ok();
            assert_eq!(
                (judge(&delta), judge(&full)),
                (of_delta, of_full),
                "{state:?} {bare}"
            );
        }
    }
}
