//! Soft Serve, a code host that runs `git upload-archive` for its clients.

use super::{Served, server::Server, server_program};

#[test]
fn soft_serve_serves_archives() {
    let Some(served) = Served::new() else { return };
    let Some(program) = server_program("soft") else {
        return;
    };
    let top = served.place.top.clone();
    let host = served.host().env("SOFT_SERVE_DATA_PATH", top.join("data"));
    let host = host.env("SOFT_SERVE_DEFAULT_REPO", "project");
    let mut host = host.env("HOME", &top);
    for part in ["SSH", "HTTP", "STATS", "LFS"] {
        host = host.env(format!("SOFT_SERVE_{part}_ENABLED"), "false");
    }
    let server = Server::start(|port| {
        let address = format!("127.0.0.1:{port}");
        let mut command = host.command(&program);
        command
            .arg("serve")
            .env("SOFT_SERVE_GIT_LISTEN_ADDR", address);
        command
    });
    let repository = "data/repos/project.git";
    let fetch = format!(
        "git -C ../{repository} fetch -q {}/project.git main:main",
        top.display()
    );
    host.script(&fetch);
    served.log_archives_of(repository);
    let url = format!("git://127.0.0.1:{}/project", server.port);
    let archive = served.archive("main");
    let script = format!("$REAL archive --remote={url} main");
    served.assert_served(&served.place.project, &script, &archive);
}
