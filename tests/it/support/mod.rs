//! The small language that the tests are written in: a repository from a fixture, our command and
//! git's in it, and the claim that both do the same.
//!
//! Nothing here may depend on who runs the tests or where: each command gets an environment of its
//! own, and the environment of the test process is left alone. Fixtures are built once and kept
//! under the target directory, so whoever wants to change one takes a copy.
//!
//! A test that cannot be made here calls [`skip`]. The test harness hides what a passing test prints, so
//! `skip` notes the test and the reason in a file of the target directory. The last test binary of
//! `cargo test`, `xtask/tests/skipped.rs`, prints that file and removes it. The file is named after the
//! process that started both binaries, so that two runs at a time keep apart.

pub(crate) mod forge;
pub(crate) mod import;
pub(crate) mod process;
mod program;
pub(crate) mod schema;
pub(crate) mod tar_listing;
pub(crate) mod zip;

use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::process::{CommandExt as _, parent_id};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::SystemTime;

use serde_json::Value;
use tempfile::TempDir;

use crate::leftovers::{NOTES, directory_on_disk, temporary_directory};
use crate::support::process::{Output, Running, run, run_with_input};
pub(crate) use crate::support::program::{BUILT, binary, is_static};
use crate::support::schema::Schema;

/// The settings that must not change a byte.
const THREADS: [&str; 3] = ["1", "2", "8"];
const MEMORY: [&str; 2] = ["1m", "256m"];

/// Each of them once; all rounds try each with each.
const LIMITS: [(&str, &str); 3] = [("1", "256m"), ("2", "1m"), ("8", "1m")];

/// A directory to run commands in, with what they are to find in their environment.
#[derive(Clone)]
pub(crate) struct Repo {
    cwd: PathBuf,
    /// Options of `git` itself, such as `-c`; where there are any, our command runs through `git`.
    globals: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    /// Set when the directory is ours to change; it goes when the last clone goes.
    own: Option<Arc<TempDir>>,
}

impl Repo {
    /// The repository that `fixtures/<name>.sh` builds. It is shared with other tests: look, do not
    /// touch.
    pub(crate) fn from(name: &str) -> Repo {
        Repo {
            cwd: fixture(name).join("repo"),
            globals: vec![],
            environment: vec![],
            own: None,
        }
    }

    /// A copy of that repository, and of all that its script made beside it.
    pub(crate) fn copy(name: &str) -> Repo {
        let own = Repo::scratch();
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(fixture(name).join(".")).arg(&own.cwd);
        let _ = run(&mut copy).success();
        own.at("repo")
    }

    /// An empty directory.
    pub(crate) fn scratch() -> Repo {
        Repo::owning(temporary_directory())
    }

    fn owning(own: TempDir) -> Repo {
        let cwd = own.path().canonicalize().expect("made just now");
        Repo {
            cwd,
            globals: vec![],
            environment: vec![],
            own: Some(Arc::new(own)),
        }
    }

    /// A new repository without a commit.
    pub(crate) fn init() -> Repo {
        Repo::scratch().initialized()
    }

    /// A new repository on a disk, see [`directory_on_disk`].
    pub(crate) fn init_on_disk() -> Repo {
        Repo::owning(directory_on_disk()).initialized()
    }

    fn initialized(self) -> Repo {
        self.git(["init", "-q", "-b", "main"]);
        self
    }

    /// The same, seen from another directory.
    pub(crate) fn at(mut self, directory: impl AsRef<Path>) -> Repo {
        self.cwd.push(directory);
        self
    }

    /// The same, with one more environment variable.
    pub(crate) fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Repo {
        self.environment
            .push((key.as_ref().into(), value.as_ref().into()));
        self
    }

