//! Which repository is read, with which configuration and from which object stores: all the ways
//! that lead to it. Fixtures are compared in `oracle.rs`; here it is how one arrives at them.

use std::fs;

use crate::support::{Repo, cases, git_version, process::Output, skip};

// --- through git, and where it looks ---

#[test]
fn as_a_subcommand_of_git() {
    let basic = Repo::from("basic");
    basic
        .clone()
        .with(["-c", "tar.umask=0022"])
        .assert_same_once(["HEAD"]);
    let elsewhere = Repo::scratch();
    let there = basic
        .path()
        .to_str()
        .expect("the target directory has a plain name");
    elsewhere
        .clone()
        .with(["-C", there])
        .assert_same_once(["HEAD"]);
    elsewhere
        .clone()
        .with(["-C", there, "-C", "dir"])
        .assert_same_once(["HEAD"]);
    elsewhere
        .clone()
        .with([format!("--git-dir={there}/.git")])
        .assert_same_once(["HEAD"]);
    elsewhere
        .clone()
        .with(["--git-dir", &format!("{there}/.git"), "--work-tree", there])
        .assert_same_once(["HEAD"]);
    basic
        .clone()
        .with(["--bare"])
        .at(".git")
        .assert_same_once(["HEAD"]);
    basic
        .with(["--no-replace-objects"])
        .assert_same_once(["HEAD"]);
}

/// The repository around it is another one.
#[test]
fn a_file_that_names_no_repository() {
    let repo = Repo::copy("basic");
    for text in ["gitdir: ../nowhere\n", ""] {
        repo.write("dir/.git", text);
        repo.clone().at("dir").assert_same_once(["HEAD"]);
    }
}

#[test]
fn a_head_that_names_nothing() {
    let repo = Repo::copy("basic");
    for text in ["", "garbage\n", "ref: garbage\n"] {
        repo.write(".git/HEAD", text);
        repo.assert_same_once(["main"]);
        repo.clone()
            .env("GIT_DIR", ".git")
            .assert_same_once(["main"]);
    }
}

/// What protects users from the repositories of others.
#[test]
fn repositories_that_git_does_not_trust() {
    let repo = Repo::copy("basic");
    let explicit = repo
        .clone()
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.bareRepository")
        .env("GIT_CONFIG_VALUE_0", "explicit");
    explicit.assert_same_once(["HEAD"]);
    repo.git(["clone", "-q", "--bare", ".", "bare"]);
    explicit.clone().at("bare").assert_same_once(["HEAD"]);
    explicit
        .at("bare")
        .env("GIT_DIR", ".")
        .assert_same_once(["HEAD"]);
    repo.clone().at("bare").assert_same_once(["HEAD"]);
}

#[test]
fn git_dir_makes_the_current_directory_the_work_tree() {
    let repo = Repo::from("basic");
    repo.clone()
        .at("dir")
        .env("GIT_DIR", "../.git")
        .assert_same_once(["HEAD"]);
    repo.clone()
        .at("dir")
        .env("GIT_DIR", "../.git")
        .assert_same_once(["HEAD", "--", "dir"]);
    repo.clone()
        .at("dir")
        .env("GIT_DIR", "../.git")
        .env("GIT_WORK_TREE", "..")
        .assert_same_once(["HEAD"]);
    repo.clone()
        .at("dir")
        .env("GIT_WORK_TREE", "..")
        .assert_same_once(["HEAD"]);
    repo.clone()
        .env("GIT_DIR", "nosuch")
        .assert_same_once(["HEAD"]);
    Repo::from("bare")
        .env("GIT_DIR", ".")
        .assert_same_once(["HEAD"]);
}

#[test]
fn inside_the_git_directory() {
    let repo = Repo::from("basic");
    repo.clone().at(".git").assert_same_once(["HEAD"]);
    repo.clone()
        .at(".git")
        .env("GIT_DIR", ".")
        .assert_same_once(["HEAD"]);
    repo.clone().at(".git/refs").assert_same_once(["HEAD"]);
    repo.at(".git/refs").assert_same_once(["HEAD", "--", "dir"]);
    Repo::from("bare").at("objects").assert_same_once(["HEAD"]);
}

