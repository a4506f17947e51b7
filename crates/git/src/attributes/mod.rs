//! Attributes of the archived tree, and the treatment of entries that follows from them (gitattributes(5)).
//!
//! The walk reads one file per directory, where one exists. Lines that cannot change an archive are dropped at once.
//! Precedence is as in `git archive`: `info/attributes`, the directory's own file, its parents', the user's, the
//! system's.

mod complaints;
pub mod file;
mod lookup;
mod requirement;
mod source;

use std::{
    collections::HashMap,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use crate::{
    convert::{Crlf, Driver, Encoding, Shareable, Treatment, is_utf8},
    environment::EnvironmentFlag,
    lfs::{LfsFiles, LocalStore},
    objects::reader::Reader,
    tree::Mode,
};
use complaints::{Asker, Complaints};
use file::{FileOrigin, Value, parse};
use lookup::Lookup;
use sluice_base::error::{Error, Result, format_bytes};
use source::{FileContent, Links};

pub use complaints::Note;
pub use lookup::FileName;
pub use requirement::Requirements;
pub use source::{AttributeSource, NAME};

/// The attributes that an archive depends on, in the order of their positions in the look-up.
const NAMES: [&str; 8] = [
    "export-ignore",
    "export-subst",
    "text",
    "crlf",
    "eol",
    "ident",
    "working-tree-encoding",
    "filter",
];

/// Decides whether a file is text, for formats that record it.
const DIFF: &str = "diff";
/// The diff driver of files without a named driver.
const DEFAULT_DRIVER: &str = "default";
/// Git's built-in diff drivers. A built-in driver leaves text or binary to the content.
const BUILT_IN_DRIVERS: [&str; 26] = [
    "ada", "bash", "bibtex", "cpp", "csharp", "css", "dts", "elixir", "fortran", "fountain",
    "golang", "html", "ini", "java", "kotlin", "markdown", "matlab", "objc", "pascal", "perl",
    "php", "python", "ruby", "rust", "scheme", "tex",
];
/// The name of the filter of Git LFS.
const LFS: &str = "lfs";
/// Set by git itself, to the mode of the entry.
const MODE: &str = "builtin_objectmode";

/// The configuration of attributes and conversions.
#[derive(Clone, Debug, Default)]
pub struct AttributeSettings {
    /// The origin of the directories' attribute files.
    pub source: AttributeSource,
    /// The directory of the files whose modes pathspecs ask for; `None` for the modes of the tree's entries.
    pub modes_of: Option<PathBuf>,
    /// The directory that names of files are relative to.
    pub top: PathBuf,
    /// The file of the system, with the lowest precedence.
    pub system: Option<PathBuf>,
    /// `GIT_ATTR_NOSYSTEM`: whether the file of the system does not count.
    pub no_system: EnvironmentFlag,
    /// `core.attributesFile` or its default.
    pub user: Option<PathBuf>,
    /// `$GIT_DIR/info/attributes`
    pub info: PathBuf,
    /// `core.ignoreCase`
    pub ignore_case: bool,
    /// `core.autocrlf`
    pub autocrlf: AutoCrlf,
    /// `core.eol` is `crlf`
    pub eol_crlf: bool,
    /// The filter drivers that have a command, by name.
    pub drivers: HashMap<BString, Arc<Driver>>,
    /// What is sent of LFS files.
    pub lfs: LfsFiles,
    /// Whether a missing attribute file of a tree ends the run. Otherwise the file is empty, as for git, which fails when
    /// it comes to archive the file.
    pub needs_files: bool,
    /// Withdrawn if an attribute file of the tree is missing: another clone may have the file, and makes another archive.
    pub shareable: Shareable,
    /// `diff.<name>.binary`, by name; `None` where the content decides.
    pub diff_binary: HashMap<BString, Option<bool>>,
    /// The contents of these files and of `info`, once read. Clones share them.
    pub outside: Arc<OnceLock<Vec<OutsideFile>>>,
}

/// An attribute file outside of the tree.
#[derive(Debug)]
pub struct OutsideFile {
    /// The name of the file in messages.
    name: BString,
    content: FileContent,
}

impl OutsideFile {
    /// The bytes of the file that applies; none if it is missing.
    pub fn bytes(&self) -> &[u8] {
        &self.content.bytes
    }
}

impl AttributeSettings {
    /// The files outside of the tree, lowest precedence first, `info` last. The first call reads them.
    pub fn outside(&self) -> Result<&[OutsideFile]> {
        if let Some(files) = self.outside.get() {
            return Ok(files);
        }
        // git reads this variable when it first needs an attribute.
        let has_system = !self.no_system.is_set(false)?;
        let system = self.system.as_ref().filter(|_| has_system);
        let paths = system.into_iter().chain(&self.user).chain([&self.info]);
        let files: Result<_> = paths.map(|path| self.read(path)).collect();
        let files = files?;
        Ok(self.outside.get_or_init(|| files))
    }

    /// The settings without a configuration: no file outside of the tree counts.
    pub fn unconfigured(&self) -> Self {
        let info = OutsideFile {
            name: BString::default(),
            content: FileContent::default(),
        };
        Self {
            top: self.top.clone(),
            outside: Arc::new(OnceLock::from(vec![info])),
            ..Self::default()
        }
    }

    fn read(&self, path: &Path) -> Result<OutsideFile> {
        // git finds its own directory from the top, and takes other files as they are named.
        let from_top = path
            .strip_prefix(&self.top)
            .ok()
            .filter(|_| path == self.info);
        let name = from_top.unwrap_or(path);
        let name = name.as_os_str().as_bytes().as_bstr();
        let content = source::read_file(&self.top.join(path), name, Links::Followed)?;
        let name = name.to_owned();
        Ok(OutsideFile { name, content })
    }
}

/// The attributes that a run needs in addition to `NAMES`.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// `diff`, which decides whether a file is text.
    pub text: bool,
    /// The attributes named in pathspecs.
    pub pathspecs: Vec<BString>,
}

