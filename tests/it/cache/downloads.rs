//! Downloads that break off: the archive is finished for the cache if it is asked to be, and the client goes on.

use std::{fs::File, os::unix::fs::FileExt, thread, time::Duration};

use rustix::process::Signal;

use super::{Cache, LARGE, noisy};
use crate::support::{Repo, cases};

const FORMATS: [&str; 3] = ["tar", "tar.gz", "zip"];

impl Cache {
    /// The bytes of the archive behind those of `start`.
    #[track_caller]
    fn resume(&self, repo: &Repo, args: &str, start: Vec<u8>) -> Vec<u8> {
        let rest = self.run(repo, &format!("--byte-range={}- {args}", start.len()));
        [start, rest.success()].concat()
    }
}

/// Whether the client leaves in the middle of the work, or when only the end is left to send.
#[test]
#[ignore = "slow"]
fn an_archive_is_finished_without_its_client() {
    for (size, len) in [(LARGE, 1 << 20), (2 << 20, 1 << 20)] {
        let repo = noisy(size);
        for format in FORMATS {
            let cache = Cache::new();
            let args = format!("--cache-finish --format={format} HEAD");
            let (client, start) = cache.begin(&repo, &args, len);
            assert_eq!(client.hang_up().code(), 141);
            assert_eq!(cache.archives().len(), 1, "{format} of {size}");
            let archive = cache.resume(&repo, &args, start);
            assert_eq!(cache.told()["role"], "hit", "{format} of {size}");
            let format = format!("--format={format}");
            assert!(archive == repo.archive([&format, "HEAD"]).success());
            cache.assert_tidy();
        }
    }
}

/// A client that has the whole archive is no reason to keep it.
#[test]
fn finishing_keeps_nothing_else() {
    let (cache, repo) = (Cache::new(), noisy(2 << 20));
    let finish = "--cache-finish HEAD";
    cache.assert_role(&repo, "HEAD", "producer");
    let other = Cache::new();
    let _ = other.run(&repo, finish).success();
    assert_eq!(other.told()["role"], "producer");
    assert!(other.archives().is_empty());
    other.assert_tidy();
    // The second request is kept, as ever.
    let _ = cache.run(&repo, finish).success();
    assert_eq!(cache.archives().len(), 1);
}

/// Followers of an archive that is finished have it at once, while the client of its producer still reads.
#[test]
fn followers_do_not_wait_for_a_client_that_may_leave() {
    let (cache, repo) = (Cache::new(), noisy(2 << 20));
    let (producer, start) = cache.begin(&repo, "--cache-finish HEAD", 1);
    for _ in 0..2 {
        let follower = cache.run(&repo, "--cache-finish HEAD").success();
        assert!(follower == repo.archive(["HEAD"]).success());
        assert_eq!(cache.told()["produced"], 0);
    }
    let rest = producer.finish().success();
    assert!([start, rest].concat() == repo.archive(["HEAD"]).success());
    cache.assert_role(&repo, "HEAD", "hit");
    cache.assert_tidy();
}

/// The configuration asks for it, for clients that cannot; and a run that shares nothing ends with its client.
#[test]
fn the_signal_ends_a_run_that_shares_nothing() {
    let (cache, repo) = (Cache::new(), noisy(LARGE));
    let configured = repo.clone().with(["-c", "sluice.cacheFinish"]);
    assert_eq!(cache.start(&configured, "HEAD").hang_up().code(), 141);
    assert_eq!(cache.archives().len(), 1);
    for args in cases(
        "--no-cache --cache-finish HEAD | --cache-finish --cache-size=3m HEAD | --cache-finish HEAD^{tree}",
    ) {
        let other = Cache::new();
        let (client, _) = other.begin(&repo, args, 4 << 20);
        assert_eq!(client.hang_up().code(), 141, "{args}");
        assert!(other.archives().is_empty(), "{args}");
        other.assert_tidy();
    }
}

/// A client of `git archive --remote` that leaves ends its server only when the archive is complete.
#[test]
fn a_server_outlasts_its_client() {
    let (cache, repo) = (Cache::new(), noisy(LARGE));
    repo.git(["config", "sluice.cacheFinish", "true"]);
    let server = repo.clone().env("GIT_SLUICE_CACHE", cache.path());
    let archive = "git archive --remote=. --exec='git-sluice upload-archive' HEAD";
    server.script(&format!("{archive} | head -c 100000"));
    let is_complete = (0..600).any(|_| {
        thread::sleep(Duration::from_millis(50));
        !cache.archives().is_empty()
    });
    assert!(is_complete, "{:?}", cache.names());
    cache.assert_role(&repo, "HEAD", "hit");
}

/// A turn is held until the archive is finished.
#[test]
fn a_turn_outlasts_the_client() {
    let (cache, repo) = (Cache::new(), noisy(LARGE));
    let turn = "--cache-finish --cache-jobs=1 --cache-wait=60";
    let (client, _) = cache.begin(&repo, &format!("{turn} HEAD"), 1);
    let other = cache.start(&repo, &format!("{turn} --prefix=a/ HEAD"));
    let other = thread::spawn(move || other.finish().code());
    assert_eq!(client.hang_up().code(), 141);
    assert_eq!(other.join().expect("waits only"), 0);
    assert_eq!(cache.archives().len(), 1);
    cache.assert_tidy();
}

