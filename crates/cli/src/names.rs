//! Names of the program, and of its own options.

/// The program, as users type it.
pub(super) const NAME: &str = "git sluice";
/// The program, as shells and manuals know it.
pub(super) const PROGRAM: &str = "git-sluice";
/// The heading of options that `git archive` has. Without it, an option has the heading of those before it.
pub(super) const OF_GIT: Option<&str> = None;
/// What the program does, in one line.
pub(super) const ABOUT: &str = if cfg!(feature = "fleet") {
    "Write, check, publish and apply archives of git trees"
} else {
    "Write archives of git trees, as git archive does"
};
/// The heading of options that `git archive` does not have and that belong to no other group.
pub(super) const BEYOND: &str = "Threads, memory and progress";

/// The heading of the options that choose among bytes of the same files.
pub(super) const BYTES: &str = "Bytes";
/// The address of the pages of the documentation.
pub(super) const DOCUMENTATION: &str = "https://github.com/git-sluice/git-sluice/blob/main/docs/";
/// The heading of the options that choose and add files by path.
pub(super) const PATHS: &str = "Paths";
