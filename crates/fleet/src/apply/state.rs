//! Reads and writes the state file `.git-sluice`: one line that states which commit the directory holds.
//!
//! `holds <commit>`, or `applying <base> <target>` from before the first change until after the last, with
//! `-` for the base of a full archive. An [`Origin`] follows where archives came from a channel, then `filters=` and a
//! [`FilterHash`] where the filters of the archives are known. The file is replaced, never modified, and each state is on
//! the disk before anything depends on it.

use std::io::{Read, Write};

use cap_std::fs::File;

use sluice_base::error::{ByteMessage, Error, Result, format_bytes};

use super::{
    delta::{ArchiveHeader, FilterHash, Id, Origin},
    state_files::{self, NEW_STATE, STATE, StateDirectory},
};

/// More than any state has.
const LEN_MAX: u64 = 512;
/// The beginning of the word with the filters.
const FILTERS: &[u8] = b"filters=";

/// The content of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryState {
    /// Which commit.
    pub content: Content,
    /// The channel from which all of the content came, if it is known.
    pub origin: Option<Origin>,
    /// The filters that the archives were made with, if they are known.
    pub filters: Option<FilterHash>,
}

/// Which commit a directory holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The tree of this commit.
    Holds(Id),
    /// A mixture of base and target.
    Applying {
        /// The base of a delta.
        base: Option<Id>,
        /// The target of the archive.
        target: Id,
    },
}

/// The files of a directory, without those that state what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// There are none.
    None,
    /// The list names all that archives have brought.
    Listed,
    /// Nothing is known of them.
    Unlisted,
}

/// What a directory holds, compared with what an archive needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// The target of the archive.
    Target,
    /// The base of the delta.
    Base,
    /// A part of this archive, whose application was interrupted.
    Interrupted,
    /// Anything else.
    Other,
}

/// The decision about an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Apply,
    /// Apply in place of what the list of the directory names.
    Replace,
    /// The directory holds the target already.
    Nothing,
}

impl DirectoryState {
    /// The state from before the first change to after the last.
    pub(super) fn applying(claim: &ArchiveHeader) -> Self {
        Self {
            content: Content::Applying {
                base: claim.base.clone(),
                target: claim.target.clone(),
            },
            origin: claim.origin.clone(),
            filters: claim.filters.clone(),
        }
    }

