//! Submodules and LFS content in the downloads of a host: what it shares, and that it shares nothing else.

use std::{fmt::Write, fs, os::unix::fs::symlink, thread, time::Duration};

use crate::{
    support::tar_listing::names,
    support::{Repo, cases},
};

/// A host with `group/project.git`, whose submodule `lib` is `group/lib.git`, and with `private/secret.git`.
struct Forge(Repo);

const SYSTEM: &str = "[sluice]\n\tsubmodules = recurse\n[sluice \"https://code.example/\"]\n\tsubmodulePath = $/srv\n";

impl Forge {
    fn new() -> Self {
        let place = Repo::scratch();
        let script = r#"
            mkdir -p srv/group srv/private
            for name in lib secret; do
                git init -q -b main $name && cd $name && echo $name >$name.txt && git add . && git commit -qm $name && cd ..
            done
            git clone -q --bare lib srv/group/lib.git && git -C srv/group/lib.git config sluice.exportAsSubmodule true
            git clone -q --bare secret srv/private/secret.git
            git init -q -b main project
        "#;
        let _ = place.shell(script).success();
        let forge = Self(place);
        forge.configure(SYSTEM);
        forge.push("https://code.example/group/lib.git", "lib");
        forge
    }

    /// The configuration of the system.
    fn configure(&self, text: &str) {
        self.0.write(
            "system",
            text.replace('$', &self.0.path().display().to_string()),
        );
    }

    /// Publishes a commit of the project that has the head of `repository` as the submodule `sub`, at `url`.
    fn push(&self, url: &str, repository: &str) {
        let head = self.0.git(["-C", repository, "rev-parse", "HEAD"]);
        self.push_commit(url, &head);
    }

    fn push_commit(&self, url: &str, head: &str) {
        self.push_all(&[("sub", url, head)]);
    }

    /// The same with any number of submodules: the path, the URL and the commit of each.
    fn push_all(&self, submodules: &[(&str, &str, &str)]) {
        let project = self.0.clone().at("project");
        let mut modules = String::new();
        project.git(["rm", "-rqf", "--ignore-unmatch", "."]);
        for (path, url, commit) in submodules {
            let _ = write!(
                modules,
                "[submodule \"{path}\"]\n\tpath = {path}\n\turl = \"{url}\"\n"
            );
            let link = format!("160000,{commit},{path}");
            project.git(["update-index", "--add", "--cacheinfo", &link]);
        }
        project.write(".gitmodules", modules);
        project.git(["add", ".gitmodules"]);
        project.git(["commit", "-qm", "sub", "--allow-empty"]);
        let _ = self
            .0
            .shell(
                "rm -rf srv/group/project.git; git clone -q --bare project srv/group/project.git",
            )
            .success();
    }

    fn client(&self) -> Repo {
        self.0
            .clone()
            .env("GIT_CONFIG_GLOBAL", self.0.path().join("system"))
    }

    /// What a client downloads.
    fn download(&self) -> Vec<String> {
        let output = self
            .client()
            .served(["--remote=srv/group/project.git", "HEAD"]);
        names(&output.success())
    }

    #[track_caller]
    fn assert_shared(&self) {
        assert_eq!(self.download(), [".gitmodules", "sub/", "sub/lib.txt"]);
    }

    #[track_caller]
    fn assert_empty(&self) {
        assert_eq!(self.download(), [".gitmodules", "sub/"]);
    }
}

#[test]
fn downloads_have_submodules_that_export_themselves() {
    let forge = Forge::new();
    forge.assert_shared();
    for url in cases(
        "https://code.example/group/lib | https://code.example/group/lib.git/ | ../lib.git | ../lib | \
         ../../group/lib.git | ./../lib",
    ) {
        forge.push(url, "lib");
        forge.assert_shared();
    }
    // A host that calls its repositories without the extension.
    let _ = forge
        .0
        .shell("mv srv/group/lib.git srv/group/lib")
        .success();
    forge.push("../lib.git", "lib");
    forge.assert_shared();
}

