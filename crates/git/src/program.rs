//! Asks the installed git where this program cannot continue, so that no repository is unsupported and every message
//! is git's.
//!
//! Each call is one process that ends before the function returns. git's failures are passed on in git's
//! words.
//!
//! # No loops
//!
//! The `git` in `PATH` may be a wrapper that starts git-sluice. So each git gets a mark in its environment, [`ASKED`], with a
//! hash of the words that it was started with, and [`refuse_loop`] ends a git-sluice that was started with the same words.
//! The real git never passes its own words on, so equal words show that a wrapper has, and that it would again.
//!
//! Other words are legitimate, although the mark is there. The client of `--remote` starts a server of archives, which may be
//! git-sluice and asks git whether it may serve the repository. A fetch of missing objects runs hooks and helpers, and a hook
//! may well write an archive. A program with new words does new work, and then the mark has the new words.

use std::{
    convert::identity,
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        process::CommandExt,
    },
    path::{self, PathBuf},
    process::{ChildStdin, Command, Output, Stdio},
    sync::{Arc, OnceLock},
    thread,
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use twox_hash::XxHash3_128;

use sluice_base::{
    error::{Error, Result, sanitised, strerror},
    io::each_piece,
    working_directory::WorkingDirectory,
};

/// The status of a usage error: git accepted the repository and found nothing to do.
const USAGE: i32 = 129;

/// The variable with a hash of the words with which this program has started git.
pub const ASKED: &str = "GIT_SLUICE_ASKED";
/// What git takes for `PATH` if that is not set.
const DEFAULT_PATHS: &str = "/usr/local/bin:/usr/bin:/bin";
/// A command that wrappers may leave out or add, since git-sluice has it as its default.
const DEFAULT_COMMAND: &str = "archive";

/// As many bytes at the end of the messages of a fetch are looked at.
const LAST_WORDS: usize = 16 << 10;

/// Options of a fetch of missing objects.
const FETCH: [&str; 5] = [
    "--no-tags",
    "--no-write-fetch-head",
    "--recurse-submodules=no",
    "--filter=blob:none",
    "--stdin",
];

/// Variables that lead git to another repository than `GIT_DIR`, or to objects of another one (git(1)).
const OF_ANOTHER: [&str; 8] = [
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
];

/// Variables that exclude `GIT_LITERAL_PATHSPECS` (git(1)).
const OTHER_PATHSPECS: [&str; 3] = [
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// The variables of git(1) that git and the programs that it starts read, and those with which git finds its files.
pub const INHERITED: &str = "GIT_ADVICE GIT_ALLOW_PROTOCOL GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_ASKPASS GIT_ATTR_NOSYSTEM \
    GIT_ATTR_SOURCE GIT_CEILING_DIRECTORIES GIT_COMMIT_GRAPH_PARANOIA GIT_COMMON_DIR GIT_CONFIG \
    GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_CONFIG_PARAMETERS GIT_CONFIG_SYSTEM \
    GIT_CURL_VERBOSE GIT_DEFAULT_HASH GIT_DEFAULT_REF_FORMAT GIT_DIR GIT_DISCOVERY_ACROSS_FILESYSTEM \
    GIT_EXEC_PATH GIT_GLOB_PATHSPECS GIT_GRAFT_FILE GIT_ICASE_PATHSPECS GIT_IMPLICIT_WORK_TREE \
    GIT_INDEX_FILE GIT_INDEX_VERSION GIT_LITERAL_PATHSPECS GIT_NAMESPACE GIT_NOGLOB_PATHSPECS \
    GIT_NO_LAZY_FETCH GIT_NO_REPLACE_OBJECTS GIT_OBJECT_DIRECTORY GIT_OPTIONAL_LOCKS GIT_PREFIX \
    GIT_PROTOCOL GIT_PROTOCOL_FROM_USER GIT_QUARANTINE_PATH GIT_REFERENCE_BACKEND GIT_REF_PARANOIA \
    GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE GIT_SSH GIT_SSH_COMMAND GIT_WORK_TREE HOME XDG_CONFIG_HOME";

/// Variables by name, with their values. A variable without a value is not set.
pub type GivenVariables = Arc<[(OsString, Option<OsString>)]>;

/// The repository in which a program runs: that of the environment and of a directory, unless a git directory is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitLocation {
    /// The directory in which programs start.
    pub directory: WorkingDirectory,
    /// The git directory, by its full path.
    pub git_dir: Option<PathBuf>,
    /// The work tree that programs with this git directory see, whatever the configuration says.
    pub work_tree: Option<PathBuf>,
    /// The variables that programs see in place of those of the process, which have the same names. `None` if programs see what
    /// the process has.
    pub variables: Option<GivenVariables>,
    /// What decides where commands find programs and the repository.
    pub caller: CallerVariables,
}

