//! Pathspecs that name their paths outright, found without a look at the others: there may be a
//! hundred thousand of them.

use gix::bstr::{BString, ByteSlice};
use rustc_hash::{FxHashMap, FxHashSet};

/// Paths with all that is below them.
#[derive(Clone, Debug, Default)]
pub struct Named {
    paths: FxHashMap<BString, Numbers>,
    /// The directories that lead to them.
    above: FxHashSet<BString>,
}

/// The numbers of the pathspecs that name a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    /// Whatever it is.
    pub any: Option<usize>,
    /// If it is a directory.
    pub directory: Option<usize>,
}

impl Named {
    /// Add `path` as that of the pathspec `number`, perhaps `only_directory`; whether it is new.
    pub fn insert(&mut self, path: BString, only_directory: bool, number: usize) -> bool {
        let mut rest = path.as_bytes();
        while let Some(slash) = rest.rfind_byte(b'/') {
            rest = &rest[..slash];
            if self.above.contains(rest.as_bstr()) {
                break;
            }
            self.above.insert(rest.into());
        }
        let numbers = self.paths.entry(path).or_default();
        let place = match only_directory {
            true => &mut numbers.directory,
            false => &mut numbers.any,
        };
        let is_new = place.is_none();
        place.get_or_insert(number);
        is_new
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Those that name `path` itself.
    pub fn at(&self, path: &[u8]) -> Numbers {
        match self.is_empty() {
            true => Numbers::default(),
            false => self.paths.get(path.as_bstr()).copied().unwrap_or_default(),
        }
    }

    /// Whether `path` or a directory above it is named.
    pub fn covers(&self, path: &[u8], is_dir: bool) -> bool {
        let Numbers { any, directory } = self.at(path);
        any.is_some() || (is_dir && directory.is_some()) || self.covers_above(path)
    }

    fn covers_above(&self, path: &[u8]) -> bool {
        !self.is_empty() && directories(path).any(|above| self.paths.contains_key(above.as_bstr()))
    }

    /// Those that name a directory above `path`.
    pub fn above(&self, path: &[u8]) -> impl Iterator<Item = Numbers> {
        directories(path).map(|above| self.at(above))
    }

    /// Whether something below the directory `path` is named.
    pub fn leads_below(&self, path: &[u8]) -> bool {
        !self.is_empty() && self.above.contains(path.as_bstr())
    }
}

/// The directories above `path`.
fn directories(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.rfind_iter(b"/").map(|slash| &path[..slash])
}
