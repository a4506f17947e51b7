//! The pipeline, compiled with threads and channels of [shuttle](https://docs.rs/shuttle), so that a test can run it in many
//! orders. A run in which all threads wait for each other fails.
//!
//! The files of the pipeline are those of git-sluice. Only what they import is replaced: `base::sync` and `base::error`.

/// What the pipeline imports, by the same names.
mod base {
    pub(crate) use crate::{error, sync};
}
pub mod error;
#[path = "../../../src/base/pipeline/mod.rs"]
pub mod pipeline;
mod sync;