/// A range of a compressed archive creates the whole archive, for later ranges and for other clients.
#[test]
fn the_first_range_completes_the_archive() {
    let repo = noisy(2 << 20);
    for format in ["tar.gz", "tar.zst", "zip"] {
        let cache = Cache::new();
        let format = format!("--format={format}");
        let archive = repo.sluice([&format, "HEAD"]).success();
        let len = archive.len();
        let behind = cache.run(&repo, &format!("--byte-range={len}- {format} HEAD"));
        behind.assert_refused(8, &[&len.to_string()]);
        assert_eq!(cache.archives().len(), 1, "{format}");
        cache.assert_tidy();
        let cache = Cache::new();
        for (range, part, role) in [
            ("100-199", &archive[100..200], "producer"),
            ("-50", &archive[len - 50..], "hit"),
            ("100-", &archive[100..], "hit"),
        ] {
            let sent = cache.run(&repo, &format!("--byte-range={range} {format} HEAD"));
            assert!(sent.success() == part, "{format} {range}");
            let summary = cache.summary();
            assert_eq!(summary["cache"]["role"], role, "{format} {range}");
            assert_eq!(summary["cache"]["served"], part.len(), "{format} {range}");
            assert_eq!(summary["bytes_out"], part.len(), "{format} {range}");
        }
        cache.assert_tidy();
        let _ = cache.run(&repo, &format!("{format} HEAD")).success();
        assert_eq!(cache.told()["role"], "hit", "{format}");
    }
}

/// Ranges follow the one production of an archive, even if its producer dies.
#[test]
#[ignore = "slow"]
fn ranges_of_an_archive_in_the_making() {
    let repo = noisy(LARGE);
    let archive = repo.archive(["--format=tar.gz", "HEAD"]).success();
    for is_killed in [false, true] {
        let cache = Cache::new();
        let (producer, start) = cache.begin(&repo, "--format=tar.gz HEAD", 1 << 20);
        let ranges = [7, 1 << 20, archive.len() - 9].map(|first| {
            let range = format!("--byte-range={first}- --format=tar.gz HEAD");
            let run = cache.start(&repo, &range);
            (first, thread::spawn(move || run.finish().success()))
        });
        thread::sleep(Duration::from_millis(100));
        if is_killed {
            producer.signal(Signal::KILL);
        } else {
            let rest = producer.finish().success();
            assert!([start, rest].concat() == archive);
        }
        for (first, range) in ranges {
            let part = range.join().expect("waits only");
            assert!(part == archive[first..], "{first}-, killed: {is_killed}");
        }
        assert_eq!(cache.archives().len(), 1);
        cache.assert_tidy();
    }
}

/// Twenty clients break off at twenty places, and go on at the same time.
#[test]
#[ignore = "slow"]
fn twenty_clients_go_on() {
    let (cache, repo) = (Cache::new(), noisy(LARGE));
    let args = "--cache-finish --format=zip HEAD";
    let archive = repo.archive(["--format=zip", "HEAD"]).success();
    let begun: Vec<_> = (1..=20)
        .map(|at| cache.begin(&repo, args, at << 16))
        .collect();
    let parts: Vec<_> = begun
        .into_iter()
        .map(|(client, start)| thread::spawn(move || (client.hang_up().code(), start)))
        .collect();
    for part in parts {
        let (code, start) = part.join().expect("waits only");
        assert_eq!(code, 141);
        let range = format!("--byte-range={}- {args}", start.len());
        let rest = cache.run(&repo, &range).success();
        assert!([start, rest].concat() == archive);
        assert_eq!(cache.told()["role"], "hit");
    }
    cache.assert_tidy();
}

/// A compressed archive that the cache cannot hold has no ranges, and the reason is named.
#[test]
fn ranges_that_the_cache_cannot_serve() {
    let repo = noisy(6 << 20);
    let range = "--byte-range=9- --format=tar.gz";
    for (args, reason) in [
        ("--cache-size=3m HEAD", "no room"),
        ("HEAD^{tree}", "the time of a tree"),
    ] {
        let cache = Cache::new();
        let refused = cache.run(&repo, &format!("{range} {args}"));
        let message = "the cache cannot hold this archive";
        refused.assert_refused(128, &[message, reason]);
        assert!(refused.stdout.is_empty() && cache.archives().is_empty());
        assert_eq!(cache.told()["role"], "bypass");
        cache.assert_tidy();
    }
    let unusable = "--cache=/dev/null/none --byte-range=9- --format=tar.gz HEAD";
    let refused = repo.sluice(unusable.split(' '));
    refused.assert_refused(128, &["cannot open the directory"]);
    // There is no turn to produce.
    let cache = Cache::new();
    let (producer, _) = cache.begin(&noisy(LARGE), "--cache-jobs=1 HEAD", 1);
    let busy = cache.run(
        &repo,
        &format!("--cache-jobs=1 --cache-wait=0 {range} HEAD"),
    );
    assert_eq!(busy.code(), 6, "{busy}");
    assert_eq!(producer.hang_up().code(), 141);
}

/// A range of a damaged archive is made good, as the whole is.
#[test]
fn ranges_of_a_damaged_archive() {
    let (cache, repo) = (Cache::new(), noisy(2 << 20));
    let archive = cache.run(&repo, "--cache-always --format=tar.gz HEAD");
    let archive = archive.success();
    let file = cache.path().join(&cache.archives()[0]);
    let file = File::options().write(true).open(file).expect("our own");
    file.write_all_at(b"damage", 4096 + (1 << 20) + 10)
        .expect("our own");
    for role in ["producer", "hit"] {
        let part = cache.run(&repo, "--byte-range=100- --format=tar.gz HEAD");
        assert!(part.success() == archive[100..]);
        assert_eq!(cache.told()["role"], role);
    }
}
