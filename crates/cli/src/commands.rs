//! The commands, with the options of each. Help, manual pages, completions and the scanner all read these definitions.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    time::Duration,
};

use clap::{CommandFactory, Parser, ValueEnum};

use super::{
    amount::{at_least, part},
    args::Args,
    content::{ContentOptions, Encoding, LevelOption},
    delta::Delta,
    extra::Extra,
    filters::Filters,
    likeness::most_like,
    names::{BEYOND, BYTES, OF_GIT},
    reports::ReportOptions,
    run::{BucketOptions, DirectoryThreads, ProgressOptions, RunOptions, Verbosity, memory},
    serving::{Condition, Range},
    sharing::{Sharing, duration},
};

/// A command, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CommandName {
    /// `archive`, also without its name
    Archive,
    /// `ls`
    Ls,
    /// `explain`
    Explain,
    /// `info`
    Info,
    /// `missing`
    Missing,
    /// `compare`
    Compare,
    /// `apply`
    Apply,
    /// `verify`
    Verify,
    /// `publish`
    Publish,
    /// `prune`
    Prune,
    /// `stand-in`
    StandIn,
    /// `upload-archive`
    UploadArchive,
    /// `batch`
    Batch,
    /// `help`
    Help,
    /// `manual`
    Manual,
    /// `completions`
    Completions,
}

/// Commands of other programs, with what does the same here.
const OF_OTHERS: [(&[&str], &str); 6] = [
    (&["create"], "git sluice -o <file> <tree-ish>"),
    (&["list"], "git sluice ls <tree-ish>"),
    (
        &["diff"],
        "'git sluice ls --base=<commit> <tree-ish>' lists what changed, 'git sluice compare' compares an archive",
    ),
    (
        &["extract", "unpack"],
        "git sluice apply <directory> <archive>",
    ),
    (&["check"], "git sluice verify <directory>"),
    (
        &["push", "upload"],
        "git sluice publish <bucket>/<channel> <commit>",
    ),
];

impl CommandName {
    /// The command that `word` names, exactly.
    pub fn of(word: &OsStr) -> Option<Self> {
        let command = Self::from_str(word.to_str()?, false).ok()?;
        command.is_built().then_some(command)
    }

    /// Whether the program was built with the command. The name of another command is a tree-ish, as it is to git.
    pub(super) fn is_built(self) -> bool {
        match self {
            Self::Apply | Self::Verify | Self::Publish | Self::Prune => cfg!(feature = "fleet"),
            Self::Compare => cfg!(feature = "compare"),
            _ => true,
        }
    }

