//! The help of the commands and of groups of options, made from their definitions.

use clap::{Arg, Command};

use super::{
    bash, candidates,
    commands::CommandName,
    grammar::Question,
    groups::TEXTS,
    names::{ABOUT, BEYOND, DOCUMENTATION, PROGRAM},
    pages::rows,
    statuses::exit_statuses,
    topics::{TOPICS, title},
};
use sluice_base::error::{Error, Result, format_bytes};

/// The widest line, in columns.
const WIDTH: usize = 80;
/// The column before the text about an option.
const HELP_COLUMN: usize = 29;

/// The examples that the short help shows: the first ones of the manual page.
const EXAMPLES: usize = 4;

/// The version. A program of a release, which `cargo xtask dist` has built, names its commit as well.
const VERSION: &str = match option_env!("GIT_SLUICE_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// The answer to a `question` about a command.
pub(super) fn answer(question: Question, command: CommandName) -> String {
    match question {
        Question::Usage => usage(command),
        Question::Help => long(command),
        Question::Version => format!("{PROGRAM} {VERSION}\n"),
        Question::Options => bash::option_words(&command.definition()).join(" ") + "\n",
    }
}

/// What `help` prints about `word`, a command, a topic or an option.
pub fn help(word: Option<&str>) -> Result<String> {
    let Some(word) = word else {
        return Ok(usage(CommandName::Archive));
    };
    if let Some(command) = CommandName::of(word.as_ref()) {
        return Ok(long(command));
    }
    let heading = TOPICS.iter().find(|(topic, _)| *topic == word);
    if let Some((_, heading)) = heading {
        let is_in_group =
            |option: &Arg| option.get_help_heading() == *heading && !option.is_hide_set();
        let options = options(CommandName::Archive, is_in_group);
        return Ok(format!("{}:\n{options}\n", title(*heading)));
    }
    let is_it = |option: &Arg| option.get_long() == Some(word) && !option.is_hide_set();
    let has_it = |command: &CommandName| command.definition().get_arguments().any(is_it);
    match CommandName::all().find(has_it) {
        Some(command) => {
            let name = command.as_str();
            let options = options(command, is_it);
            Ok(format!("git sluice {name}:\n{options}\n"))
        }
        None => {
            let refused = format_bytes("no help about '{}'", &[word.as_bytes()]);
            let topics = TOPICS.map(|(topic, _)| topic).join(", ");
            Err(Error::usage(refused).hinted(format!(
                "the topics are {topics}, each command, option and profile"
            )))
        }
    }
}

/// The explanations of the options of `command` that are `wanted`.
fn options(command: CommandName, is_wanted: impl Fn(&Arg) -> bool) -> String {
    let definition = command.definition().mut_args(|option| {
        let is_hidden = !is_wanted(&option);
        option.hide(is_hidden)
    });
    let mut page = definition.max_term_width(WIDTH).help_template("{options}");
    page.render_long_help().to_string()
}

/// The short help of the program: its commands, the names of all options, and examples. That of another command has a line for
/// each option of its own.
fn usage(command: CommandName) -> String {
    let definition = grouped(command);
    let usage = command.definition().render_usage().to_string();
    let about = definition.get_about().map(ToString::to_string);
    let sections = match command {
        CommandName::Archive => [
            commands(),
            groups("Options", &definition, &TOPICS),
            closing(),
        ],
        _ => [
            own_options(&definition),
            groups("More options", &definition, &TOPICS[1..]),
            String::new(),
        ],
    };
    let sections = sections.iter().filter(|section| !section.is_empty());
    let sections: String = sections.map(|section| format!("\n{section}")).collect();
    let about = about.unwrap_or_default();
    format!("{about}\n\n{}\n{sections}", usage.trim_end())
}

/// The lines about the options of `definition` that are in no group. Empty if there are none.
fn own_options(definition: &Command) -> String {
    let options = candidates::options(definition);
    let own = options.filter(|option| option.get_help_heading().is_none());
    let rows: String = own.map(row).collect();
    if rows.is_empty() {
        rows
    } else {
        format!("Options:\n{rows}")
    }
}

/// Examples, and the address of the documentation.
fn closing() -> String {
    let examples = rows("EXAMPLES", CommandName::Archive).take(EXAMPLES);
    let lines: String = examples.map(|(words, _)| format!("  {words}\n")).collect();
    format!(
        "Examples:\n{lines}{}\n",
        documentation(CommandName::Archive)
    )
}

/// The address of the page about `command`, under a title.
fn documentation(command: CommandName) -> String {
    format!("Documentation:\n  {DOCUMENTATION}{}", command.page())
}

/// The line about `option`; two lines if it is long.
fn row(option: &Arg) -> String {
    let help = candidates::about(option);
    let words: Vec<String> = help.split(' ').map(ToOwned::to_owned).collect();
    let name = format!("  {}", spelled(option));
    if name.len() < HELP_COLUMN {
        wrapped(&format!("{name:<HELP_COLUMN$}"), &words)
    } else {
        name + "\n" + &wrapped(&" ".repeat(HELP_COLUMN), &words)
    }
}

/// The spellings of `option`, with its value.
fn spelled(option: &Arg) -> String {
    let short = option.get_short().map(|short| format!("-{short}, "));
    let long = option.get_long().unwrap_or_default();
    let names = option.get_value_names().unwrap_or_default();
    let possible = option.get_possible_values();
    let values: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
    let value = if !option.get_action().takes_values() {
        String::new()
    } else if values.is_empty() {
        format!("=<{}>", names.join("> <"))
    } else {
        format!("=({})", values.join("|"))
    };
    format!("{}--{long}{value}", short.unwrap_or_default())
}

/// The help with all options and their explanations.
fn long(command: CommandName) -> String {
    let statuses = exit_statuses(command).into_iter();
    let statuses: String = statuses
        .map(|(status, meaning)| format!("  {status:>3}  {meaning}\n"))
        .collect();
    let end = format!("Exit status:\n{statuses}\n{}", documentation(command));
    let start = match command {
        CommandName::Archive => commands() + "\n",
        _ => String::new(),
    };
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{start}{{all-args}}{{after-help}}"
    );
    let page = grouped(command).max_term_width(WIDTH).after_help(end);
    page.help_template(template).render_long_help().to_string() + "\n"
}

