//! Finds files that would have another content if the same commit were archived again, before the first byte.
//!
//! The plan runs as for the archive. Of the files, only those with `export-subst` are read.

use std::io::Write;

use super::fetch;
use crate::{
    plan::{Blob, Entry, Planner},
    request::{ArchivedRepository, Request},
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, counted, format_bytes, printable_path},
    pipeline::Source,
};
use sluice_git::{
    convert::{is_encoded, varying_placeholder},
    objects::{Failure, reader::Reader},
};

/// As many files are named.
const MAX_NAMED: usize = 20;

/// Refuses a `request` whose archive depends on more than the commit and the options, and names the files. Returns the request
/// with all objects that it needs; git's messages about fetching them go to `diagnostics`.
pub fn refuse_varying(request: Request, diagnostics: &mut dyn Write) -> Result<Request> {
    let request = fetch::completed(request, diagnostics)?;
    let content = request.content.clone();
    let mut sources: Vec<_> = content.repositories.iter().map(Files::of).collect();
    let trees = content.repositories.into_iter();
    let trees = trees.map(|repository| repository.tree);
    let mut planner = Planner::new(trees, content.extras);
    let mut varying = Vec::new();
    loop {
        let made = planner.next()?;
        let window = &made.batch;
        for entry in window.entries.iter().filter(|entry| !entry.is_omitted()) {
            if let Some(reason) = sources[window.store.0].reason(entry)? {
                let path = printable_path(window.path(entry));
                varying.push(format_bytes("error: '{}' {}", &[&path, reason.as_bytes()]));
            }
        }
        if made.last {
            break;
        }
    }
    if varying.is_empty() {
        return Ok(request);
    }
    let refused = Error::varies(format!(
        "the archive may vary in {}",
        counted(varying.len() as u64, "file")
    ));
    let named = varying.into_iter().take(MAX_NAMED);
    Err(named
        .fold(refused, Error::after)
        .hinted("%H, %ad and %s show the commit alone"))
}

/// The files of one repository.
struct Files {
    reader: Reader,
    has_commit: bool,
    is_encoded: bool,
    has_plain_parents: bool,
    content: Buffer,
}

impl Files {
    fn of(repository: &ArchivedRepository) -> Self {
        Self {
            reader: repository.tree.reader.clone(),
            has_commit: repository.treeish.commit.is_some(),
            is_encoded: is_encoded(&repository.treeish.content),
            has_plain_parents: repository.has_plain_parents,
            content: Buffer::default(),
        }
    }

    /// Why the content of `entry` may change, if it may.
    fn reason(&mut self, entry: &Entry) -> Result<Option<String>> {
        if let Some(driver) = &entry.treatment.filter {
            return Ok(Some(format!(
                "is converted by the filter '{}'",
                driver.name
            )));
        }
        if !entry.treatment.substitute || !self.has_commit {
            return Ok(None);
        }
        if matches!(entry.blob, Blob::Lfs(_)) {
            return Ok(Some("has export-subst, and comes from Git LFS".to_owned()));
        }
        if self.is_encoded {
            return Ok(Some(
                "has export-subst, and the commit is not in UTF-8".to_owned(),
            ));
        }
        let failed =
            |failure: Failure| failure.explain(Error::entry(format!("cannot read '{}'", entry.id)));
        self.reader
            .read(&entry.id, &mut self.content)
            .map_err(failed)?;
        let found = varying_placeholder(&self.content, self.has_plain_parents);
        Ok(found.map(|found| format!("expands {found}")))
    }
}
