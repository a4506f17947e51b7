//! The walk over what changed: what the new tree shows of it becomes an entry.

use std::sync::Arc;

use gix::{ObjectId, bstr::ByteSlice};

use super::{Change, Diff, Step};
use crate::{
    decode::reader::Reader,
    error::Result,
    plan::{
        draft::{Draft, Item},
        entry::{Mode, Past},
        extra::Extra,
    },
    report::Status,
};

/// Where the walk is.
pub struct DeltaWalk {
    diff: Diff,
    /// Names of empty files that go in front.
    whiteouts: Vec<Vec<u8>>,
    extras: Arc<[Extra]>,
    begun: bool,
    through: bool,
    /// Extra files that had their turn.
    added: usize,
}

impl DeltaWalk {
    /// Walk what differs in `diff`, with empty files named `whiteouts` in front and the `extras` behind.
    pub fn new(diff: Diff, whiteouts: Vec<Vec<u8>>, extras: Arc<[Extra]>) -> Self {
        Self {
            diff,
            whiteouts,
            extras,
            begun: false,
            through: false,
            added: 0,
        }
    }

    /// How many directories were read, on both sides.
    pub fn directories(&self) -> u64 {
        self.diff.directories()
    }

    /// Go one step further, and append to `draft` what it brings to the archive; `false` at the end.
    pub fn step(&mut self, reader: &mut Reader, draft: &mut Draft) -> Result<bool> {
        if !self.begun {
            self.begun = true;
            self.begin(reader, draft);
        }
        if self.through {
            return Ok(self.extra(reader, draft));
        }
        match self.diff.step(reader)? {
            Step::End => self.through = true,
            Step::Changed(change) => self.changed(reader, draft, *change),
            Step::Directory(Status::Added, id) => {
                self.unwritten(reader, draft);
                let name = self.diff.name(Mode::Directory);
                directory(reader, draft, &name, id);
            }
            Step::Directory(..) | Step::Nothing => {}
        }
        Ok(true)
    }

    fn begin(&mut self, reader: &mut Reader, draft: &mut Draft) {
        let tree = self.diff.new_tree();
        for name in &self.whiteouts {
            draft.push_empty(name, tree);
        }
        let prefix = &self.diff.view().prefix;
        if prefix.ends_with(b"/") {
            let name = [prefix.trim_end_with(|byte| byte == '/'), b"/"];
            draft.push(&mut reader.odb, Item::new(&name, Mode::Directory, tree));
        }
    }

    fn changed(&mut self, reader: &mut Reader, draft: &mut Draft, change: Change) {
        // Attributes complained when the first look was taken.
        self.diff.view().note();
        let Some(new) = change.new else {
            return;
        };
        self.unwritten(reader, draft);
        let name = self.diff.name(new.mode);
        let name = [&name[..]];
        let past = Past {
            status: change.status,
            old: change.old.map(|old| (old.mode, old.id)),
        };
        draft.remember(past);
        let item = Item {
            kind: new.leaf.kind,
            disposition: new.leaf.disposition,
            size: new.leaf.size,
            treatment: new.leaf.treatment,
            ..Item::new(&name, new.mode, new.id)
        };
        draft.push(&mut reader.odb, item);
    }

    /// Append the directories down to the current path that are not in the archive yet.
    fn unwritten(&mut self, reader: &mut Reader, draft: &mut Draft) {
        for (id, name) in self.diff.unwritten() {
            directory(reader, draft, &name, id);
        }
    }

    /// Append the next extra file; `false` if there is none.
    fn extra(&mut self, reader: &mut Reader, draft: &mut Draft) -> bool {
        let Some(extra) = self.extras.get(self.added) else {
            return false;
        };
        let tree = self.diff.new_tree();
        let view = self.diff.view();
        let path = extra.name.get(view.prefix.len()..);
        let text = path.and_then(|path| view.text_of(reader, tree, path));
        draft.push_extra(tree.kind(), self.added as u32, extra, text);
        self.added += 1;
        true
    }
}

fn directory(reader: &mut Reader, draft: &mut Draft, name: &[u8], id: ObjectId) {
    draft.push(&mut reader.odb, Item::new(&[name], Mode::Directory, id));
}
