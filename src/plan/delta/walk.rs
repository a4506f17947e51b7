//! The walk over what changed: what the new tree shows of it becomes an entry.

use std::{ops::ControlFlow, sync::Arc};

use gix::bstr::ByteSlice;

use super::{
    deletions::Names,
    findings::{Finding, Findings, Found},
    survey::whiteout,
};
use crate::{
    decode::reader::Reader,
    error::Result,
    plan::{
        draft::{Draft, Item},
        extra::Extra,
    },
    tree::Mode,
};

/// Where the walk is.
pub struct DeltaWalk {
    findings: Findings,
    /// What is gone, if empty files in front stand for that.
    whiteouts: Option<Names>,
    extras: Arc<[Extra]>,
    begun: bool,
    through: bool,
    /// Extra files that had their turn.
    added: usize,
}

impl DeltaWalk {
    /// Walk `findings`, with empty files for `whiteouts` in front and the `extras` behind.
    pub fn new(findings: Findings, whiteouts: Option<Names>, extras: Arc<[Extra]>) -> Self {
        Self {
            findings,
            whiteouts,
            extras,
            begun: false,
            through: false,
            added: 0,
        }
    }

    /// How many directories were read, on both sides.
    pub fn directories(&self) -> u64 {
        self.findings.directories()
    }

    /// Go one step further, and append to `draft` what it brings to the archive; `false` at the end.
    pub fn step(&mut self, reader: &mut Reader, draft: &mut Draft) -> Result<bool> {
        if let Some(names) = &mut self.whiteouts {
            let tree = self.findings.new_tree();
            match names.next_name()? {
                Some(name) => draft.push_empty(&whiteout(&name), tree),
                None => self.whiteouts = None,
            }
            return Ok(true);
        }
        if !self.begun {
            self.begun = true;
            self.begin(draft);
        }
        if self.through {
            return self.extra(reader, draft);
        }
        match self.findings.step(reader)? {
            ControlFlow::Break(()) => self.through = true,
            ControlFlow::Continue(finding) => {
                finding.into_iter().for_each(|it| append(draft, it));
            }
        }
        Ok(true)
    }

    /// Leave the later part of the walk to another.
    pub fn fork(&mut self) -> Option<Self> {
        if !self.begun {
            return None;
        }
        let findings = self.findings.fork()?;
        Some(Self {
            findings,
            whiteouts: None,
            extras: std::mem::take(&mut self.extras),
            begun: true,
            through: false,
            added: 0,
        })
    }

    fn begin(&mut self, draft: &mut Draft) {
        let tree = self.findings.new_tree();
        let prefix = &self.findings.view().prefix;
        if prefix.ends_with(b"/") {
            let name = [prefix.trim_end_with(|byte| byte == '/'), b"/"];
            draft.push(Item::new(&name, Mode::Directory, tree));
        }
    }

    /// Append the next extra file; `false` if there is none.
    fn extra(&mut self, reader: &mut Reader, draft: &mut Draft) -> Result<bool> {
        let Some(extra) = self.extras.get(self.added) else {
            return Ok(false);
        };
        let tree = self.findings.new_tree();
        let view = self.findings.view();
        let path = extra.name.get(view.prefix.len()..);
        let text = path.map(|path| view.text_of(reader, tree, path));
        let text = text.transpose()?.flatten();
        draft.push_extra(tree.kind(), self.added as u32, extra, text);
        self.added += 1;
        Ok(true)
    }
}

fn append(draft: &mut Draft, finding: Finding) {
    let Found { name, past, new } = match finding {
        Finding::Entry(found) => found,
        Finding::Directory(id, name) => {
            return draft.push(Item::new(&[&name], Mode::Directory, id));
        }
    };
    draft.remember(past);
    let name = [&name[..]];
    let item = Item {
        kind: new.leaf.kind,
        disposition: new.leaf.disposition,
        size: new.leaf.size,
        treatment: new.leaf.treatment,
        ..Item::new(&name, new.mode, new.id)
    };
    draft.push(item);
}