    /// The hint at what is meant by `word`, which is no command.
    pub fn meant_by(word: &str) -> Option<String> {
        let of_others = OF_OTHERS.iter().find(|(names, _)| names.contains(&word));
        if let Some((_, hint)) = of_others {
            return Some((*hint).to_owned());
        }
        let names = Self::all().map(Self::as_str);
        let meant = most_like(word, names.map(|name| (name.to_owned(), name)))?;
        (meant != word).then(|| format!("did you mean 'git sluice {meant}'?"))
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// What the command does, in one line.
    pub fn about(self) -> String {
        let about = self.definition().get_about().map(ToString::to_string);
        about.unwrap_or_default()
    }

    /// The definition for clap.
    pub(super) fn definition(self) -> clap::Command {
        let (name, command) = self.row();
        command()
            .name(name)
            .args_override_self(true)
            .disable_help_flag(true)
            .disable_help_subcommand(true)
            .disable_version_flag(true)
    }

    /// The name, and what makes the definition of the options.
    fn row(self) -> (&'static str, fn() -> clap::Command) {
        match self {
            Self::Archive => ("archive", Archive::command),
            Self::Ls => ("ls", Ls::command),
            Self::Explain => ("explain", Explain::command),
            Self::Info => ("info", Info::command),
            Self::Missing => ("missing", Missing::command),
            Self::Apply => ("apply", Apply::command),
            Self::Verify => ("verify", Verify::command),
            Self::Compare => ("compare", compare),
            Self::Publish => ("publish", publish),
            Self::Prune => ("prune", Prune::command),
            Self::Batch => ("batch", Batch::command),
            Self::UploadArchive => ("upload-archive", UploadArchive::command),
            Self::StandIn => ("stand-in", StandIn::command),
            Self::Completions => ("completions", Completions::command),
            Self::Manual => ("manual", Manual::command),
            Self::Help => ("help", Help::command),
        }
    }
}

/// The options of `compare`, which writes no archive.
fn compare() -> clap::Command {
    Compare::command().mut_args(|argument| match argument.get_id().as_str() {
        "verbose" => argument.help("Report files that do not differ, too"),
        "treeish" => argument.help("The commit, by default the one that the archive names"),
        "paths" => argument.help("Compare only these paths"),
        "prefix" => argument.help("Expect all files of the archive below this prefix"),
        _ => argument,
    })
}

/// The options of `publish`. A channel has commits, and no other trees.
fn publish() -> clap::Command {
    Publish::command().mut_args(|argument| match argument.get_id().as_str() {
        "treeish" => argument.value_name("commit").help("The commit to publish"),
        "paths" => argument.help("Publish only these paths"),
        _ => argument,
    })
}

/// Write an archive of a tree, as git archive does
///
/// git-sluice writes the archives of git archive, byte for byte, on all cores and within a limit of memory. The options of git
/// archive keep their names and effects. Without options of the other groups, the archive has the bytes that git archive writes.
/// A first word that is not the name of a command starts an archive.
///
/// A delta is an archive of only the changes since a base: another commit or tree. It has the new and changed files and a list of
/// deleted paths. --base writes a delta. 'git sluice apply' updates a directory from it, if the directory holds the base,
/// or from a full archive, and records in the directory which commit it holds.
///
/// A bucket is a directory or an object store with published archives, and a channel in it is one branch of one repository with one
/// set of filters. 'git sluice publish' adds a commit to a channel, as a delta or in full, and 'git sluice apply' updates machines
/// from the channel without a repository. A cache is a directory in which runs share archives: the first run that asks for an
/// archive writes it, and the others read along.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice [archive] [<options>] <tree-ish> [<path>...]")]
pub struct Archive {
    /// The options of every command about an archive.
    #[command(flatten)]
    pub described: Described,

    /// Options about a base.
    #[command(flatten)]
    pub delta: Delta,

    /// Write the archive to this file
    ///
    /// A regular file is written under a temporary name and renamed when the archive is complete.
    #[arg(short = 'o', long = "output", value_name = "file", help_heading = OF_GIT)]
    _output: (),

    /// Verbosity.
    #[command(flatten)]
    pub verbosity: Verbosity,

    /// List the archive formats
    #[arg(short, long, help_heading = OF_GIT)]
    pub list: bool,

    /// Retrieve the archive from this repository
    #[arg(long = "remote", value_name = "repo", help_heading = OF_GIT)]
    _remote: (),

    /// Run this command on the server, not git-upload-archive
    #[arg(long = "exec", value_name = "command", help_heading = OF_GIT)]
    _exec: (),

    /// Whether progress is shown.
    #[command(flatten)]
    pub progress: ProgressOptions,

    /// Reports.
    #[command(flatten)]
    pub reports: ReportOptions,

    /// The condition of the request.
    #[command(flatten)]
    pub condition: Condition,

    /// The bytes that are wanted.
    #[command(flatten)]
    pub range: Range,

    /// Options about sharing.
    #[command(flatten)]
    pub sharing: Sharing,
}

impl Archive {
    /// The options of the request, with `extras` and the file `output`.
    pub fn args(&self, extras: Vec<Extra>, output: Option<PathBuf>) -> Args {
        Args {
            output,
            verbosity: self.verbosity.clone(),
            has_manifest: self.reports.manifest.is_some(),
            condition: self.condition.clone(),
            range: self.range.clone(),
            sharing: self.sharing.clone(),
            delta: self.delta.clone(),
            ..self.described.args(extras)
        }
    }
}

/// The options of every command about a full archive: what it contains, and how it is made.
#[derive(clap::Args, Clone, Debug)]
pub struct Described {
    /// The files.
    #[command(flatten)]
    pub content: ContentOptions,

