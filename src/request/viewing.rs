//! The scope of a request: one view of a tree, or two views where only the changes are sent. A view decides about
//! paths, kinds and names. Must not read blobs other than attribute and ignore files.

use std::{io::Write, os::unix::ffi::OsStrExt, sync::Arc};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};

use super::{
    Budget,
    delta::{self, Delta},
    filter,
};
use crate::{
    attributes::{AttributeSettings, AttributeSource, Attributes, Demand},
    cli::Args,
    decode::reader::Reader,
    error::{Error, Result},
    filter::Filter,
    pathspec::{Pathspecs, Top},
    plan::{
        delta::{Bounds, DeltaRules, Side},
        select::Selection,
        view::View,
    },
    repository::{
        Repository,
        environment::Environment,
        settings,
        treeish::{self, Treeish},
    },
    tree::{Mount, TreeRules},
};

/// The part of a tree that is archived.
#[derive(Clone)]
pub enum Scope {
    /// Everything that the view shows.
    Whole(Box<View>),
    /// The changes between two views.
    Delta(Box<Delta>),
}

/// The inputs of a view.
pub(super) struct Viewing<'a> {
    pub(super) args: &'a Args,
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
}

impl Viewing<'_> {
    /// The scope in `target`. Warnings go to `diagnostics`.
    pub(super) fn scope(
        &self,
        gix: &gix::Repository,
        reader: &mut Reader,
        target: &Treeish,
        diagnostics: &mut dyn Write,
    ) -> Result<Scope> {
        let (mut selection, filter) = self.parts(reader, target, diagnostics)?;
        let checked = selection.check(target.tree, self.rules, &filter, reader, diagnostics);
        let Some(base) = &self.args.delta.base else {
            checked?;
            return Ok(Scope::Whole(Box::new(self.view(selection, filter))));
        };
        let name = base.as_bytes().as_bstr();
        self.filters.fit_name(name)?;
        let base = treeish::resolve(gix, reader, name, diagnostics)
            .map_err(|error| delta::unavailable(name, error))?;
        // Warnings about rules were given for the target.
        let unheard = &mut std::io::sink();
        let (mut old_selection, old_filter) = self.parts(reader, &base, unheard)?;
        if let Err(error) = checked {
            // A pathspec without a match in the target may match in the base.
            let old = old_selection.check(base.tree, self.rules, &old_filter, reader, unheard);
            old.map_err(|_| error)?;
        }
        let old = self.view(old_selection, old_filter);
        let new = self.view(selection, filter);
        let raw = self.filters.is_raw();
        let rules = DeltaRules {
            ignore_mode: self.args.delta.ignore_mode,
            other_ignore: self.filters.differ(reader, base.tree, target.tree),
            attributes: !raw && matches!(self.attributes.source, AttributeSource::Archived),
            other_commit: !raw && base.commit != target.commit,
        };
        let side = |treeish: &Treeish, view| {
            let id = treeish.commit.unwrap_or(treeish.tree);
            (id, Side::new(treeish.tree, view, self.rules))
        };
        let (old, new) = (side(&base, old), side(target, new));
        let args = &self.args.delta;
        let bounds = Bounds {
            changes: None,
            cached_bytes: self.budget.changes(),
            threads: self.args.ours.threads.map(usize::from),
        };
        let delta = Delta::compare(args, old, new, (rules, bounds), reader, diagnostics)?;
        Ok(Scope::Delta(Box::new(delta)))
    }

    /// The selection and the filter of a tree.
    pub(super) fn parts(
        &self,
        reader: &mut Reader,
        treeish: &Treeish,
        diagnostics: &mut dyn Write,
    ) -> Result<(Selection, Filter)> {
        let pathspecs = self.args.paths.iter().map(|path| path.as_bytes().into());
        let magic = self.environment.pathspecs;
        let pathspecs = Pathspecs::parse(pathspecs, self.below.as_bstr(), self.top, magic)?;
        let attributes = self.unless_raw(self.attributes.clone());
        let selection = select(pathspecs, self.below, attributes, self.text)?;
        let filter = self.filters.filter(reader, treeish.tree, diagnostics)?;
        if filter.access.is_some() && treeish.commit.is_none() {
            return Err(Error::fatal("cannot apply access rules to a tree")
                .caused_by("its paths may not begin at the root; name a commit"));
        }
        Ok((selection, filter))
    }

    /// The settings of attributes, unless all files keep their stored bytes.
    fn unless_raw(&self, attributes: AttributeSettings) -> AttributeSettings {
        match self.filters.is_raw() {
            true => AttributeSettings {
                source: AttributeSource::Nowhere,
                ..AttributeSettings::default()
            },
            false => attributes,
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
        if self.text {
            attributes.diff_binary = settings::diff_binary(&repository.gix)?;
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
        };
        let filters = self.filters;
        let filter = filters.filter_below(&outer.filter, mount, reader, tree, diagnostics)?;
        let prefix = [&outer.prefix[..], &path[outer.below_len()..], b"/"].concat();
        Ok(View::new(prefix.into(), selection, filter))
    }

    pub(super) fn view(&self, selection: Selection, filter: Filter) -> View {
        let prefix = self.args.prefix.as_deref().unwrap_or_default();
        View::new(prefix.as_bytes().into(), selection, filter)
    }
}

/// The selection for the directory `below` the top. `text` asks attributes to mark text files.
fn select(
    pathspecs: Pathspecs,
    below: &BString,
    attributes: AttributeSettings,
    text: bool,
) -> Result<Selection> {
    let demand = Demand {
        text,
        pathspecs: pathspecs.attributes().cloned().collect(),
    };
    let relative = Demand {
        text,
        ..Demand::default()
    };
    let relative = (!below.is_empty()).then(|| Attributes::new(attributes.clone(), relative));
    Ok(Selection {
        relative: relative.transpose()?,
        below: below.clone(),
        mount: Mount::default(),
        attributes: Attributes::new(attributes, demand)?,
        pathspecs: Arc::new(pathspecs),
    })
}
