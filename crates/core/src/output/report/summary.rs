//! The summary: one JSON object with the work, the time and the completeness of a run.
//!
//! The summary is written last. A summary without a failure proves that the run is complete.

use std::{collections::BTreeMap, fs, ops::AddAssign, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Record, ReportWriter, Status, Subject, run_origin::RunOrigin};
use crate::{
    cache::Account,
    filter::{Disposition, OmissionReason},
};
use sluice_base::{
    error::{Error, Result},
    serialize_seconds,
};
use sluice_git::repository::promisor::FetchSums;

/// Counts changes that a reader must know of; see `schema/summary.schema.json`.
const VERSION: u32 = 1;
/// The type and the permissions of a directory.
const DIRECTORY: u32 = 0o040000;
const SUBMODULE: u32 = 0o160000;
/// The bits of a mode that hold the type, and their value for a regular file.
const TYPE: u32 = 0o170000;
const REGULAR: u32 = 0o100000;

/// A number for each reason, at [`OmissionReason`] as an index.
type ByReason = [u64; OmissionReason::ALL.len()];

/// How many paths differ from the base.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeCounts {
    /// New paths.
    pub added: u64,
    /// Paths with other content or permission.
    pub modified: u64,
    /// Deleted paths.
    pub deleted: u64,
    /// Paths of another type.
    pub type_changed: u64,
}

impl ChangeCounts {
    /// The sum.
    pub fn total(self) -> u64 {
        self.added + self.modified + self.deleted + self.type_changed
    }

    /// Count a change.
    pub fn count(&mut self, status: Status) {
        let count = match status {
            Status::Added => &mut self.added,
            Status::Modified => &mut self.modified,
            Status::Deleted => &mut self.deleted,
            Status::TypeChanged => &mut self.type_changed,
        };
        *count += 1;
    }
}

impl AddAssign for ChangeCounts {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.modified += other.modified;
        self.deleted += other.deleted;
        self.type_changed += other.type_changed;
    }
}

/// The counts of a piece or of a run.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Entries of the archive.
    pub entries: u64,
    /// Regular files, placeholders included. Without a regular file, an indexer has nothing to index.
    pub files: u64,
    /// Bytes of content that were read for the entries.
    pub bytes_in: u64,
    /// Omitted entries. An omitted directory counts once.
    #[serde(serialize_with = "by_reason", deserialize_with = "of_reasons")]
    pub omitted: ByReason,
    /// Entries with a stand-in for their content.
    #[serde(serialize_with = "by_reason", deserialize_with = "of_reasons")]
    pub placeholders: ByReason,
    /// Links that are no copies, where copies take the place of links.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept_links: u64,
    /// Directories of the repository.
    pub directories: Directories,
    /// Contents of the repository.
    pub blobs: Blobs,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes it so.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The counts of trees.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directories {
    /// Trees that were read.
    pub read: u64,
    /// Trees that a rule excluded unread.
    pub pruned: u64,
}

/// The counts of blobs.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blobs {
    /// Blobs that were decoded, for the archive or for a decision.
    pub read: u64,
    /// Blobs that a rule or a limit excluded undecoded.
    pub skipped: u64,
    /// Blobs that were decoded in vain: larger than the limit, although no header of their delta chains was near the
    /// limit.
    pub wasted: u64,
}

