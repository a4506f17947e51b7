//! gitolite, whose shell is the forced command of its users.

use std::fs;

use super::{Served, ssh};
use crate::support::installed;

#[test]
#[ignore = "slow"]
fn gitolite_serves_archives() {
    let Some(served) = Served::new() else { return };
    if !installed("gitolite") {
        return;
    }
    let place = served.place.project.clone().at("..");
    if ssh::keys(&place).is_none() {
        return;
    }
    let home = place.path().join("gitolite");
    fs::create_dir(&home).expect("our own");
    let host = place.env("HOME", &home).env("USER", "git");
    // Its repositories need the template of git.
    let setup = "unset GIT_TEMPLATE_DIR && gitolite setup -pk client.pub";
    host.script(setup);
    let rc = home.join(".gitolite.rc");
    let settings = fs::read_to_string(&rc).expect("gitolite wrote it");
    let path = format!(
        "$ENV{{PATH}} = \"{}/first:$ENV{{PATH}}\";\n",
        served.place.top.display()
    );
    fs::write(&rc, path + &settings).expect("our own");
    // Its first settings let everybody read this repository.
    let testing = "gitolite/repositories/testing.git";
    host.script(&format!("git -C {testing} fetch -q ../../../project.git main:main && git -C {testing} symbolic-ref HEAD refs/heads/main"));
    served.log_archives_of(testing);
    let Some(ssh) = ssh::start(&served, &home) else {
        return;
    };
    let url = format!("ssh://127.0.0.1:{}/testing", ssh.server.port);
    let archive = served.archive("--format=tar HEAD");
    served.assert_served(
        &ssh.client,
        &format!("$REAL archive --remote={url} HEAD"),
        &archive,
    );
}
