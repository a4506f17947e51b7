//! Completions for bash: for the program, and for `git sluice` behind git's own completion.
//!
//! Candidates are never words for `compgen -W`, which would run a command in the name of a ref.

use clap::{Arg, Command};

/// The script. `OPTIONS` stands for all options, `VALUES` for the cases of options that take one of a few values, and
/// `OTHERS` for all other options with a value that is no revision.
const SCRIPT: &str = r#"# The values of the option $1, one a line. Fails where revisions are wanted.
_git_sluice_values() {
    case "$1" in
    --format) git-sluice --list 2>/dev/null ;;
VALUES    OTHERS) ;;
    *) return 1 ;;
    esac
}

_git_sluice_candidates() {
    case "$2" in
    -*) printf '%s\n' OPTIONS ;;
    *) _git_sluice_values "$1" || git for-each-ref --format='%(refname:short)' 2>/dev/null ;;
    esac
}

_git_sluice_program() {
    local word=$2 option=$3 candidate
    # Bash takes --option=value apart at the sign.
    if [[ ${COMP_WORDS[COMP_CWORD]} == = ]]; then
        word=
    elif [[ $option == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    while read -r candidate; do
        [[ $candidate != "$word"* ]] || COMPREPLY+=("$candidate")
    done < <(_git_sluice_candidates "$option" "$word")
    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -F _git_sluice_program -o bashdefault -o default git-sluice

# What git's own completion calls for `git sluice`.
_git_sluice() {
    local word=$cur option=$prev values
    case "$cur" in
    --*=*) option=${cur%%=*} word=${cur#*=} ;;
    --*)
        __gitcomp_builtin sluice
        return
        ;;
    esac
    if values=$(_git_sluice_values "$option"); then
        __gitcomp_nl "$values" "" "$word"
    else
        __git_complete_refs --cur="$word"
    fi
}
"#;

/// The completions of `command`.
pub(super) fn completions(command: &Command) -> String {
    let mut values = String::new();
    let mut others = Vec::new();
    for option in command.get_arguments().filter(|it| takes_plain_value(it)) {
        let possible = option.get_possible_values();
        if possible.is_empty() {
            others.push(pattern(option));
            continue;
        }
        let names: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
        let (pattern, names) = (pattern(option), names.join(" "));
        values += &format!("    {pattern}) printf '%s\\n' {names} ;;\n");
    }
    SCRIPT
        .replace("OPTIONS", &option_words(command).join(" "))
        .replace("VALUES", &values)
        .replace("OTHERS", &others.join(" | "))
}

/// The long options of `command`, each with `=` if it takes a value.
pub(super) fn option_words(command: &Command) -> Vec<String> {
    let options = command.get_arguments().filter_map(|option| {
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
