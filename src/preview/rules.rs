//! Explains in words which rule decides about a path.
//!
//! A path that the reader may not know has no explanation.

use gix::{ObjectId, bstr::BString};

use crate::{
    decode::reader::Reader,
    emit::MemberKind,
    error::{filled, listed},
    filter::{Disposition, OmissionReason, StandIn, ignore::Rule},
    plan::view::View,
    tree::Mode,
};

const NOT_SELECTED: &str = "omitted: no pathspec selects it";
const EXPORT_IGNORE: &str = "omitted: by the attribute export-ignore";

/// Explains the disposition of an entry when the walk through the tree reaches it.
pub(super) struct Explainer {
    /// The reader's view of the tree.
    pub(super) view: View,
}

impl Explainer {
    /// Whether the reader may know an entry at `path`, if there is one.
    pub(super) fn may_be_known(&self, path: &[u8]) -> bool {
        self.view.filter.allows(path) || self.view.filter.allows_all(path)
    }

    /// The rule that omits all of the directory `above`. `None` if no rule does, or if the reader may not
    /// know the directory.
    pub(super) fn explain_above(&mut self, above: &[u8]) -> Option<BString> {
        if !self.view.filter.allows_all(above) {
            return None;
        }
        let shown = listed(&self.view.filter.mount.path(above));
        if self.view.selection.attributes.ignores(above, true) {
            return Some(filled("{} of '{}'", &[EXPORT_IGNORE.as_bytes(), &shown]));
        }
        if !self.view.selection.directory(above) {
            return Some(NOT_SELECTED.into());
        }
        self.view.filter.pruning_rule(above).map(|rule| {
            let template = "omitted: {} ignores all of '{}', which is not read";
            filled(template, &[&self.shown(rule), &shown])
        })
    }

    /// A rule in words; its text may be secret.
    fn shown(&self, rule: &Rule) -> BString {
        match self.view.filter.secret_ignore {
            true => "a rule".into(),
            false => rule.words(),
        }
    }

    /// The explanation of the directory `path`. `None` if the reader may not know it.
    pub(super) fn explain_directory(&mut self, path: &[u8]) -> Option<BString> {
        if !self.view.filter.allows_all(path) {
            return None;
        }
        if self.view.selection.attributes.ignores(path, true) {
            return Some(EXPORT_IGNORE.into());
        }
        if !self.view.selection.directory(path) {
            return Some(NOT_SELECTED.into());
        }
        Some(match self.view.filter.pruning_rule(path) {
            Some(rule) => filled(
                "omitted: {} ignores all that is in it",
                &[&self.shown(rule)],
            ),
            None => "sent if anything below it is".into(),
        })
    }

    /// The explanation of the file, link or submodule at `path`. `None` if the reader may not know it.
    pub(super) fn explain_leaf(
        &mut self,
        reader: &mut Reader,
        path: &[u8],
        mode: Mode,
        id: ObjectId,
    ) -> Option<BString> {
        if !self.view.filter.allows(path) {
            return None;
        }
        if !self.view.selection.admits(path, mode.kind()) {
            return Some(NOT_SELECTED.into());
        }
        let Some(leaf) = self.view.leaf(reader, path, mode, id) else {
            return Some(EXPORT_IGNORE.into());
        };
        Some(match leaf.disposition {
            Disposition::Content => self.sent(path, leaf.kind, leaf.size),
            Disposition::Placeholder(reason, stand_in) => {
                let why = self.why(path, reason, leaf.size);
                filled("sent as {}: {}", &[shape(stand_in).as_bytes(), &why])
            }
            Disposition::Omitted(reason) => {
                filled("omitted: {}", &[&self.why(path, reason, leaf.size)])
            }
        })
    }

    fn sent(&self, path: &[u8], kind: MemberKind, size: Option<u64>) -> BString {
        let mut words = BString::from("sent");
        let policy = &self.view.filter.policy;
        if let (Some(limit), Some(size)) = (&policy.limit, size)
            && size > limit.bytes
        {
            let rule = limit.exceptions.rule(&self.view.filter.mount.path(path));
            let rule = rule.map_or_else(BString::default, |rule| listed(rule.text()));
            let template = ": {} bytes, allowed by --large-file='{}'";
            words.extend_from_slice(&filled(template, &[size.to_string().as_bytes(), &rule]));
        }
        if policy.binary.is_some() && kind != MemberKind::Directory {
            words.extend_from_slice(b", unless its content turns out to be binary");
        }
        words
    }

    fn why(&self, path: &[u8], reason: OmissionReason, size: Option<u64>) -> BString {
        match reason {
            OmissionReason::Ignored => match self.view.filter.rule(path) {
                Some(rule) => filled("{} ignores it", &[&self.shown(rule)]),
                None => reason.as_str().into(),
            },
            OmissionReason::TooLarge => {
                let limit = self.view.filter.policy.limit.as_ref();
                let limit = limit.map_or(0, |limit| limit.bytes);
                format!("{} bytes, the limit is {limit}", size.unwrap_or(0)).into()
            }
            OmissionReason::Missing => "its content is not in the repository".into(),
            OmissionReason::Submodule => "it is a submodule".into(),
            OmissionReason::Binary => "it is binary".into(),
        }
    }
}

fn shape(stand_in: StandIn) -> String {
    match stand_in {
        StandIn::Empty => "an empty file".to_owned(),
        StandIn::Nuls => "a file of three NULs".to_owned(),
        StandIn::Sparse(size) => format!("a hole of {size} bytes"),
        StandIn::Pointer => "a pointer of Git LFS".to_owned(),
    }
}
