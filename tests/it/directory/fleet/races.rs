//! Archives that disappear while somebody publishes, or before: status 0 means that a new machine gets the commit.

use std::{
    fs::{self, File},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use super::{Fleet, pruning::age};

impl Fleet {
    /// Publishes HEAD. `meanwhile` gets its archive at a moment when the archive is written and the channel is not.
    fn publish_during(&self, meanwhile: impl Fn(PathBuf)) {
        let before = self.objects();
        let channels = File::open(self.bucket().join("v1/channels")).expect("published");
        channels.lock().expect("a lock");
        let publisher = self.start_publishing("HEAD");
        let begin = Instant::now();
        let archive = loop {
            let mut names = self.objects().into_iter();
            let new = names.find(|name| !before.contains(name) && name.ends_with(".tar.zst"));
            if let Some(name) = new {
                break self.bucket().join("v1/objects").join(name);
            }
            assert!(begin.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(5));
        };
        meanwhile(archive);
        channels.unlock().expect("our own");
        let _ = publisher.finish().success();
    }
}

#[test]
fn an_archive_that_disappears_is_written_again() {
    let (fleet, _) = Fleet::published();
    let commit = fleet.commit("echo next >small");
    fleet.publish_during(|archive| fs::remove_file(archive).unwrap());
    fleet.assert_brings("d", "", &commit);
    assert_eq!(fleet.told("HEAD")["was_there"], true);
}

/// As after a publisher that has slept for a day.
#[test]
fn a_prune_meanwhile() {
    let (fleet, _) = Fleet::published();
    let commit = fleet.commit("echo next >small");
    fleet.publish_during(|archive| {
        assert_eq!(fleet.prune("1h")["removed"], 0);
        age(&archive);
        assert_eq!(fleet.prune("1h")["removed"], 1);
        assert!(!archive.exists());
    });
    fleet.assert_brings("d", "", &commit);
}

/// A channel whose archives are gone does not have its commits.
#[test]
fn what_is_listed_and_gone_is_published_again() {
    // The full archive, the delta in the middle, the last one.
    for gone in 0..3 {
        let (fleet, ids) = Fleet::published();
        fs::remove_file(fleet.object(&fleet.steps()[gone])).unwrap();
        assert_eq!(fleet.kinds("HEAD"), ["full"]);
        let told = fleet.told("HEAD");
        assert_eq!(told["was_there"], true);
        fleet.assert_brings("d", "", &ids[2]);
    }
}

/// An older one, for a job that names it.
#[test]
fn an_older_commit_that_is_gone() {
    let (fleet, ids) = Fleet::published();
    let newest = fleet.commit("echo newest >small");
    // The newest one has a full archive, so that it needs no other one.
    assert_eq!(fleet.kinds("--full-every=0 HEAD"), ["delta", "full"]);
    fs::remove_file(fleet.object(&fleet.steps()[1])).unwrap();
    let told = fleet.told(&ids[1]);
    assert_eq!(
        (&told["was_there"], &told["is_target"]),
        (&false.into(), &false.into())
    );
    for (wanted, commit) in [
        (format!("--at={}", ids[1]), &ids[1]),
        (String::new(), &newest),
    ] {
        fleet.assert_brings("new", &wanted, commit);
    }
}

/// A channel leads to its newest commit. If the archives of that commit are missing, an older one is not even uploaded.
#[test]
fn an_older_commit_where_the_newest_one_is_gone() {
    let (fleet, ids) = Fleet::published();
    for name in fleet.objects() {
        fs::remove_file(fleet.bucket().join("v1/objects").join(name)).unwrap();
    }
    for words in ["", "--republish "] {
        let output = fleet.publish(&format!("{words}{}", ids[1]));
        output.assert_failure(
            128,
            &format!(
                "fatal: cannot publish an older commit\n\
                 caused by: no archive in the bucket leads to {newest}, the newest commit of the channel 'main'\n\
                 hint: publish the newest commit first: git sluice publish --republish <bucket>/main {newest}\n",
                newest = ids[2]
            ),
        );
        assert!(fleet.objects().is_empty());
    }
    assert_eq!(fleet.kinds(&format!("--republish {}", ids[2])), ["full"]);
    for older in &ids[..2] {
        let _ = fleet.publish(&format!("--republish {older}")).success();
        fleet.assert_brings("d", &format!("--at={older}"), older);
    }
    fleet.assert_brings("d", "", &ids[2]);
}

/// The deltas that begin at the older commit are still there.
#[test]
fn an_older_commit_from_which_the_newest_one_is_reached() {
    let (fleet, ids) = Fleet::published();
    fs::remove_file(fleet.object(&fleet.steps()[0])).unwrap();
    assert_eq!(fleet.kinds(&ids[0]), ["full"]);
    for commit in &ids {
        fleet.assert_brings(commit, &format!("--at={commit}"), commit);
    }
}

/// The next commit, over a base that a new machine cannot get.
#[test]
fn a_delta_is_not_all_where_the_way_to_its_base_is_gone() {
    let (fleet, _) = Fleet::published();
    fs::remove_file(fleet.object(&fleet.steps()[0])).unwrap();
    let next = fleet.commit("echo next >small");
    assert_eq!(fleet.kinds("HEAD"), ["full"]);
    fleet.assert_brings("new", "", &next);
}
