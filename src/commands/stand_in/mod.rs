//! `stand-in`: a `git` that passes archives to git-sluice and everything else to the real git.

mod caller;
mod check;
mod script;

pub use caller::{CALLER, Caller};
pub use check::check;
pub use script::write;
