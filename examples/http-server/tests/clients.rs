//! 500 clients at once get the bytes of `git archive`.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

const CLIENTS: usize = 500;
/// The most downloads that all versions of curl make at once.
const EACH: usize = 250;

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn five_hundred_clients_at_once() {
    if Command::new("curl")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        println!("SKIP: curl is not installed");
        return;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).expect("our own");
    let script = "git init -q p && cd p && seq 50000 >numbers && mkdir d && for n in $(seq 200); do echo $n >d/$n; done && \
                  git add . && git -c user.name=a -c user.email=a commit -qm one && git archive --format=tar.gz HEAD >../expected";
    let made = Command::new("sh")
        .args(["-ec", script])
        .current_dir(&place)
        .status();
    assert!(made.expect("sh").success());
    let mut server = Command::new(env!("CARGO_BIN_EXE_http-server"));
    server.arg("127.0.0.1:0").arg(&place).stdout(Stdio::piped());
    let mut server = Server(server.spawn().expect("our own"));
    let mut address = String::new();
    let output = server.0.stdout.take().expect("a pipe");
    BufReader::new(output)
        .read_line(&mut address)
        .expect("a line");
    let get = |files: &[(&str, String)]| {
        let mut curl = Command::new("curl");
        curl.args(["--no-progress-meter", "--write-out", "%{http_code} "]);
        curl.args(["--parallel", "--parallel-immediate", "--parallel-max"]);
        curl.arg(files.len().to_string());
        for (path, file) in files {
            curl.arg("--output").arg(place.join(file));
            curl.arg(format!("http://{}/{path}", address.trim()));
        }
        curl.stdout(Stdio::piped()).spawn().expect("curl")
    };
    let statuses = |client: Child| client.wait_with_output().expect("curl").stdout;
    let files: Vec<_> = (0..CLIENTS)
        .map(|number| ("p/HEAD.tar.gz", number.to_string()))
        .collect();
    let clients: Vec<_> = files.chunks(EACH).map(get).collect();
    for client in clients {
        assert_eq!(statuses(client), b"200 ".repeat(EACH));
    }
    let expected = fs::read(place.join("expected")).expect("our own");
    for number in 0..CLIENTS {
        assert!(
            fs::read(place.join(number.to_string())).expect("an archive") == expected,
            "{number}"
        );
    }
    for path in [
        "p/nothing.tar.gz",
        "p/--output=x.tar.gz",
        "q/HEAD.tar.gz",
        "%2E%2E%2Fclients%2Fp/HEAD.tar.gz",
    ] {
        let client = get(&[(path, "failed".to_owned())]);
        assert_eq!(statuses(client), b"404 ", "{path}");
    }
}
