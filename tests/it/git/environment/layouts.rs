//! Repositories that are laid out in unusual ways, and damage that git refuses.

use std::os::unix::fs::chown;

use super::World;
use crate::support::{Repo, git_version, skip};

/// git takes any directory with these files for the repository of a linked work tree.
#[test]
fn a_common_directory_anywhere() {
    let world = World::create();
    let repo = &world.0;
    let setup = "mkdir l l/.git; echo ../../w/.git >l/.git/commondir; echo ref: refs/heads/other >l/.git/HEAD";
    let _ = repo.shell(setup).success();
    for line in [
        &["HEAD"][..],
        &["main"],
        &["--worktree-attributes", "other"],
    ] {
        repo.clone().at("l").assert_same(line);
    }
}

#[test]
fn objects_lie_elsewhere() {
    let world = World::create();
    let _ = world.0.shell("mv w/.git/objects lost").success();
    let repo = world.0.clone().at("w");
    repo.assert_same(["HEAD"]);
    repo.env("GIT_OBJECT_DIRECTORY", world.path("lost"))
        .assert_same(["HEAD"]);
}

/// Refs in another directory (git 2.54).
#[test]
fn refs_lie_elsewhere() {
    if git_version() < (2, 54) {
        return skip("this git knows one place of refs only");
    }
    let world = World::create();
    let repo = world.0.clone().at("w");
    let place = format!("files://{}", world.path("w/orepo").display());
    repo.git(["fetch", "-q", "../o", "main"]);
    repo.clone()
        .env("GIT_REFERENCE_BACKEND", &place)
        .assert_same(["main"]);
    repo.git(["config", "core.repositoryFormatVersion", "1"]);
    repo.git(["config", "extensions.refStorage", &place]);
    repo.assert_same(["main"]);
}

/// A repository of another user, which the user declares as safe in each of the ways that git knows.
#[test]
fn a_repository_of_somebody_else() {
    let world = World::create();
    for path in ["w", "w/.git", "bare.git"] {
        if chown(world.path(path), Some(1), None).is_err() {
            return skip("nobody is there to be given a repository");
        }
    }
    let path = |name: &str| world.path(name).display().to_string();
    let [top, bare, all, missing] = ["w", "bare.git", "*", "missing"].map(path);
    for values in [
        &[][..],
        &["*"],
        &["*", ""],
        &[&top],
        &[&bare],
        &[&all],
        &["."],
        &["w"],
        &["~/../w"],
        &[&missing],
    ] {
        // Older versions know fewer ways.
        let is_new = values
            .iter()
            .any(|value| *value == all || *value == "." || value.starts_with('~'));
        if is_new && git_version() < (2, 47) {
            continue;
        }
        let lines: String = values
            .iter()
            .map(|it| format!("\tdirectory = {it}\n"))
            .collect();
        world.write("home/.gitconfig", &format!("[safe]\n{lines}"));
        for place in super::PLACES {
            for variables in [
                &[][..],
                &[("SUDO_UID", Some("1"))],
                &[("SUDO_UID", Some("2"))],
                &[("GIT_DIR", Some(".git"))],
                &[("GIT_CONFIG_PARAMETERS", Some("'safe.directory=*'"))],
            ] {
                world.assert_same(&["HEAD"], place, variables);
            }
        }
    }
}

/// Parents that `info/grafts` replaces are those of git.
#[test]
fn grafted_parents() {
    let world = World::create();
    let repo: Repo = world.0.clone().at("w");
    let [tip, first] = ["main", "main~1"].map(|name| repo.git(["rev-parse", name]));
    let grafts = format!("{first} {tip}\n");
    repo.write("grafts", grafts);
    let repo = repo.env("GIT_GRAFT_FILE", "grafts");
    repo.assert_same_archive(&["main~2"]);
}
