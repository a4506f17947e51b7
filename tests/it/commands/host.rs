//! The example of a host: an archive endpoint, asked by curl.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use crate::cache::noisy;
use crate::support::process::{Output, Running};
use crate::support::{Repo, binary, installed};

/// The server of `examples/`, and a directory for its clients.
struct Host {
    /// Ends before its directory goes.
    server: Running,
    repo: Repo,
    port: String,
    client: Repo,
}

impl Host {
    /// `None` where a program is missing, which is said.
    fn start(repo: Repo) -> Option<Host> {
        if !installed("python3") || !installed("curl") {
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/archive_server.py");
        let client = Repo::scratch();
        let shared = client.path().join("shared");
        let mut command = repo.command("python3");
        command.arg(script).arg(repo.path()).arg(shared);
        let mut server = Running::start(&mut command);
        let mut port = String::new();
        let said = BufReader::new(server.stdout()).read_line(&mut port);
        assert!(
            said.is_ok_and(|len| len > 0),
            "the server does not say its port"
        );
        Some(Host {
            repo,
            port: port.trim().to_owned(),
            client,
            server,
        })
    }

    /// Ends the server. Returns its log.
    fn stop(self) -> String {
        self.server.signal(rustix::process::Signal::TERM);
        self.server.finish().messages()
    }

    /// Reads the first `len` bytes of the body into the file `part`, and hangs up.
    #[track_caller]
    fn break_off(&self, name: &str, len: usize, part: &str) {
        let url = format!("http://127.0.0.1:{}/{name}", self.port);
        let mut curl = self.client.command("curl");
        let mut curl = Running::start(curl.args(["-sS", &url]));
        let mut start = vec![0; len];
        curl.stdout().read_exact(&mut start).expect("it began");
        let _ = curl.hang_up();
        fs::write(self.client.path().join(part), start).expect("our own");
    }

    /// curl with `options` for an archive of this `name`.
    #[track_caller]
    fn curl(&self, options: &str, name: &str) -> Output {
        let url = format!("http://127.0.0.1:{}/{name}", self.port);
        self.client.shell(&format!("curl -sS {options} {url}"))
    }

    /// Status and headers in lower case.
    #[track_caller]
    fn headers(&self, options: &str, name: &str) -> String {
        let headers = self
            .curl(&format!("-D - -o /dev/null {options}"), name)
            .success();
        String::from_utf8_lossy(&headers).to_lowercase()
    }

    #[track_caller]
    fn archive(&self, format: &str) -> Vec<u8> {
        let format = format!("--format={format}");
        self.repo
            .sluice([&format[..], "--prefix=HEAD/", "HEAD"])
            .success()
    }
}

#[track_caller]
fn field<'h>(headers: &'h str, name: &str) -> &'h str {
    let is_it = |line: &&str| line.starts_with(&format!("{name}:"));
    let line = headers.lines().find(is_it);
    let line = line.unwrap_or_else(|| panic!("no {name} in {headers}"));
    line[name.len() + 1..].trim()
}

#[test]
fn whole_archives_and_their_heads() {
    let Some(host) = Host::start(Repo::from("basic")) else {
        return;
    };
    for format in ["tar", "tar.gz", "zip"] {
        let name = format!("HEAD.{format}");
        let archive = host.archive(format);
        // The length of a compressed archive is known once the archive is shared.
        for is_known in [format == "tar", format == "tar", true] {
            let head = host.headers("-I", &name);
            assert!(head.starts_with("http/1.1 200"), "{head}");
            assert!(field(&head, "etag").len() == 66, "{head}");
            if is_known {
                assert_eq!(field(&head, "content-length"), archive.len().to_string())
            } else {
                assert_eq!(field(&head, "transfer-encoding"), "chunked")
            }
            assert!(host.curl("", &name).success() == archive, "{name}");
        }
    }
    let missing = host.headers("", "no-such-branch.tar");
    assert!(missing.starts_with("http/1.1 404"), "{missing}");
}

/// Four slow clients of four archives leave no turn for a fifth one.
#[test]
#[ignore = "slow"]
fn too_many_archives() {
    let repo = Repo::init();
    repo.write("noise", "noise ".repeat(3 << 20));
    repo.commit(".", "a large file");
    for name in ["a", "b", "c", "d", "e"] {
        repo.git(["branch", name]);
    }
    let Some(host) = Host::start(repo) else {
        return;
    };
    let slow = |name| {
        let url = format!("http://127.0.0.1:{}/{name}.tar", host.port);
        let mut curl = host.client.command("curl");
        curl.args(["-sS", "-o", "/dev/null", "--limit-rate", "1k", &url]);
        Running::start(&mut curl)
    };
    let _running = ["a", "b", "c", "d"].map(slow);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let busy = host.headers("", "e.tar");
    assert!(busy.starts_with("http/1.1 503"), "{busy}");
    assert_eq!(field(&busy, "retry-after"), "5");
}

