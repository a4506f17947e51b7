//! Gogs, a code host: an operator's day, from the stand-in to its removal. `GOGS` names the program, 0.13 or later.

use std::thread;

use super::{Served, server::Server};
use crate::support::{Repo, installed, named_program};

/// Repositories of the user `ann`: `project`; `Lib`, in whose name is a capital letter; and `super` with `Lib` as a submodule and
/// with a pointer to `large content`, which is in the store of Gogs.
const REPOSITORIES: &str = r#"
    set -e
    $GOGS admin create-user --name ann --password secret12 --email ann@example.org --admin --config custom/conf/app.ini >/dev/null
    json='Content-Type: application/json'
    token=$(curl -sSf -u ann:secret12 -H "$json" -d '{"name":"t"}' $URL/api/v1/users/ann/tokens | jq -r .sha1)
    for name in project Lib super; do
        curl -sSf -o /dev/null -H "Authorization: token $token" -H "$json" -d "{\"name\":\"$name\"}" $URL/api/v1/user/repos
    done
    remote=$(echo $URL | sed 's,//,//ann:secret12@,')/ann
    for number in $(seq 40); do git -C ../project commit -q --allow-empty -m $number; done
    git -C ../project push -q $remote/project.git main:master
    git init -q -b master lib && cd lib && echo of the library >l && git add l && git commit -qm one
    git push -q $remote/Lib.git master && cd ..
    git init -q -b master super && cd super && mkdir sub
    printf '[submodule "s"]\n\tpath = sub\n\turl = %s/ann/Lib.git\n' $URL >.gitmodules
    git update-index --add --cacheinfo 160000,$(git -C ../lib rev-parse HEAD),sub
    printf 'large content' >../content
    hash=$(sha256sum <../content | cut -c1-64)
    store=../data/lfs-objects/$(echo $hash | sed -E 's,(.)(.).*,\1/\2,')
    mkdir -p $store && mv ../content $store/$hash
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 13\n' $hash >file
    echo 'file filter=lfs -text' >.gitattributes
    git add . && git commit -qm one && git push -q $remote/super.git master
"#;

/// The keys of the page about products.
const KEYS: &str = r#"
    git config --global sluice.submodules recurse-present
    git config --global sluice.lfs content-present
    git config --global sluice.lfsStore "$PWD/data/lfs-objects"
    git config --global sluice.$URL/.submodulePath "$PWD/repositories"
    git config -f repositories/ann/lib.git/config sluice.exportAsSubmodule true
"#;

/// Gogs with its files in this directory, on a port that is chosen later.
const SETTINGS: &str = r#"
    cat >settings <<END
RUN_USER = $USER
RUN_MODE = prod
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = @
EXTERNAL_URL = http://127.0.0.1:@/
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
TYPE = sqlite3
PATH = $PWD/database
[repository]
ROOT = $PWD/repositories
[lfs]
OBJECTS_PATH = $PWD/data/lfs-objects
[security]
INSTALL_LOCK = true
SECRET_KEY = abc
[log]
ROOT_PATH = $PWD/log
END
"#;
/// One archive at a time, and nothing stored.
const TURNS: &str = r#"
    mkdir -m 700 turns
    git config --global sluice.cache "$PWD/turns"
    git config --global sluice.cacheSize 0
    git config --global sluice.cacheJobs 1
    git config --global sluice.cacheWait 60
"#;

struct Gogs {
    served: Served,
    /// The directory of Gogs, with the address of its server in `URL`.
    place: Repo,
    _server: Server,
}