    /// The state after the last change.
    pub(super) fn applied(claim: &ArchiveHeader) -> Self {
        Self {
            content: Content::Holds(claim.target.clone()),
            origin: claim.origin.clone(),
            filters: claim.filters.clone(),
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let (content, rest) = match words[..] {
            [b"holds", id, ref rest @ ..] => (Content::Holds(Id::new(id)?), rest),
            [b"applying", base, target, ref rest @ ..] => {
                let base = match base {
                    b"-" => None,
                    id => Some(Id::new(id)?),
                };
                let target = Id::new(target)?;
                (Content::Applying { base, target }, rest)
            }
            _ => return None,
        };
        let (rest, filters) = match rest {
            [rest @ .., last] if last.starts_with(FILTERS) => {
                (rest, Some(FilterHash::new(&last[FILTERS.len()..])?))
            }
            rest => (rest, None),
        };
        let origin = match rest {
            [] => None,
            [key] => Some(Origin::new(key)?),
            _ => return None,
        };
        Some(Self {
            content,
            origin,
            filters,
        })
    }

    fn text(&self) -> String {
        let content = match &self.content {
            Content::Holds(id) => format!("holds {id}"),
            Content::Applying { base, target } => {
                let base = base.as_ref().map_or("-".to_owned(), Id::to_string);
                format!("applying {base} {target}")
            }
        };
        let origin = self.origin.iter().map(|origin| format!(" {origin}"));
        let filters = self.filters.iter().map(|hash| format!(" filters={hash}"));
        format!("{content}{}\n", origin.chain(filters).collect::<String>())
    }

    /// Read the state of `root`.
    pub(super) fn read(root: &StateDirectory) -> Result<Option<Self>> {
        let Some(file) = state_files::open(root, STATE)? else {
            return Ok(None);
        };
        let mut text = Vec::new();
        let read = file.take(LEN_MAX).read_to_end(&mut text);
        read.map_err(|error| root.failed(STATE, &error))?;
        let state = Self::parse(&text).ok_or_else(|| {
            let path = root.shown(STATE);
            let what = format_bytes(
                "'{}' does not name the commit that the directory holds",
                &[&path],
            );
            Error::fatal(what).hinted(how_to_say())
        })?;
        Ok(Some(state))
    }

    /// Write the file that the next state takes the place of. On a full disk, this leaves room for the state.
    pub(super) fn prepare(&self, root: &StateDirectory) -> Result<File> {
        let mut file = state_files::create(root, NEW_STATE)?;
        let written = file.write_all(self.text().as_bytes());
        written.map_err(|error| root.failed(NEW_STATE, &error))?;
        Ok(file)
    }

    /// Replace the state of `root`.
    pub(super) fn write(&self, root: &StateDirectory) -> Result<()> {
        let file = self.prepare(root)?;
        state_files::replace(root, &file, NEW_STATE, STATE)?;
        let synced = root
            .dir
            .try_clone()
            .and_then(|dir| dir.into_std_file().sync_all());
        synced.map_err(|error| root.failed(STATE, &error))
    }

    /// The commit that a directory in `state` holds, if it holds one wholly.
    pub(super) fn held(state: Option<Self>) -> Result<Id> {
        match state.map(|state| state.content) {
            Some(Content::Holds(held)) => Ok(held),
            Some(Content::Applying { target, .. }) => Err(Error::fatal(format!(
                "cannot verify: an update to {target} was interrupted"
            ))
            .hinted("apply its archive again first, without --verify and --repair")),
            None => Err(
                Error::fatal("cannot verify: the directory has no file '.git-sluice'")
                    .hinted("'git status' compares a checkout; in another directory, apply a full archive first"),
            ),
        }
    }

    /// Whether the directory holds what it would hold after the archive was applied, as far as the state says.
    pub(super) fn is_held(&self, claim: &ArchiveHeader) -> bool {
        let applied = Self::applied(claim);
        self.content == applied.content && self.origin == applied.origin
    }

    /// Whether an application has not ended.
    pub(super) fn is_on_the_way(&self) -> bool {
        matches!(self.content, Content::Applying { .. })
    }

    /// Whether a full archive was interrupted, so that only a full archive may follow.
    pub(super) fn takes_full_archives_only(&self) -> bool {
        matches!(self.content, Content::Applying { base: None, .. })
    }

    /// Decides about an archive for a directory with these `files`, in this `state`.
    ///
    /// | the directory holds | a delta | a full archive: no files | listed files | unlisted files |
    /// |---|---|---|---|---|
    /// | the target | nothing | apply | replace; nothing, if of the same channel | nothing |
    /// | the base | apply | | | |
    /// | a part of this archive | apply | apply | replace | apply |
    /// | something else, or does not say | refuse | apply | replace | refuse |
    ///
    /// For an archive of a channel, what came from elsewhere counts as something else. Only a channel tells that two
    /// full archives of one commit have the same files. A delta is also refused if it was made with other filters than
    /// those of the directory.
    pub(super) fn judge(
        state: Option<&Self>,
        files: Files,
        claim: &ArchiveHeader,
    ) -> Result<Verdict> {
        let relation = Self::relation(state, claim);
        let Some(base) = &claim.base else {
            return match (relation, files) {
                (_, Files::None) => Ok(Verdict::Apply),
                (Relation::Target, Files::Listed) if claim.origin.is_some() => Ok(Verdict::Nothing),
                (_, Files::Listed) => Ok(Verdict::Replace),
                (Relation::Target, Files::Unlisted) => Ok(Verdict::Nothing),
                (Relation::Interrupted, Files::Unlisted) => Ok(Verdict::Apply),
                (Relation::Base | Relation::Other, Files::Unlisted) => Err(Self::not_empty(state)),
            };
        };
        if relation != Relation::Other {
            Self::fit_filters(state, claim)?;
        }
        match relation {
            Relation::Target => Ok(Verdict::Nothing),
            Relation::Base | Relation::Interrupted => Ok(Verdict::Apply),
            Relation::Other => Err(Self::refusal(state, files == Files::None, base)),
        }
    }

    fn relation(state: Option<&Self>, claim: &ArchiveHeader) -> Relation {
        let fits = |state: &&Self| claim.origin.is_none() || claim.origin == state.origin;
        match state.filter(fits).map(|state| &state.content) {
            Some(Content::Holds(held)) if *held == claim.target => Relation::Target,
            Some(Content::Holds(held)) if Some(held) == claim.base.as_ref() => Relation::Base,
            Some(content) if *content == Self::applying(claim).content => Relation::Interrupted,
            _ => Relation::Other,
        }
    }

    /// Refuses a delta with other filters, as far as those on both sides are known.
    fn fit_filters(state: Option<&Self>, claim: &ArchiveHeader) -> Result<()> {
        let held = state.and_then(|state| state.filters.as_ref());
        match (held, &claim.filters) {
            (Some(held), Some(own)) if held != own => {
                let cause =
                    format!("its filters have the hash {own}, those of the directory {held}");
                Err(other_options(cause.as_bytes()))
            }
            _ => Ok(()),
        }
    }

    fn not_empty(state: Option<&Self>) -> Error {
        let first = if state.is_some_and(Self::is_on_the_way) {
            "apply the interrupted archive again first, or"
        } else {
            "git-sluice did not write its files:"
        };
        Error::fatal("cannot apply: the archive is a full one, and the directory is not empty")
            .hinted(format!("{first} apply the archive to an empty directory"))
    }

    fn refusal(state: Option<&Self>, bare: bool, base: &Id) -> Error {
        let (holds, hint) = match state.map(|state| &state.content) {
            Some(Content::Holds(held)) => (
                format!("holds {held}"),
                format!("create the delta with --base={held}, or apply a full archive"),
            ),
            Some(Content::Applying {
                base: Some(from),
                target,
            }) => (
                format!("is between {from} and {target}"),
                "apply the interrupted archive again, or a full archive".to_owned(),
            ),
            Some(Content::Applying { base: None, target }) => (
                format!("has a part of {target}"),
                "apply the interrupted archive again, or a full archive".to_owned(),
            ),
            None if bare => (
                "is empty".to_owned(),
                format!("apply the full archive of {base} first"),
            ),
            None => (format!("has no file '{STATE}'"), how_to_say()),
        };
        let error = Error::fatal(format!(
            "cannot apply: the directory {holds}, the archive needs {base}"
        ));
        error.hinted(hint)
    }
}

/// The error of a delta that does not fit the files of its base, because of `cause`.
pub(super) fn other_options(cause: &[u8]) -> Error {
    Error::fatal("cannot apply: the archive was created with other options than the directory")
        .caused_by(ByteMessage(cause.into()))
        .hinted("apply a full archive with the options of the delta")
}

fn how_to_say() -> String {
    format!("if it is the tree of a commit, write 'holds <commit>' into the file '{STATE}' in it")
}

#[cfg(test)]
mod tests {
    use super::{ArchiveHeader, Content, DirectoryState, Files, FilterHash, Id, Origin, Verdict};

