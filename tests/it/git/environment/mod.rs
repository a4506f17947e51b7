//! The environment and the configuration decide as for git: which repository, which settings, which objects, which attributes.
//!
//! Tables, one row for each variable or key, next to the installed git. Where versions of git differ, the newest counts, and an
//! older one is not asked.

mod conditions;
mod keys;
mod layouts;
mod pairs;
mod variables;

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::support::{
    Repo, git_version,
    process::{Output, run},
    without_clock,
};

/// Where commands are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    WorkTree,
    SubDirectory,
    Bare,
}

const PLACES: [Place; 3] = [Place::WorkTree, Place::SubDirectory, Place::Bare];

impl Place {
    fn directory(self) -> &'static str {
        match self {
            Self::WorkTree => "w",
            Self::SubDirectory => "w/sub",
            Self::Bare => "bare.git",
        }
    }

    fn config(self) -> &'static str {
        match self {
            Self::WorkTree | Self::SubDirectory => "w/.git/config",
            Self::Bare => "bare.git/config",
        }
    }
}

/// What is asked for.
const LINES: [&[&str]; 4] = [
    &["HEAD"],
    &["main~1", "*b*"],
    &["--format=tar.x", "main"],
    &["--list"],
];

/// Repositories, and files next to them that variables and keys may lead to: `w` with a work tree, `bare.git` without, `o` with
/// other content. Each place has `rel`, with a configuration that runs a command and hides a file.
const WORLD: &str = r#"
create() {
    git init -q -b main $1
    cd $1
    mkdir -p sub/deep rel/git
    echo $2 >sub/b.txt
    echo $2 >sub/deep/c.x
    echo '$Format:%H$' >a
    echo 'a export-subst' >.gitattributes
    printf '[tar "tar.x"]\n\tcommand = cat; echo ran\n[core]\n\tattributesFile = %s/hide\n' "$PWD" >rel/git/config
    cp rel/git/config rel/.gitconfig
    cp rel/git/config rel/config
    echo 'b.txt export-ignore' >hide
    cp hide rel/git/attributes
    cp hide rel/attributes
    git add .
    git commit -q -m one
    echo $2$2 >sub/b.txt
    echo n >new
    git add .
    git commit -q -m two
    git branch other HEAD~1
    git update-ref refs/namespaces/x/refs/heads/main HEAD~1
    git tag -a -m t t1 HEAD
    git update-ref refs/rep/$(git rev-parse HEAD:a) $(git rev-parse HEAD:new)
    git update-ref refs/replace/$(git rev-parse HEAD:new) $(git rev-parse HEAD:a)
    git pack-refs --all
    cp -r rel sub/
    cd ..
}
mkdir home
create w one
create o two
git clone -q --bare w bare.git
cp -r w/rel bare.git/
for place in w w/sub bare.git; do
    cp -r o/.git $place/orepo
    cp -r w/.git/objects $place/wobj
    git -C o rev-parse HEAD >$place/shal
    git -C w rev-parse HEAD >$place/graft
done
"#;

/// A world of repositories of its own.
struct World(Repo);

impl World {
    fn create() -> Self {
        let world = Repo::scratch();
        let _ = world.shell(&format!("set -e\n{WORLD}")).success();
        Self(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("our own");
    }

    /// `program` with `words` at a `place`. Variables without a value are not set.
    fn run(
        &self,
        (program, words): (&str, &[&str]),
        place: Place,
        variables: &[(&str, Option<&str>)],
    ) -> Output {
        let repo = self.0.clone().at(place.directory());
        let mut command = repo.command(program);
        command.env("HOME", self.path("home"));
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if program == "git" {
            command.arg("archive");
        }
        run(command.args(words))
    }

    /// Both end in the same way with these `variables`: status, bytes, and the words of a failure.
    #[track_caller]
    fn assert_same(&self, words: &[&str], place: Place, variables: &[(&str, Option<&str>)]) {
        let start = SystemTime::now();
        let ours = self.run(("git-sluice", words), place, variables);
        let theirs = self.run(("git", words), place, variables);
        if is_killed(&theirs) {
            return;
        }
        let case = format!("{words:?} {place:?} {variables:?}\nours: {ours}\ngit: {theirs}");
        assert_eq!(ours.code(), theirs.code(), "{case}");
        assert!(
            are_same(&without_own_format(&ours), &theirs.stdout, start),
            "other bytes: {case}"
        );
        assert_eq!(last_words(&ours), last_words(&theirs), "{case}");
    }
}

/// Whether two outputs differ at most in the present time, which is in the archive of a tree.
fn are_same(ours: &[u8], theirs: &[u8], start: SystemTime) -> bool {
    ours == theirs || without_clock(ours, start) == without_clock(theirs, start)
}

/// Whether git has aborted or crashed, as some versions do where others report an error.
fn is_killed(output: &Output) -> bool {
    const ABORTED: i32 = 128 + 6;
    const CRASHED: i32 = 128 + 11;
    matches!(output.code(), ABORTED | CRASHED)
}

/// The list of formats without the one that git does not have.
fn without_own_format(output: &Output) -> Vec<u8> {
    let end = output.stdout.strip_suffix(b"tar.zst\n");
    end.unwrap_or(&output.stdout).to_vec()
}

/// The line that says what has failed.
fn last_words(output: &Output) -> Option<String> {
    let messages = output.messages();
    let mut lines = messages.lines().filter(|line| line.starts_with("fatal: "));
    let last = lines.next_back()?;
    // The words of versions differ: what a bad boolean is, and where a bad number is.
    let last = last.replace("boolean config value", "boolean environment value");
    Some(match last.split_once(" in file ") {
        Some((start, end)) if start.contains("bad numeric config value") => {
            let why = end.split_once(": ").map_or("", |(_, why)| why);
            format!("{start}: {why}")
        }
        _ => last,
    })
}

/// Whether the installed git is older than the newest one in a way that this variable or key brings to light.
fn is_new(name: &str) -> bool {
    let since = match name {
        "GIT_ATTR_SOURCE" => (2, 41),
        "attr.tree" | "core.maxTreeDepth" => (2, 43),
        "GIT_NO_LAZY_FETCH" => (2, 45),
        "extensions.refStorage" | "extensions.relativeWorktrees" => (2, 48),
        "safe.directory" => (2, 46),
        "core.attributesFile" => (2, 52),
        "GIT_REFERENCE_BACKEND" | "extensions.submodulePathConfig" => (2, 54),
        "includeIf.gitdir:./sub.path" => (2, 54),
        // It also has to be built with Rust.
        "extensions.compatObjectFormat" => (3, 0),
        _ => (0, 0),
    };
    git_version() < since
}

/// `path` as a value.
fn text(path: &Path) -> String {
    path.to_str().expect("the tests name it").to_owned()
}