#[test]
fn a_download_that_broke_goes_on() {
    let Some(host) = Host::start(Repo::from("big-delta")) else {
        return;
    };
    let archive = host.archive("tar");
    let part = host.client.path().join("part");
    fs::write(&part, &archive[..archive.len() / 3]).expect("our own");
    let headers = host.curl("-D - -C - -o part", "HEAD.tar").success();
    assert!(headers.starts_with(b"HTTP/1.1 206"));
    assert!(fs::read(&part).expect("downloaded") == archive);
    let last = host.curl("-r -700", "HEAD.tar").success();
    assert!(last == archive[archive.len() - 700..]);
    let behind = host.headers(&format!("-r {}-", archive.len()), "HEAD.tar");
    assert!(behind.starts_with("http/1.1 416"), "{behind}");
    assert_eq!(
        field(&behind, "content-range"),
        format!("bytes */{}", archive.len())
    );
    // Another archive than the one that was begun is sent as a whole.
    let other = host.curl("-r 100- -H 'If-Range: \"other\"'", "HEAD.tar");
    assert!(other.success() == archive);
}

/// curl goes on with a compressed archive of which only the start was sent, five times of five, and the bytes are git's.
#[test]
#[ignore = "slow"]
fn a_compressed_download_that_broke_goes_on() {
    let Some(host) = Host::start(noisy(24 << 20)) else {
        return;
    };
    for format in ["tar.gz", "zip"] {
        let word = format!("--format={format}");
        let archive = host.repo.archive([&word[..], "--prefix=HEAD/", "HEAD"]);
        let archive = archive.success();
        let name = format!("HEAD.{format}");
        for round in 1..=5 {
            host.break_off(&name, round << 20, "part");
            let headers = host.curl("-D - -C - -o part", &name).success();
            assert!(headers.starts_with(b"HTTP/1.1 206"), "{round}");
            let whole = fs::read(host.client.path().join("part"));
            assert!(whole.expect("downloaded") == archive, "{name} {round}");
        }
    }
    let log = host.stop();
    assert!(!log.contains("Traceback"), "{log}");
}

/// Twenty clients lose one archive and go on with it at the same time.
#[test]
#[ignore = "slow"]
fn twenty_downloads_go_on() {
    let Some(host) = Host::start(noisy(12 << 20)) else {
        return;
    };
    let word = "--format=tar.gz";
    let archive = host.repo.archive([word, "--prefix=HEAD/", "HEAD"]);
    let archive = archive.success();
    std::thread::scope(|scope| {
        for client in 1..=20 {
            let (host, archive) = (&host, &archive);
            scope.spawn(move || {
                let part = format!("part{client}");
                host.break_off("HEAD.tar.gz", client << 17, &part);
                let _ = host
                    .curl(&format!("-C - -o {part}"), "HEAD.tar.gz")
                    .success();
                let whole = fs::read(host.client.path().join(part));
                assert!(whole.expect("downloaded") == *archive, "{client}");
            });
        }
    });
    let log = host.stop();
    assert!(!log.contains("Traceback"), "{log}");
}

/// The end of a range is a status, whether the archive was made before or not.
#[test]
fn ranges_behind_the_end() {
    let Some(host) = Host::start(Repo::from("basic")) else {
        return;
    };
    for format in ["tar", "tar.gz", "zip"] {
        let len = host.archive(format).len();
        for range in [
            format!("{len}-"),
            "99999999999999999999-".into(),
            "-0".into(),
        ] {
            let behind = host.headers(&format!("-r {range}"), &format!("HEAD.{format}"));
            assert!(behind.starts_with("http/1.1 416"), "{range}: {behind}");
            assert_eq!(field(&behind, "content-range"), format!("bytes */{len}"));
        }
        let invalid = host.headers("-H 'Range: bytes=5-2'", &format!("HEAD.{format}"));
        assert!(invalid.starts_with("http/1.1 200"), "{invalid}");
    }
}

