//! Compares an archive with another archive, which takes the place of the tree. Knows no repository.

use std::{
    collections::HashSet,
    ffi::OsStr,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
};

use bstr::BStr;
use gix_hash::Kind as HashKind;

use super::{
    class::Class,
    classes::{member_kind, with_kind},
    collector::Contents,
    input,
    listing::Listing,
    prefix,
    report::Line,
    table::Table,
};
use sluice_base::error::{Error, Result};
use sluice_cli::{Args, Compare, Filters};
use sluice_core::{context::Context, output::report::ArchiveResult};
use sluice_format::unarchive::Kind;
use sluice_git::{
    objects::reader::Reader,
    repository::{Repository, treeish},
};

/// The archive that takes the place of the tree: a file that is no revision of the `repository`.
pub(super) fn other<'o>(
    options: &'o Compare,
    repository: &Result<Repository>,
    context: &Context<'_>,
) -> Option<&'o OsStr> {
    let word = options.content.treeish.as_deref()?;
    let is_file = context.directory().file(word).path.exists();
    let is_archive = is_file && context.directory().file(&options.archive).path.exists();
    let is_revision = |repository: &Repository| {
        let mut reader = Reader::new(repository.odb());
        let word = BStr::new(word.as_bytes());
        treeish::resolve(repository, &mut reader, word, &mut io::sink()).is_ok()
    };
    (is_archive && !repository.as_ref().is_ok_and(is_revision)).then_some(word)
}

/// Compares an archive with the `other` one, and writes the lines to `out`.
pub(super) fn run(
    (options, other): (&Compare, &OsStr),
    args: &Args,
    context: &mut Context<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let content = &args.content;
    let is_plain = content.paths.is_empty() && content.extras.is_empty();
    if !is_plain || options.bytes || options.diff || args.filters != Filters::default() {
        let refused = "two archives are compared without paths, filters, '--bytes' and '--diff'";
        return Err(Error::usage(refused));
    }
    let expected = input::expectations(options, context)?;
    let mut report = input::report(options, &expected, out);
    let mut read = |word| input::read((options, word), args, HashKind::Sha256, context);
    let (mut one, mut other) = (read(&options.archive)?, read(other)?);
    if let Some(damage) = other.damage.take() {
        return Err(damage);
    }
    let named = content.prefix.as_deref().map(OsStr::as_bytes);
    let (prefix, of_other) = prefixes(&one.table, &other.table, named);
    stand_back((&mut one.table, &prefix), (&mut other.table, &of_other));
    stand_back((&mut other.table, &of_other), (&mut one.table, &prefix));
    report.doubts(&one.doubts, &prefix)?;
    report.doubts(&other.doubts, &of_other)?;
    let (contents, report) = (&mut one, &mut report);
    let mut listing = Listing {
        contents,
        report,
        prefix: &prefix,
    };
    list(&mut listing, &other, &of_other)?;
    let mut result = ArchiveResult::new();
    result.prefix = String::from_utf8_lossy(&prefix).into_owned();
    report.count_files(&mut one, &mut result, context.messages)?;
    report.end(&mut result)
}

/// The prefixes of `one` and of the `other` archive. The words may name the first one.
fn prefixes(one: &Table, other: &Table, named: Option<&[u8]>) -> (Vec<u8>, Vec<u8>) {
    let of_other = prefix::shared(other);
    if let Some(named) = named {
        return (named.to_vec(), of_other);
    }
    let (own, names) = (prefix::shared(one), names_below(other, &of_other));
    if names_below(one, &own) == names {
        return (own, of_other);
    }
    (prefix::find(one, &names), of_other)
}

/// Lets nothing stand in for what a program wrote if the `other` archive has both files. Paths begin with a prefix.
fn stand_back((table, prefix): (&mut Table, &[u8]), (other, of_other): (&mut Table, &[u8])) {
    let _ = table.stand_back(|name| {
        let path = name.strip_prefix(prefix);
        path.is_some_and(|path| other.find(&[of_other, path].concat()).is_some())
    });
}

/// The names in the directory `prefix` of an archive.
fn names_below(table: &Table, prefix: &[u8]) -> HashSet<Vec<u8>> {
    let paths = table.sorted().map(|it| table.path(it));
    let paths = paths.filter_map(|path| path.strip_prefix(prefix));
    paths.map(|path| prefix::first(path).to_vec()).collect()
}

/// Writes the lines of the differences between the archive of `listing` and the `other` one, whose paths begin with `prefix`.
fn list(listing: &mut Listing<'_, '_>, other: &Contents, prefix: &[u8]) -> Result<()> {
    let other = &other.table;
    for theirs in other.sorted() {
        let record = other.get(theirs);
        let Some(path) = other.path(theirs).strip_prefix(prefix) else {
            continue;
        };
        if record.class == Class::Twice {
            let line = Line::because(Class::Twice, path, "in the other archive");
            listing.report.line(line)?;
            continue;
        }
        let name = [listing.prefix, path].concat();
        let Some(number) = listing.contents.table.find(&name) else {
            if record.kind != Kind::Directory || !other.has_below(other.path(theirs)) {
                listing.missing(path, None)?;
            }
            continue;
        };
        let class = class(&listing.contents.table, number, other, theirs);
        listing.contents.table.set(number, class);
        listing.found(path, number, None)?;
    }
    listing.rest(|_| Ok(true))
}

/// The class of the entry `number` of `table`, compared with the entry `theirs` of the `other` one.
fn class(table: &Table, number: usize, other: &Table, theirs: usize) -> Class {
    let (record, expected) = (table.get(number), other.get(theirs));
    let content = if table.ids.get(number) == other.ids.get(theirs) {
        Class::Same
    } else if table.ids.text(number) == other.ids.text(theirs) {
        Class::LineEndings
    } else {
        Class::Changed
    };
    match member_kind(expected.kind, expected.mode.into()) {
        Some(kind) => with_kind(content, kind, record),
        None if record.kind == expected.kind => Class::Changed,
        None => Class::Type,
    }
}
