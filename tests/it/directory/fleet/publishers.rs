//! What is published, and what becomes of several publishers.

use std::{fs, thread, time::Duration};

use rustix::process::Signal;
use serde_json::Value;

use super::Fleet;
use crate::support::rounds;

#[test]
fn a_full_archive_comes_when_the_way_gets_long() {
    let fleet = Fleet::new();
    let mut kinds = Vec::new();
    for number in 0..8 {
        fleet.commit(&format!("echo {number} >small"));
        kinds.push(fleet.kinds("--full-every=2 --full-ratio=1 HEAD").join(" "));
    }
    let expected = [
        "full",
        "delta",
        "delta",
        "delta full",
        "delta",
        "delta",
        "delta full",
        "delta",
    ];
    assert_eq!(kinds, expected);
    // The steps from the full archive before the last one are kept, the rest is remembered.
    assert_eq!(fleet.steps().len(), 6);
    assert_eq!(fleet.channel()["retired"].as_array().map(Vec::len), Some(4));
    // By bytes.
    fleet.commit("echo >small");
    assert_eq!(fleet.kinds("--full-ratio=0 HEAD"), ["delta", "full"]);
}

#[test]
fn a_commit_that_is_there_is_not_published_again() {
    let (fleet, ids) = Fleet::published();
    for (words, is_target) in [("HEAD", true), (&*ids[0], false)] {
        let told = fleet.told(words);
        assert_eq!(told["was_there"], true);
        assert_eq!(
            (&told["is_target"], &told["bytes"]),
            (&is_target.into(), &0.into())
        );
    }
    assert_eq!(fleet.steps().len(), 3);
}

/// Tags that come later are in the file, but not in what was published.
#[test]
fn files_that_show_more_than_their_commit() {
    let fleet = Fleet::new();
    let script = "echo 'dir/* export-subst' >.gitattributes && echo '$Format:%D$' >dir/refs";
    let commit = fleet.commit(script);
    assert_eq!(fleet.publish("HEAD").messages(), "");
    fleet.assert_brings("d", "", &commit);

    fleet.repo.git(["tag", "v1"]);
    let again = fleet.publish("HEAD");
    let warning = format!("warning: the published files of {commit} may be out of date");
    assert!(again.messages().starts_with(&warning), "{again}");
    let _ = again.success();
    for _ in 0..2 {
        assert_eq!(fleet.kinds("--republish HEAD"), ["full"]);
        for directory in ["d", "new"] {
            fleet.assert_brings(directory, "", &commit);
        }
    }

    let next = fleet.commit("echo other >small");
    assert_eq!(fleet.kinds("HEAD"), ["delta"]);
    for directory in ["d", "new", "newer"] {
        fleet.assert_brings(directory, "", &next);
    }

    // The older one, whose archive is larger by now.
    let tag = "2-kq8Zx0WvJ5rTnB7yLdPfGhM3sCaE9uQiRoX4";
    fleet.repo.git(["tag", tag, &commit]);
    assert_eq!(fleet.kinds(&format!("--republish {commit}")), ["full"]);
    fleet.assert_brings("older", &format!("--at={commit}"), &commit);
    for directory in ["d", "older", "newest"] {
        fleet.assert_brings(directory, "", &next);
    }
}

/// A job of the older commit finds it, and the newest one stays the newest.
#[test]
fn an_older_commit() {
    let (fleet, ids) = Fleet::published();
    let older = fleet.commit("echo older >small");
    let newer = fleet.commit("echo newer >>small");
    assert_eq!(fleet.kinds(&newer), ["delta"]);
    let told = fleet.told(&format!("--full-ratio=0 {older}"));
    assert_eq!(
        (&told["was_there"], &told["is_target"]),
        (&false.into(), &false.into())
    );
    assert_eq!(told["steps"][0]["base"], newer);
    assert_eq!(fleet.channel()["target"]["commit"], newer);
    for (wanted, commit) in [(format!("--at={older}"), &older), (String::new(), &newer)] {
        fleet.assert_brings("d", &wanted, commit);
    }
    // Back, on purpose.
    let told = fleet.told(&format!("--force {}", ids[0]));
    assert_eq!(told["is_target"], true);
    fleet.assert_brings("d", "", &ids[0]);
}

