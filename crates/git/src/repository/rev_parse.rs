//! Asks the installed git what a revision names, in the words of git-rev-parse(1).
//!
//! git-rev-parse(1) also knows notations for several revisions, which are no names of objects to git-archive(1). A name
//! that could be such a notation is asked of git-cat-file(1) instead.

use std::{
    ffi::OsStr,
    io::Write,
    os::unix::ffi::OsStrExt,
    process::Output,
    sync::{Arc, LazyLock},
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use crate::{
    convert::Reference,
    program::{self, GitLocation},
};
use sluice_base::error::{Error, Result, format_bytes};

/// The object of `name`, and its ref if `name` is the name of a ref, as git resolves it. `may_fetch` says whether git
/// may fetch the trees on the way. git's warnings go to `diagnostics`.
pub(super) fn ask_git(
    location: &GitLocation,
    name: &BStr,
    may_fetch: bool,
    diagnostics: &mut dyn Write,
) -> Result<(ObjectId, Reference)> {
    let arguments = rev_parse_arguments(&["--verify"], name);
    let output = match (is_notation(name), may_fetch) {
        (true, _) => program::name_object(location, name, may_fetch),
        (false, true) => program::ask_lazily(location, &arguments),
        (false, false) => program::ask(location, &arguments),
    };
    let without_git = || {
        Error::fatal(format_bytes("cannot resolve '{}'", &[name]))
            .caused_by("the installed git resolves this name, and git cannot be run")
            .hinted("name a branch, a tag or the full id of a commit")
    };
    let output = output.ok_or_else(without_git)?;
    let words = output.stderr;
    // git looks a plain name up twice when it archives.
    let lookups = match name.find_byteset(b"^~:@") {
        None => 2,
        Some(_) => 1,
    };
    let is_warning = |line: &&[u8]| line.starts_with(b"warning: ");
    let is_failure = |line: &&[u8]| line.starts_with(b"fatal: ") || line.starts_with(b"error: ");
    // Some warnings have several lines.
    let from_warning = words
        .lines_with_terminator()
        .skip_while(|line| !is_warning(line));
    for said in from_warning.filter(|line| !is_failure(line) && !line.starts_with(b"hint:")) {
        let is_of_lookup = said.starts_with(b"warning: ignoring ")
            && !said.starts_with(b"warning: ignoring unknown ");
        for _ in 0..if is_of_lookup { lookups } else { 1 } {
            // A failed write of diagnostics is ignored.
            let _ = diagnostics.write_all(said);
        }
    }
    if output.status.success()
        && let Ok(id) = ObjectId::from_hex(output.stdout.trim())
    {
        return Ok((id, full_name(location, name)));
    }
    let mut fatal = words
        .lines()
        .filter_map(|line| line.strip_prefix(b"fatal: "));
    let error = match fatal.next_back() {
        Some(words) if speaks_for_itself(words) => Error::fatal(words),
        Some(words) if tracks(name) && words != NO_REVISION => Error::fatal(words),
        _ => Error::unknown_name(name),
    };
    let is_message = |line: &&[u8]| line.starts_with(b"error: ") || line.starts_with(b"hint:");
    Err(words
        .lines()
        .filter(is_message)
        .fold(error, |error, line| error.after(line)))
}

/// What git-rev-parse(1) says of a name, and git-archive(1) does not.
const NO_REVISION: &[u8] = b"Needed a single revision";

/// Whether git's message `words` is about the repository, or says more than that the name is unknown.
fn speaks_for_itself(words: &[u8]) -> bool {
    let beginnings = [
        "log for ",
        "could not fetch ",
        "not a git repository",
        "replace depth too high",
        "bad shallow line",
        "duplicate replace ref",
        "relative path syntax can't be used outside working tree",
        "no upstream configured for branch ",
        "no such branch: ",
        "HEAD does not point to a branch",
        "bad boolean config value ",
        "bad numeric config value ",
        "bad config variable ",
        "unable to parse '",
        "unable to parse default color value",
        "unexpected line in ",
        "unterminated line in ",
    ];
    beginnings
        .iter()
        .any(|beginning| words.starts_with(beginning.as_bytes()))
        || words.contains_str("' is outside repository at '")
}

/// The full name of the ref `name`, if it is a ref without a suffix.
fn full_name(location: &GitLocation, name: &BStr) -> Reference {
    let (location, name) = (location.clone(), name.to_owned());
    lazily(move || {
        let is_plain = name.find_byteset(b"^~:").is_none();
        is_plain
            .then(|| ask_git_for_ref(&location, name.as_bstr()).ok())
            .flatten()
    })
}

/// The full name of the ref `name`, the first one that git finds: git-rev-parse(1) names no ref of an ambiguous name that it
/// would warn of. Only git knows `@{-1}` and `main@{upstream}`, and the right message if there is no such ref.
pub(super) fn ask_git_for_ref(location: &GitLocation, name: &BStr) -> Result<BString> {
    let not_a_ref = || Error::fatal(format_bytes("no such ref: {}", &[name]));
    if is_notation(name) {
        return Err(not_a_ref());
    }
    let settings = ["-c", "core.warnAmbiguousRefs=false"].map(OsStr::new);
    let arguments = rev_parse_arguments(&["--verify", "--symbolic-full-name"], name);
    let output = program::ask(location, &[&settings[..], &arguments].concat());
    let output = output.ok_or_else(not_a_ref)?;
    let full_name = output.stdout.trim();
    if output.status.success() && !full_name.is_empty() && !full_name.starts_with(b"^") {
        return Ok(full_name.into());
    }
    match program::refusal(&output) {
        Some(error) if tracks(name) => Err(error),
        _ => Err(not_a_ref()),
    }
}

/// Whether `name` contains a notation for several revisions (gitrevisions(7), "SPECIFYING RANGES"), or excludes one. As a
/// part of a path or a search, the notation has no meaning, but git-rev-parse(1) would still read it. No ref has one in its
/// name.
fn is_notation(name: &BStr) -> bool {
    let has = |notation: &str| name.contains_str(notation);
    // A name for git-cat-file(1) is a line.
    !has("\n") && (name.starts_with(b"^") || ["..", "^@", "^!", "^-"].into_iter().any(has))
}

/// Whether `name` asks for the upstream of a branch: git then has several error messages.
fn tracks(name: &BStr) -> bool {
    // After a colon there is a path.
    if name.contains(&b':') {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    ["@{u}", "@{upstream}", "@{push}"]
        .iter()
        .any(|suffix| lower.ends_with(suffix.as_bytes()))
}

/// The name of the current branch.
pub(super) fn branch(location: &GitLocation) -> Option<BString> {
    let words = ["symbolic-ref", "--quiet", "HEAD"].map(OsStr::new);
    let output = program::ask(location, &words)?;
    let name = output.stdout.trim_end().strip_prefix(b"refs/heads/")?;
    Some(name.into())
}

/// The reference to the ref `full_name`.
pub fn known_reference(full_name: BString) -> Reference {
    lazily(|| Some(full_name))
}

pub(super) fn no_reference() -> Reference {
    lazily(|| None)
}

pub(super) fn lazily(find: impl FnOnce() -> Option<BString> + Send + 'static) -> Reference {
    Arc::new(LazyLock::new(Box::new(find)))
}

pub(super) fn rev_parse(location: &GitLocation, options: &[&str], name: &BStr) -> Option<Output> {
    program::ask(location, &rev_parse_arguments(options, name))
}

fn rev_parse_arguments<'a>(options: &[&'a str], name: &'a BStr) -> Vec<&'a OsStr> {
    let options = ["rev-parse"]
        .iter()
        .chain(options)
        .chain(&["--end-of-options"]);
    let options = options.map(|option| OsStr::new(*option));
    options.chain([OsStr::from_bytes(name)]).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_notation, tracks};

    #[test]
    fn notations_for_several_revisions() {
        for name in
            "v1..v2 | :/Compare v1..v2 | HEAD:./.. | HEAD^! | HEAD^@ | HEAD^-2 | ^main".split(" | ")
        {
            assert!(is_notation(name.into()), "{name}");
        }
        for name in "HEAD^ | HEAD^2~1 | HEAD^{tree} | :/^a | a.b:c.d | a\n..".split(" | ") {
            assert!(!is_notation(name.into()), "{name}");
        }
    }

    #[test]
    fn a_path_is_no_upstream() {
        assert!(tracks("@{u}".into()) && tracks("main@{PUSH}".into()));
        assert!(!tracks("HEAD:@{u}".into()) && !tracks(":/fix @{u}".into()));
    }
}
