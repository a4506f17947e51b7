//! What changed between two trees, each as its own view shows it.
//!
//! Both are walked in lockstep, in the order of trees. Trees that are equal are not read, unless what
//! decides about them differs: an attribute file above them, or the ignore rules. Then they are read, and still
//! no blob is.
//!
//! One thing is not seen: a file whose `$Format:…$` is expanded, in an unchanged directory, by an attribute
//! file of an unchanged directory below the root. Its blob is the same, and its content is not. To find such
//! files takes reading all trees, and only [`verify()`] does.

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
