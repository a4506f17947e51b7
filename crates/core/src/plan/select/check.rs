//! Checks with one walk that every pathspec matches something.
//!
//! As in git, each pathspec is tested on its own, against the whole tree, before anything is written.

use std::io::Write;

use bstr::{BStr, ByteSlice};
use gix_hash::ObjectId;

use super::Selection;
use crate::filter::{DirectoryDecision, Filter};
use sluice_base::error::{self, Error, Result, format_bytes};
use sluice_git::{
    attributes::Attributes,
    objects::reader::Reader,
    pathspec::{Pathspec, Pathspecs},
    tree::{Mode, Mount, TreeRules, TreeStep, Trees, reported},
};

/// The result for one pathspec so far.
#[derive(Clone, Copy, Default)]
struct Finding {
    matched: Match,
    /// The number of the failure that ended the pathspec's search. As in git, the failure counts as a match.
    failure: Option<usize>,
}

/// What a pathspec matches. A later value takes the place of an earlier one.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    #[default]
    Nothing,
    /// Entries of the archived directory.
    Inside,
    /// An entry outside of the archived directory, which the archive refuses.
    Outside,
}

/// The results for all pathspecs.
pub struct Findings {
    each: Vec<Finding>,
    /// Failures that end the search of single pathspecs.
    failures: Vec<Error>,
    /// The number of pathspecs without a match so far.
    open: usize,
}

impl Findings {
    /// The results before the search.
    pub fn new(pathspecs: &Pathspecs) -> Self {
        let number = pathspecs.given().len();
        Self {
            each: vec![Finding::default(); number],
            failures: Vec::new(),
            open: number,
        }
    }

    /// Fail in git's words for the first of the `pathspecs` that matches nothing, unless it may, or something outside of the
    /// directory that is archived. Failures of the search go to `diagnostics`.
    pub fn verdict(self, pathspecs: &Pathspecs, diagnostics: &mut dyn Write) -> Result<()> {
        for (given, finding) in pathspecs.given().iter().zip(self.each) {
            if let Some(failure) = finding.failure {
                let _ = diagnostics.write_all(&self.failures[failure].lines());
            }
            if finding.matched == Match::Outside {
                return Err(Error::fatal(format_bytes(
                    "pathspec '{}' matches files outside the current directory",
                    &[given],
                )));
            }
            if finding.matched == Match::Nothing && !pathspecs.may_be_unmatched() {
                return Err(Error::unmatched(given));
            }
        }
        Ok(())
    }
}

/// The walk.
struct Check<'a> {
    below: &'a BStr,
    mount: &'a Mount,
    pathspecs: &'a Pathspecs,
    filter: &'a Filter,
    attributes: &'a mut Attributes,
    findings: &'a mut Findings,
    /// Whether a pathspec requires attributes.
    attributes_asked: bool,
}

