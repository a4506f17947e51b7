//! Configuration that git refuses: files that cannot be read, and values that make no sense.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

use crate::support::process::Output;
use crate::support::{Repo, cases, skip};

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
    repo.env("GIT_CONFIG_GLOBAL", user)
        .assert_same_once(["HEAD"]);
}

/// A setting of which the other commands warn is no warning about a name.
#[test]
fn a_setting_for_other_commands() {
    let repo = committed().with(["-c", "core.fsync=nothing"]);
    repo.assert_same_once(["nosuch"]);
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

/// git looks at each value while it reads a filter, a driver or a setting of tar, and so a later value makes up for none.
#[test]
fn values_that_later_ones_override() {
    let repo = Repo::init();
    repo.write("file", "text\n");
    repo.write(".gitattributes", "file filter=f diff=d\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-q", "-m", "first"]);
    let file = repo.path().join(".git/config");
    let sound = fs::read_to_string(&file).expect("our own");
    for (section, lines) in [
        ("tar", "umask = x\numask = 0"),
        ("tar", "umask\numask = user"),
        ("tar", "umask = 3000000000\numask = 0"),
        ("tar \"x\"", "remote = bad\nremote = true"),
        ("tar \"x\"", "command\ncommand = cat"),
        ("core", "autocrlf = bad\nautocrlf = input"),
        ("core", "bigFileThreshold = -1"),
        ("core", "bigFileThreshold = 1k"),
        ("filter \"f\"", "smudge\nsmudge = cat"),
        ("filter \"f\"", "clean"),
        ("filter \"g\"", "process\nprocess = cat"),
        ("filter \"f\"", "required = bad\nrequired = false"),
        ("filter \"f\"", "other"),
        ("diff \"d\"", "binary = bad\nbinary = auto"),
        ("diff \"e\"", "textconv"),
        ("diff \"e\"", "cachetextconv = bad"),
        ("diff \"d\"", "other"),
        (
            "uploadarchive",
            "allowUnreachable = bad\nallowUnreachable = true",
        ),
    ] {
        fs::write(&file, format!("{sound}[{section}]\n{lines}\n")).expect("our own");
        for format in ["--format=tar", "--format=zip"] {
            let (ours, theirs) = (
                repo.sluice([format, "HEAD"]),
                repo.archive([format, "HEAD"]),
            );
            // Older versions of git do not name the file of a number.
            let said = |output: &Output| output.messages().replace(" in file .git/config", "");
            assert_eq!(
                ours.code(),
                theirs.code(),
                "{lines} {format}\n{ours}\n{theirs}"
            );
            assert_eq!(said(&ours), said(&theirs), "{lines} {format}");
            assert!(ours.stdout == theirs.stdout, "{lines} {format}");
        }
    }
}

/// Attributes and configuration name a filter in bytes.
#[test]
fn a_filter_whose_name_is_not_utf8() {
    let repo = Repo::init();
    repo.write("file", "aaa\n");
    repo.write(".gitattributes", b"file filter=gr\xf6\xdfe diff=gr\xf6\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-q", "-m", "first"]);
    let file = repo.path().join(".git/config");
    let mut config = fs::read(&file).expect("our own");
    config.extend(
        b"[filter \"gr\xf6\xdfe\"]\nsmudge = tr a b\nrequired\n[diff \"gr\xf6\"]\nbinary\n",
    );
    fs::write(&file, &config).expect("our own");
    repo.assert_same_once(["HEAD"]);
    repo.assert_same_once(["--format=zip", "HEAD"]);
    config.extend(b"[filter \"gr\xf6\xdfe\"]\nsmudge\n");
    fs::write(&file, &config).expect("our own");
    let (ours, theirs) = (repo.sluice(["HEAD"]), repo.archive(["HEAD"]));
    assert_eq!((ours.code(), ours.messages()), (128, theirs.messages()));
}

/// git complains, and goes on.
#[test]
fn messages_about_a_configuration_that_git_accepts() {
    let repo = committed();
    let user = repo.path().join("user");
    let with_user = repo.clone().env("GIT_CONFIG_GLOBAL", &user);
    for text in [
        "k=v\n",
        "k\nl = 1\n[a]\nb\n",
        "[a \"b\0\"]\nk\n[a]\nb=1\x002\n",
    ] {
        fs::write(&user, text).expect("our own");
        with_user.assert_same_once(["HEAD"]);
    }
    for condition in ["gitdir:./x", "gitdir/i:./", "gitdir:x", "onbranch:./"] {
        let repo = repo
            .clone()
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", format!("includeIf.{condition}.path"))
            .env("GIT_CONFIG_VALUE_0", "/dev/null");
        repo.assert_same_once(["HEAD"]);
    }
}

