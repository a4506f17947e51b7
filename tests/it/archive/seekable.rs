//! `tar.zst`: frames that can be read alone, and the table that finds them.

use std::fs;
use std::ops::Range;

use sluice_format::zstd::FRAME;

use crate::support::process::run_with_input;
use crate::support::{Repo, forge, installed};

/// Where each frame lies by the seek table, with the number of bytes in the frame. This is the format's own
/// specification, read from the end.
fn seek_table(archive: &[u8]) -> Vec<(Range<usize>, usize)> {
    let word = |at: usize| {
        let bytes = archive[at..][..4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes) as usize
    };
    let footer = archive.len() - 9;
    assert_eq!(word(footer + 5), 0x8f92_eab1);
    assert_eq!(archive[footer + 4], 0, "no checksums in the table");
    let entries = footer - 8 * word(footer);
    let head = entries - 8;
    assert_eq!(word(head), 0x184d_2a5e);
    assert_eq!(word(head + 4), archive.len() - entries);
    let mut start = 0;
    let frames = (entries..footer).step_by(8).map(|entry| {
        let frame = start..start + word(entry);
        start = frame.end;
        (frame, word(entry + 4))
    });
    let frames = frames.collect();
    assert_eq!(start, head, "nothing between the frames");
    frames
}

/// Each frame of `archive` holds its part of `tar`, and nothing else is in the archive.
#[track_caller]
fn assert_frames(archive: &[u8], tar: &[u8]) {
    let frames = seek_table(archive);
    let parts: Vec<_> = tar.chunks(FRAME).collect();
    assert_eq!(frames.len(), parts.len());
    for (part, (frame, length)) in parts.iter().zip(frames).rev() {
        assert_eq!(length, part.len());
        let plain = zstd::bulk::decompress(&archive[frame], length).expect("a frame");
        assert!(plain == *part);
    }
}

#[test]
fn frames_hold_their_parts_of_the_tar() {
    let repo = Repo::from("big");
    let tar = repo.archive(["HEAD"]).success();
    let archive = repo.sluice(["-1", "--format=tar.zst", "HEAD"]).success();
    assert_frames(&archive, &tar);
    for limits in [
        ["-j1", "--memory=1m"],
        ["-j2", "--memory=64m"],
        ["-j8", "--memory=1g"],
    ] {
        let args = limits.into_iter().chain(["-1", "--format=tar.zst", "HEAD"]);
        assert!(repo.sluice(args).success() == archive, "{limits:?}");
    }
}

#[test]
fn zstd_reads_all_frames() {
    if !installed("zstd") {
        return;
    }
    let repo = Repo::from("big");
    let tar = repo.archive(["HEAD"]).success();
    let archive = repo.sluice(["--format=tar.zst", "HEAD"]).success();
    let mut zstd = repo.command("zstd");
    let plain = run_with_input(zstd.args(["-d", "-c", "--no-sparse"]), archive).success();
    assert!(plain == tar);
}

#[test]
fn an_empty_archive() {
    let repo = Repo::init();
    let tree = repo.git_with_input(["mktree"], "");
    let tar = repo.archive([&tree]).success();
    let archive = repo.sluice(["--format=tar.zst", &tree]).success();
    assert_eq!(seek_table(&archive).len(), 1);
    assert_frames(&archive, &tar);
}

/// Archives have 10240 bytes or a multiple, so five frames are the fewest that an archive can fill.
#[test]
fn full_frames_and_no_more() {
    let repo = Repo::init();
    let tree = repo.git_with_input(["mktree"], "");
    repo.write("zeros", vec![0; 5 * FRAME - 4096]);
    let archive = repo.sluice(["--add-file=zeros", "--format=tar.zst", &tree]);
    let archive = archive.success();
    let lengths = seek_table(&archive).into_iter().map(|(_, length)| length);
    assert_eq!(lengths.collect::<Vec<_>>(), [FRAME; 5]);
    let plain = zstd::decode_all(&archive[..]).expect("sound");
    assert_frames(&archive, &plain);
}

/// The first file fills frames; the second one is damaged.
#[test]
#[ignore = "slow"]
fn a_failure_leaves_no_table() {
    let repo = Repo::init();
    let noise: Vec<u8> = (0..3 * FRAME as u32)
        .flat_map(|number| (number.wrapping_mul(2_654_435_761) >> 24).to_le_bytes())
        .collect();
    repo.write("a", &noise);
    repo.write("b", "damaged");
    repo.git(["-c", "core.compression=0", "add", "a", "b"]);
    repo.git(["commit", "-q", "-m", "damaged"]);
    let object = forge::loose_file(&repo, "HEAD:b");
    let mut bytes = fs::read(&object).expect("git wrote it");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::remove_file(&object).expect("our own");
    fs::write(&object, bytes).expect("our own");
    for threads in ["-j1", "-j2", "-j8"] {
        let output = repo.sluice([threads, "-1", "--format=tar.zst", "HEAD"]);
        assert_ne!(output.code(), 0, "{output}");
        assert!(output.stdout.len() > 1000, "{output}");
        let error = zstd::decode_all(&output.stdout[..]).expect_err("it is cut");
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{error}");
    }
}
