//! The changes between two trees, each as its own view shows it.
//!
//! Both trees are walked in lockstep, in the order of trees. Equal trees are not read, unless the rules
//! about them differ: an attribute file above them, or the ignore rules. Then the trees are read, but no
//! blob.
//!
//! One kind of change is missed: in an unchanged directory, a file whose `$Format:…$` is expanded because
//! of an attribute file in an unchanged directory below the root. Its blob is equal, but its content is
//! not. Only reading all trees finds such files, as [`verify()`] does, and a comparison that
//! [reads what is unchanged](DeltaRules::reads_unchanged).

mod change;
mod deletions;
mod diff;
mod divide;
mod changes;
mod frames;
mod side;
mod summary;
mod verify;
mod walk;

pub use change::{Change, Shown, Step};
pub use changes::Changes;
pub use deletions::{Deletion, Deletions, Names};
pub use diff::{DeltaRules, Diff};
pub use side::Side;
pub use summary::{Bounds, DiffSummary, whiteout};
pub use verify::verify;
pub use walk::DeltaWalk;