    /// The format.
    #[command(flatten)]
    pub encoding: Encoding,

    /// Threads and memory.
    #[command(flatten)]
    pub run: RunOptions,

    /// Filters.
    #[command(flatten)]
    pub filters: Filters,
}

impl Described {
    /// The options of the request, with `extras`.
    pub fn args(&self, extras: Vec<Extra>) -> Args {
        Args {
            content: self.content.with(extras),
            encoding: self.encoding.clone(),
            filters: self.filters.clone(),
            run: self.run.clone(),
            ..Args::default()
        }
    }
}

/// List the files that would be sent, with their sizes
///
/// No file is read, so 'content?' marks a file that may still turn out to be binary.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice ls [<options>] <tree-ish> [<path>...]")]
pub struct Ls {
    /// The archive.
    #[command(flatten)]
    pub described: Described,

    /// Options about a base.
    #[command(flatten)]
    pub delta: Delta,

    /// Print one line of JSON for each entry
    ///
    /// The lines are those of --manifest, without positions. If the content decides, the line has "undecided":true.
    #[arg(long, help_heading = BEYOND)]
    pub json: bool,
}

/// Say why a file is in an archive or not
///
/// Prints the rule that decides about each path.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice explain [<options>] <tree-ish> <path>...")]
#[command(mut_arg("paths", |paths| paths.help("The paths to explain")))]
pub struct Explain {
    /// The archive; its paths are those that are explained.
    #[command(flatten)]
    pub described: Described,

    /// Print one line of JSON for each path
    #[arg(long, help_heading = BEYOND)]
    pub json: bool,
}

/// Print ETag, length and entry count of an archive as JSON
///
/// git-sluice knows these before it writes the first byte of the archive.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice info [<options>] <tree-ish> [<path>...]")]
pub struct Info {
    /// The archive.
    #[command(flatten)]
    pub described: Described,

    /// Options about a base.
    #[command(flatten)]
    pub delta: Delta,

    /// The condition of the request.
    #[command(flatten)]
    pub condition: Condition,

    /// Options about sharing: the cache knows the length of compressed archives.
    #[command(flatten)]
    pub sharing: Sharing,
}

/// List objects that an archive needs and the repository lacks
///
/// Prints JSON lines about objects, LFS objects and submodules, and fetches nothing. The last line says whether the list is
/// complete: below a missing directory more may be missing. The exit status is 9 if something is missing.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice missing [<options>] <tree-ish> [<path>...]")]
pub struct Missing {
    /// The archive.
    #[command(flatten)]
    pub described: Described,

    /// Options about a base.
    #[command(flatten)]
    pub delta: Delta,
}

/// Update a directory from an archive or a channel
///
/// A delta updates the tree of its base. A full archive replaces the files that earlier archives wrote, which
/// .git-sluice.files lists. All other files are yours. If one of them is in the way, the command stops before the first change.
///
/// The file .git-sluice in the directory records which commit the directory holds. It must be a regular file of the user who
/// runs git-sluice. The command checks that this commit is the base of the archive, and checks the names in the archive and
/// its end. It does not read the files in the directory: a file that was changed there stays changed unless the archive
/// writes or deletes it. Use --verify to read them first.
#[derive(Parser, Clone, Debug)]
#[command(
    override_usage = "git sluice apply [<options>] <directory> [<archive>]\n       \
                      git sluice apply [<options>] --channel=<bucket>/<channel> <directory>"
)]
pub struct Apply {
    /// The directory to update
    #[arg(value_name = "directory", required = true)]
    pub directory: PathBuf,