    /// The same, with options for `git` itself in front of the command's name.
    pub(crate) fn with<A: AsRef<OsStr>>(mut self, globals: impl IntoIterator<Item = A>) -> Repo {
        self.globals
            .extend(globals.into_iter().map(|option| option.as_ref().to_owned()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        &self.cwd
    }

    /// The text of a new file in it.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        assert!(self.own.is_some(), "a shared fixture is not to be changed");
        fs::write(self.cwd.join(name), content).expect("our own directory can be written to");
    }

    /// Writes a program, through another process. A program cannot be executed while any process has it open for writing, and
    /// a process that another test starts holds copies of our handles for a moment.
    #[track_caller]
    pub(crate) fn write_program(&self, name: impl AsRef<OsStr>, content: impl Into<Vec<u8>>) {
        let mut shell = self.command("sh");
        shell.args(["-c", r#"cat >"$1" && chmod 755 "$1""#, "sh"]);
        let _ = run_with_input(shell.arg(name), content).success();
    }

    /// Commits what is at `path`.
    #[track_caller]
    pub(crate) fn commit(&self, path: &str, message: &str) {
        self.git(["add", path]);
        self.git(["commit", "-q", "-m", message]);
    }

    /// `git` with these arguments, which has to succeed: its stdout, without the last newline.
    #[track_caller]
    pub(crate) fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        self.git_with_input(args, "")
    }

    /// The same with something on stdin.
    #[track_caller]
    pub(crate) fn git_with_input<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: impl Into<Vec<u8>>,
    ) -> String {
        let mut command = self.command("git");
        command.args(args);
        let stdout = run_with_input(&mut command, input).success();
        String::from_utf8(stdout)
            .expect("tests ask for text only")
            .trim_end_matches('\n')
            .to_owned()
    }

    /// git's archive: the oracle.
    pub(crate) fn archive<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        let mut command = self.command("git");
        run(command.args(&self.globals).arg("archive").args(args))
    }