    const VERDICTS: [Verdict; 3] = [Verdict::Apply, Verdict::Replace, Verdict::Nothing];

    fn id(digit: &str) -> Id {
        Id::new(digit.repeat(40).as_bytes()).expect("an id")
    }

    fn origin(digit: &str) -> Origin {
        Origin::new(digit.repeat(64).as_bytes()).expect("a key")
    }

    fn holds(digit: &str) -> DirectoryState {
        DirectoryState {
            content: Content::Holds(id(digit)),
            origin: None,
            filters: None,
        }
    }

    fn filters(digit: &str) -> FilterHash {
        FilterHash::new(digit.repeat(64).as_bytes()).expect("a hash")
    }

    #[test]
    fn states_are_one_line() {
        let applying = |base| Content::Applying {
            base,
            target: id("b"),
        };
        for content in [
            Content::Holds(id("a")),
            applying(None),
            applying(Some(id("a"))),
        ] {
            for (origin, filters) in [
                (None, None),
                (Some(origin("d")), None),
                (None, Some(filters("e"))),
                (Some(origin("d")), Some(filters("d"))),
            ] {
                let content = content.clone();
                let state = DirectoryState {
                    content,
                    origin,
                    filters,
                };
                let text = state.text();
                assert_eq!(DirectoryState::parse(text.as_bytes()), Some(state.clone()));
                assert_eq!(
                    DirectoryState::parse(text.trim_end().as_bytes()),
                    Some(state)
                );
            }
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
            assert_eq!(DirectoryState::parse(text.as_bytes()), None, "{text:?}");
        }
        let parse = |text: &str| DirectoryState::parse(text.as_bytes());
        let (held, key, other) = (id("a"), "d".repeat(64), "e".repeat(64));
        for rest in [
            "\n\n",
            " d",
            "\nholds b",
            " filters=",
            &format!(" filters={}", &key[1..]),
            &format!(" filters={key} {other}"),
            &format!(" {key} {key} filters={key}"),
        ] {
            assert_eq!(parse(&format!("holds {held}{rest}")), None, "{rest:?}");
        }
        for text in [&format!("filters={key}"), &"x".repeat(100_000)] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    /// The decisions about a delta from `a` to `b` and about a full archive of `b`.
    #[test]
    fn verdicts() {
        let [delta, full] = [claim(Some("a"), None), claim(None, None)];
        let [on_the_way, from_nothing] = [
            DirectoryState::applying(&delta),
            DirectoryState::applying(&full),
        ];
        let [held, base, other] = ["b", "a", "c"].map(holds);
        let [apply, replace, nothing] = VERDICTS.map(Some);
        for (state, files, of_delta, of_full) in [
            (None, Files::None, None, apply),
            (None, Files::Unlisted, None, None),
            (Some(&held), Files::Unlisted, nothing, nothing),
            (Some(&held), Files::None, nothing, apply),
            (Some(&held), Files::Listed, nothing, replace),
            (Some(&base), Files::Unlisted, apply, None),
            (Some(&base), Files::Listed, apply, replace),
            (Some(&base), Files::None, apply, apply),
            (Some(&other), Files::Unlisted, None, None),
            (Some(&other), Files::Listed, None, replace),
            (Some(&on_the_way), Files::Unlisted, apply, None),
            (Some(&on_the_way), Files::Listed, apply, replace),
            (Some(&from_nothing), Files::Unlisted, None, apply),
            (Some(&from_nothing), Files::Listed, None, replace),
        ] {
            let judge = |claim| DirectoryState::judge(state, files, claim).ok();
            assert_eq!(
                (judge(&delta), judge(&full)),
                (of_delta, of_full),
                "{state:?} {files:?}"
            );
        }
    }

    /// The same commit of another channel, or of no channel, has other files.
    #[test]
    fn an_archive_of_a_channel_fits_what_came_from_the_channel() {
        let of_channel = |digit: &str, channel| DirectoryState {
            origin: Some(origin(channel)),
            ..holds(digit)
        };
        let delta = claim(Some("a"), Some("d"));
        let full = claim(None, Some("d"));
        let plain = claim(Some("a"), None);
        let [apply, replace, nothing] = VERDICTS.map(Some);
        for (state, of_delta, of_full, of_plain) in [
            (of_channel("a", "d"), apply, replace, apply),
            (of_channel("b", "d"), nothing, nothing, nothing),
            (of_channel("a", "e"), None, replace, apply),
            (of_channel("b", "e"), None, replace, nothing),
            (holds("a"), None, replace, apply),
            (holds("b"), None, replace, nothing),
            (DirectoryState::applying(&delta), apply, replace, apply),
            (DirectoryState::applying(&plain), None, replace, apply),
        ] {
            let judge = |claim| DirectoryState::judge(Some(&state), Files::Listed, claim).ok();
            let verdicts = [judge(&delta), judge(&full), judge(&plain)];
            assert_eq!(verdicts, [of_delta, of_full, of_plain], "{state:?}");
        }
    }

    /// Deltas with equal hashes can follow each other. A full archive follows anything.
    #[test]
    fn filters_agree_as_far_as_they_are_known() {
        let with = |filters| ArchiveHeader {
            filters,
            ..claim(Some("a"), None)
        };
        let known = |digit| Some(filters(digit));
        for (held, own, agree) in [
            (None, None, true),
            (None, known("d"), true),
            (known("d"), None, true),
            (known("d"), known("d"), true),
            (known("d"), known("e"), false),
        ] {
            let full = ArchiveHeader {
                base: None,
                ..with(own.clone())
            };
            let delta = with(own);
            for content in [
                holds("a").content,
                holds("b").content,
                DirectoryState::applying(&delta).content,
            ] {
                let state = DirectoryState {
                    content,
                    filters: held.clone(),
                    ..holds("a")
                };
                let judge = |claim| DirectoryState::judge(Some(&state), Files::Listed, claim);
                assert_eq!(judge(&delta).is_ok(), agree, "{state:?}");
                assert!(judge(&full).is_ok());
            }
        }
    }

    fn claim(base: Option<&str>, channel: Option<&str>) -> ArchiveHeader {
        ArchiveHeader {
            base: base.map(id),
            target: id("b"),
            origin: channel.map(origin),
            filters: None,
            names_additions: false,
        }
    }
}