impl Demand {
    /// A look-up of these attributes. `fold` ignores case in paths.
    fn lookup(&self, fold: bool) -> Lookup {
        let diff = self.text.then_some(DIFF);
        let names = NAMES.iter().copied().chain(diff).map(str::as_bytes);
        let pathspecs = self.pathspecs.iter().map(|name| name.as_slice());
        Lookup::new(names.chain(pathspecs), fold)
    }
}

/// `core.autocrlf`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoCrlf {
    /// Off.
    #[default]
    False,
    /// Text gets CRLF.
    True,
    /// Only on the way in.
    Input,
}

/// The attribute files that apply in the current directory of the walk.
#[derive(Clone)]
pub struct Attributes {
    settings: Arc<AttributeSettings>,
    demand: Demand,
    lookup: Lookup,
    complaints: Complaints,
    max_weight: usize,
}

/// Memory that the attribute files of nested directories may take together, in bytes: a million lines.
const MAX_WEIGHT: usize = 256 << 20;

impl Attributes {
    /// Read the files that lie outside of the tree.
    pub fn new(settings: AttributeSettings, demand: Demand) -> Result<Self> {
        let mut lookup = demand.lookup(settings.ignore_case);
        let mut complaints = Complaints::default();
        let Complaints { first, last, .. } = &mut complaints;
        if let Some((info, files)) = settings.outside()?.split_last() {
            for file in files {
                outside(file, &mut lookup, first);
            }
            outside(info, &mut lookup, last);
        }
        Ok(Self {
            settings: Arc::new(settings),
            demand,
            lookup,
            complaints,
            max_weight: MAX_WEIGHT,
        })
    }

