//! The command line as typed. The module touches no file, no repository, no terminal.
//!
//! [`Args`] declares each option once, with clap, which renders the help and reads the values of git-sluice's own
//! options. The module `grammar` defines the spelling of options, since git's rules differ from clap's. Like git,
//! [`Typed`] reads the words in two passes.

mod amount;
mod bash;
mod delta;
mod extra;
mod filters;
mod fleet;
mod grammar;
mod guide;
mod ours;
mod pathspec_file;
mod serving;
mod sharing;
mod typed;

use std::{ffi::OsString, os::unix::ffi::OsStrExt, path::PathBuf};

use clap::{ArgAction, CommandFactory, Parser};

use crate::base::error::{Error, Result, filled};
pub use amount::{number, size};
pub use delta::{Deletions, Delta};
pub use extra::{Extra, ExtraContent};
pub use filters::{
    Filters, IgnoreErrors, Lfs, OnBinary, OnMissing, Oversize, Profile, SubmoduleMapping,
    Submodules, Symlinks,
};
pub use fleet::Fleet;
pub use guide::{STATUSES, is_completion_helper};
pub use ours::{Guide, GzipDialect, Ours};
pub use pathspec_file::pathspecs_from;
pub use serving::{ByteRange, Serving};
pub use sharing::{Sharing, duration};
pub use typed::{Stop, Typed, Vocabulary};

const NAME: &str = "git sluice";
const USAGE: &str = "\
git sluice [<options>] <tree-ish> [<path>...]
       git sluice [<options>] --base=<tree-ish> <tree-ish> [<path>...]
       git sluice [<options>] --remote=<repo> <tree-ish> [<path>...]
       git sluice [<options>] (--dry-run | --head | --list-missing) <tree-ish>
       git sluice [<options>] --explain=<path>... <tree-ish>
       git sluice [-v] [--verify | --repair] --apply=<dir> [<archive>]
       git sluice [-v] [--verify | --repair] --apply=<dir> <url/view>
       git sluice --verify --apply=<dir>
       git sluice [<options>] --publish=<url/view> <commit> [<path>...]
       git sluice --prune=<url> [--prune-age=<time>]
       git sluice --batch [--batch-jobs=<n>] [--batch-repositories=<n>]
       git sluice --upload-archive <repository>
       git sluice --list | --generate=<text>
       git sluice [<options>] --print-profile";

/// Stream a git tree as an archive: the bytes of 'git archive', several times faster
#[derive(Parser, Clone, Debug)]
#[command(
    name = NAME,
    bin_name = NAME,
    version,
    args_override_self = true,
    override_usage = USAGE,
    max_term_width = 80,
)]
pub struct Args {
    /// Archive format: see --list
    #[arg(long, value_name = "fmt")]
    pub format: Option<OsString>,

    /// Prepend this to each path in the archive
    #[arg(long, value_name = "prefix")]
    pub prefix: Option<OsString>,

    /// Add an untracked file, below the last --prefix in front of this option
    #[arg(long = "add-file", value_name = "file")]
    _add_file: (),

    /// Add a file with this path and content
    #[arg(long = "add-virtual-file", value_name = "path:content")]
    _add_virtual_file: (),

    /// All extra files, in order
    #[arg(skip)]
    pub extras: Vec<Extra>,

    /// Write the archive to this file
    ///
    /// A regular file is written beside its name and renamed when the archive is complete.
    #[arg(short, long, value_name = "file")]
    pub output: Option<PathBuf>,

    /// Also read .gitattributes in the work tree
    #[arg(long)]
    pub worktree_attributes: bool,

    /// Report archived files on stderr
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Set the modification time of all entries
    #[arg(long, value_name = "time")]
    pub mtime: Option<OsString>,

    /// The compression level: the last of `-<number>`
    #[arg(skip)]
    pub level: Option<i32>,

    /// List the archive formats
    #[arg(short, long)]
    pub list: bool,

    /// Retrieve the archive from this repository
    #[arg(long, value_name = "repo")]
    pub remote: Option<OsString>,

