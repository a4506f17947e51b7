//! The rows of sections in manual pages: examples, configuration, environment and files.

use super::commands::CommandName;

/// Blocks of rows. The first line of a block has the section and the commands whose pages have its rows. A row is a term and
/// the text about it. `archive` stands for the program.
const PAGES: &str = include_str!("pages.txt");

/// The rows that the page about `command` has in a `section`: terms with their texts. An example needs all of its commands.
pub(super) fn rows(
    section: &str,
    command: CommandName,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let blocks = PAGES
        .split("\n\n")
        .filter_map(|block| block.split_once('\n'));
    let blocks = blocks.filter(move |(head, _)| {
        let head = head.split_once(": ");
        head.is_some_and(|(name, commands)| {
            let mut commands = commands.split(' ');
            let is_built = |name: &str| CommandName::of(name.as_ref()).is_some();
            let can_run = section != "EXAMPLES" || commands.clone().all(is_built);
            name == section && can_run && commands.any(|it| it == command.as_str())
        })
    });
    let rows = blocks.flat_map(|(_, rows)| rows.lines());
    rows.filter_map(|row| row.split_once(": "))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::{CommandName, PAGES, rows};

    /// No word of the text is lost: each block names commands, and each row has a term.
    #[test]
    fn every_row_is_in_a_page() {
        let commands = CommandName::value_variants();
        for block in PAGES.split("\n\n") {
            let (head, text) = block.split_once('\n').expect("rows");
            let (section, names) = head.split_once(": ").expect("commands");
            for name in names.split(' ') {
                let mut commands = commands.iter();
                let command = commands.find(|command| command.as_str() == name);
                let found: Vec<_> = rows(section, *command.expect(name)).collect();
                for row in text.lines() {
                    let row = row.split_once(": ").expect(row);
                    let is_example = section == "EXAMPLES";
                    assert!(found.contains(&row) || is_example, "{name}: {row:?}");
                }
            }
        }
    }
}
