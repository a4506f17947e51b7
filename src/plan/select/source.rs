//! Where the attribute files of directories come from: the archived tree, the work tree, another
//! tree.

use std::{
    ffi::OsStr,
    fs::OpenOptions,
    io::{ErrorKind, Read},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use gix::{ObjectId, bstr::BStr};
use rustix::fs::OFlags;

use super::attribute_file::MAX_FILE;
use crate::{
    buffer::Buffer,
    decode::{Failure, reader::Reader},
    error::strerror,
    plan::trees::file_at,
};

/// What attribute files are called.
pub const NAME: &[u8] = b".gitattributes";

/// Where `.gitattributes` are looked for.
#[derive(Clone, Debug, Default)]
pub enum Source {
    /// In the tree that is archived.
    #[default]
    Archived,
    /// In this tree.
    Tree(ObjectId),
    /// In the work tree at this directory.
    WorkTree(PathBuf),
    /// There is no work tree.
    Nowhere,
}

/// Whether a symbolic link may be an attribute file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It may.
    Followed,
    /// It may not.
    Refused,
}

/// An attribute file. One that cannot be read is empty.
#[derive(Default)]
pub struct Content {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// It is an object, not a file.
    pub in_tree: bool,
    /// Why it was not read.
    pub complaint: String,
}

impl Source {
    /// The attribute file of `directory`, whose path is `name`; `find` finds it in the tree that is
    /// archived.
    pub fn read(
        &self,
        reader: &mut Reader,
        directory: &[u8],
        name: &BStr,
        find: impl FnOnce(&mut Reader) -> Option<ObjectId>,
    ) -> Content {
        let id = match self {
            Self::Archived => find(reader),
            Self::Tree(tree) => file_at(reader, *tree, tree.kind(), directory, NAME),
            Self::WorkTree(top) => {
                let path = top.join(OsStr::from_bytes(name));
                return read_file(&path, name, Links::Refused);
            }
            Self::Nowhere => None,
        };
        id.map_or_else(Content::default, |id| read_blob(reader, id, name))
    }
}

fn read_blob(reader: &mut Reader, id: ObjectId, name: &BStr) -> Content {
    let mut bytes = Buffer::default();
    let too_large = match reader.read(&id, &mut bytes) {
        Ok(Some(_)) => bytes.len() as u64 >= MAX_FILE,
        Ok(None) => false,
        Err(failure) => {
            bytes.clear();
            matches!(failure, Failure::TooLarge)
        }
    };
    let mut content = Content {
        in_tree: true,
        ..Content::default()
    };
    match too_large {
        true => content.complain(format!("ignoring overly large gitattributes blob '{name}'")),
        false => content.bytes = bytes.to_vec(),
    }
    content
}

/// The file at `path`, called `name` in messages.
pub fn read_file(path: &Path, name: &BStr, links: Links) -> Content {
    let mut content = Content::default();
    let mut options = OpenOptions::new();
    if links == Links::Refused {
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    }
    let file = match options.read(true).open(path) {
        Ok(file) => file,
        Err(error) => {
            if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                content.complain(format!("unable to access '{name}': {}", strerror(&error)));
            }
            return content;
        }
    };
    if file.metadata().is_ok_and(|file| file.len() >= MAX_FILE) {
        content.complain(format!("ignoring overly large gitattributes file '{name}'"));
    } else if file.take(MAX_FILE).read_to_end(&mut content.bytes).is_err() {
        content.bytes.clear();
    }
    content
}

impl Content {
    fn complain(&mut self, what: String) {
        self.complaint = format!("warning: {what}\n");
    }
}
