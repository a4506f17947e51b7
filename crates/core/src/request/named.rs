//! What the word for a tree names, and how old it is.

use std::{
    io::{self, Write},
    os::unix::ffi::OsStrExt,
};

use bstr::{BStr, ByteSlice};
use gix_hash::ObjectId;

use super::{
    Access, clock, filter,
    inputs::{Inputs, Preflight},
    purpose::Purpose,
};
use sluice_base::error::{Error, ExitKind, Result, format_bytes};
use sluice_cli::CommandName;
use sluice_git::{
    environment::Environment,
    objects::reader::Reader,
    repository::{
        Repository, date,
        treeish::{self, Treeish},
    },
    tree::directory_at,
};

impl Inputs<'_> {
    pub(super) fn treeish(
        self,
        repository: &Repository,
        filters: &filter::FilterRules<'_>,
        reader: &mut Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<Treeish> {
        let name = self.args.content.treeish.as_deref().unwrap_or_default();
        let name = name.as_bytes().as_bstr();
        let must_be_ref = self.access == Access::Remote && !repository.settings.allow_unreachable;
        let required = must_be_ref.then(|| treeish::required_ref(repository, name));
        let required = required.transpose()?;
        filters.fit_name(name)?;
        let mut treeish = treeish::resolve(repository, reader, name, diagnostics)
            .map_err(|error| self.hint_at_meaning(name, error))?;
        // As in git, a filter gets this ref even if a path in its tree is archived.
        if let Some(full_name) = required {
            treeish.reference = treeish::known_reference(full_name);
        }
        filters.warn_of_pointers(name, &treeish, diagnostics);
        Ok(treeish)
    }

    /// The time of the entries of an archive of `treeish`.
    pub(super) fn mtime(self, repository: &Repository, treeish: &Treeish) -> Result<u64> {
        let Environment {
            is_stable,
            ref source_date_epoch,
            ..
        } = *self.environment;
        match &self.args.content.mtime {
            Some(time) if is_stable => date::fixed_mtime(time, &repository.location),
            Some(time) => date::mtime(time, &repository.location),
            None if self.chooses_time(treeish) => clock::of_tree(source_date_epoch.as_deref()),
            None => Ok(treeish.time),
        }
    }

    /// Whether neither git nor the user decides about the time of the entries.
    pub(super) fn chooses_time(self, treeish: &Treeish) -> bool {
        let is_given = treeish.commit.is_some() || self.args.content.mtime.is_some();
        self.environment.is_stable && !is_given
    }

    /// Refuses a `--relative` that is no directory of the `tree`, unless that is for somebody who may not know.
    pub(super) fn fit_relative(
        self,
        known: &Preflight<'_>,
        tree: ObjectId,
        reader: &mut Reader,
    ) -> Result<()> {
        let content = &self.args.content;
        let (Some(directory), None) = (&content.relative, &known.filters.access) else {
            return Ok(());
        };
        // What cannot be read is for the archive to report.
        let found = directory_at(reader, tree, tree.kind(), &known.repository.prefix);
        if !matches!(found, Ok(None)) {
            return Ok(());
        }
        let name = content.treeish.as_deref().unwrap_or_default().as_bytes();
        let values = [directory.as_bytes(), name];
        Err(
            Error::fatal(format_bytes("'{}' is no directory of '{}'", &values))
                .hinted_command("to list them: git ls-tree -d -r {}", &[name]),
        )
    }

    /// `error` about `name`, with a hint if `name` is a range of commits or nearly a command. Clients and callers of git know
    /// none of these.
    fn hint_at_meaning(self, name: &BStr, error: Error) -> Error {
        let is_unknown = error.kind() == ExitKind::UnknownName;
        if self.access != Access::Local || !is_unknown || name.contains(&b':') {
            return error;
        }
        match name.split_once_str("..") {
            Some((base, target)) if !base.is_empty() && !target.is_empty() => {
                let target = target.trim_start_with(|letter| letter == '.');
                error.hinted_command("git sluice --base={} {}", &[base, target])
            }
            _ => match name.to_str().ok().and_then(CommandName::meant_by) {
                Some(hint)
                    if self.purpose == Purpose::Archive && !self.environment.sluice.stands_in =>
                {
                    error.hinted(hint)
                }
                _ => error,
            },
        }
    }

    /// `error`, with a hint if it is about a pathspec that names a tree: the first tree-ish may be meant as the base.
    pub(super) fn hint_at_base(
        self,
        repository: &Repository,
        reader: &mut Reader,
        error: Error,
    ) -> Error {
        let content = &self.args.content;
        let is_for_user = self.access == Access::Local
            && !self.environment.sluice.stands_in
            && self.args.delta.base.is_none();
        let (ExitKind::Unmatched, Purpose::Archive, true, Some(base), [target, ..]) = (
            error.kind(),
            self.purpose,
            is_for_user,
            &content.treeish,
            &content.paths[..],
        ) else {
            return error;
        };
        let [base, target] = [base, target].map(|name| name.as_bytes().as_bstr());
        // With magic, a pathspec looks like the search for a commit.
        if target.starts_with(b":") {
            return error;
        }
        match treeish::resolve(repository, reader, target, &mut io::sink()) {
            Ok(_) => error.hinted_command("git sluice --base={} {}", &[base, target]),
            Err(_) => error,
        }
    }
}
