//! Looks up the attributes of a path in the files that apply (gitattributes(5)).
//!
//! The caller names the wanted attributes first. Lines that cannot influence a wanted attribute are dropped
//! when their file is read, so a tree without relevant lines costs nothing. The look-up never depends on the
//! meaning of an attribute.

use std::{collections::HashMap, mem, sync::Arc};

use bstr::{BStr, BString};

use super::file::{FileOrigin, Line, Value, parse};
use crate::pattern::{Matcher, Pattern};

/// Git's built-in macro.
const BUILT_IN: &[u8] = b"[attr]binary -diff -merge -text";

/// An attribute: the position of its name in the order of first use.
type Attribute = usize;

type Assignments = Vec<(Attribute, Value)>;

/// A line of a file: its number, from 1, and what it assigns.
type Assigning = (usize, Assignments);

/// The relevant lines of a file.
#[derive(Default)]
struct Rules {
    file: FileName,
    matcher: Matcher<Assigning>,
}

/// Finds the values of the wanted attributes. Clones share the parsed files.
#[derive(Clone)]
pub(super) struct Lookup {
    /// All known attributes; the wanted ones come first.
    names: HashMap<BString, Attribute>,
    wanted: usize,
    fold: bool,
    /// The files outside of the tree as they were read, lowest precedence first, `info/attributes`
    /// last.
    outside: Vec<File>,
    /// The members of each macro: the attributes set along with it.
    macros: HashMap<Attribute, Assignments>,
    /// For each attribute, whether it is wanted or is a macro that sets a wanted attribute.
    relevant: Vec<bool>,
    /// The files with lower precedence than the tree's files.
    globals: Vec<Arc<Rules>>,
    info: Arc<Rules>,
    /// The files of the entered directories; `None` for a directory without relevant lines.
    levels: Vec<Option<Arc<Rules>>>,
    /// The number of files with relevant lines.
    live: usize,
    values: Vec<Option<Value>>,
}

/// A file, as messages name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileName {
    /// The name: a path in the tree, or a path on disk.
    pub name: BString,
    /// Whether the file is in the tree.
    pub in_tree: bool,
}

/// The lines of a file.
#[derive(Clone, Default)]
struct File {
    name: FileName,
    patterns: Vec<(Pattern, Assigning)>,
    macros: Vec<(Attribute, Assignments)>,
}

