//! The names of submodules by `.gitmodules` of the archived tree (gitmodules(5)).
//!
//! The file is part of the tree, so nothing in it is trusted: git's rules for names and paths hold. What a URL means is not known here.

use std::{
    collections::{HashMap, HashSet},
    io::Write,
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use crate::{
    config::syntax::{self, BadLine},
    objects::{reader::Reader, wanted::Role},
    tree::file_at,
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, format_bytes, push_line},
};

/// The name of the file.
const NAME: &[u8] = b".gitmodules";
/// A larger file is refused, in bytes.
const MAX_LEN: u64 = 16 << 20;

/// The names of the submodules of one tree, by path in the tree.
#[derive(Debug, Default)]
pub struct Gitmodules {
    by_path: HashMap<BString, BString>,
    names: HashSet<BString>,
    urls: HashMap<BString, BString>,
}

impl Gitmodules {
    /// Reads the file of the tree `root`. A tree without the file names no submodule. Warnings go to `diagnostics`.
    /// `None` if the file is noted as missing.
    pub fn read(
        reader: &mut Reader,
        root: ObjectId,
        diagnostics: &mut dyn Write,
    ) -> Result<Option<Self>> {
        let Some(id) = file_at(reader, root, root.kind(), b"", NAME)? else {
            return Ok(Some(Self::default()));
        };
        let unread = || Error::fatal(format!("cannot read .gitmodules of tree {root}"));
        let mut text = Buffer::default();
        let stored = reader.odb.config().replaced(&id)?;
        if reader.notes_missing() && reader.odb.find(&stored).is_none() {
            reader.note_missing(&id, || Role::Rules(NAME.into()));
            return Ok(None);
        }
        let len = reader.read_to_end(&id, MAX_LEN, &mut text);
        if len.map_err(|failure| failure.explain(unread()))? >= MAX_LEN {
            return Err(unread().caused_by("the file has 16 MiB or more"));
        }
        Self::parse(&text, id, diagnostics).map(Some)
    }

    /// Parses the `text` of the blob `id`. Warnings go to `diagnostics`.
    pub fn parse(text: &[u8], id: ObjectId, diagnostics: &mut dyn Write) -> Result<Self> {
        let variables = syntax::parse(text, None).map_err(|BadLine(line)| {
            Error::fatal(format!("bad config line {line} in blob {id}"))
        })?;
        let mut known = Self::default();
        let mut warnings = Vec::new();
        let mut suspicious = None;
        for variable in &variables {
            let Some((Some(name), key)) = variable.in_section("submodule") else {
                continue;
            };
            if is_suspicious(name) {
                // Once for all lines of the section.
                if suspicious.replace(name) != Some(name) {
                    let warning = format_bytes("ignoring suspicious submodule name: {}", &[name]);
                    push_line(&mut warnings, "warning: ", &warning);
                }
                continue;
            }
            match (key.as_bytes(), &variable.value) {
                (b"path", Some(path)) => known.add(name, path.as_bstr(), &mut warnings),
                // As in git, the first URL of a name counts.
                (b"url", Some(url)) => {
                    known.urls.entry(name.into()).or_insert_with(|| url.clone());
                }
                _ => {}
            }
        }
        let _ = diagnostics.write_all(&warnings);
        Ok(known)
    }

    /// Adds the submodule `name` at `path`. As in git, the first path of a name counts, and the last name of a path.
    fn add(&mut self, name: &BStr, path: &BStr, warnings: &mut Vec<u8>) {
        if path.starts_with(b"-") {
            let template = "ignoring 'submodule.{}.path' which may be interpreted as a command-line option: {}";
            push_line(
                warnings,
                "warning: ",
                &format_bytes(template, &[name, path]),
            );
            return;
        }
        if self.names.insert(name.into()) {
            self.by_path.insert(path.into(), name.into());
        }
    }

    /// The name of the submodule at `path`.
    pub fn name(&self, path: &[u8]) -> Option<&BStr> {
        self.by_path.get(path).map(|name| name.as_bstr())
    }

