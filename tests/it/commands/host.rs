//! The example of a host: an archive endpoint, asked by curl.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
};

use crate::support::process::{Output, Running};
use crate::support::{Repo, binary, installed};

/// The server of `examples/`, and a directory for its clients.
struct Host {
    repo: Repo,
    port: String,
    client: Repo,
    _server: Running,
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
            _server: server,
        })
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
            match is_known {
                true => assert_eq!(field(&head, "content-length"), archive.len().to_string()),
                false => assert_eq!(field(&head, "transfer-encoding"), "chunked"),
            }
            assert!(host.curl("", &name).success() == archive, "{name}");
        }
    }
    let missing = host.headers("", "no-such-branch.tar");
    assert!(missing.starts_with("http/1.1 404"), "{missing}");
}

/// Four slow clients of four archives leave no turn for a fifth one.
#[test]
fn too_many_archives() {
    let repo = Repo::init();
    repo.write("noise", "noise ".repeat(3 << 20));
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "a large file"]);
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
fn a_client_that_has_the_archive() {
    let Some(host) = Host::start(Repo::from("basic")) else {
        return;
    };
    let head = host.headers("-I", "HEAD.tar");
    let tag = field(&head, "etag");
    let same = host.headers(&format!("-H 'If-None-Match: {tag}'"), "HEAD.tar");
    assert!(same.starts_with("http/1.1 304"), "{same}");
    let other = host.headers("-H 'If-None-Match: \"other\"'", "HEAD.tar");
    assert!(other.starts_with("http/1.1 200"), "{other}");
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
        repo.git(["add", "."]);
        repo.git(["commit", "-qm", "files"]);
        let spoil = format!(
            "file=.git/objects/$(git rev-parse HEAD:b | sed 's,..,&/,'); {damage}; git status -s"
        );
        let _ = repo.shell(&spoil).success();
        let Some(host) = Host::start(repo) else {
            return;
        };
        for name in ["HEAD.tar", "HEAD.tar.gz"] {
            let broken = host.curl("-f", name);
            assert_ne!(broken.code(), 0, "{broken}");
        }
    }
}