/// An archive that the cache cannot hold is sent as a whole, and so is one without a tag.
#[test]
#[ignore = "slow"]
fn archives_without_ranges() {
    let repo = noisy(6 << 20);
    repo.git(["config", "sluice.cacheSize", "3m"]);
    repo.git(["update-ref", "refs/tags/tree", "HEAD^{tree}"]);
    let Some(host) = Host::start(repo) else {
        return;
    };
    let archive = host.archive("tar.gz");
    for _ in 0..2 {
        let whole = host.headers("-r 100-", "HEAD.tar.gz");
        assert!(whole.starts_with("http/1.1 200"), "{whole}");
        assert_eq!(field(&whole, "accept-ranges"), "none");
        assert!(host.curl("-r 100-", "HEAD.tar.gz").success() == archive);
    }
    let untagged = host.headers("-r 100-", "tree.tar");
    assert!(untagged.starts_with("http/1.1 200"), "{untagged}");
    assert_eq!(field(&untagged, "accept-ranges"), "none");
    assert!(!untagged.contains("etag"), "{untagged}");
}

/// What browsers, proxies and scripts send and expect.
#[test]
fn headers_of_clients() {
    let repo = Repo::from("basic");
    let time = repo.git(["log", "-1", "--format=%cd", "--date=format:%Y %H:%M:%S"]);
    let Some(host) = Host::start(repo) else {
        return;
    };
    let tagged = host.headers("-I", "HEAD.tar.gz");
    for (header, value) in [
        (
            "content-disposition",
            "attachment; filename=\"head.tar.gz\"",
        ),
        ("content-type", "application/gzip"),
        ("accept-ranges", "bytes"),
    ] {
        assert_eq!(field(&tagged, header), value);
    }
    let (year, clock) = time.trim().split_once(' ').expect("as asked");
    let modified = field(&tagged, "last-modified");
    assert!(
        modified.contains(year) && modified.ends_with(" gmt"),
        "{modified}"
    );
    assert!(modified.contains(clock), "{modified}");
    let queried = host.headers("-I", "HEAD.tar.gz?download=1");
    assert_eq!(field(&queried, "etag"), field(&tagged, "etag"));
    let tag = field(&tagged, "etag");
    for (condition, status) in [
        ("*", "304"),
        (tag, "304"),
        ("\"other\"", "200"),
        ("W/\"a\", *", "200"),
    ] {
        let condition = format!("-H 'If-None-Match: {condition}'");
        for options in [&format!("-I {condition}"), &condition] {
            let known = host.headers(options, "HEAD.tar.gz");
            assert!(known.starts_with(&format!("http/1.1 {status}")), "{known}");
            assert!(!known.contains("content-length: 0"), "{known}");
        }
    }
    let missing = host.headers("-H 'If-None-Match: *'", "no-such-branch.tar");
    assert!(missing.starts_with("http/1.1 404"), "{missing}");
    // A range is for GET only, and an old proxy gets no chunks.
    let head = host.headers("-I -r 0-9", "HEAD.tar");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let old = host.curl("-0 -D headers", "HEAD.zip").success();
    assert!(old == host.archive("zip"));
    let headers = fs::read_to_string(host.client.path().join("headers"));
    assert!(!headers.expect("written").contains("chunked"));
}

/// Headers and archive are those of one commit, although the branch moves in between.
#[test]
fn a_branch_that_moves() {
    let repo = Repo::copy("basic");
    let archive = repo.sluice(["--prefix=HEAD/", "HEAD"]).success();
    let programs = Repo::scratch();
    let script = format!(
        "#!/bin/sh\n{} \"$@\" || exit\ncase $* in info*) git update-ref HEAD HEAD~ ;; esac\n",
        binary()
    );
    programs.write("git-sluice", script);
    let path = programs.shell("chmod +x git-sluice; printf %s:%s \"$PWD\" \"$PATH\"");
    let path = String::from_utf8(path.success()).expect("text");
    let Some(host) = Host::start(repo.env("PATH", path)) else {
        return;
    };
    assert!(host.curl("", "HEAD.tar").success() == archive);
    assert!(host.curl("", "HEAD.tar").success() != archive);
}

/// An archive that is cut short is no answer, whether its length was known or not.
#[test]
fn damage_is_noticed_by_the_client() {
    for damage in ["rm -f $file", "chmod u+w $file && truncate -s -9 $file"] {
        let repo = Repo::init();
        let noise: String = (0..200_000_u32).map(|number| number.to_string()).collect();
        repo.write("a", &noise);
        repo.write("b", noise.repeat(2));
        repo.commit(".", "files");
        let spoil = format!(
            "file=.git/objects/$(git rev-parse HEAD:b | sed 's,..,&/,'); {damage}; git status -s"
        );
        repo.script(&spoil);
        let Some(host) = Host::start(repo) else {
            return;
        };
        for name in ["HEAD.tar", "HEAD.tar.gz"] {
            let broken = host.curl("-f", name);
            assert_ne!(broken.code(), 0, "{broken}");
        }
    }
}