    /// A file, the URL of a channel, or - for standard input
    ///
    /// An existing file is the archive. Otherwise, a URL with a scheme is that of a channel. Without this argument, the archive
    /// comes from standard input.
    #[arg(value_name = "archive")]
    pub archive: Option<OsString>,

    /// Update from this channel of a bucket
    #[arg(long, value_name = "bucket/channel", conflicts_with = "archive", help_heading = BEYOND)]
    pub channel: Option<String>,

    /// Update to this commit of the channel
    ///
    /// The exit status is 9 if the channel does not lead to the commit.
    #[arg(long, value_name = "commit", help_heading = BEYOND)]
    pub at: Option<String>,

    /// Check the directory first, and stop if a file differs
    ///
    /// Each path that differs is a line on standard output: missing, kind, permissions or content, and the path. Then nothing is
    /// applied, and the exit status is 1.
    #[arg(long, help_heading = BEYOND)]
    pub verify: bool,

    /// Restore changed files, from a full archive
    ///
    /// Without a full archive of any commit, files that differ end the command as with --verify.
    #[arg(long, conflicts_with = "verify", help_heading = BEYOND)]
    pub repair: bool,

    /// Replace files that no archive wrote
    ///
    /// Otherwise, the command names the files that the archive would overwrite or delete, and changes nothing.
    #[arg(long, help_heading = BEYOND)]
    pub overwrite: bool,

    /// Threads.
    #[command(flatten)]
    pub threads: DirectoryThreads,

    /// Bucket.
    #[command(flatten)]
    pub bucket: BucketOptions,

    /// Whether progress is shown.
    #[command(flatten)]
    pub progress: ProgressOptions,
}

/// Check a directory that apply wrote
///
/// Compares the files with the archives that were applied. Each path that differs is a line on standard output: missing, kind,
/// permissions or content, and the path. The exit status is then 1. Files that no archive wrote are not compared.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice verify [<options>] <directory>")]
pub struct Verify {
    /// The directory to check
    #[arg(value_name = "directory", required = true)]
    pub directory: PathBuf,

    /// Print one line of JSON for each path that differs
    #[arg(long, help_heading = BEYOND)]
    pub json: bool,

    /// Threads.
    #[command(flatten)]
    pub threads: DirectoryThreads,

    /// Whether progress is shown.
    #[command(flatten)]
    pub progress: ProgressOptions,
}

/// Check an archive against a commit
///
/// Reads a tar, a zip, a compressed tar or a directory once, writes no file, and prints each path that the commit has otherwise, or
/// that only one of both has. If all files are the same, prints the command that makes these bytes, or the first difference between
/// the bytes. With a second archive instead of a tree-ish, compares both archives. The exit status is 1 if something differs, 9
/// if the repository lacks the commit, and 11 if the archive is damaged.
#[derive(Parser, Clone, Debug)]
#[command(
    override_usage = "git sluice compare [<options>] <archive> [<tree-ish>] [<path>...]\n       \
                      git sluice compare [<options>] <archive> <archive>"
)]
pub struct Compare {
    /// The archive: a file, a directory, or - for standard input
    #[arg(value_name = "archive", required = true)]
    pub archive: OsString,

    /// Verbosity.
    #[command(flatten)]
    pub verbosity: Verbosity,

    /// The files.
    #[command(flatten)]
    pub content: ContentOptions,

    /// Compare with the tag that differs least
    #[arg(long, conflicts_with_all = ["treeish", "access_rules"], help_heading = BEYOND)]
    pub search: bool,

    /// Require the same bytes, not only the same files
    #[arg(long, help_heading = BEYOND)]
    pub bytes: bool,

    /// Accept the differences that this file lists
    ///
    /// Each line has a class and a pattern of .gitignore, such as 'added configure' or 'missing .github/**'.
    #[arg(long, value_name = "file", help_heading = BEYOND)]
    pub expect: Option<OsString>,

    /// Print how text files differ
    ///
    /// This reads the archive a second time, so it must be a file or a directory.
    #[arg(long, conflicts_with = "json", help_heading = BEYOND)]
    pub diff: bool,

