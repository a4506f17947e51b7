//! `git daemon`, which serves `git archive --remote=git://…`.

use std::{fs, io::Read};

use super::{Served, server::Server};
use crate::support::{process::Running, skip};

/// The daemon, with the stand-in as its git. `None` if it is not installed, which is reported.
fn daemon(served: &Served) -> Option<(Server, String)> {
    let host = served.host();
    let daemon = host.shell("test -x \"$($REAL --exec-path)/git-daemon\"");
    if daemon.code() != 0 {
        skip("git-daemon is not installed");
        return None;
    }
    let base = format!("--base-path={}", served.place.top.display());
    let server = Server::start(|port| {
        let mut command = host.command("git");
        let port = format!("--port={port}");
        command.args(["daemon", "--export-all", "--enable=upload-archive"]);
        command.args(["--listen=127.0.0.1", "--reuseaddr", &port, &base]);
        command
    });
    let url = format!("git://127.0.0.1:{}/project.git", server.port);
    Some((server, url))
}

#[test]
fn git_daemon_serves_archives() {
    let Some(served) = Served::new() else { return };
    let Some((_server, url)) = daemon(&served) else {
        return;
    };
    let client = &served.place.project;
    let archive = served.archive("--format=zip HEAD src");
    // The daemon lets only five clients wait, and the system resets the connections of others before it accepts them.
    let attempt = format!("$REAL archive --remote={url} --format=zip HEAD src");
    let script = format!(
        "until {attempt} 2>said.$$; do grep -q 'reset by peer' said.$$ || {{ cat said.$$ >&2; exit 1; }}; done"
    );
    served.assert_served(client, &script, &archive);
    // The daemon serves everything else with git.
    let heads = client.git(["ls-remote", &url, "main"]);
    assert_eq!(heads[..40], client.git(["rev-parse", "main"]));
}

/// A download goes on, and git writes the archives after it.
#[test]
fn git_sluice_is_removed_while_a_host_runs() {
    let Some(served) = Served::new() else { return };
    let project = &served.place.project;
    // More than what the sockets and pipes on the way to the client hold.
    let grow = "head -c 40000000 /dev/zero >large && git add large && git commit -qm large && \
                git push -q ../project.git main";
    project.script(grow);
    let Some((_server, url)) = daemon(&served) else {
        return;
    };
    let words = ["archive", &format!("--remote={url}"), "HEAD"];
    let mut client = project.command("git");
    let mut client = Running::start(client.args(words));
    let mut received = vec![0; 1 << 10];
    let first = client.stdout().read_exact(&mut received);
    first.expect("the archive has started");
    fs::remove_file(served.place.top.join("bin/git-sluice")).expect("our own");
    let archive = served.archive("HEAD");
    let later = project.shell(&format!("git {}", words.join(" ")));
    assert!(later.success() == archive);
    assert_eq!(served.logged(), 0, "git-sluice was not removed in time");
    received.extend(client.finish().success());
    assert!(received == archive);
}
