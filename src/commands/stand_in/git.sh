#!/bin/sh
# git-sluice stand-in: 'git archive', 'git upload-archive' and 'git sluice' run git-sluice, everything else the real git.
# 'git sluice stand-in' wrote this file. REAL_GIT names the real git, if it is not the next one in PATH.
sluice={}
known={}
here={}

fail() {
    printf 'fatal: %s\nhint: set REAL_GIT to the path of the real git\n' "$1" >&2
    exit 128
}

is_other_program() {
    [ -f "$1" ] && [ -x "$1" ] && ! [ "$1" -ef "$0" ]
}

# Sets `git` to the real git. Only the part of PATH after this file counts, so two files of this kind cannot find each
# other. If another one passed the words on within this process, or if programs keep starting this one, only the git
# that was found when this file was written counts.
find_git() {
    git=
    if [ "$rounds" -gt 16 ] || [ "$process" = $$ ]; then
        is_other_program "$known" && git=$known && return
    fi
    is_other_program "$REAL_GIT" && git=$REAL_GIT && return
    set -f
    IFS=:
    for directory in $PATH; do
        candidate=${directory:-.}/git
        if [ "$candidate" -ef "$0" ]; then
            git=
        elif [ -z "$git" ] && is_other_program "$candidate"; then
            git=$candidate
        fi
    done
    [ -z "$git" ] && is_other_program "$known" && git=$known
    [ -n "$git" ] || fail "git-sluice's stand-in cannot find the real git"
}

# git-sluice may have been removed, be a program for another machine or an empty file. Its shortest answer shows that it starts.
# After options of git, git starts this file again, under a name that only this directory has, unless the directory was moved.
can_sluice() {
    [ "$before" -eq 0 ] || [ "$here/git-sluice-program" -ef "$0" ] || return
    case $("$sluice" upload-archive -h 2>/dev/null </dev/null) in
        *"git sluice upload-archive"*) ;;
        *) return 1 ;;
    esac
}

# Whether the words are those of a shell for ssh, `git shell -c "git-upload-archive '<repository>'"`. Sets `repository`.
# A name with a quote or a backslash is left to git.
is_shell_for_archives() {
    [ "$#" -eq 3 ] && [ "$1 $2" = "shell -c" ] || return
    case $3 in
        "git-upload-archive '"*"'" | "git upload-archive '"*"'") ;;
        *) return 1 ;;
    esac
    repository=${3#*\'}
    repository=${repository%\'}
    case $repository in
        -* | *[\'\\]*) return 1 ;;
    esac
}

# git would start its server of repositories with its own programs first in PATH, so the server would not find this file.
start_daemon() {
    daemon=$("$git" --exec-path)/git-daemon
    [ -x "$daemon" ] || return
    shift
    PATH=$here:$PATH exec "$daemon" "$@"
}

start_git() {
    trap - EXIT
    find_git
    [ "$1" != daemon ] || start_daemon "$@"
    exec "$git" "$@"
}

# Starts git-sluice with the words after `sluice`, or all. If it was removed or is being replaced since it was tried, git goes
# on: from the next line in bash, and from the trap in other shells.
start_sluice() {
    first=
    [ "$command" != sluice ] || first=sluice
    [ -z "$BASH_VERSION" ] || shopt -s execfail
    trap 'start_git $first "$@"' EXIT
    exec "$sluice" "$@"
    start_git $first "$@"
}

# How often files of this kind have started each other, and in which process the last one ran.
rounds=${GIT_SLUICE_STAND_IN%%:*}
process=${GIT_SLUICE_STAND_IN#*:}
process=${process%%:*}
case $rounds in
    '' | *[!0-9]*) rounds=0 ;;
esac
# git starts this file after its options.
if [ "${0##*/}" = git-sluice-program ]; then
    command=${GIT_SLUICE_STAND_IN#*:*:}
    command=${command%%:*}
    start_sluice "$@"
fi
[ "$rounds" -lt 32 ] || fail "git-sluice's stand-in and another 'git' start each other"
export GIT_SLUICE_STAND_IN=$((rounds + 1)):$$

case ${0##*/} in
    git-upload-archive) set -- upload-archive "$@" ;;
    *) is_shell_for_archives "$@" && set -- upload-archive "$repository" ;;
esac

# The command follows git's own options, `before` words.
command= before=0 is_value=
for word; do
    if [ -n "$is_value" ]; then
        is_value=
    else
        case $word in
            -C | -c | --git-dir | --work-tree | --namespace | --config-env | --attr-source | --super-prefix) is_value=yes ;;
            -h | --help | -v | --version) break ;;
            -*) ;;
            archive | upload-archive | sluice) command=$word; break ;;
            *) break ;;
        esac
    fi
    before=$((before + 1))
done
# The client of another repository is git.
[ -z "$command" ] || [ "$command" = sluice ] || for word; do
    case $word in
        --remote | --remote=*) command= ;;
    esac
done

if [ -n "$command" ] && can_sluice; then
    # git-sluice learns in place of which command it runs, and the PATH of its caller.
    export GIT_SLUICE_STAND_IN="$GIT_SLUICE_STAND_IN:$command:$PATH"
    if [ "$before" -eq 0 ]; then
        [ "$command" != sluice ] || shift
        start_sluice "$@"
    fi
    export PATH="$here:$PATH"
    for word; do
        shift
        [ "$before" -ne 0 ] || set -- "$@" sluice-program
        [ "$before" -eq 0 ] && [ "$word" = sluice ] || set -- "$@" "$word"
        before=$((before - 1))
    done
fi
start_git "$@"
