//! Groups of options that have a page of help of their own.

use super::{
    delta, filters,
    names::{BYTES, PATHS},
    reports, serving, sharing,
};

/// The topic, and the heading of the group.
pub(super) const TOPICS: [(&str, &str); 7] = [
    ("paths", PATHS),
    ("filters", filters::HEADING),
    ("changes", delta::HEADING),
    ("bytes", BYTES),
    ("reports", reports::HEADING),
    ("http", serving::HEADING),
    ("cache", sharing::HEADING),
];