/// Deltas from the newest commit to these have more bytes than everything.
#[test]
fn older_commits_that_have_little_in_common() {
    let fleet = Fleet::new();
    let random = |seed, words| {
        let digits = "for (i = 0; i < words; i++) printf \"%d\", rand() * 1e9";
        format!("awk -v words={words} 'BEGIN {{ srand({seed}); {digits} }}' >large")
    };
    let [oldest, older, newest] = [(2, 20_000), (3, 15_000), (4, 9_000)]
        .map(|(seed, words)| fleet.commit(&random(seed, words)));
    for commit in [&newest, &oldest, &older] {
        assert_eq!(fleet.kinds(commit), ["full"]);
    }
    assert_eq!(fleet.channel()["target"]["commit"], newest);
    let next = fleet.commit("echo next >small");
    // A full archive of the newest commit does away with nothing that somebody needs.
    for (words, kinds) in [("", &["delta"][..]), ("--full-every=0", &["delta", "full"])] {
        let commit = fleet.commit("echo $(wc -c <small)x >>small");
        assert_eq!(fleet.kinds(&format!("{words} {commit}")), kinds);
        for wanted in [&oldest, &older, &newest, &commit] {
            fleet.assert_brings("d", &format!("--at={wanted}"), wanted);
        }
    }
    // What the channel does not lead to is not said to be there.
    let told = fleet.told(&next);
    assert_eq!(told["was_there"], false);
    fleet.assert_brings("d", &format!("--at={next}"), &next);
}

/// Each full archive leaves the one before it. An older commit is there again when it is published again.
#[test]
fn commits_that_each_need_a_full_archive() {
    let fleet = Fleet::new();
    let ids = [3, 4, 5].map(|kib| fleet.commit(&format!("head -c {kib}0000 /dev/urandom >large")));
    for (name, commit, status) in [
        ("a", &ids[0], 0),
        ("b", &ids[1], 0),
        ("c", &ids[2], 9),
        ("d", &ids[0], 0),
    ] {
        let _ = fleet.publish(commit).success();
        let output = fleet.apply(name, &format!("--at={}", ids[0]));
        assert_eq!(output.code(), status, "{output}");
    }
    fleet.assert_brings("d", "", &ids[2]);
}

/// A job of an older commit whose shallow clone does not have the newest one.
#[test]
fn an_older_commit_of_a_shallow_clone() {
    let fleet = Fleet::new();
    let older = fleet.commit("echo older >small");
    fleet.repo.git(["branch", "-f", "older"]);
    let later = "echo later >small && git add -A && GIT_COMMITTER_DATE='2035-01-01T00:00:00Z' git commit -q -m later";
    fleet.repo.script(later);
    let newest = fleet.repo.git(["rev-parse", "HEAD"]);
    let _ = fleet.publish("--mtime=1 HEAD").success();
    let clone = crate::support::Repo::scratch();
    let from = format!("file://{}", fleet.repo.path().display());
    clone.git([
        "clone",
        "-q",
        "--depth=1",
        "--branch=older",
        &from,
        "shallow",
    ]);
    let late = Fleet {
        repo: clone.at("shallow"),
        top: fleet.top.clone(),
    };
    // The commit's own time counts, not the one that the entries get.
    for fixed in ["", "--mtime=1"] {
        assert_eq!(late.told(&format!("{fixed} HEAD"))["is_target"], false);
    }
    for (wanted, commit) in [(String::new(), &newest), (format!("--at={older}"), &older)] {
        fleet.assert_brings("d", &wanted, commit);
    }
    assert_eq!(late.told("--force HEAD")["is_target"], true);
}

/// A branch that was rewritten, and a base that is gone.
#[test]
fn another_history() {
    let (fleet, ids) = Fleet::published();
    let _ = fleet.apply("d", "").success();
    fleet.repo.git(["reset", "-q", "--hard", &ids[0]]);
    let other = fleet.commit("echo other >small");
    assert_eq!(fleet.kinds("HEAD"), ["delta"]);
    fleet.assert_brings("d", "", &other);
    // The publisher has the newest commit only.
    let next = fleet.commit("echo next >small");
    let clone = crate::support::Repo::scratch();
    let from = format!("file://{}", fleet.repo.path().display());
    clone.git(["clone", "-q", "--depth=1", &from, "shallow"]);
    let fleet = Fleet {
        repo: clone.at("shallow"),
        top: fleet.top.clone(),
    };
    assert_eq!(fleet.kinds("HEAD"), ["full"]);
    fleet.assert_brings("d", "", &next);
}

/// Forks have the same archives.
#[test]
fn two_channels_share_an_archive() {
    let (fleet, ids) = Fleet::published();
    let objects = fleet.objects().len();
    let fork = format!("{}/fork", fleet.bucket().display());
    let line = fleet.repo.sluice(["publish", &fork, &ids[0]]).success();
    let told: Value = serde_json::from_slice(&line).expect("JSON");
    assert_eq!(
        (&told["bytes"], &told["channel"]),
        (&0.into(), &"fork".into())
    );
    assert_eq!(fleet.objects().len(), objects);
}