/// Twenty tries to get what was not exported, each of them by somebody who can push to the project.
#[test]
fn nobody_gets_a_private_repository_by_naming_it() {
    let forge = Forge::new();
    let top = forge.0.path().display().to_string();
    let secret = forge.0.git(["-C", "secret", "rev-parse", "HEAD"]);
    for url in [
        "https://code.example/private/secret.git",
        "https://code.example/private/secret",
        "../../private/secret.git",
        "../../private/secret.git/",
        "https://code.example/group/../private/secret.git",
        "https://code.example//private/secret.git",
        "https://code.example/./private/secret.git",
        "../lib.git/../../private/secret.git",
        "../../../srv/private/secret.git",
        "../../../secret",
        "../../../secret/.git",
        "https://code.example/../secret/.git",
        &format!("{top}/srv/private/secret.git"),
        &format!("file://{top}/srv/private/secret.git"),
        &format!("https://code.example/{top}/secret/.git"),
        "https://code.example/private/secret.git%00",
        "https://other.example/private/secret.git",
    ] {
        forge.push_commit(url, &secret);
        forge.assert_empty();
    }
    // By a link that an exported name is, or leads through.
    let srv = forge.0.path().join("srv");
    symlink(srv.join("../secret/.git"), srv.join("group/out.git")).expect("ours");
    forge
        .0
        .git(["-C", "secret", "config", "sluice.exportAsSubmodule", "true"]);
    forge.push_commit("../out.git", &secret);
    forge.assert_empty();
    // By a commit of an exported repository that no ref leads to: forks share objects with others.
    let alternates = srv.join("group/lib.git/objects/info/alternates");
    fs::write(alternates, format!("{top}/secret/.git/objects\n")).expect("ours");
    forge.push_commit("../lib.git", &secret);
    forge.assert_empty();
    // By the configuration of the project, which may have been pushed.
    forge.push_commit("../../private/secret.git", &secret);
    let project = forge.0.clone().at("srv/group/project.git");
    project.git(["config", "sluice.exportAsSubmodule", "true"]);
    project.git(["config", "sluice.https://x/.submodulePath", &top]);
    forge.assert_empty();
    project.git([
        "config",
        "sluice.../../.submodulePath",
        &format!("{top}/srv"),
    ]);
    forge.assert_empty();
}

/// Prefixes of keys are URLs as well.
#[test]
fn one_key_is_enough_for_a_host() {
    let forge = Forge::new();
    for prefix in cases(
        "https://code.example | http://CODE.example:3000/ | ssh://git@code.example/ | git@code.example: | \
         https://code.example/Group",
    ) {
        let system = SYSTEM.replace("https://code.example/", prefix);
        let is_group = prefix.ends_with("Group");
        let system = if is_group {
            system.replace("$/srv", "$/srv/group")
        } else {
            system
        };
        forge.configure(&system);
        for url in [
            "https://code.example/group/lib.git",
            "git@code.example:group/lib",
        ] {
            forge.push(url, "lib");
            forge.assert_shared();
        }
    }
    forge.configure(&SYSTEM.replace("https://code.example/", "https://code.example/gro"));
    forge.push("https://code.example/group/lib.git", "lib");
    forge.assert_empty();
}

