//! The interface of the library: answers are those of a process.

use std::{
    collections::HashMap,
    env,
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};

use git_sluice::{CommandLine, Failure, Outputs, Session};

use crate::{
    support::process::run,
    support::tar_listing,
    support::{BUILT, Repo, skip},
};

/// A stream that the test keeps.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic").clone()
    }
}

/// The session sees the environment that commands of the tests see, and none of the test process.
fn session(repo: &Repo) -> Session {
    Session::new(repo.path(), |name| match name {
        "GIT_CONFIG_NOSYSTEM" => Some("1".into()),
        _ => None,
    })
}

/// Archive, messages, and the end.
fn answer(session: &Session, words: &[&str]) -> (Vec<u8>, String, Result<(), Failure>) {
    let (archive, messages) = (Kept::default(), Kept::default());
    let outputs = Outputs::new(archive.clone()).with_messages(messages.clone());
    let end = session.answer(CommandLine::new("", words), outputs);
    let messages = String::from_utf8(messages.bytes()).expect("text");
    (archive.bytes(), messages, end)
}

/// Three lines for an archive in memory. What the environment says may come from anywhere.
#[test]
fn an_archive_in_memory() {
    let repo = Repo::copy("basic");
    let variables = HashMap::from([("GIT_CONFIG_NOSYSTEM".to_owned(), OsString::from("1"))]);
    let session = Session::new(repo.path(), move |name| variables.get(name).cloned());
    let archive = session.read(CommandLine::new("", ["archive", "HEAD"]));
    assert!(archive.expect("an archive") == repo.archive(["HEAD"]).success());
    let failure = session.read(CommandLine::new("", ["archive", "nothing"]));
    assert_eq!(failure.expect_err("no commit").status(), 128);
}

#[test]
fn answers_are_those_of_a_process() {
    let repo = Repo::copy("basic");
    let session = session(&repo);
    for words in [
        &["HEAD"][..],
        &["-v", "--format=zip", "HEAD"],
        &["info", "--profile=zoekt", "HEAD"],
        &["nothing"],
        &["--nothing"],
        &["--list"],
        &["-h"],
        &["HEAD", "nothing"],
    ] {
        let process = repo.sluice(words);
        let (archive, messages, end) = answer(&session, words);
        let (status, last) = match &end {
            Ok(()) => (0, &[][..]),
            Err(failure) => (failure.status(), failure.message()),
        };
        let messages = messages + &String::from_utf8_lossy(last);
        assert_eq!(i32::from(status), process.code(), "{words:?}: {messages}");
        assert_eq!(archive, process.stdout, "{words:?}");
        assert_eq!(messages, process.messages(), "{words:?}");
    }
}

#[test]
fn reports_go_to_their_bands() {
    let repo = Repo::copy("basic");
    let session = session(&repo);
    let (archive, manifest) = (Kept::default(), Kept::default());
    let outputs = Outputs::new(archive.clone()).band(4, manifest.clone());
    let line = CommandLine::new(repo.path(), ["--manifest=band:4", "HEAD"]);
    session.answer(line, outputs).expect("it works");
    let lines = String::from_utf8(manifest.bytes()).expect("text");
    let entries = tar_listing::names(&archive.bytes()).len();
    assert!(lines.lines().count() > entries, "{lines}");
    // A band that nobody reads is refused, and the next request is answered.
    let (archive, _, end) = answer(&session, &["--manifest=band:4", "HEAD"]);
    let failure = end.expect_err("there is no band").to_string();
    assert_eq!(failure, "fatal: cannot write to band:4: it has no reader");
    assert!(archive.is_empty());
    assert!(answer(&session, &["HEAD"]).2.is_ok());
}

/// As `main` prints it that returns one.
#[test]
fn a_failure_is_readable() {
    let (_, _, end) = answer(&session(&Repo::copy("basic")), &["nothing"]);
    let text = format!("{:?}", end.expect_err("there is no such revision"));
    let expected =
        r#"Failure { status: 128, message: "fatal: not a valid object name: nothing\n" }"#;
    assert_eq!(text, expected);
}

#[test]
fn threads_share_a_session() {
    let repo = Repo::copy("basic");
    let session = session(&repo).with_repositories(1, 1 << 20);
    let session = session.with_max_memory(16 << 20);
    let expected = repo.sluice(["HEAD"]).success();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    assert!(answer(&session, &["HEAD"]).0 == expected);
                }
            });
        }
    });
}

#[test]
fn a_sink_that_fails_ends_the_request() {
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let repo = Repo::copy("basic");
    let end = session(&repo).answer(CommandLine::new("", ["HEAD"]), Outputs::new(Broken));
    let failure = end.expect_err("no room");
    assert_eq!(failure.status(), 128);
    assert!(
        failure.to_string().starts_with("fatal: write error"),
        "{failure}"
    );
}

/// An example, if it is built.
fn example(name: &str) -> Option<PathBuf> {
    let example = Path::new(BUILT).with_file_name("examples").join(name);
    if example.exists() {
        return Some(example);
    }
    skip("the examples are not built: a test of all targets builds them");
    None
}

