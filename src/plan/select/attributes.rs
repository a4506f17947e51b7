//! Attributes of the archived tree, and what they do to an entry (gitattributes(5)).
//!
//! The files are read from the tree itself on the way down, once a directory, and only where they
//! exist; what cannot change an archive is not even parsed. Precedence as in `git archive`:
//! `info/attributes`, the directory's own file, its parents', the user's, the system's. Matching is
//! gix's; the order of sources is ours, since gix puts `info/attributes` too low.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use gix::{
    attrs::{
        Search, StateRef,
        search::{MetadataCollection, Outcome},
    },
    bstr::{BStr, ByteSlice},
    glob::pattern::Case,
};

use crate::{
    convert::{Crlf, Driver, Encoding, Treatment, is_utf8},
    error::Result,
};

/// The attributes that matter here, in the order in which they are asked for.
const NAMES: [&str; 8] = [
    "export-ignore",
    "export-subst",
    "text",
    "crlf",
    "eol",
    "ident",
    "working-tree-encoding",
    "filter",
];

/// What the configuration says about content.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `core.attributesFile` or its default, after the system's file: lowest precedence first.
    pub files: Vec<PathBuf>,
    /// `$GIT_DIR/info/attributes`
    pub info: PathBuf,
    /// `core.ignoreCase`
    pub ignore_case: bool,
    /// `core.autocrlf`
    pub autocrlf: AutoCrlf,
    /// `core.eol` is `crlf`
    pub eol_crlf: bool,
    /// The filter drivers that do something, by name.
    pub drivers: HashMap<String, Arc<Driver>>,
}

/// `core.autocrlf`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoCrlf {
    /// Off.
    #[default]
    False,
    /// Text gets CRLF.
    True,
    /// Only on the way in.
    Input,
}

/// The attribute files in force at the place where the walk is.
pub struct Attributes {
    settings: Settings,
    collection: MetadataCollection,
    globals: Search,
    dirs: Search,
    info: Search,
    case: Case,
    outcome: Outcome,
    /// A macro is defined somewhere: any name may mean any attribute.
    macros: bool,
    /// Files that matter outside of the tree.
    outside: bool,
    /// Which directories on the way down brought a file that matters.
    levels: Vec<bool>,
}

