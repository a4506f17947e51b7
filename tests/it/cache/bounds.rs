//! What the directory may hold, and how many may produce.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::Read,
    os::unix::fs::{MetadataExt, PermissionsExt},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use super::{Cache, noisy};
use crate::support::{Repo, process::Running};

/// The files of the directory by their names: each with its identity, its length and the bytes of its blocks.
fn files(cache: &Cache) -> BTreeMap<OsString, (u64, u64, u64)> {
    let listed = fs::read_dir(cache.path()).into_iter().flatten();
    let described = listed.filter_map(|file| {
        let file = file.ok()?;
        let metadata = file.metadata().ok()?;
        let blocks = metadata.blocks() * 512;
        Some((file.file_name(), (metadata.ino(), metadata.len(), blocks)))
    });
    described.collect()
}

/// Bytes that the directory holds: the longest and the most blocks. `None` if it changes meanwhile: a file that is removed and
/// one that takes its room would count both.
fn held(cache: &Cache) -> Option<u64> {
    let files_before = files(cache);
    let sizes = files_before.values();
    let (lengths, blocks) = sizes.fold((0, 0), |sum, size| (sum.0 + size.1, sum.1 + size.2));
    (files(cache) == files_before).then(|| lengths.max(blocks))
}

/// The directory is watched while five hundred archives are made, more than it may hold.
#[test]
#[ignore = "slow"]
fn the_cap_holds_at_every_moment() {
    const CAP: u64 = 4 << 20;
    let (cache, repo) = (Cache::new(), noisy(200 << 10));
    let is_over = AtomicBool::new(false);
    let most = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Ordering::Acquire) {
                most = most.max(held(&cache).unwrap_or(0));
                thread::sleep(Duration::from_millis(1));
            }
            most
        });
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let (cache, repo) = (&cache, &repo);
                scope.spawn(move || {
                    for number in 0..250 {
                        let args = format!(
                            "--cache-always --cache-size=4m --prefix={worker}-{number}/ HEAD"
                        );
                        assert_eq!(cache.start(repo, &args).finish().code(), 0);
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .for_each(|worker| worker.join().expect("all ended well"));
        is_over.store(true, Ordering::Release);
        watch.join().expect("looks only")
    });
    assert!(most <= CAP && most > CAP / 2, "{most}");
    assert!(cache.archives().len() > 2);
    cache.assert_tidy();
}

/// An archive without room is streamed and forgotten.
#[test]
fn archives_larger_than_the_cap() {
    let (cache, repo) = (Cache::new(), noisy(6 << 20));
    let expected = repo.archive(["HEAD"]).success();
    let args = "--cache-always --cache-size=3m HEAD";
    for _ in 0..2 {
        assert!(cache.run(&repo, args).success() == expected);
        assert_eq!(cache.told()["role"], "bypass");
        assert!(cache.archives().is_empty());
    }
    let clients: Vec<_> = (0..4)
        .map(|_| cache.start(&repo, args))
        .map(|client| thread::spawn(move || client.finish()))
        .collect();
    for client in clients {
        assert!(client.join().expect("waits only").success() == expected);
    }
    assert!(cache.archives().is_empty());
    cache.assert_tidy();
}

/// The archive that was asked for last stays longest.
#[test]
fn least_recently_used_goes_first() {
    let (cache, repo) = (Cache::new(), noisy(900 << 10));
    let ask = |prefix| {
        let args = format!("--cache-always --cache-size=5m --prefix={prefix}/ HEAD");
        let _ = cache.run(&repo, &args).success();
        cache.told()["role"].as_str().expect("told").to_owned()
    };
    assert_eq!(
        [ask("a"), ask("b"), ask("a"), ask("c"), ask("d")].join(" "),
        "producer producer hit producer producer"
    );
    let held = cache.archives().len();
    assert!(held >= 2, "{held}");
    assert_eq!(ask("d"), "hit");
    if held == 3 {
        assert_eq!(ask("a"), "hit");
    }
}

/// A reader does not notice that its archive is removed.
#[test]
fn removal_disturbs_no_reader() {
    let (cache, repo) = (Cache::new(), noisy(6 << 20));
    let expected = repo.archive(["HEAD"]).success();
    let _ = cache.run(&repo, "--cache-always HEAD").success();
    let (reader, _) = cache.begin(&repo, "HEAD", 4096);
    fs::remove_file(cache.path().join(&cache.archives()[0])).expect("our own");
    let rest = reader.finish();
    assert!(
        rest.code() == 0 && rest.stdout == expected[4096..],
        "{rest}"
    );
}

#[test]
fn archives_grow_old() {
    let (cache, repo) = (Cache::new(), Repo::from("basic"));
    let _ = cache.run(&repo, "--cache-always HEAD").success();
    let _ = cache.run(&repo, "--cache-age=1h HEAD").success();
    assert_eq!(cache.told()["role"], "hit");
    let _ = cache.run(&repo, "--cache-age=0 HEAD").success();
    assert_eq!(cache.told()["role"], "producer");
}

