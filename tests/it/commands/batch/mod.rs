//! `batch`: the answers of one process are those of a process for each request, whatever happens in between.

mod clients;
mod full_text;
mod repositories;

use std::{
    fs,
    io::{BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    thread,
    time::Duration,
};

use gix_packetline::blocking_io::encode;

use crate::{
    support::process::run_with_input,
    support::tar_listing::{is_complete, names},
    support::{Repo, binary},
};

/// A process that answers requests.
pub(crate) struct Batch {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

/// What a request gets.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) data: Vec<u8>,
    pub(crate) messages: String,
    /// What came on the bands 4 and 5.
    reports: [String; 2],
    pub(crate) status: i32,
}

impl Batch {
    pub(crate) fn start(repo: &Repo) -> Self {
        Self::start_with(repo, &[])
    }

    fn start_with(repo: &Repo, options: &[&str]) -> Self {
        let mut command = repo.command(binary());
        command.env("TZ", "UTC").arg("batch").args(options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            stdin: child.stdin.take(),
            stdout,
            child,
        }
    }

    fn send(&mut self, words: &[&str]) {
        let stdin = self.stdin.as_mut().expect("not closed yet");
        stdin.write_all(&request(words)).unwrap();
        stdin.flush().unwrap();
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, words: &[&str]) -> Answer {
        self.send(words);
        self.receive()
    }

    #[track_caller]
    fn receive(&mut self) -> Answer {
        assert_eq!(self.packet().as_deref(), Some(&b"ACK\n"[..]));
        assert_eq!(self.packet(), None);
        let mut answer = Answer::default();
        while let Some(packet) = self.packet() {
            assert_eq!(answer.status, 0, "something follows the status");
            let text = || String::from_utf8_lossy(&packet[1..]).into_owned();
            match packet[0] {
                1 => answer.data.extend(&packet[1..]),
                2 => answer.messages += &text(),
                4 | 5 => answer.reports[usize::from(packet[0] - 4)] += &text(),
                3 => {
                    let text = text();
                    let status = text.strip_prefix("status ").expect("a status");
                    answer.status = status.trim_end().parse().expect("a number");
                }
                band => panic!("band {band}"),
            }
        }
        answer
    }

    /// The next packet; `None` for a flush.
    fn packet(&mut self) -> Option<Vec<u8>> {
        let mut digits = [0; 4];
        self.stdout.read_exact(&mut digits).expect("a packet");
        let digits = str::from_utf8(&digits).expect("digits");
        let length = usize::from_str_radix(digits, 16).expect("digits");
        let mut packet = vec![0; length.checked_sub(4)?];
        self.stdout.read_exact(&mut packet).expect("whole");
        Some(packet)
    }

    /// The requests end, and so does the process.
    pub(crate) fn end(mut self) -> i32 {
        self.stdin = None;
        let mut rest = Vec::new();
        self.stdout.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty());
        self.child.wait().unwrap().code().expect("an exit status")
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(words: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in words {
        encode::text_to_write(
            [b"argument ", word.as_bytes()].concat().as_slice(),
            &mut bytes,
        )
        .unwrap();
    }
    encode::flush_to_write(&mut bytes).unwrap();
    bytes
}

/// What a process of its own answers.
fn alone(repo: &Repo, words: &[&str]) -> Answer {
    let output = repo.sluice(words);
    Answer {
        status: output.code(),
        messages: output.messages(),
        data: output.stdout,
        ..Answer::default()
    }
}

/// Requests of all kinds, sound or not, one after the other.
#[test]
fn answers_are_those_of_a_process_each() {
    let repo = Repo::copy("basic");
    repo.write("rules", "*.c\n");
    repo.git(["config", "tar.shout.command", "tr a-z A-Z"]);
    let repo = repo.env("TZ", "UTC");
    repo.write("allowed", "a.txt\n");
    let requests: [&[&str]; 31] = [
        &["HEAD"],
        &["--format=zip", "HEAD"],
        &["nothing"],
        &["--format=tgz", "--prefix=p/", "HEAD"],
        &["--no-such-option", "HEAD"],
        &[],
        &["--format=shout", "HEAD"],
        &["-v", "HEAD"],
        &["ls", "HEAD"],
        &["info", "HEAD"],
        &["--base=HEAD", "HEAD"],
        &["--base=nothing", "HEAD"],
        &["--byte-range=100-2000", "HEAD"],
        &["--byte-range=99999999-", "HEAD"],
        &["--list"],
        &["missing", "HEAD"],
        &["-h"],
        &["--exclude-from=rules", "HEAD"],
        &["--exclude-from=none", "HEAD"],
        &["--add-file=rules", "HEAD"],
        &["info", "--add-file=rules", "HEAD"],
        &["--pathspec-from-file=allowed", "HEAD"],
        &["--access-rules=allowed", "HEAD"],
        &["apply", "none", "rules"],
        &["--profile=zoekt", "HEAD"],
        &["help", "zoekt"],
        &["--exclude=**", "--fail-if-empty", "HEAD"],
        &["--manifest=fd:99", "HEAD"],
        // git parses these dates, in a repository.
        &["--mtime=2005-05-27 22:00", "HEAD"],
        &["--stable", "--mtime=2005-05-27T22:00:00Z", "HEAD"],
        &["--fail-if-varies", "--mtime=2005-05-27 22:00", "HEAD"],
    ];
    repo.write("user", "* export-ignore\n");
    repo.write("dir/user", "a.txt export-ignore\n");
    repo.git(["config", "core.attributesFile", "dir/user"]);
    let place = Repo::scratch();
    let mut batch = Batch::start(&place);
    let directory = repo.path().display().to_string();
    for round in 0..2 {
        for words in requests {
            let words = [&["-C", &directory][..], words].concat();
            let expected = alone(&repo, &words[2..]);
            assert_eq!(batch.ask(&words), expected, "{round} {words:?}");
        }
    }
    assert_eq!(batch.end(), 0);
}

/// Repositories `one` and `two` below `place`, each with a file of its name.
fn repositories_in(place: &Repo) -> [Repo; 2] {
    ["one", "two"].map(|name| {
        fs::create_dir(place.path().join(name)).unwrap();
        let repo = place.clone().at(name);
        repo.git(["init", "-q"]);
        repo.write(name, name);
        repo.commit(".", name);
        repo
    })
}

/// Requests may come long before their answers, and name directories from the one in which the process began.
#[test]
fn directories() {
    let place = Repo::scratch();
    repositories_in(&place);
    let mut batch = Batch::start(&place);
    let requests: [&[&str]; 5] = [
        &["-C", "one", "HEAD"],
        &["-C", "two", "HEAD"],
        &["-C", "one", "-C", "../two", "HEAD"],
        &["HEAD"],
        &["-C", "two/.git", "HEAD"],
    ];
    requests.iter().for_each(|words| batch.send(words));
    let answers = requests.map(|_| batch.receive());
    let found = answers.each_ref().map(|answer| match answer.status {
        0 => names(&answer.data).join(" "),
        status => status.to_string(),
    });
    assert_eq!(found, ["one", "two", "two", "128", "two"]);
    for (name, why) in [
        ("three", "No such file or directory"),
        ("one/one", "Not a directory"),
    ] {
        let place = place.path().display();
        let refused = format!("fatal: cannot change to '{place}/{name}': {why}\n");
        assert_eq!(batch.ask(&["-C", name, "HEAD"]).messages, refused);
    }
    let output = batch.ask(&["-C", "one", "--output=../out.tar", "HEAD"]);
    assert_eq!(output, Answer::default());
    assert!(fs::read(place.path().join("out.tar")).unwrap() == answers[0].data);
}

/// Files that a request writes are named from its directory.
#[test]
fn files_are_named_from_the_directory_of_a_request() {
    let place = Repo::scratch();
    let repo = Repo::copy("basic");
    let directory = repo.path().display().to_string();
    let mut batch = Batch::start(&place);
    let words = ["--manifest=m", "--summary=s", "--output=o.tar", "HEAD"];
    let words = [&["-C", &directory][..], &words].concat();
    assert_eq!(batch.ask(&words), Answer::default());
    let apply = batch.ask(&["-C", &directory, "apply", "applied", "o.tar"]);
    assert_eq!(apply, Answer::default());
    for name in ["m", "s", "o.tar", "applied/.git-sluice"] {
        assert!(repo.path().join(name).exists(), "{name}");
        assert!(!place.path().join(name).exists(), "{name}");
    }
}

/// Reports may come beside the archive, and in no other mode.
#[test]
fn reports_in_bands() {
    let repo = Repo::copy("basic");
    let mut batch = Batch::start(&repo);
    let plain = batch.ask(&["--manifest=m", "HEAD"]);
    let answer = batch.ask(&["--manifest=band:4", "--summary=band:5", "HEAD"]);
    let [manifest, summary] = &answer.reports;
    assert!(answer.data == plain.data && answer.status == 0);
    assert_eq!(
        *manifest,
        fs::read_to_string(repo.path().join("m")).unwrap()
    );
    assert!(summary.contains("\"complete\":true"), "{summary}");
    for number in ["3", "10", "x", ""] {
        let refused = batch.ask(&[&format!("--manifest=band:{number}"), "HEAD"]);
        let why = "use a number from 4 to 9 after 'band:'\n";
        assert!(refused.messages.ends_with(why), "{}", refused.messages);
    }
    assert_eq!(
        alone(&repo, &["--manifest=band:4", "HEAD"]).messages,
        "fatal: cannot write to band:4: bands are for a batch\n"
    );
}

/// `--git-dir` names a repository as `GIT_DIR` does for a process.
/// Standard input and output carry the requests and the answers of others.
#[test]
fn the_conversation_is_no_file() {
    let repo = Repo::copy("basic");
    let mut batch = Batch::start_with(&repo, &["--jobs=1"]);
    let whole = batch.ask(&["HEAD"]);
    for words in [
        &["-o", "file.tar", "--manifest=fd:1", "HEAD"][..],
        &["--access-rules=fd:0", "HEAD"],
    ] {
        batch.send(words);
        batch.send(&["HEAD"]);
        let refused = batch.receive();
        assert_eq!(refused.status, 128, "{words:?}");
        assert!(refused.messages.contains("fd:"), "{}", refused.messages);
        assert_eq!(batch.receive(), whole, "{words:?}");
    }
    for words in [
        &["-o", "file.tar", "--summary=/dev/stdout", "HEAD"][..],
        &["-o", "/dev/stdout", "HEAD"],
        &["--exclude-from=/dev/stdin", "HEAD"],
    ] {
        batch.send(words);
        batch.send(&["HEAD"]);
        assert_eq!(batch.receive().status, 0, "{words:?}");
        assert_eq!(batch.receive(), whole, "{words:?}");
    }
}

#[test]
fn git_directories() {
    let repo = Repo::copy("basic");
    let below = repo.clone().at("dir");
    let place = Repo::scratch();
    let top = repo.path().display().to_string();
    let mut batch = Batch::start(&place);
    for words in [
        &["HEAD"][..],
        &["HEAD", "."],
        &["--worktree-attributes", "HEAD"],
        &["nothing"],
    ] {
        let named = repo.clone().env("GIT_DIR", ".git");
        let asked = [&["-C", &top, "--git-dir=.git"][..], words].concat();
        for _ in 0..3 {
            assert_eq!(batch.ask(&asked), alone(&named, words), "{words:?}");
        }
        let named = below.clone().env("GIT_DIR", "../.git");
        let asked = [&["-C", &top, "-C", "dir", "--git-dir=../.git"][..], words].concat();
        assert_eq!(batch.ask(&asked), alone(&named, words), "{words:?}");
    }
    let asked = batch.ask(&["--git-dir=none", "HEAD"]);
    let refused = format!(
        "fatal: not a git repository: '{}/none'\n",
        place.path().display()
    );
    assert_eq!((asked.status, asked.messages), (128, refused));
}

/// A request is carried out while nobody reads the answer before it, and its own answer waits.
#[test]
fn requests_overlap() {
    let repo = Repo::copy("basic");
    repo.write("large", "0123456789abcdef".repeat(1 << 18));
    repo.commit("large", "large");
    let mut batch = Batch::start_with(&repo, &["--jobs=2"]);
    let words: [&[&str]; 3] = [&["HEAD"], &["--output=second", "HEAD"], &["HEAD"]];
    words.iter().for_each(|words| batch.send(words));
    let second = repo.path().join("second");
    for _ in 0..600 {
        if second.exists() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(second.exists());
    let expected = alone(&repo, &["HEAD"]);
    assert!(batch.receive() == expected);
    assert_eq!(batch.receive(), Answer::default());
    assert!(batch.receive() == expected && fs::read(second).unwrap() == expected.data);
    assert_eq!(batch.end(), 0);
}

/// Many requests ahead of their answers, small and large, in little memory.
#[test]
#[ignore = "slow"]
fn many_requests_at_once() {
    let repo = Repo::copy("basic");
    let mut batch = Batch::start_with(&repo, &["--jobs=3", "--memory=1m"]);
    let words: [&[&str]; 4] = [
        &["HEAD"],
        &["info", "HEAD"],
        &["nothing"],
        &["--format=zip", "HEAD"],
    ];
    let repo = repo.env("TZ", "UTC");
    let expected = words.map(|words| alone(&repo, words));
    let requests = words.map(request).concat().repeat(500);
    let mut stdin = batch.stdin.take().unwrap();
    let sender = thread::spawn(move || stdin.write_all(&requests).unwrap());
    for round in 0..500 {
        for (words, expected) in words.iter().zip(&expected) {
            assert!(batch.receive() == *expected, "{round} {words:?}");
        }
    }
    sender.join().unwrap();
    assert_eq!(batch.end(), 0);
}

/// What is no request is refused, and the next one is answered.
#[test]
fn what_is_no_request() {
    let repo = Repo::copy("basic");
    let mut batch = Batch::start(&repo);
    for packets in [
        "000bwant x\n0011argument HEAD",
        "0010argument a\0b",
        // Packets that end a list of git's, after and before an argument.
        "0011argument HEAD00040011argument HEAD",
        "00010011argument HEAD",
        "0002",
        "0005\n",
    ] {
        let bytes = [packets.as_bytes(), b"0000"].concat();
        batch.stdin.as_mut().unwrap().write_all(&bytes).unwrap();
        let refusal = batch.packet().expect("a refusal");
        assert!(refusal.starts_with(b"NACK "));
        assert_eq!(batch.packet(), None);
        let answer = batch.ask(&["HEAD"]);
        assert!(answer.status == 0 && is_complete(&answer.data));
    }
    // Short words count more than their bytes.
    let words = [&b"000eargument a".repeat(1 << 18)[..], b"0000"].concat();
    batch.stdin.as_mut().unwrap().write_all(&words).unwrap();
    let refusal = batch.packet().expect("a refusal");
    assert_eq!(refusal, b"NACK the arguments have more than 64 MiB\n");
    assert_eq!(batch.packet(), None);
    let refused = batch.ask(&["--remote=.", "HEAD"]);
    assert_eq!(
        refused.messages,
        "error: option '--remote' cannot be used in a request\n"
    );
    let piped = batch.ask(&["--pathspec-from-file=-", "HEAD"]);
    assert_eq!(piped.messages, "fatal: a request has no standard input\n");
    assert_eq!(batch.end(), 0);
}

/// Requests that break off, and arguments of the batch itself.
#[test]
fn a_conversation_that_breaks_off() {
    let repo = Repo::copy("basic");
    let talk = |bytes: &[u8]| {
        let mut command = repo.command(binary());
        run_with_input(command.arg("batch"), bytes)
    };
    let nothing = talk(b"");
    assert_eq!((nothing.code(), nothing.stdout.len()), (0, 0));
    let whole = request(&["HEAD"]);
    for cut in [2, 5, whole.len() - 4, whole.len() - 1] {
        let output = talk(&whole[..cut]);
        assert_eq!((output.code(), output.stdout.len()), (128, 0), "{cut}");
        assert_eq!(output.messages(), "fatal: a request broke off\n");
    }
    let output = talk(b"what?");
    assert_eq!(output.code(), 128, "{output}");
    let mut command = repo.command(binary());
    let output = run_with_input(command.args(["batch", "HEAD"]), b"");
    assert_eq!(
        output.messages(),
        "error: extra command line parameter 'HEAD'\nhint: git sluice batch [<options>]\n"
    );
}

/// A reader that goes away ends the process as a closed pipe does.
#[test]
fn nobody_listens() {
    use std::os::unix::process::ExitStatusExt;

    let repo = Repo::copy("basic");
    let mut command = repo.command(binary());
    command.arg("batch");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(&request(&["HEAD"]));
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(13), "{status}");
}

/// Runs of a batch share archives with all others.
#[test]
fn archives_are_shared() {
    let repo = Repo::copy("basic");
    let cache = Repo::scratch();
    let option = format!("--cache={}", cache.path().display());
    let mut batch = Batch::start(&repo);
    let expected = alone(&repo, &["HEAD"]);
    for _ in 0..3 {
        let words = [&option, "--cache-always", "--summary=summary", "HEAD"];
        assert_eq!(batch.ask(&words), expected);
    }
    let summary = fs::read_to_string(repo.path().join("summary")).unwrap();
    assert!(summary.contains("\"hit\""), "{summary}");
}

/// Nothing stays open behind a request.
#[test]
fn nothing_is_left_open() {
    let repo = Repo::copy("basic");
    let mut batch = Batch::start(&repo);
    let open = |batch: &Batch| {
        let directory = format!("/proc/{}/fd", batch.child.id());
        fs::read_dir(directory).unwrap().count()
    };
    let mut counts = Vec::new();
    for number in 0..60 {
        let words: &[&str] = match number % 4 {
            0 => &["HEAD"],
            1 => &["--format=zip", "HEAD"],
            2 => &["nothing"],
            _ => &["--output=out.tar", "HEAD"],
        };
        let _ = batch.ask(words);
        counts.push(open(&batch));
    }
    assert_eq!(counts[8..12], counts[56..60]);
}
