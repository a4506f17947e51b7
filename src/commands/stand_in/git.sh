#!/bin/sh
# git-sluice stand-in: 'git archive', 'git upload-archive' and 'git sluice' run git-sluice, everything else the real git.
# 'git sluice stand-in' wrote this file. REAL_GIT names the real git, if it is not the next one in PATH. The file `git` next to
# this one is a launcher that starts this script, or is a link to it.
sluice={}
known={}
here={}
self=${0%/*}/git

fail() {
    printf 'fatal: %s\nhint: set REAL_GIT to the path of the real git\n' "$1" >&2
    exit 128
}

is_other_program() {
    [ -f "$1" ] && [ -x "$1" ] && ! [ "$1" -ef "$self" ]
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
        if [ "$candidate" -ef "$self" ]; then
            git=
        elif [ -z "$git" ] && is_other_program "$candidate"; then
            git=$candidate
        fi
    done
    [ -z "$git" ] && is_other_program "$known" && git=$known
    [ -n "$git" ] || fail "git-sluice's stand-in cannot find the real git"
}

is_in_place() {
    [ "$here/git" -ef "$self" ]
}

# git-sluice may have been removed, be a program for another machine or an empty file. Its shortest answer shows that it starts.
can_sluice() {
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

start_git() {
    trap - EXIT
    find_git
    exec "$git" "$@"
}

# Starts a server of git with the words after its name. git would put its own programs first in PATH, and `http-backend` does so
# itself, so the server would not find this directory. The programs that the server starts get their GIT_EXEC_PATH back.
start_server() {
    find_git
    server=$("$git" --exec-path)/git-$command
    [ -x "$server" ] || start_git "$command" "$@"
    GIT_SLUICE_STAND_IN=${GIT_SLUICE_STAND_IN%%:"$command":*}
    export GIT_SLUICE_EXEC_PATH="$GIT_EXEC_PATH" GIT_EXEC_PATH="$here" PATH="$here:$PATH"
    exec "$server" "$@"
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
    case $command in
        daemon | http-backend) start_server "$@" ;;
    esac
    start_sluice "$@"
fi
# A server of git started this file.
if [ "$GIT_EXEC_PATH" = "$here" ]; then
    GIT_EXEC_PATH=$GIT_SLUICE_EXEC_PATH
    [ -n "$GIT_EXEC_PATH" ] || unset GIT_EXEC_PATH
fi
[ "$rounds" -lt 32 ] || fail "git-sluice's stand-in and another 'git' start each other"
export GIT_SLUICE_STAND_IN=$((rounds + 1)):$$

case ${0##*/} in
    git-upload-archive | git-http-backend) set -- "${0##*/git-}" "$@" ;;
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
            archive | upload-archive | sluice | daemon | http-backend) command=$word; break ;;
            *) break ;;
        esac
    fi
    before=$((before + 1))
done
case $command in
    archive | upload-archive)
        # The client of another repository is git.
        for word; do
            case $word in
                --remote | --remote=*) command= ;;
            esac
        done
        ;;
esac
case $command in
    '') ;;
    daemon | http-backend) is_in_place || command= ;;
    # After options of git, git starts this file again, under a name that only this directory has, unless the directory was moved.
    *) { [ "$before" -eq 0 ] || is_in_place; } && can_sluice || command= ;;
esac
[ -n "$command" ] || start_git "$@"

# git-sluice learns in place of which command it runs, and the PATH of its caller.
export GIT_SLUICE_STAND_IN="$GIT_SLUICE_STAND_IN:$command:$PATH"
case $before$command in
    0sluice) shift && start_sluice "$@" ;;
    0daemon | 0http-backend) shift && start_server "$@" ;;
    0*) start_sluice "$@" ;;
esac
export PATH="$here:$PATH"
for word; do
    shift
    [ "$before" -ne 0 ] || set -- "$@" sluice-program
    case $before$word in
        0sluice | 0daemon | 0http-backend) ;;
        *) set -- "$@" "$word" ;;
    esac
    before=$((before - 1))
done
start_git "$@"
