//! Groups of options that have a page of help of their own.

use super::{
    delta, filters,
    names::{BEYOND, BYTES, OF_GIT, PATHS},
    reports, serving, sharing,
};

/// The topic, and the heading of the group.
pub(super) const TOPICS: [(&str, Option<&str>); 9] = [
    ("basic", OF_GIT),
    ("run", Some(BEYOND)),
    ("paths", Some(PATHS)),
    ("filters", Some(filters::HEADING)),
    ("changes", Some(delta::HEADING)),
    ("bytes", Some(BYTES)),
    ("reports", Some(reports::HEADING)),
    ("http", Some(serving::HEADING)),
    ("cache", Some(sharing::HEADING)),
];

/// The title of the group with this `heading`.
pub(super) fn title(heading: Option<&'static str>) -> &'static str {
    heading.unwrap_or("Options of git archive")
}
