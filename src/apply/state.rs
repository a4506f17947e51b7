//! Reads and writes the state file `.git-sluice`: one line that states which commit the directory holds.
//!
//! `holds <commit>`, or `applying <base> <target>` from before the first change until after the last, with
//! `-` for the base of a full archive. The file is replaced, never modified, and each state is on the disk
//! before anything depends on it.

use std::io::{Read, Write};

use cap_std::fs::Dir;

use crate::error::{Error, Result};

use super::{
    delta::{Claim, Id},
    own::{self, NEW_STATE, STATE, failed},
};

/// More than any state has.
const LEN_MAX: u64 = 256;

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
    /// Delete what the list of the directory names, then apply.
    Replace,
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
        own::remove(root, NEW_STATE)?;
        let Some(file) = own::open(root, STATE)? else {
            return Ok(None);
        };
        let mut text = Vec::new();
        let read = file.take(LEN_MAX).read_to_end(&mut text);
        read.map_err(|error| failed(STATE, &error))?;
        let state = Self::parse(&text).ok_or_else(|| {
            let what = format!("'{STATE}' does not say what the directory holds");
            Error::fatal(what).hinted(how_to_say())
        })?;
        Ok(Some(state))
    }

    /// Replace the state of `root`.
    pub(super) fn write(&self, root: &Dir) -> Result<()> {
        let mut file = own::create(root, NEW_STATE)?;
        let written = file.write_all(self.text().as_bytes());
        written.map_err(|error| failed(NEW_STATE, &error))?;
        own::replace(root, &file, NEW_STATE, STATE)?;
        let synced = root
            .try_clone()
            .and_then(|root| root.into_std_file().sync_all());
        synced.map_err(|error| failed(STATE, &error))
    }

    /// The commit that a directory in `state` holds, if it holds one wholly.
    pub(super) fn held(state: Option<Self>) -> Result<Id> {
        match state {
            Some(Self::Holds(held)) => Ok(held),
            Some(Self::Applying { target, .. }) => Err(Error::fatal(format!(
                "cannot verify: the directory is on the way to {target}"
            ))
            .hinted("apply the complete archive of that first")),
            None => Err(
                Error::fatal("cannot verify: the directory does not say what it holds")
                    .hinted(how_to_say()),
            ),
        }
    }

    /// Decide about an archive for a directory in this state. `bare` says that the directory holds no other
    /// file, `listed` that all files of archives in it are known.
    pub(super) fn judge(
        state: Option<&Self>,
        bare: bool,
        listed: bool,
        claim: &Claim,
    ) -> Result<Verdict> {
        let Claim { base, target, .. } = claim;
        match (state, base) {
            (_, None) if bare => Ok(Verdict::Apply),
            (Some(Self::Holds(held)), _) if held == target => Ok(Verdict::Nothing),
            (Some(_), None) if listed => Ok(Verdict::Replace),
            (Some(Self::Holds(held)), Some(base)) if held == base => Ok(Verdict::Apply),
            (Some(state), _) if *state == Self::applying(claim) => Ok(Verdict::Apply),
            (state, Some(base)) => Err(Self::refusal(state, bare, base)),
            (_, None) => Err(Error::fatal(
                "cannot apply: the archive is a full one, and the directory is not empty",
            )
            .hinted("what is in it came from elsewhere: apply the archive to an empty directory")),
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

fn how_to_say() -> String {
    format!("if it is the tree of a commit, write 'holds <commit>' into the file '{STATE}' in it")
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
        let [apply, replace, nothing] =
            [Verdict::Apply, Verdict::Replace, Verdict::Nothing].map(Some);
        for (state, bare, listed, of_delta, of_full) in [
            (None, true, false, None, apply),
            (None, false, false, None, None),
            (Some(&held), false, false, nothing, nothing),
            (Some(&held), true, false, nothing, apply),
            (Some(&base), false, false, apply, None),
            (Some(&base), false, true, apply, replace),
            (Some(&base), true, false, apply, apply),
            (Some(&other), false, false, None, None),
            (Some(&other), false, true, None, replace),
            (Some(&on_the_way), false, false, apply, None),
            (Some(&on_the_way), false, true, apply, replace),
            (Some(&from_nothing), false, false, None, apply),
            (Some(&from_nothing), false, true, None, replace),
        ] {
            let judge = |claim| State::judge(state, bare, listed, claim).ok();
            assert_eq!(
                (judge(&delta), judge(&full)),
                (of_delta, of_full),
                "{state:?} {bare} {listed}"
            );
        }
    }
}
