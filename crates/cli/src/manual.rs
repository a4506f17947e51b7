//! The manual pages, made from the definitions of the commands.

use std::io::{self, Write};

use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::{
    commands::CommandName::{
        self, Apply, Archive, Batch, Compare, Explain, Info, Ls, Missing, Prune, Publish, StandIn,
        UploadArchive, Verify,
    },
    help::grouped,
    names::{DOCUMENTATION, PROGRAM},
    statuses::{all_exit_statuses, exit_statuses},
};

/// Examples: a command that the example is about, the words, and the effect. The page of the program has the first ones.
const EXAMPLES: [(CommandName, &str, &str); 16] = [
    (
        Archive,
        "git sluice --prefix=project/ -o project.tar.gz v1.0",
        "Write the archive that git archive writes, compressed on all cores.",
    ),
    (
        Archive,
        "git sluice --profile=zoekt HEAD >index.tar",
        "Send only the files that a code search indexes.",
    ),
    (
        Archive,
        "git sluice --base=v1.0 v1.1 >delta.tar",
        "Write a delta: only the changes, with a list of deleted paths.",
    ),
    (
        Apply,
        "git sluice apply project delta.tar",
        "Update the directory that holds v1.0 to v1.1.",
    ),
    (
        Ls,
        "git sluice ls --max-size=1m --exclude='*.png' HEAD",
        "List the files that would be sent, and those that would not, with the reason.",
    ),
    (
        Publish,
        "git sluice publish --create /srv/bucket/main HEAD",
        "Publish the newest commit in the channel 'main' of a new bucket.",
    ),
    (
        Apply,
        "git sluice apply --channel=/srv/bucket/main project",
        "Update a directory to the newest commit of a channel, without a repository.",
    ),
    (
        Compare,
        "git sluice compare project-1.4.tar.gz v1.4",
        "Check that an archive has the files of a tag, and nothing else.",
    ),
    (
        Explain,
        "git sluice explain --profile=zoekt HEAD README.md",
        "Print the rule that decides about a file.",
    ),
    (
        Info,
        "git sluice info --format=tar HEAD",
        "Print the entity tag and the length of an archive.",
    ),
    (
        Missing,
        "git sluice missing HEAD",
        "List the objects that a partial clone lacks.",
    ),
    (
        Verify,
        "git sluice verify project",
        "List the files that differ from the applied archives.",
    ),
    (
        Prune,
        "git sluice prune --older-than=7d /srv/bucket",
        "Remove archives that no channel has listed for a week.",
    ),
    (
        Batch,
        "git sluice batch --jobs=4",
        "Answer requests, four at a time.",
    ),
    (
        UploadArchive,
        "git archive --remote=host:project.git --exec='git-sluice upload-archive' HEAD",
        "Let git-sluice answer a client.",
    ),
    (
        StandIn,
        "git sluice stand-in /opt/sluice",
        "Let programs with /opt/sluice first in their PATH use git-sluice.",
    ),
];
/// The examples of the page of the program.
const OF_PROGRAM: usize = 8;

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
        "TMPDIR",
        "The directory of temporary files, instead of /tmp.",
    ),
    (
        "GIT_DIR, GIT_WORK_TREE, GIT_ATTR_SOURCE, ...",
        "git's variables have the same effect as for git archive.",
    ),
];

/// Variables that name an object store and its keys, and their effect.
const STORE: [(&str, &str); 1] = [(
    "AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...",
    "The address of an object store and its keys, with the names that the tools of each vendor use.",
)];

/// Files, the commands that they matter to, and what they hold.
const FILES: [(&[CommandName], &str, &str); 5] = [
    (
        &[Archive, Apply, Verify],
        "<directory>/.git-sluice",
        "The commit that a directory of apply holds.",
    ),
    (
        &[Archive, Apply, Verify],
        "<directory>/.git-sluice.files",
        "The files that archives wrote there, with hashes.",
    ),
    (
        &[Archive, Apply, Publish, Prune],
        "<bucket>/v1/channels/<channel>.json",
        "The archives of a channel, with their commits and hashes.",
    ),
    (
        &[Archive, Apply, Publish, Prune],
        "<bucket>/v1/objects/",
        "Published archives.",
    ),
    (
        &[Archive],
        ".sourcegraph/ignore",
        "In a tree: exclude rules that the profiles zoekt and searcher follow.",
    ),
];

