//! `compare`: says whether an archive has the files of a commit, and nothing else.
//!
//! The archive is read once, and only ids of its contents are kept. Then a walk over the tree compares ids, and blobs are read only
//! where attributes may change a file, or where one differs. The command writes no file. In a partial clone it fetches only attribute
//! files and such files.

mod applied;
mod class;
mod classes;
mod collector;
mod commit;
mod conversion;
mod diff;
mod expect;
mod form;
mod ids;
mod input;
mod listing;
mod naming;
mod package;
mod pair;
mod prefix;
mod report;
mod table;

use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    io::{self, BufWriter, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use bstr::{BString, ByteSlice};

use class::{Class, Counts};
use classes::{FirstWalk, needs_content};
use collector::{Contents, DAMAGED};
use conversion::Decider;
use diff::{Differ, Texts};
use listing::Listing;
use naming::{Naming, SameFiles, quoted};
use report::Report;
use sluice_base::error::{Error, Result, counted};
use sluice_cli::{Args, CliError, Compare, ExtraContent, Filters, RawArgs};
use sluice_core::context::{Context, Opened, Question};
use sluice_core::{
    archive,
    output::report::{ArchiveResult, Subject},
    request::{Content, Purpose, Request, format::Formats},
};
use sluice_format::unarchive::{self, Form, Raw, Visitor};
use sluice_git::{
    environment::Environment,
    repository::{
        Repository,
        promisor::FetchAccount,
        tags::{self, CommitNames, TAGS},
    },
    tree::Mode,
};

/// Runs the command.
pub fn run(words: RawArgs<'_>, mut context: Context<'_>) -> Result<(), CliError> {
    let (options, question) = context.question(words, |it: &Compare, extras| it.args(extras))?;
    let Question {
        args,
        opened,
        mut destination,
    } = question;
    let mut out = BufWriter::new(&mut destination);
    let outcome = match pair::other(&options, &opened.repository, &context) {
        Some(other) => pair::run((&options, other), &args, &mut context, &mut out),
        None => run_with_tree(&options, args, opened, &mut context, &mut out),
    };
    out.flush().map_err(|error| Error::write(&error))?;
    drop(out);
    destination.complete()?;
    Ok(outcome?)
}

/// The name of the comment of a tar or a zip.
const COMMENT: &str = "the comment of the archive";
/// The file in which `apply` notes the commit of a directory.
const APPLIED: &str = ".git-sluice";
/// The most tags that are compared as a whole.
const FINALISTS: usize = 8;

/// Compares the archive with a tree of the repository, and writes the lines to `out`.
fn run_with_tree<'c>(
    options: &Compare,
    args: Args,
    opened: Opened<'c>,
    context: &mut Context<'c>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut comparison = Comparison {
        options,
        args,
        repository: opened.repository?,
        formats: opened.formats,
        environment: &opened.environment,
        context,
        found_by: None,
        refs: CommitNames::Unnamed,
        nearest: None,
    };
    comparison.run(out)
}

/// A comparison whose options are understood.
struct Comparison<'a, 'c> {
    options: &'a Compare,
    args: Args,
    repository: Repository,
    formats: Formats,
    environment: &'a Environment,
    context: &'a mut Context<'c>,
    /// What names the commit, unless the words do.
    found_by: Option<String>,
    /// The names of the commit that was found.
    refs: CommitNames,
    /// In how many files the nearest tag differs, and how many older tags are as near.
    nearest: Option<(u64, usize)>,
}

impl Comparison<'_, '_> {
    /// Compares, and writes the lines to `out`.
    fn run(&mut self, out: &mut dyn Write) -> Result<()> {
        let hash = self.repository.hash();
        let mut report = input::report(self.options, self.context, out)?;
        let mut contents = input::read(
            (self.options, &self.options.archive),
            &self.args,
            hash,
            self.context,
        )?;
        self.find_commit(&mut contents)?;
        let (sent, found, prefix) = self.classify(&mut contents)?;
        let below = sent.blob_policy.naming.below.clone();
        let subject = sent.subject();
        self.write_commit(subject.commit.as_deref(), &mut report)?;
        self.list(&mut contents, &sent, &prefix, &mut report)?;
        if self.options.diff {
            self.show_texts(&mut contents, (&prefix, &below), &mut report)?;
        }
        self.end(&mut contents, &found, subject, &mut report)
    }