/// Variables of the caller that git changes for the commands that it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallerVariables {
    /// `PATH`
    pub paths: Option<OsString>,
    /// `GIT_EXEC_PATH`
    pub exec_path: Option<OsString>,
    /// `GIT_DIR`
    pub git_dir: Option<PathBuf>,
}

impl GitLocation {
    /// Make `command` run in this repository.
    pub fn set(&self, command: &mut Command) {
        self.directory.set(command);
        for (name, value) in self.variables.iter().flat_map(|it| it.iter()) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(git_dir) = &self.git_dir {
            command.env("GIT_DIR", git_dir);
            OF_ANOTHER.iter().for_each(|name| {
                command.env_remove(name);
            });
        }
        if let Some(work_tree) = &self.work_tree {
            command.env("GIT_WORK_TREE", work_tree);
        }
    }

    /// Make `command` run in this repository as the installed git starts a command: git's own programs come first (setup_path in
    /// exec-cmd.c of git).
    pub fn set_as_git_does(&self, command: &mut Command) {
        self.set(command);
        let Some(exec_path) = self.exec_path() else {
            return;
        };
        let first = path::absolute(&exec_path);
        let mut paths = first.map_or_else(|_| exec_path.clone(), PathBuf::into_os_string);
        paths.push(":");
        let others = self.caller.paths.as_deref();
        let others = others.unwrap_or(OsStr::new(DEFAULT_PATHS));
        // git has started this process.
        if others.as_bytes().starts_with(paths.as_bytes()) {
            paths.clear();
        }
        paths.push(others);
        command.env("PATH", paths).env("GIT_EXEC_PATH", exec_path);
    }

    /// The directory of git's own programs: the one that the caller names, or the one of the git in `PATH`.
    fn exec_path(&self) -> Option<OsString> {
        static OF_GIT: OnceLock<Option<OsString>> = OnceLock::new();
        let named = self.caller.exec_path.clone().filter(|it| !it.is_empty());
        let ask = || {
            let output = answer(&mut git(&[OsStr::new("--exec-path")]))?;
            let path = output.stdout.strip_suffix(b"\n")?;
            Some(OsString::from_vec(path.to_vec()))
        };
        named.or_else(|| OF_GIT.get_or_init(ask).clone())
    }

    /// The git directory that the caller names by `GIT_DIR`, by its full path, unless another one is given.
    pub fn named_git_dir(&self) -> Option<PathBuf> {
        let named = self.caller.git_dir.as_ref();
        let named = named.filter(|_| self.git_dir.is_none())?;
        self.directory.file(named).path.canonicalize().ok()
    }

    /// git with `words`, in this repository.
    fn git(&self, words: &[&OsStr]) -> Command {
        let mut git = git(words);
        self.set(&mut git);
        git
    }
}

/// The git in `PATH`, with `words` and with a mark that stops a loop.
fn git(words: &[&OsStr]) -> Command {
    let mut git = Command::new("git");
    git.args(words).env(ASKED, fingerprint(words));
    git
}

