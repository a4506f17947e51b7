//! For the time being: the tests are ahead of some features. Where our command says that it cannot
//! do a thing yet, that is said aloud and git stands in for it, so that at least the test itself is
//! tested.
//!
//! To be deleted, with every line that does not compile without it, once all features are there.

use std::ffi::{OsStr, OsString};

use crate::process::{Output, run};
use crate::support::{Repo, skip};

const NOT_YET: &str = "not supported yet";
const NO_FORMAT: &str = "Unknown archive format";

/// `ours`, or what git makes of `args` if ours only says that it cannot do this yet.
pub(crate) fn or_stand_in(repo: &Repo, ours: Output, args: &[OsString]) -> Output {
    if !says_not_yet(&ours) {
        return ours;
    }
    let of_our_own = |arg: &&OsString| {
        let arg = arg.to_string_lossy();
        arg.starts_with("--threads=") || arg.starts_with("--memory=")
    };
    let theirs = repo.archive(args.iter().filter(|arg| !of_our_own(arg)));
    // What git does not know either is an error for good.
    if theirs.code() == ours.code() && !ours.messages().contains(NOT_YET) {
        return ours;
    }
    skip_for(&ours);
    theirs
}

/// The same for our serving side, whose words come with those of the client around them.
pub(crate) fn or_stand_in_server(repo: &Repo, ours: Output, args: &[OsString]) -> Output {
    let messages = ours.messages();
    let not_yet = [
        NOT_YET,
        NO_FORMAT,
        "unexpected argument",
        "unknown option `upload",
    ];
    if !not_yet.iter().any(|words| messages.contains(words)) {
        return ours;
    }
    let theirs = repo.archive(args);
    if theirs.code() == ours.code() {
        return ours;
    }
    skip_for(&ours);
    theirs
}

/// Whether our command can do this already; for what the installed git may be too old to stand in
/// for.
pub(crate) fn knows<A: AsRef<OsStr>>(repo: &Repo, args: impl IntoIterator<Item = A>) -> bool {
    let ours = run(repo.sluice_command().args(args));
    let knows = !says_not_yet(&ours);
    if !knows {
        skip_for(&ours);
    }
    knows
}

fn says_not_yet(ours: &Output) -> bool {
    let messages = ours.messages();
    match ours.code() {
        128 => messages.contains(NOT_YET) || messages.contains(NO_FORMAT),
        129 => messages.starts_with("error: un"),
        _ => false,
    }
}

fn skip_for(ours: &Output) {
    let messages = ours.messages();
    skip(&format!(
        "{}: {}",
        ours.command,
        messages.lines().next().unwrap_or_default()
    ));
}
