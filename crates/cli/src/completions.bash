# The values of the option $1, one a line. Fails where revisions are wanted.
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
OPERANDS    FILES) return 1 ;;
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
        __gitcomp_nl "$values" "" "$word"
    fi
}
