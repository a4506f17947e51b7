//! The same through an object store: a server that speaks S3, one of plain HTTP that fails, and one with a certificate.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    Fleet, needs_stores,
    server::{Fault, Server, proxy},
};
use crate::{
    support::process::{Output, Running},
    support::{Repo, installed},
};

/// A server that speaks S3, and a client of it.
struct S3 {
    port: String,
    _server: Running,
}

impl S3 {
    /// `None` where the server is not installed, which is said.
    fn start() -> Option<S3> {
        if !needs_stores() || !installed("moto_server") || !installed("curl") {
            return None;
        }
        let port = free_port();
        let top = Repo::scratch();
        let mut server = top.command("moto_server");
        let server = Running::start(server.args(["-H", "127.0.0.1", "-p", &port]));
        wait_for(&port);
        let s3 = S3 {
            port,
            _server: server,
        };
        s3.curl("-X PUT", "");
        Some(s3)
    }

    fn curl(&self, options: &str, key: &str) -> Vec<u8> {
        let url = format!("http://127.0.0.1:{}/store/{key}", self.port);
        let script = format!("curl {SIGNED} {options} '{url}'");
        Repo::scratch().shell(&script).success()
    }

    /// The same repository, and machines, with the credentials of the store.
    fn fleet(&self, fleet: Fleet) -> Fleet {
        Self::fleet_at(&self.port, fleet)
    }

    /// The same for a store at another `port`.
    fn fleet_at(port: &str, fleet: Fleet) -> Fleet {
        let variables = [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
            ("AWS_ACCESS_KEY_ID", "an-id".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "a-secret".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ];
        let with = |repo: Repo| {
            variables
                .iter()
                .fold(repo, |repo, (key, value)| repo.env(key, value))
        };
        Fleet {
            repo: with(fleet.repo),
            top: with(fleet.top),
        }
    }
}

/// Free until somebody else takes it.
fn free_port() -> String {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    free.local_addr().expect("bound").port().to_string()
}

/// Returns when a server listens.
fn wait_for(port: &str) {
    while TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        thread::sleep(Duration::from_millis(20));
    }
}

impl Fleet {
    #[track_caller]
    fn publish_to(&self, place: &str, words: &str) -> Value {
        let words = ["publish", "--create", place]
            .into_iter()
            .chain(words.split_whitespace());
        serde_json::from_slice(&self.repo.sluice(words).success()).expect("one line of JSON")
    }

    fn apply_from(&self, directory: &str, place: &str, words: &str) -> Output {
        let words = words.split_whitespace().chain([directory, place]);
        self.top.sluice(["apply"].into_iter().chain(words))
    }
}

/// Options of curl: fail, and sign.
const SIGNED: &str = "-sS --fail --aws-sigv4 aws:amz:us-east-1:s3 --user an-id:a-secret";

const PLACE: &str = "s3://store/a/folder/main";

#[test]
fn a_history() {
    let Some(s3) = S3::start() else { return };
    let fleet = s3.fleet(Fleet::new());
    for number in 0..8 {
        let commit = fleet.commit(&format!("echo {number} >small; echo >new{number}"));
        let told = fleet.publish_to(PLACE, "--full-every=3 HEAD");
        assert_eq!(told["commit"], commit);
        for directory in ["each", &format!("new{number}")] {
            let _ = fleet.apply_from(directory, PLACE, "").success();
            fleet.assert_holds(directory, &commit);
        }
    }
    let listed = s3.curl("", "?list-type=2");
    let objects = String::from_utf8_lossy(&listed)
        .matches("a/folder/v1/objects/")
        .count();
    let prune = fleet
        .top
        .sluice(["prune", "--older-than=1h", "s3://store/a/folder"]);
    let pruned: Value = serde_json::from_slice(&prune.success()).expect("JSON");
    assert_eq!(
        pruned["removed"].as_u64().unwrap() + pruned["kept"].as_u64().unwrap(),
        objects as u64
    );
    let _ = fleet.apply_from("last", PLACE, "").success();
    fleet.apply_from("d", "s3://store/a/folder/other", "").assert_failure(
        9,
        "fatal: there is no channel 'other' in 's3://store/a/folder'\nhint: check the name, or create the channel: git sluice publish <bucket>/<channel> <commit>\n",
    );
}

/// A prefix that has no file, and one that has other files.
#[test]
fn a_bucket_is_created_on_demand() {
    let Some(s3) = S3::start() else { return };
    let fleet = s3.fleet(Fleet::new());
    let missing = fleet.repo.sluice(["publish", "s3://store/a/main", "HEAD"]);
    missing.assert_refused(10, &["there is no bucket at 's3://store/a'"]);
    let _ = fleet.publish_to("s3://store/a/main", "HEAD");
    let full = fleet
        .repo
        .sluice(["publish", "--create", "s3://store/main", "HEAD"]);
    full.assert_refused(128, &["cannot create a bucket at 's3://store'"]);
    let prune = fleet.top.sluice(["prune", "s3://store"]);
    prune.assert_refused(10, &["there is no bucket at 's3://store'"]);
}

