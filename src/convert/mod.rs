//! From stored content to archived content: `$Id$`, line endings, encodings (gitattributes(5)).
//!
//! What is done to a blob was settled in the plan from its path; here it is done. Only regular
//! files come here, and none that is streamed. As in git, a step that fails is left out and the
//! archive goes on, unless the repository says that it must not.

mod encoding;
mod iconv;
mod ident;
mod line_endings;

use std::{borrow::Cow, sync::Arc};

use gix::{
    ObjectId,
    bstr::{BStr, BString},
};

use crate::{
    buffer::Buffer,
    error::{Error, Result, sanitised},
};
use encoding::encode;
pub(crate) use encoding::is_utf8;
use ident::ident;
use line_endings::line_endings;

/// What is done to the content of a file on its way into the archive, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Treatment {
    /// Expand `$Id$`.
    pub ident: bool,
    /// Turn LF into CRLF.
    pub crlf: Option<Crlf>,
    /// The encoding to convert it to from UTF-8.
    pub encoding: Option<Encoding>,
    /// The filter to run it through.
    pub filter: Option<Arc<Driver>>,
    /// Expand `$Format:…$`, if there is a commit to ask.
    pub substitute: bool,
}

/// When line endings become CRLF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crlf {
    /// Always, even if the content looks binary.
    Always,
    /// If the content looks like text and has no CR yet.
    Auto,
}

/// The attribute `working-tree-encoding` where it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Its value.
    Named(Arc<str>),
    /// It is set but has no value, which git refuses.
    Invalid,
}

/// A filter that is configured (gitattributes(5), "filter").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// What attributes call it.
    pub name: BString,
    /// `filter.<name>.smudge`: a command for each file.
    pub smudge: Option<BString>,
    /// `filter.<name>.process`: a command for all files.
    pub process: Option<BString>,
    /// `filter.<name>.required`: without it there is no archive.
    pub required: bool,
}

impl Treatment {
    /// Whether the content stays as it is stored.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it has to be done in the order of the archive, one file at a time: somebody else
    /// sees the order, or it decides what is done, or it may end the run.
    pub fn is_ordered(&self) -> bool {
        self.filter.is_some() || self.substitute || self.encoding == Some(Encoding::Invalid)
    }
}

/// A file to be converted.
#[derive(Clone, Copy)]
pub struct File<'a> {
    /// As git looks its conversion up: without the archive's prefix.
    pub path: &'a BStr,
    /// Its id as the tree has it.
    pub id: ObjectId,
    /// The id of its content, which is another one if it was replaced.
    pub stored: ObjectId,
}

/// Converts files.
#[derive(Default)]
pub struct Converter {}

impl Converter {
    /// Append `content`, treated, to `out`, and what is to be said about it to `log`.
    pub fn convert(
        &self,
        file: File<'_>,
        treatment: &Treatment,
        content: &[u8],
        out: &mut Buffer,
        log: &mut Buffer,
    ) -> Result<()> {
        let mut content = Cow::Borrowed(content);
        if treatment.ident {
            replace(&mut content, |content| {
                ident(&file.stored.to_hex().to_string(), content)
            });
        }
        replace(&mut content, |content| {
            line_endings(treatment.crlf, content)
        });
        match &treatment.encoding {
            Some(Encoding::Invalid) => {
                return Err(Error::fatal(
                    "true/false are no valid working-tree-encodings",
                ));
            }
            Some(Encoding::Named(name)) if !content.is_empty() => {
                let encoded = encode(name, &content);
                if encoded.is_none() {
                    let path = sanitised(file.path);
                    say(
                        log,
                        &format!("error: failed to encode '{path}' from UTF-8 to {name}"),
                    );
                }
                replace(&mut content, |_| encoded);
            }
            _ => {}
        }
        for (name, wanted) in [
            ("filter", treatment.filter.is_some()),
            ("export-subst", treatment.substitute),
        ] {
            if wanted {
                let message = format!("attribute '{name}' is not supported yet");
                return Err(Error::fatal(message));
            }
        }
        out.extend(&content);
        Ok(())
    }
}

/// Put what a step made of `content` in its place, if it made anything.
fn replace(content: &mut Cow<'_, [u8]>, step: impl FnOnce(&[u8]) -> Option<Vec<u8>>) {
    if let Some(converted) = step(content) {
        *content = Cow::Owned(converted);
    }
}

fn say(log: &mut Buffer, line: &str) {
    log.extend(line.as_bytes());
    log.extend(b"\n");
}
