//! Packs that are cut while they are read: a read of the missing pages fails, as on a broken disk.

use std::{
    fs::{self, File, Permissions},
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use sluice_git::odb::YOUNG;

use super::assert_orderly_failure;
use crate::{
    commands::batch::Batch,
    support::{Repo, forge, noise, tar_listing},
};

/// Formats that are read while the archive grows, each of which holds up the run.
const FORMATS: [&str; 4] = ["tar", "tar.gz", "tar.zst", "zip"];

/// A repository with one pack of `files`.
fn packed(files: &[usize]) -> Repo {
    let repo = Repo::init();
    for (number, &len) in files.iter().enumerate() {
        repo.write(format!("{number:03}"), noise(number as u64 + 1, len));
    }
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "noise"]);
    repo.git(["repack", "-adfq"]);
    repo
}

/// The pack of `repo`, to be written to.
fn pack(repo: &Repo) -> PathBuf {
    let pack = forge::packed(repo, "pack");
    fs::set_permissions(&pack, Permissions::from_mode(0o644)).expect("our own");
    pack
}

/// Cuts the file at `path` in half, in place.
fn cut(path: &Path) {
    let file = File::options().write(true).open(path).expect("our own");
    let len = file.metadata().expect("our own").len();
    file.set_len(len / 2).expect("our own");
}

#[test]
#[ignore = "slow"]
fn a_pack_that_is_cut_while_it_is_read() {
    for files in [&[150_000; 50][..], &[7_500_000]] {
        let repo = packed(files);
        let pack = pack(&repo);
        let whole = fs::read(&pack).expect("our own");
        for (format, threads) in FORMATS.iter().zip(["1", "2", "8"].iter().cycle()) {
            let format = format!("--format={format}");
            let mut run = repo.start(["-j", threads, "--memory=1m", &format, "HEAD"]);
            let mut begun = vec![0; 4096];
            run.stdout().read_exact(&mut begun).expect("it begins");
            cut(&pack);
            let mut output = run.finish();
            output.stdout.splice(..0, begun);
            assert_orderly_failure(&output);
            let why = "file is shorter than it was";
            assert!(output.messages().contains(why), "{format}: {output}");
            fs::write(&pack, &whole).expect("our own");
        }
    }
}

/// The packs of a repository that stays open are mapped from the first request on.
#[test]
#[ignore = "slow"]
fn a_batch_outlives_its_packs() {
    let (repo, other) = (packed(&[150_000; 20]), packed(&[100; 2]));
    let pack = pack(&repo);
    let whole = fs::read(&pack).expect("our own");
    let expected = repo.archive(["HEAD"]).success();
    let of_other = other.archive(["HEAD"]).success();
    let elsewhere = other.path().to_str().expect("plain");
    let mut batch = Batch::start(&repo);
    // A repository stays open once its last change is old enough, and two requests have found it unchanged.
    thread::sleep(YOUNG + Duration::from_millis(100));
    for _ in 0..3 {
        assert!(batch.ask(&["HEAD"]).data == expected);
    }
    cut(&pack);
    let failed = batch.ask(&["HEAD"]);
    let messages = &failed.messages;
    assert_eq!(failed.status, 128, "{messages}");
    assert!(
        messages.contains("file is shorter than it was"),
        "{messages}"
    );
    assert!(!tar_listing::is_complete(&failed.data));
    assert!(batch.ask(&["-C", elsewhere, "HEAD"]).data == of_other);
    fs::write(&pack, &whole).expect("our own");
    let again = batch.ask(&["HEAD"]);
    assert!(again.data == expected, "{}", again.messages);
    assert_eq!(batch.end(), 0);
}