    /// Puts the entries of the archive into classes. Returns what `git archive` would send, and the prefix.
    fn classify(&mut self, contents: &mut Contents) -> Result<(Content, FirstWalk, Vec<u8>)> {
        let prefix = self.find_prefix(contents)?;
        self.args.content.prefix = Some(OsString::from_vec(prefix.clone()));
        let sent = self.request("tar")?.content;
        let found = classes::walk(sent.clone(), &mut contents.table)?;
        if found.has_undecided {
            let below = sent.blob_policy.naming.below.clone();
            self.decide(contents, (&prefix, &below))?;
        }
        Ok((sent, found, prefix))
    }

    /// Finds the commit and the directory, unless the words name a commit.
    fn find_commit(&mut self, contents: &mut Contents) -> Result<()> {
        if self.args.content.treeish.is_some() {
            return Ok(());
        }
        // Files that the repository has itself, such as package.json, say less than the comment of git archive.
        let belief = match contents.comment {
            Some(_) => None,
            None => contents.clues.belief(&contents.table, &self.tags()?),
        };
        let content = &mut self.args.content;
        if let Some(belief) = &belief {
            let directory = OsString::from(&belief.directory);
            let is_whole = directory.is_empty() || !content.paths.is_empty();
            if !is_whole && content.relative.is_none() {
                self.repository = self.repository.clone().seen_from(&directory)?;
                content.relative = Some(directory);
            }
            if content.prefix.is_none() {
                content.prefix = Some(OsString::from_vec(belief.prefix.clone()));
            }
        }
        if self.options.search {
            return self.search(contents);
        }
        let source = match contents.form {
            Form::Directory => APPLIED,
            Form::Tar(_) | Form::Zip => COMMENT,
        };
        let comment = contents
            .comment
            .map(|id| (id.to_string(), source.to_owned()));
        let named = comment.or_else(|| belief.map(|it| (it.revision, it.source)));
        let (revision, source) = named.ok_or_else(|| {
            Error::fatal("the archive does not say which commit it has")
                .hinted("name a commit, or look for the nearest tag with --search")
        })?;
        let commit = commit::named(&self.repository, &revision)?;
        content.treeish = Some(commit.to_string().into());
        self.found_by = Some(source);
        self.refs = tags::names(&self.repository, commit);
        Ok(())
    }

    /// The names of all tags.
    fn tags(&self) -> Result<HashSet<BString>> {
        let tags = tags::refs(&self.repository, TAGS).map_err(commit::unreadable)?;
        Ok(tags
            .iter()
            .map(|tag| tag.name[TAGS.len()..].into())
            .collect())
    }

    /// Finds the nearest tag: ids choose a few, and a whole comparison with each of these decides.
    fn search(&mut self, contents: &mut Contents) -> Result<()> {
        let given = self.args.clone();
        let below = self.repository.prefix.clone();
        let table = &mut contents.table;
        let prefix = given.content.prefix.as_deref().map(OsStr::as_bytes);
        let candidates = commit::candidates(&self.repository, table, &below, prefix)?;
        let (mut finalists, mut failure) = (Vec::new(), None);
        let mut rest = candidates.iter();
        for candidate in rest.by_ref().take(FINALISTS) {
            self.args = given.clone();
            self.args.content.treeish = Some(OsString::from_vec(candidate.name.to_vec()));
            match self.count(contents) {
                Ok(counts) => finalists.push((counts.rank(candidate.rank.time), candidate, counts)),
                Err(error) => failure = failure.or(Some(error)),
            }
            if finalists.last().is_some_and(|it| it.2.differences() == 0) {
                break;
            }
        }
        let best = finalists.iter().rev().max_by_key(|it| it.0);
        let Some(&(rank, best, counts)) = best else {
            return Err(failure.unwrap_or_else(|| Error::fatal("no tag can be compared")));
        };
        // Of those that were not compared, only the ids say that they are as near.
        let tied = finalists.iter().filter(|it| it.0.ties(&rank)).count() - 1
            + rest.filter(|it| it.rank.ties(&best.rank)).count();
        contents.table.reset();
        self.args = given;
        self.args.content.treeish = Some(OsString::from_vec(best.name.to_vec()));
        self.refs = CommitNames::At(vec![best.name.to_str_lossy().into_owned()]);
        self.nearest = Some((counts.differences(), tied));
        Ok(())
    }