impl Lookup {
    /// Create a look-up of the attributes `wanted`. `fold` ignores case in paths.
    pub(super) fn new<'a>(wanted: impl IntoIterator<Item = &'a [u8]>, fold: bool) -> Self {
        let mut lookup = Self {
            names: HashMap::new(),
            wanted: 0,
            fold,
            outside: Vec::new(),
            macros: HashMap::new(),
            relevant: Vec::new(),
            globals: Vec::new(),
            info: Arc::default(),
            levels: Vec::new(),
            live: 0,
            values: Vec::new(),
        };
        for name in wanted {
            lookup.intern(name);
        }
        lookup.wanted = lookup.names.len();
        lookup.outside(BUILT_IN, "".into(), &mut Vec::new());
        lookup
    }

    /// The position of the attribute `name`, for [`Lookup::value`].
    pub(super) fn position(&self, name: &[u8]) -> usize {
        self.names.get(name).copied().unwrap_or(usize::MAX)
    }

    /// Add a file outside of the tree. Each file takes precedence over the files added earlier.
    pub(super) fn outside(&mut self, content: &[u8], name: &BStr, complaints: &mut Vec<u8>) {
        let origin = FileOrigin {
            name,
            macros: true,
            in_tree: false,
        };
        let name = FileName {
            name: name.into(),
            in_tree: false,
        };
        let file = self.read(name, parse(content, &origin, complaints));
        self.outside.push(file);
    }

    /// Whether the files outside of the tree have a macro, or a line that may set a wanted attribute. No directory may have
    /// been entered.
    pub(super) fn has_outside_lines(&mut self) -> bool {
        let mut files = self.outside.iter().skip(1);
        let has_macro = files.any(|file| !file.macros.is_empty());
        self.enter(b"", BStr::new(""), Vec::new());
        has_macro || self.is_live()
    }

    /// Enter `directory`, whose attribute file `name` has these lines. The root comes first and completes the set of
    /// macros, which apply to all files.
    pub(super) fn enter(&mut self, directory: &[u8], name: &BStr, lines: Vec<Line<'_>>) {
        let file = FileName {
            name: name.into(),
            in_tree: true,
        };
        let level = if directory.is_empty() {
            let root = self.read(file, lines);
            self.compile_outside(&root);
            self.compile(directory, root)
        } else {
            let relevant = self.keep_relevant(lines);
            Rules {
                file,
                matcher: Matcher::new(directory, self.fold, relevant),
            }
        };
        let matters = !level.matcher.is_empty();
        self.live += usize::from(matters);
        self.levels.push(matters.then(|| Arc::new(level)));
    }

    /// The estimated memory of the entered directories' files in bytes.
    pub(super) fn weight(&self) -> usize {
        let levels = self.levels.iter().flatten();
        levels.map(|level| level.matcher.weight()).sum()
    }

    /// Enter a directory without attributes.
    pub(super) fn skip(&mut self) {
        self.levels.push(None);
    }

    /// Leave the directory entered last.
    pub(super) fn leave(&mut self) {
        let level = self.levels.pop().flatten();
        self.live -= usize::from(level.is_some());
    }

    /// Leave all directories.
    pub(super) fn reset(&mut self) {
        while !self.levels.is_empty() {
            self.leave();
        }
    }

    /// Whether any attribute may have a value.
    pub(super) fn is_live(&self) -> bool {
        self.live > 0
    }

    /// Whether a line that applies or a macro mentions the attribute at `position`. Files further down may use
    /// any macro.
    pub(super) fn mentions(&self, position: usize) -> bool {
        let levels = self.levels.iter().flatten();
        let files = self.globals.iter().chain(levels).chain([&self.info]);
        let mut lines = files
            .flat_map(|file| file.matcher.values().map(|(_, assignments)| assignments))
            .chain(self.macros.values());
        lines.any(|line| line.iter().any(|(attribute, _)| *attribute == position))
    }

    /// Find the values of `path` (without slash at its end), which lies below the directory entered last.
    pub(super) fn look_up(&mut self, path: &[u8], is_dir: bool) {
        self.values.clear();
        self.values.resize(self.relevant.len(), None);
        if self.live == 0 {
            return;
        }
        let by_precedence = by_precedence(&self.info, &self.levels, &self.globals);
        for file in by_precedence.filter(|file| !file.matcher.is_empty()) {
            for (_, assignments) in file.matcher.matching(path, is_dir) {
                assign(&mut self.values, &self.macros, assignments);
            }
        }
    }

    /// The file and the number of the line that decide the attribute at `position` of `path`, as
    /// [`Lookup::look_up`] finds it.
    pub(super) fn origin(
        &self,
        path: &[u8],
        is_dir: bool,
        position: usize,
    ) -> Option<(&FileName, usize)> {
        let mut values = vec![None; self.relevant.len()];
        for file in by_precedence(&self.info, &self.levels, &self.globals) {
            for (line, assignments) in file.matcher.matching(path, is_dir) {
                assign(&mut values, &self.macros, assignments);
                if values[position].is_some() {
                    return Some((&file.file, *line));
                }
            }
        }
        None
    }

    /// The value that [`Lookup::look_up`] found for the attribute at `position`.
    pub(super) fn value(&self, position: usize) -> &Value {
        match self.values.get(position) {
            Some(Some(value)) => value,
            _ => &Value::Unspecified,
        }
    }

    fn intern(&mut self, name: &[u8]) -> Attribute {
        let next = self.names.len();
        match self.names.get(name) {
            Some(&known) => known,
            None => {
                self.names.insert(name.into(), next);
                next
            }
        }
    }

    fn read(&mut self, name: FileName, lines: Vec<Line<'_>>) -> File {
        let mut file = File {
            name,
            ..File::default()
        };
        for line in lines {
            match line {
                Line::Pattern(number, pattern, assignments) => {
                    let assignments = self.intern_all(assignments);
                    file.patterns.push((pattern, (number, assignments)));
                }
                Line::Macro(name, assignments) => {
                    let assignments = self.intern_all(assignments);
                    file.macros.push((self.intern(&name), assignments));
                }
            }
        }
        file
    }

    fn intern_all(&mut self, assignments: Vec<(&[u8], Value)>) -> Assignments {
        let intern = |(name, value)| (self.intern(name), value);
        assignments.into_iter().map(intern).collect()
    }

    /// Collect the macros of all files, `root` included, and compile the files outside of the tree for the
    /// relevant attributes.
    fn compile_outside(&mut self, root: &File) {
        let outside = mem::take(&mut self.outside);
        let (globals, info) = outside.split_at(outside.len() - 1);
        self.macros.clear();
        for file in globals.iter().chain([root]).chain(info) {
            self.macros.extend(file.macros.iter().cloned());
        }
        self.relevant = self.relevance();
        let relevant = &self.relevant;
        for members in self.macros.values_mut() {
            members.retain(|(attribute, _)| relevant[*attribute]);
        }
        let files = globals.iter().chain(info).cloned();
        let compile = |file| Arc::new(self.compile(b"", file));
        let mut files: Vec<_> = files.map(compile).collect();
        self.live = files.iter().filter(|file| !file.matcher.is_empty()).count();
        self.info = files.pop().unwrap_or_default();
        self.globals = files;
        self.outside = outside;
    }

    /// Mark the relevant attributes: the wanted ones, and macros with a relevant member.
    fn relevance(&self) -> Vec<bool> {
        let mut macros_of: HashMap<Attribute, Vec<Attribute>> = HashMap::new();
        for (&name, members) in &self.macros {
            for (member, _) in members {
                macros_of.entry(*member).or_default().push(name);
            }
        }
        let mut relevant = vec![false; self.names.len()];
        let mut pending: Vec<_> = (0..self.wanted).collect();
        while let Some(attribute) = pending.pop() {
            if !mem::replace(&mut relevant[attribute], true) {
                pending.extend(macros_of.get(&attribute).into_iter().flatten());
            }
        }
        relevant
    }

    fn compile(&self, base: &[u8], file: File) -> Rules {
        let mut lines = file.patterns;
        for (_, (_, assignments)) in &mut lines {
            assignments.retain(|(attribute, _)| self.relevant[*attribute]);
        }
        lines.retain(|(_, (_, assignments))| !assignments.is_empty());
        Rules {
            file: file.name,
            matcher: Matcher::new(base, self.fold, lines),
        }
    }

    /// Keep the relevant lines of a file that may not define macros.
    fn keep_relevant(&self, lines: Vec<Line<'_>>) -> Vec<(Pattern, Assigning)> {
        let known = |(name, value)| {
            let attribute = *self.names.get(name)?;
            self.relevant[attribute].then_some((attribute, value))
        };
        let kept = lines.into_iter().filter_map(|line| match line {
            Line::Macro(..) => None,
            Line::Pattern(number, pattern, assignments) => {
                let assignments: Assignments = assignments.into_iter().filter_map(known).collect();
                (!assignments.is_empty()).then_some((pattern, (number, assignments)))
            }
        });
        kept.collect()
    }
}

