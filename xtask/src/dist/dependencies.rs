//! What a released program is made of: the licences of all libraries in it, and a list that other programs read (an SBOM, in
//! the JSON of CycloneDX 1.5, <https://cyclonedx.org/docs/1.5/json/>).
//!
//! Both follow from the lock file, the target and the features, so the same release has the same lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::layout::InstalledFile;
use crate::{binary, process};

/// How deep in its folder a library may have the licence of C code that it brings along.
const DEPTH: usize = 3;

/// The path of the list below the prefix.
pub(super) const LIST: &str = "share/doc/git-sluice/git-sluice.cdx.json";

/// The libraries of one program.
pub(super) struct Dependencies {
    /// The packages by their ids, with git-sluice.
    packages: BTreeMap<String, Package>,
    /// The id of git-sluice.
    root: String,
}

struct Package {
    name: String,
    version: String,
    license: Option<String>,
    repository: Option<String>,
    /// The file in the folder of the package.
    manifest: String,
    /// The ids of the packages that it needs.
    needs: BTreeSet<String>,
}

impl Package {
    fn parse(package: &Value) -> Result<Self> {
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        let needed = |key: &str| text(key).with_context(|| format!("a package has no {key}"));
        Ok(Self {
            name: needed("name")?,
            version: needed("version")?,
            // An older notation.
            license: text("license").map(|license| license.replace('/', " OR ")),
            repository: text("repository"),
            manifest: needed("manifest_path")?,
            needs: BTreeSet::new(),
        })
    }

    /// The name of the package for other programs (<https://github.com/package-url/purl-spec>).
    fn url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }

    fn component(&self, kind: &str) -> Value {
        let mut component = json!({
            "type": kind,
            "bom-ref": self.url(),
            "name": self.name,
            "version": self.version,
            "purl": self.url(),
        });
        if let Some(license) = &self.license {
            component["licenses"] = json!([{ "expression": license }]);
        }
        if let Some(repository) = &self.repository {
            component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
        }
        component
    }
}

impl Dependencies {
    /// Those of git-sluice for the target `triple`, with these `features`.
    pub(super) fn find(triple: &str, features: &str) -> Result<Self> {
        let mut cargo = binary::cargo();
        cargo.args(["metadata", "--format-version=1", "--locked"]);
        cargo.arg(format!("--features={features}"));
        cargo.arg(format!("--filter-platform={triple}"));
        let metadata: Value = serde_json::from_str(&process::text(&mut cargo)?)?;
        Self::parse(&metadata)
    }

    /// Those in the answer of `cargo metadata`.
    fn parse(metadata: &Value) -> Result<Self> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let id = |value: &Value| value["id"].as_str().unwrap_or_default().to_owned();
        let known = list(&metadata["packages"]);
        let known: BTreeMap<_, _> = known.iter().map(|package| (id(package), package)).collect();
        let nodes = list(&metadata["resolve"]["nodes"]);
        let nodes: BTreeMap<_, _> = nodes.iter().map(|node| (id(node), node)).collect();
        let is_root = |(_, package): &(&String, &&Value)| package["name"] == "git-sluice";
        let (root, _) = known.iter().find(is_root).context("no git-sluice")?;
        let mut packages = BTreeMap::new();
        let mut open = vec![root.clone()];
        while let Some(id) = open.pop() {
            if packages.contains_key(&id) {
                continue;
            }
            let mut package = Package::parse(known.get(&id).context("an unknown package")?)?;
            for dependency in list(&nodes.get(&id).context("an unknown package")?["deps"]) {
                let needed = dependency["pkg"].as_str().unwrap_or_default();
                if is_linked(&dependency) && !known.get(needed).is_some_and(|it| is_macro(it)) {
                    package.needs.insert(needed.to_owned());
                }
            }
            open.extend(package.needs.iter().cloned());
            packages.insert(id, package);
        }
        Ok(Self {
            packages,
            root: root.clone(),
        })
    }

    /// The libraries, in order of their names.
    fn libraries(&self) -> Vec<&Package> {
        let all = self.packages.iter();
        let libraries = all.filter(|(id, _)| **id != self.root);
        let mut libraries: Vec<_> = libraries.map(|(_, package)| package).collect();
        libraries.sort_by_key(|package| package.url());
        libraries
    }

    /// The files of a release about them.
    pub(super) fn files(&self) -> Result<[InstalledFile; 2]> {
        Ok([
            InstalledFile {
                path: LIST.to_owned(),
                content: serde_json::to_vec_pretty(&self.bill_of_materials())?,
            },
            InstalledFile {
                path: "share/doc/git-sluice/THIRD-PARTY-LICENSES".to_owned(),
                content: self.licenses()?.into_bytes(),
            },
        ])
    }

    fn bill_of_materials(&self) -> Value {
        let components = self.libraries();
        let components = components.iter().map(|it| it.component("library"));
        let needs = |package: &Package| -> Vec<String> {
            let needed = package.needs.iter().filter_map(|id| self.packages.get(id));
            needed.map(Package::url).collect()
        };
        let edges = self.packages.values();
        let edges = edges.map(|it| json!({ "ref": it.url(), "dependsOn": needs(it) }));
        json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": { "component": self.packages[&self.root].component("application") },
            "components": components.collect::<Vec<_>>(),
            "dependencies": edges.collect::<Vec<_>>(),
        })
    }

    /// Each text once, below the libraries that have it.
    fn licenses(&self) -> Result<String> {
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut without = String::new();
        for package in self.libraries() {
            let folder = Path::new(&package.manifest).parent();
            let mut found = Vec::new();
            find_licenses(folder.context("a file is in a folder")?, DEPTH, &mut found)?;
            let name = format!("{} {}", package.name, package.version);
            if found.is_empty() {
                let license = package.license.as_deref().unwrap_or("an unknown license");
                without += &format!("{name}: {license}\n");
            }
            for text in found {
                texts.entry(text).or_default().insert(name.clone());
            }
        }
        let mut all = format!(
            "git-sluice contains the libraries below, the standard library of Rust (MIT OR Apache-2.0) and, if it is \
             static, the C library musl (MIT).\n\nThese bring no text of their license along:\n\n{without}"
        );
        for (text, names) in texts {
            let names: Vec<_> = names.into_iter().collect();
            all += &format!(
                "\n{}\n{}:\n\n{}\n",
                "-".repeat(80),
                names.join(", "),
                text.trim_end()
            );
        }
        Ok(all)
    }
}

