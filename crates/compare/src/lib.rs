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
use expect::Expectations;
use listing::Listing;
use naming::{Naming, SameFiles};
use report::Report;
use sluice_base::error::{Error, Result, counted, shell_word};
use sluice_cli::{Args, CliError, Compare, ExtraContent, Filters, RawArgs};
use sluice_core::context::{Context, Question};
use sluice_core::{
    archive,
    output::report::ArchiveResult,
    request::{Content, Purpose, Request, format::Formats},
};
use sluice_format::unarchive::{self, Form, Raw};
use sluice_git::{
    environment::Environment,
    repository::{
        Repository,
        promisor::FetchAccount,
        tags::{self, CommitNames, TAGS},
    },
    tree::Mode,
};
use table::Table;

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
        None => opened.repository.and_then(|repository| {
            let expected = input::expectations(&options, &context)?;
            let mut comparison = Comparison {
                options: &options,
                expected: &expected,
                args,
                repository,
                formats: opened.formats,
                environment: &opened.environment,
                context: &mut context,
                result: ArchiveResult::new(),
                first_line: None,
            };
            comparison.run(&mut out)
        }),
    };
    out.flush().map_err(|error| Error::write(&error))?;
    drop(out);
    destination.complete()?;
    Ok(outcome?)
}

/// The name of the comment of a tar or a zip.
const COMMENT: &str = "the comment of the archive";
/// The most tags that are compared as a whole.
const FINALISTS: usize = 8;

/// A comparison whose options are understood.
struct Comparison<'a, 'c> {
    options: &'a Compare,
    expected: &'a Expectations,
    args: Args,
    repository: Repository,
    formats: Formats,
    environment: &'a Environment,
    context: &'a mut Context<'c>,
    /// The result, as far as it is known.
    result: ArchiveResult,
    /// Which commit was found, unless the words name one.
    first_line: Option<BString>,
}

impl Comparison<'_, '_> {
    /// Compares, and writes the lines to `out`.
    fn run(&mut self, out: &mut dyn Write) -> Result<()> {
        let mut report = input::report(self.options, self.expected, out);
        let archive = (self.options, &self.options.archive[..]);
        let hash = self.repository.hash();
        let mut contents = input::read(archive, &self.args, hash, self.context)?;
        self.find_commit(&mut contents)?;
        let (sent, found) = self.classify(&mut contents)?;
        let subject = sent.subject();
        (self.result.commit, self.result.tree) = (subject.commit, Some(subject.tree));
        self.result.prefix = String::from_utf8_lossy(self.prefix()).into_owned();
        if let Some(line) = self.first_line.as_ref().filter(|_| !self.options.json) {
            report.write(line)?;
        }
        self.list(&mut contents, &sent, &mut report)?;
        if self.options.diff && report.count(Class::Changed) > 0 {
            self.show_texts(&mut contents, &sent, &mut report)?;
        }
        report.count_files(&mut contents, &mut self.result, self.context.messages)?;
        let naming = self.name(&mut contents, &found, &report)?;
        let is_named = naming.command.is_some();
        if is_named {
            self.result.result = "identical";
        }
        (self.result.command, self.result.bytes) = (naming.command, naming.words);
        report.end(&mut self.result)?;
        if self.options.bytes && !is_named {
            return Err(Error::archive_differs());
        }
        Ok(())
    }

    /// What the paths of the tree begin with in the archive.
    fn prefix(&self) -> &[u8] {
        let prefix = self.args.content.prefix.as_deref();
        prefix.unwrap_or_default().as_bytes()
    }

