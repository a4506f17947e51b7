//! `stand-in`: a `git` that passes archives to git-sluice, whatever lies in `PATH`, and without a loop.

use std::{collections::BTreeMap, env, ffi::OsString, fs, os::unix::fs::symlink, path::PathBuf};

use crate::support::process::Output;
use crate::support::{Repo, binary, cases, installed, rows, skip};

/// A repository `project`, and next to it `bin` with git-sluice and `first` with the stand-in.
pub(super) struct Place {
    pub(super) project: Repo,
    pub(super) top: PathBuf,
    git: PathBuf,
}

impl Place {
    /// `None` if git is not in `PATH`, which is reported.
    pub(super) fn new() -> Option<Place> {
        let paths = env::var_os("PATH").unwrap_or_default();
        let mut programs = env::split_paths(&paths).map(|it| it.join("git"));
        let Some(git) = programs.find(|it| it.is_file()) else {
            skip("git is not in PATH");
            return None;
        };
        let top = Repo::scratch();
        let commands = "mkdir bin wrapper; git init -q -b main project; cd project; mkdir src archive; seq 2000 >src/numbers; echo >archive/file; \
             echo '$Format:%+s$' >expanded; echo expanded export-subst >.gitattributes; git add .; git commit -qm one; git clone -q --bare . ../project.git";
        top.script(commands);
        let program = fs::read(binary()).expect("built");
        top.write_program("bin/git-sluice", program);
        let place = Place {
            top: top.path().to_owned(),
            project: top.at("project").env("REAL", &git),
            git,
        };
        let line = place.set_up("first").success();
        let expected = format!("PATH={}/first:$PATH\n", place.top.display());
        assert_eq!(String::from_utf8_lossy(&line), expected);
        Some(place)
    }

    /// A place with the launcher, and one with the script alone, as systems without a launcher have it.
    fn of_each_kind() -> impl Iterator<Item = Place> {
        let script = Place::new().inspect(|place| {
            let link = "ln -sf git-sluice-script ../first/git";
            place.project.script(link);
        });
        Place::new().into_iter().chain(script)
    }

    /// Writes a stand-in into the directory `name`.
    #[track_caller]
    fn set_up(&self, name: &str) -> Output {
        let place = self.with_path(&["bin"]);
        place.shell(&format!("git-sluice stand-in ../{name}"))
    }

    /// The project with these directories first in `PATH`, before those of the machine.
    pub(super) fn with_path(&self, names: &[&str]) -> Repo {
        let machine = env::var_os("PATH").unwrap_or_default();
        let directories = names.iter().map(|name| self.top.join(name));
        let all: OsString = env::join_paths(directories.chain(env::split_paths(&machine)))
            .expect("they were one variable before");
        self.project.clone().env("PATH", all)
    }

    /// An executable script, relative to the top.
    fn script(&self, name: &str, text: &str) {
        self.project.write_program(self.top.join(name), text);
    }
}

/// Checks that `git archive` in `repo` has the bytes of the real git, and returns whether git-sluice wrote it.
#[track_caller]
fn is_ours(repo: &Repo) -> bool {
    repo.script("git archive HEAD >ours && $REAL archive HEAD | cmp - ours");
    // Only git-sluice has this format.
    let formats = repo.shell("git archive --list").success();
    String::from_utf8_lossy(&formats).contains("tar.zst")
}

#[test]
fn archives_come_from_git_sluice() {
    for place in Place::of_each_kind() {
        let project = place.with_path(&["first"]);
        let archives = cases(
            "archive HEAD | -C ../project archive --prefix=a/ HEAD | \
             -c tar.umask=0077 -C .. --git-dir project.git archive HEAD | \
             --no-pager --git-dir=../project.git archive --format=tar.gz HEAD src | \
             -C archive archive HEAD | archive --format=zip HEAD src",
        );
        for words in archives {
            let script = format!("git {words} >ours && $REAL {words} >theirs && cmp ours theirs");
            project.script(&script);
            // Only git-sluice knows this option.
            let ours = project.shell(&format!("git {words} --no-attributes"));
            assert!(!ours.success().is_empty(), "{words}");
        }
        // Names of commands are names of branches as well.
        let branch = "git branch ls && git archive ls >ours && $REAL archive ls | cmp - ours";
        project.script(branch);
    }
}