/// git resolves `..` by name, without a look at links, and a name above the start as the system does.
#[test]
fn a_system_file_behind_a_link() {
    let repo = committed();
    let _ = repo
        .shell("mkdir -p d/far/deep d/sub && ln -s far/deep d/link")
        .success();
    for (place, bits) in [("d/file", "0"), ("d/far/file", "7"), ("file", "70")] {
        repo.write(place, format!("[tar]\numask = 0{bits}\n"));
    }
    for named in cases(
        "d/link/../file | ./d//link/../file | d/../file | d/link/../../file | ../no | d/.. | \
         $/d/link/../file",
    ) {
        let named = named.replace('$', repo.path().to_str().expect("our own"));
        let repo = repo
            .clone()
            .env("GIT_CONFIG_NOSYSTEM", "0")
            .env("GIT_CONFIG_SYSTEM", &named);
        let (ours, theirs) = (repo.sluice(["HEAD"]), repo.archive(["HEAD"]));
        assert_eq!(fatal(&ours), fatal(&theirs), "{named}\n{ours}\n{theirs}");
        assert!(ours.stdout == theirs.stdout, "{named}");
    }
}

/// Strings of C end at a NUL.
#[test]
fn a_nul_in_files() {
    let repo = committed();
    let file = repo.path().join(".git/config");
    let sound = fs::read_to_string(&file).expect("our own");
    for text in cases(
        "[tar]\numask = 0\x007 | [tar \"x\0y\"]\ncommand = cat | [tar]\numask\0 = 0 | # \0\n[tar]\numask=0",
    ) {
        fs::write(&file, format!("{sound}{text}\n")).expect("our own");
        repo.assert_same_once(["HEAD"]);
    }
    fs::write(&file, sound).expect("our own");
    fs::create_dir(repo.path().join("linked")).expect("our own");
    for text in [
        "gitdir: ../.git\0x\n",
        "gitdir: ../.git\r\n",
        "gitdir: ../no\0\n",
    ] {
        repo.write("linked/.git", text);
        let linked = repo.clone().at("linked");
        let (ours, theirs) = (linked.sluice(["HEAD"]), linked.archive(["HEAD"]));
        assert_eq!(ours.code(), theirs.code(), "{text:?}\n{ours}\n{theirs}");
        assert_eq!(ours.messages(), theirs.messages(), "{text:?}");
        assert!(ours.stdout == theirs.stdout, "{text:?}");
    }
}

/// As the user's shell spells it.
#[test]
fn values_that_are_not_utf8() {
    let repo = Repo::copy("basic");
    let name = OsStr::from_bytes(b"caf\xe9");
    fs::write(repo.path().join(name), "dir export-ignore\n").expect("our own");
    let setting = OsStr::from_bytes(b"core.attributesFile=caf\xe9");
    repo.with([OsStr::new("-c"), setting])
        .assert_same_once(["HEAD"]);
}

/// A boolean without a value holds; a number or a command without one is refused.
#[test]
fn keys_without_a_value() {
    let repo = Repo::copy("basic");
    let file = repo.path().join(".git/config");
    let sound = fs::read_to_string(&file).expect("our own");
    let set = |lines: &str| fs::write(&file, format!("{sound}{lines}\n")).expect("our own");
    for lines in cases(
        "[core]\n\tautocrlf | [core]\n\tautocrlf = false\n\tautocrlf | [core]\n\teol = crlf\n\teol | \
         [filter \"f\"]\n\trequired",
    ) {
        set(lines);
        repo.assert_same_once(["HEAD"]);
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
    for lines in cases(
        "[core]\nworktree | [core]\nrepositoryFormatVersion | [core]\neditor | [core]\nwhitespace | \
         [core]\nsparseCheckout = x | [core]\ntrustCtime = x | [core]\nprecomposeUnicode = x | \
         [extensions]\nobjectFormat | [extensions]\npreciousObjects = x | [extensions]\nworktreeConfig = x",
    ) {
        assert_same_end(&format!("printf \"{lines}\\n\" >>.git/config"), true);
    }
    for lines in [
        "[core]\nautocrlf\nsymlinks\npreloadIndex\nlogAllRefUpdates = always",
        "[extensions]\nnoop\nworktreeConfig",
    ] {
        assert_same_end(&format!("printf \"{lines}\\n\" >>.git/config"), false);
    }
}