/// In parts, both ways.
#[test]
fn a_large_archive() {
    let Some(s3) = S3::start() else { return };
    let fleet = s3.fleet(Fleet::new());
    let commit = fleet.commit("head -c 30000000 /dev/urandom >large");
    let told = fleet.publish_to("s3://store/main", "HEAD");
    assert!(told["bytes"].as_u64() > Some(30_000_000));
    let _ = fleet.apply_from("d", "s3://store/main", "").success();
    fleet.assert_holds("d", &commit);
    let digest = told["steps"][0]["sha256"].as_str().unwrap();
    let key = format!("v1/objects/{digest}.tar.zst");
    for (script, words) in [
        ("head -c 25000000 x >y", "is shorter than the channel says"),
        (
            "head -c 25000000 x >y && head -c 9000000 x >>y",
            "is longer than the channel says",
        ),
        ("tac x >y", "has other bytes than were published"),
    ] {
        let place = Repo::scratch();
        place.write("x", s3.curl("", &key));
        let url = format!("http://127.0.0.1:{}/store/{key}", s3.port);
        let script = format!("{script} && curl {SIGNED} -T y '{url}' && cat x >z");
        place.script(&script);
        let output = fleet.apply_from("new", "s3://store/main", "");
        output.assert_refused(11, &[words]);
        assert!(!fleet.directory("new").exists());
        place.script(&format!("curl {SIGNED} -T z '{url}'"));
    }
    s3.curl("-X DELETE", &key);
    fleet
        .apply_from("new", "s3://store/main", "")
        .assert_refused(11, &["is missing"]);
}

#[test]
fn two_publishers_race() {
    let Some(s3) = S3::start() else { return };
    let fleet = s3.fleet(Fleet::new());
    let mut last = fleet.publish_to("s3://store/main", "HEAD")["commit"]
        .as_str()
        .unwrap()
        .to_owned();
    for round in 0..15 {
        let commits = ["a", "b"].map(|side| {
            fleet.repo.git(["reset", "-q", "--hard", &last]);
            fleet.commit(&format!("echo {side} {round} >small"))
        });
        let running = commits.each_ref().map(|commit| {
            let words = [
                "publish",
                "--full-every=1000",
                "--full-ratio=1",
                "s3://store/main",
                commit,
            ];
            fleet.repo.start(words)
        });
        for running in running {
            let _ = running.finish().success();
        }
        let channel: Value =
            serde_json::from_slice(&s3.curl("", "v1/channels/main.json")).expect("JSON");
        let steps = channel["steps"]
            .as_array()
            .unwrap()
            .iter()
            .skip(1 + 2 * round);
        let targets: Vec<_> = steps.map(|step| step["target"].as_str().unwrap()).collect();
        assert_eq!(targets.len(), 2);
        assert!(commits.iter().all(|commit| targets.contains(&&**commit)));
        last = targets[1].to_owned();
    }
    let _ = fleet.apply_from("d", "s3://store/main", "").success();
    fleet.assert_holds("d", &last);
}

/// A job one commit behind moves little more than the delta, in few requests.
#[test]
fn few_requests_and_bytes() {
    if !needs_stores() {
        return;
    }
    let (fleet, ids) = Fleet::published();
    let server = Server::start(fleet.bucket(), 0, Fault::Cut);
    let place = format!("{}/main", server.url);
    let _ = fleet
        .apply_from("d", &place, &format!("--at={}", ids[1]))
        .success();
    server.counted();
    let _ = fleet.apply_from("d", &place, "").success();
    let (requests, bytes) = server.counted();
    fleet.assert_holds("d", &ids[2]);
    let channel = fs::metadata(fleet.channel_path()).unwrap().len();
    let delta = fleet.steps()[2]["size"].as_u64().unwrap();
    assert_eq!((requests, bytes), (2, channel + delta));
    let _ = fleet.apply_from("d", &place, "").success();
    assert_eq!(server.counted(), (1, channel));
}