#[test]
fn the_program_of_the_page_is_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path| fs::read_to_string(root.join(path)).expect("a file of ours");
    let source = read("examples/changes.rs");
    let (_, program) = source.split_once("\n\n").expect("after its first line");
    let block = format!("```rust\n{program}```\n");
    assert!(read("docs/rust.md").contains(&block), "{program}");
}

#[test]
fn the_example_writes_changes() {
    let Some(example) = example("changes") else {
        return;
    };
    let place = Repo::scratch();
    let script = "git init -q project.git && cd project.git && echo 0 >old && git add . && git commit -qm 0 && git tag v1.0
        echo 1 >new && git add . && git commit -qm 1 && git tag v1.1";
    place.script(script);
    let _ = run(&mut place.command(example)).success();
    let read = |name| fs::read(place.path().join(name)).expect("it was written");
    assert_eq!(tar_listing::names(&read("changes.tar")), ["new"]);
    let manifest = String::from_utf8(read("changes.jsonl")).expect("text");
    assert!(manifest.contains("\"new\""), "{manifest}");
}

#[test]
fn the_example_indexes_repositories() {
    let Some(example) = example("index") else {
        return;
    };
    let place = Repo::scratch();
    let repo = Repo::copy("basic");
    repo.write("new", "new");
    repo.commit(".", "new");
    let mut command = place.command(&example);
    let output = run(command
        .args(["HEAD~1", "HEAD"])
        .arg(repo.path())
        .arg("none"));
    assert_eq!(output.code(), 1, "{output}");
    let text = String::from_utf8(output.stdout).expect("text");
    let complete = format!("{} is complete\nnone: fatal: ", repo.path().display());
    assert!(text.starts_with(&complete), "{text}");
    let delta = fs::read(place.path().join("repo.tar")).expect("it was written");
    assert_eq!(tar_listing::names(&delta), ["new"]);
    // What failed leaves no file.
    let names = fs::read_dir(place.path()).expect("it is there");
    let mut names: Vec<_> = names
        .map(|entry| entry.expect("as above").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["repo.jsonl", "repo.tar"]);
    assert!(env::var_os("GIT_DIR").is_none());
}

/// Variables that lead git to another repository, other objects, other settings or other names.
const HOSTILE: [(&str, &str); 18] = [
    ("GIT_DIR", "/dev/null/x"),
    ("GIT_WORK_TREE", "/dev/null/x"),
    ("GIT_COMMON_DIR", "/dev/null/x"),
    ("GIT_OBJECT_DIRECTORY", "/dev/null/x"),
    ("GIT_NAMESPACE", "x"),
    ("GIT_CEILING_DIRECTORIES", "/"),
    ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "bad"),
    ("GIT_CONFIG_COUNT", "bad"),
    ("GIT_CONFIG_PARAMETERS", "'tar.umask'='0777'"),
    ("GIT_CONFIG_NOSYSTEM", "bad"),
    ("GIT_ATTR_SOURCE", "none"),
    ("GIT_ATTR_NOSYSTEM", "bad"),
    ("GIT_LITERAL_PATHSPECS", "bad"),
    ("GIT_REPLACE_REF_BASE", "refs/heads/"),
    ("GIT_SHALLOW_FILE", "/dev/null/x"),
    ("GIT_SLUICE_CACHE", "/dev/null/x"),
    ("GIT_SLUICE_LOG", "/dev/null/x"),
    ("XDG_CONFIG_HOME", "/dev/null/x"),
];

/// The variable that tells the test that it is the process with these variables.
const INNER: &str = "GIT_SLUICE_TEST_INNER";

#[test]
fn no_variable_of_the_process_counts() {
    if env::var_os(INNER).is_some() {
        return answers_are_those_of_the_caller();
    }
    let name = "commands::library::no_variable_of_the_process_counts";
    let mut inner = std::process::Command::new(env::current_exe().expect("it runs"));
    inner.args(["--exact", name]).env(INNER, "1").envs(HOSTILE);
    let _ = run(&mut inner).success();
}

/// In the process itself, by the installed git, and by a filter that the configuration names.
fn answers_are_those_of_the_caller() {
    let repo = Repo::copy("basic");
    repo.git([
        "config",
        "filter.show.smudge",
        "cat; env | grep ^GIT_[A-RT-Z] | sort",
    ]);
    repo.write("shown", "*.txt filter=show\n");
    repo.git(["config", "core.attributesFile", "shown"]);
    let session = session(&repo);
    for words in [&["HEAD"][..], &["HEAD^{tree}"], &["HEAD", "*"]] {
        let (archive, messages, end) = answer(&session, words);
        assert!(end.is_ok(), "{words:?}: {messages} {end:?}");
        assert!(!archive.is_empty(), "{words:?}");
        let text = String::from_utf8_lossy(&archive);
        for (name, value) in HOSTILE {
            assert!(
                !text.contains(&format!("{name}={value}")),
                "{words:?}: {name}"
            );
        }
    }
    let (archive, ..) = answer(&session, &["HEAD", ":(exclude)*.txt"]);
    assert_eq!(archive, repo.archive(["HEAD", ":(exclude)*.txt"]).stdout);
}
