//! A directory or an entry that cannot be used never fails a request.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, PermissionsExt, symlink},
};

use super::{Cache, noisy};
use crate::support::Repo;

/// Each part of an entry: the client has git's bytes, and the entry is written again.
#[test]
fn damaged_entries() {
    let repo = noisy(3 << 20);
    let cache = Cache::new();
    let _ = cache.run(&repo, "--cache-always HEAD").success();
    let entry = cache.path().join(&cache.archives()[0]);
    let whole = fs::read(&entry).expect("kept");
    let len = whole.len() as u64;
    let places = [
        0,
        9,
        17,
        25,
        33,
        4096,
        4096 + (1 << 20),
        len - 300_000,
        len - 60,
        len - 2,
    ];
    for at in places {
        let file = File::options().write(true).open(&entry).expect("our own");
        let byte = whole[usize::try_from(at).expect("small")] ^ 0x20;
        file.write_all_at(&[byte], at).expect("our own");
        cache.assert_role(&repo, "HEAD", "producer");
        cache.assert_role(&repo, "HEAD", "hit");
    }
    for cut in [0, 10, 36, 4096, 1 << 20, len - 1] {
        let file = File::options().write(true).open(&entry).expect("our own");
        file.set_len(cut).expect("our own");
        cache.assert_role(&repo, "HEAD", "producer");
        cache.assert_role(&repo, "HEAD", "hit");
    }
    cache.assert_tidy();
}

/// The run writes the archive again while its client has more of it than the run may be ahead of a reader.
#[test]
fn damage_behind_much_that_was_sent() {
    let (cache, repo) = (Cache::new(), Repo::init());
    let _ = repo
        .shell("seq 2500000 >large && git add large && git commit -qm large")
        .success();
    let _ = cache.run(&repo, "--cache-always HEAD").success();
    let entry = cache.path().join(&cache.archives()[0]);
    let entry = fs::File::options().write(true).open(entry);
    let damaged = entry.and_then(|entry| entry.write_all_at(b"X", 16 << 20));
    damaged.expect("our own");
    cache.assert_role(&repo, "HEAD", "producer");
}

/// Links, directories and others' permissions: the archive goes past the cache.
#[test]
fn directories_that_are_refused() {
    let repo = Repo::from("basic");
    let cache = Cache::new();
    let refused = |why: &str| {
        let output = cache.run(&repo, "HEAD");
        let directory = cache.path();
        let warning = format!(
            "warning: --cache='{}' is not used: {why}\n",
            directory.display()
        );
        assert_eq!(output.messages(), warning);
        assert!(output.success() == repo.archive(["HEAD"]).success());
        assert_eq!(cache.told()["role"], "bypass");
    };
    fs::write(cache.path(), "a file").expect("our own");
    refused("cannot open the directory: Not a directory");
    fs::remove_file(cache.path()).expect("our own");
    fs::create_dir(cache.path()).expect("our own");
    let permit = |mode| fs::set_permissions(cache.path(), fs::Permissions::from_mode(mode));
    permit(0o777).expect("our own");
    refused("others may write to the directory");
    assert!(cache.names().is_empty());
    permit(0o700).expect("our own");
    cache.assert_role(&repo, "HEAD", "producer");
    let key = cache.told()["key"].as_str().expect("a key").to_owned();
    for name in [&key, &format!("{key}.part"), "lock"] {
        let target = cache.top.path().join("target");
        fs::write(&target, "secret").expect("our own");
        let _ = fs::remove_file(cache.path().join(name));
        symlink("../target", cache.path().join(name)).expect("our own");
        cache.assert_role(&repo, "HEAD", "bypass");
        assert_eq!(fs::read(&target).expect("there"), b"secret");
        fs::remove_file(cache.path().join(name)).expect("our own");
    }
}
