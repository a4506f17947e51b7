//! `info`: prints what a server says of an archive before its first byte: entity tag, length, type, name.

use std::io::Write;

use serde::Serialize;

use sluice_base::error::{Error, Result};
use sluice_cli::{Args, CliError, Info, RawArgs};
use sluice_core::context::Context;
use sluice_core::{
    archive::{UnknownReason, measure},
    cache::StoredArchive,
    output::report::{Subject, json_line},
    request::{Content, Purpose, Request},
};

/// Counts changes that a reader must know of; see `schema/info.schema.json`.
const VERSION: u32 = 1;
/// The reason why the length of a compressed archive is not known.
const COMPRESSED: &str = "the archive is compressed";

/// The answer.
#[derive(Serialize)]
struct Answer {
    info: u32,
    #[serde(flatten)]
    subject: Subject,
    /// The name of a file for the archive.
    file_name: String,
    media_type: &'static str,
    /// Seconds since 1970.
    time: u64,
    /// The hash of the filters.
    filters: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filters_reason: Option<String>,
    etag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    etag_reason: Option<String>,
    content_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_length_reason: Option<&'static str>,
    entries: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries_reason: Option<&'static str>,
    /// Whether a file contains data that can change, such as tag names.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    varies: bool,
}

pub(super) fn run(words: RawArgs<'_>, mut context: Context<'_>) -> Result<(), CliError> {
    let args = |info: &Info, extras| Args {
        condition: info.condition.clone(),
        sharing: info.sharing.clone(),
        delta: info.delta.clone(),
        ..info.described.args(extras)
    };
    let (info, question) = context.question(words, args)?;
    let (request, mut destination) = question.request(Purpose::Info, &mut context)?;
    if request.is_known(&info.condition) {
        return Err(Error::not_modified().into());
    }
    describe(request, &mut destination)?;
    Ok(destination.complete()?)
}

/// Writes to `out` what is known of the archive that `request` asks for: one JSON object in a line. Reads no blob but
/// those that attributes convert.
fn describe(request: Request, out: &mut dyn Write) -> Result<()> {
    let shareable = request.run.shareable.clone();
    let tag = request.tag();
    let stored = match (&request.run.cache, &tag) {
        (Some(settings), Ok(key)) => StoredArchive::open(settings, key),
        _ => None,
    };
    let content = &request.content;
    let (is_tar, subject) = (content.format.is_plain_tar(), content.subject());
    let (media_type, time) = (content.format.row().media_type, content.mtime);
    let file_name = file_name(content);
    let (filters, filters_reason) = parted(request.filters_hash.clone().map(|key| key.hex()));
    let measured = measure(request)?;
    let length = match stored {
        Some(stored) => Ok(stored.bytes()),
        None if is_tar => measured.bytes.map_err(UnknownReason::as_str),
        None => Err(COMPRESSED),
    };
    let (content_length, content_length_reason) = parted(length);
    let (entries, entries_reason) = parted(measured.entries.map_err(UnknownReason::as_str));
    let (etag, etag_reason) = parted(match tag {
        Ok(key) if shareable.holds() => Ok(key.etag()),
        Ok(_) => Err("the archive depends on more than its key".to_owned()),
        Err(reason) => Err(reason),
    });
    let answer = Answer {
        info: VERSION,
        subject,
        file_name,
        media_type,
        time,
        filters,
        filters_reason,
        etag,
        etag_reason,
        content_length,
        content_length_reason,
        entries,
        entries_reason,
        varies: shareable.varies(),
    };
    json_line(&answer, out)
}

fn parted<T, R>(known: Result<T, R>) -> (Option<T>, Option<R>) {
    match known {
        Ok(value) => (Some(value), None),
        Err(reason) => (None, Some(reason)),
    }
}

/// The last part of the prefix, or `archive`, with the name of the format after it.
fn file_name(content: &Content) -> String {
    let prefix = content.archived().tree.view.naming.prefix.to_string();
    let last = prefix.trim_end_matches('/').rsplit('/').next();
    let stem = last.filter(|name| !name.is_empty()).unwrap_or("archive");
    format!("{stem}.{}", content.format_name)
}
