//! Reads archives that other programs wrote, entry by entry and once: tar in all dialects, zip, compressed tars, directories.
//!
//! The module believes nothing that an archive says beyond the bytes that back it. It must not write a file, keep a content,
//! follow a link or know git. What is accepted without a doubt is a grammar: the bytes that known programs write. About all else,
//! programs that extract the archive may disagree, so the module tells the visitor of a doubt and goes on. An archive that no reader could go on with is damaged, which is an error of its own kind.

mod blocks;
mod compression;
mod damage;
mod directory;
mod feed;
mod grammar;
mod item;
pub mod pax;
mod pending;
mod read;
mod sparse;
mod tar;
mod zip;
mod zip_grammar;

pub use compression::{Compression, Members, Raw};
pub use damage::unreadable;
pub use feed::{Feed, Feeder, feed};
pub use item::{Item, Kind, Visitor};
pub use read::{Form, Source, read};
pub use tar::{TarEntry, TarError, TarItem, TarReader, read as read_tar};