impl Gogs {
    /// `None` if Gogs or another program is missing, which is reported.
    fn start() -> Option<Self> {
        let program = named_program("GOGS")?;
        let served = Served::new().filter(|_| installed("curl") && installed("jq"))?;
        let _ = served
            .place
            .project
            .shell("mkdir -p ../gogs/custom/conf ../gogs/template/hooks")
            .success();
        let place = served.host().at("../gogs");
        let directory = served.place.top.join("gogs");
        let place = place
            .env("GOGS", &program)
            .env("GOGS_WORK_DIR", &directory)
            .env("GOGS_CUSTOM", directory.join("custom"))
            .env("GIT_TEMPLATE_DIR", directory.join("template"))
            .env("GIT_CONFIG_GLOBAL", directory.join("gitconfig"));
        let user = text(place.shell("id -un").success());
        let place = place.env("USER", user);
        place.script(SETTINGS);
        place.git([
            "config",
            "--global",
            "sluice.log",
            served.log.to_str().expect("UTF-8"),
        ]);
        let server = Server::start(|port| {
            let script = format!("sed 's/@/{port}/g' settings >custom/conf/app.ini");
            place.script(&script);
            let mut command = place.command(&program);
            command.args(["web", "--config", "custom/conf/app.ini"]);
            command
        });
        let place = place.env("URL", format!("http://127.0.0.1:{}", server.port));
        place.script(REPOSITORIES);
        Some(Self {
            served,
            place,
            _server: server,
        })
    }

    /// Lets Gogs forget the archives that it stores.
    fn forget_archives(&self) {
        self.place.script("rm -rf repositories/ann/*/archives");
    }

    /// The HTTP status of a download, and its bytes.
    fn download(&self, repository: &str, commit: &str, format: &str) -> (String, Vec<u8>) {
        let script = format!(
            "curl -sS -u ann:secret12 -w '%{{stderr}}%{{http_code}}' $URL/ann/{repository}/archive/{commit}.{format}"
        );
        let answer = self.place.shell(&script);
        (answer.messages(), answer.stdout)
    }

    /// Checks that downloads of `project` have the bytes of the real git, and that git-sluice wrote `logged` of them.
    #[track_caller]
    fn assert_as_git(&self, logged: usize) {
        self.forget_archives();
        let before = self.served.logged();
        let commit = self.served.place.project.git(["rev-parse", "HEAD"]);
        for format in ["tar.gz", "zip"] {
            let words = format!("--format={format} --prefix=project/ {commit}");
            let (status, archive) = self.download("project", &commit, format);
            assert_eq!(status, "200");
            assert!(archive == self.served.archive(&words), "{format}");
        }
        assert_eq!(self.served.logged() - before, logged);
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .expect("UTF-8")
        .trim_end()
        .to_owned()
}

#[test]
#[ignore = "slow"]
fn a_day_of_an_operator() {
    let Some(gogs) = &Gogs::start() else { return };
    let place = &gogs.place;
    gogs.assert_as_git(2);
    // Submodules and LFS content.
    place.script(KEYS);
    let (status, archive) = gogs.download("super", "master", "tar.gz");
    assert_eq!(status, "200");
    place.write("super.tar.gz", archive);
    let files = place
        .shell("tar -xzOf super.tar.gz super/file super/sub/l")
        .success();
    assert_eq!(text(files), "large contentof the library");
    // A limit refuses a download, and nothing that looks like an archive stays.
    let limit = |value| place.git(["config", "--global", "sluice.maxEntries", value]);
    limit("1");
    gogs.forget_archives();
    let (status, _) = gogs.download("project", "master", "zip");
    assert_eq!(status, "500");
    limit("1000");
    gogs.assert_as_git(2);
    // Clients wait for their turn, while the program is replaced again and again.
    place.script(TURNS);
    gogs.forget_archives();
    let project = &gogs.served.place.project;
    let commits = project.git(["rev-list", "HEAD"]);
    let before = gogs.served.logged();
    thread::scope(|scope| {
        let clients: Vec<_> = commits
            .lines()
            .map(|commit| scope.spawn(move || (commit, gogs.download("project", commit, "zip"))))
            .collect();
        while !clients.iter().all(|client| client.is_finished()) {
            place.script("cp ../bin/git-sluice new && mv new ../bin/git-sluice");
        }
        for client in clients {
            let (commit, (status, archive)) = client.join().expect("it ends");
            assert_eq!(status, "200");
            let words = format!("--format=zip --prefix=project/ {commit}");
            assert!(archive == gogs.served.archive(&words), "{commit}");
        }
    });
    assert_eq!(gogs.served.logged() - before, commits.lines().count());
    // Without git-sluice, everything comes from git.
    place.script("rm ../bin/git-sluice");
    gogs.assert_as_git(0);
}