#[test]
fn everything_else_comes_from_git() {
    for place in Place::of_each_kind() {
        let project = place.with_path(&["first"]);
        let others = cases(
            "rev-parse HEAD | -C archive rev-parse HEAD | log --format=%s -- archive | \
             -c alias.other=archive\\ HEAD other | rev-parse 'a  b' -- | \
             archive --remote=../project.git HEAD | archive --format=tar.gz --remote ../project.git HEAD | \
             --version archive | shell -c git-upload-archive | shell -c \"git-upload-archive '-x'\" | \
             shell -c \"git-upload-archive 'a'\\\\''b'\" | shell -c \"git-upload-pack 'nothing'\" | \
             daemon --nothing | nothing | ",
        );
        for words in others {
            let ours = project.shell(&format!("git {words}"));
            let theirs = project.shell(&format!("\"$REAL\" {words}"));
            assert_eq!(ours.code(), theirs.code(), "{words}: {ours}");
            assert_eq!(ours.stdout, theirs.stdout, "{words}");
            assert_eq!(ours.messages(), theirs.messages(), "{words}");
        }
    }
}

#[test]
fn a_server_of_archives() {
    let Some(place) = Place::new() else { return };
    for server in
        cases("git upload-archive | git -c core.pager=cat upload-archive | git-upload-archive")
    {
        // The real git is the client, and only git-sluice's server has this format.
        let script = format!(
            "$REAL archive --remote=. --exec='../first/{server}' --format=tar.zst HEAD | head -c 4"
        );
        let start = place.project.shell(&script).success();
        assert_eq!(start, [0x28, 0xb5, 0x2f, 0xfd], "{server}");
    }
}

/// A host keeps running while git-sluice is replaced or removed.
#[test]
fn git_does_the_work_without_git_sluice() {
    for place in Place::of_each_kind() {
        let project = place.with_path(&["first"]);
        assert!(is_ours(&project));
        place.script("bin/git-sluice", "\x7fELF of another machine");
        assert!(!is_ours(&project));
        fs::remove_file(place.top.join("bin/git-sluice")).expect("our own");
        assert!(!is_ours(&project));
        let with_options = project.shell("git -C . archive HEAD | cmp - ours");
        let _ = with_options.success();
    }
}

/// Programs that start and are not git-sluice: an update that was cut, a mistake in a path.
#[test]
fn git_does_the_work_instead_of_another_program() {
    let Some(place) = Place::new() else { return };
    let project = place.with_path(&["first"]);
    for program in ["", "#!/bin/sh\n", "#!/bin/sh\necho git-sluice 1.0\n"] {
        place.script("bin/git-sluice", program);
        assert!(!is_ours(&project), "{program}");
        for options in ["-C .", "--git-dir=.git", "-c a.b=c"] {
            let archive = format!("git {options} archive HEAD | cmp - ours");
            project.script(&archive);
        }
        let client =
            "$REAL archive --remote=. --exec='../first/git-upload-archive' HEAD | cmp - ours";
        project.script(client);
    }
}

