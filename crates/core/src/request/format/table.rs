//! The formats, one row each. A new format needs a row here, with the functions that are named in it, and a writer in `archive`.

use bstr::{BStr, BString, ByteSlice};
use sluice_deflate::{Dialect, Level};

use crate::output::report::Positions;
use sluice_base::error::{Error, Result};
use sluice_format::zstd;

/// The format of an archive, with its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain tar.
    Tar,
    /// Tar in a gzip stream, with the bytes of this program.
    TarGz(Level, Dialect),
    /// Tar in a zstd stream.
    TarZst(zstd::Level),
    /// Tar, piped through this command.
    Filtered(BString),
    /// Zip.
    Zip(Level),
}

/// The facts about a format that hold at each of its levels.
#[derive(Debug)]
pub struct FormatRow {
    /// The name of what git-sluice itself writes.
    pub name: &'static str,
    /// The last extensions of files that promise the format, in lower case: those that GNU tar, bsdtar and 7-Zip know.
    pub(super) extensions: &'static [&'static str],
    /// Whether git has the format.
    pub(super) is_of_git: bool,
    /// What git-sluice itself writes.
    pub container: Container,
    /// The type as IANA or custom has it.
    pub media_type: &'static str,
    /// The positions of entries that are known to a manifest.
    pub positions: Positions,
    /// Whether the format has this level.
    pub(super) has_level: fn(i32) -> bool,
    /// The format at a level.
    pub(super) at_level: AtLevel,
}

/// Makes a format of a level. The second argument decides whose bytes a tar.gz has.
type AtLevel = fn(Option<i32>, &dyn Fn() -> Result<Dialect>) -> Result<Format>;

/// What git-sluice itself writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// A plain tar.
    Tar,
    /// A tar, compressed as a whole.
    CompressedTar,
    /// A zip, whose files are compressed one by one.
    Zip,
}

pub(super) const TAR: FormatRow = FormatRow {
    name: "tar",
    extensions: &[],
    is_of_git: true,
    container: Container::Tar,
    media_type: "application/x-tar",
    positions: Positions::InArchive,
    has_level: |_| false,
    at_level: |_, _| Ok(Format::Tar),
};

pub(super) const GZIP: FormatRow = FormatRow {
    name: "tar.gz",
    extensions: &["gz", "tgz", "taz"],
    is_of_git: true,
    container: Container::CompressedTar,
    media_type: "application/gzip",
    positions: Positions::Untold,
    // As in git, a bad level is an error of the compressor.
    has_level: |_| true,
    at_level: |level, dialect| Ok(Format::TarGz(deflate_level(level)?, dialect()?)),
};

pub(super) const ZIP: FormatRow = FormatRow {
    name: "zip",
    extensions: &["zip"],
    is_of_git: true,
    container: Container::Zip,
    media_type: "application/zip",
    positions: Positions::InArchive,
    has_level: |level| matches!(level, 0..=9),
    at_level: |level, _| Ok(Format::Zip(deflate_level(level)?)),
};

pub(super) const ZSTD: FormatRow = FormatRow {
    name: "tar.zst",
    extensions: &["zst", "tzst"],
    is_of_git: false,
    container: Container::CompressedTar,
    media_type: "application/zstd",
    positions: Positions::InFrames(zstd::FRAME as u64),
    has_level: |level| zstd_level(level).is_some(),
    at_level: |level, _| {
        let level = level.and_then(zstd_level);
        Ok(Format::TarZst(level.unwrap_or(zstd::Level::DEFAULT)))
    },
};

/// A command of the configuration gets a plain tar, and may send any bytes.
const FILTERED: FormatRow = FormatRow {
    media_type: "application/octet-stream",
    positions: Positions::Untold,
    ..TAR
};

/// The rows that a name of a file can promise.
pub(super) const COMPRESSED: [&FormatRow; 3] = [&GZIP, &ZSTD, &ZIP];

fn deflate_level(level: Option<i32>) -> Result<Level> {
    match level {
        None => Ok(Level::DEFAULT),
        Some(level) => u8::try_from(level)
            .ok()
            .and_then(Level::new)
            .ok_or_else(|| Error::fatal("deflateInit2: stream consistency error (no message)")),
    }
}

fn zstd_level(level: i32) -> Option<zstd::Level> {
    zstd::Level::new(level as u32)
}

impl Format {
    /// The format of published archives, whose bytes all readers know.
    pub const PUBLISHED: Self = Self::TarZst(zstd::Level::DEFAULT);

    /// The row of the format.
    pub fn row(&self) -> &'static FormatRow {
        match self {
            Self::Tar => &TAR,
            Self::TarGz(..) => &GZIP,
            Self::TarZst(_) => &ZSTD,
            Self::Zip(_) => &ZIP,
            Self::Filtered(_) => &FILTERED,
        }
    }

    /// The command of the configuration that sends the archive, if one does.
    pub fn command(&self) -> Option<&BStr> {
        match self {
            Self::Filtered(command) => Some(command.as_bstr()),
            _ => None,
        }
    }

    /// Whether the archive is a plain tar: its length can be known, and parts of it can be made.
    pub fn is_plain_tar(&self) -> bool {
        *self == Self::Tar
    }

    /// What decides about the bytes in addition to the name of the row, by name.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Tar | Self::Filtered(_) => Vec::new(),
            Self::TarGz(level, dialect) => vec![
                ("level", format!("{level:?}")),
                ("dialect", format!("{dialect:?}")),
            ],
            Self::TarZst(level) => vec![("level", format!("{level:?}"))],
            Self::Zip(level) => vec![("level", format!("{level:?}"))],
        }
    }
}
