//! Which file imports which.

use std::collections::{BTreeMap, BTreeSet};

use super::source::words;

/// The files that each file imports.
pub(super) type Imports = BTreeMap<String, BTreeSet<String>>;

/// The path of a module from the root of its crate, or of an item.
type Path = Vec<String>;

/// A module that is a file.
struct Module {
    file: String,
    used: Vec<Use>,
    /// Other paths that begin in the crate, from its root.
    paths: Vec<Path>,
    /// All other paths, which may begin with a name in scope; single names as well.
    names: BTreeSet<Path>,
}

/// A name that a `use` line brings into scope.
struct Use {
    name: String,
    /// From the root of the crate.
    path: Path,
    is_public: bool,
}

/// The files that each of `sources` imports. Files that the root of the crate does not declare are left out.
pub(super) fn imports(sources: &BTreeMap<String, String>) -> Imports {
    let roots = ["lib.rs", "main.rs"];
    let root = roots.into_iter().find(|root| sources.contains_key(*root));
    let root = root.expect("a crate has a root");
    let root_words = words(&sources[root]);
    let declared: BTreeSet<_> = root_words
        .windows(3)
        .filter(|words| words[0] == "mod" && words[2] == ";")
        .map(|words| words[1].clone())
        .collect();
    let files = sources.iter().filter_map(|(file, text)| {
        let path = if file == root {
            Path::new()
        } else {
            module_path(file)
        };
        let counts = path.first().is_none_or(|top| declared.contains(top));
        let is_test = path.last().is_some_and(|name| name == "tests");
        (counts && !is_test).then_some((path, file, text))
    });
    let files: BTreeMap<_, _> = files
        .map(|(path, file, text)| (path, (file, text)))
        .collect();
    let is_file = |path: &Path| files.contains_key(path);
    let modules = files
        .iter()
        .map(|(path, (file, text))| (path.clone(), module(path, file, &words(text), &is_file)));
    let graph = Graph(modules.collect());
    let modules = graph.0.iter();
    modules
        .map(|(path, module)| (module.file.clone(), graph.imports_of(path, module)))
        .collect()
}

/// The module that the file `name` is.
fn module_path(name: &str) -> Path {
    let name = name.strip_suffix(".rs").unwrap_or(name);
    let name = name.strip_suffix("/mod").unwrap_or(name);
    name.split('/').map(str::to_owned).collect()
}

