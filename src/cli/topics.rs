//! Groups of options that have a page of help of their own.

use super::{delta, filters, names::BYTES, reports, serving, sharing};

/// The topic, and the heading of the group.
pub(super) const TOPICS: [(&str, &str); 6] = [
    ("filters", filters::HEADING),
    ("changes", delta::HEADING),
    ("bytes", BYTES),
    ("reports", reports::HEADING),
    ("http", serving::HEADING),
    ("cache", sharing::HEADING),
];
