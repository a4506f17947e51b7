//! Completions for bash: for the program, and for `git sluice` behind git's own completion.
//!
//! Candidates are never words for `compgen -W`, which would run a command in the name of a ref.

use std::collections::BTreeMap;

use clap::{Arg, Command, ValueEnum};

use super::commands::CommandName;

/// The script. `COMMANDS` stands for all commands, `OPTIONS` for the cases of the commands' options, `OPERANDS` for those of
/// commands whose operand is one of a few words, `VALUES` for those of options that take one of a few values, and `OTHERS` for
/// all other options with a value that is no revision.
const SCRIPT: &str = r#"# The values of the option $1, one a line. Fails where revisions are wanted.
_git_sluice_values() {
    case "$1" in
    --format) git-sluice --list 2>/dev/null ;;
VALUES    OTHERS) ;;
    *) return 1 ;;
    esac
}

# The options of the command $1, one a line.
_git_sluice_options() {
    case "$1" in
OPTIONS    esac
}

# The operands of the command $1, one a line. Fails if files are wanted.
_git_sluice_operands() {
    case "$1" in
OPERANDS    apply | verify | prune | upload-archive | batch) return 1 ;;
    *) git for-each-ref --format='%(refname:short)' 2>/dev/null ;;
    esac
}

# The candidates for the word $4, after the option $3, of the command $2; $1 is 1 if the word may be a command.
_git_sluice_candidates() {
    case "$4" in
    -*) _git_sluice_options "$2" ;;
    *)
        _git_sluice_values "$3" && return
        if [[ $1 == 1 ]]; then
            printf '%s\n' COMMANDS
        fi
        _git_sluice_operands "$2"
        ;;
    esac
}

# The command that the words give.
_git_sluice_command() {
    case "$1" in
    PATTERN) printf '%s\n' "$1" ;;
    *) printf 'archive\n' ;;
    esac
}

_git_sluice_program() {
    local word=$2 option=$3 candidate command may_be_command=0
    # Bash takes --option=value apart at the sign.
    if [[ ${COMP_WORDS[COMP_CWORD]} == = ]]; then
        word=
    elif [[ $option == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    command=archive
    if [[ $COMP_CWORD == 1 ]]; then
        may_be_command=1
    else
        command=$(_git_sluice_command "${COMP_WORDS[1]}")
    fi
    COMPREPLY=()
    while read -r candidate; do
        [[ $candidate != "$word"* ]] || COMPREPLY+=("$candidate")
    done < <(_git_sluice_candidates "$may_be_command" "$command" "$option" "$word")
    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -F _git_sluice_program -o bashdefault -o default git-sluice

# What git's own completion calls for `git sluice`.
_git_sluice() {
    local word=$cur option=$prev values command at=$((${__git_cmd_idx:-1} + 1)) may_be_command=0
    case "$cur" in
    --*=*) option=${cur%%=*} word=${cur#*=} ;;
    esac
    if values=$(_git_sluice_values "$option"); then
        __gitcomp_nl "$values" "" "$word"
        return
    fi
    command=archive
    if [[ $cword == "$at" && $cur != -* ]]; then
        may_be_command=1
    else
        command=$(_git_sluice_command "${words[at]}")
    fi
    case "$cur" in
    --*=*) ;;
    -*)
        __gitcomp "$(_git_sluice_options "$command")"
        return
        ;;
    esac
    if values=$(_git_sluice_candidates "$may_be_command" "$command" "$option" "$word"); then
        __gitcomp_nl "$values" " " "$word"
    fi
}
"#;

/// The script of completions.
pub(super) fn completions() -> String {
    let commands = CommandName::value_variants().iter();
    let commands: Vec<(&str, Command)> = commands
        .map(|command| (command.as_str(), command.definition()))
        .collect();
    let names: Vec<&str> = commands.iter().map(|(name, _)| *name).collect();
    let options = commands.iter().map(|(name, command)| {
        let words = option_words(command).join(" ");
        format!("    {name}) printf '%s\\n' {words} ;;\n")
    });
    let operands = commands.iter().filter_map(|(name, command)| {
        let operand = command.get_positionals().next()?;
        let values = value_names(operand);
        (!values.is_empty()).then(|| format!("    {name}) printf '%s\\n' {values} ;;\n"))
    });
    let (values, others) = values(commands.iter().map(|(_, command)| command));
    SCRIPT
        .replace("OPTIONS", &options.collect::<String>())
        .replace("OPERANDS", &operands.collect::<String>())
        .replace("VALUES", &values)
        .replace("OTHERS", &others)
        .replace("PATTERN", &names.join(" | "))
        .replace("COMMANDS", &names.join(" "))
}

/// The cases of all options that take one of a few values, and the pattern of all others that take a value which is no
/// revision.
fn values<'c>(commands: impl Iterator<Item = &'c Command>) -> (String, String) {
    let options = commands.flat_map(Command::get_arguments);
    let options = options.filter(|option| takes_plain_value(option));
    let options: BTreeMap<String, &Arg> = options.map(|it| (pattern(it), it)).collect();
    let (mut values, mut others) = (String::new(), Vec::new());
    for (pattern, option) in options {
        match value_names(option) {
            names if names.is_empty() => others.push(pattern),
            names => values += &format!("    {pattern}) printf '%s\\n' {names} ;;\n"),
        }
    }
    (values, others.join(" | "))
}

/// The words that `argument` can be, if there are only a few.
fn value_names(argument: &Arg) -> String {
    let values = argument.get_possible_values();
    let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
    names.join(" ")
}

/// The long options of `command`, each with `=` if it takes a value.
pub(super) fn option_words(command: &Command) -> Vec<String> {
    let visible = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let options = visible.filter_map(|option| {
        let name = option.get_long()?;
        let value = if option.get_action().takes_values() {
            "="
        } else {
            ""
        };
        Some(format!("--{name}{value}"))
    });
    options.collect()
}

/// Whether `option` takes a value that is no revision. The formats are listed when they are asked for.
fn takes_plain_value(option: &Arg) -> bool {
    let names = option.get_value_names().unwrap_or_default();
    option.get_action().takes_values()
        && !option.is_hide_set()
        && option.get_long().is_some_and(|name| name != "format")
        && !names.iter().any(|name| name == "tree-ish")
}

/// The names of `option`, as a pattern of a shell.
fn pattern(option: &Arg) -> String {
    let long = option.get_long().unwrap_or_default();
    match option.get_short() {
        Some(short) => format!("-{short} | --{long}"),
        None => format!("--{long}"),
    }
}
