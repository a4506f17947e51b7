//! The programs whose bytes can be made.

/// The program whose bytes are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// zlib's, with a window of 15 bits, memory level 8 and the default strategy.
    #[default]
    Zlib,
    /// GNU gzip's. gzip has no level 0.
    Gzip,
}
