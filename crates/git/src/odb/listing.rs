//! Lists the packs of the object directories, and lists them again when a directory has changed. Must not open a pack.

use std::{
    cmp::Reverse,
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use super::{
    Config, Odb,
    multi_index::MultiIndex,
    source::{PackFile, PackId, PackSource, SourceKind},
};

/// A file or directory that has changed within this time may change again without a trace: some file systems count in seconds,
/// or in two of them.
pub const YOUNG: Duration = Duration::from_secs(2);

impl Odb {
    /// List the packs of all object directories, without opening any.
    pub fn open(config: Config) -> Self {
        let stamps = stamps(&config.dirs);
        let mut odb = Self {
            config: Arc::new(config),
            sources: Vec::new(),
            covered: Vec::new(),
            packs: Vec::new(),
            recent: 0,
            stamps,
            listed: SystemTime::now(),
            missed: false,
            ahead: None,
            expects_most: None,
            denied: None,
        };
        odb.list();
        odb
    }

    /// Whether a database that is opened now would be the same one. In doubt, it would not: directories that had just
    /// changed may have changed again without a trace, and what could not be opened may have appeared.
    pub fn is_current(&self) -> bool {
        self.were_old() && stamps(&self.config.dirs) == self.stamps && !self.has_failed()
    }

    /// Whether a change of a directory after it was listed would show.
    fn were_old(&self) -> bool {
        let is_old = |stamp: &SystemTime| {
            let age = self.listed.duration_since(*stamp);
            age.is_ok_and(|age| age >= YOUNG)
        };
        self.stamps.iter().flatten().all(is_old)
    }

    /// Whether a file could not be opened or read.
    fn has_failed(&self) -> bool {
        let has_failed = |source: &Arc<PackSource>| match &source.kind {
            SourceKind::Single(index, _) => matches!(index.get(), Some(Err(_))),
            SourceKind::Multi(..) => false,
        };
        let mut sources = self.sources.iter().chain(&self.covered);
        let mut packs = self.packs.iter();
        self.denied.is_some()
            || self.failed_read().is_some()
            || sources.any(has_failed)
            || packs.any(|file| matches!(file.pack.get(), Some(Err(_))))
    }

    /// The number of the pack at `path`, which may be known.
    fn known_pack(&mut self, path: PathBuf) -> PackId {
        match self.packs.iter().position(|file| file.path == path) {
            Some(at) => PackId(at as u32),
            None => self.new_pack(path),
        }
    }

    fn new_pack(&mut self, path: PathBuf) -> PackId {
        self.packs.push(PackFile::new(path));
        PackId((self.packs.len() - 1) as u32)
    }

    /// List the packs again if a pack directory has changed, or may have without a trace.
    pub(super) fn refresh(&mut self) -> bool {
        let stamps = stamps(&self.config.dirs);
        if stamps == self.stamps && self.were_old() {
            return false;
        }
        self.stamps = stamps;
        self.listed = SystemTime::now();
        self.list();
        true
    }

    /// Add the new files of the pack directories: multi-pack indices first, then the indices of packs that
    /// they do not cover, the largest first.
    fn list(&mut self) {
        let config = Arc::clone(&self.config);
        for dir in &config.dirs {
            let dir = dir.join("pack");
            let covered = self.list_multi_index(&dir);
            let mut found = Vec::new();
            let entries = std::fs::read_dir(&dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            let entries = entries.unwrap_or_else(|error| {
                self.note_denied(dir.clone(), error);
                Vec::new()
            });
            for entry in entries {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "idx")
                    && !covered.contains(&path)
                    && !self.sources.iter().any(|known| known.path == path)
                {
                    found.push(path);
                }
            }
            // Each look at a file takes time on a cold disk, and one file needs no order.
            if found.len() > 1 {
                found.sort_by_cached_key(|path| Reverse((file_len(path), path.clone())));
            }
            for path in found {
                let pack = self.new_pack(path.with_extension("pack"));
                let kind = SourceKind::Single(OnceLock::new(), pack);
                self.sources.push(Arc::new(PackSource { path, kind }));
            }
        }
    }

    /// Open the multi-pack index of `dir` and return the plain indices that it covers.
    fn list_multi_index(&mut self, dir: &Path) -> Vec<PathBuf> {
        let path = dir.join("multi-pack-index");
        let known = self.sources.iter().any(|source| source.path == path);
        if !self.config.multi_pack_index || known || !path.exists() {
            return Vec::new();
        }
        let Ok(index) = MultiIndex::open(&path, self.config.hash) else {
            return Vec::new();
        };
        let mut covered = Vec::new();
        let mut packs = Vec::new();
        for name in index.packs() {
            let name = dir.join(name);
            let pack = name.with_extension("pack");
            let exists = pack.exists();
            let pack = self.known_pack(pack);
            packs.push(pack);
            if exists {
                let (path, kind) = (name.clone(), SourceKind::Single(OnceLock::new(), pack));
                self.covered.push(Arc::new(PackSource { path, kind }));
                covered.push(name);
            }
        }
        let kind = SourceKind::Multi(Box::new(index), packs);
        self.sources.push(Arc::new(PackSource { path, kind }));
        covered
    }
}

fn file_len(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn stamps(dirs: &[PathBuf]) -> Vec<Option<SystemTime>> {
    let modified = |dir: &PathBuf| std::fs::metadata(dir.join("pack")).ok()?.modified().ok();
    dirs.iter().map(modified).collect()
}
