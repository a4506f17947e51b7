//! Whatever breaks: status 0 means that the directory holds the commit, and all else is told apart.

use std::{fs, path::Path, thread, time::Duration};

use rustix::process::Signal;

use super::Fleet;
use crate::support::cases;

/// What is said of an archive, and what somebody has done to it.
type Damage = (&'static str, fn(&Path));

const DAMAGES: [Damage; 4] = [
    ("is missing", |object| fs::remove_file(object).unwrap()),
    ("is shorter than the channel says", |object| {
        let bytes = fs::read(object).unwrap();
        fs::write(object, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("is longer than the channel says", |object| {
        let mut bytes = fs::read(object).unwrap();
        bytes.push(0);
        fs::write(object, bytes).unwrap();
    }),
    ("has other bytes than were published", |object| {
        let mut bytes = fs::read(object).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(object, bytes).unwrap();
    }),
];

#[test]
fn a_damaged_archive_changes_nothing() {
    for (words, damage) in DAMAGES {
        let (fleet, ids) = Fleet::published();
        fleet.apply_at("d", &ids[1]);
        for step in fleet.steps() {
            damage(&fleet.object(&step));
        }
        let output = fleet.apply("d", "");
        output.assert_refused(11, &["fatal: the archive 'v1/objects/", words]);
        fleet.assert_holds("d", &ids[1]);
        let output = fleet.apply("new", "");
        output.assert_refused(11, &[words]);
        assert!(!fleet.directory("new").exists());
    }
}

/// The publisher has what the bucket lacks.
#[test]
fn a_bucket_is_mended() {
    for (words, damage) in DAMAGES {
        let (fleet, ids) = Fleet::published();
        for step in fleet.steps() {
            damage(&fleet.object(&step));
        }
        // A publisher does not read archives, but looks whether they exist.
        let is_missing = words == "is missing";
        let kinds = if is_missing { &["full"][..] } else { &[] };
        assert_eq!(fleet.kinds("HEAD"), kinds);
        for _ in 0..2 {
            assert_eq!(fleet.kinds("--republish HEAD"), ["full"]);
        }
        let steps = fleet.steps();
        fleet.assert_brings("new", "", &ids[2]);
        // Published once more, the archive stands in the list once.
        let last = &steps[steps.len() - 1]["sha256"];
        let same = steps.iter().filter(|step| &step["sha256"] == last);
        assert_eq!(same.count(), 1);
    }
}

/// An archive of an older commit is damaged, and the channel stays at the newest one.
#[test]
fn an_older_commit_is_mended() {
    for (_, damage) in DAMAGES {
        for older in 0..2 {
            let (fleet, ids) = Fleet::published();
            damage(&fleet.object(&fleet.steps()[older]));
            let told = fleet.told(&format!("--republish {}", ids[older]));
            assert_eq!(told["full_reason"], "republish");
            assert_eq!(told["is_target"], false);
            // A full archive of the next commit leaves what others need to get the older ones.
            let next = fleet.commit("echo next >small");
            assert_eq!(fleet.kinds("--full-every=0 HEAD"), ["delta", "full"]);
            for commit in [&ids[older], &ids[2], &next] {
                let output = fleet.apply(commit, &format!("--at={commit}"));
                assert_eq!((output.code(), output.messages()), (0, String::new()));
                fleet.assert_holds(commit, commit);
            }
        }
    }
}

#[test]
fn another_way_is_taken_and_told() {
    for (words, damage) in DAMAGES {
        let (fleet, _) = Fleet::published();
        let _ = fleet.apply("d", "").success();
        // A full archive too, behind the delta.
        let last = fleet.commit("echo last >small");
        let _ = fleet.publish("--full-every=0 HEAD").success();
        let steps = fleet.steps();
        damage(&fleet.object(&steps[steps.len() - 2]));
        let output = fleet.apply("d", "");
        assert_eq!(output.code(), 0, "{output}");
        let messages = output.messages();
        let is_told = messages.starts_with("warning: the archive 'v1/objects/")
            && messages.contains(words)
            && messages.ends_with("; using another chain of archives\n");
        assert!(is_told, "{messages}");
        fleet.assert_holds("d", &last);
    }
}

/// A sound archive of something else, in the place of the right one.
#[test]
fn a_swapped_archive() {
    let (fleet, ids) = Fleet::published();
    fleet.apply_at("d", &ids[0]);
    let steps = fleet.steps();
    fs::copy(fleet.object(&steps[0]), fleet.object(&steps[1])).unwrap();
    let full = fs::metadata(fleet.object(&steps[0])).unwrap().len();
    // The channel names the wrong one with its own sum.
    let text = fs::read_to_string(fleet.channel_path()).unwrap();
    let of = |step: &serde_json::Value| step["sha256"].as_str().unwrap().to_owned();
    let text = text.replace(&of(&steps[1]), &of(&steps[0]));
    let text = text.replace(
        &format!("\"size\": {}", steps[1]["size"]),
        &format!("\"size\": {full}"),
    );
    fs::write(fleet.channel_path(), text).unwrap();
    let output = fleet.apply("d", "");
    assert_eq!(output.code(), 11, "{output}");
    fleet.assert_holds("d", &ids[0]);
}

#[test]
fn channels_that_are_not_there_or_make_no_sense() {
    let (fleet, ids) = Fleet::published();
    let fork = format!("{}/fork", fleet.bucket().display());
    let _ = fleet.repo.sluice(["publish", &fork, "HEAD"]).success();
    let output = fleet.top.sluice(["apply", "--channel=bucket/other", "d"]);
    output.assert_failure(
        9,
        "fatal: there is no channel 'other' in 'bucket'\n\
         hint: check the name (the bucket has channels such as fork, main), or create the channel: \
         git sluice publish <bucket>/<channel> <commit>\n",
    );
    fs::remove_file(fleet.bucket().join("v1/channels/fork.json")).unwrap();
    let unknown = "0".repeat(40);
    let output = fleet.apply("d", &format!("--at={unknown}"));
    output.assert_failure(
        9,
        &format!(
            "fatal: the channel 'main' does not lead to {unknown}\n\
             hint: publish it, even if it was published before: git sluice publish <bucket>/main {unknown}\n"
        ),
    );
    assert!(!fleet.directory("d").exists());
    let text = fs::read_to_string(fleet.channel_path()).unwrap();
    for (damaged, words) in [
        (String::new(), "EOF while parsing"),
        (text[..text.len() / 2].to_owned(), "EOF while parsing"),
        (
            text.replace("\"channel\": 1", "\"channel\": 2"),
            "version 2 is not known",
        ),
        (text.replace(&ids[2], "HEAD"), "'HEAD' is no object id"),
    ] {
        fs::write(fleet.channel_path(), damaged).unwrap();
        let output = fleet.apply("d", "");
        output.assert_refused(
            11,
            &["fatal: cannot parse the file of channel 'main'", words],
        );
        let prune = fleet.top.sluice(["prune", "--older-than=1h", "bucket"]);
        let hint = "hint: git sluice publish --republish <bucket>/main <commit> replaces it\n";
        for output in [output, prune, fleet.publish("HEAD")] {
            output.assert_refused(11, &[hint]);
        }
        assert_eq!(fleet.kinds("--republish HEAD"), ["full"]);
        fleet.assert_brings("mended", "", &ids[2]);
        fs::remove_dir_all(fleet.directory("mended")).unwrap();
    }
    // The full archive of the newest commit came with --republish, once.
    assert_eq!(fleet.objects().len(), 4);
    fs::rename(fleet.bucket(), fleet.directory("elsewhere")).unwrap();
    let output = fleet
        .top
        .sluice(["apply", "d", "file:///nowhere/at/all/main"]);
    output.assert_failure(
        10,
        "fatal: there is no bucket at '/nowhere/at/all'\n\
         hint: check the name, or create it: git sluice publish --create /nowhere/at/all/<channel> <commit>\n",
    );
}

/// A channel of yesterday does not lead to the commit of today.
#[test]
fn a_stale_channel_is_not_taken_for_the_newest() {
    let (fleet, ids) = Fleet::published();
    let stale = fs::read(fleet.channel_path()).unwrap();
    let next = fleet.commit("echo next >small");
    let _ = fleet.publish("HEAD").success();
    fs::write(fleet.channel_path(), stale).unwrap();
    fleet.assert_brings("d", "", &ids[2]);
    let output = fleet.apply("d", &format!("--at={next}"));
    assert_eq!(output.code(), 9, "{output}");
    fleet.assert_holds("d", &ids[2]);
}

/// Killed while it reads or writes, a reader goes on where it was.
#[test]
#[ignore = "slow"]
fn a_killed_reader_goes_on() {
    let (fleet, ids) = Fleet::published();
    let full = fleet.commit("for i in $(seq 400); do echo $i >file$i; done");
    let _ = fleet.publish("--full-every=0 HEAD").success();
    for round in 0..30 {
        let directory = format!("d{round}");
        if round % 2 == 0 {
            fleet.apply_at(&directory, &ids[1]);
        }
        let running = fleet.start_applying(&directory);
        thread::sleep(Duration::from_millis(round));
        running.signal(Signal::KILL);
        let _ = running.finish();
        let state = fleet.state(&directory);
        let is_true = ["", "applying "].iter().any(|word| state.starts_with(word));
        assert!(is_true, "{state}");
        fleet.assert_brings(&directory, "", &full);
    }
}

#[test]
fn a_directory_that_differs() {
    let (fleet, ids) = Fleet::published();
    fleet.apply_at("d", &ids[1]);
    fs::write(fleet.directory("d/small"), "changed\n").unwrap();
    let output = fleet.apply("d", "--verify");
    assert_eq!(
        (output.code(), &output.stdout[..]),
        (1, &b"content small\n"[..])
    );
    assert_eq!(fleet.state("d"), format!("holds {}", ids[1]));
    let output = fleet.apply("d", "--repair");
    assert_eq!(
        (output.code(), &output.stdout[..]),
        (0, &b"content small\n"[..])
    );
    fleet.assert_holds("d", &ids[2]);
    // In the newest one already.
    fs::write(fleet.directory("d/small"), "changed\n").unwrap();
    fleet.assert_brings("d", "--repair", &ids[2]);
    let output = fleet.apply("d", "--repair");
    assert_eq!((output.code(), output.messages()), (0, String::new()));
}

/// Nothing says what the files of a mixture were: whatever has changed meanwhile has to go.
#[test]
fn an_interrupted_delta_is_not_compared() {
    let (fleet, ids) = Fleet::published();
    fleet.apply_at("d", &ids[1]);
    let on_the_way = format!("applying {} {}", ids[1], ids[2]);
    let state = fleet.directory("d/.git-sluice");
    let text = fs::read_to_string(&state).unwrap();
    let text = text.replace(&format!("holds {}", ids[1]), &on_the_way);
    fs::write(&state, text).unwrap();
    fs::write(fleet.directory("d/large"), "changed\n").unwrap();
    let output = fleet.apply("d", "--verify");
    output.assert_refused(128, &["cannot verify: an update to", &ids[2]]);
    assert_eq!(fleet.state("d"), on_the_way);
    fleet.assert_brings("d", "--repair", &ids[2]);
}

/// What no archive has brought is not overwritten.
#[test]
fn a_directory_of_somebody_else() {
    let (fleet, ids) = Fleet::published();
    fs::create_dir(fleet.directory("d")).unwrap();
    fs::write(fleet.directory("d/mine"), "").unwrap();
    let output = fleet.apply("d", "");
    output.assert_refused(128, &["the directory is not empty"]);
    // A checkout that somebody says is the commit.
    fs::write(
        fleet.directory("d/.git-sluice"),
        format!("holds {}\n", ids[2]),
    )
    .unwrap();
    let output = fleet.apply("d", "");
    output.assert_refused(128, &["the directory is not empty"]);
    assert!(fleet.directory("d/mine").exists());
}

/// A file of the user that is in the way of an archive stays, and is named.
#[test]
fn a_file_of_the_user_in_the_way() {
    let (fleet, ids) = Fleet::published();
    let next = fleet.commit("mkdir more && echo 1 >more/file && echo 1 >added");
    let _ = fleet.publish("HEAD").success();
    for (directory, words) in [("d", ""), ("e", "--verify"), ("f", "--repair")] {
        fleet.apply_at(directory, &ids[2]);
        let script = format!("cd {directory} && echo mine >added && echo mine >more");
        fleet.top.script(&script);
        for _ in 0..2 {
            fleet.apply(directory, words).assert_failure(
                128,
                "error: no archive wrote 'added', which is in the way\n\
                 error: no archive wrote 'more', which is in the way\n\
                 fatal: cannot apply: the archive would overwrite or delete 2 of your files\n\
                 hint: move them elsewhere, or run again with --overwrite to replace them\n",
            );
            assert_eq!(fleet.state(directory), format!("holds {}", ids[2]));
        }
        let mine = fs::read_to_string(fleet.directory(&format!("{directory}/added"))).unwrap();
        assert_eq!(mine, "mine\n");
        fleet.assert_brings(directory, &format!("--overwrite {words}"), &next);
    }
    // In full, as after other filters.
    let _ = fleet.publish("--force --exclude=large HEAD").success();
    fs::write(fleet.directory("d/mine"), "mine").unwrap();
    let last = fleet.commit("echo 2 >mine");
    let _ = fleet.publish("--exclude=large HEAD").success();
    let output = fleet.apply("d", "");
    output.assert_refused(128, &["error: no archive wrote 'mine'"]);
    assert_eq!(fs::read(fleet.directory("d/mine")).unwrap(), b"mine");
    let _ = fleet.apply("d", "--overwrite").success();
    assert_eq!(fleet.state("d"), format!("holds {last}"));
}

/// Several archives lead to the newest commit. None is applied if one of them has a file of the user in its way.
#[test]
fn a_file_of_the_user_in_the_way_of_a_later_archive() {
    let (fleet, ids) = Fleet::published();
    for script in cases(
        "echo 1 >first && echo 1 >small | mkdir dir2 && mv large dir2 | echo 2 >last && rm dir",
    ) {
        fleet.commit(script);
        let _ = fleet.publish("--full-ratio=1 HEAD").success();
    }
    let newest = fleet.repo.git(["rev-parse", "HEAD"]);
    for (directory, from) in [("d", &ids[0]), ("e", &ids[2])] {
        fleet.apply_at(directory, from);
        let files = crate::directory::apply::archive::found(&fleet.directory(directory));
        let script =
            format!("cd {directory} && echo mine >last && echo mine >dir2 && echo mine >mine");
        fleet.top.script(&script);
        let output = fleet.apply(directory, "");
        output.assert_failure(
            128,
            "error: no archive wrote 'dir2', which is in the way\n\
             error: no archive wrote 'last', which is in the way\n\
             fatal: cannot apply: the archive would overwrite or delete 2 of your files\n\
             hint: move them elsewhere, or run again with --overwrite to replace them\n",
        );
        assert_eq!(fleet.state(directory), format!("holds {from}"));
        fleet
            .top
            .script(&format!("cd {directory} && rm last dir2 mine"));
        fleet.assert_files(directory, &files);
        let script = format!("cd {directory} && echo mine >mine");
        fleet.top.script(&script);
        let _ = fleet.apply(directory, "--verify").success();
        fleet.top.script(&format!("rm {directory}/mine"));
        fleet.assert_holds(directory, &newest);
    }
}
