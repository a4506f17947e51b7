//! 2,000 mutations of archives; a tenth of them unless `SLUICE_ROUNDS` is `all`. With `--bytes`, none passes for the original. Without it, every one that a reader of the archive
//! notices is a difference or damage; the readers are the crate `tar` and Python's zipfile.

use std::{
    io::Read,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use super::project;
use crate::support::{Repo, process::run_with_input, rounds};

/// Mutations of a tar, and of a zip.
const TARS: u64 = 1300;
const ZIPS: u64 = 700;

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// The entries of a tar, headers of names included.
fn entries(tar: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut found) = (0, Vec::new());
    while tar[at] != 0 {
        let size = tar::Header::from_byte_slice(&tar[at..at + 512])
            .entry_size()
            .expect("sound");
        let end = at + 512 + (size as usize).next_multiple_of(512);
        found.push(at..end);
        at = end;
    }
    found
}

/// Puts the checksum of the header at `at` right.
pub(super) fn seal(tar: &mut [u8], at: usize) {
    let block = &mut tar[at..at + 512];
    let mut header = tar::Header::from_byte_slice(block).clone();
    header.set_cksum();
    block.copy_from_slice(header.as_bytes());
}

/// A mutation of `tar`, and its name.
fn mutated(tar: &[u8], numbers: &mut Numbers) -> (Vec<u8>, String) {
    let all = entries(tar);
    // The first is the header of the commit.
    let entry = all[1 + numbers.below(all.len() - 1)].clone();
    let other = all[1 + numbers.below(all.len() - 1)].clone();
    let mut changed = tar.to_vec();
    let what = numbers.below(10);
    match what {
        0 => changed[numbers.below(tar.len())] ^= 1 << numbers.below(8),
        1 => {
            let name = tar[entry.start..]
                .iter()
                .position(|byte| *byte == 0)
                .expect("a NUL");
            changed[entry.start + numbers.below(name)] ^= 1 << numbers.below(8);
            seal(&mut changed, entry.start);
        }
        2 => {
            changed[entry.start + 100 + numbers.below(7)] ^= 1 << numbers.below(3);
            seal(&mut changed, entry.start);
        }
        3 => {
            changed[entry.start + 157 + numbers.below(20)] ^= 1 << numbers.below(8);
            seal(&mut changed, entry.start);
        }
        4 => changed
            .splice(other.start..other.start, tar[entry].to_vec())
            .for_each(drop),
        5 => {
            let moved: Vec<u8> = changed.drain(entry.clone()).collect();
            let at = if other.start > entry.start {
                other.start - entry.len()
            } else {
                other.start
            };
            changed.splice(at..at, moved).for_each(drop);
        }
        6 => changed.drain(entry).for_each(drop),
        7 => {
            let mut added = tar[entry.start..entry.start + 512].to_vec();
            let name = added.iter().position(|byte| *byte == 0).expect("a NUL");
            added[name] = b'+';
            added[124..136].copy_from_slice(b"00000000000\0");
            added[156] = b'0';
            seal(&mut added, 0);
            changed
                .splice(entry.start..entry.start, added)
                .for_each(drop);
        }
        8 => {
            changed[entry.start + numbers.below(512)] ^= 1 << numbers.below(8);
            seal(&mut changed, entry.start);
        }
        _ => changed.truncate(numbers.below(tar.len())),
    }
    (changed, format!("kind {what}"))
}

/// Path, type, permissions, target and content.
type Listed = (Vec<u8>, u8, u32, Vec<u8>, Vec<u8>);

