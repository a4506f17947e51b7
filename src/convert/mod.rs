//! From stored content to archived content: `$Id$`, line endings, encodings, filters,
//! `$Format:…$` (gitattributes(5)).
//!
//! What is done to a blob was settled in the plan from its path; here it is done. Only regular
//! files come here, and none that is streamed. As in git, a step that fails is left out and the
//! archive goes on, unless the repository says that it must not.

mod command;
mod context;
mod encoding;
mod format;
mod iconv;
mod ident;
mod line_endings;
mod log;
mod process;
mod shareable;
mod smudge;
mod substitute;

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
};

use crate::{
    buffer::Buffer,
    error::{Error, Result, filled},
    process::command::CommandContext,
};
use encoding::encode;
pub(crate) use encoding::is_utf8;
use ident::ident;
pub use line_endings::Crlf;
use line_endings::line_endings;
use log::say;
use process::Processes;
pub use shareable::Shareable;
use smudge::smudge;
use substitute::Substitution;

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
    /// Whether it counts as text in formats that say so; by its content if unknown.
    pub text: Option<bool>,
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
        let Self {
            ident,
            crlf,
            encoding,
            filter,
            substitute,
            text: _,
        } = self;
        !ident && crlf.is_none() && encoding.is_none() && filter.is_none() && !substitute
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

/// The full name of the ref that was named, if nothing but a ref was. Found when somebody wants it: git may
/// have to be asked.
pub type Reference = Arc<LazyLock<Option<BString>, Box<dyn FnOnce() -> Option<BString> + Send>>>;

/// What is archived, as far as conversions show it.
pub struct Origin {
    /// The commit, if one was named.
    pub commit: Option<ObjectId>,
    /// The content of that commit.
    pub content: BString,
    /// The tree.
    pub tree: ObjectId,
    /// The ref that was named.
    pub reference: Reference,
}

/// Converts files.
pub struct Converter {
    origin: Origin,
    command_context: CommandContext,
    shareable: Shareable,
    ordered: Mutex<Ordered>,
}

/// What goes from one file to the next; touched by one thread at a time, in the order of the archive.
struct Ordered {
    processes: Processes,
    /// For a commit only.
    substitution: Option<Substitution>,
}

impl Converter {
    /// A converter for what comes from `origin`. Withdraws `shareable` where a command has a part in the content.
    pub fn new(origin: Origin, command_context: CommandContext, shareable: Shareable) -> Self {
        let commit = origin.commit;
        let ordered = Ordered {
            processes: Processes::default(),
            substitution: commit.map(|id| {
                let content = origin.content.as_bstr();
                Substitution::new(id, origin.tree, content, shareable.clone())
            }),
        };
        Self {
            origin,
            command_context,
            shareable,
            ordered: Mutex::new(ordered),
        }
    }

    /// Tells whether a command had a part in the content.
    pub fn shareable(&self) -> &Shareable {
        &self.shareable
    }

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
                    let failed = "error: failed to encode '{}' from UTF-8 to {}";
                    say(log, filled(failed, &[file.path, name.as_bytes()]));
                }
                replace(&mut content, |_| encoded);
            }
            _ => {}
        }
        if treatment.filter.is_some() || treatment.substitute {
            let mut ordered = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(driver) = &treatment.filter {
                let filtered = self.filter(&mut ordered.processes, driver, file, &content, log)?;
                replace(&mut content, |_| filtered);
            }
            if treatment.substitute
                && let Some(substitution) = &mut ordered.substitution
            {
                let expanded = substitution.expand(&content, log)?;
                replace(&mut content, |_| expanded);
            }
        }
        out.extend(&content);
        Ok(())
    }

    fn filter(
        &self,
        processes: &mut Processes,
        driver: &Driver,
        file: File<'_>,
        content: &[u8],
        log: &mut Buffer,
    ) -> Result<Option<Vec<u8>>> {
        self.shareable.withdraw();
        let context = &self.command_context;
        let filtered = match (&driver.process, &driver.smudge) {
            (Some(command), _) => {
                let headers = self.headers(file);
                processes.smudge(context, command.as_bstr(), &headers, content, log)?
            }
            (None, Some(command)) => smudge(context, command.as_bstr(), file.path, content, log),
            (None, None) => None,
        };
        if filtered.is_none() && driver.required {
            let failed = "{}: smudge filter {} failed";
            let values: [&[u8]; 2] = [file.path, &driver.name];
            return Err(Error::fatal(filled(failed, &values)));
        }
        Ok(filtered)
    }

    /// What a filter process is told of a file.
    fn headers(&self, file: File<'_>) -> Vec<BString> {
        let Origin {
            commit,
            tree,
            reference,
            ..
        } = &self.origin;
        let line = |key: &str, value: &[u8]| [key.as_bytes(), b"=", value, b"\n"].concat().into();
        let mut headers = vec![line("command", b"smudge"), line("pathname", file.path)];
        headers.extend(reference.iter().map(|name| line("ref", name)));
        let treeish = commit.unwrap_or(*tree);
        headers.push(line("treeish", treeish.to_string().as_bytes()));
        headers.push(line("blob", file.id.to_string().as_bytes()));
        headers
    }
}

/// Put what a step made of `content` in its place, if it made anything.
fn replace(content: &mut Cow<'_, [u8]>, step: impl FnOnce(&[u8]) -> Option<Vec<u8>>) {
    if let Some(converted) = step(content) {
        *content = Cow::Owned(converted);
    }
}