    /// Puts the entries of the archive into classes. Returns what `git archive` would send.
    fn classify(&mut self, contents: &mut Contents) -> Result<(Content, FirstWalk)> {
        if self.args.content.prefix.is_none() {
            self.find_prefix(contents)?;
        }
        let sent = self.request("tar")?.content;
        let found = classes::walk(sent.clone(), &mut contents.table)?;
        if found.has_undecided {
            let request = self.request_of(&contents.table, &sent, needs_content)?;
            let mut decider = Decider(&mut contents.table);
            conversion::make(request, &mut decider, self.context.messages)?;
        }
        Ok((sent, found))
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
            Form::Directory => applied::STATE,
            Form::Tar(_) | Form::Zip => COMMENT,
        };
        let comment = contents.comment;
        let comment = comment.map(|id| (id.to_string(), source.to_owned()));
        let named = comment.or_else(|| belief.map(|it| (it.revision, it.source)));
        let (revision, source) = named.ok_or_else(|| {
            Error::fatal("the archive does not say which commit it has")
                .hinted("name a commit, or look for the nearest tag with --search")
        })?;
        let commit = commit::named(&self.repository, &revision)?;
        let directory = content.relative.as_deref().map(OsStr::as_bytes);
        let names = tags::names(&self.repository, commit);
        let commit = commit.to_string();
        self.first_line = Some(naming::commit_line(&commit, &names, &source, directory));
        content.treeish = Some(commit.into());
        self.result.found_by = Some(source);
        self.result.refs = match names {
            CommitNames::At(names) => names,
            CommitNames::In(name) => vec![name],
            CommitNames::Unnamed => Vec::new(),
        };
        Ok(())
    }

    /// The names of all tags.
    fn tags(&self) -> Result<HashSet<BString>> {
        let tags = tags::refs(&self.repository, TAGS).map_err(commit::unreadable)?;
        let names = tags.iter().map(|tag| tag.name[TAGS.len()..].into());
        Ok(names.collect())
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
        let line = naming::nearest_line(&best.name, counts.differences(), tied);
        self.first_line = Some(line);
        self.result.refs = vec![best.name.to_str_lossy().into_owned()];
        Ok(())
    }

    /// What a comparison counts, without a line.
    fn count(&mut self, contents: &mut Contents) -> Result<Counts> {
        contents.table.reset();
        let (sent, _) = self.classify(contents)?;
        let mut nowhere = io::sink();
        let mut report = input::report(self.options, self.expected, &mut nowhere);
        self.list(contents, &sent, &mut report)?;
        Ok(report.counts)
    }

    /// Finds the directory that the entries share.
    fn find_prefix(&mut self, contents: &Contents) -> Result<()> {
        let expected = self.request("tar")?.content;
        let prefix = prefix::find(&contents.table, &prefix::expected_names(expected)?);
        for extra in &mut self.args.content.extras {
            // As in git, the name of a virtual file is complete.
            if !matches!(extra.content, ExtraContent::Virtual(_)) {
                extra.name = [&prefix[..], &extra.name].concat().into();
            }
        }
        self.args.content.prefix = Some(OsString::from_vec(prefix));
        Ok(())
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

    /// The request for an archive of the files in `table` whose class `is_wanted`.
    fn request_of(
        &mut self,
        table: &Table,
        sent: &Content,
        is_wanted: fn(Class) -> bool,
    ) -> Result<Request> {
        let below = &sent.blob_policy.naming.below;
        let mut args = self.args.clone();
        // Without pathspecs, all files are made. Those that options add match none.
        args.content.paths = conversion::pathspecs(table, is_wanted, (self.prefix(), below));
        args.content.ignore_unmatch = true;
        self.resolve("tar", args)
    }

    /// Writes the line of each difference.
    fn list(&self, contents: &mut Contents, sent: &Content, report: &mut Report<'_>) -> Result<()> {
        let prefix = self.prefix();
        report.doubts(&contents.doubts, prefix)?;
        let mut selection = sent.archived().tree.view.selection.clone();
        let below = &sent.blob_policy.naming.below;
        let has_paths = !self.args.content.paths.is_empty();
        let mut listing = Listing {
            contents,
            report,
            prefix,
        };
        listing.tree(sent.clone())?;
        listing.rest(|path| {
            Ok(!has_paths || selection.admits(&[&below[..], path].concat(), Mode::File)?)
        })
    }

    /// Writes how changed texts differ.
    fn show_texts(
        &mut self,
        contents: &mut Contents,
        sent: &Content,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let request = self.request_of(&contents.table, sent, |class| class == Class::Changed)?;
        let mut texts = Texts {
            table: &mut contents.table,
            texts: HashMap::new(),
            room: self.args.run.memory / 2,
        };
        conversion::make(request, &mut texts, self.context.messages)?;
        let (source, _) = input::source(self.options, &self.options.archive, self.context)?;
        let mut differ = Differ {
            expected: texts,
            next: 0,
            report,
            prefix: self.prefix(),
        };
        let (_, outcome) =
            unarchive::read(source, self.args.run.memory, &Raw::default(), &mut differ);
        match outcome {
            // Damage was found before.
            Err(error) if error.exit_status() == DAMAGED => Ok(()),
            outcome => outcome,
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
            (0, 0, 0) if !report.has_others => None,
            (0, 0, 0) => Some("the archive has files outside of these paths".to_owned()),
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
        let words = words
            .map(|word| format!(" {}", shell_word(&word)))
            .collect();
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
