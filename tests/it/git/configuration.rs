//! Configuration that git refuses: files that cannot be read, and values that make no sense.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

use crate::support::process::Output;
use crate::support::{Repo, skip};

fn committed() -> Repo {
    let repo = Repo::init();
    repo.write("file", "text\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-q", "-m", "first"]);
    repo
}

/// What ends a command, without the warnings above it.
fn fatal(output: &Output) -> (i32, String) {
    let messages = output.messages();
    let fatal = messages.lines().find(|line| line.starts_with("fatal: "));
    (output.code(), fatal.unwrap_or_default().to_owned())
}

/// After `setup`, both end in the same way; whether in failure, `fails` says. Nothing if nobody is
/// there to be denied anything.
#[track_caller]
fn assert_same_end(setup: &str, fails: bool) -> Option<()> {
    let [ours, theirs] = ["git-sluice", "git archive"].map(|command| {
        let repo = committed();
        // The same for both, since every repository lies elsewhere.
        let shown = format!("{command} HEAD 2>err; s=$?; sed \"s,$PWD,top,g\" err >&2; exit $s");
        repo.unprivileged_shell(&format!("{setup}; {shown}"))
    });
    let (ours, theirs) = (ours?, theirs?);
    assert_eq!(fatal(&ours), fatal(&theirs), "{setup}");
    assert_eq!(ours.code() != 0, fails, "{setup}\n{ours}");
    Some(())
}

#[test]
fn files_that_may_not_be_read() {
    let worktree = "git config core.repositoryFormatVersion 1; \
                    git config extensions.worktreeConfig true; \
                    echo >.git/config.worktree; chmod 000 .git/config.worktree";
    for (setup, fails) in [
        ("chmod 000 .git/config", true),
        (worktree, true),
        (
            "echo >.git/config.worktree; chmod 000 .git/config.worktree",
            false,
        ),
        (
            "git config include.path ../inc; echo >inc; chmod 000 inc",
            true,
        ),
        (
            "git config include.path ../d/inc; mkdir d; chmod 000 d",
            true,
        ),
        ("git config include.path ../missing", false),
        (
            "git config includeIf.gitdir:/no/.path ../inc; echo >inc; chmod 000 inc",
            false,
        ),
        (
            "git config includeIf.gitdir:**.path ../inc; echo >inc; chmod 000 inc",
            true,
        ),
        // git passes over files of the user that it may not read.
        (
            "export GIT_CONFIG_GLOBAL=$PWD/user; echo >user; chmod 000 user",
            false,
        ),
        (
            "export GIT_CONFIG_NOSYSTEM= GIT_CONFIG_SYSTEM=$PWD/all; echo >all; chmod 000 all",
            true,
        ),
    ] {
        if assert_same_end(setup, fails).is_none() {
            return skip("nobody is there to be denied anything");
        }
    }
}

#[test]
fn directories_in_place_of_files() {
    for (setup, fails) in [
        ("rm .git/config; mkdir .git/config", true),
        ("git config include.path ../inc; mkdir inc", true),
        (
            "git config includeIf.gitdir:/no/.path ../inc; mkdir inc",
            false,
        ),
        ("export GIT_CONFIG_GLOBAL=$PWD/user; mkdir user", true),
        ("export HOME=$PWD; mkdir .gitconfig", true),
        ("export XDG_CONFIG_HOME=$PWD; mkdir -p git/config", true),
    ] {
        if assert_same_end(setup, fails).is_none() {
            return skip("nobody is there to be denied anything");
        }
    }
}

/// Once a condition asks for the URLs of remotes, no file that a condition includes may have one, whatever the condition.
#[test]
fn urls_in_files_that_conditions_include() {
    let url = "[remote \"r\"]\nurl = https://r.example\n";
    let included =
        |condition: &str, path: &str| format!("[includeIf \"{condition}\"]\npath = {path}\n");
    let asks = included("hasconfig:remote.*.url:https://r.*", "../hides");
    let asks_for_no_file = asks.replace("path", "other");
    let in_gitdir = included("gitdir:**", "../url");
    let in_branch = included("onbranch:main", "../url");
    let in_other = included("gitdir:/no/", "../url");
    let nested = included("gitdir:**", "../nested");
    for (config, fails) in [
        (format!("{url}{asks}"), false),
        (format!("{asks}{url}"), false),
        (format!("{asks}[include]\npath = ../url\n"), false),
        (in_gitdir.clone(), false),
        (format!("{asks}{in_gitdir}"), true),
        (format!("{in_gitdir}{asks}"), true),
        (format!("{asks}{in_branch}"), true),
        (format!("{asks}{in_other}"), false),
        (format!("{asks}{nested}"), true),
        (format!("{asks_for_no_file}{in_gitdir}"), true),
        (asks.replace("../hides", "../url"), true),
    ] {
        let repo = committed();
        repo.write("url", url);
        repo.write("nested", "[include]\npath = url\n");
        repo.write("hides", "[core]\nattributesFile = .git/attributes\n");
        repo.write(".git/attributes", "file export-ignore\n");
        let file = repo.path().join(".git/config");
        let sound = fs::read_to_string(&file).expect("our own");
        fs::write(&file, format!("{sound}{config}")).expect("our own");
        let (ours, theirs) = (repo.sluice(["HEAD"]), repo.archive(["HEAD"]));
        assert_eq!(theirs.code() != 0, fails, "{config}\n{theirs}");
        assert_eq!(ours.code(), theirs.code(), "{config}\n{ours}");
        assert_eq!(ours.messages(), theirs.messages(), "{config}");
        assert!(ours.stdout == theirs.stdout, "{config}");
    }
}