    /// The names of the files outside of the tree that could set an attribute which decides about the archive.
    pub fn deciding_files(&self) -> Result<Vec<&BStr>> {
        let decides = |file: &&OutsideFile| {
            let mut lookup = self.demand.lookup(self.settings.ignore_case);
            lookup.outside(file.bytes(), file.name.as_bstr(), &mut Vec::new());
            lookup.has_outside_lines()
        };
        let files = self.settings.outside()?.iter().filter(decides);
        Ok(files.map(|file| file.name.as_bstr()).collect())
    }

    /// The configuration.
    pub fn settings(&self) -> &AttributeSettings {
        &self.settings
    }

    /// Enter `directory` (no slash at its end, empty for the root); `find` finds its attribute file
    /// in the tree that is archived.
    pub fn enter(
        &mut self,
        reader: &mut Reader,
        directory: &[u8],
        find: impl FnOnce(&mut Reader) -> Result<Option<ObjectId>>,
    ) -> Result<()> {
        let name = match directory {
            b"" => NAME.into(),
            _ => [directory, b"/", NAME].concat(),
        };
        let name = name.as_bstr();
        let source = &self.settings.source;
        let content = source.read(reader, directory, name, find)?;
        // Otherwise it is fetched, and the run begins again.
        if content.is_missing && !reader.notes_missing() {
            if self.settings.needs_files {
                return Err(source::missing(name));
            }
            self.settings.shareable.withdraw();
        }
        let root = directory.is_empty();
        let mut complaints = content.complaint;
        let origin = FileOrigin {
            name,
            macros: root,
            in_tree: content.in_tree,
        };
        let lines = parse(&content.bytes, &origin, &mut complaints);
        self.lookup.enter(directory, name, lines);
        self.complaints.enter(root, complaints);
        if !content.bytes.is_empty() && self.lookup.weight() > self.max_weight {
            let refused = format_bytes("too many attributes in '{}' and above it", &[name]);
            return Err(Error::fatal(refused));
        }
        Ok(())
    }

    /// Enter a directory without reading its attribute file.
    pub fn skip(&mut self) {
        self.lookup.skip();
        self.complaints.enter(false, Vec::new());
    }

    /// Leave the directory entered last.
    pub fn leave(&mut self) {
        self.lookup.leave();
        self.complaints.leave();
    }

    /// Leave all directories.
    pub fn reset(&mut self) {
        self.lookup.reset();
        self.complaints.reset();
    }

    /// Whether the attribute files of the entered directories have no complaint, printed or pending.
    pub fn is_silent(&self) -> bool {
        self.complaints.is_empty()
    }

    /// Take the complaints that have come up since the last call.
    pub fn note(&mut self) -> Note {
        std::mem::take(&mut self.complaints.note)
    }

    /// Whether any attribute or setting that applies may change the archive.
    fn in_force(&self) -> bool {
        let text_by_default = self
            .settings
            .diff_binary
            .contains_key(BStr::new(DEFAULT_DRIVER));
        self.lookup.is_live() || self.settings.autocrlf == AutoCrlf::True || text_by_default
    }

    /// Whether the files that apply may set `export-subst` below the directory entered last.
    pub fn may_substitute(&self) -> bool {
        self.lookup.mentions(self.lookup.position(b"export-subst"))
    }

    /// Whether `export-ignore` excludes `path` (without slash at its end).
    pub fn ignores(&mut self, path: &[u8], is_dir: bool) -> bool {
        self.complaints.tell(Asker::Export);
        if !self.lookup.is_live() {
            return false;
        }
        self.lookup.look_up(path, is_dir);
        *self.lookup.value(0) == Value::Set
    }

    /// The file and the number of the line that set `export-ignore` for `path`.
    pub fn ignoring_line(&self, path: &[u8], is_dir: bool) -> Option<(&FileName, usize)> {
        self.lookup.origin(path, is_dir, 0)
    }

