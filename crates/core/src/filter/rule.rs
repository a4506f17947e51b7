//! A rule as its author wrote it, and where: what explanations and errors quote.

use std::sync::Arc;

use bstr::BString;

use sluice_base::error::{format_bytes, printable_path};

/// A line that excludes files, or takes files back.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The source of the rule.
    pub origin: Arc<BString>,
    /// The line number in the source, from 1. `None` if the source is an option.
    pub line: Option<usize>,
    /// The line as written, without white space that does not count.
    pub pattern: BString,
}

impl Rule {
    /// The rule and its source.
    pub fn words(&self) -> BString {
        let line = self.line.map_or(String::new(), |line| format!(":{line}"));
        let values = [
            &printable_path(&self.pattern)[..],
            &printable_path(&self.origin),
            line.as_bytes(),
        ];
        format_bytes("'{}' ({}{})", &values)
    }
}
