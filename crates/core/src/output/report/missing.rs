//! The list of what a repository lacks of an archive: a header, a line for everything that is missing, and a last line
//! that proves that the list was not cut short.

use std::io::Write;

use bstr::BString;
use serde::Serialize;

use super::{Subject, json::ObjectLine, json_line};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
};
use sluice_git::objects::wanted::{Missing, Role};

/// Counts changes that a reader must know of; see `schema/missing.schema.json`.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct MissingHeader<'a> {
    missing: u32,
    #[serde(flatten)]
    subject: Option<&'a Subject>,
}

/// The last line, filled in as the list grows.
#[derive(Serialize)]
struct End {
    end: bool,
    objects: u64,
    lfs_objects: u64,
    submodules: u64,
    /// Whether nothing is missing that decides about what else the archive needs.
    complete: bool,
}

/// A list in progress.
pub struct MissingList<'a> {
    out: &'a mut dyn Write,
    end: End,
}

impl<'a> MissingList<'a> {
    /// Writes the header to `out`. The `subject` may be among the missing.
    pub fn begin(out: &'a mut dyn Write, subject: Option<&Subject>) -> Result<Self> {
        let missing = VERSION;
        json_line(&MissingHeader { missing, subject }, out)?;
        let end = End {
            end: true,
            objects: 0,
            lfs_objects: 0,
            submodules: 0,
            complete: true,
        };
        Ok(Self { out, end })
    }

    /// Writes the lines of all that is `missing`.
    pub fn add(&mut self, missing: &[Missing]) -> Result<()> {
        let mut text = Buffer::default();
        for missing in missing {
            let is_known = matches!(missing.role, Role::File(_) | Role::LfsObject { .. });
            self.end.complete &= is_known;
            match &missing.role {
                Role::Submodule { path, name } => {
                    self.end.submodules += 1;
                    submodule(missing, path, name.as_ref(), &mut text);
                }
                Role::LfsObject { size, .. } => {
                    self.end.lfs_objects += 1;
                    lfs_object(missing, *size, &mut text);
                }
                role => {
                    self.end.objects += 1;
                    object(missing, role, &mut text);
                }
            }
        }
        let written = self.out.write_all(&text);
        written.map_err(|error| Error::write(&error))
    }

    /// Something is missing that must not be named.
    pub fn hide(&mut self) {
        self.end.complete = false;
    }

    /// Writes the last line. Returns whether nothing is missing.
    pub fn end(self) -> Result<bool> {
        json_line(&self.end, self.out)?;
        Ok(self.end.complete && self.end.objects == 0 && self.end.lfs_objects == 0)
    }
}

/// Appends the line of a missing object.
fn object(missing: &Missing, role: &Role, out: &mut Buffer) {
    let (kind, role_name) = match role {
        Role::Tree(_) => (Some("tree"), "tree"),
        Role::Rules(_) => (Some("blob"), "rules"),
        Role::File(_) => (Some("blob"), "file"),
        _ => (None, "revision"),
    };
    let mut line = begin("object", out);
    line.id("id", missing.id.as_slice());
    if let Some(kind) = kind {
        line.word("type", kind);
    }
    line.word("role", role_name);
    if let Some(path) = missing.path() {
        line.text("path", &path);
    }
    end(missing, line);
}

/// Appends the line of a missing LFS object of `size` bytes.
fn lfs_object(missing: &Missing, size: u64, out: &mut Buffer) {
    let mut line = begin("lfs", out);
    line.id("oid", missing.id.as_slice());
    line.number("size", size);
    if let Some(path) = missing.path() {
        line.text("path", &path);
    }
    end(missing, line);
}

/// Appends the line of a missing submodule.
fn submodule(missing: &Missing, path: &BString, name: Option<&BString>, out: &mut Buffer) {
    let mut line = begin("submodule", out);
    line.text("path", &missing.path().unwrap_or_else(|| path.clone()));
    if let Some(name) = name {
        line.text("name", name);
    }
    line.id("commit", missing.id.as_slice());
    end(missing, line);
}

fn begin<'a>(kind: &str, out: &'a mut Buffer) -> ObjectLine<'a> {
    let mut line = ObjectLine::new(out);
    line.word("kind", kind);
    line
}

/// Ends a line with the submodule that it belongs to.
fn end(missing: &Missing, mut line: ObjectLine<'_>) {
    if !missing.submodule.is_empty() {
        line.text("submodule", &missing.submodule);
    }
    line.end();
}