    /// Whether `path` meets all requirements of a pathspec. `mode` is `None` for a directory of the tree. Fails if a file of
    /// the work tree decides that is not there.
    pub fn meets(
        &mut self,
        required: &Requirements,
        path: &[u8],
        mode: Option<Mode>,
    ) -> Result<bool> {
        self.complaints.tell(Asker::Pathspec(required.number));
        self.lookup.look_up(path, false);
        let asks_for_mode = required.all.iter().any(|required| required.name == MODE);
        let mode = match &self.settings.modes_of {
            Some(directory) if asks_for_mode => Some(source::mode(directory, path)?),
            _ => mode.map(octal),
        };
        Ok(required.all.iter().all(|required| match mode {
            Some(mode) if required.name == MODE => required.value == Value::Text(mode.into()),
            _ => *self.lookup.value(self.lookup.position(&required.name)) == required.value,
        }))
    }

    /// Whether the file or link at `path` is text; `None` if its content decides.
    pub fn text(&mut self, path: &[u8]) -> Option<bool> {
        if !self.demand.text {
            return None;
        }
        self.complaints.tell(Asker::Text);
        self.lookup.look_up(path, false);
        self.text_found()
    }

    /// Whether the path looked up last is text; `None` if its content decides.
    fn text_found(&self) -> Option<bool> {
        match self.lookup.value(NAMES.len()) {
            Value::Set => Some(true),
            Value::Unset => Some(false),
            Value::Text(driver) => self.driver_text(driver.as_bstr()),
            Value::Unspecified => self.driver_text(DEFAULT_DRIVER.into()),
        }
    }

    /// Whether the files of `driver` are text. The default driver replaces an unknown one.
    fn driver_text(&self, driver: &BStr) -> Option<bool> {
        let drivers = &self.settings.diff_binary;
        let binary = match drivers.get(driver) {
            Some(binary) => *binary,
            None if BUILT_IN_DRIVERS.iter().any(|known| driver == known) => None,
            None => *drivers.get(BStr::new(DEFAULT_DRIVER))?,
        };
        binary.map(|binary| !binary)
    }

    /// The treatment of the file at `path`; `None` if `export-ignore` excludes the file.
    pub fn treatment(&mut self, path: &[u8]) -> Option<Treatment> {
        self.complaints.tell(Asker::Export);
        if !self.in_force() {
            return Some(self.conversion(path));
        }
        self.lookup.look_up(path, false);
        if *self.lookup.value(0) == Value::Set {
            return None;
        }
        self.tell_conversion();
        Some(self.convert())
    }

    /// The treatment of the archived file at `path`, whatever `export-ignore` says.
    pub fn conversion(&mut self, path: &[u8]) -> Treatment {
        self.tell_conversion();
        if !self.in_force() {
            return Treatment::default();
        }
        self.lookup.look_up(path, false);
        self.convert()
    }

    fn tell_conversion(&mut self) {
        self.complaints.tell(Asker::Conversion);
        if self.demand.text {
            self.complaints.tell(Asker::Text);
        }
    }

    /// The treatment of the path looked up last.
    fn convert(&self) -> Treatment {
        let values: [_; NAMES.len()] = std::array::from_fn(|position| self.lookup.value(position));
        let [_, subst, text, crlf, eol, ident, encoding, filter] = values;
        let text = if decides_line_endings(text) {
            text
        } else {
            crlf
        };
        let (filter, lfs) = self.filter(filter);
        Treatment {
            ident: *ident == Value::Set,
            crlf: self.line_endings(text, eol),
            encoding: match encoding {
                Value::Set => Some(Encoding::Invalid),
                Value::Text(name) => encoding_named(&name.to_string()),
                _ => None,
            },
            filter,
            substitute: *subst == Value::Set,
            lfs,
            text: self.demand.text.then(|| self.text_found()).flatten(),
        }
    }

    /// The filter that the attribute `filter` names, or the store in its place.
    fn filter(&self, value: &Value) -> (Option<Arc<Driver>>, Option<Arc<LocalStore>>) {
        let Value::Text(name) = value else {
            return (None, None);
        };
        match &self.settings.lfs {
            LfsFiles::Pointers if name == LFS => (None, None),
            LfsFiles::Contents(store) if name == LFS => (None, Some(Arc::clone(store))),
            _ => (self.settings.drivers.get(name).cloned(), None),
        }
    }

