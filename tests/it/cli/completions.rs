//! Completions of shells: what each shell makes of words that somebody types, in a terminal.

use std::{collections::BTreeSet, path::Path};

use crate::commands::{COMMANDS, options, text};
use crate::support::process::{run, run_with_input};
use crate::support::{Repo, installed, skip};

/// git's own completion for bash.
const BASH_OF_GIT: &str = "/usr/share/bash-completion/completions/git";
/// What zsh and bash have to do for `terminal.py`.
const BASH: &str = "bind 'set completion-query-items -1'
bind 'set page-completions off'
bind 'set enable-bracketed-paste off'
bind '\"\\e*\": insert-completions'
show() { printf '<<%s>>\\n' \"$READLINE_LINE\"; }
bind -x '\"\\C-x\\C-p\": show'
";
const ZSH: &str = "fpath=($PWD/functions $fpath)
autoload -U compinit && compinit -u -d $PWD/dump
zle -C all-matches complete-word _generic
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert yes
unset zle_bracketed_paste
show() { print -r -- \"<<$BUFFER>>\" }
zle -N show
bindkey -e
bindkey '^[*' all-matches
bindkey '^X^P' show
";

/// What somebody types behind the program, and what the tabulator makes of it. `^I` is the tabulator.
const TYPED: [(&str, &str); 19] = [
    ("publi^I", "publish "),
    ("--max-changed-p^I", "--max-changed-paths="),
    ("--fail-if-e^I", "--fail-if-empty "),
    ("--base=mai^I", "--base=main "),
    ("--profile=z^I", "--profile=zoekt "),
    ("--format=z^I", "--format=zip "),
    ("mai^I", "main "),
    ("-v mai^I", "-v main "),
    ("main --fail-if-e^I", "main --fail-if-empty "),
    ("ls mai^I", "ls main "),
    ("ls --js^I", "ls --json "),
    ("prune --old^I", "prune --older-than="),
    ("help z^I", "help zoekt "),
    ("help fil^I", "help filters "),
    ("manual publi^I", "manual publish "),
    ("completions f^I", "completions fish "),
    ("apply --channel=bu^I", "apply --channel=bucket/"),
    (
        "apply --channel=bucket/rel^I",
        "apply --channel=bucket/release ",
    ),
    ("publish bucket/rel^I", "publish bucket/release "),
];

/// What somebody types, of which the shell makes nothing.
const HOPELESS: [&str; 7] = [
    "--prefix=mai",
    "--lev",
    "ls --lev",
    "ls --older",
    "help mai",
    "completions mai",
    "batch mai",
];

/// All candidates for what somebody types.
const OFFERED: [(&str, &[&str]); 6] = [
    ("--gzip-compat=", &["git", "gnu"]),
    ("--max-ch", &["--max-changed-paths", "--max-changed-ratio"]),
    ("help z", &["zoekt"]),
    ("--large=", &["keep", "omit", "empty", "placeholder"]),
    ("prune --t", &["--timeout"]),
    ("info --b", &["--base", "--base-filters", "--binary"]),
];

/// A repository with the branches `main` and `work`, and the completions for each shell.
fn place() -> Repo {
    let place = Repo::copy("basic");
    place.script(
            "git branch work; mkdir -p functions bucket/v1/channels bucket/v1/objects && : >bucket/v1/channels/release.json && \
             : >bucket/v1/channels/nightly.json && git-sluice completions zsh >functions/_git-sluice && \
             git-sluice completions bash >bash && git-sluice completions fish >fish",
        );
    // A name that would run a command, if a shell read it.
    place.git(["tag", "made$(touch${IFS}ran)", "HEAD"]);
    place.write("terminal.py", include_str!("terminal.py"));
    at_home(place)
}

/// The same in a home of its own: fish writes to it, and lets nobody else read what it writes.
fn at_home(place: Repo) -> Repo {
    let home = place.path().join("home");
    place.env("HOME", home)
}

/// What the `shell` makes of each of the `lines`.
#[track_caller]
fn typed(place: &Repo, setup: &str, shell: &[&str], lines: &[String]) -> Vec<String> {
    place.write("setup", setup);
    let mut terminal = place.command("python3");
    terminal.args(["terminal.py", "./setup"]).args(shell);
    let made = run_with_input(terminal.env("TERM", "dumb"), lines.join("\n"));
    let made = String::from_utf8(made.success()).expect("text");
    made.lines().map(str::to_owned).collect()
}

/// Checks all that is typed behind each of the `programs` in a `shell` that needs this `setup`.
#[track_caller]
fn check(setup: &str, shell: &[&str], programs: &[&str]) {
    let place = place();
    let expected: BTreeSet<&str> = COMMANDS.iter().chain(&["main", "work"]).copied().collect();
    for program in programs {
        let line = |typed: &str| format!("{program} {typed}");
        let mut lines: Vec<_> = TYPED.iter().map(|(typed, _)| line(typed)).collect();
        lines.extend(HOPELESS.map(|typed| line(typed) + "^I"));
        lines.extend(OFFERED.map(|(typed, _)| line(typed) + "^*"));
        lines.push(line("^*"));
        let made = typed(&place, setup, shell, &lines);
        let mut made = made.iter();
        let mut next = || made.next().expect("an answer to each line").as_str();
        for (typed, expected) in TYPED {
            assert_eq!(next(), line(expected), "{shell:?} {typed}");
        }
        for typed in HOPELESS {
            assert_eq!(next(), line(typed), "{shell:?}");
        }
        for (typed, expected) in OFFERED {
            let words = next().strip_prefix(&line("")).expect("as typed");
            let offered = offered(words, typed);
            assert_eq!(
                offered,
                expected.iter().copied().collect(),
                "{shell:?} {typed}"
            );
        }
        let offered = offered(next().strip_prefix(&line("")).expect("as typed"), "");
        assert!(offered.is_superset(&expected), "{shell:?} {offered:?}");
        // Files are offered as well by some, and programs by none.
        assert!(
            !offered.contains("git-sluice") && !offered.contains("python3"),
            "{offered:?}"
        );
    }
    assert!(!place.path().join("ran").exists());
}

/// The candidates among `words`, which a shell has inserted in place of the last of the words `typed`.
fn offered<'w>(words: &'w str, typed: &str) -> BTreeSet<&'w str> {
    let last = typed.rsplit(' ').next().unwrap_or_default();
    let value = last
        .split_inclusive('=')
        .next()
        .filter(|word| word.ends_with('='));
    let before = typed.len() - last.len();
    let words = words[before..].split_whitespace();
    words
        .map(|word| word.strip_prefix(value.unwrap_or_default()).unwrap_or(word))
        // zsh takes the sign back where a blank follows.
        .map(|word| word.trim_end_matches('='))
        .collect()
}

