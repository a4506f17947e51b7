//! Whatever a directory held before, it holds the commit that was asked for, in few bytes.

use std::fs;

use super::Fleet;

/// A machine at each commit, one ten commits behind, and new ones.
#[test]
#[ignore = "slow"]
fn thirty_commits_of_many_files() {
    let fleet = Fleet::new();
    let make =
        "for d in $(seq 50); do mkdir d$d; for f in $(seq 30); do echo $d $f >d$d/f$f; done; done";
    fleet.commit(make);
    for number in 0..30_u32 {
        let (a, b) = (number % 50 + 1, (number * 7) % 50 + 1);
        let commit = fleet.commit(&format!(
            "echo {number} >d{a}/f{b}; rm -f d{b}/f{a}; mkdir -p new; echo {number} >new/{number}; \
             [ {number} != 20 ] || rm -r d9; [ {number} != 25 ] || {{ rm -rf d8; ln -s d7 d8; }}"
        ));
        let _ = fleet.publish("HEAD").success();
        let mut behind = vec!["each".to_owned()];
        if number % 10 == 9 {
            behind.extend(["tenth".to_owned(), format!("new{number}")]);
        }
        let expected = fleet.tree(&commit, "");
        for directory in behind {
            let _ = fleet.apply(&directory, "").success();
            fleet.assert_files(&directory, &expected);
            assert_eq!(fleet.state(&directory), format!("holds {commit}"));
        }
    }
    let output = fleet.apply("each", "--verify");
    assert_eq!((output.code(), output.messages()), (0, String::new()));
    // The full archive came once more, with a delta for those that have everything else.
    let fulls = fleet
        .steps()
        .iter()
        .filter(|step| step["base"].is_null())
        .count();
    assert_eq!(fulls, 2);
}

#[test]
fn the_way_is_as_short_as_what_changed() {
    let (fleet, ids) = Fleet::published();
    for (from, held) in ids.iter().enumerate() {
        for wanted in &ids {
            let directory = format!("{from}-{wanted}");
            fleet.assert_brings(&directory, &format!("--at={held}"), held);
            fleet.assert_brings(&directory, &format!("--at={wanted}"), wanted);
        }
    }
    // A machine that has the first commit needs only the two deltas.
    fleet.apply_at("first", &ids[0]);
    fs::remove_file(fleet.object(&fleet.steps()[0])).expect("the full archive");
    fleet.assert_brings("first", "", &ids[2]);
    // Nothing at all is read where the directory holds the commit.
    fs::remove_dir_all(fleet.bucket().join("v1/objects")).expect("our own");
    fleet.assert_brings("first", "", &ids[2]);
}

#[test]
fn files_of_others_stay() {
    let (fleet, ids) = Fleet::published();
    fleet.apply_at("d", &ids[1]);
    fs::write(fleet.directory("d/built"), "mine").expect("our own");
    let _ = fleet.apply("d", "").success();
    assert!(fleet.directory("d/built").exists());
}

/// The same commits with other files are another content.
#[test]
fn other_filters_are_another_content() {
    let (fleet, ids) = Fleet::published();
    let _ = fleet.apply("d", "").success();
    let told = fleet.told("--force --exclude=small HEAD");
    assert_eq!(told["full_reason"], "other-filters");
    assert_eq!(fleet.steps().len(), 1);
    let _ = fleet.apply("d", "").success();
    assert_eq!(fleet.state("d"), format!("holds {}", ids[2]));
    assert!(!fleet.directory("d/small").exists());
    let next = fleet.commit("echo 3 >small && echo 3 >other");
    assert_eq!(fleet.kinds("--exclude=small HEAD"), ["delta"]);
    let _ = fleet.apply("d", "").success();
    assert_eq!(fleet.state("d"), format!("holds {next}"));
    let mut expected = fleet.tree(&next, "");
    expected.remove(&b"small"[..]);
    fleet.assert_files("d", &expected);
    // Configuration that decides about content counts as well.
    fleet.repo.git(["config", "core.eol", "crlf"]);
    let all = fleet.kinds("--force --exclude=small HEAD");
    assert_eq!(all, ["full"]);
    // What came by an archive is not known to have these filters.
    let tar = fleet.repo.sluice(["HEAD"]).success();
    fleet.top.write("tar", tar);
    let _ = fleet.top.sluice(["apply", "d", "tar"]).success();
    assert_eq!(fleet.state("d"), format!("holds {next}"));
    let _ = fleet.apply("d", "").success();
    assert!(!fleet.directory("d/small").exists());
}

/// Attributes and expansions that change with the commit.
#[test]
fn converted_files() {
    let fleet = Fleet::new();
    let commits = [
        "printf 'expanded export-subst\\n' >.gitattributes && echo '$Format:%H$' >expanded",
        "echo other >unrelated",
        "printf 'dir/* export-ignore\\n*l text eol=crlf\\n' >.gitattributes",
        "rm .gitattributes",
    ];
    for script in commits {
        let commit = fleet.commit(script);
        let _ = fleet.publish("HEAD").success();
        fleet.assert_brings("d", "", &commit);
    }
    assert_eq!(fleet.steps().len(), 4);
}

/// The attribute file that makes it expand is in an unchanged directory too.
#[test]
fn a_file_that_expands_in_an_unchanged_directory() {
    let fleet = Fleet::new();
    let first = "mkdir -p dir/deeper/x && cd dir/deeper \
        && echo '* export-subst' >.gitattributes && echo '$Format:%H$' >x/expanded";
    fleet.commit(first);
    let _ = fleet.publish("HEAD").success();
    let _ = fleet.apply("d", "").success();
    let next = fleet.commit("echo other >unrelated");
    assert_eq!(fleet.kinds("HEAD"), ["delta"]);
    for directory in ["d", "new"] {
        fleet.assert_brings(directory, "", &next);
    }
}

#[test]
fn a_prefix_and_a_pathspec() {
    let fleet = Fleet::new();
    for script in ["true", "echo 1 >dir/deep; echo 1 >small"] {
        let commit = fleet.commit(script);
        let _ = fleet.publish("--prefix=x/ HEAD dir").success();
        let _ = fleet.apply("d", "").success();
        let expected = fleet.tree(&format!("{commit}:dir"), "--prefix=x/dir/");
        fleet.assert_files("d", &expected);
    }
}

#[test]
fn twenty_readers_at_once() {
    let (fleet, ids) = Fleet::published();
    let directory = |number: usize| format!("d{number}");
    for number in 0..10 {
        let commit = &ids[number % 3];
        fleet.apply_at(&directory(number), commit);
    }
    let running: Vec<_> = (0..20)
        .map(|number| fleet.start_applying(&directory(number)))
        .collect();
    for (number, running) in running.into_iter().enumerate() {
        let _ = running.finish().success();
        fleet.assert_holds(&directory(number), &ids[2]);
    }
}

/// As of a timer and a hook: the second one waits, and goes on from what the first one has left.
#[test]
fn two_readers_of_one_directory() {
    let (fleet, ids) = Fleet::published();
    for number in 0..10 {
        let directory = format!("d{number}");
        // The other directories are new.
        if number % 2 == 0 {
            fleet.apply_at(&directory, &ids[0]);
        }
        let running = [(); 2].map(|()| fleet.start_applying(&directory));
        for running in running {
            let _ = running.finish().success();
        }
        fleet.assert_holds(&directory, &ids[2]);
    }
}