    /// The URL of the submodule `name`.
    pub fn url(&self, name: &BStr) -> Option<&BStr> {
        self.urls.get(name).map(|url| url.as_bstr())
    }

    /// Whether `word` is the name or the path of a submodule, or a path below one.
    pub fn knows(&self, word: &[u8]) -> bool {
        let is_below = |path: &BString| {
            let rest = word.strip_prefix(&path[..]);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.names.contains(word) || self.by_path.keys().any(is_below)
    }
}

/// Whether a directory of this `name` may be outside of that of all submodules: git's `check_submodule_name`.
fn is_suspicious(name: &BStr) -> bool {
    let mut parts = name.split(|byte| matches!(byte, b'/' | b'\\'));
    name.is_empty() || parts.any(|part| part == b"..")
}

#[cfg(test)]
mod tests {
    use gix_hash::{Kind, ObjectId};

    use super::Gitmodules;

    fn parse(text: &str) -> (Result<Gitmodules, String>, String) {
        let mut warnings = Vec::new();
        let id = ObjectId::null(Kind::Sha1);
        let parsed = Gitmodules::parse(text.as_bytes(), id, &mut warnings);
        let warnings = String::from_utf8(warnings).expect("warnings are text");
        (parsed.map_err(|error| error.to_string()), warnings)
    }

    #[test]
    fn paths_lead_to_names() {
        let (modules, warnings) = parse(
            "[submodule \"lib\"]\n\tpath = deps/lib\n\turl = ../x\n[submodule \"other\"]\npath=o\n",
        );
        let modules = modules.expect("a sound file");
        assert_eq!(modules.name(b"deps/lib").expect("known"), "lib");
        assert_eq!(modules.name(b"o").expect("known"), "other");
        assert!(modules.name(b"deps").is_none() && warnings.is_empty());
        assert!(modules.knows(b"lib") && modules.knows(b"o") && modules.knows(b"o/inner"));
        assert!(!modules.knows(b"deps") && !modules.knows(b"oo"));
    }

    #[test]
    fn names_that_lead_elsewhere_are_ignored() {
        for name in [
            "../../evil",
            "..",
            "a/../b",
            r"a\\..\\b",
            "",
            "x/../../../lib/.git",
            r"..\\lib",
        ] {
            let (modules, warnings) = parse(&format!("[submodule \"{name}\"]\npath = lib\n"));
            assert!(
                modules.expect("a sound file").name(b"lib").is_none(),
                "{name}"
            );
            assert!(
                warnings.starts_with("warning: ignoring suspicious submodule name"),
                "{warnings}"
            );
        }
        let (modules, _) = parse("[submodule \"a..b/...\"]\npath = lib\n");
        assert!(modules.expect("a sound file").name(b"lib").is_some());
    }

    #[test]
    fn paths_that_look_like_options_are_ignored() {
        let (modules, warnings) = parse("[submodule \"ok\"]\npath = -b\n");
        assert!(modules.expect("a sound file").name(b"-b").is_none());
        let warning = "warning: ignoring 'submodule.ok.path' which may be interpreted as a \
            command-line option: -b\n";
        assert_eq!(warnings, warning);
    }

    #[test]
    fn the_first_path_and_the_last_name_count() {
        let text = "[submodule \"a\"]\npath = one\npath = two\n[submodule \"b\"]\npath = one\n";
        let modules = parse(text).0.expect("a sound file");
        assert_eq!(modules.name(b"one").expect("known"), "b");
        assert!(modules.name(b"two").is_none());
        // Names differ in case.
        let text = "[submodule \"A\"]\npath = l\n[submodule \"a\"]\npath = l\n[submodule \"A\"]\npath = o\n";
        let modules = parse(text).0.expect("a sound file");
        assert_eq!(modules.name(b"l").expect("known"), "a");
        assert!(modules.name(b"o").is_none());
    }

    #[test]
    fn bad_lines_end_the_run() {
        let error = parse("[submodule \"a\"]\n[nonsense\n")
            .0
            .expect_err("a bad line");
        let expected = format!(
            "fatal: bad config line 2 in blob {}",
            ObjectId::null(Kind::Sha1)
        );
        assert_eq!(error, expected);
    }
}
