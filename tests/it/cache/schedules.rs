//! Random schedules of clients that come, read a part, go or die, while entries are damaged and removed.

use std::{fs, io::Read, os::unix::fs::FileExt, thread, time::Duration};

use rustix::process::Signal;

use super::{Cache, Dice, noisy};
use crate::support::rounds;

/// Every stream that ends well is git's, and none ends badly.
#[test]
#[ignore = "slow"]
fn every_complete_stream_is_gits() {
    let repo = noisy(2 << 20);
    let expected = ["--prefix=a/", "--prefix=b/"]
        .map(|prefix| (prefix, repo.archive([prefix, "HEAD"]).success()));
    for schedule in 1..=rounds(200) {
        let cache = Cache::new();
        let mut dice = Dice::new(schedule);
        let mut waiting = Vec::new();
        for _ in 0..6 {
            let (prefix, archive) = &expected[usize::from(dice.roll(3) == 0)];
            let size = ["2m", "5m", "64m"][usize::try_from(dice.roll(3)).expect("small")];
            let always = ["", "--cache-always"][usize::from(dice.roll(2) == 0)];
            let args = format!("{always} --cache-size={size} {prefix} HEAD");
            let mut client = cache.start(&repo, &args);
            let mut start = vec![0; usize::try_from(dice.roll(1 << 20)).expect("small")];
            match dice.roll(6) {
                0 => client.signal(Signal::KILL),
                1 => drop(client.hang_up()),
                2 => {
                    client.stdout().read_exact(&mut start).expect("it began");
                    drop(client.hang_up());
                }
                _ => waiting.push((archive, thread::spawn(move || client.finish()))),
            }
            thread::sleep(Duration::from_micros(dice.roll(6_000)));
            let is_read = waiting.iter().any(|(_, client)| !client.is_finished());
            spoil(&cache, &mut dice, is_read);
        }
        for (archive, client) in waiting {
            let output = client.join().expect("waits only");
            let is_whole = output.code() == 0 && output.stdout == *archive;
            assert!(is_whole, "schedule {schedule}: {output}");
        }
        let _ = cache.run(&repo, "--prefix=c/ HEAD").success();
        cache.assert_tidy();
    }
}

/// Sometimes removes a complete archive, or damages one unless somebody may read it: what is damaged between the check and
/// the reader cannot be made good.
fn spoil(cache: &Cache, dice: &mut Dice, is_read: bool) {
    let Some(name) = cache.archives().pop() else {
        return;
    };
    let path = cache.path().join(name);
    match dice.roll(4) {
        0 => drop(fs::remove_file(path)),
        1 if !is_read => {
            if let Ok(file) = fs::File::options().write(true).open(path) {
                file.write_all_at(b"X", 4).expect("our own");
            }
        }
        _ => {}
    }
}