impl Selection {
    /// Fail in git's words for the first pathspec that matches nothing in all of `tree`, or something
    /// outside of the directory that is archived. Complaints about attribute files go to `diagnostics`. An
    /// entry that the `filter` does not allow to be known is not there.
    pub fn check(
        &mut self,
        tree: ObjectId,
        rules: TreeRules,
        filter: &Filter,
        reader: &mut Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<()> {
        let mut findings = Findings::new(&self.pathspecs);
        self.search((tree, rules), filter, reader, &mut findings, diagnostics)?;
        findings.verdict(&self.pathspecs, diagnostics)
    }

    /// Look for a match of each pathspec in `tree`, and note the matches in `findings`.
    pub fn search(
        &mut self,
        (tree, rules): (ObjectId, TreeRules),
        filter: &Filter,
        reader: &mut Reader,
        findings: &mut Findings,
        diagnostics: &mut dyn Write,
    ) -> Result<()> {
        let Selection {
            below,
            mount,
            pathspecs,
            attributes,
            ..
        } = self;
        // No other result is of interest at the root.
        if pathspecs.is_empty() || (pathspecs.may_be_unmatched() && below.is_empty()) {
            return Ok(());
        }
        let mut check = Check {
            below: below.as_bstr(),
            mount,
            pathspecs,
            filter,
            attributes,
            findings,
            attributes_asked: pathspecs.attributes().next().is_some(),
        };
        let walked = check.walk(tree, rules, reader);
        attributes.reset();
        let note = attributes.note();
        if filter.access.is_none() {
            let _ = diagnostics.write_all(&note.before);
        }
        walked
    }
}

impl Check<'_> {
    fn walk(&mut self, tree: ObjectId, rules: TreeRules, reader: &mut Reader) -> Result<()> {
        let mut trees = Trees::new(tree, rules);
        let mut path = Vec::new();
        self.enter(&mut trees, tree, reader, &path)?;
        while self.findings.open > 0 || !self.below.is_empty() {
            match trees.next(reader, &mut path)? {
                None => break,
                Some(TreeStep::End) => self.leave(),
                Some(TreeStep::Directory(id)) => {
                    // Under access rules, only an allowed entry reveals its directory.
                    if self.filter.access.is_none() {
                        self.look_at(&path, None)?;
                    }
                    if self.descends(&path)
                        && self.filter.directory(&path) != DirectoryDecision::Denied
                    {
                        match self.enter(&mut trees, id, reader, &path) {
                            Err(error) if self.is_missing_tree(&error) => {
                                self.stop_at(&path, error);
                            }
                            entered => entered?,
                        }
                    }
                }
                Some(TreeStep::Leaf { mode, .. }) if self.filter.allows(&path) => {
                    self.look_at(&path, Some(mode))?;
                }
                Some(TreeStep::Leaf { .. }) => {}
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        trees: &mut Trees,
        id: ObjectId,
        reader: &mut Reader,
        path: &[u8],
    ) -> Result<()> {
        trees.enter(reader, id, path)?;
        if self.attributes_asked {
            self.attributes
                .enter(reader, path, |_| Ok(trees.attribute_file()))
                .map_err(|error| reported(error, trees.root(), self.filter.access.is_some()))?;
        }
        Ok(())
    }

    fn leave(&mut self) {
        if self.attributes_asked {
            self.attributes.leave();
        }
    }

    /// Test all pathspecs against `path`: a directory of the tree unless its `mode` is given.
    fn look_at(&mut self, path: &[u8], mode: Option<Mode>) -> Result<()> {
        let pathspecs = self.pathspecs;
        let full = &self.mount.path(path)[..];
        let is_dir = mode.is_none_or(Mode::is_directory);
        let is_above = self.below.starts_with(path) && self.below.len() == path.len() + 1;
        let is_inside = path.starts_with(self.below);
        let outside = mode.is_some() && !is_inside;
        let place = if outside {
            Match::Outside
        } else {
            Match::Inside
        };
        for &(number, ref spec) in pathspecs.searched() {
            if !self.is_open(number) {
                continue;
            }
            let matches = match mode {
                None => spec.matches_directory(full),
                Some(_) => spec.matches(full, is_dir),
            };
            let hit = matches
                && match &spec.requirements {
                    Some(required) => self.attributes.meets(required, path, mode)?,
                    None => true,
                };
            if spec.exclude {
                let is_named = is_above && pathspecs.include_directory();
                if !hit && (is_inside || is_named) {
                    self.found(number, Match::Inside);
                }
            } else if hit {
                self.found(number, place);
            }
        }
        let named = pathspecs.named();
        for name in named.at(full) {
            if is_dir || !name.only_directory {
                self.found(name.number, place);
            }
        }
        // Under access rules, an allowed entry reveals the directories above.
        if outside || self.filter.access.is_some() {
            for name in named.above(full) {
                self.found(name.number, place);
            }
        }
        Ok(())
    }

    fn found(&mut self, number: usize, matched: Match) {
        let finding = &mut self.findings.each[number];
        if finding.matched == Match::Nothing {
            self.findings.open -= 1;
        }
        finding.matched = finding.matched.max(matched);
    }

    /// The last result that the walk can have for a pathspec.
    fn last_match(&self) -> Match {
        if self.below.is_empty() {
            Match::Inside
        } else {
            Match::Outside
        }
    }

    /// Whether `error` ends the search only of the pathspecs that lead below the unreadable tree.
    fn is_missing_tree(&self, error: &Error) -> bool {
        error.kind() == error::ExitKind::Entry && self.filter.access.is_none()
    }

    /// The directory `path` cannot be entered because of `error`.
    fn stop_at(&mut self, path: &[u8], error: Error) {
        let failure = Some(self.findings.failures.len());
        self.findings.failures.push(error);
        let pathspecs = self.pathspecs;
        let path = &self.mount.path(path)[..];
        let named = pathspecs.named().below(path).map(|name| name.number);
        let searched = pathspecs.searched().iter();
        let searched = searched.filter(|(_, spec)| leads_below(spec, path));
        for number in named.chain(searched.map(|(number, _)| *number)) {
            if self.is_open(number) {
                self.findings.each[number].failure = failure;
                self.found(number, self.last_match());
            }
        }
    }

    /// Whether the rest of the walk may change the result for a pathspec.
    fn is_open(&self, number: usize) -> bool {
        self.findings.each[number].matched < self.last_match()
    }

    /// Whether entries below the directory `path` may change a result.
    fn descends(&self, path: &[u8]) -> bool {
        let named = self.pathspecs.named();
        let outside = !path.starts_with(self.below);
        let path = &self.mount.path(path)[..];
        let searched =
            |(number, spec): &(usize, Pathspec)| self.is_open(*number) && leads_below(spec, path);
        named.leads_below(path)
            || ((outside || self.filter.access.is_some()) && named.covers(path, true))
            || self.pathspecs.searched().iter().any(searched)
    }
}

fn leads_below(spec: &Pathspec, path: &[u8]) -> bool {
    spec.exclude || spec.may_match_below(path)
}
