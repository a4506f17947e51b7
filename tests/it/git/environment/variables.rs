//! Each variable of git(1) that could matter for an archive, with values of all kinds.

use super::{LINES, PLACES, Place, World, is_new, text};

/// A variable, with a relative value and the end of an absolute one, or a value as it is.
struct Variable(&'static str, &'static str, Value);

enum Value {
    Path(&'static str),
    Word(&'static str),
}

use Value::{Path, Word};

const VARIABLES: [Variable; 46] = [
    Variable("GIT_ADVICE", "rel", Path("w/rel")),
    Variable("GIT_ALLOW_PROTOCOL", "rel", Path("w/rel")),
    Variable(
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "wobj:orepo/objects",
        Path("o/.git/objects"),
    ),
    Variable("GIT_ASKPASS", "rel", Path("w/rel")),
    Variable("GIT_ATTR_NOSYSTEM", "rel", Path("w/rel")),
    Variable("GIT_ATTR_SOURCE", "other", Word("refs/heads/other")),
    Variable("GIT_CEILING_DIRECTORIES", "..", Path("w")),
    Variable("GIT_COMMIT_GRAPH_PARANOIA", "rel", Path("w/rel")),
    Variable("GIT_COMMON_DIR", "orepo", Path("o/.git")),
    Variable("GIT_CONFIG", "rel/config", Path("w/rel/config")),
    Variable("GIT_CONFIG_COUNT", "rel", Path("w/rel")),
    Variable("GIT_CONFIG_GLOBAL", "rel/config", Path("w/rel/config")),
    Variable("GIT_CONFIG_NOSYSTEM", "rel", Path("w/rel")),
    Variable(
        "GIT_CONFIG_PARAMETERS",
        "'core.abbrev'='no'",
        Word("'tar.tar.x.command'='cat'"),
    ),
    Variable("GIT_CONFIG_SYSTEM", "rel/config", Path("w/rel/config")),
    Variable("GIT_CURL_VERBOSE", "rel", Path("w/rel")),
    Variable("GIT_DEFAULT_HASH", "sha256", Word("sha1")),
    Variable("GIT_DEFAULT_REF_FORMAT", "reftable", Word("files")),
    Variable("GIT_DIR", "orepo", Path("o/.git")),
    Variable("GIT_DISCOVERY_ACROSS_FILESYSTEM", "rel", Path("w/rel")),
    Variable("GIT_EDITOR", "rel", Path("w/rel")),
    Variable("GIT_FLUSH", "rel", Path("w/rel")),
    Variable("GIT_GLOB_PATHSPECS", "rel", Path("w/rel")),
    Variable("GIT_GRAFT_FILE", "graft", Path("w/graft")),
    Variable("GIT_ICASE_PATHSPECS", "rel", Path("w/rel")),
    Variable("GIT_IMPLICIT_WORK_TREE", "rel", Path("w/rel")),
    Variable("GIT_INDEX_FILE", "shal", Path("w/shal")),
    Variable("GIT_INDEX_VERSION", "rel", Path("w/rel")),
    Variable("GIT_LITERAL_PATHSPECS", "rel", Path("w/rel")),
    Variable("GIT_NAMESPACE", "x", Word("x/y")),
    Variable("GIT_NOGLOB_PATHSPECS", "rel", Path("w/rel")),
    Variable("GIT_NO_LAZY_FETCH", "rel", Path("w/rel")),
    Variable("GIT_NO_REPLACE_OBJECTS", "rel", Path("w/rel")),
    Variable("GIT_OBJECT_DIRECTORY", "wobj", Path("w/.git/objects")),
    Variable("GIT_OPTIONAL_LOCKS", "rel", Path("w/rel")),
    Variable("GIT_PAGER", "rel", Path("w/rel")),
    Variable("GIT_PREFIX", "rel", Path("w/rel")),
    Variable("GIT_QUARANTINE_PATH", "rel", Path("w/rel")),
    Variable("GIT_REFERENCE_BACKEND", "files", Word("bad://x")),
    Variable("GIT_REF_PARANOIA", "rel", Path("w/rel")),
    Variable("GIT_REPLACE_REF_BASE", "refs/rep/", Word("refs/none/")),
    Variable("GIT_SHALLOW_FILE", "shal", Path("w/shal")),
    Variable("GIT_WORK_TREE", "sub", Path("w/sub")),
    Variable("HOME", "rel", Path("w/rel")),
    Variable("PWD", ".", Path("w")),
    Variable("XDG_CONFIG_HOME", "rel", Path("w/rel")),
];

/// Values that mean nothing in particular.
const VALUES: [&str; 5] = ["", "0", "1", "no", "bad"];

impl Variable {
    /// All values, one of which leads to no file; `None` means that the variable is not set.
    fn values(&self, world: &World) -> Vec<Option<String>> {
        let absolute = match self.2 {
            Path(path) => text(&world.path(path)),
            Word(word) => word.to_owned(),
        };
        let values = VALUES.map(ToOwned::to_owned).into_iter();
        let values = values.chain([text(&world.path("missing/x")), self.1.to_owned(), absolute]);
        std::iter::once(None).chain(values.map(Some)).collect()
    }
}

/// The name and the value of each case.
pub(super) fn cases(world: &World) -> Vec<(&'static str, Option<String>)> {
    let of = |variable: &Variable| {
        let values = variable.values(world).into_iter();
        values.map(|value| (variable.0, value)).collect::<Vec<_>>()
    };
    VARIABLES.iter().flat_map(of).collect()
}

fn variables_decide_at(place: Place) {
    let world = World::create();
    for (name, value) in cases(&world) {
        if is_new(name) {
            continue;
        }
        for line in LINES {
            world.assert_same(line, place, &[(name, value.as_deref())]);
        }
    }
}

#[test]
#[ignore = "slow"]
fn in_a_work_tree() {
    variables_decide_at(PLACES[0]);
}

#[test]
#[ignore = "slow"]
fn in_a_sub_directory() {
    variables_decide_at(PLACES[1]);
}

#[test]
#[ignore = "slow"]
fn in_a_bare_repository() {
    variables_decide_at(PLACES[2]);
}

/// An empty variable must not lead to a configuration of the checkout, whose commands would run.
#[test]
fn a_checkout_configures_nothing() {
    let world = World::create();
    let repo = world.0.clone().at("w/rel");
    let words = ["--format=tar.x", "HEAD"];
    for name in ["XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        let repo = repo.clone().env(name, "").env("HOME", world.path("home"));
        repo.sluice(words)
            .assert_refused(128, &["Unknown archive format 'tar.x'"]);
    }
}

/// git reads the variable about its commit-graph when it finds a commit there.
#[test]
fn a_commit_graph_in_doubt() {
    let world = World::create();
    for set_up in [
        "git commit-graph write --reachable",
        "git config core.commitGraph no",
    ] {
        let _ = world.0.clone().at("w").shell(set_up).success();
        for value in ["1", "bad"] {
            let variable = ("GIT_COMMIT_GRAPH_PARANOIA", Some(value));
            for name in [
                "main",
                "t1",
                "main~1",
                "main~1:sub",
                "main^{tree}",
                "main~1^{tree}",
            ] {
                world.assert_same(&[name], PLACES[0], &[variable]);
            }
        }
    }
}

/// Names of refs are those that git has, whatever namespace a host exports.
#[test]
fn a_namespace_hides_and_shows_nothing() {
    let world = World::create();
    let repo = world.0.clone().at("w").env("GIT_NAMESPACE", "x");
    repo.assert_same(["main"]);
    repo.assert_same(["other"]);
    repo.assert_same(["refs/namespaces/x/refs/heads/main"]);
    let remote = world.path("w");
    let served = |name: &str| repo.served([&format!("--remote={}", remote.display()), name]);
    assert!(served("other").code() == 0);
    assert!(served("main").stdout == repo.archive(["main"]).stdout);
}
