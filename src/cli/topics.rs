//! Groups of options that have a page of help of their own.

use super::{delta, filters, reports, serving, sharing};

/// The topic, and the heading of the group.
pub(super) const TOPICS: [(&str, &str); 5] = [
    ("filters", filters::HEADING),
    ("changes", delta::HEADING),
    ("reports", reports::HEADING),
    ("http", serving::HEADING),
    ("cache", sharing::HEADING),
];
