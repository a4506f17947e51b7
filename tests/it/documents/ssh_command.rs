//! The forced command that gives archives to clients of ssh.

use std::fs;

use super::{Place, root};

#[test]
fn the_forced_command_serves_archives_and_leaves_the_rest_to_git() {
    let place = Place::new().project;
    let top = place.path().parent().expect("below the top");
    let script = format!(
        "#!/bin/sh\nfor command; do :; done\ncd '{}'\nSSH_ORIGINAL_COMMAND=$command exec '{}'\n",
        top.display(),
        root().join("examples/ssh-command").display()
    );
    fs::write(top.join("ssh"), script).expect("our own");
    let archive =
        "git archive HEAD >theirs && git archive --remote=host:project.git HEAD | cmp - theirs";
    let _ = place.shell(archive).success();
    // Only the program's own server has this format.
    let zstd = "git archive --remote=host:project.git --format=tar.zst HEAD | head -c 4";
    assert_eq!(place.shell(zstd).stdout, [0x28, 0xb5, 0x2f, 0xfd]);
    let _ = place
        .shell("git clone -q host:project.git clone && test -f clone/new")
        .success();
    // git serves if git-sluice cannot.
    for program in ["", "#!/bin/sh\nexit 1\n"] {
        let _ = place.shell("mkdir -p ../broken").success();
        place.write_program("../broken/git-sluice", program);
        let served =
            "PATH=$PWD/../broken:$PATH git archive --remote=host:project.git HEAD | cmp - theirs";
        let _ = place.shell(served).success();
    }
    let refused = place.shell("git archive --remote=\"host:it's.git\" HEAD");
    assert_ne!(refused.code(), 0, "{refused}");
}