    /// Run this command in place of git-upload-archive on the remote side
    #[arg(long, value_name = "command")]
    pub exec: Option<OsString>,

    /// The tree or commit to archive
    #[arg(value_name = "tree-ish")]
    pub treeish: Option<OsString>,

    /// Archive only these paths
    #[arg(value_name = "path")]
    pub paths: Vec<OsString>,

    /// Options that git archive does not have.
    #[command(flatten)]
    pub ours: Ours,

    /// Filters.
    #[command(flatten)]
    pub filters: Filters,

    /// Options about a base.
    #[command(flatten)]
    pub delta: Delta,

    /// Options about entity tags and ranges.
    #[command(flatten)]
    pub serving: Serving,

    /// Options about sharing.
    #[command(flatten)]
    pub sharing: Sharing,

    /// Options about published archives.
    #[command(flatten)]
    pub fleet: Fleet,
}

/// What `--generate` prints.
pub fn guide(guide: Guide) -> String {
    guide::text(guide, Args::command())
}

/// The answer to git's completion, which asks for the options.
pub fn completion_helper() -> String {
    guide::completion_helper(&Args::command())
}

impl Args {
    /// Whether the command line asks for no archive.
    fn asks_only(&self) -> bool {
        self.list
            || self.filters.print_profile
            || self.ours.apply.is_some()
            || self.fleet.prune.is_some()
            || self.ours.generate.is_some()
    }

    /// Refuses options that exclude each other.
    fn check(&self) -> Result<()> {
        if self.list
            && let Some(word) = &self.treeish
        {
            let refused = filled("extra command line parameter '{}'", &[word.as_bytes()]);
            return Err(Error::fatal(refused));
        }
        if self.ours.pathspec_from_file.is_some() && !self.paths.is_empty() {
            return Err(Error::fatal(
                "'--pathspec-from-file' and pathspec arguments cannot be used together",
            ));
        }
        self.check_looks()
    }

    /// Refuses options of an archive with options that only ask about one, and options of a whole archive with a range.
    fn check_looks(&self) -> Result<()> {
        let asked = &self.filters;
        let is_ranged = self.serving.range.is_some();
        let explains = !asked.explain.is_empty();
        let looks = [
            ("dry-run", asked.dry_run),
            ("explain", explains),
            ("head", self.serving.head),
        ];
        let lists = [("list-missing", self.ours.list_missing)];
        let whole = [
            ("manifest", asked.manifest.is_some()),
            ("fail-if-empty", asked.fail_if_empty),
        ];
        let products = [
            ("summary", asked.summary.is_some()),
            ("explain", asked.dry_run && explains),
            ("head", self.serving.head && (asked.dry_run || explains)),
            ("range", is_ranged),
        ];
        let conditions = [("if-none-match", self.serving.if_none_match.is_some())];
        for others in [&looks[..], &whole, &products, &conditions] {
            refuse_together(&lists, others)?;
        }
        for others in [&whole[..], &[("output", self.output.is_some())], &products] {
            refuse_together(&looks, others)?;
        }
        refuse_together(&[("range", is_ranged)], &whole)?;
        let published = [("publish", self.fleet.publish.is_some())];
        let based = [
            ("format", self.format.is_some()),
            ("output", self.output.is_some()),
            ("remote", self.remote.is_some()),
            ("base", self.delta.base.is_some()),
            ("cache", self.sharing.cache.is_some()),
        ];
        for others in [&lists[..], &looks, &whole, &products, &conditions, &based] {
            refuse_together(&published, others)?;
        }
        Ok(())
    }
}

/// An option, and whether the option was given.
type Given = (&'static str, bool);

/// Refuses one of `some` together with one of `others`.
fn refuse_together(some: &[Given], others: &[Given]) -> Result<()> {
    let given = |options: &[Given]| {
        let given = options.iter().find(|(_, given)| *given);
        given.map(|(name, _)| *name)
    };
    match given(some).zip(given(others)) {
        Some((one, other)) => Err(Error::fatal(format!(
            "options '--{one}' and '--{other}' cannot be used together"
        ))),
        None => Ok(()),
    }
}