#[test]
fn in_bash() {
    if !installed("python3") || !installed("bash") {
        return;
    }
    let bash = ["bash", "--norc", "--noprofile", "-i"];
    check(&format!("{BASH}. ./bash\n"), &bash, &["git-sluice"]);
    if !Path::new(BASH_OF_GIT).exists() {
        return skip("git's completion for bash is not installed");
    }
    check(
        &format!("{BASH}. {BASH_OF_GIT}\n. ./bash\n"),
        &bash,
        &["git sluice", "git -C . sluice"],
    );
}

#[test]
#[ignore = "slow"]
fn in_zsh() {
    if installed("python3") && installed("zsh") {
        check(
            ZSH,
            &["zsh", "-f", "-i"],
            &["git-sluice", "git sluice", "git -C . sluice"],
        );
    }
}

/// fish has a command of its own that says what it would offer in a terminal.
#[test]
fn in_fish() {
    if !installed("fish") {
        return;
    }
    let place = place();
    let offer = |line: &str| {
        let mut fish = place.command("fish");
        let script = format!("source fish; complete -C '{line}'");
        let told = run(fish.args(["--no-config", "-c", &script]));
        assert_eq!(told.messages(), "", "{line}");
        let told = String::from_utf8(told.success()).expect("text");
        let names = told.lines().filter_map(|line| line.split('\t').next());
        names.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    for program in ["git-sluice", "git sluice", "git -C . sluice"] {
        for (typed, expected) in TYPED {
            let typed = typed.trim_end_matches("^I");
            // fish adds the sign itself.
            let last = expected
                .trim_end_matches([' ', '='])
                .rsplit(' ')
                .next()
                .unwrap_or_default();
            let offered = offer(&format!("{program} {typed}"));
            assert_eq!(
                offered,
                BTreeSet::from([last.to_owned()]),
                "{program} {typed}"
            );
        }
        for typed in HOPELESS {
            // Where nothing begins so, fish looks within the words and their meanings.
            let last = typed.rsplit(' ').next().unwrap_or_default();
            let offered = offer(&format!("{program} {typed}"));
            let hope = offered.iter().find(|word| word.starts_with(last));
            assert_eq!(hope, None, "{program} {typed}");
        }
        for (typed, expected) in OFFERED {
            let value = typed
                .split_inclusive('=')
                .next()
                .filter(|word| word.ends_with('='));
            let expected = expected.iter().map(|word| match value {
                Some(value) => format!("{value}{word}"),
                None => word.trim_end_matches('=').to_owned(),
            });
            assert_eq!(
                offer(&format!("{program} {typed}")),
                expected.collect(),
                "{program} {typed}"
            );
        }
        let offered = offer(&format!("{program} "));
        let expected = COMMANDS.iter().chain(&["main", "work"]);
        let missing = expected
            .filter(|word| !offered.contains(**word))
            .collect::<Vec<_>>();
        assert!(
            missing.is_empty(),
            "{program}: {missing:?} not in {offered:?}"
        );
        // Directories, where a file would be of no use.
        place.script("mkdir -p directory && touch file");
        let offered = offer(&format!("{program} stand-in "));
        assert!(
            offered.contains("directory/") && !offered.contains("file"),
            "{offered:?}"
        );
    }
    assert!(!place.path().join("ran").exists());
}

/// All shells know all options.
#[test]
fn scripts_are_complete_and_sound() {
    for (shell, check) in [
        ("bash", "-n"),
        ("zsh", "--no-exec"),
        ("fish", "--no-execute"),
    ] {
        let script = text(&["completions", shell]);
        for command in COMMANDS {
            for option in options(command) {
                let name = option.trim_matches(|letter: char| !letter.is_alphanumeric());
                assert!(script.contains(name), "{shell} {option}");
            }
        }
        if installed(shell) {
            let place = at_home(Repo::scratch());
            place.write("script", &script);
            let mut shell = place.command(shell);
            let _ = run(shell.arg(check).arg("script")).success();
        }
    }
}