    /// Ours.
    #[track_caller]
    pub(crate) fn sluice<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        run(self.sluice_command().args(args))
    }

    /// The JSON that ours writes to standard output.
    #[track_caller]
    pub(crate) fn json<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Value {
        serde_json::from_slice(&self.sluice(args).success()).expect("JSON")
    }

    /// The summary of a run of ours, as its schema wants it, and the run.
    #[track_caller]
    pub(crate) fn summary<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> (Value, Output) {
        let (mut lines, output) = self.report("summary", args);
        (lines.swap_remove(0), output)
    }

    /// The lines of the manifest of a run of ours, each as the schema wants it, and the run.
    #[track_caller]
    pub(crate) fn manifest<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> (Vec<Value>, Output) {
        self.report("manifest", args)
    }

    #[track_caller]
    fn report<A: AsRef<OsStr>>(
        &self,
        kind: &str,
        args: impl IntoIterator<Item = A>,
    ) -> (Vec<Value>, Output) {
        let place = Repo::scratch();
        let file = place.path().join(kind);
        let option = OsString::from(format!("--{kind}={}", file.display()));
        let output = self.sluice([option].into_iter().chain(owned(args)));
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}\n{output}"));
        let schema = Schema::read(kind);
        let lines = text.lines().map(|line| {
            let line = serde_json::from_str(line).expect("JSON");
            schema.accept(&line);
            line
        });
        (lines.collect(), output)
    }

    /// git's archive of what our command serves; `args` say from where.
    #[track_caller]
    pub(crate) fn served<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        let exec = OsString::from("--exec=git-sluice upload-archive");
        let args = owned(args);
        self.archive(std::iter::once(&exec).chain(&args))
    }

    /// Ours, to be read at leisure.
    pub(crate) fn start<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Running {
        Running::start(self.sluice_command().args(args))
    }

    /// The calls of these kinds that a run of ours makes; nothing where strace cannot tell.
    #[track_caller]
    pub(crate) fn traced(&self, calls: &str, args: &[&str]) -> Option<String> {
        if !installed("strace") {
            return None;
        }
        let directory = Repo::scratch();
        let trace = directory.path().join("trace");
        let mut strace = self.command("strace");
        let options = ["-f", "-e", calls, "-o"];
        let output = run(strace.args(options).arg(&trace).arg(binary()).args(args));
        let text = fs::read_to_string(&trace).unwrap_or_default();
        if text.is_empty() {
            skip("strace may not trace here");
            return None;
        }
        let _ = output.success();
        Some(text)
    }

    /// A shell script, in which `git` and `git-sluice` are found; for redirections, limits and
    /// traps.
    #[track_caller]
    pub(crate) fn shell(&self, script: &str) -> Output {
        run(self.command("sh").args(["-c", script]))
    }

    /// A shell script that has to succeed.
    #[track_caller]
    pub(crate) fn script(&self, script: &str) {
        let _ = self.shell(script).success();
    }

    /// What a shell script does that is run by somebody who may not do everything, in a repository that is given to him;
    /// nothing if there is nobody to be.
    pub(crate) fn unprivileged_shell(&self, script: &str) -> Option<Output> {
        if !rustix::process::geteuid().is_root() {
            return Some(self.shell(script));
        }
        if !installed("setpriv") {
            return None;
        }
        let top = self
            .own
            .as_ref()
            .expect("a shared fixture is not to be changed")
            .path();
        let top = top.display();
        let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
        let give = format!("chmod 755 {top} && chown -R 65534 {top}");
        let given = self.shell(&format!("{give} && {nobody} git-sluice --help"));
        if given.code() == 126 {
            skip("nobody may not run what is built here");
            return None;
        }
        Some(self.shell(&format!("{nobody} sh -c '{script}'")))
    }

    /// Ours says, writes and returns what git's does, however many threads and however little
    /// memory it has.
    #[track_caller]
    pub(crate) fn assert_same<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) {
        if makes_all_rounds() {
            return self.assert_same_within(&THREADS, &MEMORY, args);
        }
        let args = owned(args);
        let archive = self.assert_same_under(&LIMITS, &args);
        self.assert_length_is_told(&args, &archive);
    }

    /// The same within one limit, where neither threads nor memory have a say, nor the length of the archive: in names,
    /// configuration and messages.
    #[track_caller]
    pub(crate) fn assert_same_once<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) {
        let _ = self.assert_same_under(&[("2", "256m")], &owned(args));
    }

    /// The same for some of these limits only, where a test has many cases.
    #[track_caller]
    pub(crate) fn assert_same_within<A: AsRef<OsStr>>(
        &self,
        threads: &[&str],
        memory: &[&str],
        args: impl IntoIterator<Item = A>,
    ) {
        let args = owned(args);
        let with_each = |threads| memory.iter().map(move |memory| (threads, *memory));
        let limits: Vec<_> = threads.iter().copied().flat_map(with_each).collect();
        let archive = self.assert_same_under(&limits, &args);
        self.assert_length_is_told(&args, &archive);
    }

    /// The same under each of `limits`, which are numbers of threads with amounts of memory. Returns git's archive.
    #[track_caller]
    fn assert_same_under(&self, limits: &[(&str, &str)], args: &[OsString]) -> Output {
        let start = SystemTime::now();
        let expected = self.archive(args);
        for (threads, memory) in limits {
            let limits = [format!("--threads={threads}"), format!("--memory={memory}")];
            let args = args.iter().map(OsString::as_os_str);
            let actual = self.sluice(limits.iter().map(OsStr::new).chain(args));
            assert_same_output(&actual, &expected, start);
        }
        expected
    }

    /// `info` says how long `archive` is, or that the length is not known before.
    #[track_caller]
    fn assert_length_is_told(&self, args: &[OsString], archive: &Output) {
        if archive.code() != 0 || archive.stdout.is_empty() {
            return;
        }
        // Who asks for the length gets no names.
        let args = args
            .iter()
            .map(OsString::as_os_str)
            .filter(|arg| *arg != "-v");
        let head = self.sluice([OsStr::new("info")].into_iter().chain(args.clone()));
        // Questions and reports have no head.
        let head: Option<Value> = serde_json::from_slice(&head.stdout).ok();
        let told = head.and_then(|head| head["content_length"].as_u64());
        if let Some(told) = told {
            assert_eq!(
                told,
                archive.stdout.len() as u64,
                "info {:?}",
                args.collect::<Vec<_>>()
            );
        }
    }

    /// The same but for stderr: where git complains and goes on, we may go on in silence.
    #[track_caller]
    pub(crate) fn assert_same_archive<A: AsRef<OsStr> + Clone>(
        &self,
        args: impl IntoIterator<Item = A> + Clone,
    ) {
        let start = SystemTime::now();
        let (mut ours, mut theirs) = (self.sluice(args.clone()), self.archive(args));
        ours.stderr.clear();
        theirs.stderr.clear();
        assert_same_output(&ours, &theirs, start);
    }

    /// Both write nothing and die with exactly these messages.
    #[track_caller]
    pub(crate) fn assert_both_die<A: AsRef<OsStr> + Clone>(
        &self,
        args: impl IntoIterator<Item = A> + Clone,
        messages: &str,
    ) {
        self.sluice(args.clone()).assert_failure(128, messages);
        self.assert_same(args);
    }

    fn sluice_command(&self) -> Command {
        if self.globals.is_empty() {
            return self.command(binary());
        }
        let mut command = self.command("git");
        command.args(&self.globals).arg("sluice");
        command
    }

    /// A command that sees nothing of the world but this directory and what the tests give it.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let path = self.environment.iter().rfind(|(key, _)| key == "PATH");
        let path = path.map_or(search_path(), |(_, value)| value);
        let mut command = hermetic_in(path, program);
        command.current_dir(&self.cwd);
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        command
    }
}

