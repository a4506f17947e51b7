//! The view of a tree that the options ask for. A view decides about paths, kinds and names. Must not read blobs other
//! than attribute and exclude files.

use std::{cell::RefCell, io::Write, os::unix::ffi::OsStrExt, sync::Arc};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use super::{
    Budget,
    archived::{ArchivedRepository, command_context},
    filter,
    purpose::Purpose,
};
use crate::{
    filter::Filter,
    plan::{
        Naming, PlannedTree, ReadAhead,
        delta::DeltaRules,
        outer::Entered,
        select::{CopiedPaths, Selection},
        view::View,
    },
};
use sluice_base::error::{Error, Result};
use sluice_cli::Args;
use sluice_git::{
    attributes::{AttributeSettings, AttributeSource, Attributes, Demand},
    environment::Environment,
    objects::{reader::Reader, wanted::MissingObjects},
    odb::MadeTrees,
    pathspec::{Defaults, Pathspecs, Top},
    repository::{Repository, promisors::Promisors, settings, treeish::Treeish},
    tree::{CopyRules, Mount, TreeRules, copy_links},
};

/// The inputs of a view.
pub(super) struct ViewBuilder<'a> {
    pub(super) args: &'a Args,
    pub(super) purpose: Purpose,
    pub(super) filters: &'a filter::FilterRules<'a>,
    pub(super) attributes: AttributeSettings,
    /// The directory of the work tree that the user is in.
    pub(super) below: &'a BString,
    /// The top of the work tree.
    pub(super) top: Top<'a>,
    pub(super) environment: &'a Environment,
    /// Whether the format marks text files.
    pub(super) text: bool,
    pub(super) rules: TreeRules,
    pub(super) budget: Budget,
    /// Threads that read ahead.
    pub(super) read_ahead: RefCell<Vec<ReadAhead>>,
    /// Trees with copies in place of links.
    pub(super) made: Arc<MadeTrees>,
    /// What submodules lack and can fetch is noted here, if it is fetched.
    pub(super) fetching: Option<Fetching<'a>>,
}

/// The objects that are to be fetched, and where from.
#[derive(Clone, Copy)]
pub(super) struct Fetching<'a> {
    pub(super) promisors: &'a Promisors,
    pub(super) wanted: &'a MissingObjects,
}