/// Keys of the configuration, and their effect.
const CONFIGURATION: [(&str, &str); 14] = [
    ("sluice.cache", "The directory of --cache."),
    ("sluice.cacheSize", "The value of --cache-size."),
    ("sluice.cacheAge", "The value of --cache-age."),
    ("sluice.cacheAlways", "Whether --cache-always applies."),
    ("sluice.cacheFinish", "Whether --cache-finish applies."),
    ("sluice.cacheJobs", "The value of --cache-jobs."),
    ("sluice.cacheWait", "The value of --cache-wait."),
    ("sluice.gzipCompat", "The value of --gzip-compat."),
    ("sluice.stable", "Whether --stable applies."),
    (
        "sluice.submodules",
        "The value of --submodules in downloads of a host.",
    ),
    ("sluice.lfs", "The value of --lfs in downloads of a host."),
    ("sluice.max*", "Limits of every archive."),
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
        Archive => PROGRAM.to_owned(),
        _ => format!("{PROGRAM}-{}", command.as_str()),
    }
}

fn write_page(command: CommandName, out: &mut dyn Write) -> io::Result<()> {
    let name = page_name(command);
    let definition = grouped(command).name(name.clone());
    let manual = Man::new(definition)
        .title(name.to_uppercase())
        .section("1")
        .manual(PROGRAM);
    manual.render_title(out)?;
    manual.render_name_section(out)?;
    manual.render_synopsis_section(out)?;
    description(command).to_writer(out)?;
    if command == Archive {
        commands().to_writer(out)?;
    }
    manual.render_options_section(out)?;
    rest(command).to_writer(out)
}

/// The paragraphs that follow the line of the name.
fn description(command: CommandName) -> Roff {
    let definition = command.definition();
    let about = definition.get_long_about().or(definition.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let text = about
        .split_once("\n\n")
        .map_or(&about[..], |(_, rest)| rest);
    let mut section = Roff::new();
    section.control("SH", ["DESCRIPTION"]);
    for paragraph in text.split("\n\n") {
        section
            .control("PP", [])
            .text([roman(paragraph.replace('\n', " "))]);
    }
    section
}

fn commands() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["COMMANDS"]);
    for command in CommandName::all() {
        let about = command.definition().get_about().map(ToString::to_string);
        let about = about.unwrap_or_default();
        item(&mut section, command.as_str(), &format!("{about}."));
    }
    section
}

fn rest(command: CommandName) -> Roff {
    let mut rest = Roff::new();
    if is_about_archives(command) {
        rest.control("SH", ["COMPRESSION LEVEL"]);
        rest.text([bold("-"), roman("<number> sets the compression level.")]);
        section(&mut rest, "CONFIGURATION", CONFIGURATION);
        section(&mut rest, "ENVIRONMENT", ENVIRONMENT);
    } else if uses_bucket(command) {
        section(&mut rest, "ENVIRONMENT", STORE);
    }
    let files = FILES.into_iter();
    let files = files.filter(|(commands, ..)| commands.contains(&command));
    section(
        &mut rest,
        "FILES",
        files.map(|(_, name, content)| (name, content)),
    );
    let statuses = match command {
        Archive => all_exit_statuses(),
        _ => exit_statuses(command),
    };
    let statuses: Vec<_> = statuses
        .into_iter()
        .map(|(status, meaning)| (status.to_string(), meaning))
        .collect();
    let statuses = statuses.iter();
    let statuses = statuses.map(|(status, meaning)| (&status[..], &meaning[..]));
    section(&mut rest, "EXIT STATUS", statuses);
    section(&mut rest, "EXAMPLES", examples(command));
    rest.control("SH", ["DOCUMENTATION"]);
    rest.text([roman(DOCUMENTATION)]);
    see_also(&mut rest, command);
    rest
}

/// The examples of the page about `command`. The page of the program has those of several commands.
fn examples(command: CommandName) -> Vec<(&'static str, &'static str)> {
    let examples = EXAMPLES.into_iter().enumerate();
    let shown = examples.filter(|(number, (about, ..))| match command {
        Archive => *number < OF_PROGRAM,
        _ => *about == command,
    });
    shown
        .map(|(_, (_, words, effect))| (words, effect))
        .collect()
}

/// The names of the other pages.
fn see_also(page: &mut Roff, command: CommandName) {
    page.control("SH", ["SEE ALSO"]);
    let others = CommandName::all();
    for other in others.filter(|other| *other != command) {
        page.text([bold(page_name(other)), roman("(1),")]);
    }
    page.text([
        bold("git-archive"),
        roman("(1), "),
        bold("tar"),
        roman("(1)"),
    ]);
}

/// Whether `command` may read or write an object store.
fn uses_bucket(command: CommandName) -> bool {
    matches!(command, Apply | Publish | Prune)
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
