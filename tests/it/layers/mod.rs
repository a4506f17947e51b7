//! The order of the folders in the crate doc, and files that import each other.
//!
//! A file imports another if it names an item of the other: in a `use` line, or by a path through `crate`,
//! `super`, `self` or a module in scope. A name is followed through re-exports to the file that defines it. So a
//! `mod.rs` that only re-exports imports nothing, and hides no import either. Beyond that, a parent and its
//! children are files like all others: an item that both need stands in a file of its own. Tests do not count.

mod imports;
mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use imports::{Imports, imports};

/// The sources below the folder `root` of the package, by their paths from there.
fn sources(root: &str) -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
    let mut sources = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
                sources.insert(name.to_owned(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    sources
}

/// The files that import each other, with those of their imports that close a circle.
fn circles(mut imports: Imports) -> Imports {
    loop {
        let before = imports.len();
        let imported: BTreeSet<_> = imports.values().flatten().cloned().collect();
        imports.retain(|file, targets| imported.contains(file) && !targets.is_empty());
        let files: BTreeSet<_> = imports.keys().cloned().collect();
        for targets in imports.values_mut() {
            targets.retain(|target| files.contains(target));
        }
        if imports.len() == before {
            return imports;
        }
    }
}

/// The folders in the order of the table in the crate doc: each may import those after it.
fn folders(crate_doc: &str) -> Vec<String> {
    let rows = crate_doc.lines().filter_map(|line| {
        let link = line.strip_prefix("//! | [`")?.split_once("`]")?.0;
        // As a macro of the same name exists, the link to a folder may say that it is a module.
        Some(link.strip_prefix("mod@").unwrap_or(link).to_owned())
    });
    rows.collect()
}

/// The folder that a file belongs to.
fn top(file: &str) -> &str {
    let name = file.split('/').next().unwrap_or(file);
    name.strip_suffix(".rs").unwrap_or(name)
}

#[test]
fn no_file_imports_one_that_imports_it() {
    for root in [
        "src",
        "crates/deflate/src",
        "crates/inflate/src",
        "xtask/src",
    ] {
        let circles = circles(imports(&sources(root)));
        assert!(circles.is_empty(), "circles in {root}: {circles:#?}");
    }
}

#[test]
fn imports_go_down_the_folders_of_the_crate_doc() {
    let sources = sources("src");
    let folders = folders(&sources["lib.rs"]);
    let position = |file: &str| folders.iter().position(|folder| folder == top(file));
    let mut upwards = Vec::new();
    for (file, targets) in imports(&sources) {
        if file == "lib.rs" {
            continue;
        }
        let from = position(&file);
        assert!(
            from.is_some(),
            "the crate doc does not list the folder of {file}"
        );
        let above = targets.iter().filter(|target| position(target) < from);
        upwards.extend(above.map(|target| format!("{file} imports {target}")));
    }
    assert!(
        upwards.is_empty(),
        "against the order of folders: {upwards:#?}"
    );
}

#[test]
fn circles_are_found_through_names_paths_and_re_exports() {
    let sources = |files: &[(&str, &str)]| {
        let files = files.iter();
        files
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect()
    };
    let found = |files: &[(&str, &str)]| {
        let mut all = vec![("lib.rs", "pub mod a;\nmod b;\n")];
        all.extend(files);
        circles(imports(&sources(&all)))
            .into_keys()
            .collect::<Vec<_>>()
    };
    let parent = ("a/mod.rs", "mod x;\nmod y;\npub use x::X;\n");
    // By a re-export, and by a path in the middle of an expression.
    assert_eq!(
        found(&[
            parent,
            ("a/x.rs", "pub struct X;\nfn f() { crate::b::g(\"//\") }\n"),
            ("a/y.rs", ""),
            ("b.rs", "use crate::a::X;\npub fn g(_: X) {}\n"),
        ]),
        ["a/x.rs", "b.rs"]
    );
    // The parent re-exports and uses nothing; tests and comments do not count.
    assert!(
        found(&[
            parent,
            ("a/x.rs", "// super::y::Y\npub struct X;\n#[cfg(test)]\nmod tests { use super::super::y::Y; }\n"),
            ("a/y.rs", "use super::X;\npub struct Y(X, char = '\"');\n"),
            ("b.rs", "use crate::{a::{self, X}};\nfn f(_: a::X) {}\n"),
        ])
        .is_empty()
    );
    // A child names an item of its parent, and the parent one of the child.
    assert_eq!(
        found(&[
            ("a/mod.rs", "mod x;\npub struct A(x::X);\n"),
            ("a/x.rs", "pub struct X(Option<Box<super::A>>);\n"),
            ("b.rs", ""),
        ]),
        ["a/mod.rs", "a/x.rs"]
    );
}
