//! Which rule decides about a path, in words.

use gix::ObjectId;

use super::view::View;
use crate::{
    decode::reader::Reader,
    emit::Kind,
    error::sanitised,
    filter::{Disposition, Reason, StandIn, ignore::Rule},
    tree::Mode,
};

/// What is said of what neither the user nor the tree wants archived.
const NOT_SELECTED: &str = "omitted: no pathspec selects it";
const EXPORT_IGNORE: &str = "omitted: by the attribute export-ignore";

impl View {
    /// Whether something at `path` may be known, if it is there.
    pub fn may_be_known(&self, path: &[u8]) -> bool {
        self.filter.allows(path) || self.filter.allows_all(path)
    }

    /// What keeps all that is in the directory `above` from being sent, if anything does and may be
    /// known.
    pub fn rule_above(&mut self, above: &[u8]) -> Option<String> {
        if !self.filter.allows_all(above) {
            return None;
        }
        let shown = sanitised(above);
        if self.selection.attributes.ignores(above, true) {
            return Some(format!("{EXPORT_IGNORE} of '{shown}'"));
        }
        if !self.selection.directory(above) {
            return Some(NOT_SELECTED.to_owned());
        }
        self.filter.ignore.pruning_rule(above).map(|rule| {
            let rule = self.told(rule);
            format!("omitted: {rule} ignores all of '{shown}', which is not read")
        })
    }

    /// A rule as it may be told.
    fn told(&self, rule: &Rule) -> String {
        match self.filter.secret_ignore {
            true => "a rule".to_owned(),
            false => rule.to_string(),
        }
    }

    /// What becomes of the directory `path`; nothing if nobody may know of it.
    pub fn rule_on_directory(&mut self, path: &[u8]) -> Option<String> {
        if !self.filter.allows_all(path) {
            return None;
        }
        if self.selection.attributes.ignores(path, true) {
            return Some(EXPORT_IGNORE.to_owned());
        }
        if !self.selection.directory(path) {
            return Some(NOT_SELECTED.to_owned());
        }
        Some(match self.filter.ignore.pruning_rule(path) {
            Some(rule) => format!("omitted: {} ignores all that is in it", self.told(rule)),
            None => "sent if anything below it is".to_owned(),
        })
    }

    /// What becomes of the entry at `path`, which is no directory; nothing if nobody may know of it.
    pub fn rule_on_leaf(
        &mut self,
        reader: &mut Reader,
        path: &[u8],
        mode: Mode,
        id: ObjectId,
    ) -> Option<String> {
        if !self.filter.allows(path) {
            return None;
        }
        if !self.selection.admits(path, mode.kind()) {
            return Some(NOT_SELECTED.to_owned());
        }
        let Some(leaf) = self.leaf(reader, path, mode, id) else {
            return Some(EXPORT_IGNORE.to_owned());
        };
        Some(match leaf.disposition {
            Disposition::Content => self.sent(path, leaf.kind, leaf.size),
            Disposition::Placeholder(reason, stand_in) => {
                let why = self.why(path, reason, leaf.size);
                format!("sent as {}: {why}", shape(stand_in))
            }
            Disposition::Omitted(reason) => {
                format!("omitted: {}", self.why(path, reason, leaf.size))
            }
        })
    }

    fn sent(&self, path: &[u8], kind: Kind, size: Option<u64>) -> String {
        let mut words = "sent".to_owned();
        let policy = &self.filter.policy;
        if let (Some(limit), Some(size)) = (&policy.limit, size)
            && size > limit.bytes
        {
            let rule = limit.exceptions.rule(path);
            let rule = rule.map_or_else(String::new, |rule| sanitised(rule.text()));
            words += &format!(": {size} bytes, allowed by --large-file='{rule}'");
        }
        if policy.binary.is_some() && kind != Kind::Directory {
            words += ", unless its content turns out to be binary";
        }
        words
    }

    fn why(&self, path: &[u8], reason: Reason, size: Option<u64>) -> String {
        match reason {
            Reason::Ignored => match self.filter.ignore.rule(path) {
                Some(rule) => format!("{} ignores it", self.told(rule)),
                None => reason.as_str().to_owned(),
            },
            Reason::TooLarge => {
                let limit = self.filter.policy.limit.as_ref();
                let limit = limit.map_or(0, |limit| limit.bytes);
                format!("{} bytes, the limit is {limit}", size.unwrap_or(0))
            }
            Reason::Missing => "its content is not in the repository".to_owned(),
            Reason::Submodule => "it is a submodule".to_owned(),
            Reason::Binary => "it is binary".to_owned(),
        }
    }
}

fn shape(stand_in: StandIn) -> String {
    match stand_in {
        StandIn::Empty => "an empty file".to_owned(),
        StandIn::Nuls => "a file of three NULs".to_owned(),
        StandIn::Sparse(size) => format!("a hole of {size} bytes"),
    }
}
