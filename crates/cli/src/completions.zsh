#compdef git-sluice

_git-sluice_revisions() {
    local -a revisions
    revisions=(${(f)"$(git for-each-ref --format='%(refname:short)' 2>/dev/null)"})
    compadd -a revisions
}

_git-sluice_formats() {
    local -a formats
    formats=(${(f)"$(git-sluice --list 2>/dev/null)"})
    compadd -a formats
}

# A bucket has a file for each channel.
_git-sluice_channels() {
    local directory=${PREFIX%${PREFIX##*/}}
    if [[ -d ${directory}v1/channels ]]; then
        local -a channels
        channels=(${directory}v1/channels/*.json(N:t:r))
        compset -P '*/'
        compadd -a channels
    else
        _directories
    fi
}

_git-sluice_commands() {
    local -a commands
    commands=(
COMMANDS    )
    _describe -t commands command commands
}

# The options and operands of the command $1.
_git-sluice_arguments() {
    case $1 in
ARGUMENTS    esac
}

# The first word is the program, or `sluice` if zsh's own completion of git calls this.
_git-sluice() {
    local ret=1
    if ((CURRENT == 2)); then
        _git-sluice_commands && ret=0
        _git-sluice_arguments archive && ret=0
        return ret
    fi
    case $words[2] in
    PATTERN)
        shift words
        ((CURRENT--))
        _git-sluice_arguments $words[1]
        ;;
    *) _git-sluice_arguments archive ;;
    esac
}

if [[ $funcstack[1] == _git-sluice ]]; then
    _git-sluice "$@"
else
    compdef _git-sluice git-sluice
fi
