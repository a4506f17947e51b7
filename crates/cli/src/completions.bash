# The channels of the bucket that the word $1 names, or the directories that lead to one. A bucket has a file for each channel.
_git_sluice_channels() {
    local directory= file
    [[ $1 != */* ]] || directory=${1%/*}/
    if [[ -d ${directory}v1/channels ]]; then
        for file in "${directory}v1/channels/"*.json; do
            file=${file##*/}
            printf '%s\n' "$directory${file%.json}"
        done
    else
        compgen -S / -d -- "$1"
    fi
}

# The values of the option $1, one a line, for the word $2. Fails where revisions are wanted.
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

# The operands of the command $1, one a line, for the word $2. Fails if files are wanted.
_git_sluice_operands() {
    case "$1" in
OPERANDS    FILES) return 1 ;;
    CHANNELS)
        _git_sluice_channels "$2"
        git for-each-ref --format='%(refname:short)' 2>/dev/null
        ;;
    *) git for-each-ref --format='%(refname:short)' 2>/dev/null ;;
    esac
}

# The candidates for the word $4, after the option $3, of the command $2; $1 is 1 if the word may be a command.
_git_sluice_candidates() {
    case "$4" in
    -*) _git_sluice_options "$2" ;;
    *)
        _git_sluice_values "$3" "$4" && return
        if [[ $1 == 1 ]]; then
            printf '%s\n' COMMANDS
        fi
        _git_sluice_operands "$2" "$4"
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
    [[ ${COMPREPLY[0]} != *[=/] ]] || compopt -o nospace 2>/dev/null
}

complete -F _git_sluice_program -o bashdefault -o default git-sluice

# Offers the lines $1 for the word $2 in git's own completion.
_git_sluice_offer() {
    local end=' '
    [[ $1 != */ ]] || end=
    __gitcomp_nl "$1" "" "$2" "$end"
}

# What git's own completion calls for `git sluice`.
_git_sluice() {
    local word=$cur option=$prev values command at=$((${__git_cmd_idx:-1} + 1)) may_be_command=0
    case "$cur" in
    --*=*) option=${cur%%=*} word=${cur#*=} ;;
    esac
    if values=$(_git_sluice_values "$option" "$word"); then
        _git_sluice_offer "$values" "$word"
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
        _git_sluice_offer "$values" "$word"
    fi
}
