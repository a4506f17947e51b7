//! Reads the values of options, and refuses options and operands that do not fit together, in git's words.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use clap::{
    Arg, Command, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{
    candidates::{self, Candidates},
    commands::CommandName,
    content::LEVEL,
    error::CliError,
    extra::{Extra, Untracked},
    grammar::{Item, Scanner, Speaker, Taken},
    help,
};
use sluice_base::error::{ByteMessage, Error, Result, format_bytes};

/// Options that mean nothing without the option in front of them.
const COMPANIONS: [(&str, &[&str]); 3] = [
    (
        "base",
        &[
            "base-filters",
            "deletions",
            "ignore-mode-changes",
            "max-changed-paths",
            "max-changed-ratio",
        ],
    ),
    ("pathspec-from-file", &["pathspec-file-nul"]),
    ("byte-range", &["if-range"]),
];

/// The options and operands that the words give.
#[derive(Default)]
pub(super) struct ParsedOptions<'t> {
    /// All options that no later `--no-` form takes back.
    options: Vec<(&'t str, Option<OsString>)>,
    extras: Vec<Extra>,
    level: Option<i32>,
    operands: Vec<OsString>,
    /// Values that an option may have taken by mistake.
    pub(super) taken: Vec<Taken>,
}

impl<'t> ParsedOptions<'t> {
    /// Reads all words of `scanner`.
    pub(super) fn read(
        mut scanner: Scanner<'t>,
        find: impl Fn(Untracked<'_>) -> Result<Vec<Extra>>,
    ) -> Result<Self, CliError> {
        let mut given = Self::default();
        for item in scanner.by_ref() {
            match item? {
                Item::Question(question, command) => {
                    return Err(CliError::Answer(help::answer(question, command)));
                }
                Item::Set("add-file", Some(file)) => {
                    given.add(find(Untracked::File(&file))?);
                }
                Item::Set("add-directory", Some(directory)) => {
                    given.add(find(Untracked::Directory(&directory))?);
                }
                Item::Set("add-virtual-file", Some(text)) => {
                    given.extras.push(Extra::of_text(&text)?)
                }
                Item::Unset("add-file" | "add-directory" | "add-virtual-file") => {
                    given.extras.clear()
                }
                Item::Set(name, value) => given.options.push((name, value)),
                Item::Unset(name) => given.options.retain(|(other, _)| *other != name),
                Item::Level(level) => given.level = Some(level),
                Item::Operand(word) => given.operands.push(word),
            }
        }
        given.taken = scanner.into_taken();
        Ok(given)
    }

    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(other, _)| *other == name)
    }

    /// Adds files outside of the tree, below the prefix that applies at this point.
    fn add(&mut self, found: Vec<Extra>) {
        let prefix = self.prefix().to_owned();
        let named = found.into_iter().map(|extra| extra.below(&prefix));
        self.extras.extend(named);
    }

    /// The prefix that applies at this point.
    fn prefix(&self) -> &OsStr {
        let prefix = self.options.iter().rfind(|(name, _)| *name == "prefix");
        let prefix = prefix.and_then(|(_, value)| value.as_deref());
        prefix.unwrap_or_default()
    }

    /// Abbreviated or in a cluster, an option of the first pass is found too late.
    pub(super) fn refuse_late(&self) -> Result<()> {
        for (name, message) in [
            ("remote", "Unexpected option --remote"),
            ("exec", "the option '--exec' requires '--remote'"),
            ("output", "Unexpected option --output"),
        ] {
            if self.has(name) {
                return Err(Error::fatal(message));
            }
        }
        Ok(())
    }

    /// Refuses an option without its companion.
    fn refuse_alone(&self) -> Result<()> {
        for (companion, options) in COMPANIONS {
            if let Some(alone) = options.iter().find(|option| self.has(option))
                && !self.has(companion)
            {
                let refused = format!("the option '--{alone}' requires '--{companion}'");
                return Err(Error::usage(refused));
            }
        }
        Ok(())
    }

    /// Refuses the value of an option of git-sluice that is a path below `~`. A shell replaces the sign only at the start of a
    /// word, so the file would go to a directory with this name.
    fn refuse_home(&self, command: &Command) -> Result<()> {
        let is_path = |name: &str| {
            let mut options = command.get_arguments();
            let option = options.find(|option| option.get_long() == Some(name));
            let own = option.filter(|option| option.get_help_heading().is_some());
            let value = own.and_then(candidates::value);
            matches!(
                value,
                Some(Candidates::Files | Candidates::Directories | Candidates::Channels)
            )
        };
        let mut paths = self.options.iter().filter(|(name, _)| is_path(name));
        let below_home = paths.find_map(|(name, value)| {
            let below = value.as_ref()?.as_bytes().strip_prefix(b"~/")?;
            Some((name.as_bytes(), below))
        });
        match below_home {
            Some((name, below)) => {
                let refused =
                    format_bytes("--{}='~/{}': the shell did not replace '~'", &[name, below]);
                Err(Error::usage(refused)
                    .hinted(format_bytes(r#"--{}="$HOME"/{}"#, &[name, below])))
            }
            None => Ok(()),
        }
    }

    /// Reads the values with the definition of the `command`.
    pub(super) fn parse<T: FromArgMatches>(
        mut self,
        command: &mut Command,
        speaker: Speaker,
    ) -> Result<(T, Vec<Extra>), CliError> {
        self.refuse_alone()?;
        self.refuse_home(command)?;
        if let Some(operand) = self.missing_operand(command) {
            return Err(self.without_operand(&operand, command, speaker).into());
        }
        let extras = std::mem::take(&mut self.extras);
        let words = std::iter::once(command.get_name().into()).chain(self.words());
        let words: Vec<OsString> = words.collect();
        let parsed = command.try_get_matches_from_mut(words);
        match parsed.and_then(|mut matches| T::from_arg_matches_mut(&mut matches)) {
            Ok(options) => Ok((options, extras)),
            Err(error) => Err(Self::refused(&error, command).into()),
        }
    }

    /// The options and operands in an unambiguous form, for clap.
    fn words(&self) -> impl Iterator<Item = OsString> {
        let level = self.level.filter(|&level| level != -1);
        let level = level.map(|level| format!("--{LEVEL}={level}").into());
        let options = self.options.iter().map(|(name, value)| {
            let mut word = OsString::from("--");
            word.push(name);
            if let Some(value) = value {
                word.push("=");
                word.push(value);
            }
            word
        });
        let operands = self.operands.iter().cloned();
        options.chain(level).chain(["--".into()]).chain(operands)
    }

    /// clap's `error` about options of the `command`, in git's words.
    fn refused(error: &clap::Error, command: &mut Command) -> Error {
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.as_str()),
            Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
            _ => None,
        };
        // Without the name of a value.
        let option = |kind| Some(context(kind)?.split([' ', '=']).next().unwrap_or_default());
        let invalid = context(ContextKind::InvalidArg).unwrap_or_default();
        match error.kind() {
            ErrorKind::ArgumentConflict => {
                let one = option(ContextKind::InvalidArg).unwrap_or_default();
                let other = option(ContextKind::PriorArg).unwrap_or_default();
                Error::usage(format!(
                    "options '{one}' and '{other}' cannot be used together"
                ))
            }
            ErrorKind::UnknownArgument => {
                let refused =
                    format_bytes("extra command line parameter '{}'", &[invalid.as_bytes()]);
                Error::usage(refused).hinted(usage(command))
            }
            _ => refused_value(error),
        }
    }

    /// The name of an operand that the `command` needs and the words lack. A list of formats needs no tree-ish, and `compare` may find
    /// one itself.
    fn missing_operand(&self, command: &Command) -> Option<String> {
        let finds_commit = command.get_name() == CommandName::Compare.as_str();
        let needs_treeish = !finds_commit && !self.has("list");
        let is_needed = |operand: &&Arg| {
            operand.is_required_set() || (operand.get_id() == "treeish" && needs_treeish)
        };
        let mut needed = command.get_positionals().filter(is_needed);
        let missing = needed.nth(self.operands.len())?;
        Some(candidates::name(missing))
    }

    /// The error about a missing operand, which one of the values that options took may be.
    fn without_operand(&self, operand: &str, command: &mut Command, speaker: Speaker) -> Error {
        let article = if operand.starts_with('a') { "an" } else { "a" };
        let missing = Error::usage(format!("{article} {operand} is required"));
        let Some(Taken { option, value }) = self.taken.last() else {
            return missing.hinted(match speaker {
                Speaker::Command(_) => usage(command),
                Speaker::Client => format!("{speaker} [<options>] <tree-ish> [<path>...]"),
            });
        };
        let values = self.taken.iter().map(|Taken { option, value }| {
            let values = [option.as_bytes(), value.as_bytes()];
            format_bytes("'{}' took '{}' as its value", &values)
        });
        let values = bstr::join("; ", values.collect::<Vec<_>>());
        let assign = if option.starts_with("--") { "=" } else { " " };
        let hint = format!("{speaker} {option}{assign}<value> {{}}");
        missing
            .caused_by(ByteMessage(values.into()))
            .hinted(format_bytes(&hint, &[value.as_bytes()]))
    }
}

/// How the `command` is used, in one line.
fn usage(command: &mut Command) -> String {
    let usage = command.render_usage().to_string();
    let line = usage.lines().next().unwrap_or_default();
    line.trim_start_matches("Usage: ").to_owned()
}

/// A value that its option does not take: the first line of clap's `error`, and the values that there are.
fn refused_value(error: &clap::Error) -> Error {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let refused = Error::usage(line.trim_start_matches("error: "));
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() => {
            refused.hinted(format!("the values are {}", values.join(", ")))
        }
        _ => refused,
    }
}