/// A host that stores repositories under names that say nothing.
#[test]
fn a_map_names_the_directories() {
    let forge = Forge::new();
    let _ = forge
        .0
        .shell("mkdir hashed && mv srv/group/lib.git hashed/6b86.git && mv srv/private/secret.git hashed/d473.git")
        .success();
    forge.configure("[sluice]\n\tsubmodules = recurse-present\n\tsubmoduleMap = $/map\n");
    let top = forge.0.path().display().to_string();
    let map = format!(
        "# GitLab\nhttps://code.example/group/lib.git {top}/hashed/6b86.git\n\n\
         https://code.example/private/secret.git\t{top}/hashed/d473.git \n\
         https://code.example/group/project {top}/srv/group/project.git\n\
         https://code.example/gone {top}/gone\nhttps://code.example/relative hashed/6b86.git\n"
    );
    forge.0.write("map", map);
    for url in cases(
        "https://code.example/group/lib.git | git@code.example:Group/Lib.git | ../lib.git | ../../group/lib",
    ) {
        forge.push(url, "lib");
        forge.assert_shared();
    }
    for (url, repository) in [
        ("https://code.example/private/secret.git", "secret"),
        ("../../private/secret", "secret"),
        ("https://code.example/group/lib.git", "secret"),
        ("https://code.example/gone", "lib"),
        ("https://code.example/relative", "lib"),
        ("https://code.example/group", "lib"),
        ("https://other.example/group/lib.git", "lib"),
        ("../../../../lib", "lib"),
    ] {
        forge.push(url, repository);
        forge.assert_empty();
    }
    forge.0.write("map", "");
    forge.push("https://code.example/group/lib.git", "lib");
    forge.assert_empty();
}

/// A repository `group/lib.git` with a commit on the current branch, one on another branch, and one that no ref leads to.
fn three_commits(forge: &Forge) -> [String; 3] {
    let script = "
        git commit -q --allow-empty -m two && git push -q ../srv/group/lib.git main
        git checkout -q -b side && git commit -q --allow-empty -m side && git push -q ../srv/group/lib.git side
        git checkout -q -b lost && git commit -q --allow-empty -m lost && git push -q ../srv/group/lib.git lost
        git -C ../srv/group/lib.git branch -q -D lost
    ";
    let _ = forge.0.clone().at("lib").shell(script).success();
    ["main~1", "side", "lost"].map(|name| forge.0.git(["-C", "lib", "rev-parse", name]))
}

/// The files of submodules in an archive.
fn shown(archive: &[String]) -> String {
    let all = archive
        .iter()
        .filter_map(|name| name.strip_suffix("/lib.txt"));
    all.collect::<Vec<_>>().join(" ")
}

/// A client whose git writes down how often it walks through history, and the number of times so far.
fn counting(forge: &Forge) -> (Repo, impl Fn() -> usize) {
    let place = Repo::scratch();
    let script =
        "#!/bin/sh\ncase $1 in rev-list) echo >>\"$0.walks\" ;; esac\nexec \"$REAL\" \"$@\"\n";
    place.write("git", script);
    let _ = place.shell("chmod +x git && touch git.walks").success();
    let path = forge
        .0
        .shell("command -v git; printf %s \"$PATH\"")
        .success();
    let path = String::from_utf8(path).expect("text");
    let (real, path) = path.split_once('\n').expect("two lines");
    let path = format!("{}:{path}", place.path().display());
    let client = forge.client().env("REAL", real).env("PATH", path);
    let walks = move || {
        fs::read(place.path().join("git.walks"))
            .expect("ours")
            .len()
    };
    (client, walks)
}

/// git is asked once for all commits of a repository, and only refs that clients see count.
#[test]
fn one_walk_finds_the_commits_that_refs_lead_to() {
    let forge = Forge::new();
    let [main, side, lost] = &three_commits(&forge);
    let url = "../lib.git";
    forge.configure(&SYSTEM.replace("recurse", "recurse-present"));
    let links = [
        ("a", main),
        ("b", side),
        ("c", lost),
        ("d", main),
        ("e", lost),
    ];
    forge.push_all(&links.map(|(path, commit)| (path, url, &commit[..])));
    let (client, walks) = counting(&forge);
    let download = || {
        let project = client.clone().at("srv/group/project.git");
        names(&project.sluice(["HEAD"]).success())
    };
    assert_eq!(shown(&download()), "a b d");
    assert_eq!(walks(), 2, "the current branch, and all refs");
    let lib = forge.0.clone().at("srv/group/lib.git");
    for (key, expected) in [
        ("transfer", "a d"),
        ("uploadpack", "a d"),
        ("receive", "a b d"),
    ] {
        let key = format!("{key}.hideRefs");
        lib.git(["config", &key, "refs/heads/side"]);
        assert_eq!(shown(&download()), expected, "{key}");
        lib.git(["config", "--unset", &key]);
    }
    // A commit that the current branch leads to needs no other ref, nor a second walk.
    forge.push_all(&[("a", url, main), ("d", url, main)]);
    let before = walks();
    assert_eq!(shown(&download()), "a d");
    assert_eq!(walks() - before, 1);
}

