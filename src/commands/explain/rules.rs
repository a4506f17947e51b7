//! Explains in words which rule decides about a path.
//!
//! A path that the reader may not know has no explanation.

use bstr::BString;
use gix_hash::ObjectId;

use sluice_base::error::{Result, counted, format_bytes, printable_path};
use sluice_core::{
    filter::{Disposition, OmissionReason, PlaceholderContent, rule::Rule},
    plan::view::View,
};
use sluice_format::MemberKind;
use sluice_git::{
    objects::reader::Reader,
    tree::{KeptLink, Mode},
};

const SENT: &str = "sent";
const NOT_SELECTED: &str = "omitted: no pathspec selects it";
const EXPORT_IGNORE: &str = "omitted: by the attribute export-ignore";

/// The disposition of an entry in an archive of the whole tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathOutcome {
    /// The archive has the entry.
    Sent,
    /// The archive has the directory if it has anything below.
    Directory,
    /// The archive does not have the entry.
    Omitted,
}

impl PathOutcome {
    /// The word for programs.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Directory => "directory",
            Self::Omitted => "omitted",
        }
    }
}

/// The disposition of an entry, with the rule that decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Explanation {
    pub(super) outcome: PathOutcome,
    pub(super) words: BString,
}

impl Explanation {
    fn omitted(words: impl Into<BString>) -> Self {
        Self {
            outcome: PathOutcome::Omitted,
            words: words.into(),
        }
    }

