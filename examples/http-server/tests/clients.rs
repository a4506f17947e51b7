//! 500 clients at once get the bytes of `git archive`.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

const CLIENTS: usize = 500;

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
    let script = "git init -q p && cd p && seq 200000 >numbers && mkdir d && for n in $(seq 200); do echo $n >d/$n; done && \
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
    let get = |path: &str, file: &str| {
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--write-out",
            "%{http_code}",
            "--output",
        ]);
        curl.arg(place.join(file))
            .arg(format!("http://{}/{path}", address.trim()));
        curl.stdout(Stdio::piped()).spawn().expect("curl")
    };
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| get("p/HEAD.tar.gz", &number.to_string()))
        .collect();
    for client in clients {
        assert_eq!(client.wait_with_output().expect("curl").stdout, b"200");
    }
    let expected = fs::read(place.join("expected")).expect("our own");
    for number in 0..CLIENTS {
        assert!(
            fs::read(place.join(number.to_string())).expect("an archive") == expected,
            "{number}"
        );
    }
    for (path, status) in [
        ("p/nothing.tar.gz", b"404"),
        ("p/--output=x.tar.gz", b"404"),
        ("q/HEAD.tar.gz", b"404"),
        ("%2E%2E%2Fclients%2Fp/HEAD.tar.gz", b"404"),
    ] {
        assert_eq!(
            get(path, "failed").wait_with_output().expect("curl").stdout,
            status,
            "{path}"
        );
    }
}