    /// Print differences and the result as lines of JSON
    #[arg(long, help_heading = BEYOND)]
    pub json: bool,

    /// Threads and memory.
    #[command(flatten)]
    pub run: RunOptions,

    /// Whether progress is shown.
    #[command(flatten)]
    pub progress: ProgressOptions,

    /// Filters.
    #[command(flatten)]
    pub filters: Filters,
}

impl Compare {
    /// The options of the request, with `extras`.
    pub fn args(&self, extras: Vec<Extra>) -> Args {
        Args {
            content: self.content.with(extras),
            filters: self.filters.clone(),
            run: self.run.clone(),
            ..Args::default()
        }
    }
}

/// Publish a commit in a bucket, as a delta or in full
///
/// A channel stands for one repository, one set of filters and one branch. It is in a bucket: a directory, or the URL of an object
/// store. 'git sluice apply' updates a directory from the channel, without a repository. Prints one line of JSON about the
/// archives that were published.
#[derive(Parser, Clone, Debug)]
#[command(
    override_usage = "git sluice publish [<options>] <bucket>/<channel> <commit> [<path>...]"
)]
pub struct Publish {
    /// The bucket, and the name of the channel in it
    #[arg(value_name = "bucket/channel", required = true)]
    pub channel: String,

    /// The files.
    #[command(flatten)]
    pub content: ContentOptions,

    /// The compression level.
    #[command(flatten)]
    pub level: LevelOption,

    /// Publish a full archive after this many deltas
    #[arg(long, value_name = "count", default_value = "20", value_parser = at_least::<u32>(0), help_heading = BEYOND)]
    pub full_every: u32,

    /// Publish in full once deltas reach this share of its size
    #[arg(long, value_name = "fraction", default_value = "0.5", value_parser = part, help_heading = BEYOND)]
    pub full_ratio: f64,

    /// Replace a newer commit, other history or other filters
    ///
    /// Otherwise, the channel keeps its newer commit, and the command refuses a commit that no commit of the channel leads to,
    /// and options that select other files. A shallow repository does not know enough history to refuse a commit.
    #[arg(long, help_heading = BEYOND)]
    pub force: bool,

    /// Publish in full even if the channel has the commit
    ///
    /// A damaged channel file is replaced.
    #[arg(long, help_heading = BEYOND)]
    pub republish: bool,

    /// Create the bucket, in a new or empty directory
    #[arg(long, help_heading = BEYOND)]
    pub create: bool,

    /// Exit with status 12 if the bytes may change later
    #[arg(long, help_heading = BYTES)]
    pub fail_if_varies: bool,

    /// Bucket.
    #[command(flatten)]
    pub bucket: BucketOptions,

    /// Threads and memory.
    #[command(flatten)]
    pub run: RunOptions,

    /// Whether progress is shown.
    #[command(flatten)]
    pub progress: ProgressOptions,

    /// Filters.
    #[command(flatten)]
    pub filters: Filters,
}

impl Publish {
    /// The options of the request, with `extras`.
    pub fn args(&self, extras: Vec<Extra>) -> Args {
        Args {
            content: self.content.with(extras),
            encoding: Encoding {
                level: self.level.clone(),
                ..Encoding::default()
            },
            filters: self.filters.clone(),
            run: self.run.clone(),
            ..Args::default()
        }
    }
}

/// Remove archives that no channel of a bucket lists
///
/// A channel lists the archives that lead to its newest commit. When a new full archive replaces older ones, those stay in the
/// bucket for machines that are still reading them, until this command removes them. Prints one line of JSON about the archives
/// that were removed.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice prune [<options>] <bucket>")]
pub struct Prune {
    /// The bucket: a directory, or the URL of an object store
    #[arg(value_name = "bucket", required = true)]
    pub bucket: String,

    /// Remove only archives that no channel listed for this long
    ///
    /// Archives that were written later stay as well. The shortest time is 60m, because a publication that is running may need
    /// younger archives. The time is in seconds, or has the suffix m, h or d.
    #[arg(long, value_name = "duration", default_value = "1d", value_parser = duration, help_heading = BEYOND)]
    pub older_than: Duration,