/// The files that apply, those that decide first in front.
fn by_precedence<'a>(
    info: &'a Rules,
    levels: &'a [Option<Arc<Rules>>],
    globals: &'a [Arc<Rules>],
) -> impl Iterator<Item = &'a Rules> {
    let levels = levels.iter().rev().flatten();
    let below_info = levels.chain(globals.iter().rev()).map(|file| &**file);
    std::iter::once(info).chain(below_info)
}

/// Assign each attribute that has no value yet, the last assignment first. The loop keeps its own stack:
/// macros may nest as deep as a file is long.
fn assign(
    values: &mut [Option<Value>],
    macros: &HashMap<Attribute, Assignments>,
    assignments: &[(Attribute, Value)],
) {
    let mut pending = vec![assignments];
    while let Some(assignments) = pending.pop() {
        let Some(((attribute, value), rest)) = assignments.split_last() else {
            continue;
        };
        pending.push(rest);
        if values[*attribute].is_none() {
            values[*attribute] = Some(value.clone());
            if let Some(members) = macros.get(attribute).filter(|_| *value == Value::Set) {
                pending.push(members);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lookup;
    use crate::attributes::file::{FileOrigin, Value, parse};

    fn lookup(wanted: &[&str], files: &[(&str, &str)], info: &str) -> Lookup {
        let mut lookup = Lookup::new(wanted.iter().map(|name| name.as_bytes()), false);
        lookup.outside(info.as_bytes(), "info".into(), &mut Vec::new());
        for (directory, content) in files {
            let origin = FileOrigin {
                name: "x".into(),
                macros: directory.is_empty(),
                in_tree: true,
            };
            let lines = parse(content.as_bytes(), &origin, &mut Vec::new());
            lookup.enter(directory.as_bytes(), origin.name, lines);
        }
        lookup
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], info: &str, path: &str, expected: &[Value]) {
        let mut lookup = lookup(&["a", "b"], files, info);
        lookup.look_up(path.trim_end_matches('/').as_bytes(), path.ends_with('/'));
        for (position, value) in expected.iter().enumerate() {
            assert_eq!(lookup.value(position), value, "{files:?} {path}");
        }
    }

    #[test]
    fn the_nearest_file_and_the_last_line_win() {
        let (set, unset, none) = (Value::Set, Value::Unset, Value::Unspecified);
        check(
            &[("", "x a\nx -a b")],
            "",
            "x",
            &[unset.clone(), set.clone()],
        );
        check(
            &[("", "x a b"), ("d", "x !a")],
            "",
            "d/x",
            &[none, set.clone()],
        );
        check(
            &[("", "x a"), ("d", "x -a")],
            "x a=i",
            "d/x",
            &[Value::Text("i".into())],
        );
        check(
            &[("", "*.c -a\n*.c.c a\n*c b\nd/e.c b=1\n")],
            "",
            "d/e.c",
            &[unset, Value::Text("1".into())],
        );
        check(
            &[("", "*a.c.c a\n*.c b")],
            "",
            "xa.c.c",
            &[set.clone(), set.clone()],
        );
        check(
            &[("", "x/ a\n"), ("d", "/x b")],
            "",
            "d/x/",
            &[set.clone(), set],
        );
    }

    #[test]
    fn the_line_that_decides_is_known() {
        let files = [("", "[attr]m a\n\nx m\nx b"), ("d", "#\n/x -b")];
        let lookup = lookup(&["a", "b"], &files, "y a");
        for (path, position, origin) in [
            ("d/x", 0, Some(("x", 3))),
            ("d/x", 1, Some(("x", 2))),
            ("d/y", 0, Some(("info", 1))),
            ("d/y", 1, None),
        ] {
            let found = lookup.origin(path.as_bytes(), false, position);
            let found = found.map(|(file, line)| (file.name.to_string(), line));
            assert_eq!(
                found,
                origin.map(|(file, line): (&str, _)| (file.to_owned(), line)),
                "{path}"
            );
        }
    }

    #[test]
    fn macros_count_where_they_end_up_set() {
        let (set, unset, none) = (Value::Set, Value::Unset, Value::Unspecified);
        let m = "[attr]m a -b\n";
        for (lines, a, b) in [
            ("x m", &set, &unset),
            ("x m\nx -m", &none, &none),
            ("x m b", &set, &set),
            ("x b m", &set, &unset),
            ("x m=1", &none, &none),
            ("x n\n[attr]n m b", &set, &set),
        ] {
            check(
                &[("", &format!("{m}{lines}"))],
                "",
                "x",
                &[a.clone(), b.clone()],
            );
        }
        check(
            &[("", ""), ("d", "[attr]m a\nx m")],
            "",
            "d/x",
            &[none.clone(), none],
        );
        check(
            &[("", m), ("d", "x m")],
            "[attr]m b",
            "d/x",
            &[Value::Unspecified, set],
        );
    }

    #[test]
    fn nested_macros_exhaust_no_stack() {
        let count = 50_000;
        let chain: String = (0..count)
            .map(|number| format!("[attr]m{number} m{}\n", number + 1))
            .collect();
        let file = format!("{chain}[attr]m{count} a\nx m0\n");
        check(&[("", &file)], "", "x", &[Value::Set]);
    }

    #[test]
    fn what_is_not_asked_for_costs_nothing() {
        let file = "*.c text diff\n[attr]m text\n* m";
        assert!(!lookup(&["a"], &[("", file)], "* x").is_live());
        let mut lookup = lookup(&["a"], &[("", "* m"), ("d", "* a")], "");
        assert!(lookup.is_live());
        lookup.leave();
        assert!(!lookup.is_live());
    }
}
