//! The same through the command: on any number of threads, in every dialect.

use std::io::Read;

use flate2::read::GzDecoder;

use super::originals::{gzip, has_gzip};
use super::samples::Kind;
use crate::support::process::run_with_input;
use crate::support::{Repo, installed};

/// A repository with some megabytes of each kind of data that is worth it.
fn medley() -> Repo {
    let repo = Repo::init();
    for (number, kind) in [Kind::Source, Kind::Mixed, Kind::Random, Kind::Zeros]
        .into_iter()
        .enumerate()
    {
        repo.write(format!("file{number}"), kind.bytes(600_000, number as u64));
    }
    repo.git(["add", "."]);
    repo.git(["commit", "-q", "-m", "medley"]);
    repo
}

#[test]
fn threads_change_no_byte() {
    let repo = medley();
    for (format, level) in [
        ("tgz", "-0"),
        ("tgz", "-1"),
        ("tgz", "-6"),
        ("tgz", "-9"),
        ("zip", "-6"),
        ("zip", "-9"),
    ] {
        let format = format!("--format={format}");
        let expected = repo.archive([&format, level, "HEAD"]).success();
        for threads in ["1", "2", "3", "8"] {
            let output = repo.sluice(["-j", threads, &format, level, "HEAD"]);
            assert!(
                output.stdout == expected,
                "{format} {level} {threads}\n{output}"
            );
        }
    }
}

#[test]
fn gnu_is_what_gzip_makes() {
    if !has_gzip() {
        return;
    }
    let repo = medley();
    let tar = repo.archive(["HEAD"]).success();
    for level in [1, 6, 9] {
        let expected = gzip(level, &tar);
        for threads in ["-j1", "-j2", "-j8"] {
            let level = format!("-{level}");
            let args = ["--gzip-compat=gnu", "--format=tgz", threads, &level, "HEAD"];
            let output = repo.sluice(args);
            assert!(output.stdout == expected, "{threads} {level}\n{output}");
        }
    }
    // In a zip file there is git's dialect alone.
    let expected = repo.archive(["--format=zip", "HEAD"]).success();
    let zip = repo.sluice(["--gzip-compat=gnu", "--format=zip", "HEAD"]);
    assert!(zip.stdout == expected, "{zip}");
}

/// gzip, zlib, zlib-rs and libdeflate, each with its own idea of what is allowed.
#[test]
fn every_decoder_gives_the_tar_back() {
    let repo = medley();
    let tar = repo.archive(["HEAD"]).success();
    for dialect in ["git", "gnu"] {
        let dialect = format!("--gzip-compat={dialect}");
        let compressed = repo.sluice([&dialect, "--format=tgz", "HEAD"]).success();

        let mut by_zlib = Vec::new();
        let mut zlib = GzDecoder::new(compressed.as_slice());
        zlib.read_to_end(&mut by_zlib).expect("zlib reads it");
        assert!(by_zlib == tar, "zlib");

        let mut by_libdeflate = vec![0; tar.len()];
        let mut libdeflate = libdeflater::Decompressor::new();
        let length = libdeflate.gzip_decompress(&compressed, &mut by_libdeflate);
        assert_eq!(length, Ok(tar.len()), "libdeflate");
        assert!(by_libdeflate == tar, "libdeflate");

        let mut by_zlib_rs = vec![0; tar.len()];
        let config = zlib_rs::InflateConfig { window_bits: 31 };
        let (output, code) = zlib_rs::decompress_slice(&mut by_zlib_rs, &compressed, config);
        assert!(code == zlib_rs::ReturnCode::Ok && output == tar, "zlib-rs");

        if installed("gzip") {
            let mut gzip = repo.command("gzip");
            let by_gzip = run_with_input(gzip.arg("-dc"), compressed).success();
            assert!(by_gzip == tar, "gzip");
        }
    }
}