    /// What a comparison counts, without a line.
    fn count(&mut self, contents: &mut Contents) -> Result<Counts> {
        contents.table.reset();
        let (sent, _, prefix) = self.classify(contents)?;
        let mut nowhere = io::sink();
        let mut report = input::report(self.options, self.context, &mut nowhere)?;
        self.list(contents, &sent, &prefix, &mut report)?;
        Ok(report.counts)
    }

    /// The prefix that the words give, or the directory that the entries share.
    fn find_prefix(&mut self, contents: &Contents) -> Result<Vec<u8>> {
        if let Some(prefix) = &self.args.content.prefix {
            return Ok(prefix.as_bytes().to_vec());
        }
        let expected = self.request("tar")?.content;
        let prefix = prefix::find(&contents.table, &prefix::expected_names(expected)?);
        for extra in &mut self.args.content.extras {
            // As in git, the name of a virtual file is complete.
            if !matches!(extra.content, ExtraContent::Virtual(_)) {
                extra.name = [&prefix[..], &extra.name].concat().into();
            }
        }
        Ok(prefix)
    }

    /// The request for an archive in this `format`, with all trees and attribute files.
    fn request(&mut self, format: &str) -> Result<Request> {
        let request = self.resolve(format, self.args.clone())?;
        archive::with_rules(request, self.context.messages)
    }

    fn resolve(&mut self, format: &str, mut args: Args) -> Result<Request> {
        args.encoding.format = Some(format.into());
        let fetches = FetchAccount::new(false);
        let described = (&args, &self.formats, self.environment);
        let inputs = self.context.inputs(described, Purpose::Compare, &fetches);
        Request::resolve(inputs, Ok(self.repository.clone()), self.context.messages)
    }

    /// Passes the entries whose class `is_wanted` to `visitor`, with their contents as an archive has them.
    fn make(&mut self, paths: Vec<OsString>, visitor: &mut dyn Visitor) -> Result<()> {
        let mut args = self.args.clone();
        // Without pathspecs, all files are made. Those that options add match none.
        args.content.paths = paths;
        args.content.ignore_unmatch = true;
        let request = self.resolve("tar", args)?;
        conversion::make(request, visitor, self.context.messages)
    }

    /// Decides about the files that attributes may change.
    fn decide(&mut self, contents: &mut Contents, names: (&[u8], &[u8])) -> Result<()> {
        let table = &mut contents.table;
        let paths = conversion::pathspecs(table, needs_content, names);
        self.make(paths, &mut Decider(table))
    }

    /// Writes which commit was found.
    fn write_commit(&self, commit: Option<&str>, report: &mut Report<'_>) -> Result<()> {
        let text = match (self.nearest, &self.found_by, commit) {
            _ if self.options.json => return Ok(()),
            (Some((differences, tied)), ..) => {
                let tag = self.args.content.treeish.as_deref().unwrap_or_default();
                naming::nearest_line(tag.as_bytes(), differences, tied)
            }
            (None, Some(source), Some(commit)) => {
                let directory = self.args.content.relative.as_deref();
                naming::commit_line(commit, &self.refs, source, directory.map(OsStr::as_bytes))
            }
            _ => return Ok(()),
        };
        report.write(&text)
    }