/// Whoever finds no turn in time says so; whoever finds the archive needs no turn.
#[test]
#[ignore = "slow"]
fn turns() {
    let (cache, repo) = (Cache::new(), noisy(24 << 20));
    let (producer, _) = cache.begin(&repo, "--cache-jobs=1 HEAD", 1);
    for wait in ["0", "1"] {
        let args = format!("--cache-jobs=1 --cache-wait={wait} --prefix=a/ HEAD");
        cache
            .run(&repo, &args)
            .assert_refused(6, &["fatal: ", "hint: "]);
    }
    // Clients of one archive wait at the same time, not one after the other.
    let started = Instant::now();
    let waiting =
        [(); 6].map(|()| cache.start(&repo, "--cache-jobs=1 --cache-wait=1 --prefix=b/ HEAD"));
    for client in waiting {
        client.finish().assert_refused(6, &["fatal: ", "hint: "]);
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    let follower = cache.run(&repo, "--cache-jobs=1 --cache-wait=0 HEAD");
    assert_eq!(follower.code(), 0, "{follower}");
    assert_eq!(producer.finish().code(), 0);
    cache.assert_role(&repo, "HEAD", "hit");
    cache.assert_tidy();
}

/// A client that waits for the only turn, after all who wait already. It keeps the turn until its archive is read.
fn waiting(cache: &Cache, repo: &Repo, prefix: &str) -> Running {
    let args = format!("--cache-jobs=1 --cache-size=0 --prefix={prefix}/ HEAD");
    let tickets = || {
        let queue = fs::read_dir(cache.path().join("queue"))
            .into_iter()
            .flatten();
        let names = queue.map(|file| file.expect("readable").file_name());
        let is_ticket = |name: &OsString| name.to_string_lossy().parse::<u64>().is_ok();
        names.filter(is_ticket).count()
    };
    let known = tickets();
    let client = cache.start(repo, &args);
    while tickets() <= known {
        thread::sleep(Duration::from_millis(5));
    }
    client
}

/// Clients that wait are served in the order of arrival, by a directory that stores no archive. A process that is killed while it
/// waits is passed over, the first one as well.
fn assert_order(count: usize) {
    let (cache, repo) = (Cache::new(), noisy(2 << 20));
    let (mut served, _) = cache.begin(&repo, "--cache-jobs=1 --cache-size=0 HEAD", 1);
    let queue: Vec<_> = (0..count)
        .map(|number| waiting(&cache, &repo, &number.to_string()))
        .collect();
    let mut living = Vec::new();
    for (number, client) in queue.into_iter().enumerate() {
        if number % 3 == 0 {
            client.signal(Signal::KILL);
            let _ = client.finish();
        } else {
            living.push(client);
        }
    }
    for mut next in living {
        assert_eq!(served.finish().code(), 0);
        // Any other that had the turn would keep it, because nobody reads its archive.
        next.stdout().read_exact(&mut [0]).expect("its turn");
        served = next;
    }
    assert_eq!(served.finish().code(), 0);
    assert!(cache.archives().is_empty(), "no archive is stored");
}

#[test]
fn turns_come_in_the_order_of_arrival() {
    assert_order(5);
}

#[test]
#[ignore = "slow"]
fn turns_of_a_crowd_come_in_the_order_of_arrival() {
    assert_order(50);
}

/// The time of a request goes on while it waits.
#[test]
fn the_longest_time_ends_a_wait() {
    let (cache, repo) = (Cache::new(), noisy(2 << 20));
    let (first, _) = cache.begin(&repo, "--cache-jobs=1 --cache-size=0 HEAD", 1);
    let limited = repo.clone().with(["-c", "sluice.maxTime=1"]);
    let args = "--cache-jobs=1 --cache-size=0 --cache-wait=1h HEAD";
    let refused = cache.run(&limited, args);
    refused.assert_refused(6, &["fatal: ", "hint: "]);
    assert_eq!(first.finish().code(), 0);
}

/// A client that reads nothing keeps no turn when its archive is complete.
#[test]
fn a_turn_ends_with_the_production() {
    let (cache, repo) = (Cache::new(), noisy(2 << 20));
    let (hung, _) = cache.begin(&repo, "--cache-jobs=1 --cache-always HEAD", 1);
    let args = "--cache-jobs=1 --cache-wait=10 --prefix=a/ HEAD";
    let other = cache.run(&repo, args);
    assert_eq!(other.code(), 0, "{other}");
    assert_eq!(hung.finish().code(), 0);
}

/// However many kinds of archives there are, what is noted of them takes no more room.
#[test]
fn notes_leave_room_for_archives() {
    let (cache, repo) = (Cache::new(), noisy(120_000));
    fs::create_dir(cache.path()).expect("new");
    fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o700)).expect("our own");
    // As builds before left them.
    for number in 0..300 {
        let note = cache.path().join(format!("{number:064x}.latest"));
        fs::write(note, "0".repeat(64)).expect("our own");
    }
    let ask = |args: &str| {
        cache.run(
            &repo,
            &format!("--cache-always --cache-size=1m {args} HEAD"),
        )
    };
    for number in 0..10 {
        let _ = ask(&format!("--exclude=x{number}")).success();
    }
    cache.assert_tidy();
    let _ = (ask("").success(), ask("").success());
    assert_eq!(cache.told()["role"], "hit");
}