/// Refuses to run with `words` if git was started with the same ones, as `mark` says: the value of [`ASKED`].
pub fn refuse_loop(words: &[OsString], mark: Option<OsString>) -> Result<()> {
    let Some(mark) = mark else {
        return Ok(());
    };
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    if mark == *fingerprint(&words) {
        Err(
        Error::fatal("the 'git' in PATH starts git-sluice, which has started it")
            .caused_by("both were started with the same words")
            .hinted("set REAL_GIT to the real git, or write a wrapper with 'git sluice stand-in <directory>'"),
    )
    } else {
        Ok(())
    }
}

/// A hash of words. The words themselves may be too long for a variable.
fn fingerprint(words: &[&OsStr]) -> String {
    let words = match words {
        [command, rest @ ..] if *command == DEFAULT_COMMAND => rest,
        words => words,
    };
    let joined = words.join(OsStr::new("\0"));
    format!("{:032x}", XxHash3_128::oneshot(joined.as_bytes()))
}

/// Run git in the repository at `location` with `arguments`, its standard input closed and its standard error
/// captured. Missing objects are not fetched. `None` if git cannot be started.
pub fn ask(location: &GitLocation, arguments: &[&OsStr]) -> Option<Output> {
    answer(location.git(arguments).env("GIT_NO_LAZY_FETCH", "1"))
}

/// How git makes an archive.
#[derive(Clone, Debug, Default)]
pub struct ArchiveRules {
    /// Whether the attributes of the work tree apply.
    pub worktree_attributes: bool,
    /// Whether git may fetch what the tree lacks.
    pub may_fetch: bool,
    /// The directory in which git runs, if paths count from the root of the tree and not from the current directory.
    pub top: Option<PathBuf>,
    /// What precedes paths then: a directory with a slash at its end.
    pub below: BString,
}

/// The files at `paths` of `commit` as git-archive(1) makes them: a tar. A wrapper in `PATH` may pass archives to git-sluice, so
/// the words are those of an alias.
pub fn archived_files(
    location: &GitLocation,
    commit: &ObjectId,
    paths: &[BString],
    rules: &ArchiveRules,
) -> Option<Output> {
    let commit = commit.to_string();
    let mut words = vec![
        "-c",
        "core.warnAmbiguousRefs=false",
        "-c",
        "alias.real-archive=archive",
        "real-archive",
        "--format=tar",
    ];
    words.extend(rules.worktree_attributes.then_some("--worktree-attributes"));
    words.extend([&commit, "--"]);
    let words = words.into_iter().map(OsStr::new);
    let paths = paths.iter().map(|path| [&rules.below[..], path].concat());
    let paths: Vec<_> = paths.map(OsString::from_vec).collect();
    let words: Vec<_> = words.chain(paths.iter().map(OsString::as_os_str)).collect();
    let mut git = location.git(&words);
    if let Some(top) = &rules.top {
        git.current_dir(top);
    }
    for name in OTHER_PATHSPECS {
        git.env_remove(name);
    }
    if !rules.may_fetch {
        git.env("GIT_NO_LAZY_FETCH", "1");
    }
    answer(git.env("GIT_LITERAL_PATHSPECS", "1"))
}

/// Asks git, which may fetch the objects that it needs for the answer.
pub fn ask_lazily(location: &GitLocation, arguments: &[&OsStr]) -> Option<Output> {
    answer(&mut location.git(arguments))
}

/// Ask git for the id of the object `name`, which is only a name to git-cat-file(1): one line with the id, or one
/// that ends in another word. `may_fetch` says whether git may fetch objects for the answer.
pub fn name_object(location: &GitLocation, name: &BStr, may_fetch: bool) -> Option<Output> {
    let words = ["cat-file", "--batch-check=%(objectname)"].map(OsStr::new);
    let mut git = location.git(&words);
    if !may_fetch {
        git.env("GIT_NO_LAZY_FETCH", "1");
    }
    answer_to(&mut git, &[name.as_bytes(), b"\n"].concat())
}

/// Asks git about what is in `input`, which git reads to its end before it answers.
pub fn ask_about(location: &GitLocation, words: &[&OsStr], input: &[u8]) -> Option<Output> {
    answer_to(location.git(words).env("GIT_NO_LAZY_FETCH", "1"), input)
}