#[test]
fn worktrees() {
    Repo::from("worktree").assert_same_once(["HEAD"]);
    Repo::from("worktree")
        .at("../linked")
        .assert_same_once(["HEAD"]);
    Repo::from("worktree")
        .at("../linked")
        .assert_same_once(["main"]);
    Repo::from("worktree")
        .at("../linked/sub")
        .assert_same_once(["HEAD"]);
    Repo::from("worktree")
        .at("../linked")
        .assert_same_once(["main-worktree/HEAD"]);
    Repo::from("worktree").assert_same_once(["worktrees/linked/HEAD"]);
    Repo::from("worktree")
        .at("../gitfile")
        .assert_same_once(["HEAD"]);
    Repo::from("worktree")
        .at("../elsewhere.git")
        .assert_same_once(["HEAD"]);
}

/// A name with two lines in `packed-refs`, and lines out of order: the line counts that git's search meets first.
#[test]
fn packed_refs_with_one_name_twice() {
    let repo = Repo::copy("basic");
    let ids = ["HEAD", "HEAD~1"].map(|name| repo.git(["rev-parse", name]));
    let [new, old] = ids.each_ref().map(|id| id.trim());
    let lines = |names: &[(&str, &str)]| -> String {
        let line = |(id, name): &(&str, &str)| format!("{id} refs/tags/{name}\n");
        names.iter().map(line).collect()
    };
    let names = [
        lines(&[(new, "x"), (old, "x")]),
        lines(&[(new, "x"), (old, "x"), (new, "x")]),
        lines(&[(new, "a"), (new, "x"), (old, "x"), (old, "y"), (old, "z")]),
        lines(&[(new, "x"), (new, "a"), (old, "x"), (old, "b")]),
        lines(&[(new, "z"), (old, "x"), (new, "a")]),
        lines(&[(new, "x"), (old, "a")]),
    ];
    for header in [
        "",
        "# pack-refs with: peeled \n",
        "# pack-refs with: sorted \n",
    ] {
        for lines in &names {
            repo.write(".git/packed-refs", format!("{header}{lines}"));
            repo.assert_same_once(["x"]);
        }
    }
}

/// What `safe.directory` allows: values, as seen from the top of a work tree, from below it and from a bare repository. `{}` is
/// the directory with both, and the version is the first git that reads the value as the newest does.
#[test]
#[ignore = "slow"]
fn safe_directories() {
    if !rustix::process::geteuid().is_root() {
        skip("only root can give a directory away");
        return;
    }
    let outer = Repo::scratch();
    let basic = Repo::from("basic");
    let basic = basic.path().to_str().expect("a path in UTF-8");
    outer.git(["clone", "-q", basic, "r"]);
    outer.git(["clone", "-q", "--bare", basic, "b.git"]);
    std::os::unix::fs::symlink("r", outer.path().join("link")).expect("a link of ours");
    for path in ["r", "r/.git", "b.git"] {
        std::os::unix::fs::chown(outer.path().join(path), Some(12345), Some(12345))
            .expect("we are root");
    }
    let home = Repo::scratch();
    let (old, new) = ((0, 0), (2, 52));
    let (below, real) = ((2, 46), (2, 47));
    for (since, values, trusted) in [
        (old, &["{}/r"][..], "r r/dir"),
        (old, &["{}/b.git"], "b.git"),
        (old, &["*"], "r r/dir b.git"),
        (old, &["*", ""], ""),
        (old, &["{}"], ""),
        (old, &["{}/R"], ""),
        (old, &["{}/*/"], ""),
        (old, &["{}/*x"], ""),
        (old, &["{}/none/*"], ""),
        (old, &["{}/none/../r"], ""),
        (old, &["~no.such.user/r"], ""),
        (old, &["*", "~no.such.user/r"], ""),
        (below, &["{}/*"], "r r/dir b.git"),
        (below, &["/*"], "r r/dir b.git"),
        (real, &["{}/r/*"], ""),
        (real, &["{}/link/*"], ""),
        (real, &["{}//r/."], "r r/dir"),
        (real, &["{}/r/"], "r r/dir"),
        (real, &["{}/r/dir/.."], "r r/dir"),
        (real, &["{}/link"], "r r/dir"),
        (real, &["."], "r b.git"),
        (real, &["./"], ""),
        (real, &[".//", "./."], ""),
        (real, &["r", "*"], "r r/dir b.git"),
        (new, &[":(optional){}/r"], "r r/dir"),
        (new, &[":(optional){}/none", ":(optional)"], ""),
        (new, &[":(optional)/dev/null/none"], ""),
        (new, &[":(optional)~no.such.user/r"], ""),
    ] {
        let mut config = "[safe]\n".to_owned();
        for value in values {
            let value = value.replace("{}", outer.path().to_str().expect("a path in UTF-8"));
            config += &format!("\tdirectory = \"{value}\"\n");
        }
        home.write(".gitconfig", config);
        for place in ["r", "r/dir", "b.git"] {
            let repo = outer.clone().at(place).env("HOME", home.path());
            let ours = repo.sluice(["HEAD"]);
            let is_trusted = trusted.split(' ').any(|it| it == place);
            let code = if is_trusted { 0 } else { 128 };
            assert_eq!(ours.code(), code, "{values:?} in {place}: {ours}");
            if git_version() >= since {
                let theirs = repo.archive(["HEAD"]);
                // git warns as often as it looks; what counts is what it dies of.
                let answer = |it: &Output| {
                    let messages = it.messages();
                    let fatal = messages.find("fatal: ").unwrap_or(0);
                    (it.code(), messages[fatal..].to_owned())
                };
                assert_eq!(answer(&ours), answer(&theirs), "{values:?} in {place}");
                assert!(ours.stdout == theirs.stdout, "{values:?} in {place}");
            }
        }
    }
}

