//! Texts about the command line, made from its definition: the end of the help, the manual page, completions for shells.

use std::io::{self, Write};

use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::{bash, ours::Guide};

/// The name of the program, as shells and manuals know it.
const PROGRAM: &str = "git-sluice";

/// Examples: a command, and the effect.
const EXAMPLES: [(&str, &str); 4] = [
    (
        "git sluice --prefix=project/ -o project.tar.gz v1.0",
        "as git archive, compressed on all cores",
    ),
    (
        "git sluice --profile=zoekt HEAD >index.tar",
        "only what a code search indexes",
    ),
    (
        "git sluice --base=v1.0 v1.1 >delta.tar",
        "only what changed, with deletions",
    ),
    (
        "git sluice --apply=project delta.tar",
        "v1.1 in the directory that held v1.0",
    ),
];

/// The options behind `--batch`, which come before any request: an option, and the effect.
const OF_BATCH: [(&str, &str); 3] = [
    (
        "--batch-jobs=<n>",
        "Answer at most this many requests at once [default: one a processor, up to 4]",
    ),
    (
        "--batch-repositories=<n>",
        "Keep this many repositories open between requests [default: 100]",
    ),
    (
        "--memory=<n>",
        "Ceiling for the memory of all requests together [default: 256m]",
    ),
];

/// The exit statuses, and their meanings.
pub const STATUSES: [(u8, &str); 14] = [
    (0, "the archive is complete"),
    (3, "--base: the base is not there"),
    (4, "--fail-if-empty: there is no regular file to send"),
    (
        5,
        "--max-changed-paths, --max-changed-ratio: too much changed",
    ),
    (6, "--cache-wait: too many archives are being made"),
    (7, "--if-none-match: the caller has the archive"),
    (8, "--range: the archive ends before the range"),
    (
        9,
        "--list-missing: something is missing; --apply: no such view or commit",
    ),
    (
        10,
        "--publish, --apply, --prune: the bucket cannot be reached",
    ),
    (11, "--apply, --prune: a view or an archive is damaged"),
    (12, "--verify: the directory differs"),
    (
        128,
        "the run cannot go on, a fetch failed, or options clash (fatal: ...)",
    ),
    (
        129,
        "the command line cannot be read: an unknown option, a bad value",
    ),
    (
        255,
        "an object is missing, or damaged and streamed (error: ...)",
    ),
];

/// What `--generate` prints about `command`.
pub(super) fn text(guide: Guide, command: Command) -> String {
    let command = command.name(PROGRAM);
    match guide {
        Guide::Man => {
            let mut text = Vec::new();
            // Nothing can fail in memory.
            drop(write_manual(command, &mut text));
            String::from_utf8_lossy(&text).into_owned()
        }
        Guide::CompleteBash => bash::completions(&command),
        Guide::CompleteZsh => with_revisions_of_zsh(&completions(Shell::Zsh, command)),
        Guide::CompleteFish => completions(Shell::Fish, command) + REVISIONS_OF_FISH,
    }
}

fn completions(shell: Shell, mut command: Command) -> String {
    let mut text = Vec::new();
    generate(shell, &mut command, PROGRAM, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Revisions where a tree-ish is wanted, for fish.
const REVISIONS_OF_FISH: &str = "
complete -c git-sluice -a \"(git for-each-ref --format='%(refname:short)' 2>/dev/null)\"
complete -c git-sluice -l base -x -a \"(git for-each-ref --format='%(refname:short)' 2>/dev/null)\"
";

/// The function for zsh that completes a revision.
const REVISIONS_OF_ZSH: &str = "
_git-sluice_revisions() {
    local -a revisions
    revisions=(${(f)\"$(git for-each-ref --format='%(refname:short)' 2>/dev/null)\"})
    compadd -a revisions
}
";

/// The completions of zsh in `text`, which complete a revision where a tree-ish is wanted, and files behind it.
fn with_revisions_of_zsh(text: &str) -> String {
    let action = |line: &str| match () {
        () if line.contains(":tree-ish:") || line.contains("'::treeish ") => {
            "_git-sluice_revisions"
        }
        () if line.contains("'*::paths ") => "_files",
        () => "_default",
    };
    let complete = |line: &str| {
        let action = format!(":{}'", action(line));
        line.replace(":_default'", &action) + "\n"
    };
    let text: String = text.lines().map(complete).collect();
    // The script ends with a call, before which the function must stand.
    text.replacen("\n\n", &format!("\n{REVISIONS_OF_ZSH}\n"), 1)
}

/// Whether `word` is the question of git's completion: which options there are.
pub fn is_completion_helper(word: &str) -> bool {
    matches!(
        word,
        "--git-completion-helper" | "--git-completion-helper-all"
    )
}

/// The answer to git's completion about the options of `command`.
pub(super) fn completion_helper(command: &Command) -> String {
    bash::option_words(command).join(" ") + "\n"
}

/// The end of the help.
pub(super) fn after_help() -> String {
    let examples = EXAMPLES.map(|(command, effect)| format!("  {command}\n      {effect}\n"));
    let statuses = STATUSES.map(|(status, meaning)| format!("  {status:>3}  {meaning}\n"));
    let of_batch = OF_BATCH.map(|(option, effect)| format!("  {option}\n      {effect}\n"));
    format!(
        "-<number> sets the compression level.\n\n\
         --batch answers requests from standard input. Its options:\n{}\n\
         Examples:\n{}\nExit status:\n{}",
        of_batch.concat(),
        examples.concat(),
        statuses.concat()
    )
}

fn write_manual(command: Command, out: &mut dyn Write) -> io::Result<()> {
    let manual = Man::new(command)
        .title("GIT-SLUICE")
        .section("1")
        .manual("git-sluice");
    manual.render_title(out)?;
    manual.render_name_section(out)?;
    manual.render_synopsis_section(out)?;
    manual.render_options_section(out)?;
    let mut rest = Roff::new();
    rest.control("SH", ["COMPRESSION LEVEL"]);
    rest.text([bold("-"), roman("<number> sets the compression level.")]);
    rest.control("SH", ["OPTIONS OF --BATCH"]);
    for (option, effect) in OF_BATCH {
        rest.control("TP", [])
            .text([bold(option)])
            .text([roman(effect)]);
    }
    rest.control("SH", ["EXAMPLES"]);
    for (command, effect) in EXAMPLES {
        rest.control("TP", [])
            .text([bold(command)])
            .text([roman(effect)]);
    }
    rest.control("SH", ["EXIT STATUS"]);
    for (status, meaning) in STATUSES {
        rest.control("TP", [])
            .text([bold(status.to_string())])
            .text([roman(meaning)]);
    }
    rest.control("SH", ["SEE ALSO"]);
    rest.text([
        bold("git-archive"),
        roman("(1), "),
        bold("tar"),
        roman("(1)"),
    ]);
    rest.to_writer(out)
}