impl Counts {
    /// The counts as text, for the notes of a cached archive.
    pub fn to_notes(&self) -> Vec<u8> {
        // Numbers cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The counts in such a text.
    pub fn of_notes(notes: &[u8]) -> Result<Self> {
        serde_json::from_slice(notes).map_err(|error| {
            Error::fatal("cannot read the notes of a cached archive").caused_by(error)
        })
    }

    /// Count an entry, but not whether a directory was read, since a record does not tell.
    pub fn add(&mut self, record: &Record) {
        let directory = record.mode & TYPE == DIRECTORY;
        let has_content = !directory && record.mode & TYPE != SUBMODULE;
        match record.disposition {
            Disposition::Omitted(reason) => self.omitted[reason as usize] += 1,
            Disposition::Placeholder(reason, _) => {
                self.placeholders[reason as usize] += 1;
                self.add_entry(record);
            }
            Disposition::Content => self.add_entry(record),
        }
        self.blobs.read += u64::from(record.decoded);
        match record.disposition.reason() {
            None if has_content => self.bytes_in += record.size.unwrap_or(0),
            Some(OmissionReason::Excluded) if directory => self.directories.pruned += 1,
            Some(OmissionReason::TooLarge) if record.decoded => self.blobs.wasted += 1,
            Some(OmissionReason::Excluded | OmissionReason::TooLarge) if has_content => {
                self.blobs.skipped += 1
            }
            _ => {}
        }
    }

    fn add_entry(&mut self, record: &Record) {
        self.entries += 1;
        self.files += u64::from(record.mode & TYPE == REGULAR);
        self.kept_links += u64::from(record.link.is_some());
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.files += other.files;
        self.bytes_in += other.bytes_in;
        self.kept_links += other.kept_links;
        for at in 0..OmissionReason::ALL.len() {
            self.omitted[at] += other.omitted[at];
            self.placeholders[at] += other.placeholders[at];
        }
        self.directories.read += other.directories.read;
        self.directories.pruned += other.directories.pruned;
        self.blobs.read += other.blobs.read;
        self.blobs.skipped += other.blobs.skipped;
        self.blobs.wasted += other.blobs.wasted;
    }
}

/// The time of each stage. Stages run side by side, the first two on several threads at once, so the sum may exceed
/// the time of the run.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize)]
pub struct Seconds {
    /// The whole run.
    #[serde(serialize_with = "serialize_seconds")]
    pub wall: Duration,
    /// Walking trees, selecting, locating.
    #[serde(serialize_with = "serialize_seconds")]
    pub plan: Duration,
    /// Decoding, converting, formatting.
    #[serde(serialize_with = "serialize_seconds")]
    pub work: Duration,
    /// Writing, and waiting for the reader.
    #[serde(serialize_with = "serialize_seconds")]
    pub write: Duration,
}

/// The first and the last byte of an archive that were sent, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SentRange {
    /// The first byte.
    pub first: u64,
    /// The last byte, which was sent, too.
    pub last: u64,
}

/// The facts about a run, filled in during the run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// The archived tree, once it is resolved.
    #[serde(flatten)]
    pub subject: Option<Subject>,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// The changes since the base, if there is a base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangeCounts>,
    /// Bytes of the entire archive, if they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_length: Option<u64>,
    /// Bytes of the archive that were sent.
    pub bytes_out: u64,
    /// Whether a file contains data that can change, so that the next archive of the commit may have other bytes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub varies: bool,
    /// Whether a command of the configuration gets these bytes, and sends others.
    #[serde(skip)]
    pub is_filtered: bool,
    /// The bytes of the archive that were sent, where a range was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<SentRange>,
    /// The time of each stage.
    pub seconds: Seconds,
    /// The fetches of missing objects, if there were any.
    #[serde(skip_serializing_if = "FetchSums::is_empty")]
    pub fetch: FetchSums,
    /// The result of `peak_memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory: Option<u64>,
    /// The part of the cache, if there is a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Account>,
    /// The run, in a log of many runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunOrigin>,
}

/// A summary as it is written.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    summary: u32,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    facts: &'a Summary,
}

impl Summary {
    /// Write the summary. After a run without `failure`, no later step may fail.
    pub fn write(&self, mut outlet: ReportWriter, failure: Option<&Error>) -> Result<()> {
        outlet.line(&self.document(failure))
    }

    /// The summary of a run that ended with `failure`, if it is one.
    pub(super) fn document(&self, failure: Option<&Error>) -> Document<'_> {
        Document {
            summary: VERSION,
            complete: failure.is_none(),
            error: failure.map(Error::to_string),
            facts: self,
        }
    }
}

