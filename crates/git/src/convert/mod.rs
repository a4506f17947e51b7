//! From stored content to archived content: `$Id$`, line endings, encodings, filters,
//! `$Format:…$` (gitattributes(5)).
//!
//! The plan chooses the treatment of a blob from the blob's path; this module applies the treatment. Only regular
//! files that fit into memory are converted. As in git, a failed step is left out and the archive goes on, unless
//! the repository requires the step.

mod command;
mod encoding;
mod format;
#[cfg(not(target_env = "musl"))]
mod iconv;
#[cfg(any(test, target_env = "musl"))]
mod iconv_program;
mod ident;
mod line_endings;
mod log;
mod origin;
mod process;
mod shareable;
mod smudge;
mod substitute;
mod varying;

use std::{borrow::Cow, sync::Arc};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use crate::{command::CommandContext, lfs::LocalStore};
use encoding::encode;
pub(crate) use encoding::is_utf8;
use ident::ident;
pub use line_endings::Crlf;
use line_endings::line_endings;
use log::say;
pub use origin::{File, FindInTar, Origin, Reference};
use process::Processes;
pub use shareable::Shareable;
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, format_bytes},
    threads::Lock,
};
use smudge::smudge;
use substitute::Substitution;
pub use substitute::is_encoded;
pub use varying::varying_placeholder;

/// The conversions of a file's content, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Treatment {
    /// Expand `$Id$`.
    pub ident: bool,
    /// Turn LF into CRLF.
    pub crlf: Option<Crlf>,
    /// The encoding to which the content is converted from UTF-8.
    pub encoding: Option<Encoding>,
    /// The filter that converts the content.
    pub filter: Option<Arc<Driver>>,
    /// Expand `$Format:…$`, if a commit is archived.
    pub substitute: bool,
    /// Where the content is, if the file turns out to be a pointer of Git LFS.
    pub lfs: Option<Arc<LocalStore>>,
    /// Whether the file counts as text, in formats that tell. `None` if the content decides.
    pub text: Option<bool>,
}

/// The attribute `working-tree-encoding` where it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The value of the attribute.
    Named(Arc<str>),
    /// The attribute is set without a value, which git refuses.
    Invalid,
}

/// A filter of the configuration (gitattributes(5), "filter").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// The name in attributes.
    pub name: BString,
    /// `filter.<name>.smudge`: a command for each file.
    pub smudge: Option<BString>,
    /// `filter.<name>.process`: a command for all files.
    pub process: Option<BString>,
    /// `filter.<name>.required`: a failure of the filter ends the run.
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
            lfs,
            text: _,
        } = self;
        !ident
            && crlf.is_none()
            && encoding.is_none()
            && filter.is_none()
            && !substitute
            && lfs.is_none()
    }

    /// The treatment of the LFS object that a file with this treatment stands for. In git, the other conversions see the
    /// pointer.
    pub fn of_lfs_object(self) -> Self {
        Self {
            substitute: self.substitute,
            text: self.text,
            ..Self::default()
        }
    }

    /// Whether files are converted one at a time, in the order of the archive: a process of the user sees the order,
    /// or an earlier file affects a later one, or a failure may end the run.
    pub fn is_ordered(&self) -> bool {
        self.filter.is_some() || self.substitute || self.encoding == Some(Encoding::Invalid)
    }
}

/// Converts files.
pub struct Converter {
    origin: Origin,
    command_context: CommandContext,
    shareable: Shareable,
    ordered: Lock<Ordered>,
}

/// The state that passes from file to file. One thread at a time holds the state, in the order of the archive.
struct Ordered {
    processes: Processes,
    /// Made for the first file with the attribute, if a commit is archived.
    substitution: Option<Substitution>,
}

impl Converter {
    /// A converter for the files of `origin`. Withdraws `shareable` where a command has a part in the content.
    pub fn new(origin: Origin, command_context: CommandContext, shareable: Shareable) -> Self {
        let ordered = Ordered {
            processes: Processes::default(),
            substitution: None,
        };
        Self {
            origin,
            command_context,
            shareable,
            ordered: Lock::new(ordered),
        }
    }

    /// Tells whether a command had a part in the content.
    pub fn shareable(&self) -> &Shareable {
        &self.shareable
    }

    /// Append the converted `content` to `out`, and messages to `log`.
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
                    say(log, format_bytes(failed, &[file.path, name.as_bytes()]));
                }
                replace(&mut content, |_| encoded);
            }
            _ => {}
        }
        if treatment.filter.is_some() || treatment.substitute {
            let mut ordered = self.ordered.lock();
            if let Some(driver) = &treatment.filter {
                let filtered = self.filter(&mut ordered.processes, driver, file, &content, log)?;
                replace(&mut content, |_| filtered);
            }
            if treatment.substitute
                && let Some(commit) = self.origin.commit
            {
                let new = || self.substitution(commit);
                let substitution = ordered.substitution.get_or_insert_with(new);
                // git would repeat the messages of these conversions.
                let is_silent = treatment.filter.is_none() && treatment.encoding.is_none();
                let expanded = substitution.expand(file, &content, is_silent, log)?;
                replace(&mut content, |_| expanded);
            }
        }
        out.extend(&content);
        Ok(())
    }

    fn substitution(&self, commit: ObjectId) -> Substitution {
        let (location, shareable) = (&self.command_context.location, &self.shareable);
        Substitution::new(commit, &self.origin, location.clone(), shareable.clone())
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
            return Err(Error::fatal(format_bytes(failed, &values)));
        }
        Ok(filtered)
    }

    /// The facts that a filter process receives about a file.
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

/// Replace `content` by the result of a step, if there is one.
fn replace(content: &mut Cow<'_, [u8]>, step: impl FnOnce(&[u8]) -> Option<Vec<u8>>) {
    if let Some(converted) = step(content) {
        *content = Cow::Owned(converted);
    }
}