impl ViewBuilder<'_> {
    /// The rules for a comparison of two trees, of commits that differ if `other_commit`.
    pub(super) fn delta_rules(
        &self,
        reader: &mut Reader,
        (old, new): (ObjectId, ObjectId),
        other_commit: bool,
    ) -> DeltaRules {
        let raw = self.filters.is_raw();
        let attributes = !raw && matches!(self.attributes.source, AttributeSource::Archived);
        let from_elsewhere = attributes && self.converts_from_elsewhere() && old != new;
        DeltaRules {
            ignore_mode: self.args.delta.ignore_mode_changes,
            other_rules: from_elsewhere || self.filters.differ(reader, old, new),
            attributes,
            other_commit: !raw && other_commit,
        }
    }

    /// Whether git converts files by attribute files that lie elsewhere in the tree, as it does in a sub-directory.
    fn converts_from_elsewhere(&self) -> bool {
        !self.below.is_empty() && self.args.content.relative.is_none()
    }

    /// The selection and the filter of a tree.
    pub(super) fn parts(
        &self,
        reader: &mut Reader,
        treeish: &Treeish,
        diagnostics: &mut dyn Write,
    ) -> Result<(Selection, Filter)> {
        let pathspecs = self
            .args
            .content
            .paths
            .iter()
            .map(|path| path.as_bytes().into());
        let magic = Defaults::read(&self.environment.pathspecs, &self.args.content.paths)?;
        let pathspecs = Pathspecs::parse(pathspecs, self.below.as_bstr(), self.top, magic)?;
        let pathspecs = pathspecs.unmatched(self.args.content.ignore_unmatch);
        let attributes = self.unless_raw(self.attributes.clone());
        let selection = self.selection(pathspecs, attributes)?;
        let filter = self.filters.filter(reader, treeish.tree, diagnostics)?;
        if filter.access.is_some() && treeish.commit.is_none() {
            return Err(Error::fatal("cannot apply access rules to a tree")
                .caused_by("its paths may not begin at the root; name a commit"));
        }
        Ok((selection, filter))
    }

    /// The selection for the directory below the top, by `pathspecs`.
    fn selection(&self, pathspecs: Pathspecs, attributes: AttributeSettings) -> Result<Selection> {
        let demand = Demand {
            text: self.text,
            pathspecs: pathspecs.attributes().cloned().collect(),
        };
        let relative = Demand {
            text: self.text,
            ..Demand::default()
        };
        let relative = self
            .converts_from_elsewhere()
            .then(|| Attributes::new(attributes.clone(), relative));
        Ok(Selection {
            relative: relative.transpose()?,
            below: self.below.clone(),
            mount: Mount::default(),
            attributes: Attributes::new(attributes, demand)?,
            pathspecs: Arc::new(pathspecs),
            copied: None,
        })
    }

    /// The tree to walk for `root`, which `selection` and `filter` see: with copies in place of links, if the options say so.
    pub(super) fn with_copies(
        &self,
        reader: &mut Reader,
        root: ObjectId,
        selection: &mut Selection,
        filter: &Filter,
    ) -> Result<ObjectId> {
        if !self.filters.copies_links() {
            return Ok(root);
        }
        let may_copy = |path: &[u8], is_directory: bool| {
            if is_directory {
                filter.allows_all(path)
            } else {
                filter.allows(path)
            }
        };
        let rules = CopyRules {
            may_copy: &may_copy,
            enters_submodules: self.filters.enters_submodules(),
            max_depth: self.rules.max_depth,
            made: Arc::clone(&self.made),
        };
        reader.odb.see(&self.made);
        let (tree, copies) = copy_links(reader, root, &rules)?;
        selection.copied = Some(Box::new(CopiedPaths::new(
            Arc::new(copies),
            (root, reader.clone()),
            selection.attributes.clone(),
            filter.access.is_none(),
        )));
        Ok(tree)
    }

    /// The settings of attributes, unless all files keep their stored bytes.
    fn unless_raw(&self, attributes: AttributeSettings) -> AttributeSettings {
        if self.filters.is_raw() {
            AttributeSettings {
                source: AttributeSource::Nowhere,
                ..AttributeSettings::default()
            }
        } else {
            attributes
        }
    }

    /// The view of the `tree` of a submodule in its `repository`, at `path` of the tree that is seen through `outer`.
    pub(super) fn view_below(
        &self,
        (outer, path): (&View, &BString),
        (repository, tree): (&Repository, ObjectId),
        reader: &mut Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<View> {
        let mut attributes = repository.settings.attributes.clone();
        attributes.lfs = self
            .filters
            .lfs_files(repository, self.environment, self.budget)?;
        attributes.needs_files = self.filters.does_without(repository);
        attributes.shareable = outer.selection.attributes.settings().shareable.clone();
        attributes.drivers = settings::drivers(&repository.config, &repository.directory)?;
        if self.text {
            attributes.diff_binary =
                settings::diff_binary(&repository.config, &repository.directory)?;
        }
        let demand = Demand {
            text: self.text,
            pathspecs: outer.selection.pathspecs.attributes().cloned().collect(),
        };
        let mount = outer.filter.mount.submodule(path);
        let selection = Selection {
            below: BString::default(),
            mount: mount.clone(),
            pathspecs: Arc::clone(&outer.selection.pathspecs),
            attributes: Attributes::new(self.unless_raw(attributes), demand)?,
            relative: None,
            copied: None,
        };
        let filters = self.filters;
        let filter = filters.filter_below(&outer.filter, mount, reader, tree, diagnostics)?;
        Ok(View::new(
            outer.naming.in_submodule(path),
            selection,
            filter,
        ))
    }

    pub(super) fn view(&self, selection: Selection, filter: Filter) -> View {
        let prefix = self.args.content.prefix.as_deref().unwrap_or_default();
        let naming = Naming {
            prefix: prefix.as_bytes().into(),
            below: self.below.clone(),
        };
        View::new(naming, selection, filter)
    }

    /// The `repository` that was asked for, whose `treeish` is seen through `view` as `tree`, with the submodules in `entered`.
    pub(super) fn archived(
        &self,
        (repository, reader): (&Repository, &Reader),
        (treeish, tree): (&Treeish, ObjectId),
        view: View,
        entered: Entered,
    ) -> ArchivedRepository {
        ArchivedRepository {
            tree: PlannedTree {
                tree,
                view,
                changes: None,
                rules: self.rules,
                entered: Arc::new(entered),
                reader: reader.clone(),
            },
            treeish: treeish.clone(),
            command_context: command_context(repository, self.below.clone()),
            big_file: repository.settings.big_file,
            has_plain_parents: repository.has_plain_parents(),
        }
    }
}