/// Neither loses a step of the other, whoever comes first.
#[test]
fn two_publishers_again_and_again() {
    let fleet = Fleet::new();
    let _ = fleet.publish("HEAD").success();
    let mut last = fleet.repo.git(["rev-parse", "HEAD"]);
    for round in 0..rounds(50) as usize {
        // Two commits that are not related to each other, on what is published.
        let commits = ["a", "b"].map(|side| {
            fleet.repo.git(["reset", "-q", "--hard", &last]);
            fleet.commit(&format!("echo {side} {round} >small"))
        });
        let running = commits.each_ref().map(|commit| {
            fleet.start_publishing(&format!("--full-every=1000 --full-ratio=1 {commit}"))
        });
        for running in running {
            let _ = running.finish().success();
        }
        let steps = fleet.steps();
        let targets = steps.iter().map(|step| step["target"].as_str().unwrap());
        let targets: Vec<_> = targets.skip(1 + 2 * round).collect();
        assert_eq!(targets.len(), 2, "{steps:?}");
        assert!(commits.iter().all(|commit| targets.contains(&&**commit)));
        last = targets[1].to_owned();
        assert_eq!(fleet.channel()["target"]["commit"], last);
    }
    fleet.assert_brings("d", "", &last);
}

/// A killed publisher leaves the old channel or the new one.
#[test]
fn killed_at_any_moment() {
    let (fleet, ids) = Fleet::published();
    let _ = fleet.apply("d", "").success();
    let mut old = ids[2].clone();
    for round in 0..20 {
        let new = fleet.commit(&format!("echo {round} >small"));
        let running = fleet.start_publishing("HEAD");
        thread::sleep(Duration::from_millis(round * 3));
        // It may be over.
        running.signal(Signal::KILL);
        let _ = running.finish();
        let commit = fleet.channel()["target"]["commit"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(commit == old || commit == new);
        fleet.assert_brings("d", "", &commit);
        old = commit;
    }
    let _ = fleet.publish("HEAD").success();
    let last = fleet.repo.git(["rev-parse", "HEAD"]);
    fleet.assert_brings("d", "", &last);
}

/// No machine could apply it.
#[test]
fn what_is_not_applied_is_not_published() {
    let fleet = Fleet::new();
    let refused = |words: &str, path: &str, why: &str| {
        let message = format!(
            "fatal: cannot publish\n\
             caused by: the archive cannot be applied: path '{path}' {why}\n"
        );
        fleet.publish(words).assert_failure(128, &message);
    };
    refused("--prefix=../w/ HEAD", "../w/", "leads out of the directory");
    refused("--prefix=/w/ HEAD", "/w/", "is absolute");
    assert!(!fleet.channel_path().exists());
    let _ = fleet.publish("HEAD").success();
    for name in [".git-sluice", ".git-sluice.new", ".git-sluice.files"] {
        fleet.commit(&format!("echo x >{name}"));
        refused("--force HEAD", name, "is where the state is kept");
        let _ = fleet.publish(&format!("--force HEAD . :!{name}")).success();
        fleet.commit(&format!("rm {name}"));
    }
    // Only a target of more than 100 bytes keeps its NUL in a tar.
    let target = [&[b'x'; 120][..], b"\0y"].concat();
    let blob = fleet
        .repo
        .git_with_input(["hash-object", "-w", "--stdin"], target);
    let tree = format!("120000 blob {blob}\tlink\n");
    let tree = fleet.repo.git_with_input(["mktree"], tree);
    let commit = fleet.repo.git(["commit-tree", "-m", "x", &tree]);
    let why = "is a symbolic link whose target has a NUL in it";
    refused(&format!("--force {commit}"), "link", why);
}

/// What is published has a level, and one warning however many archives.
#[test]
fn levels_and_warnings() {
    let fleet = Fleet::new();
    let warning = "warning: no tree contains the --exclude-from-tree file 'none'\n";
    for kinds in [&["full"][..], &["delta"]] {
        fleet.commit("date +%s.%N >now");
        let output = fleet.publish("-19 --exclude-from-tree=none HEAD");
        assert_eq!(output.messages(), warning, "{output}");
        let told: Value = serde_json::from_slice(&output.success()).expect("one line of JSON");
        let steps = told["steps"].as_array().expect("a list");
        let kind = |step: &Value| {
            if step["base"].is_null() {
                "full"
            } else {
                "delta"
            }
        };
        assert!(steps.iter().map(kind).eq(kinds.iter().copied()), "{told}");
    }
    fleet.commit("echo small >rules");
    assert_eq!(
        fleet
            .publish("--force --exclude-from-tree=rules HEAD")
            .messages(),
        ""
    );
}

/// A forgotten path would take files from every machine.
#[test]
fn other_options_are_refused() {
    let fleet = Fleet::new();
    let _ = fleet.publish("HEAD dir small").success();
    let _ = fleet.apply("d", "").success();
    let before = fleet.channel();
    let next = fleet.commit("echo next >small");
    for words in ["HEAD", "--republish HEAD", "--exclude=x HEAD dir small"] {
        let output = fleet.publish(words);
        output.assert_refused(
            128,
            &[
                "fatal: cannot publish: the archives of the channel 'main' were created with other options\n\
                 caused by: their filters have the hash ",
                "\nhint: give the options of the channel, or add --force to replace the files of every machine\n",
            ],
        );
        assert_eq!(fleet.channel(), before);
    }
    assert_eq!(fleet.kinds("HEAD dir small"), ["delta"]);
    assert_eq!(fleet.told("--force HEAD")["full_reason"], "other-filters");
    fleet.assert_brings("d", "", &next);
}

/// A wrong directory would replace the files of every machine.
#[test]
fn another_repository_is_refused() {
    let (fleet, ids) = Fleet::published();
    let before = fleet.channel();
    let other = Fleet {
        repo: crate::support::Repo::init(),
        top: fleet.top.clone(),
    };
    let commit = other.commit("echo other >file");
    for words in ["HEAD", "--republish HEAD"] {
        other.publish(words).assert_failure(
            128,
            &format!(
                "fatal: cannot publish: no commit of the channel 'main' leads to {commit}\n\
                 caused by: the newest one is {}, perhaps of another repository\n\
                 hint: name another channel, or add --force to replace the files of every machine\n",
                ids[2]
            ),
        );
        assert_eq!(fleet.channel(), before);
    }
    // A branch without a common commit is no better.
    fleet.repo.git(["checkout", "-q", "--orphan", "unrelated"]);
    fleet.commit("echo unrelated >small");
    fleet
        .publish("HEAD")
        .assert_refused(128, &["no commit of the channel 'main' leads to"]);
    assert_eq!(other.told("--force HEAD")["full_reason"], "missing-base");
    let _ = fleet.apply("d", "").success();
    other.assert_holds("d", &commit);
}

/// The channel does not move, which nobody must find out from its machines.
#[test]
fn a_channel_that_stays_is_a_warning() {
    let (fleet, ids) = Fleet::published();
    let other = fleet.commit("echo other >small");
    let newer = fleet.commit("echo newer >small");
    let _ = fleet.publish("HEAD").success();
    for commit in [&ids[0], &other, &other] {
        let output = fleet.publish(commit);
        let warning = format!(
            "warning: the channel 'main' stays at {newer}, which is newer; --force moves it to {commit}\n"
        );
        assert_eq!((output.code(), output.messages()), (0, warning));
    }
    assert_eq!(fleet.publish("HEAD").messages(), "");
    let output = fleet.publish(&format!("--force {other}"));
    assert_eq!((output.code(), output.messages()), (0, String::new()));
}

#[test]
fn a_full_archive_has_a_reason() {
    let fleet = Fleet::new();
    let reason = |words: &str| fleet.told(words)["full_reason"].clone();
    assert_eq!(reason("HEAD"), "new-channel");
    assert_eq!(reason("HEAD"), Value::Null);
    fleet.commit("echo 1 >small");
    assert_eq!(reason("HEAD"), Value::Null);
    assert_eq!(reason("--republish HEAD"), "republish");
    fleet.commit("echo 2 >small");
    assert_eq!(reason("--full-every=0 HEAD"), "full-every");
    fleet.commit("echo 3 >small");
    assert_eq!(reason("--full-ratio=0 HEAD"), "full-ratio");
    fleet.commit("head -c 300000 /dev/urandom >large");
    assert_eq!(reason("HEAD"), "large-delta");
    for object in fleet.objects() {
        fs::remove_file(fleet.bucket().join("v1/objects").join(object)).unwrap();
    }
    assert_eq!(reason("HEAD"), "missing-archive");
    fs::write(fleet.channel_path(), "").unwrap();
    assert_eq!(reason("--republish HEAD"), "damaged-channel");
}
