//! What a reader does not want or may not see.

pub mod doublestar;
pub mod large;
