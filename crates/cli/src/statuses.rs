//! The exit statuses. Help, manual and documentation show this table.

use super::commands::CommandName::{
    self, Apply, Archive, Compare, Info, Ls, Missing, Prune, Publish, StandIn, Verify,
};

/// The commands that any command line can be about.
const EVERY: &[CommandName] = &[];
/// The commands that take the options of an archive with a base.
const WITH_BASE: &[CommandName] = &[Archive, Ls, Info, Missing];

/// The exit statuses, the commands that end with them, and their meanings there.
const STATUSES: [(u8, &[CommandName], &str); 21] = [
    (0, EVERY, "the command succeeded"),
    (1, &[Verify], "a file differs"),
    (1, &[Apply], "--verify: a file differs"),
    (1, &[Compare], "the archive differs"),
    (1, &[StandIn], "--check: git-sluice is not used as set up"),
    (
        3,
        WITH_BASE,
        "--base: it cannot be read, or has other filters",
    ),
    (4, &[Archive], "--fail-if-empty: there is no file to send"),
    (
        5,
        WITH_BASE,
        "--max-changed-paths, --max-changed-ratio: too much changed",
    ),
    (
        6,
        &[Archive],
        "--cache-wait, sluice.maxTime: too many archives are being created",
    ),
    (
        7,
        &[Archive, Info],
        "--if-none-match: the client has the archive",
    ),
    (
        8,
        &[Archive],
        "--byte-range: the archive ends before the range",
    ),
    (9, &[Missing], "something is missing"),
    (9, &[Compare], "the repository lacks the commit"),
    (
        9,
        &[Apply],
        "the channel or the commit is not in the bucket",
    ),
    (10, &[Apply, Publish, Prune], "the bucket cannot be reached"),
    (
        11,
        &[Apply, Compare, Publish, Prune],
        "a channel or an archive is damaged",
    ),
    (
        12,
        &[Archive, Publish],
        "--fail-if-varies, --stable: the bytes may change later",
    ),
    (
        13,
        &[Archive],
        "sluice.maxSize and others: the archive is over a limit",
    ),
    (128, EVERY, "the command cannot continue (fatal: ...)"),
    (129, EVERY, "the command line is wrong (error: ...)"),
    (
        255,
        &[Archive, Compare, Publish],
        "an object is missing or damaged (error: ...)",
    ),
];

/// The exit statuses that `command` can have, each with its meaning.
pub fn exit_statuses(command: CommandName) -> Vec<(u8, String)> {
    let rows = STATUSES.iter();
    let own = rows.filter(|(_, commands, _)| commands.is_empty() || commands.contains(&command));
    own.map(|(status, _, meaning)| (*status, (*meaning).to_owned()))
        .collect()
}

/// All exit statuses. A meaning starts with the commands that it is about, unless that is every command about an archive.
pub fn all_exit_statuses() -> Vec<(u8, String)> {
    let mut all: Vec<(u8, String)> = Vec::new();
    for (status, commands, meaning) in STATUSES {
        let meaning = match commands {
            [] | [Archive, ..] => meaning.to_owned(),
            _ => {
                let names: Vec<_> = commands.iter().map(|command| command.as_str()).collect();
                let colon = if meaning.starts_with("--") { "" } else { ":" };
                format!("{}{colon} {meaning}", names.join(", "))
            }
        };
        match all.last_mut().filter(|(last, _)| *last == status) {
            Some((_, meanings)) => *meanings = format!("{meanings}; {meaning}"),
            None => all.push((status, meaning)),
        }
    }
    all
}
