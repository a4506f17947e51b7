//! The form of a tar: all that is not a content, as a digest and as facts that words can tell. Knows no repository.

use gix_hash::{Hasher, Kind as HashKind, ObjectId, hasher};
use tar::Header;

use sluice_format::unarchive::{Item, Kind};

/// The form of a tar.
pub(super) struct TarForm {
    frame: Hasher,
    /// The time of the first entry, in seconds since 1970.
    pub(super) time: Option<u64>,
    pub(super) has_other_times: bool,
    /// The permissions of the first file that is not executable, of the first that is, and of the first directory.
    pub(super) modes: [Option<u32>; 3],
    pub(super) has_other_modes: bool,
    /// Whether all owners are root.
    pub(super) is_of_root: bool,
    /// Whether a header has another form than that of POSIX.
    pub(super) is_foreign: bool,
}

impl Default for TarForm {
    fn default() -> Self {
        Self {
            frame: hasher(HashKind::Sha256),
            time: None,
            has_other_times: false,
            modes: [None; 3],
            has_other_modes: false,
            is_of_root: true,
            is_foreign: false,
        }
    }
}

impl TarForm {
    /// Adds bytes that are not the content of a file.
    pub(super) fn frame(&mut self, bytes: &[u8]) {
        self.frame.update(bytes);
    }

    /// The digest of all such bytes.
    pub(super) fn digest(&self) -> Option<ObjectId> {
        self.frame.clone().try_finalize().ok()
    }

    /// Adds the facts of an entry.
    pub(super) fn add(&mut self, item: &Item<'_>, header: &Header) {
        let time = header.mtime().ok();
        self.has_other_times |= self.time.is_some() && self.time != time;
        self.time = self.time.or(time);
        let slot = match item.kind {
            Kind::File if item.mode & 0o100 == 0 => Some(0),
            Kind::File => Some(1),
            Kind::Directory => Some(2),
            _ => None,
        };
        if let Some(slot) = slot {
            let first = self.modes[slot].get_or_insert(item.mode);
            self.has_other_modes |= *first != item.mode;
        }
        let names = [header.username_bytes(), header.groupname_bytes()];
        let names_root = names.iter().all(|name| *name == Some(b"root"));
        let ids = [header.uid(), header.gid()];
        self.is_of_root &= names_root && ids.iter().all(|id| matches!(id, Ok(0)));
        self.is_foreign |= header.as_ustar().is_none();
    }

    /// The bits that `tar.umask` takes away, if it could have made these permissions.
    pub(super) fn umask(&self) -> Option<u32> {
        let [file, executable, directory] = self.modes;
        let of = |mode: Option<u32>| mode.map(|mode| 0o777 & !mode);
        let umask = of(directory)
            .or(of(executable))
            .or(file.map(|file| 0o666 & !file))?;
        let is_it = |mode: Option<u32>, all: u32| mode.is_none_or(|mode| mode == all & !umask);
        let fits = is_it(file, 0o666) && is_it(executable, 0o777) && is_it(directory, 0o777);
        (fits && !self.has_other_modes).then_some(umask)
    }
}