    /// Writes the line of each difference.
    fn list(
        &mut self,
        contents: &mut Contents,
        sent: &Content,
        prefix: &[u8],
        report: &mut Report<'_>,
    ) -> Result<()> {
        report.doubts(&contents.doubts, prefix)?;
        let mut selection = sent.archived().tree.view.selection.clone();
        let below = &sent.blob_policy.naming.below;
        let has_paths = !self.args.content.paths.is_empty();
        let mut listing = Listing::new(contents, report, prefix);
        listing.tree(sent.clone())?;
        listing.rest(|path| {
            Ok(!has_paths || selection.admits(&[&below[..], path].concat(), Mode::File)?)
        })
    }

    /// Writes how changed texts differ.
    fn show_texts(
        &mut self,
        contents: &mut Contents,
        names: (&[u8], &[u8]),
        report: &mut Report<'_>,
    ) -> Result<()> {
        if report.count(Class::Changed) == 0 {
            return Ok(());
        }
        let table = &mut contents.table;
        let paths = conversion::pathspecs(table, |class| class == Class::Changed, names);
        let mut texts = Texts {
            table,
            texts: HashMap::new(),
            room: self.args.run.memory / 2,
        };
        self.make(paths, &mut texts)?;
        let (source, _) = input::source(self.options, &self.options.archive, self.context)?;
        let mut differ = Differ {
            expected: texts,
            next: 0,
            write: &mut |lines| report.write(lines),
            prefix: names.0,
        };
        let (_, outcome) =
            unarchive::read(source, self.args.run.memory, &Raw::default(), &mut differ);
        match outcome {
            // Damage was found before.
            Err(error) if error.exit_status() == DAMAGED => Ok(()),
            outcome => outcome,
        }
    }

    /// Writes the result, and returns it as the end of the command.
    fn end(
        &mut self,
        contents: &mut Contents,
        found: &FirstWalk,
        subject: Subject,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let mut result = ArchiveResult::new(Some(subject.tree));
        result.commit = subject.commit;
        result.refs = match &self.refs {
            CommitNames::At(names) => names.clone(),
            CommitNames::In(name) => vec![name.clone()],
            CommitNames::Unnamed => Vec::new(),
        };
        result.found_by = self.found_by.take();
        let prefix = self.args.content.prefix.as_deref().unwrap_or_default();
        result.prefix = prefix.to_string_lossy().into_owned();
        let mut result = report.count_files(contents, result, self.context.messages)?;
        let naming = self.name(contents, found, report)?;
        let is_other = naming.command.is_none();
        if !is_other {
            result.result = "identical";
        }
        (result.command, result.bytes) = (naming.command, naming.words);
        report.end(result)?;
        if is_other && self.options.bytes {
            Err(Error::archive_differs())
        } else {
            Ok(())
        }
    }

    /// Names the bytes of an archive whose files are the same.
    fn name(
        &mut self,
        contents: &mut Contents,
        found: &FirstWalk,
        report: &Report<'_>,
    ) -> Result<Naming> {
        let left_out = report.left_out;
        let stored = report.count(Class::AsStored) - left_out;
        let words = match (stored, left_out, report.accepted) {
            (0, 0, 0) => None,
            (0, 0, accepted) => Some(counted(accepted, "accepted difference")),
            (0, ..) => Some(counted(left_out, "file") + " that git archive leaves out"),
            (stored, ..) => Some(counted(stored, "file") + " as stored, attributes not applied"),
        };
        if let Some(words) = words {
            return Ok(Naming::other(words));
        }
        let content = &self.args.content;
        let has_options = self.args.filters != Filters::default()
            || !content.extras.is_empty()
            || content.worktree_attributes
            || content.relative.is_some()
            || content.stable;
        let prefix = content.prefix.iter().filter(|prefix| !prefix.is_empty());
        let prefix = prefix.map(|prefix| [b"--prefix=", prefix.as_bytes()].concat());
        let treeish = content.treeish.iter().chain(&content.paths);
        let treeish = treeish.map(|word| word.as_bytes().to_vec());
        let words = prefix.chain(treeish);
        let words = words.map(|word| format!(" {}", quoted(&word))).collect();
        let format = match contents.form {
            Form::Zip => "zip",
            _ => "tar",
        };
        let request = self.request(format)?;
        let same = SameFiles {
            contents,
            found,
            request,
            words,
            has_options,
        };
        same.name(self.context.messages)
    }
}