/// The definition of `command` for readers. That of an archive is about the program, and only there does it matter which options
/// git has.
pub(super) fn grouped(command: CommandName) -> Command {
    let definition = command.definition();
    if command == CommandName::Archive {
        let usage = "git sluice [archive] [<options>] <tree-ish> [<path>...]\n       \
                     git sluice <command> [<options>] [<argument>...]";
        let text = format!("{ABOUT}\n\n{}", description(&definition));
        return definition
            .about(ABOUT)
            .long_about(text)
            .override_usage(usage);
    }
    definition.mut_args(|option| match option.get_help_heading() {
        Some(BEYOND) => option.help_heading(None),
        _ => option,
    })
}

/// What `definition` does, without the line of its name.
pub(super) fn description(definition: &Command) -> String {
    let text = definition.get_long_about().map(ToString::to_string);
    let text = text.unwrap_or_default();
    let paragraphs = text.split_once("\n\n").map(|(_, rest)| rest.to_owned());
    paragraphs.unwrap_or(text)
}

/// The groups of commands: a command a line, and the names of those that print texts.
fn commands() -> String {
    let groups = CommandName::groups().map(|(title, commands)| {
        let names = commands.iter().map(|command| command.as_str());
        if title == TEXTS {
            return format!("{title}: {}\n", names.collect::<Vec<_>>().join(", "));
        }
        let lines = names.zip(&commands);
        let lines = lines.map(|(name, command)| format!("  {name:<15} {}\n", command.about()));
        format!("{title}:\n{}", lines.collect::<String>())
    });
    groups.collect()
}

/// The names of the options of `definition` that each of the `topics` explains, under a title.
fn groups(title: &str, definition: &Command, topics: &[(&str, Option<&str>)]) -> String {
    let mut text = String::new();
    for (topic, heading) in topics {
        let options = candidates::options(definition);
        let options = options.filter(|option| option.get_help_heading() == *heading);
        let names: Vec<String> = options
            .filter_map(|option| Some(format!("--{}", option.get_long()?)))
            .collect();
        if !names.is_empty() {
            text += &wrapped(&format!("  {topic:<7}"), &names);
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("{title} ('git sluice help <topic>' explains them):\n{text}")
    }
}

/// `words` after `start`, in lines of at most [`WIDTH`] columns that begin at the same column.
fn wrapped(start: &str, words: &[String]) -> String {
    let indent = " ".repeat(start.len());
    let mut text = String::new();
    let mut line = start.to_owned();
    for word in words {
        if line.len() + 1 + word.len() > WIDTH {
            text += &line;
            text.push('\n');
            line.clone_from(&indent);
        }
        line.push(' ');
        line += word;
    }
    text + &line + "\n"
}