    /// Bucket.
    #[command(flatten)]
    pub options: BucketOptions,
}

/// Answer many requests for archives in one process
///
/// A request is a list of pkt-lines with the words of one archive, as they follow 'git sluice'. Answers go to standard output
/// in the order of the requests, each with the bytes, the messages and the exit status of a separate run. One process opens
/// each repository once, so a small archive takes less time than in a separate process.
#[derive(Parser, Clone, Debug, Default)]
#[command(override_usage = "git sluice batch [<options>]")]
pub struct Batch {
    /// Answer at most this many requests at once
    ///
    /// By default, there is one for each processor, up to 4.
    #[arg(long, value_name = "count", value_parser = at_least::<usize>(1), help_heading = BEYOND)]
    pub jobs: Option<usize>,

    /// Keep this many repositories open between requests
    #[arg(long, value_name = "count", default_value = "100", value_parser = at_least::<usize>(1), help_heading = BEYOND)]
    pub repositories: usize,

    /// Limit the memory of all requests together
    #[arg(long, value_name = "size", default_value = "256m", value_parser = memory, help_heading = BEYOND)]
    pub memory: u64,
}

/// Serve 'git archive --remote', as git upload-archive does
///
/// A server of ssh or a git daemon starts this command for a client. The client can use the options of git archive only, and can
/// name refs only, unless uploadArchive.allowUnreachable allows other objects.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice upload-archive <repository>")]
pub(super) struct UploadArchive {
    /// The repository
    #[arg(value_name = "repository", required = true)]
    _repository: (),
}

/// Let other programs' git archive run git-sluice
///
/// The directory gets a program 'git'. Programs that find it first in their PATH get archives from git-sluice, and everything else
/// from the real git: the next git in PATH, or the one that the variable REAL_GIT names. If git-sluice was removed or cannot start,
/// the real git writes archives too. Prints the line that changes PATH.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice stand-in [<options>] <directory>")]
pub struct StandIn {
    /// The directory, which is new or empty
    #[arg(value_name = "directory", required = true)]
    pub directory: PathBuf,

    /// Report whether a stand-in is used, and write nothing
    ///
    /// Run this as the user, in the environment and in a repository of the program that should use the stand-in. The report says
    /// which program writes archives and serves them, and which cache, log and configuration are used. The exit status is 1 if
    /// git-sluice does not write the archives, or if the cache, the log or a key of the configuration cannot be used.
    #[arg(long, help_heading = BEYOND)]
    pub check: bool,
}

/// Print completions for a shell
///
/// Write the output to the file that your shell reads: git-sluice in ~/.local/share/bash-completion/completions for bash,
/// _git-sluice in a directory of fpath for zsh, git-sluice.fish in ~/.config/fish/completions for fish.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice completions <shell>")]
pub struct Completions {
    /// The shell
    #[arg(value_name = "shell", required = true, value_enum)]
    pub shell: Shell,
}

/// A shell that has completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash, with git's own completion of `git sluice`
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

/// Print a manual page
///
/// 'git sluice manual ls | man -l -' shows the page about ls. To install a page, write it below a directory of MANPATH, for example
/// to ~/.local/share/man/man1/git-sluice-ls.1.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice manual [<command>]")]
pub struct Manual {
    /// The command; without it, the page of git-sluice
    #[arg(value_name = "command", value_enum)]
    pub command: Option<CommandName>,
}

/// Explain a command, a group of options, an option or a profile
///
/// Without a word, prints the short help of the program, which lists the topics. An option is written without its dashes. The
/// name of a profile prints the options that the profile stands for.
#[derive(Parser, Clone, Debug)]
#[command(override_usage = "git sluice help [<command> | <topic> | <option> | <profile>]")]
pub struct Help {
    /// A command, a topic, an option or a profile
    #[arg(value_name = "command|topic|profile")]
    pub word: Option<String>,
}
