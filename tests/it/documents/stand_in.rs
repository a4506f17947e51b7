//! The wrappers with which others call `git archive` and get `git sluice`.

use std::{env, fs, os::unix::fs::symlink, path::PathBuf};

use super::{Place, root};
use crate::support::{Repo, binary, skip};

/// A place whose shell finds the wrapper first and the program last.
fn place() -> Option<Repo> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&paths);
    let Some(git) = directories.map(|it| it.join("git")).find(|it| it.is_file()) else {
        skip("git is not in PATH");
        return None;
    };
    let place = Place::new().project;
    let top = place.path().parent().expect("below the top").to_owned();
    let bin = top.join("bin");
    fs::create_dir(&bin).expect("our own");
    symlink(root().join("examples/git"), bin.join("git")).expect("our own");
    let ours = PathBuf::from(binary());
    let ours = ours.parent().expect("below the root").to_owned();
    let all = [bin, ours].into_iter().chain(env::split_paths(&paths));
    let all = env::join_paths(all).expect("they were one variable before");
    Some(place.env("PATH", all).env("REAL_GIT", git))
}

#[test]
fn the_wrapper_hands_on_archives() {
    let Some(place) = place() else { return };
    let archives = [
        "archive HEAD",
        "-C ../project archive --prefix=a/ HEAD",
        "-c tar.umask=0077 -C .. --git-dir project.git archive HEAD",
        "--no-pager --git-dir=../project.git archive --format=tar.gz HEAD src",
        "archive --format=zip HEAD src",
    ];
    for words in archives {
        let script = format!("git {words} >ours && $REAL_GIT {words} >theirs && cmp ours theirs");
        let _ = place.shell(&script).success();
        // Only the program knows this option.
        let ours = place
            .shell(&format!("git {words} --no-attributes"))
            .success();
        assert!(!ours.is_empty(), "{words}");
    }
    // Names of commands are names of branches as well.
    let branch = "git branch ls && git archive ls >ours && $REAL_GIT archive ls | cmp - ours";
    let _ = place.shell(branch).success();
    let remote = "git archive --remote=../project.git HEAD | cmp - ours && git archive HEAD >ours";
    let _ = place
        .shell(&format!("git archive HEAD >ours; {remote}"))
        .success();
}

#[test]
fn the_wrapper_hands_on_everything_else() {
    let Some(place) = place() else { return };
    let others = [
        "rev-parse HEAD",
        "-C archive rev-parse HEAD",
        "log --format=%s -- archive",
        "-c alias.other=archive\\ HEAD other",
        "rev-parse 'a  b' --",
        "nothing",
        "",
    ];
    let _ = place.shell("mkdir archive").success();
    for words in others {
        let ours = place.shell(&format!("git {words}"));
        let theirs = place.shell(&format!("\"$REAL_GIT\" {words}"));
        assert_eq!(ours.code(), theirs.code(), "{words}: {ours}");
        assert_eq!(ours.stdout, theirs.stdout, "{words}");
        assert_eq!(ours.messages(), theirs.messages(), "{words}");
    }
}

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
    let refused = place.shell("git archive --remote=\"host:it's.git\" HEAD");
    assert_ne!(refused.code(), 0, "{refused}");
}
