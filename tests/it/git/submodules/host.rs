//! Submodules and LFS content in the downloads of a host: what it shares, and that it shares nothing else.

use std::{fs, os::unix::fs::symlink};

use crate::{support::Repo, support::tar_listing::names};

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
        let project = self.0.clone().at("project");
        project.write(
            ".gitmodules",
            format!("[submodule \"sub\"]\n\tpath = sub\n\turl = \"{url}\"\n"),
        );
        project.git(["add", ".gitmodules"]);
        project.git([
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{head},sub"),
        ]);
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
    for url in [
        "https://code.example/group/lib",
        "https://code.example/group/lib.git/",
        "../lib.git",
        "../lib",
        "../../group/lib.git",
        "./../lib",
    ] {
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
