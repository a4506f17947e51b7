//! Archives that are the same whenever they are made, and their checksums.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use gix_hash::Kind;

use crate::layout::InstalledFile;

/// Writes `files` below the folder `name` as a tar.gz. All files have the same time and belong to root.
pub(super) fn write(
    out: impl Write,
    name: &str,
    files: &[InstalledFile],
    time: u64,
) -> io::Result<()> {
    let mut tar = tar::Builder::new(GzEncoder::new(out, Compression::best()));
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_by_key(|file| &file.path);
    for file in sorted {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.content.len() as u64);
        header.set_mode(file.mode());
        header.set_mtime(time);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(
            &mut header,
            format!("{name}/{}", file.path),
            &file.content[..],
        )?;
    }
    tar.into_inner()?.finish()?.flush()
}

/// Unpacks the archive at `path` into `directory`, which is made anew.
pub(super) fn unpack(path: &Path, directory: &Path) -> Result<PathBuf> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    let tar = GzDecoder::new(File::open(path)?);
    tar::Archive::new(tar).unpack(directory)?;
    Ok(directory.to_owned())
}

/// Writes the checksums of `files` as `sha256sum --check` reads them, and returns them.
pub(super) fn write_sums(path: &Path, files: &[PathBuf]) -> Result<String> {
    let mut sums = String::new();
    for file in files {
        let name = file.file_name().context("a file has a name")?;
        let sum = sha256(&fs::read(file)?)?;
        sums += &format!("{sum}  {}\n", name.display());
    }
    fs::write(path, &sums)?;
    print!("{}:\n{sums}", path.display());
    Ok(sums)
}

pub(super) fn sha256(content: &[u8]) -> Result<gix_hash::ObjectId> {
    let mut hasher = gix_hash::hasher(Kind::Sha256);
    hasher.update(content);
    Ok(hasher.try_finalize()?)
}

#[cfg(test)]
mod tests {
    use super::{sha256, write};
    use crate::layout::InstalledFile;

    fn file(path: &'static str, content: &str) -> InstalledFile {
        InstalledFile {
            path: path.to_owned(),
            content: content.into(),
        }
    }

    #[test]
    fn order_and_time_are_fixed() {
        let (one, other) = (file("bin/a", "a"), file("share/b", "b"));
        let archive = |files: &[InstalledFile]| {
            let mut bytes = Vec::new();
            write(&mut bytes, "name", files, 7).expect("memory");
            bytes
        };
        let first = archive(&[one.clone(), other.clone()]);
        assert_eq!(first, archive(&[other, one]));
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(&first[..]));
        let entries = tar.entries().expect("a tar").map(|entry| {
            let entry = entry.expect("an entry");
            let (path, header) = (entry.path().expect("a path"), entry.header());
            let (mode, time) = (header.mode().expect("mode"), header.mtime().expect("time"));
            format!("{} {mode:o} {time}", path.display())
        });
        let listing: Vec<_> = entries.collect();
        assert_eq!(listing, ["name/bin/a 755 7", "name/share/b 644 7"]);
    }

    #[test]
    fn sums_are_those_of_sha256() {
        let sum = sha256(b"abc").expect("no collision").to_string();
        assert!(sum.starts_with("ba7816bf8f01cfea"), "{sum}");
    }
}
