//! The manual pages, made from the definitions of the commands.

use std::io::{self, Write};

use clap::ValueEnum;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::{commands::CommandName, names::PROGRAM, statuses::STATUSES};

/// Examples: a command that the example is about, the words, and the effect.
const EXAMPLES: [(CommandName, &str, &str); 15] = [
    (
        CommandName::Archive,
        "git sluice --prefix=project/ -o project.tar.gz v1.0",
        "Write the archive that git archive writes, compressed on all cores.",
    ),
    (
        CommandName::Archive,
        "git sluice --profile=zoekt HEAD >index.tar",
        "Send only the files that a code search indexes.",
    ),
    (
        CommandName::Archive,
        "git sluice --base=v1.0 v1.1 >delta.tar",
        "Send only what changed, with deletions.",
    ),
    (
        CommandName::Ls,
        "git sluice ls --max-size=1m HEAD",
        "List the files, and those that are too large.",
    ),
    (
        CommandName::Explain,
        "git sluice explain --profile=zoekt HEAD README.md",
        "Print the rule that decides about a file.",
    ),
    (
        CommandName::Info,
        "git sluice info --format=tar HEAD",
        "Print the entity tag and the length of an archive.",
    ),
    (
        CommandName::Missing,
        "git sluice missing HEAD",
        "List the objects that a partial clone lacks.",
    ),
    (
        CommandName::Apply,
        "git sluice apply project delta.tar",
        "Update the directory that holds v1.0 to v1.1.",
    ),
    (
        CommandName::Verify,
        "git sluice verify project",
        "List the files that differ from the applied archives.",
    ),
    (
        CommandName::Compare,
        "git sluice compare project-1.4.tar.gz v1.4",
        "Check that an archive has the files of a tag, and nothing else.",
    ),
    (
        CommandName::Publish,
        "git sluice publish --create /srv/bucket/main HEAD",
        "Publish the newest commit in a channel.",
    ),
    (
        CommandName::Prune,
        "git sluice prune --older-than=7d /srv/bucket",
        "Remove archives that no channel has listed for a week.",
    ),
    (
        CommandName::Batch,
        "git sluice batch --jobs=4",
        "Answer requests, four at a time.",
    ),
    (
        CommandName::UploadArchive,
        "git archive --remote=host:project.git --exec='git-sluice upload-archive' HEAD",
        "Let git-sluice answer a client.",
    ),
    (
        CommandName::StandIn,
        "git sluice stand-in /opt/sluice",
        "Let programs with /opt/sluice first in their PATH use git-sluice.",
    ),
];

/// Variables of the environment, and their effect.
const ENVIRONMENT: [(&str, &str); 4] = [
    (
        "GIT_SLUICE_CACHE",
        "The directory of --cache for runs without that option. An empty value means none.",
    ),
    (
        "GIT_SLUICE_LOG",
        "The file of sluice.log. An empty value means none.",
    ),
    (
        "GIT_TRACE2_EVENT",
        "A file for events, as for git. An archive adds its summary.",
    ),
    (
        "GIT_DIR, GIT_WORK_TREE, GIT_ATTR_SOURCE, ...",
        "git's variables have the same effect as for git archive.",
    ),
];

/// Files, and what they hold.
const FILES: [(CommandName, &str, &str); 2] = [
    (
        CommandName::Apply,
        ".git-sluice",
        "In the directory: the commit that it holds.",
    ),
    (
        CommandName::Apply,
        ".git-sluice.files",
        "In the directory: the files that archives wrote.",
    ),
];