fn answer_to(git: &mut Command, input: &[u8]) -> Option<Output> {
    let pipes = git.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.stderr(Stdio::piped()).spawn().ok()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A git that refuses the repository does not read its input.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output().ok()
}

fn answer(git: &mut Command) -> Option<Output> {
    git.stdin(Stdio::null()).output().ok()
}

/// Whether the commit `ancestor` is an ancestor of `commit`, or the same commit.
pub fn is_ancestor(location: &GitLocation, ancestor: &str, commit: &str) -> Result<bool> {
    let arguments = ["merge-base", "--is-ancestor", ancestor, commit].map(OsStr::new);
    let cannot = |why: String| Error::fatal("cannot compare commits").caused_by(why);
    let output = ask(location, &arguments).ok_or_else(|| cannot("cannot run git".to_owned()))?;
    match output.status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(cannot(sanitised(&output.stderr))),
    }
}

/// Whether a promisor remote has promised the missing object `id`: git looks for an object that names this one, once a
/// fetch has failed. No protocol is allowed for that fetch, so it asks no server.
pub fn is_promised(location: &GitLocation, id: &ObjectId) -> bool {
    let id = id.to_string();
    let mut git = location.git(&["cat-file", "-e", &id].map(OsStr::new));
    answer(git.env("GIT_ALLOW_PROTOCOL", "none"))
        .is_none_or(|output| output.stderr.contains_str("could not fetch"))
}

