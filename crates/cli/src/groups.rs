//! The commands by what users want to do: the one table that help, manual pages, completions and documents follow.

use super::commands::CommandName::{
    self, Apply, Archive, Batch, Compare, Completions, Explain, Help, Info, Ls, Manual, Missing,
    Prune, Publish, StandIn, UploadArchive, Verify,
};

/// The title of the group whose commands print texts about the program.
pub(super) const TEXTS: &str = "Help";

/// The groups: a title, and the commands, each with the page of the documentation that shows it at work.
const GROUPS: [(&str, &[(CommandName, &str)]); 6] = [
    (
        "Archive",
        &[
            (Archive, "SUMMARY.md"),
            (Ls, "choose-files.md"),
            (Explain, "choose-files.md"),
            (Info, "serve-downloads.md"),
            (Missing, "partial-clones.md"),
        ],
    ),
    ("Check a release", &[(Compare, "check-a-release.md")]),
    (
        "Directories",
        &[(Apply, "only-changes.md"), (Verify, "only-changes.md")],
    ),
    (
        "Buckets",
        &[
            (Publish, "ci-without-clones.md"),
            (Prune, "ci-without-clones.md"),
        ],
    ),
    (
        "Hosts and programs",
        &[
            (StandIn, "replace-git-archive.md"),
            (UploadArchive, "replace-git-archive.md"),
            (Batch, "batch-protocol.md"),
        ],
    ),
    (
        TEXTS,
        &[
            (Help, "options.md"),
            (Manual, "install.md"),
            (Completions, "install.md"),
        ],
    ),
];

impl CommandName {
    /// The groups of the commands that this program has, each with its title.
    pub fn groups() -> impl Iterator<Item = (&'static str, Vec<Self>)> {
        let groups = GROUPS.into_iter().map(|(title, rows)| {
            let commands = rows.iter().map(|(command, _)| *command);
            (title, commands.filter(|it| it.is_built()).collect())
        });
        groups.filter(|(_, commands): &(_, Vec<Self>)| !commands.is_empty())
    }

    /// The commands that this program has.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::groups().flat_map(|(_, commands)| commands)
    }

    /// The page of the documentation about the command.
    pub(super) fn page(self) -> &'static str {
        let mut rows = GROUPS.into_iter().flat_map(|(_, rows)| rows);
        rows.find(|(command, _)| *command == self)
            .map_or("SUMMARY.md", |(_, page)| page)
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::{CommandName, GROUPS};

    /// Each command is in one group, and the order of the groups is that of the commands.
    #[test]
    fn every_command_is_in_a_group() {
        let rows = GROUPS.iter().flat_map(|(_, rows)| *rows);
        let grouped: Vec<_> = rows.map(|(command, _)| *command).collect();
        assert_eq!(grouped, CommandName::value_variants());
    }
}