/// A server that fails is asked again, up to the deadline.
#[test]
fn a_server_that_fails() {
    if !needs_stores() {
        return;
    }
    let (fleet, ids) = Fleet::published();
    let faults = [
        Fault::Status("500 Internal Server Error"),
        Fault::Status("503 Service Unavailable"),
        Fault::Cut,
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        let server = Server::start(fleet.bucket(), 2, fault);
        let directory = format!("d{number}");
        let place = format!("{}/main", server.url);
        let _ = fleet.apply_from(&directory, &place, "").success();
        fleet.assert_holds(&directory, &ids[2]);
    }
    let slow = Fault::Slow(Duration::from_secs(60));
    for fault in faults.into_iter().chain([slow]) {
        let server = Server::start(fleet.bucket(), u64::MAX, fault);
        let (place, begin) = (format!("{}/main", server.url), Instant::now());
        let output = fleet.apply_from("none", &place, "--timeout=2s");
        output.assert_refused(
            10,
            &["fatal: cannot read 'v1/channels/main.json' in 'http://127.0.0.1"],
        );
        assert!(begin.elapsed() < Duration::from_secs(30), "{output}");
        assert!(!fleet.directory("none").exists());
    }
}

/// Not each server of plain HTTP knows ranges, and an answer that breaks off is asked for again.
#[test]
fn a_large_archive_by_http() {
    if !needs_stores() {
        return;
    }
    let fleet = Fleet::new();
    let commit = fleet.commit("head -c 20000000 /dev/urandom >large");
    let _ = fleet.publish("HEAD").success();
    for (directory, failing, fault) in [("d", u64::MAX, Fault::Whole), ("e", 2, Fault::Cut)] {
        let server = Server::start(fleet.bucket(), failing, fault);
        let place = format!("{}/main", server.url);
        let _ = fleet.apply_from(directory, &place, "").success();
        fleet.assert_holds(directory, &commit);
    }
}

#[test]
fn no_server_at_all() {
    if !needs_stores() {
        return;
    }
    let fleet = Fleet::new();
    let begin = Instant::now();
    let place = "http://user:a-secret@127.0.0.1:1/main?a-secret";
    let output = fleet.apply_from("d", place, "--timeout=2s");
    assert_eq!(
        output.code(),
        128,
        "a query is no name of a channel: {output}"
    );
    let output = fleet.apply_from("d", "http://user:a-secret@127.0.0.1:1/main", "--timeout=2s");
    output.assert_refused(
        10,
        &["cannot read 'v1/channels/main.json' in 'http://127.0.0.1:1'"],
    );
    assert!(!output.messages().contains("secret"), "{output}");
    assert!(begin.elapsed() < Duration::from_secs(20));
}

/// A key that may read but not list: the store answers 403 where a file is missing.
#[test]
fn a_key_that_may_not_list() {
    let Some(s3) = S3::start() else { return };
    let (fleet, ids) = {
        let fleet = s3.fleet(Fleet::new());
        let ids = [0, 1].map(|number| {
            let commit = fleet.commit(&format!("echo {number} >small"));
            let _ = fleet.publish_to(PLACE, "--full-every=0 HEAD");
            commit
        });
        (fleet, ids)
    };
    let reader = S3::fleet_at(
        &proxy(&s3.port, [&[], &[("HTTP/1.1 404", "HTTP/1.1 403")]]),
        Fleet {
            repo: fleet.repo.clone(),
            top: fleet.top.clone(),
        },
    );
    let other = reader.apply_from("d", "s3://store/a/folder/other", "");
    other.assert_refused(
        9,
        &[
            "fatal: there is no channel 'other' in 's3://store/a/folder'\n\
             caused by: the store refuses to show it, as it also does with a key that may not read it\n\
             hint: check the key",
        ],
    );
    let at = format!("--at={}", ids[0]);
    let _ = reader.apply_from("d", PLACE, &at).success();
    reader.assert_holds("d", &ids[0]);
    // The delta is missing, and the full archive leads to the commit as well.
    let channel = s3.curl("", "a/folder/v1/channels/main.json");
    let channel: Value = serde_json::from_slice(&channel).expect("JSON");
    let steps = channel["steps"].as_array().expect("a list").iter();
    for step in steps.filter(|step| step["base"] == ids[0]) {
        let digest = step["sha256"].as_str().expect("a digest");
        s3.curl(
            "-X DELETE",
            &format!("a/folder/v1/objects/{digest}.tar.zst"),
        );
    }
    let output = reader.apply_from("d", PLACE, "");
    assert!(
        output
            .messages()
            .contains("is missing; using another chain of archives"),
        "{output}"
    );
    let _ = output.success();
    reader.assert_holds("d", &ids[1]);
}

