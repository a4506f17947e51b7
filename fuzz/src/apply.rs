//! `apply`: pax records and tar headers are applied or refused, and nothing beside the directory changes.
//!
//! The first byte chooses what the directory holds. The checksum of each header is put right, so that the
//! fields behind it are read.

use std::{cell::RefCell, fs, os::unix::fs::symlink, path::Path};

use sluice_base::{progress::Console, working_directory::WorkingDirectory};
use sluice_fleet::apply::{ApplyOptions, Archive, Check, Reports, TargetDirectory};
use tempfile::TempDir;

const BLOCK: usize = 512;
const MAGIC: &[u8] = b"ustar\0";
const MAGIC_AT: usize = 257;
const CHECKSUM_AT: usize = 148;
const CHECKSUM_LEN: usize = 8;
/// What a directory says of itself that holds the base of the deltas in the corpus.
const STATE: &str = "holds aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n";
const OUTSIDE: &str = "untouched\n";
/// Compressed archives are not for here: most of a run would go into decompressing.
const COMPRESSED: [&[u8]; 2] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd"];

thread_local! {
    static SCRATCH: RefCell<TempDir> = RefCell::new(scratch());
}

fn scratch() -> TempDir {
    let scratch = TempDir::new().expect("temporary directories can be made");
    fs::write(scratch.path().join("outside"), OUTSIDE).expect("our own");
    scratch
}

/// Tries `input`.
pub fn run(input: &[u8]) {
    let Some((&choice, archive)) = input.split_first() else {
        return;
    };
    if COMPRESSED.iter().any(|magic| archive.starts_with(magic)) {
        return;
    }
    SCRATCH.with_borrow(|scratch| {
        let directory = scratch.path().join("directory");
        if choice % 2 == 1 {
            lay_down(&directory).expect("our own");
        }
        let (mut differences, mut messages) = (std::io::sink(), std::io::sink());
        let console = Console::new(&mut messages, None);
        let reports = Reports {
            differences: &mut differences,
            console,
        };
        let archive = with_checksums(archive);
        let archive = Archive {
            content: &archive[..],
            len: None,
            origin: None,
        };
        let check = [Check::Nothing, Check::Verify, Check::Repair][usize::from(choice / 2 % 3)];
        let _ = sluice_fleet::apply::apply(
            &TargetDirectory {
                directory: WorkingDirectory::Current.file(&directory),
                threads: None,
            },
            archive,
            ApplyOptions {
                check,
                overwrite: choice / 6 % 2 == 1,
            },
            reports,
        );
        let _ = fs::remove_dir_all(&directory);
        assert_nothing_outside(scratch.path());
    });
}

/// A base.
fn lay_down(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory.join("d/e"))?;
    fs::write(directory.join(".git-sluice"), STATE)?;
    fs::write(directory.join("d/f"), "file\n")?;
    fs::write(directory.join("f"), "file\n")?;
    symlink("../outside", directory.join("l"))?;
    symlink("..", directory.join("up"))
}

fn with_checksums(archive: &[u8]) -> Vec<u8> {
    let mut archive = archive.to_vec();
    for header in archive.chunks_exact_mut(BLOCK) {
        if header[MAGIC_AT..].starts_with(MAGIC) {
            let field = CHECKSUM_AT..CHECKSUM_AT + CHECKSUM_LEN;
            header[field.clone()].fill(b' ');
            let sum: u32 = header.iter().copied().map(u32::from).sum();
            header[field].copy_from_slice(format!("{sum:07o}\0").as_bytes());
        }
    }
    archive
}

fn assert_nothing_outside(scratch: &Path) {
    let outside = fs::read_to_string(scratch.join("outside"));
    assert_eq!(outside.expect("our own"), OUTSIDE);
    let entries = fs::read_dir(scratch).expect("our own");
    assert_eq!(entries.count(), 1, "something beside the directory");
}