fn module(path: &Path, file: &str, words: &[String], is_file: &dyn Fn(&Path) -> bool) -> Module {
    let mut module = Module {
        file: file.to_owned(),
        used: Vec::new(),
        paths: Vec::new(),
        names: BTreeSet::new(),
    };
    // The modules inside of the file that are open, with the depth of braces at which each closes.
    let mut inner: Vec<(String, usize)> = Vec::new();
    let (mut depth, mut at) = (0, 0);
    while at < words.len() {
        let here: Path = path
            .iter()
            .chain(inner.iter().map(|(name, _)| name))
            .cloned()
            .collect();
        match &words[at][..] {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inner.pop_if(|(_, outer)| *outer == depth);
            }
            "mod" if words.get(at + 2).is_some_and(|word| word == "{") => {
                inner.push((words[at + 1].clone(), depth));
                at += 1;
            }
            "use" if words[at + 1] != "<" => {
                let end = words[at..].iter().position(|word| word == ";");
                let end = at + end.unwrap_or(words.len() - at);
                let is_public = at > 0 && (words[at - 1] == "pub" || words[at - 1] == ")");
                let mut tree = &words[at + 1..end];
                for (name, used) in use_tree(&mut tree, &Path::new()) {
                    if let Some(path) = absolute(&used, &here, is_file) {
                        module.used.push(Use {
                            name,
                            path,
                            is_public,
                        });
                    }
                }
                at = end;
            }
            first if is_name(first) && (at == 0 || words[at - 1] != "::") => {
                let mut names = vec![first.to_owned()];
                while words.get(at + 1).is_some_and(|word| word == "::")
                    && words.get(at + 2).is_some_and(|word| is_name(word))
                {
                    names.push(words[at + 2].clone());
                    at += 2;
                }
                match absolute(&names, &here, is_file) {
                    Some(path) if names.len() > 1 => module.paths.push(path),
                    _ => {
                        module.names.insert(names);
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    module
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The paths of a use tree behind `prefix`, by the names that they bring into scope.
fn use_tree(words: &mut &[String], prefix: &Path) -> Vec<(String, Path)> {
    let mut path = prefix.clone();
    let mut found = Vec::new();
    while let Some((word, rest)) = words.split_first() {
        match &word[..] {
            "," | "}" => break,
            "::" => *words = rest,
            "{" => {
                *words = rest;
                while words.first().is_some_and(|word| word != "}") {
                    found.extend(use_tree(words, &path));
                    *words = words.strip_prefix(&[",".to_owned()]).unwrap_or(words);
                }
                *words = words.get(1..).unwrap_or_default();
                return found;
            }
            "as" => {
                let name = rest[0].clone();
                *words = &rest[1..];
                return vec![(name, path)];
            }
            "self" if !path.is_empty() => *words = rest,
            _ => {
                path.push(word.clone());
                *words = rest;
            }
        }
    }
    let name = path.last().cloned().unwrap_or_default();
    found.push((name, path));
    found
}

/// `path` from the root of the crate, if it begins in the crate; it is written in the module `here`.
fn absolute(path: &Path, here: &Path, is_file: &dyn Fn(&Path) -> bool) -> Option<Path> {
    let (first, rest) = path.split_first()?;
    let (mut base, mut rest) = match &first[..] {
        "crate" => (Path::new(), rest),
        "self" => (here.clone(), rest),
        "super" => (here[..here.len().checked_sub(1)?].to_vec(), rest),
        _ => {
            let child: Path = here.iter().chain([first]).cloned().collect();
            return is_file(&child).then(|| child.iter().chain(rest).cloned().collect());
        }
    };
    while let Some((first, behind)) = rest.split_first()
        && first == "super"
    {
        base.pop();
        rest = behind;
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// All modules of a crate, by their paths.
struct Graph(BTreeMap<Path, Module>);

impl Graph {
    fn imports_of(&self, path: &Path, module: &Module) -> BTreeSet<String> {
        // A re-export is no import.
        let private = module.used.iter().filter(|used| !used.is_public);
        let mut targets: Vec<Path> = private.map(|used| used.path.clone()).collect();
        targets.extend(module.paths.iter().cloned());
        for names in &module.names {
            let used = module.used.iter().filter(|used| used.name == names[0]);
            targets.extend(used.map(|used| [&used.path, &names[1..]].concat()));
        }
        let targets = targets
            .iter()
            .filter_map(|target| self.definition(target, 0));
        targets
            .filter(|target| *target != path)
            .map(|target| self.0[target].file.clone())
            .collect()
    }

    /// The module that defines the item `path`. Nothing if `path` is a module, or not of this crate: a module
    /// that is named is imported by the items that are named through it.
    fn definition(&self, path: &[String], followed: usize) -> Option<&Path> {
        // Longer chains of re-exports lead nowhere.
        const MAX_FOLLOWED: usize = 8;
        if followed > MAX_FOLLOWED || self.0.contains_key(path) {
            return None;
        }
        let lengths = (0..path.len()).rev();
        let (module, rest) = lengths
            .map(|length| path.split_at(length))
            .find(|(module, _)| self.0.contains_key(*module))?;
        let (key, found) = self.0.get_key_value(module)?;
        let re_export = found.used.iter().find(|used| used.name == rest[0]);
        match re_export {
            Some(used) => {
                let path: Path = used.path.iter().chain(&rest[1..]).cloned().collect();
                self.definition(&path, followed + 1)
            }
            None => Some(key),
        }
    }
}