/// What was found out is kept next to the archives, until a ref changes.
#[test]
#[ignore = "slow"]
fn walks_are_remembered_until_a_ref_changes() {
    let forge = Forge::new();
    let [main, side, lost] = &three_commits(&forge);
    forge.configure(&SYSTEM.replace("recurse", "recurse-present"));
    let links = [("a", main), ("b", side), ("c", lost)];
    forge.push_all(&links.map(|(path, commit)| (path, "../lib.git", &commit[..])));
    let (client, walks) = counting(&forge);
    let cache = format!("--cache={}", forge.0.path().join("cache").display());
    let download = || {
        let project = client.clone().at("srv/group/project.git");
        let before = walks();
        let archive = names(&project.sluice([&cache, "HEAD"]).success());
        (shown(&archive), walks() - before)
    };
    let settled = || thread::sleep(Duration::from_millis(2100));
    let lib = forge.0.clone().at("srv/group/lib.git");
    for change in cases(
        "git branch -q -D side | git update-ref refs/pull/1/head $SIDE | git pack-refs --all | \
         git update-ref -d refs/pull/1/head | git update-ref refs/heads/lost $LOST",
    ) {
        settled();
        let (first, _) = download();
        assert_eq!(download(), (first, 0), "before {change}");
        let lib = lib.clone().env("SIDE", side).env("LOST", lost);
        let _ = lib.shell(change).success();
        let expected = match change {
            "git branch -q -D side" | "git update-ref -d refs/pull/1/head" => "a",
            "git update-ref refs/heads/lost $LOST" => "a b c",
            _ => "a b",
        };
        // At once, however young the ref is.
        assert_eq!(download().0, expected, "after {change}");
    }
}

/// Only the file of the repository itself says that it may be archived as a submodule.
#[test]
fn what_is_exported_says_so_itself() {
    let forge = Forge::new();
    let lib = forge.0.clone().at("srv/group/lib.git");
    for value in ["false", "0", "maybe", ""] {
        lib.git(["config", "sluice.exportAsSubmodule", value]);
        forge.assert_empty();
    }
    lib.git(["config", "--unset", "sluice.exportAsSubmodule"]);
    forge.assert_empty();
    forge.configure(&format!("{SYSTEM}[sluice]\n\texportAsSubmodule = true\n"));
    forge.assert_empty();
    lib.git(["config", "include.path", "elsewhere"]);
    fs::write(
        lib.path().join("elsewhere"),
        "[sluice]\n\texportAsSubmodule\n",
    )
    .expect("ours");
    forge.assert_empty();
    lib.git(["config", "sluice.exportAsSubmodule", "yes"]);
    forge.assert_shared();
}

#[test]
fn a_repository_may_ask_for_less_and_not_for_more() {
    let forge = Forge::new();
    let project = forge.0.clone().at("srv/group/project.git");
    let without = "[sluice \"https://code.example/\"]\n\tsubmodulePath = $/srv\n";
    project.git(["config", "sluice.submodules", "dir"]);
    forge.assert_empty();
    project.git(["config", "sluice.submodules", "omit"]);
    assert_eq!(forge.download(), [".gitmodules"]);
    project.git(["config", "sluice.submodules", "recurse"]);
    forge.configure(without);
    forge.assert_empty();
    forge.configure(&format!("{without}[sluice]\n\tallowSubmodules = true\n"));
    forge.assert_shared();
    project.git(["config", "sluice.submodules", "nonsense"]);
    forge.assert_empty();
    let told = forge.client().at("srv/group/project.git").sluice(["HEAD"]);
    told.assert_refused(
        128,
        &["bad config value 'nonsense' for 'sluice.submodules'"],
    );
    // What is typed comes first.
    forge.configure(SYSTEM);
    let archive = forge
        .client()
        .at("srv/group/project.git")
        .sluice(["--submodules=dir", "HEAD"]);
    assert_eq!(names(&archive.success()), [".gitmodules", "sub/"]);
}