// --- configuration ---

#[test]
fn configuration_from_the_environment() {
    let repo = Repo::from("basic");
    let counted = repo.clone().env("GIT_CONFIG_COUNT", "2");
    let counted = counted
        .env("GIT_CONFIG_KEY_0", "tar.umask")
        .env("GIT_CONFIG_VALUE_0", "077");
    counted
        .env("GIT_CONFIG_KEY_1", "tar.umask")
        .env("GIT_CONFIG_VALUE_1", "0")
        .assert_same_once(["HEAD"]);
    for parameters in
        cases("'tar.umask=0777' | 'tar.umask'='0777' | 'user.name'='it'\\''s'\\!'' 'tar.umask'='0'")
    {
        repo.clone()
            .env("GIT_CONFIG_PARAMETERS", parameters)
            .assert_same_once(["HEAD"]);
    }
    let odd = [
        "-c",
        "user.name=it's = \"odd\"!",
        "-c",
        "TAR.UMASK=0",
        "-c",
        "tar.umask=07",
    ];
    repo.clone().with(odd).assert_same_once(["HEAD"]);
    repo.clone()
        .with(["--config-env=tar.umask=WANTED"])
        .env("WANTED", "0700")
        .assert_same_once(["HEAD"]);
    repo.with(["-c", "core.autocrlf"])
        .assert_same_once(["HEAD"]);
}

#[test]
fn configuration_from_files() {
    let home = Repo::scratch();
    home.write(".gitconfig", "[tar]\n\tumask = 0077\n");
    home.write(
        "other",
        "[include]\n\tpath = third\n[core]\n\tautocrlf = true\n",
    );
    home.write("third", "[tar]\n\tumask = 0333\n");
    let repo = Repo::from("basic").env("HOME", home.path());
    repo.assert_same_once(["HEAD"]);
    repo.clone()
        .env("GIT_CONFIG_GLOBAL", home.path().join("other"))
        .assert_same_once(["HEAD"]);
    repo.clone()
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .assert_same_once(["HEAD"]);
    repo.clone()
        .with(["-c", "tar.umask=0"])
        .assert_same_once(["HEAD"]);
    let system = home.path().join("other");
    repo.env("GIT_CONFIG_NOSYSTEM", "0")
        .env("GIT_CONFIG_SYSTEM", system)
        .assert_same_once(["HEAD"]);

    let own = Repo::copy("basic");
    own.git(["config", "tar.umask", "user"]);
    own.assert_same_once(["HEAD"]);
    own.write(".git/config", "[core\n");
    own.assert_same_once(["HEAD"]);
}

