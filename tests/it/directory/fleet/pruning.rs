//! `prune` removes what no channel lists, and nothing else.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::Value;

use super::Fleet;
use crate::support::schema::Schema;

impl Fleet {
    #[track_caller]
    pub(super) fn prune(&self, age: &str) -> Value {
        let older = format!("--older-than={age}");
        let line = self.top.sluice(["prune", &older, "bucket"]).success();
        let value = serde_json::from_slice(&line).expect("one line of JSON");
        Schema::read("pruned").accept(&value);
        value
    }

    /// All archives are of yesterday.
    fn age(&self) {
        for name in self.objects() {
            age(&self.bucket().join("v1/objects").join(name));
        }
    }

    /// The channel has given its old archives up yesterday.
    fn age_retired(&self) {
        let mut channel = self.channel();
        for old in channel["retired"].as_array_mut().expect("a list") {
            old["time"] = (old["time"].as_u64().expect("seconds") - DAY.as_secs()).into();
        }
        fs::write(self.channel_path(), channel.to_string()).unwrap();
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60 + 1);

/// The file is of yesterday.
pub(super) fn age(path: &Path) {
    let file = fs::File::options().write(true).open(path);
    let yesterday = SystemTime::now() - DAY;
    file.unwrap().set_modified(yesterday).unwrap();
}

#[test]
fn what_is_listed_stays() {
    let (fleet, ids) = Fleet::published();
    fleet.age();
    let told = fleet.prune("1h");
    assert_eq!(
        told,
        serde_json::json!({"pruned": 1, "channels": 1, "removed": 0, "bytes": 0, "kept": 3})
    );
    fleet.assert_brings("d", "", &ids[2]);
    assert_eq!(Fleet::new().prune("1h")["kept"], 0);
}

/// A name of a channel for its readers.
#[test]
fn what_a_channel_behind_a_link_lists_stays() {
    let (fleet, ids) = Fleet::published();
    fleet.age();
    let elsewhere = fleet.top.path().join("channel");
    fs::rename(fleet.channel_path(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, fleet.channel_path()).unwrap();
    assert_eq!(fleet.prune("1h")["removed"], 0);
    fleet.assert_brings("d", "", &ids[2]);
}

/// What the link led to may come back.
#[test]
fn a_channel_behind_a_link_that_leads_nowhere_removes_nothing() {
    let (fleet, _) = Fleet::published();
    fleet.age();
    let objects = fleet.objects().len();
    fs::remove_file(fleet.channel_path()).unwrap();
    std::os::unix::fs::symlink("missing", fleet.channel_path()).unwrap();
    let output = fleet.top.sluice(["prune", "--older-than=1h", "bucket"]);
    output.assert_refused(10, &["No such file or directory"]);
    assert_eq!(fleet.objects().len(), objects);
}

#[test]
fn what_was_listed_within_the_time_stays() {
    let (fleet, _) = Fleet::published();
    for number in 0..2 {
        fleet.commit(&format!("echo {number} >>small"));
        let _ = fleet.publish("--full-every=0 HEAD").success();
    }
    fleet.age();
    let listed = fleet.steps().len();
    let all = fleet.objects().len();
    assert!(listed < all);
    assert_eq!(fleet.prune("1h")["removed"], 0);
    fleet.age_retired();
    assert_eq!(fleet.prune("1h")["removed"], all - listed);
    assert_eq!(fleet.objects().len(), listed);
    let _ = fleet.apply("d", "").success();
}

/// A killed publisher leaves archives that nobody lists, and unfinished files.
#[test]
fn what_was_never_listed_goes_when_it_is_old() {
    let (fleet, _) = Fleet::published();
    let objects = fleet.bucket().join("v1/objects");
    for name in [
        &format!("{}.tar.zst", "0".repeat(64)),
        ".unfinished-x",
        "other",
    ] {
        fs::write(objects.join(name), "12345").unwrap();
    }
    assert_eq!(fleet.prune("1d")["removed"], 0);
    fleet.age();
    let told = fleet.prune("1d");
    assert_eq!((&told["removed"], &told["bytes"]), (&3.into(), &15.into()));
    assert_eq!(fleet.objects().len(), 3);
}

#[test]
fn an_unfinished_channel_goes_when_it_is_old() {
    let (fleet, ids) = Fleet::published();
    let channels = fleet.bucket().join("v1/channels");
    for name in [".unfinished-x", "other"] {
        fs::write(channels.join(name), "12345").unwrap();
    }
    assert_eq!(fleet.prune("1d")["removed"], 0);
    for file in fs::read_dir(&channels).unwrap() {
        age(&file.unwrap().path());
    }
    let told = fleet.prune("1d");
    assert_eq!((&told["removed"], &told["bytes"]), (&1.into(), &5.into()));
    assert!(!channels.join(".unfinished-x").exists() && channels.join("other").exists());
    fleet.assert_brings("d", "", &ids[2]);
}

/// Another publisher finds an old archive that nobody lists, and lists it: it is young again.
#[test]
fn an_archive_that_is_used_again_is_young() {
    let (fleet, ids) = Fleet::published();
    fs::remove_file(fleet.channel_path()).unwrap();
    fleet.age();
    let told = fleet.told(&ids[0]);
    assert!(told["bytes"].as_u64() > Some(0));
    fs::remove_file(fleet.channel_path()).unwrap();
    assert_eq!(fleet.prune("1d")["removed"], 2);
}
