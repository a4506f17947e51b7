//! Manual pages: what each says about its command, and that nothing in them leads nowhere.

use std::{fs, path::Path};

use sluice_cli::CommandName;
use sluice_core::request::KEYS;

use crate::{
    commands::{COMMANDS, options, text},
    support::Repo,
};

/// The address of the documentation.
const PAGES: &str = "https://github.com/git-sluice/git-sluice/blob/main/";

/// The page about `command`, without the marks of a manual page.
fn page(command: &str) -> String {
    let page = text(&["manual", command]).replace("\\-", "-");
    let page = page.replace("\\*(Aq", "'").replace("\\&", "");
    page.replace("\\fB", "").replace("\\fR", "")
}

/// The lines of a section of the page about `command`. Empty if it has no such section.
fn section(command: &str, title: &str) -> Vec<String> {
    let page = page(command);
    let head = |line: &str| {
        line.strip_prefix(".SH ")
            .map(|it| it.trim_matches('"') == title)
    };
    let lines = page.lines().skip_while(|line| head(line) != Some(true));
    let lines = lines.skip(1).take_while(|line| !line.starts_with(".SH "));
    lines.map(ToOwned::to_owned).collect()
}

/// The terms of a section, which may be several in one line.
fn terms(command: &str, title: &str) -> Vec<String> {
    let lines = section(command, title);
    let terms = lines.windows(2).filter(|pair| pair[0] == ".TP");
    let terms = terms.flat_map(|pair| {
        pair[1]
            .split(", ")
            .map(ToOwned::to_owned)
            .collect::<Vec<_>>()
    });
    terms.collect()
}

#[test]
fn the_name_is_about_the_command() {
    for command in CommandName::all().skip(1) {
        let name = command.as_str();
        let line = format!("git-sluice-{name} - {}", command.about());
        assert_eq!(section(name, "NAME")[0], line);
    }
}

/// A reader of an installed page has no file of the source, and no pages that are not installed.
#[test]
fn nothing_leads_nowhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let layout =
        fs::read_to_string(root.join("xtask/src/layout.rs")).expect("a file of the source");
    for command in COMMANDS {
        let page = page(command);
        let (_, address) = page.split_once(PAGES).expect(command);
        let file = address.lines().next().expect("a line");
        assert!(root.join(file).is_file(), "{command}: {file}");
        let own = page.replace(PAGES, "").replace(file, "");
        for folder in ["docs/", "schema/"] {
            assert!(!own.contains(folder), "{command} refers to {folder}");
        }
        let others = section(command, "SEE ALSO").join(" ");
        let others = others
            .split(['(', ')', ' ', ','])
            .filter(|it| it.starts_with("git-sluice"));
        let mut others = others.peekable();
        assert!(others.peek().is_some(), "{command}");
        for other in others {
            let name = other.strip_prefix("git-sluice-");
            let is_installed =
                name.is_none_or(|name| layout.contains(&format!("    \"{name}\",\n")));
            assert!(is_installed, "{command}: {other}");
            assert_ne!(other, format!("git-sluice-{command}"));
        }
    }
}

/// Each key is in the pages of the commands that archive, for users and for clients of a server.
#[test]
fn all_keys_are_explained() {
    for command in ["archive", "batch", "upload-archive"] {
        let terms = terms(command, "CONFIGURATION");
        for key in KEYS
            .into_iter()
            .chain(["sluice.<url prefix>.submodulePath"])
        {
            assert!(terms.iter().any(|term| term == key), "{command}: {key}");
        }
    }
}

/// A command that a bad value ends has read the key, so its page explains the key. The keys of the cache are explained with its
/// options.
#[test]
fn keys_are_explained_where_they_act() {
    let repo = Repo::copy("basic");
    repo.script("git archive -o ../a.tar HEAD");
    for (command, words) in [
        ("ls", "ls --format=tar.gz HEAD"),
        ("info", "info --format=tar.gz HEAD"),
        ("compare", "compare ../a.tar HEAD"),
        ("publish", "publish --create ../bucket/main HEAD"),
    ] {
        let terms = terms(command, "CONFIGURATION");
        let has_cache = options(command).iter().any(|option| option == "--cache");
        for key in KEYS {
            let bad = format!("{key}=./bad");
            let output = repo.clone().with(["-c", &bad]).sluice(words.split(' '));
            let messages = output.messages().to_lowercase();
            let reads_it = messages.contains(&key.to_lowercase());
            let is_explained = terms.iter().any(|term| term == key);
            let is_expected = reads_it && (has_cache || !key.starts_with("sluice.cache"));
            assert!(!is_expected || is_explained, "{command}: {key}\n{output}");
        }
    }
}

/// Each variable of the documentation is in the pages of the commands that it acts on.
#[test]
fn variables_are_explained_where_they_act() {
    for (variable, commands) in [
        (
            "GIT_SLUICE_CACHE",
            &["archive", "info", "upload-archive", "batch"][..],
        ),
        ("GIT_SLUICE_LOG", &["archive", "upload-archive", "batch"]),
        (
            "GIT_NO_LAZY_FETCH",
            &["archive", "missing", "compare", "publish", "upload-archive"],
        ),
        ("TMPDIR", &["archive", "upload-archive", "batch"]),
        ("REAL_GIT", &["stand-in"]),
        ("AWS_ENDPOINT_URL", &["apply", "publish", "prune"]),
    ] {
        for command in commands {
            let terms = terms(command, "ENVIRONMENT");
            assert!(
                terms.iter().any(|term| term == variable),
                "{command}: {variable}"
            );
        }
    }
}

/// Only commands that compress have levels, and their pages have the ranges.
#[test]
fn levels_have_ranges() {
    for command in COMMANDS {
        let level = section(command, "COMPRESSION LEVEL").join(" ");
        let compresses = ["archive", "ls", "explain", "info", "missing", "publish"];
        assert_eq!(
            !level.is_empty(),
            compresses.contains(&command),
            "{command}"
        );
        let has_ranges = level.contains("0 to 9") && level.contains("1 to 19");
        assert!(level.is_empty() || has_ranges, "{command}: {level}");
    }
}
