//! Locates the blobs of a window in packs, with their delta chains, or in loose files, and cuts the window into
//! jobs.
//!
//! Blobs of unwanted size are omitted. The sizes of jobs are estimates from headers of pack entries and lengths
//! of files; the pipeline corrects for wrong estimates. Windows are independent, so each thread locates
//! another window.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix_hash::{ObjectId, oid};

use super::{
    LOOSE_RATIO, RELEASE_BYTES,
    blob_policy::{BlobPolicy, ContentSize},
    entry::{Blob, Entry},
    pointer::pointer,
    window::{Cuts, Job, Window},
};
use crate::filter::{Disposition, OmissionReason};
use sluice_base::error::Result;
use sluice_format::MemberKind;
use sluice_git::{
    lfs::{self, LfsObject},
    objects::{
        chain::ChainBuilder,
        reader::Reader,
        repeated::Repeated,
        size::{Size, Sizer},
        wanted::{MissingObjects, Role},
    },
    odb::{self, ObjectLocation, Odb},
    tree::Mode,
};

/// The number of blobs in one look-up: about as many as the processor loads from memory at once.
const GROUP: usize = 16;

/// Blobs that need not be located, because their contents are at hand.
pub trait KnownBlobs: Send + Sync {
    /// The number of the blob `id`, and its size in bytes, if it is known.
    fn find(&self, id: &oid) -> Option<(u32, u64)>;
}

/// The locators of all threads.
pub struct Locators(Mutex<Pool>);

struct Pool {
    /// The object database, until all blobs are located.
    odb: Option<Odb>,
    /// Idle locators, ready for the next thread.
    free: Vec<Locator>,
    blob_policy: Arc<BlobPolicy>,
    repeated: Arc<Repeated>,
    known: Option<Arc<dyn KnownBlobs>>,
    /// Estimated bytes planned since pack pages were released.
    unreleased: u64,
}

impl Locators {
    /// Create locators over `odb` that apply `blob_policy`. Large blobs that occur several times are kept in
    /// `repeated`.
    pub fn new(odb: Odb, blob_policy: Arc<BlobPolicy>, repeated: Arc<Repeated>) -> Self {
        Self(Mutex::new(Pool {
            odb: Some(odb),
            free: Vec::new(),
            blob_policy,
            repeated,
            known: None,
            unreleased: 0,
        }))
    }

    /// Leaves out the blobs that are `known` from here on.
    pub fn know(&self, known: Arc<dyn KnownBlobs>) {
        self.pool().known = Some(known);
    }

    /// Locate the blobs of `window`, or their replacements, and cut it into jobs.
    pub fn jobs(&self, window: Window) -> Result<Vec<Job>> {
        let mut locator = self.pool().take();
        let jobs = locator.jobs(window)?;
        let mut pool = self.pool();
        pool.release(&jobs);
        pool.free.push(locator);
        Ok(jobs)
    }

    /// An object database that shares the mapped files. Panics once all blobs are located.
    pub fn odb(&self) -> Odb {
        self.pool().odb()
    }

    /// Look up the size of each of `entries` whose content is in an object. `None` for the others.
    pub fn sizes(&self, entries: &[Entry]) -> Result<Vec<Option<ContentSize>>> {
        let mut locator = self.pool().take();
        let sizes = locator.sizes(entries)?;
        self.pool().free.push(locator);
        Ok(sizes)
    }

