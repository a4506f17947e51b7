//! What a shell can offer for a word: the candidates for values of options and for operands, as the definitions have them.

use clap::{Arg, ArgAction, Command, ValueEnum, builder::PossibleValue};

use super::{
    commands::CommandName,
    filters::Profile,
    topics::{TOPICS, title},
};

/// The words that a shell offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Candidates {
    /// Nothing: a number, or a text of the user.
    Nothing,
    /// The files of the current directory.
    Files,
    /// The directories there.
    Directories,
    /// The channels of a bucket, after the directories that lead to it.
    Channels,
    /// The names of branches, tags and other refs.
    Revisions,
    /// The formats that the configuration allows.
    Formats,
    /// One of a few words, each with its meaning.
    Words(Vec<(String, String)>),
}

impl Candidates {
    /// The candidates for the value of `argument`, whose name in the help says what it is.
    pub(super) fn of(argument: &Arg) -> Self {
        let values = argument.get_possible_values();
        if !values.is_empty() {
            return Self::Words(values.iter().map(described).collect());
        }
        match name(argument).as_str() {
            "tree-ish" | "commit" => Self::Revisions,
            "fmt" => Self::Formats,
            "bucket" | "dir" | "directory" | "repo" | "repository" => Self::Directories,
            "bucket/channel" => Self::Channels,
            "archive" | "file" | "file|fd:n" | "path" => Self::Files,
            "command|topic|profile" => {
                let topics =
                    TOPICS.map(|(topic, heading)| (topic.to_owned(), title(heading).to_owned()));
                let profiles = Profile::value_variants().iter();
                let profiles = profiles.filter_map(Profile::to_possible_value);
                let words = commands().chain(topics);
                Self::Words(words.chain(profiles.map(|it| described(&it))).collect())
            }
            _ => Self::Nothing,
        }
    }

    /// The words without their meanings. Empty if it is not one of a few words.
    pub(super) fn words(&self) -> Vec<&str> {
        match self {
            Self::Words(words) => words.iter().map(|(word, _)| word.as_str()).collect(),
            _ => Vec::new(),
        }
    }
}

/// The name of `value`, and its meaning.
fn described(value: &PossibleValue) -> (String, String) {
    let help = value.get_help().map(ToString::to_string);
    (value.get_name().to_owned(), help.unwrap_or_default())
}

/// The name of the value of `argument`.
pub(super) fn name(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    names.join(" ")
}

/// The first line of the help about `argument`.
pub(super) fn about(argument: &Arg) -> String {
    let help = argument.get_help().map(ToString::to_string);
    help.unwrap_or_default()
}

/// The commands, each with its definition.
pub(super) fn definitions() -> Vec<(&'static str, Command)> {
    let commands = CommandName::all();
    commands
        .map(|command| (command.as_str(), command.definition()))
        .collect()
}

/// The commands, each with its meaning.
pub(super) fn commands() -> impl Iterator<Item = (String, String)> {
    CommandName::all().map(|command| (command.as_str().to_owned(), command.about()))
}

/// The options of `command` that users write.
pub(super) fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let options = command.get_arguments();
    options.filter(|option| option.get_long().is_some() && !option.is_hide_set())
}

/// The candidates for the value of `option`; `None` if it takes no value.
pub(super) fn value(option: &Arg) -> Option<Candidates> {
    let takes_value = option.get_action().takes_values();
    takes_value.then(|| Candidates::of(option))
}

/// Whether an operand may be written again.
pub(super) fn repeats(operand: &Arg) -> bool {
    matches!(operand.get_action(), ArgAction::Append)
}