/// LFS objects of all repositories, at the places that hosts use.
#[test]
fn lfs_content_comes_from_the_store_of_the_host() {
    let place = Repo::scratch();
    let script = r#"
        git init -q -b main project && cd project
        printf 'large content' >content
        hash=$(sha256sum <content | cut -d' ' -f1)
        printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 13\n' $hash >file
        echo 'file filter=lfs -text' >.gitattributes
        git add file .gitattributes && git commit -qm m
        first=$(echo $hash | cut -c1-2) second=$(echo $hash | cut -c3-4) rest=$(echo $hash | cut -c5-)
        mkdir -p ../store/$first/$second && mv content ../store/$first/$second/$rest
        git clone -q --bare . ../project.git
    "#;
    let _ = place.shell(script).success();
    let store = place.path().join("store");
    let set = |text: String| place.write("system", text);
    let client = place
        .clone()
        .env("GIT_CONFIG_GLOBAL", place.path().join("system"));
    let has_content = || {
        let archive = client.served(["--remote=project.git", "HEAD"]).success();
        archive.windows(13).any(|bytes| bytes == b"large content")
    };
    set(format!(
        "[sluice]\n\tlfs = content\n\tlfsStore = {}\n",
        store.display()
    ));
    assert!(has_content());
    // Other hosts keep the whole hash in the name, and Gogs has directories of one digit.
    for layout in [r"s,(..)(..).*,\1/\2/&,", r"s,(.)(.).*,\1/\2/&,"] {
        let script = format!(
            "cd store && old=$(find * -type f) && hash=$(sha256sum <$old | cut -c1-64) && \
             new=$(echo $hash | sed -E '{layout}') && mkdir -p $(dirname $new) && mv $old $new"
        );
        let _ = place.shell(&script).success();
        assert!(has_content(), "{layout}");
    }
    set(format!("[sluice]\n\tlfsStore = {}\n", store.display()));
    assert!(!has_content());
    // The repository may not name a store, nor ask for content.
    let project = place.clone().at("project.git");
    project.git(["config", "sluice.lfs", "content"]);
    assert!(!has_content());
    set(format!(
        "[sluice]\n\tallowLfs = true\n\tlfsStore = {}\n",
        store.display()
    ));
    assert!(has_content());
    project.git(["config", "sluice.lfsStore", store.to_str().expect("text")]);
    set("[sluice]\n\tallowLfs = true\n".to_owned());
    let failed = client.served(["--remote=project.git", "HEAD"]);
    assert_ne!(failed.code(), 0);
    // A host that would rather send pointers than nothing.
    set("[sluice]\n\tlfs = content-present\n".to_owned());
    assert!(!has_content());
    project.git(["config", "--unset", "sluice.lfs"]);
    set(format!(
        "[sluice]\n\tlfs = content-present\n\tlfsStore = {}\n",
        store.display()
    ));
    assert!(has_content());
    // Whoever may get content may get it where it is present, and not the other way round.
    for (own, expected) in [
        ("content", true),
        ("pointer", false),
        ("content-present", true),
    ] {
        project.git(["config", "sluice.lfs", own]);
        assert_eq!(has_content(), expected, "{own}");
    }
    // Content that does not have its name is not sent.
    set(format!(
        "[sluice]\n\tallowLfs = true\n\tlfsStore = {}\n",
        store.display()
    ));
    let _ = place
        .shell("for file in store/*/*/*; do chmod +w $file; printf 'other content' >$file; done")
        .success();
    assert_ne!(client.served(["--remote=project.git", "HEAD"]).code(), 0);
}
