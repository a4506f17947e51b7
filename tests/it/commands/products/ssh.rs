//! A server of ssh, which runs the commands of its clients for the user who runs the tests.

use std::{fs, path::Path};

use super::{Served, server::Server, server_program};
use crate::support::{Repo, installed, skip};

/// How a client starts ssh, without the settings of the user. A path follows.
const CLIENT: &str = "ssh -F none -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
    -o LogLevel=ERROR -o BatchMode=yes -o KexAlgorithms=curve25519-sha256 -i ";

/// A server of ssh, and its clients.
pub(super) struct Ssh {
    pub(super) server: Server,
    pub(super) client: Repo,
}

/// Creates the key of the clients, `client`, and the key of the server, `host`, in `top`. Returns the line for `authorized_keys`.
pub(super) fn keys(top: &Repo) -> Option<String> {
    if !installed("ssh") || !installed("ssh-keygen") {
        return None;
    }
    let create = "for name in client host; do ssh-keygen -q -t ed25519 -N '' -f $name; done";
    top.script(create);
    Some(fs::read_to_string(top.path().join("client.pub")).expect("created just now"))
}

/// Starts the server. Its users have the home directory `home`, with `.ssh/authorized_keys`.
pub(super) fn start(served: &Served, home: &Path) -> Option<Ssh> {
    let sshd = server_program("sshd")?;
    let place = served.place.project.clone().at("..");
    let top = place.path().display();
    let home = home.display();
    let settings = format!(
        "HostKey {top}/host\nPidFile none\nUsePAM no\nStrictModes no\nMaxStartups 100\n\
         AuthorizedKeysFile {home}/.ssh/authorized_keys\nSetEnv HOME={home}\n"
    );
    place.write("sshd.conf", settings);
    let mut test = place.command(&sshd);
    let tested = crate::support::process::run(test.args(["-t", "-f", "sshd.conf"]));
    if tested
        .messages()
        .contains("Missing privilege separation directory")
    {
        skip(&format!("sshd cannot start: {}", tested.messages().trim()));
        return None;
    }
    let server = Server::start(|port| {
        let mut command = place.command(&sshd);
        let listen = format!("ListenAddress=127.0.0.1:{port}");
        command
            .args(["-D", "-e", "-f"])
            .arg(place.path().join("sshd.conf"))
            .args(["-o", &listen]);
        command
    });
    let client = served
        .place
        .project
        .clone()
        .env("GIT_SSH_COMMAND", format!("{CLIENT}{top}/client"));
    Some(Ssh { server, client })
}

#[test]
fn a_forced_command_of_ssh() {
    let Some(served) = Served::new() else { return };
    let place = served.place.project.clone().at("..");
    let Some(key) = keys(&place) else { return };
    let home = place.path().join("home");
    fs::create_dir_all(home.join(".ssh")).expect("our own");
    let line = format!(
        "command=\"exec {}/first/git shell -c \\\"$SSH_ORIGINAL_COMMAND\\\"\",restrict {key}",
        served.place.top.display()
    );
    fs::write(home.join(".ssh/authorized_keys"), line).expect("our own");
    let Some(Ssh { server, client }) = start(&served, &home) else {
        return;
    };
    let url = format!(
        "ssh://127.0.0.1:{}{}/project.git",
        server.port,
        served.place.top.display()
    );
    let archive = served.archive("HEAD");
    served.assert_served(
        &client,
        &format!("$REAL archive --remote={url} HEAD"),
        &archive,
    );
    // Everything else stays with the shell of git.
    let heads = client.git(["ls-remote", &url, "main"]);
    assert_eq!(heads[..40], client.git(["rev-parse", "main"]));
}
