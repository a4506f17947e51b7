//! The options of `git archive` that decide which files an archive has, under which names, in which format.

use std::ffi::OsString;

use super::{
    amount::permissions,
    extra::Extra,
    names::{BYTES, OF_GIT, PATHS},
};

/// The hidden option that carries the compression level to clap: the last of `-<number>`.
pub(super) const LEVEL: &str = "level";

/// The tree, the paths, and what each entry looks like.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ContentOptions {
    /// The tree or commit to archive
    #[arg(value_name = "tree-ish")]
    pub treeish: Option<OsString>,

    /// Archive only these paths
    #[arg(value_name = "path")]
    pub paths: Vec<OsString>,

    /// Prepend this to each path in the archive
    #[arg(long, value_name = "prefix")]
    pub prefix: Option<OsString>,

    /// Add an untracked file below the last --prefix
    #[arg(long = "add-file", value_name = "file")]
    pub _add_file: (),

    /// Add all files below an untracked directory
    ///
    /// They go below the last --prefix, in the order of their names. Links stay links, and .git is left out.
    #[arg(long = "add-directory", value_name = "dir", help_heading = PATHS)]
    pub _add_directory: (),

    /// Add a file with this path and content
    #[arg(long = "add-virtual-file", help_heading = OF_GIT, value_name = "path:content")]
    pub _add_virtual_file: (),

    /// All extra files, in order
    #[arg(skip)]
    pub extras: Vec<Extra>,

    /// Also read .gitattributes in the work tree
    #[arg(long)]
    pub worktree_attributes: bool,

    /// Set the modification time of all entries
    #[arg(long, value_name = "time")]
    pub mtime: Option<OsString>,

    /// Promise bytes that never change
    ///
    /// They match the bytes that git archive writes without any configuration, in UTC, and depend on the tree-ish and the
    /// options alone. An archive fails with status 12 if a file contains data that can change, such as names of tags.
    #[arg(long, conflicts_with = "worktree_attributes", help_heading = BYTES)]
    pub stable: bool,

    /// Remove these permission bits from all entries, such as 0022
    #[arg(long, value_name = "octal", value_parser = permissions, help_heading = BYTES)]
    pub umask: Option<u32>,

    /// Archive this directory as if it were the root
    ///
    /// Names and paths on the command line count from the directory. Attribute files above it still apply.
    #[arg(long, value_name = "dir", help_heading = PATHS)]
    pub relative: Option<OsString>,

    /// Archive only the paths in this file, one a line
    ///
    /// `-` is standard input.
    #[arg(long, value_name = "file", help_heading = PATHS)]
    pub pathspec_from_file: Option<OsString>,

    /// Expect a NUL after each path in --pathspec-from-file
    #[arg(long, help_heading = PATHS)]
    pub pathspec_file_nul: bool,

    /// Accept paths that match no file
    #[arg(long, help_heading = PATHS)]
    pub ignore_unmatch: bool,
}

impl ContentOptions {
    /// A copy with `extras`, which the scanner finds.
    pub(super) fn with(&self, extras: Vec<Extra>) -> Self {
        Self {
            extras,
            ..self.clone()
        }
    }
}

/// The format, and its bytes.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Encoding {
    /// Choose the archive format; --list prints all
    ///
    /// -0 to -9 set the compression level of a tar.gz or a zip, -1 to -19 that of a tar.zst.
    #[arg(long, value_name = "fmt")]
    pub format: Option<OsString>,

    /// The compression level, which users write as `-<number>`.
    #[command(flatten)]
    pub level: LevelOption,

    /// Compress a tar.gz with the bytes of git or of GNU gzip
    ///
    /// Default: sluice.gzipCompat, else git.
    #[arg(long, value_name = "program", value_enum, help_heading = BYTES)]
    pub gzip_compat: Option<GzipCompat>,
}

/// The compression level: the last of `-<number>`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct LevelOption {
    /// The level as words after the scanner have it.
    #[arg(long = LEVEL, hide = true, allow_hyphen_values = true)]
    pub level: Option<i32>,
}

/// `--gzip-compat`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum GzipCompat {
    /// The bytes of git since 2.38, made by zlib
    #[default]
    Git,
    /// The bytes of gzip -n, made by older versions of git and published by code hosts
    Gnu,
}