/// The peak of resident memory of this process in bytes, mapped packs included.
pub(super) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn by_reason<S: Serializer>(counts: &ByReason, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(
        OmissionReason::ALL
            .map(OmissionReason::as_str)
            .iter()
            .zip(counts),
    )
}

fn of_reasons<'de, D: Deserializer<'de>>(from: D) -> Result<ByReason, D::Error> {
    let numbers = BTreeMap::<String, u64>::deserialize(from)?;
    let mut counts = ByReason::default();
    for (name, number) in numbers {
        let known = OmissionReason::ALL
            .iter()
            .position(|reason| reason.as_str() == name);
        let at = known.ok_or_else(|| D::Error::custom("a reason that is not known"))?;
        counts[at] = number;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::{Counts, peak_memory};
    use crate::filter::{Disposition, OmissionReason, PlaceholderContent};
    use crate::output::report::Record;

    fn counted(records: &[(u32, Disposition, bool)]) -> Counts {
        let mut counts = Counts::default();
        for &(mode, disposition, decoded) in records {
            counts.add(&Record {
                submodule: b"",
                lfs: None,
                path: b"a",
                mode,
                id: &[7; 20],
                size: Some(10),
                disposition,
                decoded,
                change: None,
                undecided: false,
                unportable: &[],
                link: None,
            });
        }
        counts
    }

    #[test]
    fn records_are_counted_once() {
        use Disposition::{Content, Omitted};
        let placeholder = |reason| Disposition::Placeholder(reason, PlaceholderContent::Empty);
        let counts = counted(&[
            (0o100644, Content, true),
            (0o120000, Content, true),
            (0o040000, Content, false),
            (0o160000, Content, false),
            (0o100755, placeholder(OmissionReason::Binary), true),
            (0o100644, placeholder(OmissionReason::TooLarge), false),
            (0o100644, Omitted(OmissionReason::TooLarge), true),
            (0o100644, Omitted(OmissionReason::Missing), false),
            (0o100644, Omitted(OmissionReason::Excluded), false),
            (0o040000, Omitted(OmissionReason::Excluded), false),
        ]);
        assert_eq!((counts.entries, counts.files, counts.bytes_in), (6, 3, 20));
        assert_eq!(counts.omitted, [2, 1, 0, 1, 0]);
        assert_eq!(counts.placeholders, [0, 1, 1, 0, 0]);
        let blobs = counts.blobs;
        assert_eq!((blobs.read, blobs.skipped, blobs.wasted), (4, 2, 1));
        assert_eq!(counts.directories.pruned, 1);
    }

    /// A field that the sum forgets would not be doubled.
    #[test]
    fn sums_have_every_field() {
        let mut counts = counted(&[
            (0o100644, Disposition::Content, true),
            (
                0o100644,
                Disposition::Omitted(OmissionReason::Excluded),
                false,
            ),
            (
                0o040000,
                Disposition::Omitted(OmissionReason::Excluded),
                false,
            ),
            (
                0o100644,
                Disposition::Omitted(OmissionReason::TooLarge),
                true,
            ),
            (
                0o100644,
                Disposition::Placeholder(OmissionReason::Binary, PlaceholderContent::Empty),
                true,
            ),
        ]);
        counts.directories.read = 1;
        let numbers = |counts: &Counts| -> Vec<u64> {
            let text = serde_json::to_string(counts).expect("numbers only");
            text.split(|c: char| !c.is_ascii_digit())
                .filter_map(|number| number.parse().ok())
                .collect()
        };
        let doubled: Vec<u64> = numbers(&counts).iter().map(|number| 2 * number).collect();
        counts += counts;
        assert_eq!(numbers(&counts), doubled);
        let copy = Counts::of_notes(&counts.to_notes());
        assert_eq!(copy.ok(), Some(counts));
    }

    #[test]
    fn memory_is_in_bytes() {
        assert!(peak_memory().is_none_or(|bytes| bytes > 1 << 20));
    }
}