/// An update of git-sluice may come between the moment when the stand-in tries it and the moment when it starts it.
#[test]
fn git_does_the_work_while_git_sluice_is_replaced() {
    let Some(place) = Place::new() else { return };
    let project = place.with_path(&["first"]);
    project.script("$REAL archive HEAD >theirs");
    let mut commands = vec![
        "git archive HEAD",
        "git -C . archive HEAD",
        "$REAL archive --remote=. --exec=../first/git-upload-archive HEAD",
    ];
    if installed("bash") {
        commands.push("bash ../first/git-sluice-script archive HEAD");
    }
    for replaced in [
        "rm \"$0\"",
        "chmod -x \"$0\"",
        // Somebody writes the file.
        "exec 9>>\"$0\"; sleep 1 >/dev/null 2>&1 &",
    ] {
        let program = format!("#!/bin/sh\necho git sluice upload-archive\n{replaced}\n");
        let update = || {
            fs::remove_file(place.top.join("bin/git-sluice")).unwrap_or_default();
            place.script("bin/git-sluice", &program);
        };
        for command in &commands {
            update();
            project.script(&format!("{command} >ours; cmp ours theirs"));
        }
        for command in ["git sluice ls", "git -C . sluice ls"] {
            update();
            let message = "git: 'sluice' is not a git command";
            project.shell(command).assert_refused(1, &[message]);
        }
    }
}

/// A host is busy while somebody brings its stand-in up to date.
#[test]
fn a_stand_in_that_is_written_again_starts() {
    let Some(place) = Place::new() else { return };
    let script = "(for i in $(seq 30); do git-sluice stand-in ../first || echo failed; done >../written) &
        for i in $(seq 90); do ../first/git version; done >/dev/null; wait; ! grep failed ../written";
    let output = place.with_path(&["bin"]).shell(script);
    assert_eq!(output.messages(), "");
    let _ = output.success();
}

/// Behind options of git, the program runs that the stand-in has tried, whatever else has its name.
#[test]
fn options_of_git_do_not_change_the_program() {
    let Some(place) = Place::new() else { return };
    place.script("wrapper/git-sluice", "#!/bin/sh\nexit 3\n");
    let project = place.with_path(&["wrapper", "first"]);
    project.script("$REAL archive HEAD >theirs");
    let options = cases(
        "-C . | -c a.b=c | --git-dir=.git | --git-dir .git --work-tree=. | --no-pager -C src -C .. | \
         --no-replace-objects",
    );
    for options in options {
        let archive = format!("git {options} archive HEAD | cmp - theirs");
        project.script(&archive);
        let formats = project.shell(&format!("git {options} archive --list"));
        let formats = String::from_utf8(formats.success()).expect("text");
        assert!(formats.contains("tar.zst"), "{options}");
        let named = project.shell(&format!("git {options} sluice --version"));
        assert!(named.success().starts_with(b"git-sluice "), "{options}");
    }
    // A stand-in that was moved starts no program from its old place, and none with the same name in PATH.
    project.script("mv ../first ../moved");
    let moved = place.with_path(&["wrapper", "moved"]);
    moved.script("git -C . archive HEAD | cmp - theirs");
    assert!(is_ours(&moved));
}

/// A caller of git gets the file that git writes, whatever its name promises.
#[test]
fn names_of_files_mean_what_they_mean_to_git() {
    let Some(place) = Place::new() else { return };
    let project = place.with_path(&["first", "bin"]);
    project.git(["config", "tar.tar.lz4.command", "cat"]);
    let names = cases(
        "x.tar | x.tgz | x.tar.gz | x.zip | x.tar.bz2 | x.tar.xz | x.txz | x.7z | x.tar.zst | x.zst | \
         x.TGZ | x.tar.lz4",
    );
    for name in names {
        let theirs = project.shell(&format!("$REAL archive -o ../theirs-{name} HEAD"));
        let _ = theirs.success();
        for options in ["", "-C ."] {
            let ours = project.shell(&format!("git {options} archive -o ../{name} HEAD"));
            assert_eq!(ours.messages(), "", "{name}");
            project.script(&format!("cmp ../{name} ../theirs-{name}"));
        }
    }
    // Who writes `git sluice` knows its formats.
    let own = project
        .shell("git sluice -o ../x.tar.zst HEAD && head -c 4 ../x.tar.zst")
        .success();
    assert_eq!(own, [0x28, 0xb5, 0x2f, 0xfd]);
    let refused = project.shell("git -C . sluice -o ../x.tar.xz HEAD");
    refused.assert_refused(
        128,
        &["fatal: '../x.tar.xz' is the name of a compressed archive"],
    );
}