    fn sent(words: impl Into<BString>) -> Self {
        Self {
            outcome: PathOutcome::Sent,
            words: words.into(),
        }
    }
}

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
    pub(super) fn explain_above(&mut self, above: &[u8]) -> Option<Explanation> {
        if !self.view.filter.allows_all(above) {
            return None;
        }
        let shown = printable_path(&self.view.filter.mount.path(above));
        if self.view.selection.attributes.ignores(above, true) {
            let values = [
                EXPORT_IGNORE.as_bytes(),
                &shown,
                &self.ignoring_line(above, true),
            ];
            return Some(Explanation::omitted(format_bytes("{} of '{}'{}", &values)));
        }
        if !self.view.selection.directory(above) {
            return Some(Explanation::omitted(NOT_SELECTED));
        }
        self.view.filter.pruning_rule(above).map(|rule| {
            let template = "omitted: {} excludes all of '{}', which is not read";
            Explanation::omitted(format_bytes(template, &[&self.shown(rule), &shown]))
        })
    }

    /// The explanation of a path that has the attribute.
    fn export_ignored(&self, path: &[u8], is_dir: bool) -> Explanation {
        let line = self.ignoring_line(path, is_dir);
        Explanation::omitted(format_bytes("{}{}", &[EXPORT_IGNORE.as_bytes(), &line]))
    }

    /// The line that gives `path` the attribute, in parentheses; nothing if its file may be secret.
    fn ignoring_line(&self, path: &[u8], is_dir: bool) -> BString {
        let filter = &self.view.filter;
        let found = self.view.selection.attributes.ignoring_line(path, is_dir);
        let known = found.filter(|(file, _)| match &filter.access {
            Some(_) => file.in_tree && filter.allows(&file.name),
            None => true,
        });
        known.map_or_else(BString::default, |(file, line)| {
            let name = if file.in_tree {
                filter.mount.path(&file.name)
            } else {
                file.name.as_slice().into()
            };
            let line = line.to_string();
            format_bytes(" ({}:{})", &[&printable_path(&name), line.as_bytes()])
        })
    }

    /// A rule in words; its text may be secret.
    fn shown(&self, rule: &Rule) -> BString {
        if self.view.filter.has_secret_rules {
            "a rule".into()
        } else {
            rule.words()
        }
    }

    /// The explanation of the directory `path`. `None` if the reader may not know it.
    pub(super) fn explain_directory(&mut self, path: &[u8]) -> Option<Explanation> {
        if !self.view.filter.allows_all(path) {
            return None;
        }
        if self.view.selection.attributes.ignores(path, true) {
            return Some(self.export_ignored(path, true));
        }
        if !self.view.selection.directory(path) {
            return Some(Explanation::omitted(NOT_SELECTED));
        }
        Some(match self.view.filter.pruning_rule(path) {
            Some(rule) => Explanation::omitted(format_bytes(
                "omitted: {} excludes all its files",
                &[&self.shown(rule)],
            )),
            None => Explanation {
                outcome: PathOutcome::Directory,
                words: "sent if it contains sent files".into(),
            },
        })
    }

    /// The explanation of the file, link or submodule at `path`. `None` if the reader may not know it.
    pub(super) fn explain_leaf(
        &mut self,
        reader: &mut Reader,
        path: &[u8],
        (mode, is_entered): (Mode, bool),
        id: ObjectId,
    ) -> Result<Option<Explanation>> {
        if !self.view.filter.allows(path) {
            return Ok(None);
        }
        if !self.view.selection.admits(path, mode)? {
            return Ok(Some(Explanation::omitted(NOT_SELECTED)));
        }
        let Some(leaf) = self.view.leaf(reader, path, (mode, is_entered), id) else {
            return Ok(Some(self.export_ignored(path, mode.is_directory())));
        };
        Ok(Some(match leaf.disposition {
            Disposition::Content => {
                let mut words = self.sent(path, leaf.kind, leaf.size);
                words.extend_from_slice(&self.copied(path, leaf.kept));
                Explanation::sent(words)
            }
            Disposition::Placeholder(reason, stand_in) => {
                let why = self.why(path, mode, reason, leaf.size);
                let shape = shape(mode, stand_in);
                Explanation::sent(format_bytes("sent as {}: {}", &[shape.as_bytes(), &why]))
            }
            Disposition::Omitted(reason) => {
                let why = self.why(path, mode, reason, leaf.size);
                Explanation::omitted(format_bytes("omitted: {}", &[&why]))
            }
        }))
    }

    /// What the entry at `path` is a copy of, or why it is a link that was not copied; nothing if links are not copied.
    fn copied(&self, path: &[u8], kept: Option<KeptLink>) -> BString {
        if let Some(kept) = kept {
            return format!(" as a link: {}", kept.as_str()).into();
        }
        let copied = self.view.selection.copied.as_ref();
        let original = copied.and_then(|copied| copied.copies.original(path, false));
        original.map_or_else(BString::default, |original| {
            let original = printable_path(&self.view.filter.mount.path(&original));
            format_bytes(", a copy of '{}'", &[&original])
        })
    }

    fn sent(&self, path: &[u8], kind: MemberKind, size: Option<u64>) -> BString {
        let mut words = BString::from(SENT);
        let policy = &self.view.filter.policy;
        if let (Some(limit), Some(size)) = (&policy.limit, size)
            && size > limit.bytes
        {
            let rule = limit.exceptions.rule(&self.view.filter.mount.path(path));
            let rule = rule.map_or_else(BString::default, |rule| printable_path(rule.text()));
            let template = ": {}, allowed by --size-exempt='{}'";
            words.extend_from_slice(&format_bytes(
                template,
                &[counted(size, "byte").as_bytes(), &rule],
            ));
        }
        if policy.binary.is_some() && kind != MemberKind::Directory {
            words.extend_from_slice(b", unless its content turns out to be binary");
        }
        words
    }

    fn why(&self, path: &[u8], mode: Mode, reason: OmissionReason, size: Option<u64>) -> BString {
        match reason {
            OmissionReason::Excluded => match self.view.filter.rule(path, mode) {
                Some(rule) => format_bytes("{} excludes it", &[&self.shown(rule)]),
                None => reason.as_str().into(),
            },
            OmissionReason::TooLarge => {
                let limit = self.view.filter.policy.limit.as_ref();
                let limit = limit.map_or(0, |limit| limit.bytes);
                let size = counted(size.unwrap_or(0), "byte");
                format!("{size}, the limit is {limit}").into()
            }
            OmissionReason::Missing => "its content is not in the repository".into(),
            OmissionReason::Submodule => "it is a submodule".into(),
            OmissionReason::ExportIgnore => "the attribute export-ignore".into(),
            OmissionReason::Binary => "it is binary".into(),
        }
    }
}

fn shape(mode: Mode, stand_in: PlaceholderContent) -> String {
    match stand_in {
        _ if mode == Mode::Submodule => "an empty directory".to_owned(),
        PlaceholderContent::Empty => "an empty placeholder".to_owned(),
        PlaceholderContent::Nuls => "a placeholder of three NULs".to_owned(),
        PlaceholderContent::Sparse(size) => format!("a placeholder of {}", counted(size, "byte")),
        PlaceholderContent::Pointer => "a placeholder, its Git LFS pointer".to_owned(),
    }
}