/// Whether a `dependency` becomes part of the program: it serves neither a test nor the build.
fn is_linked(dependency: &Value) -> bool {
    let kinds = dependency["dep_kinds"].as_array();
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
}

/// Whether the `package` runs in the compiler only.
fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    let mut kinds = targets
        .filter_map(|target| target["kind"].as_array())
        .flatten();
    kinds.any(|kind| kind == "proc-macro")
}

/// Appends the licences in `folder` to `found`, those in folders below it as well.
fn find_licenses(folder: &Path, depth: usize, found: &mut Vec<String>) -> Result<()> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            if depth > 1 {
                find_licenses(&path, depth - 1, found)?;
            }
        } else if is_license(&path) {
            found.push(String::from_utf8_lossy(&fs::read(&path)?).into_owned());
        }
    }
    Ok(())
}

fn is_license(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_uppercase();
    let is_named = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"]
        .iter()
        .any(|word| name.starts_with(word));
    is_named && !name.ends_with(".RS")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Dependencies;

    fn package(name: &str, kind: &str) -> serde_json::Value {
        json!({
            "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
            "manifest_path": "/nowhere/Cargo.toml", "targets": [{ "kind": [kind] }],
        })
    }

    fn needs(name: &str, kind: Option<&str>) -> serde_json::Value {
        json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] })
    }

    #[test]
    fn only_what_is_linked_is_listed() {
        let libraries = ["git-sluice", "used", "below", "test", "build", "unused"];
        let mut packages: Vec<_> = libraries.map(|name| package(name, "lib")).into();
        packages.push(package("macro", "proc-macro"));
        let all = [
            needs("used", None),
            needs("test", Some("dev")),
            needs("build", Some("build")),
            needs("macro", None),
        ];
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "git-sluice", "deps": all },
                { "id": "used", "deps": [needs("below", None)] },
                { "id": "below", "deps": [] },
                { "id": "unused", "deps": [] },
            ] },
        });
        let found = Dependencies::parse(&metadata).expect("complete");
        let bill = found.bill_of_materials();
        let names = bill["components"].as_array().expect("a list");
        let names: Vec<_> = names.iter().map(|it| it["purl"].as_str()).collect();
        let expected = ["pkg:cargo/below@1.0.0", "pkg:cargo/used@1.0.0"];
        assert_eq!(names, expected.map(Some));
        let license = &bill["components"][0]["licenses"][0]["expression"];
        assert_eq!(license, "MIT OR Apache-2.0");
        assert_eq!(bill["dependencies"][1]["dependsOn"], json!([expected[1]]));
    }
}