#[test]
fn a_user_file_of_bad_syntax() {
    let repo = committed();
    repo.write("user", "[x");
    let user = repo.path().join("user");
    repo.env("GIT_CONFIG_GLOBAL", user).assert_same(["HEAD"]);
}

/// What git takes for a space, a section and a list of parameters is less than what C or a shell does.
#[test]
fn bad_syntax_of_a_repository() {
    let repo = committed();
    let file = repo.path().join(".git/config");
    let sound = fs::read_to_string(&file).expect("our own");
    for text in [
        "[]",
        "[.]",
        "[ \"\"]",
        "\x0b",
        "\x0c",
        "[tar]\x0b umask=0",
        "[tar]umask=0\x0c",
    ] {
        fs::write(&file, format!("{sound}{text}\n")).expect("our own");
        repo.assert_same_within(&["2"], &["1m"], ["HEAD"]);
    }
    fs::write(&file, sound).expect("our own");
    for parameters in [
        " 'tar.umask=0'",
        " ",
        "'tar.umask=0' ",
        "'a.b=c'  'tar.umask=0'",
    ] {
        let repo = repo.clone().env("GIT_CONFIG_PARAMETERS", parameters);
        repo.assert_same_within(&["2"], &["1m"], ["HEAD"]);
    }
}

/// A setting of which the other commands warn is no warning about a name.
#[test]
fn a_setting_for_other_commands() {
    let repo = committed().with(["-c", "core.fsync=nothing"]);
    repo.assert_same_within(&["2"], &["1m"], ["nosuch"]);
}

/// Values that decide how objects, refs and attributes are read.
#[test]
fn bad_values() {
    let repo = committed();
    let file = repo.path().join(".git/config");
    let sound = fs::read_to_string(&file).expect("our own");
    for line in [
        "abbrev = x",
        "attributesFile = ~no.such.user/x",
        "autocrlf = 2147483648",
        "bare = maybe",
        "bigFileThreshold = x",
        "compression = 12",
        "deltaBaseCacheLimit = x",
        "looseCompression = -5",
        "multiPackIndex = maybe",
        "packedGitLimit = x",
        "useReplaceRefs = maybe",
        "warnAmbiguousRefs = maybe",
        // What comes later does not make up for it.
        "symlinks = maybe\n\tsymlinks = true",
    ] {
        fs::write(&file, format!("{sound}[core]\n\t{line}\n")).expect("our own");
        let (ours, theirs) = (repo.sluice(["HEAD"]), repo.archive(["HEAD"]));
        // Newer versions of git name the file of a number.
        let said = |output: &Output| output.messages().replace(" in file .git/config", "");
        assert_eq!((ours.code(), theirs.code()), (128, 128), "{line}");
        assert_eq!(said(&ours), said(&theirs), "{line}");
    }
}

/// As the user's shell spells it.
#[test]
fn values_that_are_not_utf8() {
    let repo = Repo::copy("basic");
    let name = OsStr::from_bytes(b"caf\xe9");
    fs::write(repo.path().join(name), "dir export-ignore\n").expect("our own");
    let setting = OsStr::from_bytes(b"core.attributesFile=caf\xe9");
    repo.with([OsStr::new("-c"), setting]).assert_same(["HEAD"]);
}

/// A boolean without a value holds; a number or a command without one is refused.
#[test]
fn keys_without_a_value() {
    let repo = Repo::copy("basic");
    let file = repo.path().join(".git/config");
    let sound = fs::read_to_string(&file).expect("our own");
    let set = |lines: &str| fs::write(&file, format!("{sound}{lines}\n")).expect("our own");
    for lines in [
        "[core]\n\tautocrlf",
        "[core]\n\tautocrlf = false\n\tautocrlf",
        "[core]\n\teol = crlf\n\teol",
        "[filter \"f\"]\n\trequired",
    ] {
        set(lines);
        repo.assert_same(["HEAD"]);
    }
    for (lines, message) in [
        (
            "[tar]\n\tumask = 0\n\tumask",
            "bad numeric config value '' for 'tar.umask'",
        ),
        (
            "[core]\n\tmaxTreeDepth",
            "bad numeric config value '' for 'core.maxtreedepth'",
        ),
        (
            "[filter \"f\"]\n\tsmudge",
            "missing value for 'filter.f.smudge'",
        ),
        (
            "[filter \"f\"]\n\tprocess",
            "missing value for 'filter.f.process'",
        ),
        ("[core]\n\tabbrev", "missing value for 'core.abbrev'"),
        ("[attr]\n\ttree", "missing value for 'attr.tree'"),
    ] {
        set(lines);
        let output = repo.sluice(["HEAD"]);
        assert_eq!(output.code(), 128, "{lines}");
        assert!(output.messages().contains(message), "{lines}");
    }
}

/// Keys that need a value and have none, and values of keys that say how a repository is to be read.
#[test]
fn keys_of_the_repository() {
    for lines in [
        "[core]\nworktree",
        "[core]\nrepositoryFormatVersion",
        "[core]\neditor",
        "[core]\nwhitespace",
        "[core]\nsparseCheckout = x",
        "[core]\ntrustCtime = x",
        "[core]\nprecomposeUnicode = x",
        "[extensions]\nobjectFormat",
        "[extensions]\npreciousObjects = x",
        "[extensions]\nworktreeConfig = x",
    ] {
        assert_same_end(&format!("printf \"{lines}\\n\" >>.git/config"), true);
    }
    for lines in [
        "[core]\nautocrlf\nsymlinks\npreloadIndex\nlogAllRefUpdates = always",
        "[extensions]\nnoop\nworktreeConfig",
    ] {
        assert_same_end(&format!("printf \"{lines}\\n\" >>.git/config"), false);
    }
}
