//! The options of each command, as the grammar wants them.

use clap::{Arg, Command};

use super::{commands::CommandName, content::LEVEL, grammar::Opt, sharing};

/// The only option that git cannot take back with a `--no-` form.
const FINAL: &str = "mtime";
/// Options of git-sluice that change no byte of an archive, without those of the cache.
const HARMLESS: [&str; 4] = ["threads", "memory", "progress", "no-progress"];
/// The options of each command that was asked for. Building a table takes a good part of the time of a small request, so
/// a process does so once.
#[derive(Debug, Default)]
pub struct OptionTables(Vec<OptionTable>);

/// The options of one command.
#[derive(Debug)]
pub(super) struct OptionTable {
    pub(super) name: CommandName,
    pub(super) command: Command,
    pub(super) options: Vec<Opt>,
    pub(super) takes_level: bool,
}

impl OptionTables {
    pub(super) fn of(&mut self, name: CommandName) -> &mut OptionTable {
        let at = self.0.iter().position(|table| table.name == name);
        let at = at.unwrap_or_else(|| {
            self.0.push(OptionTable::new(name));
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

impl OptionTable {
    fn new(name: CommandName) -> Self {
        let command = name.definition();
        let is_level = |arg: &Arg| arg.get_long() == Some(LEVEL);
        let takes_level = command.get_arguments().any(is_level);
        Self {
            name,
            options: options(&command),
            takes_level,
            command,
        }
    }
}

/// The table for the grammar.
fn options(command: &Command) -> Vec<Opt> {
    let has = |name: &str| {
        command
            .get_arguments()
            .any(|arg| arg.get_long() == Some(name))
    };
    let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let table = visible.filter_map(|arg| {
        let name = arg.get_long()?.to_owned();
        let heading = arg.get_help_heading();
        Some(Opt {
            short: arg.get_short(),
            takes_value: arg.get_action().takes_values(),
            negatable: name != FINAL && !name.starts_with("no-") && !has(&format!("no-{name}")),
            of_git: heading.is_none(),
            is_harmless: heading == Some(sharing::HEADING) || HARMLESS.contains(&name.as_str()),
            name,
        })
    });
    table.collect()
}