#[test]
fn user_attributes() {
    let home = Repo::scratch();
    std::fs::create_dir_all(home.path().join(".config/git")).expect("a directory of ours");
    home.write(
        ".config/git/attributes",
        "file.txt export-ignore\nsize-* text eol=crlf\n",
    );
    let repo = Repo::from("basic").env("HOME", home.path());
    repo.assert_same(["HEAD"]);
    repo.env("XDG_CONFIG_HOME", home.path())
        .assert_same(["HEAD"]);
}

// --- where objects are ---

#[test]
fn object_directories_from_the_environment() {
    let repo = Repo::from("object-directory").env("GIT_OBJECT_DIRECTORY", "../main-store");
    let found = repo.clone().env(
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "/nosuch:\"../other:store\"",
    );
    found.assert_same_archive(["HEAD"]);
    found.assert_same_archive(["HEAD~1"]);
    let found = found.with(["-c", "tar.umask=0"]);
    found.assert_same_archive(["HEAD"]);
    let here = repo.path().parent().expect("it is in one").to_owned();
    let absolute = repo
        .clone()
        .env("GIT_OBJECT_DIRECTORY", here.join("main-store"));
    let mut quoted = std::ffi::OsString::from("\"");
    quoted.push(here.join("other:store"));
    quoted.push("\"");
    absolute
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted)
        .assert_same(["HEAD"]);
    Repo::from("object-directory").assert_same(["HEAD"]);
}

#[test]
fn alternates_that_lead_nowhere() {
    let repo = Repo::copy("basic");
    std::fs::create_dir_all(repo.path().join(".git/objects/info")).expect("a directory of ours");
    for alternates in [
        "/nosuch/objects\n",
        "# nothing\n",
        "\n\n",
        "\"../unclosed\n",
        "../objects\n",
        ".\n",
        "../HEAD\n",
    ] {
        repo.write(".git/objects/info/alternates", alternates);
        repo.assert_same_archive(["HEAD"]);
        repo.assert_same_archive(["HEAD:dir"]);
    }
}

#[test]
fn alternates_in_every_notation() {
    let base = Repo::copy("basic");
    let objects = base.path().join(".git/objects").display().to_string();
    let odd = base.path().join("odd \"na\\me\n");
    std::os::unix::fs::symlink(base.path().join(".git/objects"), &odd)
        .expect("a directory of ours");
    let quoted = format!("\"{}/odd \\\"na\\\\me\\n\"", base.path().display());
    for notation in [
        objects.clone(),
        format!("\"{objects}\""),
        format!("{objects}/"),
        quoted,
    ] {
        let repo = Repo::init();
        std::fs::create_dir_all(repo.path().join(".git/objects/info"))
            .expect("a directory of ours");
        repo.write(".git/objects/info/alternates", notation);
        repo.assert_same_once([base.git(["rev-parse", "HEAD"])]);
    }
}

/// git follows alternates of alternates only so far.
#[test]
fn alternates_too_deep() {
    let root = Repo::scratch();
    let base = Repo::copy("basic");
    let head = base.git(["rev-parse", "HEAD"]);
    let mut next = base.path().join(".git/objects");
    for level in 0..7 {
        let name = format!("level-{level}.git");
        root.git(["init", "-q", "--bare", &name]);
        std::fs::create_dir_all(root.path().join(&name).join("objects/info"))
            .expect("a directory of ours");
        root.write(
            format!("{name}/objects/info/alternates"),
            format!("{}\n", next.display()),
        );
        next = root.path().join(&name).join("objects");
        root.clone().at(&name).assert_same_archive([&head]);
    }
}