    /// Note in `wanted` the objects with the contents of `window` that do not exist. `path` maps the name of a file in the
    /// archive to its path in the tree.
    pub fn note_missing(
        &self,
        window: &Window,
        wanted: &MissingObjects,
        path: &dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Result<()> {
        let mut locator = self.pool().take();
        locator.find(&window.entries)?;
        let files = window.entries.iter().filter(|entry| is_wanted(entry));
        let found = locator.ids.iter().zip(&locator.places);
        for (entry, (id, place)) in files.zip(found) {
            if place.is_none() {
                let path = path(window.path(entry));
                wanted.add(*id, Role::File(path.into()));
            }
        }
        // Nobody but git-lfs can fetch LFS objects.
        for entry in window.entries.iter().filter(|_| !wanted.may_fetch()) {
            if let Some(object) = locator.missing_lfs_object(entry, window.path(entry)) {
                let path = path(window.path(entry)).into();
                let size = object.size();
                let id = ObjectId::Sha256(object.hash().0);
                wanted.add(id, Role::LfsObject { path, size });
            }
        }
        // What the system refuses to open may hold the objects.
        let refusal = locator.odb.refusal();
        self.pool().free.push(locator);
        refusal.map_or(Ok(()), Err)
    }

    /// Drop the object database once all blobs are located. Unmapping a large index takes time, so it happens
    /// while other threads still work.
    pub fn done(&self) {
        let mut pool = self.pool();
        let dropped = (pool.odb.take(), std::mem::take(&mut pool.free));
        drop(pool);
        drop(dropped);
    }

    /// Every update is a single assignment, so a poisoned lock is still consistent.
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    fn odb(&self) -> Odb {
        let odb = self.odb.clone();
        odb.expect("nothing is located after the last")
    }

    fn take(&mut self) -> Locator {
        self.free.pop().unwrap_or_else(|| {
            let repeated = Arc::clone(&self.repeated);
            let policy = Arc::clone(&self.blob_policy);
            Locator::new(self.odb(), policy, repeated, self.known.clone())
        })
    }

    /// Release the pack pages that the walk has left, so that resident memory does not grow with the packs.
    fn release(&mut self, jobs: &[Job]) {
        self.unreleased += jobs.iter().map(|job| job.output).sum::<u64>();
        if self.unreleased > RELEASE_BYTES
            && let Some(odb) = &self.odb
        {
            self.unreleased = 0;
            odb.release_packs();
        }
    }
}

/// Locates the blobs of one window at a time.
struct Locator {
    odb: Odb,
    blob_policy: Arc<BlobPolicy>,
    sizer: Sizer,
    known: Option<Arc<dyn KnownBlobs>>,
    /// Reads pointers to LFS objects.
    reader: Option<Reader>,
    chains: ChainBuilder,
    ids: Vec<ObjectId>,
    places: Vec<Option<ObjectLocation>>,
}

/// A located blob and its estimated costs.
#[derive(Clone, Copy)]
struct Located {
    /// The place of the content.
    blob: Blob,
    /// The estimated size in bytes.
    size: u64,
    /// The estimated memory in bytes for decoding, without the content.
    scratch: u64,
}

impl Locator {
    fn new(
        odb: Odb,
        blob_policy: Arc<BlobPolicy>,
        repeated: Arc<Repeated>,
        known: Option<Arc<dyn KnownBlobs>>,
    ) -> Self {
        Self {
            odb,
            blob_policy,
            sizer: Sizer::default(),
            known,
            reader: None,
            chains: ChainBuilder::default().with_repeated(repeated),
            ids: Vec::new(),
            places: Vec::new(),
        }
    }

    fn jobs(&mut self, mut window: Window) -> Result<Vec<Job>> {
        let mut cuts = Cuts::default();
        let Window {
            entries,
            paths,
            lfs_objects,
            ..
        } = &mut window;
        self.note_known(entries, paths);
        if self.odb.reads_ahead() {
            let wanted = entries.iter().filter(|entry| is_wanted(entry));
            let ids: Vec<ObjectId> = wanted.map(|entry| entry.id).collect();
            self.odb.ask_for(&ids);
        }
        for entries in entries.chunks_mut(GROUP) {
            self.find(entries)?;
            let mut found = 0;
            for entry in entries {
                let (mut size, mut scratch) = (0, 0);
                if let (Blob::Known(_), Some(known)) = (entry.blob, entry.size) {
                    size = known;
                } else if is_wanted(entry) {
                    (size, scratch) = self.place(found, entry, paths, lfs_objects);
                    found += 1;
                }
                cuts.count(entry, size, scratch);
            }
        }
        lfs::ask_if_cold(lfs_objects, odb::is_file_in_memory);
        // After a refusal by the object database, a blob that was not found may still exist.
        match self.odb.refusal() {
            Some(refusal) => Err(refusal),
            None => {
                window.chains = self.chains.finish();
                Ok(cuts.cut(window))
            }
        }
    }

    /// Notes which of `entries` are known, with their sizes, and applies the policy to them.
    fn note_known(&self, entries: &mut [Entry], paths: &[u8]) {
        let Some(known) = &self.known else {
            return;
        };
        let replacements = &self.odb.config().replacements;
        for entry in entries.iter_mut().filter(|entry| is_plain_file(entry)) {
            // The look-up of the others reports a bad replacement.
            let read = replacements.of(&entry.id);
            if let Some((number, size)) = read.ok().and_then(|id| known.find(&id)) {
                entry.blob = Blob::Known(number);
                entry.size = Some(size);
                let name = entry.name(paths).to_owned();
                self.blob_policy.apply_size(entry, &name, size);
            }
        }
    }

    fn sizes(&mut self, entries: &[Entry]) -> Result<Vec<Option<ContentSize>>> {
        let mut sizes = Vec::with_capacity(entries.len());
        for entries in entries.chunks(GROUP) {
            self.find(entries)?;
            let mut found = 0;
            for entry in entries {
                let size = is_wanted(entry).then(|| self.size(found, entry));
                found += usize::from(size.is_some());
                sizes.push(size);
            }
        }
        self.odb.refusal().map_or(Ok(sizes), Err)
    }

