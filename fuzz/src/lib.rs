//! What the fuzz targets do with an input, and what several of them share: an object directory that is written anew for each
//! input.
//!
//! `tests/it` compiles these files, too, and tries the inputs in `corpus` with each `cargo test`.

pub mod access;
pub mod apply;
pub mod attributes;
pub mod config;
pub mod deflate;
pub mod delta;
pub mod gitmodules;
pub mod globs;
pub mod ignore;
pub mod index;
pub mod inflate;
pub mod lfs_pointer;
pub mod pack;
pub mod pkt_line;
pub mod refs;
pub mod tree;
pub mod unarchive;
pub mod wildmatch;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::ZlibEncoder};
use gix_hash::{Kind, ObjectId};
use sluice_git::odb::{Config, Odb, Replacements};
use tempfile::TempDir;

/// A fuzz target: its name, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 18] = [
    ("access", access::run),
    ("apply", apply::run),
    ("attributes", attributes::run),
    ("config", config::run),
    ("deflate", deflate::run),
    ("delta", delta::run),
    ("gitmodules", gitmodules::run),
    ("globs", globs::run),
    ("ignore", ignore::run),
    ("index", index::run),
    ("inflate", inflate::run),
    ("lfs_pointer", lfs_pointer::run),
    ("pack", pack::run),
    ("pkt_line", pkt_line::run),
    ("refs", refs::run),
    ("tree", tree::run),
    ("unarchive", unarchive::run),
    ("wildmatch", wildmatch::run),
];

/// The only object format that is tried.
pub const HASH: Kind = Kind::Sha1;

/// An object directory in a temporary directory.
pub struct Objects(TempDir);

impl Default for Objects {
    fn default() -> Self {
        let directory = TempDir::new().expect("temporary directories can be made");
        fs::create_dir(directory.path().join("pack")).expect("the directory is new");
        Self(directory)
    }
}

impl Objects {
    /// The file `name` among the packs.
    pub fn pack_file(&self, name: &str) -> PathBuf {
        self.0.path().join("pack").join(name)
    }

    /// Writes a loose object that is found by `id`, whatever its content hashes to.
    pub fn write_loose(&self, id: ObjectId, kind: &str, content: &[u8]) {
        let path = sluice_git::odb::loose::path(self.0.path(), &id);
        let parent = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(parent).expect("the directory can be written to");
        let mut object = format!("{kind} {}\0", content.len()).into_bytes();
        object.extend_from_slice(content);
        fs::write(path, deflated(&object)).expect("the directory can be written to");
    }

    /// A reader of what the directory holds now.
    pub fn open(&self) -> Odb {
        Odb::open(Config {
            dirs: vec![self.0.path().to_owned()],
            omits_dirs: false,
            hash: HASH,
            multi_pack_index: true,
            is_partial: false,
            made: Default::default(),
            replacements: Replacements::default(),
        })
    }
}

/// The object id that consists of `byte` alone.
pub fn id_of(byte: u8) -> ObjectId {
    ObjectId::from_bytes_or_panic(&[byte; 20])
}

/// `bytes` as a zlib stream.
pub fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}
