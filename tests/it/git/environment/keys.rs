//! Keys of the configuration that name files or change what a repository is, in the repository, in the user's file and on the
//! command line.

use std::fs;

use super::{LINES, PLACES, Place, World, is_new, text};

/// `$` stands for the directory of all repositories.
const KEYS: [(&str, &[&str]); 58] = [
    ("attr.tree", &["", "other"]),
    ("core.abbrev", &["auto", "no"]),
    (
        "core.attributesFile",
        &[
            "",
            "rel/attributes",
            "~/attributes",
            "~nobody.x/a",
            "%(prefix)/nope",
            "$/missing/x",
            "$/w/rel/attributes",
        ],
    ),
    ("core.autocrlf", &["input", "true", ""]),
    ("core.bare", &["", "true", "false", "0", "bad"]),
    ("core.bigFileThreshold", &["\u{b}077", " 1k", "0"]),
    ("core.eol", &["bad", "crlf"]),
    ("core.excludesFile", &["~nobody.x/", "x"]),
    ("core.hooksPath", &["~nobody.x/", "x"]),
    ("core.ignoreCase", &["true", "bad"]),
    ("core.multiPackIndex", &["false"]),
    ("core.protectNTFS", &["false"]),
    (
        "core.repositoryFormatVersion",
        &["", "0", "1", "2", "-1", "bad"],
    ),
    ("core.useReplaceRefs", &["", "false"]),
    (
        "core.worktree",
        &[
            "",
            "..",
            "sub",
            "../sub",
            "$/missing/x",
            "$/missing",
            "$/w",
            "$/w/sub",
            "~/x",
        ],
    ),
    ("extensions.noop", &["x"]),
    ("extensions.noop-v1", &["x"]),
    ("extensions.objectFormat", &["", "sha1", "sha256", "bad"]),
    ("extensions.partialClone", &["", "origin"]),
    ("extensions.preciousObjects", &["", "true", "bad"]),
    (
        "extensions.refStorage",
        &["", "files", "reftable", "bad", "files://$/o/.git"],
    ),
    ("extensions.relativeWorktrees", &["true", "bad"]),
    ("extensions.submodulePathConfig", &["true", "bad"]),
    ("extensions.compatObjectFormat", &["sha1", "sha256", "bad"]),
    ("extensions.unknown", &["x"]),
    ("extensions.worktreeConfig", &["", "true", "bad"]),
    ("gitoxide.allow.protocolFromUser", &["x"]),
    ("gitoxide.core.refsNamespace", &["x", ""]),
    ("gitoxide.core.shallowFile", &["x"]),
    ("gitoxide.core.useNsec", &["bad"]),
    ("gitoxide.objects.noReplace", &["true"]),
    ("gitoxide.objects.replaceRefBase", &["refs/rep/", ""]),
    ("gitoxide.parsePrecious", &["bad"]),
    ("gitoxide.pathspec.icase", &["bad", "true"]),
    (
        "include.path",
        &[
            "",
            "rel/config",
            "../rel/config",
            "~/config",
            "~nobody.x/a",
            "%(prefix)/nope",
            "$/missing/x",
            "$/w/rel/config",
            "$/w/rel",
        ],
    ),
    ("includeIf.gitdir/i:W/.path", &["$/w/rel/config"]),
    (
        "includeIf.gitdir:$/.path",
        &["../rel/config", "$/w/rel/config"],
    ),
    ("includeIf.gitdir:./sub.path", &["$/w/rel/config"]),
    ("includeIf.gitdir:.path", &["$/w/rel/config"]),
    (
        "includeIf.gitdir:w/.path",
        &["../rel/config", "$/w/rel/config", ""],
    ),
    ("includeIf.gitdir:~/.path", &["$/w/rel/config"]),
    (
        "includeIf.hasconfig:remote.*.url:*.path",
        &["$/w/rel/config"],
    ),
    ("includeIf.nosuch:x.path", &["$/w/rel/config"]),
    ("includeIf.onbranch:m*.path", &["$/w/rel/config"]),
    ("includeIf.onbranch:main.path", &["$/w/rel/config"]),
    ("includeIf.onbranch:x/.path", &["$/w/rel/config"]),
    ("safe.bareRepository", &["explicit", "all", "bad"]),
    ("safe.directory", &["", ".", "*", "/x", "x"]),
    ("tar.tar.gz.command", &["", "cat"]),
    ("tar.tar.x.command", &["", "cat"]),
    ("tar.tar.x.remote", &["", "true", "bad"]),
    ("tar.umask", &["", "user", "0", "077", "bad"]),
    ("transfer.hideRefs", &["refs/"]),
    ("uploadarchive.allowUnreachable", &["bad"]),
    ("user.name", &["", "x"]),
    ("lfs.storage", &["$/missing/x"]),
    ("submodule.recurse", &["true"]),
    ("worktree.guessRemote", &["true"]),
];