/// What a reader finds: path, type, permissions, target and content of each entry, in any order. `None` if it fails.
fn listing(tar: &[u8]) -> Option<Vec<Listed>> {
    let mut archive = tar::Archive::new(tar);
    let mut found = Vec::new();
    for entry in archive.entries().ok()? {
        let mut entry = entry.ok()?;
        let header = entry.header().clone();
        let kind = header.entry_type();
        if kind.is_pax_global_extensions() {
            continue;
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).ok()?;
        // No reader gives a file to everybody because a bit of the group is set; only the owner's counts for git.
        let mode = if kind.is_dir() {
            0
        } else {
            header.mode().ok()? & 0o7100
        };
        let mut path = entry.path_bytes().into_owned();
        while path.ends_with(b"/") {
            path.pop();
        }
        let link = entry.link_name_bytes().unwrap_or_default().into_owned();
        let mode = if kind.is_symlink() { 0 } else { mode };
        found.push((
            path,
            kind.as_byte(),
            mode,
            if kind.is_symlink() { link } else { Vec::new() },
            content,
        ));
    }
    found.sort();
    // A directory is there as well if something below it is.
    let paths: Vec<Vec<u8>> = found.iter().map(|entry| entry.0.clone()).collect();
    let is_implied = |path: &[u8]| {
        let below = [path, b"/"].concat();
        paths.iter().any(|path| path.starts_with(&below))
    };
    found.retain(|entry| entry.1 != b'5' || !is_implied(&entry.0));
    Some(found)
}

fn assert_found(repo: &Repo, archive: &[u8], is_noticed: bool, what: &str) {
    let output = repo.compare_bytes(archive, "--bytes v1");
    assert!(matches!(output.code(), 1 | 11 | 128), "{what}\n{output}");
    if is_noticed {
        let output = repo.compare_bytes(archive, "v1");
        assert!(matches!(output.code(), 1 | 11 | 128), "{what}\n{output}");
    }
}

/// Calls `check` with all numbers below `count`, on two threads.
fn each(count: u64, check: impl Fn(u64) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed) as u64;
                    if number >= count {
                        break;
                    }
                    check(number);
                }
            });
        }
    });
}

#[test]
#[ignore = "slow"]
fn mutations_of_a_tar_are_found() {
    let repo = project();
    let tar = repo.archive_of("--format=tar --prefix=p/ v1");
    let sound = listing(&tar);
    each(rounds(TARS), |number| {
        let (changed, what) = mutated(&tar, &mut Numbers(number));
        if changed != tar {
            let is_noticed = listing(&changed) != sound;
            assert_found(
                &repo,
                &changed,
                is_noticed,
                &format!("number {number}, {what}"),
            );
        }
    });
}

/// A mutation of `zip`.
fn mutated_zip(zip: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut changed = zip.to_vec();
    match numbers.below(4) {
        0 => changed.truncate(numbers.below(zip.len())),
        1 => changed.insert(numbers.below(zip.len()), 0),
        _ => changed[numbers.below(zip.len())] ^= 1 << numbers.below(8),
    }
    changed
}

/// What Python's zipfile finds in each of these zips.
fn zip_listings(repo: &Repo, zips: &[Vec<u8>]) -> Vec<String> {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/it/commands/compare/zip_listing.py"
    );
    let input = zips.iter().flat_map(|zip| {
        let len = format!("{}\n", zip.len());
        [len.into_bytes(), zip.clone()]
    });
    let input: Vec<Vec<u8>> = input.collect();
    let output = run_with_input(repo.command("python3").arg(script), input.concat());
    let lines = String::from_utf8(output.success()).expect("hashes");
    lines.lines().map(str::to_owned).collect()
}

/// All bits of a zip count for `--bytes`, the headers that most readers ignore included.
#[test]
#[ignore = "slow"]
fn mutations_of_a_zip_are_found() {
    let repo = project();
    let zip = repo.archive_of("--format=zip --prefix=p/ v1");
    let count = rounds(ZIPS);
    let changed = (0..count).map(|number| mutated_zip(&zip, &mut Numbers(number)));
    let zips: Vec<Vec<u8>> = std::iter::once(zip.clone()).chain(changed).collect();
    let listings = zip_listings(&repo, &zips);
    assert_eq!(listings.len(), zips.len());
    each(count, |number| {
        let at = number as usize + 1;
        let is_noticed = listings[at] != listings[0];
        assert_found(&repo, &zips[at], is_noticed, &format!("number {number}"));
    });
}
