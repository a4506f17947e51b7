//! What decides about the bytes of an archive in addition to the tree-ish and the options: settings, variables and attribute
//! files outside of the tree.
//!
//! Everything that `Repository::unconfigured` and `Environment::stable` leave out is compared with its value there, and names
//! itself. Must not ask whether a file of the archive uses it: the next commit may have such a file.

use std::os::unix::ffi::OsStrExt;

use bstr::BString;
use sluice_deflate::Dialect;

use super::{
    archived::ArchivedRepository,
    clock,
    format::{Format, INTERNAL_GZIP},
    gzip,
    key::{KeyInputs, Reading},
};
use sluice_base::error::{Error, Result, counted, format_bytes};
use sluice_git::{
    attributes::{AttributeSource, AutoCrlf},
    pathspec::Defaults,
    repository::{Repository, date, replacements},
};

/// The names of what decides, each once, with what it decides about.
#[derive(Default)]
struct Deciding(Vec<BString>);

impl Deciding {
    fn add(&mut self, is_different: bool, name: impl AsRef<[u8]>, subject: &str) {
        let values = [name.as_ref(), subject.as_bytes()];
        let line = format_bytes("error: '{}' decides about {}", &values);
        if is_different && !self.0.contains(&line) {
            self.0.push(line);
        }
    }
}

impl KeyInputs<'_> {
    /// Refuses an archive of `repository` that depends on more than the tree-ish and the options. Files may depend on more.
    pub(super) fn refuse_variation(&self, repository: &Repository) -> Result<()> {
        if let Some(reason) = self.variation() {
            return Err(Error::varies("the archive may vary").caused_by(reason));
        }
        let mut deciding = Deciding::default();
        self.add_format(repository, &mut deciding);
        self.add_variables(repository, &mut deciding)?;
        for archived in &self.content.repositories {
            self.add_repository(archived, repository, &mut deciding)?;
        }
        let Deciding(lines) = deciding;
        if lines.is_empty() {
            return Ok(());
        }
        let number = counted(lines.len() as u64, "setting");
        let refused = Error::varies(format!("the archive may vary with {number}"));
        Err(lines
            .into_iter()
            .fold(refused, Error::after)
            .hinted("--stable leaves them out"))
    }

    /// Adds what decides about the container.
    fn add_format(&self, repository: &Repository, deciding: &mut Deciding) {
        let (args, format) = (self.view.args, &self.content.format);
        let is_umask_given = args.content.umask.is_some() || self.view.text;
        let umask = repository.settings.umask;
        let is_other = umask != repository.settings.unconfigured().umask;
        deciding.add(is_other && !is_umask_given, "tar.umask", "permissions");
        let key = format!("tar.{}.command", self.content.format_name);
        let command = repository.config.string(&key);
        let has_command = command.is_some_and(|command| command != INTERNAL_GZIP);
        let is_configured = match format {
            Format::Filtered(_) => true,
            Format::TarGz(_, dialect) => {
                *dialect != Dialect::Zlib && args.encoding.gzip_compat.is_none()
            }
            _ => false,
        };
        let key = if has_command { &key } else { gzip::KEY };
        deciding.add(is_configured, key, "the compression");
    }

    /// Adds variables of the environment, and times that are not the same everywhere.
    fn add_variables(&self, repository: &Repository, deciding: &mut Deciding) -> Result<()> {
        let (args, environment) = (self.view.args, self.view.environment);
        let Defaults {
            literal,
            glob,
            noglob,
            icase,
        } = Defaults::read(&environment.pathspecs, &args.content.paths)?;
        for (is_set, name) in [
            (literal, "GIT_LITERAL_PATHSPECS"),
            (glob, "GIT_GLOB_PATHSPECS"),
            (noglob, "GIT_NOGLOB_PATHSPECS"),
            (icase, "GIT_ICASE_PATHSPECS"),
        ] {
            deciding.add(is_set, name, "pathspecs");
        }
        if environment.is_stable {
            return Ok(());
        }
        if let Some(time) = &args.content.mtime {
            let name = [b"--mtime=", time.as_bytes()].concat();
            let is_fixed = date::fixed_mtime(time, &repository.location).is_ok();
            deciding.add(!is_fixed, name, "the time");
        }
        let is_local =
            self.view.text && self.content.times.dos != clock::dos(self.content.mtime, true)?;
        deciding.add(is_local, "TZ", "the time of a zip");
        Ok(())
    }

    /// Adds what decides about the files of one repository. The keys are those of the archived `repository`.
    fn add_repository(
        &self,
        archived: &ArchivedRepository,
        repository: &Repository,
        deciding: &mut Deciding,
    ) -> Result<()> {
        let reading = Reading::of(archived);
        let environment = self.view.environment;
        let default = repository.settings.unconfigured();
        let base = replacements::base(environment);
        deciding.add(!reading.replacements.is_empty(), base, "objects");
        let is_other = reading.big_file != default.big_file;
        deciding.add(is_other, "core.bigFileThreshold", "large files");
        let attributes = reading.attributes;
        let is_crlf = attributes.autocrlf == AutoCrlf::True;
        deciding.add(is_crlf, "core.autocrlf", "line endings");
        let is_eol = attributes.eol_crlf && attributes.autocrlf == AutoCrlf::False;
        deciding.add(is_eol, "core.eol", "line endings");
        deciding.add(attributes.ignore_case, "core.ignoreCase", "attributes");
        let source = match environment.attributes.source {
            Some(_) => "GIT_ATTR_SOURCE",
            None => "attr.tree",
        };
        let is_named = matches!(attributes.source, AttributeSource::Tree(_));
        deciding.add(is_named, source, "attributes");
        for name in attributes.diff_binary.keys() {
            deciding.add(true, format!("diff.{name}.binary"), "text files of a zip");
        }
        for file in archived.tree.view.selection.attributes.deciding_files()? {
            deciding.add(true, file, "attributes");
        }
        Ok(())
    }
}