    /// The size of the content of `entry`, whose object has this number in the look-up.
    fn size(&mut self, number: usize, entry: &Entry) -> ContentSize {
        match (self.lfs_object(entry), self.places[number]) {
            (Some(object), _) => ContentSize::LfsObject {
                size: object.size(),
                is_here: object.is_here(),
            },
            (None, Some(place)) => {
                let id = &self.ids[number];
                ContentSize::Blob(self.sizer.size_of(&mut self.odb, id, place))
            }
            (None, None) => ContentSize::Blob(Size::Missing),
        }
    }

    /// The LFS object that is the content of `entry`; `None` if the content is in its blob.
    fn lfs_object(&mut self, entry: &Entry) -> Option<LfsObject> {
        let store = entry.treatment.lfs.as_ref()?;
        let reader = self
            .reader
            .get_or_insert_with(|| Reader::new(self.odb.clone()));
        let pointer = pointer(reader, &mut self.sizer, entry.id)?;
        Some(LfsObject::new(store, pointer))
    }

    /// The LFS object that the archive needs for `entry`, called `name`, if the store lacks the object.
    fn missing_lfs_object(&mut self, entry: &Entry, name: &[u8]) -> Option<LfsObject> {
        let left_out = Disposition::Omitted(OmissionReason::Missing);
        if !is_wanted(entry) && entry.disposition != left_out {
            return None;
        }
        let object = self.lfs_object(entry).filter(|object| !object.is_here())?;
        let by_size = self.blob_policy.by_size(name, object.size());
        (by_size == Disposition::Content).then_some(object)
    }

    /// Decide about `entry`, whose object has this number in the look-up, and locate its content. Returns the estimated
    /// size, and the estimated memory for decoding.
    fn place(
        &mut self,
        number: usize,
        entry: &mut Entry,
        paths: &[u8],
        lfs_objects: &mut Vec<LfsObject>,
    ) -> (u64, u64) {
        match self.lfs_object(entry) {
            Some(object) => {
                let name = entry.name(paths);
                self.blob_policy.apply_to_lfs(&object, entry, name);
                if entry.disposition == Disposition::Content {
                    entry.blob = Blob::Lfs(lfs_objects.len());
                    let size = object.size();
                    lfs_objects.push(object);
                    return (size, 0);
                }
            }
            None => {
                entry.treatment.lfs = None;
                self.apply_policy(number, entry, paths);
            }
        }
        if !is_wanted(entry) {
            return (0, 0);
        }
        let located = self.locate(number);
        entry.blob = located.blob;
        (located.size, located.scratch)
    }

    /// Find the objects of all `entries` with unlocated content.
    fn find(&mut self, entries: &[Entry]) -> Result<()> {
        let config = self.odb.config();
        let wanted = entries.iter().filter(|entry| is_wanted(entry));
        self.ids.clear();
        for entry in wanted {
            self.ids.push(config.replaced(&entry.id)?);
        }
        self.odb.find_all(&self.ids, &mut self.places);
        Ok(())
    }

    /// Apply the policy to `entry`, whose object has this number in the look-up.
    fn apply_policy(&mut self, number: usize, entry: &mut Entry, paths: &[u8]) {
        let found = (&self.ids[number], self.places[number]);
        let name = entry.name(paths);
        let reading = (&mut self.sizer, &mut self.odb);
        self.blob_policy.apply(reading, found, (entry, name));
    }

    /// Locate the object of this number in the look-up and estimate its costs.
    fn locate(&mut self, number: usize) -> Located {
        let unknown = Located {
            blob: Blob::Unknown,
            size: 0,
            scratch: 0,
        };
        match self.places[number] {
            Some(ObjectLocation::Packed(pack, offset)) => {
                let Ok(id) = self.chains.add(&mut self.odb, pack, offset) else {
                    return unknown;
                };
                let node = self.chains.node(id);
                let size = node.estimate;
                // A delta is decoded next to its base, each as large as the result.
                let scratch = node.base().map_or(0, |_| 3 * size);
                Located {
                    blob: Blob::Packed(id),
                    size,
                    scratch,
                }
            }
            Some(ObjectLocation::Loose(dir)) => {
                let path = self.odb.config().loose_path(dir, &self.ids[number]);
                let size = std::fs::metadata(path).map_or(0, |file| file.len() * LOOSE_RATIO);
                Located {
                    blob: Blob::Loose(dir),
                    size,
                    scratch: size,
                }
            }
            None => unknown,
        }
    }
}

/// Whether `entry` is a file that is sent with the content of its blob, as it is stored.
fn is_plain_file(entry: &Entry) -> bool {
    let is_file = matches!(entry.kind, MemberKind::File | MemberKind::Executable);
    is_file
        && is_wanted(entry)
        && entry.mode != Mode::Symlink
        && entry.disposition == Disposition::Content
        && entry.treatment.is_none()
}

/// Whether the content of `entry` is in an object and not located yet.
fn is_wanted(entry: &Entry) -> bool {
    matches!(entry.blob, Blob::Unknown)
}
