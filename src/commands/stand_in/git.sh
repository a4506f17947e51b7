#!/bin/sh
# git-sluice stand-in: 'git archive' and 'git upload-archive' run git-sluice, everything else runs the real git.
# 'git sluice stand-in' wrote this file. REAL_GIT names the real git, if it is not the next one in PATH.
sluice={}
known={}

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

# git-sluice may have been removed, or be a program for another machine. Its shortest answer shows that it starts.
can_sluice() {
    [ -x "$sluice" ] && "$sluice" upload-archive -h >/dev/null 2>&1 </dev/null
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
    directory=${0%/*}
    daemon=$("$git" --exec-path)/git-daemon
    [ -x "$daemon" ] || return
    shift
    PATH=$directory:$PATH exec "$daemon" "$@"
}

# How often files of this kind have started each other, and in which process the last one ran.
rounds=${GIT_SLUICE_STAND_IN%%:*}
process=${GIT_SLUICE_STAND_IN#*:}
case $rounds in
    '' | *[!0-9]*) rounds=0 ;;
esac
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
            archive | upload-archive) command=$word; break ;;
            *) break ;;
        esac
    fi
    before=$((before + 1))
done
# The client of another repository is git.
[ -z "$command" ] || for word; do
    case $word in
        --remote | --remote=*) command= ;;
    esac
done

if [ -n "$command" ] && can_sluice; then
    [ "$before" -gt 0 ] || exec "$sluice" "$@"
    # git applies its own options, and then finds git-sluice in PATH.
    for word; do
        shift
        [ "$before" -ne 0 ] || set -- "$@" sluice
        set -- "$@" "$word"
        before=$((before - 1))
    done
    PATH=$PATH:${sluice%/*}
    export PATH
fi
find_git
[ "$1" != daemon ] || start_daemon "$@"
exec "$git" "$@"
