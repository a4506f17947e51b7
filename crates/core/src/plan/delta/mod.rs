//! The changes between two trees, each as its own view shows it.
//!
//! Both trees are walked in lockstep, in the order of trees. The comparison shows what differs, so entries that are
//! equal on both sides are skipped. Except for two cases, in which content may differ although its blob does not:
//!
//! * The rules differ: an attribute file above, or the exclude rules. Then the equal entries are compared as both views
//!   show them.
//! * The commits differ, and `$Format:…$` may show them. Then equal directories are read, each once, because an
//!   attribute file in any of them may set `export-subst`. Files are looked at only where it does.
//!
//! No blob is read in either case. A filter of the configuration counts as a function of path and blob.

mod change;
mod deletions;
mod diff;
mod divide;
mod changes;
mod frames;
mod side;
mod summary;
mod walk;

pub use change::{Change, DiffStep, Shown};
pub use changes::Changes;
pub use deletions::{Deletion, Deletions};
pub use diff::{DeltaRules, Diff};
pub use side::Side;
pub use summary::{Bounds, DiffSummary};
pub use walk::DeltaWalk;