/// Where a key is written.
#[derive(Clone, Copy, Debug)]
enum Source {
    Repository,
    RepositoryOfVersion1,
    User,
    CommandLine,
}

const SOURCES: [Source; 4] = [
    Source::Repository,
    Source::RepositoryOfVersion1,
    Source::User,
    Source::CommandLine,
];

/// A file with this key alone. `None` stands for a key without `=`.
fn file(key: &str, value: Option<&str>) -> String {
    let (section, name) = key.rsplit_once('.').expect("a full name");
    let section = match section.split_once('.') {
        Some((section, subsection)) => format!("[{section} \"{subsection}\"]"),
        None => format!("[{section}]"),
    };
    let value = value.map_or_else(String::new, |value| format!(" = \"{value}\""));
    format!("{section}\n\t{name}{value}\n")
}

fn keys_decide_at(place: Place) {
    let world = World::create();
    let top = text(world.0.path());
    let (config, user) = (place.config(), "home/.gitconfig");
    let sound = fs::read_to_string(world.path(config)).expect("git has written it");
    for (key, values) in KEYS {
        if is_new(key) {
            continue;
        }
        let key = key.replace('$', &top);
        let values = values.iter().map(|value| Some(value.replace('$', &top)));
        for value in values.chain([None]) {
            for source in SOURCES {
                let text = file(&key, value.as_deref());
                let mut variable = None;
                match source {
                    Source::Repository => world.write(config, &format!("{sound}{text}")),
                    Source::RepositoryOfVersion1 => {
                        let of_version_1 = sound.replace("version = 0", "version = 1");
                        world.write(config, &format!("{of_version_1}{text}"));
                    }
                    Source::User => world.write(user, &text),
                    Source::CommandLine => {
                        let value = value.as_ref().map(|value| format!("'{value}'"));
                        variable = Some(format!("'{key}'={}", value.unwrap_or_default()));
                    }
                }
                let variables = [("GIT_CONFIG_PARAMETERS", variable.as_deref())];
                // Where a key is written decides what it means, not what a command line asks for.
                let lines = if let Source::Repository = source {
                    &LINES[..]
                } else {
                    &LINES[..1]
                };
                for line in lines.iter().filter(|line| has_to_be_equal(line, &key)) {
                    world.assert_same(line, place, &variables);
                }
                world.write(config, &sound);
                let _ = fs::remove_file(world.path(user));
            }
        }
    }
}

/// Whether both must end in the same way. Versions of git differ in which bad settings end a run that comes to no archive, except
/// those that decide what a repository is.
fn has_to_be_equal(line: &[&str], key: &str) -> bool {
    let of_discovery = ["core.bare", "core.worktree", "core.repositoryFormatVersion"];
    let is_checked = ["core.", "attr.", "extensions.", "user."]
        .iter()
        .any(|it| key.starts_with(it));
    let makes_an_archive = line.contains(&"HEAD") || line.contains(&"main~1");
    makes_an_archive || !is_checked || of_discovery.contains(&key)
}

#[test]
#[ignore = "slow"]
fn in_a_work_tree() {
    keys_decide_at(PLACES[0]);
}

#[test]
#[ignore = "slow"]
fn in_a_sub_directory() {
    keys_decide_at(PLACES[1]);
}

#[test]
#[ignore = "slow"]
fn in_a_bare_repository() {
    keys_decide_at(PLACES[2]);
}
