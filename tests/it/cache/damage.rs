//! A directory or an entry that cannot be used never fails a request.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, PermissionsExt, symlink},
};

use super::{Cache, noisy};
use crate::support::{Repo, process::Output};

/// Each part of an entry: the client has git's bytes, and the entry is written again.
#[test]
fn damaged_entries() {
    let repo = noisy(3 << 20);
    let cache = Cache::new();
    let _ = cache.run(&repo, "--cache-always HEAD").success();
    let entry = cache.path().join(&cache.archives()[0]);
    let whole = fs::read(&entry).expect("kept");
    let len = whole.len() as u64;
    // Of the header, of the archive, and of the sums behind it.
    for at in [9, 4096 + (1 << 20), len - 2] {
        let file = File::options().write(true).open(&entry).expect("our own");
        let byte = whole[usize::try_from(at).expect("small")] ^ 0x20;
        file.write_all_at(&[byte], at).expect("our own");
        cache.assert_role(&repo, "HEAD", "producer");
        cache.assert_role(&repo, "HEAD", "hit");
    }
    for cut in [0, 36, 1 << 20] {
        let file = File::options().write(true).open(&entry).expect("our own");
        file.set_len(cut).expect("our own");
        cache.assert_role(&repo, "HEAD", "producer");
        cache.assert_role(&repo, "HEAD", "hit");
    }
    cache.assert_tidy();
}

/// Entries that were renamed, and one whose notes another build wrote: each is none.
#[test]
fn entries_that_are_not_what_their_names_say() {
    let (cache, repo) = (Cache::new(), noisy(3 << 20));
    let requests = ["HEAD", "--prefix=a/ HEAD"];
    let ask = |role| requests.map(|request| cache.assert_role(&repo, request, role));
    let keep = requests.map(|request| cache.run(&repo, &format!("--cache-always {request}")));
    let _ = keep.map(Output::success);
    ask("hit");
    let entries = cache.archives();
    for (old, new) in [(0, 2), (1, 0), (2, 1)] {
        let path = |number: usize| {
            let name = entries.get(number).map_or("other", String::as_str);
            cache.path().join(name)
        };
        fs::rename(path(old), path(new)).expect("our own");
    }
    ask("producer");
    ask("hit");
    let entry = cache.path().join(&entries[0]);
    let mut bytes = fs::read(&entry).expect("kept");
    let number = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("long")) as usize;
    let trailer = 4096 + number(16)..4096 + number(16) + number(24) - 4;
    let notes = &mut bytes[trailer.clone()];
    let at = notes.windows(9).position(|word| word == b"\"entries\"");
    notes[at.expect("counted") + 1] = b'E';
    let sum = crc32fast::hash(notes).to_le_bytes();
    bytes[trailer.end..].copy_from_slice(&sum);
    fs::write(&entry, bytes).expect("our own");
    let roles = requests.map(|request| {
        assert!(cache.run(&repo, request).success() == repo.archive(request.split(' ')).success());
        cache.told()["role"].as_str().expect("told").to_owned()
    });
    assert!(roles.contains(&"producer".to_owned()) && roles.contains(&"hit".to_owned()));
}

/// The run writes the archive again while its client has more of it than the run may be ahead of a reader.
#[test]
fn damage_behind_much_that_was_sent() {
    let (cache, repo) = (Cache::new(), Repo::init());
    repo.script("seq 2500000 >large && git add large && git commit -qm large");
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
