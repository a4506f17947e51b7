//! Clients that read one archive at a time: slow ones, and such that go away or die.

use std::{
    fs::File,
    io::Write,
    os::{fd::OwnedFd, unix::fs::FileExt},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use sluice_core::cache::{Account, CacheRequest, Failure, Key, Settings, deliver};

use super::{Cache, Dice, LARGE, noisy};
use crate::support::{forge, process::Running, rounds, tar_listing::is_complete};

/// A client that never reads stops neither the process that writes the archive nor the other clients.
#[test]
#[ignore = "slow"]
fn a_client_that_hangs_holds_up_nobody() {
    let (cache, repo) = (Cache::new(), noisy(LARGE));
    let expected = repo.archive(["HEAD"]).success();
    let (producer, _) = cache.begin(&repo, "HEAD", 1);
    for _ in 0..2 {
        let follower = cache.run(&repo, "HEAD");
        assert!(
            follower.code() == 0 && follower.stdout == expected,
            "{follower}"
        );
        let role = cache.told()["role"].take();
        assert!(role == "follow" || role == "hit", "{role}");
        assert_eq!(cache.told()["produced"], 0);
    }
    let rest = producer.finish();
    assert!(rest.code() == 0 && rest.stdout == expected[1..], "{rest}");
    cache.assert_role(&repo, "HEAD", "hit");
    cache.assert_tidy();
}

/// Nothing is produced that nobody wants, and nothing stays of it.
#[test]
fn what_is_written_ahead_is_bounded() {
    let (cache, repo) = (Cache::new(), noisy(LARGE));
    let (producer, _) = cache.begin(&repo, "HEAD", 1);
    thread::sleep(Duration::from_millis(300));
    let held: u64 = std::fs::read_dir(cache.path())
        .expect("made by the producer")
        .map(|file| file.expect("readable").metadata().expect("there").len())
        .sum();
    assert!(held < 20 << 20, "{held}");
    assert_eq!(producer.hang_up().code(), 141);
    assert!(cache.archives().is_empty());
    cache.assert_tidy();
}

/// The producer goes on for those who read along.
#[test]
fn a_leader_outlives_its_client() {
    let (cache, repo) = (Cache::new(), noisy(LARGE));
    let expected = repo.archive(["HEAD"]).success();
    let (producer, _) = cache.begin(&repo, "HEAD", 1);
    let (follower, start) = cache.begin(&repo, "HEAD", 1 << 20);
    let producer = thread::spawn(move || producer.hang_up().code());
    let rest = follower.finish();
    assert!(rest.code() == 0 && [start, rest.stdout].concat() == expected);
    assert_eq!(producer.join().expect("waits only"), 141);
    cache.assert_role(&repo, "HEAD", "hit");
    cache.assert_tidy();
}

/// A client whose time is over gets no more bytes, whether another process creates the archive or it is complete.
#[test]
#[ignore = "slow"]
fn the_longest_time_ends_readers() {
    let (cache, repo) = (Cache::new(), noisy(LARGE));
    let limited = repo.clone().with(["-c", "sluice.maxTime=2"]);
    let (producer, _) = cache.begin(&repo, "--cache-always HEAD", 1);
    let follower = cache.begin(&limited, "HEAD", 1);
    thread::sleep(Duration::from_millis(2200));
    let assert_late = |(reader, start): (Running, Vec<u8>)| {
        let cut = reader.finish();
        assert_eq!(cut.code(), 13, "{cut}");
        let refused = "fatal: the archive takes longer than sluice.maxTime allows\n";
        assert!(cut.messages() == refused && !is_complete(&[start, cut.stdout].concat()));
    };
    assert_late(follower);
    assert_eq!(producer.finish().code(), 0);
    cache.assert_role(&repo, "HEAD", "hit");
    let reader = cache.begin(&limited, "HEAD", 1);
    thread::sleep(Duration::from_millis(2200));
    assert_late(reader);
}

/// Two hundred producers are killed at random moments, and half of the others leave: whoever stays has all bytes.
#[test]
#[ignore = "slow"]
fn producers_that_are_killed() {
    let repo = noisy(6 << 20);
    let expected = repo.archive(["HEAD"]).success();
    let mut dice = Dice::new(1);
    let mut in_the_middle = 0;
    let all = rounds(200);
    for round in 0..all {
        let cache = Cache::new();
        let producer = cache.start(&repo, "HEAD");
        let mut clients: Vec<_> = (0..4).map(|_| cache.start(&repo, "HEAD")).collect();
        let mut pause = || thread::sleep(Duration::from_micros(dice.roll(10_000)));
        let is_at_work = || cache.names().iter().any(|name| name.ends_with(".part"));
        let leaving = [clients.remove(0), clients.remove(0)];
        let waiting: Vec<_> = clients
            .into_iter()
            .map(|client| thread::spawn(move || client.finish()))
            .collect();
        // On a busy machine the producer begins late; on an idle one it may have ended.
        let begun = (0..1000).any(|_| {
            thread::sleep(Duration::from_micros(100));
            is_at_work()
        });
        pause();
        in_the_middle += u64::from(begun && is_at_work());
        producer.signal(Signal::KILL);
        for client in leaving {
            pause();
            let _ = client.hang_up();
        }
        for client in waiting {
            let output = client.join().expect("waits only");
            let is_whole = output.code() == 0 && output.stdout == expected;
            assert!(is_whole, "round {round}: {output}");
        }
        cache.assert_role(&repo, "HEAD --prefix=a/", "producer");
        cache.assert_tidy();
    }
    assert!(
        in_the_middle > all / 10,
        "{in_the_middle} producers were at work"
    );
}

/// Another process goes on for a producer that was killed, and fails before it comes to where the producer was: what its client
/// has does not end between two entries.
#[test]
fn a_second_attempt_that_fails() {
    let (cache, repo) = (Cache::new(), noisy(LARGE));
    repo.write("first", "first\n");
    repo.commit("first", "first");
    let blob = forge::loose_file(&repo, &repo.git(["rev-parse", "HEAD:first"]));
    let blob = blob.strip_prefix(repo.path().join(".git")).expect("below");
    let script = format!("cp -r .git fork && rm -f fork/{}", blob.display());
    repo.script(&script);
    let (producer, _) = cache.begin(&repo, "HEAD", 1);
    let (follower, _) = cache.begin(&repo.clone().at("fork"), "HEAD", 1 << 20);
    producer.signal(Signal::KILL);
    let rest = follower.finish();
    assert_ne!(rest.code(), 0, "{rest}");
    let last = rest.stdout.last_chunk::<512>().expect("it went on");
    assert!(last.starts_with(b"incomplete-archive\0"), "{rest}");
}

/// Who has opened the file of the archive reads what is written there, even if the producer has left it.
#[test]
fn nothing_is_written_behind_the_last_reader() {
    let cache = Cache::new();
    let settings = Settings {
        directory: cache.path(),
        size: 64 << 20,
        age: Duration::from_secs(60),
        always: false,
        finish: false,
        jobs: None,
        wait: None,
        fault: None,
    };
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = File::from(OwnedFd::from(writer));
    let order = CacheRequest {
        family: None,
        key: Ok(Key([7; 32])),
        end: None,
        is_readable: &|_| true,
        is_shareable: &|| true,
    };
    let content = |file: &File| {
        let mut content = vec![0; 1 << 20];
        let len = file.read_at(&mut content, 0).expect("our own");
        content.truncate(len);
        content
    };
    let produce = |archive: &mut (dyn Write + Send)| {
        let names = cache.names();
        let part = names.iter().find(|name| name.ends_with(".part"));
        let part = File::open(cache.path().join(part.expect("it leads"))).expect("readable");
        while archive.write_all(&[1; 512]).is_ok() {}
        let left = content(&part);
        assert!(archive.write_all(&[2; 512]).is_err());
        assert!(content(&part) == left);
        Err(())
    };
    let outcome = deliver(&settings, order, &output, produce, &mut Account::default());
    assert!(matches!(outcome, Err(Failure::Producer(()))));
    cache.assert_tidy();
}