/// Two publishers on a store that ignores conditions would lose a commit.
#[test]
fn a_store_without_conditions() {
    let Some(s3) = S3::start() else { return };
    for header in [
        &[("\r\nif-match:", "\r\nx-other:")][..],
        &[("\r\nif-none-match:", "\r\nx-other:")],
        &[
            ("\r\nif-match:", "\r\nx-a:"),
            ("\r\nif-none-match:", "\r\nx-b:"),
        ],
    ] {
        let fleet = S3::fleet_at(&proxy(&s3.port, [header, &[]]), Fleet::new());
        let words = ["publish", "--create", "s3://store/main", "HEAD"];
        fleet.repo.sluice(words).assert_failure(
            128,
            "fatal: cannot create a bucket at 's3://store'\n\
             caused by: the store ignores If-Match and If-None-Match, so two publishers would lose a commit\n\
             hint: use a store that knows conditional writes, or a directory\n",
        );
        let listed = s3.curl("", "?list-type=2");
        assert!(!String::from_utf8_lossy(&listed).contains("<Key>"));
    }
    let fleet = s3.fleet(Fleet::new());
    let _ = fleet.publish_to("s3://store/main", "HEAD");
    let listed = s3.curl("", "?list-type=2");
    assert!(!String::from_utf8_lossy(&listed).contains("unfinished"));
}

/// An answer need not say its length.
#[test]
fn a_web_server_without_lengths() {
    if !needs_stores() {
        return;
    }
    let (fleet, ids) = Fleet::published();
    let large = fleet.commit("head -c 20000000 /dev/urandom >large");
    let _ = fleet.publish("HEAD").success();
    let server = Server::start(fleet.bucket(), u64::MAX, Fault::Unsized);
    let place = format!("{}/main", server.url);
    let at = format!("--at={}", ids[1]);
    let _ = fleet.apply_from("d", &place, &at).success();
    fleet.assert_holds("d", &ids[1]);
    let _ = fleet.apply_from("d", &place, "").success();
    fleet.assert_holds("d", &large);
    let other = fleet.apply_from("e", &format!("{}/other", server.url), "");
    other.assert_refused(9, &["there is no channel 'other'"]);
}

/// A recipe clones where a channel or an archive is missing, whatever the server says of that.
#[test]
fn a_web_server_that_answers_for_missing_files() {
    if !needs_stores() {
        return;
    }
    for status in ["200 OK", "403 Forbidden", "404 Not Found"] {
        let (fleet, ids) = Fleet::published();
        let _ = fleet.publish("--republish HEAD").success();
        let server = Server::start(fleet.bucket(), u64::MAX, Fault::Missing(status));
        let other = fleet.apply_from("d", &format!("{}/other", server.url), "");
        other.assert_refused(9, &["fatal: there is no channel 'other' in 'http://"]);
        let place = format!("{}/main", server.url);
        let at = format!("--at={}", ids[1]);
        let _ = fleet.apply_from("d", &place, &at).success();
        for step in fleet.steps() {
            if step["base"] == *ids[1] {
                fs::remove_file(fleet.object(&step)).expect("published");
            }
        }
        let output = fleet.apply_from("d", &place, "");
        assert!(
            output
                .messages()
                .contains("is missing; using another chain of archives"),
            "{status} {output}"
        );
        fleet.assert_holds("d", &ids[2]);
    }
}

/// Serves the folder by HTTPS: the port, the certificate and its key are the arguments.
const SECURE_SERVER: &str = r#"
import http.server, ssl, sys
port, certificate, key = sys.argv[1:]
server = http.server.HTTPServer(("127.0.0.1", int(port)), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"#;

/// An authority, and the certificate that it gives to a server.
const CERTIFICATES: &str = "
    openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority
    openssl req -newkey rsa:2048 -nodes -keyout key.pem -out request -subj /CN=localhost
    echo subjectAltName=DNS:localhost >names
    openssl x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -out own.pem -days 2 -extfile names";

/// A server with a certificate is read from if the system trusts its authority, and only then.
#[test]
fn a_web_server_with_a_certificate() {
    if !needs_stores() || !installed("openssl") || !installed("python3") {
        return;
    }
    let (fleet, ids) = Fleet::published();
    let keys = Repo::scratch();
    let _ = keys.shell(CERTIFICATES).success();
    let key = |name: &str| keys.path().join(name);
    let port = free_port();
    let mut server = keys.command("python3");
    server.args(["-c", SECURE_SERVER, &port]);
    server.args([key("own.pem"), key("key.pem")]);
    let _server = Running::start(server.current_dir(fleet.bucket()));
    wait_for(&port);
    let place = format!("https://localhost:{port}/main");
    let output = fleet.apply_from("d", &place, "--timeout=2s");
    output.assert_refused(10, &["cannot read 'v1/channels/main.json'"]);
    let top = fleet.top.env("SSL_CERT_FILE", key("ca.pem"));
    let fleet = Fleet { top, ..fleet };
    let _ = fleet.apply_from("d", &place, "").success();
    fleet.assert_holds("d", &ids[2]);
}