#[track_caller]
fn assert_same_output(actual: &Output, expected: &Output, start: SystemTime) {
    let same_words = actual.messages() == expected.messages() && actual.code() == expected.code();
    assert!(same_words, "ours\n{actual}\n\nshould be\n{expected}");
    if actual.stdout == expected.stdout {
        return;
    }
    let [ours, theirs] = [actual, expected].map(|side| without_clock(&side.stdout, start));
    let difference = match &theirs[..] {
        same if same == ours => return,
        [b'P', b'K', ..] => zip::difference(&ours, &theirs),
        _ => tar_listing::difference(&ours, &theirs),
    };
    panic!("ours\n{actual}\n\nshould be\n{expected}\n\n{difference}");
}

/// The archive without the present time, which is in that of a tree; a compressed tar of a tree comes
/// back plain, since its compressed bytes have the time all over them.
#[track_caller]
pub(crate) fn without_clock(archive: &[u8], start: SystemTime) -> Vec<u8> {
    match archive {
        [b'P', b'K', ..] => zip::without_time(archive, start),
        [0x1f, 0x8b, ..] => {
            let plain = gunzip(archive);
            let settled = tar_listing::without_time(&plain, start);
            if settled == plain {
                archive.to_vec()
            } else {
                settled
            }
        }
        _ => tar_listing::without_time(archive, start),
    }
}

/// What gzip(1) makes of it.
#[track_caller]
pub(crate) fn gunzip(compressed: &[u8]) -> Vec<u8> {
    run_with_input(hermetic("gzip").arg("-dc"), compressed).success()
}

/// Bytes that no compression shrinks.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn owned<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Vec<OsString> {
    let owned = |arg: A| arg.as_ref().to_owned();
    args.into_iter().map(owned).collect()
}

/// The version of the installed git, as (major, minor).
pub(crate) fn git_version() -> (u32, u32) {
    static VERSION: LazyLock<(u32, u32)> = LazyLock::new(|| {
        let text = Repo::scratch().git(["--version"]);
        let mut numbers = text.split([' ', '.']).filter_map(|word| word.parse().ok());
        numbers
            .next()
            .zip(numbers.next())
            .expect("git names its version")
    });
    *VERSION
}

/// How many rounds a test makes that leaves something to chance: a tenth of `all`, or all of them if `SLUICE_ROUNDS` is `all`. Most
/// rounds have a seed, so that they say the same every time.
pub(crate) fn rounds(all: u64) -> u64 {
    if makes_all_rounds() {
        all
    } else {
        all.div_ceil(10)
    }
}

/// Whether tests make all of their rounds.
pub(crate) fn makes_all_rounds() -> bool {
    std::env::var_os("SLUICE_ROUNDS").is_some_and(|rounds| rounds == "all")
}

/// The cases of a table, which have a bar between them. Spaces next to it do not count.
pub(crate) fn cases(table: &str) -> impl Iterator<Item = &str> {
    table.split('|').map(str::trim)
}

/// The rows of a table, one a line, whose cells have a bar between them.
pub(crate) fn rows<const CELLS: usize>(table: &str) -> impl Iterator<Item = [&str; CELLS]> {
    table.lines().map(|row| {
        let cells: Vec<_> = cases(row).collect();
        cells.try_into().expect("a cell for each column")
    })
}

/// Runs all `cases` at once, each on a thread: they wait more than they work.
pub(crate) fn at_once<T: Send, R: Send, const N: usize>(
    cases: [T; N],
    run: impl Fn(T) -> R + Sync,
) -> [R; N] {
    let run = &run;
    thread::scope(|scope| {
        let threads = cases.map(|case| scope.spawn(move || run(case)));
        threads.map(|thread| thread.join().expect("it has said what is wrong"))
    })
}