impl Attributes {
    /// Read the files that lie outside of the tree.
    pub fn new(settings: Settings) -> Self {
        let mut collection = MetadataCollection::default();
        let mut buf = Vec::new();
        let mut outside = false;
        let mut macros = false;
        let mut read = |path: &Path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            macros |= bytes.contains_str("[attr]");
            outside |= matters(&bytes);
            bytes
        };
        let mut globals =
            Search::new_globals(std::iter::empty::<PathBuf>(), &mut buf, &mut collection)
                .unwrap_or_default();
        for path in &settings.files {
            let bytes = read(path);
            globals
                .add_patterns_buffer(&bytes, path.clone(), None, &mut collection, true)
                .ok();
        }
        let mut info = Search::default();
        let bytes = read(&settings.info);
        info.add_patterns_buffer(&bytes, settings.info.clone(), None, &mut collection, true)
            .ok();
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&collection, NAMES);
        let case = if settings.ignore_case {
            Case::Fold
        } else {
            Case::Sensitive
        };
        let (dirs, levels) = (Search::default(), Vec::new());
        Self {
            settings,
            collection,
            globals,
            dirs,
            info,
            case,
            outcome,
            macros,
            outside,
            levels,
        }
    }

    /// Enter `directory` (no slash at its end, empty for the root), which has this attribute file.
    pub fn enter(&mut self, directory: &[u8], file: Option<&[u8]>) {
        let root = directory.is_empty();
        let content = file.unwrap_or_default();
        let content = content.split_str("\0").next().unwrap_or_default();
        self.macros |= root && content.contains_str("[attr]");
        let needed = self.macros && !content.is_empty() || matters(content);
        self.levels.push(needed);
        if !needed {
            return;
        }
        // git does not skip a byte order mark in a tree; a line in front hides it from gix.
        let content = [b"\n", content].concat();
        let source = gix::path::from_bstr(directory.as_bstr())
            .map(|path| path.join(".gitattributes"))
            .unwrap_or_default();
        let (root_dir, collection) = (Some(Path::new("")), &mut self.collection);
        self.dirs
            .add_patterns_buffer(&content, source, root_dir, collection, root)
            .ok();
    }

    /// Enter a directory whose attributes do not count.
    pub fn skip(&mut self) {
        self.levels.push(false);
    }

    /// Leave the directory entered last.
    pub fn leave(&mut self) {
        if self.levels.pop() == Some(true) {
            self.dirs.pop_pattern_list();
        }
    }

    /// Whether any attribute or setting in force may change the archive.
    fn in_force(&self) -> bool {
        self.outside || self.levels.contains(&true) || self.settings.autocrlf == AutoCrlf::True
    }

    /// Whether `path` (without slash at its end) stays out of the archive.
    pub fn ignores(&mut self, path: &[u8], is_dir: bool) -> bool {
        self.in_force() && self.look_up(path, is_dir)[0] == State::Set
    }

    /// What is done to the file at `path`; nothing if it stays out of the archive.
    pub fn treatment(&mut self, path: &[u8]) -> Result<Option<Treatment>> {
        if !self.in_force() {
            return Ok(Some(Treatment::default()));
        }
        let states = self.look_up(path, false);
        Ok((states[0] != State::Set).then(|| self.convert(states)))
    }

    /// What is done to the content of the file at `path`, which is archived.
    pub fn conversion(&mut self, path: &[u8]) -> Result<Treatment> {
        if !self.in_force() {
            return Ok(Treatment::default());
        }
        let states = self.look_up(path, false);
        Ok(self.convert(states))
    }

    fn convert(&self, states: [State; NAMES.len()]) -> Treatment {
        let [_, subst, text, crlf, eol, ident, encoding, filter] = states;
        let text = if text == State::Unspecified {
            crlf
        } else {
            text
        };
        Treatment {
            ident: ident == State::Set,
            crlf: self.line_endings(&text, &eol),
            encoding: match encoding {
                State::Set => Some(Encoding::Invalid),
                State::Value(name) if !name.is_empty() && !is_utf8(&name) => {
                    Some(Encoding::Named(name.into()))
                }
                _ => None,
            },
            filter: match filter {
                State::Value(name) => self.settings.drivers.get(&name).cloned(),
                _ => None,
            },
            substitute: subst == State::Set,
        }
    }

    /// The outcome of `text`, `eol` and the configuration (gitattributes(5), "text", "eol").
    fn line_endings(&self, text: &State, eol: &State) -> Option<Crlf> {
        if *text == State::Unset {
            return None;
        }
        let is = |state: &State, value| matches!(state, State::Value(text) if text == value);
        let auto = is(text, "auto");
        let when = if auto { Crlf::Auto } else { Crlf::Always };
        if is(eol, "crlf") {
            return Some(when);
        }
        if is(eol, "lf") || is(text, "input") {
            return None;
        }
        let autocrlf = self.settings.autocrlf;
        if *text != State::Set && !auto {
            return (autocrlf == AutoCrlf::True).then_some(Crlf::Auto);
        }
        let crlf = match autocrlf {
            AutoCrlf::True => true,
            AutoCrlf::Input => false,
            AutoCrlf::False => self.settings.eol_crlf,
        };
        crlf.then_some(when)
    }

    fn look_up(&mut self, path: &[u8], is_dir: bool) -> [State; NAMES.len()] {
        let path: &BStr = path.as_bstr();
        let outcome = &mut self.outcome;
        outcome.initialize(&self.collection);
        for source in [&self.info, &self.dirs, &self.globals] {
            source.pattern_matching_relative_path(path, self.case, Some(is_dir), outcome);
            if outcome.is_done() {
                break;
            }
        }
        let mut states = outcome
            .iter_selected()
            .map(|found| State::from(found.assignment.state));
        std::array::from_fn(|_| states.next().unwrap_or(State::Unspecified))
    }
}

/// An attribute's state at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Set,
    Unset,
    Value(String),
    Unspecified,
}

impl From<StateRef<'_>> for State {
    fn from(state: StateRef<'_>) -> Self {
        match state {
            StateRef::Set => Self::Set,
            StateRef::Unset => Self::Unset,
            StateRef::Value(value) => Self::Value(value.as_bstr().to_string()),
            StateRef::Unspecified => Self::Unspecified,
        }
    }
}

/// Whether an attribute file speaks of anything that changes an archive.
fn matters(file: &[u8]) -> bool {
    // Macros, built in or not, may stand for any of the names.
    const MACROS: [&str; 2] = ["binary", "[attr]"];
    NAMES
        .iter()
        .chain(&MACROS)
        .any(|word| file.contains_str(word))
}