/// A multi-pack index, a pack or an index that says nothing useful, beside what is needed.
#[test]
fn debris_among_the_packs() {
    let repo = Repo::copy("packs-midx");
    let packs = ".git/objects/pack";
    for name in cases("tmp_pack_abc | pack-.idx | pack-x.pack | readme | pack-1234.keep | .hidden")
    {
        repo.write(format!("{packs}/{name}"), "nothing of use");
    }
    repo.assert_same(["HEAD"]);
    repo.assert_same(["HEAD~11"]);
}

#[test]
fn multi_pack_index_of_packs_that_are_gone() {
    let repo = Repo::copy("packs-midx");
    let midx = repo.path().join(".git/objects/pack/multi-pack-index");
    let stale = std::fs::read(&midx).expect("the fixture has one");
    repo.git(["repack", "-adq"]);
    std::fs::write(&midx, stale).expect("our own");
    repo.assert_same(["HEAD"]);
    repo.assert_same(["HEAD~5"]);
}

#[test]
fn commit_graph() {
    let repo = Repo::copy("dates");
    repo.git([
        "tag", "-d", "words", "nothing", "no-zone", "huge", "negative", "odd-name",
    ]);
    repo.git(["commit-graph", "write", "--reachable"]);
    for tag in ["zero", "last-octal", "past-octal", "future"] {
        repo.assert_same([tag]);
    }
    // The graph has 34 bits for a time, and git believes what is left. We ask the commit.
    let ours = repo.sluice(["far-future"]).success();
    assert!(ours == Repo::from("dates").archive(["far-future"]).success());
}

#[test]
fn replace_refs() {
    let repo = Repo::from("replace");
    for revision in ["HEAD", "HEAD~1", "HEAD~2"] {
        repo.clone()
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .assert_same_once([revision]);
        repo.clone()
            .with(["-c", "core.useReplaceRefs=false"])
            .assert_same_once([revision]);
        repo.clone()
            .env("GIT_REPLACE_REF_BASE", "refs/nowhere/")
            .assert_same_once([revision]);
        repo.clone()
            .with(["--no-replace-objects"])
            .assert_same_once([revision]);
    }
}

/// A ref replaces the object whose id its name begins with after the last slash, whatever follows. Two for one object are an
/// error.
#[test]
fn replace_refs_with_names_around_the_id() {
    for names in [
        &["{}.bak"][..],
        &["aside/{}-1"],
        &["{}"],
        &["{}0"],
        &["old-{}"],
        &["{}/x"],
        &["{}.a", "{}.b"],
        &["{}", "aside/{}.bak"],
    ] {
        let repo = Repo::copy("basic");
        let id = repo.git(["rev-parse", "HEAD"]);
        for name in names {
            let name = name.replace("{}", id.trim());
            repo.git(["update-ref", &format!("refs/replace/{name}"), "HEAD~1"]);
        }
        for _ in ["loose", "packed"] {
            let (ours, theirs) = (repo.sluice(["HEAD"]), repo.archive(["HEAD"]));
            assert_eq!(ours.code(), theirs.code(), "{names:?}: {ours}");
            assert!(ours.stdout == theirs.stdout, "{names:?}");
            repo.git(["-c", "core.useReplaceRefs=false", "pack-refs", "--all"]);
        }
    }
}

/// Beginnings of names that are no directories, and all refs.
#[test]
fn other_bases_of_replace_refs() {
    let repo = Repo::copy("replace");
    let refs = repo.git([
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/replace",
    ]);
    for line in refs.lines() {
        let (name, id) = line.split_once(' ').expect("a name and an id");
        let name = name.replace("refs/replace/", "refs/others/");
        repo.git(["update-ref", &name, id]);
    }
    repo.git(["pack-refs", "--all"]);
    for base in ["refs/others/", "refs/oth", "refs/others", "refs/"] {
        let repo = repo.clone().env("GIT_REPLACE_REF_BASE", base);
        let (ours, theirs) = (repo.sluice(["HEAD"]), repo.archive(["HEAD"]));
        assert!(ours.stdout == theirs.stdout, "{base}");
        let expected = match theirs.code() {
            ABORTED => 128,
            code => code,
        };
        assert_eq!(ours.code(), expected, "{base}");
    }
    let basic = Repo::copy("basic").env("GIT_REPLACE_REF_BASE", "");
    assert!(basic.sluice(["HEAD"]).success() == basic.archive(["HEAD"]).success());
    // git does not know this key, by which gix would read replacements from elsewhere.
    let basic = Repo::copy("basic");
    for base in ["", "refs/tags/"] {
        basic.git(["config", "gitoxide.objects.replaceRefBase", base]);
        basic.assert_same_once(["HEAD"]);
    }
}