    /// The line endings that follow from `text`, `eol` and the configuration (gitattributes(5), "text", "eol").
    fn line_endings(&self, text: &Value, eol: &Value) -> Option<Crlf> {
        if *text == Value::Unset {
            return None;
        }
        let is = |state: &Value, value| matches!(state, Value::Text(text) if text == value);
        let auto = is(text, "auto");
        let when = if auto { Crlf::Auto } else { Crlf::Always };
        if is(eol, "crlf") {
            return Some(when);
        }
        if is(eol, "lf") || is(text, "input") {
            return None;
        }
        let autocrlf = self.settings.autocrlf;
        if *text != Value::Set && !auto {
            return (autocrlf == AutoCrlf::True).then_some(Crlf::Auto);
        }
        let crlf = match autocrlf {
            AutoCrlf::True => true,
            AutoCrlf::Input => false,
            AutoCrlf::False => self.settings.eol_crlf,
        };
        crlf.then_some(when)
    }
}

/// Whether git knows this value of `text`. It asks the older attribute `crlf` otherwise.
fn decides_line_endings(text: &Value) -> bool {
    match text {
        Value::Set | Value::Unset => true,
        Value::Unspecified => false,
        Value::Text(text) => text == "input" || text == "auto",
    }
}

/// Add `file`, which is outside of the tree, to `lookup`.
fn outside(file: &OutsideFile, lookup: &mut Lookup, complaints: &mut Vec<u8>) {
    complaints.extend(&file.content.complaint);
    lookup.outside(file.bytes(), file.name.as_bstr(), complaints);
}

/// The mode of an entry as git writes it.
fn octal(mode: Mode) -> &'static str {
    match mode {
        Mode::File => "100644",
        Mode::Executable => "100755",
        Mode::Symlink => "120000",
        Mode::Submodule | Mode::Directory => "160000",
    }
}

/// The encoding of this `name`; `None` for UTF-8, which needs no conversion.
fn encoding_named(name: &str) -> Option<Encoding> {
    (!name.is_empty() && !is_utf8(name)).then(|| Encoding::Named(name.into()))
}

#[cfg(test)]
mod tests {
    use super::{AttributeSettings, Attributes, Demand};
    use crate::{
        attributes::AttributeSource,
        objects::reader::Reader,
        odb::{Config, Odb},
    };
    use sluice_base::temporary;

    fn reader() -> Reader {
        Reader::new(Odb::open(Config {
            dirs: Vec::new(),
            omits_dirs: false,
            hash: gix_hash::Kind::Sha1,
            multi_pack_index: false,
            replacements: Default::default(),
            is_partial: false,
            made: Default::default(),
        }))
    }

    /// Dropped lines weigh nothing, and neither do the lines of a directory that was left.
    #[test]
    fn nested_files_are_bounded_together() {
        let top = temporary::directory();
        for directory in ["", "d", "e"] {
            let path = top.path().join(directory);
            std::fs::create_dir_all(&path).expect("our own");
            let lines = "x ident\n".repeat(5);
            std::fs::write(path.join(".gitattributes"), lines).expect("our own");
        }
        let settings = AttributeSettings {
            source: AttributeSource::WorkTree(top.path().to_owned()),
            top: top.path().to_owned(),
            ..AttributeSettings::default()
        };
        let mut attributes = Attributes::new(settings, Demand::default()).expect("readable");
        attributes.max_weight = 3000;
        let enter = |attributes: &mut Attributes, directory: &str| {
            attributes.enter(&mut reader(), directory.as_bytes(), |_| Ok(None))
        };
        assert!(enter(&mut attributes, "").is_ok());
        assert!(enter(&mut attributes, "e").is_ok());
        let refused = enter(&mut attributes, "d").map_err(|error| error.to_string());
        assert_eq!(
            refused,
            Err("fatal: too many attributes in 'd/.gitattributes' and above it".to_owned())
        );
    }
}
