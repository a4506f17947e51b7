# The words up to the cursor: those after `git-sluice`, or after `git sluice` with options of git in front. Fails if there are
# neither.
function __git_sluice_words
    set -l words (commandline -opc)
    set -l program (string split -r -m 1 / -- $words[1])[-1]
    set -e words[1]
    if test "$program" = git
        while string match -q -- '-*' $words[1]
            switch $words[1]
                case -C -c --git-dir --work-tree --namespace --config-env --attr-source --super-prefix
                    set -e words[1]
            end
            set -e words[1]
        end
        test "$words[1]" = sluice
        or return 1
        set -e words[1]
    end
    set -q words[1]
    and printf '%s\n' $words
    return 0
end

# Whether the words give the command $argv[1]. Without a name of a command, they give `archive`.
function __git_sluice_is
    set -l words (__git_sluice_words)
    if contains -- "$words[1]" COMMANDS
        test "$words[1]" = $argv[1]
    else
        test $argv[1] = archive
    end
end

# Whether the word at the cursor is the first one, which may be a command.
function __git_sluice_is_first
    set -l words (__git_sluice_words)
    not set -q words[1]
end

# The channels of the bucket that the word at the cursor names, or the directories that lead to one. A bucket has a file for each
# channel.
function __git_sluice_channels
    set -l word (string replace -r '^--channel=' '' -- (commandline -ct))
    set -l directory (string match -r '.*/' -- $word)
    if test -d "$directory"v1/channels
        string replace -r '.*/v1/channels/(.*)\.json$' '$1' -- ./"$directory"v1/channels/*.json | string replace -r '^' -- "$directory"
    else
        __fish_complete_directories $word
    end
end

# Offers for `git sluice` what is offered for `git-sluice`.
function __git_sluice_for_git
    set -l words (string escape -- (__git_sluice_words))
    complete -C "git-sluice $words "(commandline -ct)
end

complete -c git -n '__git_sluice_words >/dev/null' -f -a '(__git_sluice_for_git)'
