//! The help of the commands and of groups of options, made from their definitions.

use clap::{Arg, Command};

use super::{
    bash,
    commands::CommandName,
    grammar::Question,
    names::{BEYOND, DOCUMENTATION, PROGRAM},
    statuses::exit_statuses,
    topics::TOPICS,
};
use sluice_base::error::{Error, Result, format_bytes};

/// The widest line, in columns.
const WIDTH: usize = 80;
/// The column before the text about an option.
const HELP_COLUMN: usize = 29;

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
        let is_in_group = |option: &Arg| option.get_help_heading() == Some(heading);
        let options = options(CommandName::Archive, is_in_group);
        return Ok(format!("{heading}:\n{options}\n"));
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

/// The short help: a line for each option, and groups of options by their names.
fn usage(command: CommandName) -> String {
    let mut definition = command.definition();
    let about = about(&definition);
    let usage = definition.render_usage().to_string();
    let usage = usage.trim_end();
    let commands = match command {
        CommandName::Archive => commands(),
        _ => String::new(),
    };
    let own = definition.get_arguments().filter(|option| {
        let is_visible = option.get_long().is_some() && !option.is_hide_set();
        is_visible && topic(option).is_none()
    });
    // Only for an archive does it matter which options git has.
    let (options, beyond): (Vec<&Arg>, Vec<&Arg>) = own
        .partition(|option| command != CommandName::Archive || option.get_help_heading().is_none());
    let sections = [
        commands,
        section("Options", &options),
        section(BEYOND, &beyond),
        groups(&definition),
    ];
    let sections = sections.iter().filter(|section| !section.is_empty());
    let sections: String = sections.map(|section| format!("\n{section}")).collect();
    format!("{about}\n\n{usage}\n{sections}")
}

/// The lines about `options`, under a title. Empty if there are none.
fn section(title: &str, options: &[&Arg]) -> String {
    let rows: String = options.iter().map(|option| row(option)).collect();
    if rows.is_empty() {
        rows
    } else {
        format!("{title}:\n{rows}")
    }
}

/// What `definition` does, in one line.
fn about(definition: &Command) -> String {
    let about = definition.get_about().map(ToString::to_string);
    about.unwrap_or_default()
}

/// The topic that explains `option`.
fn topic(option: &Arg) -> Option<&'static str> {
    let heading = option.get_help_heading()?;
    let topic = TOPICS.iter().find(|(_, other)| *other == heading);
    topic.map(|(topic, _)| *topic)
}

/// The line about `option`; two lines if it is long.
fn row(option: &Arg) -> String {
    let help = option.get_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
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
    let end = format!("Exit status:\n{statuses}\nDocumentation:\n  {DOCUMENTATION}");
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

/// The definition of `command` for readers. Only for an archive does it matter which options git has.
pub(super) fn grouped(command: CommandName) -> Command {
    let definition = command.definition();
    if command == CommandName::Archive {
        return definition;
    }
    definition.mut_args(|option| match option.get_help_heading() {
        Some(BEYOND) => option.help_heading(None),
        _ => option,
    })
}

/// The commands, one a line.
fn commands() -> String {
    let lines = CommandName::all().map(|command| {
        let about = about(&command.definition());
        format!("  {:<15} {about}\n", command.as_str())
    });
    format!("Commands:\n{}", lines.collect::<String>())
}

/// The names of the options in each group of `definition`, and the topics that explain them.
fn groups(definition: &Command) -> String {
    let mut text = String::new();
    for (topic, _) in TOPICS {
        let options = definition.get_arguments();
        let options = options.filter(|option| self::topic(option) == Some(topic));
        let names: Vec<String> = options
            .filter_map(|option| Some(format!("--{}", option.get_long()?)))
            .collect();
        if !names.is_empty() {
            text += &wrapped(&format!("  {topic:<9}"), &names);
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("More options ('git sluice help <topic>' explains them):\n{text}")
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