/// Keys of the configuration, and their effect.
const CONFIGURATION: [(&str, &str); 10] = [
    ("sluice.cache", "The directory of --cache."),
    ("sluice.cacheSize", "The value of --cache-size."),
    ("sluice.cacheAge", "The value of --cache-age."),
    ("sluice.cacheAlways", "Whether --cache-always applies."),
    ("sluice.cacheFinish", "Whether --cache-finish applies."),
    ("sluice.cacheJobs", "The value of --cache-jobs."),
    ("sluice.cacheWait", "The value of --cache-wait."),
    ("sluice.gzipCompat", "The value of --gzip-compat."),
    (
        "sluice.log",
        "A file that gets one line of JSON about each archive.",
    ),
    (
        "tar.umask, tar.<format>.command, core.*, filter.*, ...",
        "git's keys have the same effect as for git archive.",
    ),
];

/// The manual page of `command`; that of the program for an archive.
pub fn manual(command: CommandName) -> String {
    let mut text = Vec::new();
    // Nothing can fail in memory.
    drop(write_page(command, &mut text));
    String::from_utf8_lossy(&text).into_owned()
}

/// The name of the page about `command`.
fn page_name(command: CommandName) -> String {
    match command {
        CommandName::Archive => PROGRAM.to_owned(),
        _ => format!("{PROGRAM}-{}", command.as_str()),
    }
}

fn write_page(command: CommandName, out: &mut dyn Write) -> io::Result<()> {
    let name = page_name(command);
    let definition = command.definition().name(name.clone());
    let manual = Man::new(definition)
        .title(name.to_uppercase())
        .section("1")
        .manual(PROGRAM);
    manual.render_title(out)?;
    manual.render_name_section(out)?;
    manual.render_synopsis_section(out)?;
    manual.render_description_section(out)?;
    if command == CommandName::Archive {
        commands().to_writer(out)?;
    }
    manual.render_options_section(out)?;
    rest(command).to_writer(out)
}

fn commands() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["COMMANDS"]);
    for command in CommandName::value_variants() {
        let about = command.definition().get_about().map(ToString::to_string);
        let about = about.unwrap_or_default();
        item(&mut section, command.as_str(), &format!("{about}."));
    }
    section
}

fn rest(command: CommandName) -> Roff {
    let mut rest = Roff::new();
    let is_about_archives = is_about_archives(command);
    if is_about_archives {
        rest.control("SH", ["COMPRESSION LEVEL"]);
        rest.text([bold("-"), roman("<number> sets the compression level.")]);
        section(&mut rest, "CONFIGURATION", CONFIGURATION);
        section(&mut rest, "ENVIRONMENT", ENVIRONMENT);
    }
    let of_command = |(about, name, effect)| (about == command).then_some((name, effect));
    section(&mut rest, "FILES", FILES.into_iter().filter_map(of_command));
    let statuses = STATUSES.map(|(status, meaning)| (status.to_string(), meaning));
    let statuses = statuses
        .iter()
        .map(|(status, meaning)| (&status[..], *meaning));
    section(&mut rest, "EXIT STATUS", statuses);
    section(
        &mut rest,
        "EXAMPLES",
        EXAMPLES.into_iter().filter_map(of_command),
    );
    rest.control("SH", ["SEE ALSO"]);
    let others = CommandName::value_variants().iter();
    let others = others.filter(|other| **other != command);
    for other in others {
        rest.text([bold(page_name(*other)), roman("(1),")]);
    }
    rest.text([
        bold("git-archive"),
        roman("(1), "),
        bold("tar"),
        roman("(1)"),
    ]);
    rest
}

/// Whether `command` reads a repository.
fn is_about_archives(command: CommandName) -> bool {
    let definition = command.definition();
    definition
        .get_arguments()
        .any(|argument| argument.get_long() == Some("profile"))
}

/// A section, unless it has no items.
fn section<'a>(page: &mut Roff, title: &str, items: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let mut items = items.into_iter().peekable();
    if items.peek().is_some() {
        page.control("SH", [title]);
    }
    items.for_each(|(term, text)| item(page, term, text));
}

fn item(page: &mut Roff, term: &str, text: &str) {
    page.control("TP", [])
        .text([bold(term)])
        .text([roman(text)]);
}