/// Fetch the objects `ids` from `remote`, as git does where objects are missing. `None` if git succeeds, else its last
/// words. All its words go to `diagnostics`, those about its progress only if it `shows_progress`.
pub fn fetch(
    location: &GitLocation,
    remote: &OsStr,
    ids: impl ExactSizeIterator<Item = ObjectId> + Send,
    shows_progress: bool,
    diagnostics: &mut dyn Write,
) -> Result<Option<Vec<u8>>> {
    let failed = |error: io::Error| {
        Error::fatal("cannot fetch missing objects")
            .caused_by(format!("cannot run git: {}", strerror(&error)))
    };
    // Packs that are open here would go away, and the next fetch of the user's makes up for this.
    let settings = ["fetch.negotiationAlgorithm=noop", "maintenance.auto=false"];
    let mut words: Vec<&OsStr> = Vec::new();
    words.extend(settings.iter().flat_map(|it| ["-c", it].map(OsStr::new)));
    words.extend([OsStr::new("fetch"), remote]);
    words.extend(shows_progress.then_some(OsStr::new("--progress")));
    words.extend(FETCH.map(OsStr::new));
    let mut git = location
        .git(&words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (stdin, stderr) = (git.stdin.take(), git.stderr.take());
    let said = thread::scope(|scope| {
        let feed = move || stdin.map(|stdin| write_ids(stdin, ids));
        let feeder = thread::Builder::new().spawn_scoped(scope, feed);
        let said = stderr.map_or(Ok(Vec::new()), |stderr| pass_on(stderr, diagnostics));
        feeder.and(said)
    });
    let status = git.wait().map_err(failed)?;
    let said = said.map_err(failed)?;
    Ok((!status.success()).then_some(said))
}

/// Write `ids` to git, one a line. A git that fails does not read them all, and says why.
fn write_ids(stdin: ChildStdin, ids: impl Iterator<Item = ObjectId>) {
    let mut stdin = io::BufWriter::new(stdin);
    for id in ids {
        if writeln!(stdin, "{id}").is_err() {
            return;
        }
    }
}

/// Pass on what a process says, and return its last words.
fn pass_on(stderr: impl Read, diagnostics: &mut dyn Write) -> io::Result<Vec<u8>> {
    let mut last = Vec::new();
    each_piece(stderr, &mut [0; 4096], identity, |piece| {
        // A failed write of diagnostics is ignored.
        let _ = diagnostics.write_all(piece);
        last.extend_from_slice(piece);
        let surplus = last.len().saturating_sub(LAST_WORDS);
        last.drain(..surplus);
        Ok(())
    })?;
    Ok(last)
}

/// git's error message, if there is one, with the lines before it.
pub fn refusal(output: &Output) -> Option<Error> {
    let stderr = output.stderr.trim_end_with(|c| c == '\n');
    let (before, words) = stderr.split_once_str("fatal: ")?;
    let error = Error::fatal(words);
    Some(before.lines().fold(error, |error, line| error.after(line)))
}

/// Whether git-archive(1) accepts the configuration of the repository at `location`. An archive of the empty tree, which every
/// repository has, reads all that other archives read. Returns what git says of a configuration that it accepts. `None` if git
/// cannot be started.
pub fn check_config(location: &GitLocation, hash: gix_hash::Kind) -> Option<Result<BString>> {
    let empty = ObjectId::empty_tree(hash).to_string();
    let output = ask(location, &["archive", &empty].map(OsStr::new))?;
    let unsaid = || Error::fatal("cannot read the configuration");
    // The empty tree lacks a sub-directory of the work tree, which git says once all is read.
    let said = output.stderr.as_bstr();
    let is_below = said.ends_with(b"current working directory is untracked\n");
    Some(if output.status.success() || is_below {
        let is_of_config = |line: &&[u8]| !line.starts_with(b"fatal: ");
        let lines = said.lines_with_terminator().filter(is_of_config);
        Ok(lines.collect::<Vec<_>>().concat().into())
    } else {
        Err(refusal(&output).unwrap_or_else(unsaid))
    })
}

/// The path that `path` of the configuration means, which begins with the place where git is installed. `None` if git cannot be
/// started.
pub fn expanded_path(location: &GitLocation, path: &BStr) -> Option<PathBuf> {
    let setting = [b"sluice.path=", path.as_bytes()].concat();
    let words = [
        OsStr::new("-c"),
        OsStr::from_bytes(&setting),
        OsStr::new("config"),
        OsStr::new("--type=path"),
        OsStr::new("--null"),
        OsStr::new("sluice.path"),
    ];
    let output = ask(location, &words).filter(|output| output.status.success())?;
    let path = output.stdout.strip_suffix(b"\0")?;
    Some(OsStr::from_bytes(path).into())
}

/// git's refusal to open the repository at `location`, if git refuses.
pub fn repository_refusal(location: &GitLocation) -> Option<Error> {
    let output = ask(location, &["rev-parse", "--git-dir"].map(OsStr::new))?;
    let unsaid = || Error::fatal("cannot open the repository");
    (!output.status.success()).then(|| refusal(&output).unwrap_or_else(unsaid))
}

/// Whether git would serve the repository at `path` to a client of `git archive --remote`. `None` if git
/// cannot be started.
pub fn check_served(location: &GitLocation, path: &OsStr) -> Option<Result<()>> {
    let mut git = location
        .git(&[OsStr::new("upload-archive--writer"), path])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    if let Some(mut stdin) = git.stdin.take() {
        // An empty list of arguments. A git that refuses the repository does not read it.
        let _ = stdin.write_all(b"0000");
    }
    let output = git.wait_with_output().ok()?;
    if output.status.code() == Some(USAGE) {
        return Some(Ok(()));
    }
    let words = output.stderr.trim_end().to_str_lossy();
    let words = words.strip_prefix("fatal: ").unwrap_or(&words);
    Some(Err(Error::fatal(words)))
}

/// Replace this process by `git archive` with `words`, the client of `--remote`: git knows ssh and
/// `url.*.insteadOf`. Returns only if git cannot be started.
pub fn become_archive(words: &[OsString]) -> Error {
    let words = words.iter().map(OsString::as_os_str);
    let words: Vec<&OsStr> = [OsStr::new("archive")].into_iter().chain(words).collect();
    let failure = git(&words).exec();
    Error::fatal(format!("cannot exec 'git': {}", strerror(&failure)))
}
