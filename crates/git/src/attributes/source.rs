//! Reads the attribute files of directories from the archived tree, the work tree or another tree.
//!
//! An attribute file that exists and cannot be read ends the run: otherwise the archive would contain the
//! paths that the file excludes.

use std::{
    ffi::OsStr,
    fs::OpenOptions,
    io::{ErrorKind, Read},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use bstr::BStr;
use gix_hash::ObjectId;
use rustix::fs::OFlags;

use super::file::MAX_FILE;
use crate::{
    objects::{Failure, reader::Reader, wanted::Role},
    tree::file_at,
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, format_bytes, push_line, strerror},
};

/// The permission that makes a file executable to git.
const OWNER_EXECUTES: u32 = 0o100;
/// The name of attribute files.
pub const NAME: &[u8] = b".gitattributes";

/// The place of the directories' `.gitattributes`.
#[derive(Clone, Debug, Default)]
pub enum AttributeSource {
    /// The archived tree.
    #[default]
    Archived,
    /// Another tree.
    Tree(ObjectId),
    /// The work tree at this directory.
    WorkTree(PathBuf),
    /// No place: attributes of a work tree are wanted, and there is none.
    Nowhere,
    /// A tree that the user named and that does not exist.
    Unknown,
}

/// Whether a symbolic link may be an attribute file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// A link may be an attribute file.
    Followed,
    /// A link is refused with a warning.
    Refused,
}

/// The content of an attribute file; empty for a missing file.
#[derive(Debug, Default)]
pub struct FileContent {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The file is an object of a tree.
    pub in_tree: bool,
    /// The repository lacks the object.
    pub is_missing: bool,
    /// Git's warning about a file that git does not read.
    pub complaint: Vec<u8>,
}

impl AttributeSource {
    /// Read the attribute file `name` of `directory`. `find` looks the file up in the archived tree.
    pub fn read(
        &self,
        reader: &mut Reader,
        directory: &[u8],
        name: &BStr,
        find: impl FnOnce(&mut Reader) -> Result<Option<ObjectId>>,
    ) -> Result<FileContent> {
        let id = match self {
            Self::Archived => find(reader)?,
            Self::Tree(tree) => file_at(reader, *tree, tree.kind(), directory, NAME)?,
            Self::WorkTree(top) => {
                let path = top.join(OsStr::from_bytes(name));
                return read_file(&path, name, Links::Refused);
            }
            Self::Nowhere => None,
            Self::Unknown => return Err(Error::fatal("bad --attr-source or GIT_ATTR_SOURCE")),
        };
        id.map_or_else(
            || Ok(FileContent::default()),
            |id| read_blob(reader, id, name),
        )
    }
}

fn read_blob(reader: &mut Reader, id: ObjectId, name: &BStr) -> Result<FileContent> {
    let mut bytes = Buffer::default();
    let mut content = FileContent {
        in_tree: true,
        ..FileContent::default()
    };
    let size = match reader.read(&id, &mut bytes) {
        Ok(Some(_)) => Ok(bytes.len() as u64),
        // As in git, a missing attribute file is empty; an inaccessible one is not missing.
        Ok(None) => {
            reader.note_missing(&id, || Role::Rules(name.to_owned()));
            content.is_missing = true;
            reader.odb.refusal().map_or(Ok(0), Err)
        }
        // A damaged header may claim any size.
        Err(Failure::TooLarge) => reader
            .read_to_end(&id, MAX_FILE, &mut bytes)
            .map_err(|failure| unreadable(name, failure)),
        Err(Failure::Refused(error)) => Err(error),
        Err(failure) => Err(unreadable(name, failure)),
    }?;
    if size >= MAX_FILE {
        content.complain("ignoring overly large gitattributes blob '{}'", &[name])
    } else {
        content.bytes = bytes.to_vec()
    }
    Ok(content)
}

fn unreadable(name: &BStr, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::fatal(format_bytes("cannot read attribute file '{}'", &[name])).caused_by(cause)
}

/// The failure that the repository lacks the file.
pub(super) fn missing(name: &BStr) -> Error {
    let hint = "in a partial clone, 'git cat-file -p <tree-ish>:{}' fetches it, and --no-attributes works without it";
    unreadable(name, Failure::Absent).hinted(format_bytes(hint, &[name]))
}

/// Read the file at `path`. Messages call the file `name`.
pub(super) fn read_file(path: &Path, name: &BStr, links: Links) -> Result<FileContent> {
    let mut content = FileContent::default();
    let mut options = OpenOptions::new();
    if links == Links::Refused {
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    }
    let file = match options.read(true).open(path) {
        Ok(file) => file,
        Err(error) => {
            if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                let why = strerror(&error);
                content.complain("unable to access '{}': {}", &[name, why.as_bytes()]);
            }
            return Ok(content);
        }
    };
    let metadata = file
        .metadata()
        .map_err(|error| unreadable(name, strerror(&error)))?;
    if metadata.is_dir() {
        return Ok(content);
    }
    if metadata.len() >= MAX_FILE {
        content.complain("ignoring overly large gitattributes file '{}'", &[name]);
        return Ok(content);
    }
    file.take(MAX_FILE)
        .read_to_end(&mut content.bytes)
        .map_err(|error| unreadable(name, strerror(&error)))?;
    Ok(content)
}

/// The mode of the file `path` in `directory`, as git writes it. A directory with a repository is a submodule.
pub(super) fn mode(directory: &Path, path: &[u8]) -> Result<&'static str> {
    let file = directory.join(OsStr::from_bytes(path));
    let metadata = file.symlink_metadata().map_err(|error| {
        let why = strerror(&error);
        Error::fatal(format_bytes(
            "unable to stat '{}': {}",
            &[path, why.as_bytes()],
        ))
    })?;
    let kind = metadata.file_type();
    Ok(match metadata.mode() & OWNER_EXECUTES {
        _ if kind.is_symlink() => "120000",
        _ if kind.is_dir() && !file.join(".git").exists() => "040000",
        _ if !kind.is_file() => "160000",
        0 => "100644",
        _ => "100755",
    })
}

impl FileContent {
    fn complain(&mut self, template: &str, values: &[&[u8]]) {
        push_line(
            &mut self.complaint,
            "warning: ",
            &format_bytes(template, values),
        );
    }
}