/// The exit status of git that SIGABRT ended, as git since 2.50 ends over some orders of packed refs. Ours is 128 then.
const ABORTED: i32 = 134;

/// git looks only at the refs that it needs.
#[test]
fn packed_refs_with_names_that_are_not_valid() {
    let repo = Repo::copy("replace");
    repo.git(["pack-refs", "--all"]);
    let packed = repo.path().join(".git/packed-refs");
    let good = fs::read_to_string(&packed).expect("written by git");
    let id = repo.git(["rev-parse", "HEAD"]);
    repo.git(["update-ref", "refs/heads/loose", &id]);
    for name in cases("refs/tags/v1. | refs/heads/a..b | refs/heads/old.lock | xyz") {
        for lines in [format!("{good}{id} {name}\n"), format!("{id} {name}\n")] {
            fs::write(&packed, lines).expect("our own");
            for revision in ["loose", "main", "main~1", &id] {
                if repo.archive([revision]).code() == ABORTED {
                    assert_eq!(repo.sluice([revision]).code(), 128, "{revision}");
                } else {
                    repo.assert_same_once([revision]);
                }
            }
        }
    }
    for damage in ["garbage\n", "\n", "# comment\n# again\n"] {
        fs::write(&packed, format!("{good}{damage}")).expect("our own");
        let (ours, theirs) = (repo.sluice(["loose"]), repo.archive(["loose"]));
        assert_eq!(ours.code(), theirs.code(), "{ours}\n{theirs}");
    }
}

/// gix cannot read them: git is asked, and one that cannot either is heard.
#[test]
fn refs_in_a_reftable() {
    let repo = Repo::scratch();
    let original = Repo::from("replace").path().display().to_string();
    if git_version() < (2, 45) {
        skip("this git knows no reftable: that it is told so is all that is tested");
        repo.git(["clone", "-q", "--bare", &original, "."]);
        repo.git(["config", "core.repositoryFormatVersion", "1"]);
        repo.git(["config", "extensions.refStorage", "reftable"]);
        let output = repo.sluice(["HEAD"]);
        assert_eq!(output.code(), 128, "{output}");
        let words = "unknown repository extension found";
        assert!(output.messages().contains(words), "{output}");
        return;
    }
    repo.git(["init", "-q", "--bare", "--ref-format=reftable"]);
    repo.git(["fetch", "-q", &original, "+refs/*:refs/*"]);
    for revision in ["main", "main~1", "main~2"] {
        repo.assert_same_once([revision]);
        repo.clone()
            .with(["--no-replace-objects"])
            .assert_same_once([revision]);
        repo.clone()
            .env("GIT_REPLACE_REF_BASE", "refs/nowhere/")
            .assert_same_once([revision]);
    }
    repo.assert_same_once(["nosuch"]);
    repo.git(["tag", "main", "main~1"]);
    for name in ["main", "heads/main", "main~0", "main@{upstream}"] {
        repo.assert_same_once([name]);
    }
    let served = repo.served(["--remote=.", "main"]);
    assert!(served.success() == repo.archive(["--remote=.", "main"]).success());
}

#[test]
fn shallow_clones() {
    let shallow = Repo::scratch();
    let url = format!("file://{}", Repo::from("basic").path().display());
    shallow.git(["clone", "-q", "--depth=2", &url, "."]);
    shallow.assert_same_once(["HEAD~1"]);
    shallow.assert_same_once(["HEAD~2"]);
}

/// On a cold disk each look takes time, and a single pack needs no place in an order.
#[test]
fn a_single_index_is_opened_at_once() {
    if let Some(trace) = Repo::from("deltas").traced("trace=file", &["HEAD"]) {
        assert_eq!(trace.matches(".idx\"").count(), 1, "{trace}");
    }
}
