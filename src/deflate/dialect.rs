//! The programs whose bytes can be made.

/// Whose bytes to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// zlib's, with a window of 15 bits, memory level 8 and the default strategy.
    #[default]
    Zlib,
    /// Those of GNU gzip, which has no level 0.
    Gzip,
}