/// The program if it is installed; a test that needs it says so and returns when it is not.
pub(crate) fn installed(program: &str) -> bool {
    let found = find_program(search_path(), program).is_some();
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// The program that the `variable` of the environment names; a test that needs it says so and returns when there is none.
pub(crate) fn named_program(variable: &str) -> Option<OsString> {
    let program = std::env::var_os(variable);
    if program.is_none() {
        skip(&format!("{variable} names no program"));
    }
    program
}

/// The user's caches and proxy for Go, because a test has a home of its own, where Go would download and compile everything again.
pub(crate) fn go_environment() -> impl Iterator<Item = (&'static str, &'static str)> {
    const NAMES: [&str; 3] = ["GOCACHE", "GOMODCACHE", "GOPROXY"];
    static VALUES: LazyLock<String> = LazyLock::new(|| {
        let output = Command::new("go").arg("env").args(NAMES).output();
        String::from_utf8(output.expect("it is installed").stdout).expect("text")
    });
    let caches = NAMES.into_iter().zip(VALUES.lines());
    caches.chain([("GOTOOLCHAIN", "local")])
}

/// The path of a program that is named as in a shell.
fn find_program(path: &OsStr, name: impl AsRef<Path>) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|directory| directory.join(&name))
        .find(|file| file.is_file())
}

/// Notes that the current test could not be made here, and why.
pub(crate) fn skip(why: &str) {
    let path = target().join(format!("{NOTES}{}", parent_id()));
    let thread = thread::current();
    let line = format!("{why}\t{}\n", thread.name().unwrap_or_default());
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).open(path);
    let mut file = file.expect("the target directory can be written to");
    // One write, so that tests on other threads do not tear the line apart.
    file.write_all(line.as_bytes()).expect("as above");
}

/// Where commands are looked for: the binary under test first, so that git finds it as `git
/// sluice`.
fn search_path() -> &'static OsStr {
    static SEARCH_PATH: LazyLock<OsString> = LazyLock::new(|| {
        let binaries = Path::new(binary())
            .parent()
            .expect("a file is in a directory")
            .to_owned();
        let others = std::env::var_os("PATH").unwrap_or_default();
        std::env::join_paths(std::iter::once(binaries).chain(std::env::split_paths(&others)))
            .expect("they were one variable before")
    });
    &SEARCH_PATH
}

/// The home of all programs that tests start. It is there before the first of them, because some would make it for the user
/// alone, and tests have programs of other users.
fn home() -> PathBuf {
    let home = target().join("home");
    fs::create_dir_all(&home).expect("our own");
    home
}

fn hermetic(program: impl AsRef<OsStr>) -> Command {
    hermetic_in(search_path(), program)
}

/// A command whose program is found in the directories of `path`.
fn hermetic_in(path: &OsStr, program: impl AsRef<OsStr>) -> Command {
    // If the standard library had to search a path of the command's own, it would fork: a copy of the page tables of this
    // process, which has hundreds of megabytes, for each of thousands of commands.
    let program = program.as_ref();
    let found = find_program(path, program);
    let mut command = Command::new(found.as_deref().map_or(program, Path::as_os_str));
    command.arg0(program);
    command.env_clear().env("PATH", path).env("HOME", home());
    command.env("LC_ALL", "C").env("TZ", "UTC");
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_TEMPLATE_DIR", "");
    for (role, name, address) in [
        ("AUTHOR", "A", "a@example.com"),
        ("COMMITTER", "C", "c@example.com"),
    ] {
        command
            .env(format!("GIT_{role}_NAME"), name)
            .env(format!("GIT_{role}_EMAIL"), address);
        command.env(format!("GIT_{role}_DATE"), "1117231200 +0000");
    }
    command
}

/// Where this package's tests may leave things; nobody ever makes the `home` in it.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// The directory that `fixtures/<name>.sh` format_bytes, building it first if no earlier run did so from
/// the same script with the same git. It has to be built where it stays, since some repositories
/// know where they are.
fn fixture(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(format!("{name}.sh"));
    let mut key = DefaultHasher::new();
    fs::read(&script)
        .unwrap_or_else(|error| panic!("no fixture {name}: {error}"))
        .hash(&mut key);
    git_version().hash(&mut key);
    let directory = target()
        .join("fixtures")
        .join(format!("{name}-{:016x}", key.finish()));
    let done = directory.with_extension("done");

    fs::create_dir_all(target().join("fixtures")).expect("the target directory can be written to");
    let lock = File::create(directory.with_extension("lock")).expect("as above");
    lock.lock().expect("a file can be locked");
    if !done.exists() {
        drop(fs::remove_dir_all(&directory));
        fs::create_dir_all(directory.join("repo")).expect("as above");
        let mut build = hermetic("sh");
        build
            .arg("-eu")
            .arg(&script)
            .current_dir(directory.join("repo"));
        let _ = run(&mut build).success();
        File::create(&done).expect("as above");
    }
    directory
}