/// A host that has a bad setting of git-sluice goes on, as with git.
#[test]
fn bad_settings_stop_no_archive() {
    let Some(place) = Place::new() else { return };
    let log = place.top.join("log");
    let project = place.with_path(&["first", "bin"]);
    project.script("$REAL archive HEAD >theirs");
    let cache = place.top.join("cache");
    let cache = cache.to_str().expect("text");
    for [key, value, reason] in rows(
        "cacheSize | x | bad numeric config value 'x' for 'sluice.cachesize'
        cacheAge | x | bad config value 'x' for 'sluice.cacheAge'
        cacheAlways | x | bad boolean config value 'x' for 'sluice.cachealways'
        cache | relative | bad value 'relative' for 'sluice.cache'",
    ) {
        let set = format!("git -c sluice.cache={cache} -c sluice.{key}={value}");
        let logged = project.clone().env("GIT_SLUICE_LOG", &log);
        let archive = logged.shell(&format!("{set} archive HEAD | cmp - theirs"));
        assert_eq!(archive.messages(), "", "{key}");
        let _ = archive.success();
        let lines = fs::read_to_string(&log).expect("written");
        let last = lines.lines().next_back().expect("a line");
        assert!(
            last.contains(r#""role":"bypass","reason":""#) && last.contains(reason),
            "{last}"
        );
        // The client of a server cannot mend it.
        let server = place.top.join("server");
        let settings = format!("[sluice]\ncache = {cache}\n{key} = {value}\n");
        fs::write(&server, settings).expect("our own");
        let client = "$REAL archive --remote=. --exec='../bin/git-sluice upload-archive' HEAD | cmp - theirs";
        let served = project.clone().env("GIT_CONFIG_GLOBAL", &server);
        assert_eq!(served.shell(client).messages(), "", "{key}");
        // Who writes `git sluice` learns what is wrong.
        let refused = project.shell(&format!("{set} sluice HEAD"));
        refused.assert_refused(128, &[reason]);
        let checked = project.shell(&format!("{set} sluice stand-in --check ../first"));
        assert_eq!(checked.code(), 1, "{checked}");
        let report = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(
            report.contains(&format!("cache           {reason}")),
            "{report}"
        );
    }
    let relative = "git -c sluice.log=relative";
    project.script(&format!("{relative} archive HEAD | cmp - theirs"));
    let refused = project.shell(&format!("{relative} sluice HEAD"));
    refused.assert_refused(128, &["bad value 'relative' for 'sluice.log'"]);
    let checked = project.shell(&format!("{relative} sluice stand-in --check ../first"));
    assert_eq!(checked.code(), 1, "{checked}");
}

/// A stand-in never takes itself, or another one, for the real git.
#[test]
fn the_real_git_is_found_among_stand_ins() {
    for place in Place::of_each_kind() {
        let _ = place.set_up("second").success();
        let links = place.top.join("links");
        fs::create_dir(&links).expect("our own");
        symlink("../first/git", links.join("git")).expect("our own");
        for paths in [
            &["first", "second"][..],
            &["first", "second", "first"],
            &["second", "links", "first"],
            &["links", "first", "bin"],
            &[],
        ] {
            let project = place.with_path(paths);
            for named in ["", "first/git", "second/git", "links/git", "none/git"] {
                let project = project.clone().env("REAL_GIT", place.top.join(named));
                for program in ["first/git", "second/git", "links/git"] {
                    let script = format!("../{program} rev-parse HEAD");
                    let found = project.shell(&script);
                    assert_eq!(found.code(), 0, "{paths:?} {named} {program}: {found}");
                }
            }
        }
    }
}

#[test]
fn real_git_is_named() {
    for place in Place::of_each_kind() {
        place.script("wrapper/git", "#!/bin/sh\necho named\n");
        let project = place.with_path(&["first"]);
        let project = project.env("REAL_GIT", place.top.join("wrapper/git"));
        assert_eq!(project.git(["status"]), "named");
    }
}

/// Programs that start each other end with a message or with the real git, and soon.
#[test]
fn wrappers_start_each_other_a_few_times() {
    for place in Place::of_each_kind() {
        // A wrapper of somebody else that also looks for the next git in PATH.
        let next = format!(
            "PATH='{}':$PATH; git \"$@\"",
            place.top.join("first").display()
        );
        for start in ["", "exec "] {
            let next = next.replace("; git", &format!("; {start}git"));
            place.script(
                "wrapper/git",
                &format!(
                    "#!/bin/sh\necho >>'{}'\n{next}\n",
                    place.top.join("rounds").display()
                ),
            );
            let project = place.with_path(&["first", "wrapper"]);
            let head = project.git(["rev-parse", "HEAD"]);
            assert_eq!(head.len(), 40);
        }
        let rounds = fs::read(place.top.join("rounds")).expect("written");
        assert!(rounds.len() < 40, "{} rounds", rounds.len());
    }
}

/// A `git` that passes everything to git-sluice, in the ways in which people write such programs.
#[test]
fn git_sluice_meets_itself() {
    let Some(place) = Place::new() else { return };
    let message = "fatal: the 'git' in PATH starts git-sluice, which has started it\n";
    for wrapper in cases(
        "exec git-sluice \"$@\" | git-sluice \"$@\" | shift; exec git-sluice archive \"$@\" | \
         shift; exec git-sluice \"$@\"",
    ) {
        place.script("wrapper/git", &format!("#!/bin/sh\n{wrapper}\n"));
        let project = place.with_path(&["wrapper", "bin"]);
        let remote = project.shell("git-sluice archive --remote=. --list");
        remote.assert_refused(128, &[message, "\ncaused by: ", "\nhint: "]);
    }
    place.script("wrapper/git", "#!/bin/sh\nexec git-sluice \"$@\"\n");
    let project = place.with_path(&["wrapper", "bin"]);
    // git-sluice asks git for this name.
    let asked = project.shell("git-sluice archive ':/nothing has this'");
    assert_eq!(asked.code(), 128, "{asked}");
    let served = project.shell("printf 0000 | git-sluice upload-archive .");
    assert_eq!(served.code(), 128, "{served}");
}

/// The programs of git are not where git looks for them, so that each `git` in `PATH` is found again.
#[test]
fn without_the_programs_of_git() {
    let Some(place) = Place::new() else { return };
    place.script(
        "wrapper/git",
        &format!(
            "#!/bin/sh\n[ \"$1\" != archive ] || set -- sluice \"$@\"\nexec '{}' \"$@\"\n",
            place.git.display()
        ),
    );
    let empty = place.top.join("empty");
    fs::create_dir(&empty).expect("our own");
    for (paths, is_refused) in [(["first", "bin"], false), (["wrapper", "bin"], true)] {
        let project = place.with_path(&paths).env("GIT_EXEC_PATH", &empty);
        let output = project.shell("git archive --remote=. --list");
        assert_eq!(
            output.messages().contains("starts git-sluice"),
            is_refused,
            "{output}"
        );
    }
}

/// The lines of `--check`, by their names, and its exit status.
#[track_caller]
fn checked(repo: &Repo) -> (BTreeMap<String, String>, i32) {
    let output = repo.shell("git-sluice stand-in --check ../first");
    assert_eq!(output.messages(), "");
    let code = output.code();
    let text = String::from_utf8(output.stdout).expect("text");
    let parts = text.lines().map(|line| line.split_at(16));
    let parts = parts.map(|(name, state)| (name.trim_end().to_owned(), state.to_owned()));
    (parts.collect(), code)
}

#[test]
fn a_check_reports_what_is_in_force() {
    for place in Place::of_each_kind() {
        let project = place.with_path(&["first", "bin"]);
        let (parts, code) = checked(&project);
        assert_eq!(code, 0, "{parts:?}");
        assert_eq!(
            parts["PATH"],
            place.top.join("first/git").to_str().expect("text")
        );
        assert!(parts["archive"].starts_with("git-sluice "), "{parts:?}");
        assert_eq!(parts["upload-archive"], "git-sluice");
        assert!(
            parts["other commands"].starts_with("git version "),
            "{parts:?}"
        );
        assert_eq!((&parts["cache"][..], &parts["log"][..]), ("none", "none"));

        let cache = place.top.join("cache");
        let cache = cache.to_str().expect("text");
        project.git(["config", "sluice.cache", cache]);
        let (parts, code) = checked(&project);
        assert_eq!((&parts["cache"][..], code), (cache, 0));
        assert_eq!(
            parts["configuration"],
            format!("file:.git/config sluice.cache {cache}")
        );
        // A check creates no directory, which would belong to the user who checks.
        assert!(!place.top.join("cache").exists());
        project.script(&format!("mkdir -m 777 {cache} && chmod 777 {cache}"));
        let (parts, code) = checked(&project);
        assert_eq!(
            parts["cache"],
            format!("{cache} is not used: others may write to the directory")
        );
        assert_eq!(code, 1);
    }
}

/// git puts its own programs first into the PATH of these.
#[test]
fn a_check_within_hooks_and_aliases() {
    let Some(place) = Place::new() else { return };
    let project = place.with_path(&["first", "bin"]);
    let exec_path = project.git(["--exec-path"]);
    let first = format!("another git comes first: {exec_path}/git");
    for check in ["git-sluice stand-in --check", "git sluice stand-in --check"] {
        let check = format!("{check} '{}'", place.top.join("first").display());
        let hook = format!("#!/bin/sh\n{check} >../checked\n");
        project.script("mkdir -p .git/hooks");
        project.write_program(".git/hooks/post-checkout", hook);
        for script in [
            format!("git -c alias.check='!{check}' check >../checked"),
            "git checkout -q".to_owned(),
            format!("git clone -q . ../outer; cd ../outer
                git -c protocol.file.allow=always submodule --quiet add \"$OLDPWD\" inner 2>../messages
                git submodule --quiet foreach '{check} >../../checked || :'; cd ../project; rm -rf ../outer"),
        ] {
            let _ = project.shell(&script);
            let report = fs::read_to_string(place.top.join("checked")).expect("written");
            fs::remove_file(place.top.join("checked")).expect("our own");
            assert!(report.contains(&first), "{script}: {report}");
        }
    }
}

/// The program that checks is found by the stand-in, and git's own options do not hide the PATH of the caller.
#[test]
fn a_check_through_the_stand_in() {
    let Some(place) = Place::new() else { return };
    let project = place.with_path(&["first"]);
    for options in ["", "-C .", "--git-dir=.git -c a.b=c"] {
        let checked = project.shell(&format!("git {options} sluice stand-in --check ../first"));
        let report = String::from_utf8(checked.success()).expect("text");
        let first = format!("PATH            {}/first/git\n", place.top.display());
        assert!(report.starts_with(&first), "{options}: {report}");
    }
    let other = place.with_path(&[]);
    let checked = other.shell("../first/git sluice stand-in --check ../first");
    assert_eq!(checked.code(), 1, "{checked}");
    project.script("mv ../first ../moved");
    let moved = place
        .with_path(&["moved"])
        .shell("git sluice stand-in --check ../moved");
    assert_eq!(moved.code(), 1, "{moved}");
    let report = String::from_utf8_lossy(&moved.stdout).into_owned();
    assert!(
        report.contains("archive         git for 'git -C'"),
        "{report}"
    );
}

#[test]
fn a_check_reports_keys_without_effect() {
    let Some(place) = Place::new() else { return };
    for (setting, fault) in [
        ("sluice.cach=/x", Some("not a key of git-sluice")),
        ("sluice.a.cache=/x", Some("not a key of git-sluice")),
        (
            "sluice.gzipCompat=gzip",
            Some("bad config value 'gzip' for 'sluice.gzipCompat'"),
        ),
        ("sluice.gzipCompat=gnu", None),
        ("sluice.CACHEALWAYS", None),
    ] {
        let project = place.with_path(&["first", "bin"]);
        let checked = project.shell(&format!(
            "git -c {setting} sluice stand-in --check ../first"
        ));
        let report = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert_eq!(checked.code(), i32::from(fault.is_some()), "{report}");
        let last = report.lines().next_back().expect("a line");
        let setting = setting.replace('=', " ").to_lowercase();
        let expected = match fault {
            None => format!("configuration   command line: {setting}"),
            Some(fault) => format!("configuration   command line: {setting}: {fault}"),
        };
        assert_eq!(last, expected);
    }
}

#[test]
fn a_check_reports_what_is_missing() {
    let Some(place) = Place::new() else { return };
    let project = place.with_path(&["bin", "first"]);
    let logged = project.clone().env("GIT_SLUICE_LOG", "/nowhere/log");
    let (parts, code) = checked(&logged);
    assert_eq!(code, 1);
    assert_eq!(
        parts["log"],
        "/nowhere/log cannot be written: No such file or directory"
    );
    let (parts, code) = checked(&place.with_path(&["bin"]));
    assert_eq!(
        parts["PATH"],
        format!("another git comes first: {}", place.git.display())
    );
    assert_eq!(code, 1);
    // The program that checks is not the one that the stand-in runs.
    place.script(
        "wrapper/git-sluice",
        &format!("#!/bin/sh\nexec '{}' \"$@\"\n", binary()),
    );
    fs::remove_file(place.top.join("bin/git-sluice")).expect("our own");
    let (parts, code) = checked(&place.with_path(&["first", "wrapper"]));
    assert_eq!(code, 1);
    for name in ["archive", "upload-archive"] {
        assert_eq!(
            parts[name],
            "git, because git-sluice is missing or does not start"
        );
    }
    let none = project.shell("PATH=../wrapper:$PATH git-sluice stand-in --check ../bin");
    none.assert_refused(128, &["fatal: '../bin/git' is not a stand-in\nhint: "]);
}

#[test]
fn files_of_others_stay() {
    let Some(place) = Place::new() else { return };
    place.script("wrapper/git", "#!/bin/sh\necho mine\n");
    let refused = place.set_up("wrapper");
    refused.assert_refused(
        128,
        &["/wrapper/git' exists, and git-sluice did not write it"],
    );
    // Its own files are brought up to date.
    let _ = place.set_up("first").success();
    let files = fs::read_dir(place.top.join("first")).expect("our own");
    assert_eq!(files.count(), 5);
    let refused = place.set_up("project/src/numbers/first");
    refused.assert_refused(128, &["fatal: cannot write '", "\ncaused by: "]);
}

#[test]
fn a_directory_is_for_the_stand_in_alone() {
    let Some(place) = Place::new() else { return };
    place
        .project
        .script("mkdir ../empty ../a:b; ln -s a:b ../link");
    let alone = "is not for a stand-in alone\nhint: name an empty or a new directory";
    let separator = "cannot be in PATH\ncaused by: a ':' separates the directories there\nhint: ";
    for (name, message) in [
        ("bin", alone),
        ("project", alone),
        ("project/src", alone),
        ("a:b", separator),
        ("a:b/new", separator),
        ("link", separator),
    ] {
        let refused = place.set_up(name);
        refused.assert_refused(128, &[message]);
        assert!(!place.top.join(name).join("git").exists(), "{name}");
    }
    assert!(!place.top.join("a:b/new").exists());
    let _ = place.set_up("empty").success();
    // Files that somebody added to it stay, and do not stop a newer version.
    place.project.script("touch ../empty/mine");
    let _ = place.set_up("empty").success();
}
