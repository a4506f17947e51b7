//! The formats of archives, and the choice between them (git-archive(1), "CONFIGURATION").
//!
//! git's formats are built in, in git's order, and Zstandard after them. The configuration may add formats
//! that pipe the tar through a command, and may change or remove the built-in compressors. Must not start a
//! command.

mod table;

use std::{ffi::OsStr, path::Path};

use bstr::{BStr, BString, ByteSlice};
use sluice_deflate::Dialect;

use sluice_base::error::{Error, Result, format_bytes};
use sluice_git::config::{Config, Variable};
use table::{COMPRESSED, GZIP, TAR, ZIP};

pub use table::{Container, Format, FormatRow};

/// The command of the configuration that means the built-in compressor, as in git.
pub(super) const INTERNAL_GZIP: &str = "git archive gzip";

/// The extensions of archives whose compression is not built in, with the command that a format of the configuration may have.
/// `None` if no command reads a tar and writes such an archive.
const OTHERS: [(&[&str], Option<&str>); 8] = [
    (&["xz", "txz"], Some("xz -c")),
    (
        &["bz2", "bz", "tbz2", "tbz", "tb2", "tz2"],
        Some("bzip2 -c"),
    ),
    (&["lz"], Some("lzip -c")),
    (&["lzma", "tlz"], Some("lzma -c")),
    (&["lz4", "tlz4"], Some("lz4 -c")),
    (&["lzo", "tzo"], Some("lzop -c")),
    (&["z"], Some("compress -c")),
    (&["7z", "t7z", "rar"], None),
];

/// A format by its name.
#[derive(Clone, Debug)]
pub struct NamedFormat {
    name: BString,
    kind: FormatKind,
    /// Whether it is served to others (`git archive --remote`).
    remote: bool,
}

#[derive(Clone, Debug)]
enum FormatKind {
    BuiltIn(&'static FormatRow),
    Command(BString),
}

/// All formats, in the order in which they are looked for.
#[derive(Clone, Debug)]
pub struct Formats {
    all: Vec<NamedFormat>,
    /// Whether only formats that are served to remote clients can be chosen. A format that is not served
    /// still hides a later format of its name.
    only_served: bool,
    /// Whether the name of a file means the format that it means to git.
    follows_git: bool,
}

impl Formats {
    /// Reads the formats that `config` adds to the built-in ones. Messages name files from the `directory` in which git runs.
    pub fn read(config: &Config, directory: &Path) -> Result<Self> {
        let mut filters = vec![
            FormatFilter::internal("tgz"),
            FormatFilter::internal("tar.gz"),
        ];
        for variable in config.variables() {
            let Some((Some(name), key)) = variable.in_section("tar") else {
                continue;
            };
            let at = filters.iter().position(|filter| filter.name == name);
            let at = at.unwrap_or_else(|| {
                filters.push(FormatFilter::new(name));
                filters.len() - 1
            });
            filters[at].set(key, variable, directory)?;
        }
        let ours = COMPRESSED.into_iter().filter(|row| !row.is_of_git);
        let ours = ours.map(|row| {
            // `tar.tar.zst.remote` decides as about git's compressors.
            let filter = filters.iter().find(|filter| filter.name == row.name);
            NamedFormat {
                remote: filter.and_then(|filter| filter.remote).unwrap_or(true),
                ..NamedFormat::built_in(row)
            }
        });
        let ours: Vec<_> = ours.collect();
        let filters = filters.into_iter().filter_map(FormatFilter::named);
        let all = [NamedFormat::built_in(&TAR)]
            .into_iter()
            .chain(filters)
            .chain([NamedFormat::built_in(&ZIP)])
            .chain(ours);
        Ok(Self {
            all: all.collect(),
            only_served: false,
            follows_git: false,
        })
    }

    /// The same formats, of which the name of a file means the one that git takes: a tar if git does not know the name.
    pub fn named_by_git(self) -> Self {
        Self {
            follows_git: true,
            ..self
        }
    }

    /// The formats that remote clients may choose.
    pub fn served(self) -> Self {
        Self {
            only_served: true,
            ..self
        }
    }

    fn offers(&self, format: &NamedFormat) -> bool {
        format.remote || !self.only_served
    }

    /// The names of the formats that can be chosen: those of git in git's order, and Zstandard after them.
    pub fn names(&self) -> impl Iterator<Item = &BStr> {
        let is_first = |format: &NamedFormat| {
            let first = self.all.iter().find(|other| other.name == format.name);
            first.is_some_and(|first| std::ptr::eq(first, format))
        };
        // The configuration may have a format of the same name, which git would list twice.
        let listed = move |format: &&NamedFormat| {
            self.offers(format) && (format.is_known_to_git() || is_first(format))
        };
        self.all
            .iter()
            .filter(listed)
            .map(|format| format.name.as_bstr())
    }

    fn unknown(&self, name: &[u8]) -> Error {
        let error = Error::fatal(format_bytes("Unknown archive format '{}'", &[name]));
        if self.only_served {
            return error;
        }
        let names: Vec<&[u8]> = self.names().map(|name| name.as_bytes()).collect();
        let names = names.join(&b", "[..]);
        error.hinted(format_bytes("the formats are {}", &[&names]))
    }

    /// Chooses the format `name`, else the one that the end of the file name `output` means, else tar.
    pub fn choose(&self, name: Option<&OsStr>, output: Option<&[u8]>) -> Result<&NamedFormat> {
        if let Some(name) = name {
            let name = name.as_encoded_bytes();
            return self
                .all
                .iter()
                .find(|format| format.name == name)
                .filter(|format| self.offers(format))
                .ok_or_else(|| self.unknown(name));
        }
        let is_meant = |format: &&NamedFormat| format.is_known_to_git() || !self.follows_git;
        let mut meant = self.all.iter().filter(is_meant);
        let named = output.and_then(|output| meant.find(|format| format.ends(output)));
        Ok(named.unwrap_or(&self.all[0]))
    }

    /// Refuses a plain tar, if `format` is one, for a file called `output` if the name is that of a compressed archive. git
    /// writes the tar.
    pub fn fit_name(&self, format: &NamedFormat, output: &[u8]) -> Result<()> {
        if self.follows_git || !format.makes(Container::Tar) {
            return Ok(());
        }
        let Some(hint) = compression_hint(output) else {
            return Ok(());
        };
        let refused = format_bytes("'{}' is the name of a compressed archive", &[output]);
        Err(Error::fatal(refused).hinted(hint))
    }
}

impl NamedFormat {
    /// The name, such as `tar.gz`.
    pub fn name(&self) -> &BStr {
        self.name.as_bstr()
    }

    fn built_in(row: &'static FormatRow) -> Self {
        Self {
            name: row.name.into(),
            kind: FormatKind::BuiltIn(row),
            remote: true,
        }
    }

    fn is_known_to_git(&self) -> bool {
        match self.kind {
            FormatKind::BuiltIn(row) => row.is_of_git,
            FormatKind::Command(_) => true,
        }
    }

    fn makes(&self, what: Container) -> bool {
        matches!(self.kind, FormatKind::BuiltIn(row) if row.container == what)
    }

    /// Whether the format is zip.
    pub fn is_zip(&self) -> bool {
        self.makes(Container::Zip)
    }

    /// Whether a file called `path` is of this format: a name, a dot, the format.
    fn ends(&self, path: &[u8]) -> bool {
        let stem = path.strip_suffix(self.name.as_slice());
        let stem = stem.and_then(|stem| stem.strip_suffix(b"."));
        stem.is_some_and(|stem| !stem.is_empty())
    }

    /// The command of the configuration that compresses the tar, without a level.
    pub fn command(&self) -> Option<&BStr> {
        match &self.kind {
            FormatKind::Command(command) => Some(command.as_bstr()),
            FormatKind::BuiltIn(_) => None,
        }
    }

    /// Refuses a compression level that this format does not have.
    pub fn check_level(&self, level: Option<i32>) -> Result<()> {
        let Some(level) = level else { return Ok(()) };
        let known = match self.kind {
            FormatKind::BuiltIn(row) => (row.has_level)(level),
            FormatKind::Command(_) => true,
        };
        if known {
            Ok(())
        } else {
            Err(Error::fatal(format_bytes(
                "Argument not supported for format '{}': -{}",
                &[&self.name, level.to_string().as_bytes()],
            )))
        }
    }

    /// The format at this level. `gzip` decides whose bytes a tar.gz has.
    pub fn at_level(
        &self,
        level: Option<i32>,
        gzip: impl Fn() -> Result<Dialect>,
    ) -> Result<Format> {
        match &self.kind {
            FormatKind::BuiltIn(row) => (row.at_level)(level, &gzip),
            FormatKind::Command(command) => Ok(Format::Filtered(match level {
                None => command.clone(),
                Some(level) => format!("{command} -{level}").into(),
            })),
        }
    }
}

/// How to compress a tar as the name `output` promises. `None` for the name of a plain tar.
fn compression_hint(output: &[u8]) -> Option<BString> {
    let (stem, end) = output.rsplit_once_str(".")?;
    if stem.is_empty() || stem.ends_with(b"/") {
        // A hidden file: the dot begins its name, and no extension.
        return None;
    }
    let is_end = |known: &&str| end.eq_ignore_ascii_case(known.as_bytes());
    let plain = "--format=tar writes a plain tar";
    let mut built_in = COMPRESSED.iter();
    if let Some(row) = built_in.find(|row| row.extensions.iter().any(is_end)) {
        return Some(format!("--format={} compresses it; {plain}", row.name).into());
    }
    let mut others = OTHERS.iter();
    let (_, command) = others.find(|(ends, _)| ends.iter().any(is_end))?;
    Some(match command {
        Some(command) => {
            // git compares the names of formats byte for byte.
            let is_tar = stem.to_ascii_lowercase().ends_with(b".tar");
            let name = &output[stem.len() + 1 - if is_tar { 4 } else { 0 }..];
            format_bytes(
                "'git config tar.{}.command \"{}\"' compresses it; {}",
                &[name, command.as_bytes(), plain.as_bytes()],
            )
        }
        None => plain.into(),
    })
}

/// A tar filter as it is being configured.
struct FormatFilter {
    name: BString,
    command: Option<BString>,
    remote: Option<bool>,
}

impl FormatFilter {
    fn new(name: &BStr) -> Self {
        Self {
            name: name.to_owned(),
            command: None,
            remote: None,
        }
    }

    fn internal(name: &str) -> Self {
        Self {
            name: name.into(),
            command: Some(INTERNAL_GZIP.into()),
            remote: Some(true),
        }
    }

    /// Takes the value of `variable`, whose name ends with `key`.
    fn set(&mut self, key: &BStr, variable: &Variable, directory: &Path) -> Result<()> {
        match key.as_bytes() {
            b"command" => self.command = Some(variable.required(directory)?.to_owned()),
            b"remote" => self.remote = Some(variable.truth()?),
            _ => {}
        }
        Ok(())
    }

    /// The format, if the configuration gives a command.
    fn named(self) -> Option<NamedFormat> {
        let command = self.command?;
        Some(NamedFormat {
            kind: if command == INTERNAL_GZIP {
                FormatKind::BuiltIn(&GZIP)
            } else {
                FormatKind::Command(command)
            },
            name: self.name,
            remote: self.remote.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sluice_deflate::{Dialect, Level};

    use super::{Format, Formats};
    use sluice_git::config::Config;

    fn formats(config: &str) -> Formats {
        Formats::read(&Config::of_text(config), Path::new("")).expect("valid")
    }

    const USERS: &str = "[tar \"tar.xz\"]\ncommand = xz -c\nremote\n[tar \"zip\"]\ncommand = mine\n\
                         [tar \"tgz\"]\nremote = no\n[tar \"none\"]\nremote = yes\n[tar]\numask = 2\n";

    #[test]
    fn formats_are_listed_in_the_order_of_git() {
        let names =
            |formats: &Formats| formats.names().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            names(&formats("")),
            ["tar", "tgz", "tar.gz", "zip", "tar.zst"]
        );
        let users = formats(USERS);
        assert_eq!(
            names(&users),
            ["tar", "tgz", "tar.gz", "tar.xz", "zip", "zip", "tar.zst"]
        );
        assert_eq!(
            names(&users.served()),
            ["tar", "tar.gz", "tar.xz", "zip", "tar.zst"]
        );
        let own = formats(&format!("{USERS}[tar \"tar.zst\"]\ncommand = mine\n"));
        assert_eq!(
            names(&own),
            ["tar", "tgz", "tar.gz", "tar.xz", "zip", "tar.zst", "zip"]
        );
    }

    #[test]
    fn a_format_that_is_not_served_hides_the_one_built_in() {
        let config = format!("{USERS}[tar \"tar.zst\"]\ncommand = mine\n");
        let served = formats(&config).served();
        let choose = |name: &str| served.choose(Some(name.as_ref()), None);
        for hidden in ["zip", "tar.zst", "tgz"] {
            let error = choose(hidden).expect_err(hidden).to_string();
            assert_eq!(error, format!("fatal: Unknown archive format '{hidden}'"));
        }
        for offered in ["tar", "tar.gz", "tar.xz"] {
            assert_eq!(choose(offered).expect("offered").name, offered);
        }
    }

    #[test]
    fn zstandard_is_served_unless_the_configuration_says_otherwise() {
        for (config, is_served) in [
            ("", true),
            ("[tar \"tar.zst\"]\nremote = true\n", true),
            ("[tar \"tar.zst\"]\nother = false\n", true),
            ("[tar \"tar.zst\"]\nremote = false\n", false),
            ("[tar \"tar.zst\"]\ncommand = mine\n", false),
        ] {
            let local = formats(config);
            assert!(local.names().any(|name| name == "tar.zst"), "{config}");
            let served = local.served();
            let listed = served.names().any(|name| name == "tar.zst");
            let chosen = served.choose(Some("tar.zst".as_ref()), None).is_ok();
            assert_eq!((listed, chosen), (is_served, is_served), "{config}");
        }
    }

    #[test]
    fn file_names_tell_the_format() {
        let formats = formats(USERS);
        for (output, expected) in [
            ("d/x.zip", "zip"),
            ("x.tar.gz.zip", "zip"),
            (".zip", "tar"),
            ("./.zip", "zip"),
            ("x.ZIP", "tar"),
            ("xtgz", "tar"),
            ("a.tgz.gz", "tar"),
            ("a.tar.gz", "tar.gz"),
            ("a.tar.xz", "tar.xz"),
            ("a.tar.zst", "tar.zst"),
        ] {
            let chosen = formats
                .choose(None, Some(output.as_bytes()))
                .expect("always one");
            assert_eq!(chosen.name, expected, "{output}");
        }
        let zip = formats.choose(Some("zip".as_ref()), None).expect("known");
        assert_eq!(zip.command(), Some("mine".into()));
    }

    #[test]
    fn names_of_compressed_archives_are_not_for_a_plain_tar() {
        let configured = "[tar \"tar.xz\"]\ncommand = xz -c\n";
        for (config, output, hint) in [
            ("", "d/x.tar", None),
            ("", "x", None),
            ("", "xz", None),
            ("", "x.tar.zst", None),
            ("", "x.tgz", None),
            (configured, "x.tar.xz", None),
            (configured, "x.xz", Some("xz: xz -c")),
            ("", "x.tar.xz", Some("tar.xz: xz -c")),
            ("", "x.tbz2", Some("tbz2: bzip2 -c")),
            ("", "x.zst", Some("--format=tar.zst")),
            ("", "x.gz", Some("--format=tar.gz")),
            ("", "x.TGZ", Some("--format=tar.gz")),
            ("", "x.Tar.Gz", Some("--format=tar.gz")),
            ("", "x.ZIP", Some("--format=zip")),
            ("", "d.x/x.TAR.XZ", Some("TAR.XZ: xz -c")),
            ("", "x.tar.lz", Some("tar.lz: lzip -c")),
            ("", "x.tbz", Some("tbz: bzip2 -c")),
            ("", "x.tar.lz4", Some("tar.lz4: lz4 -c")),
            ("", "x.tar.Z", Some("tar.Z: compress -c")),
            ("", "x.7z", Some("")),
            ("", "x.tar.7z", Some("")),
            ("", "x.RAR", Some("")),
            ("", "x.gz/y", None),
            ("", ".zip", None),
            ("", "d/.tgz", None),
            ("", "x.tar.gz.asc", None),
        ] {
            let formats = formats(config);
            let chosen = formats.choose(None, Some(output.as_bytes()));
            let refused = chosen.and_then(|format| formats.fit_name(format, output.as_bytes()));
            let expected = hint.map(|hint| {
                let hint = match hint.split_once(": ") {
                    Some((name, command)) => {
                        format!("'git config tar.{name}.command \"{command}\"' compresses it; ")
                    }
                    // No command writes these.
                    None if hint.is_empty() => String::new(),
                    None => format!("{hint} compresses it; "),
                };
                format!(
                    "fatal: '{output}' is the name of a compressed archive\n\
                     hint: {hint}--format=tar writes a plain tar"
                )
            });
            let refused = refused.map_err(|error| error.to_string());
            assert_eq!(refused.err(), expected, "{output}");
        }
    }

    #[test]
    fn levels_are_for_compressors() {
        let formats = formats(USERS);
        let at = |name: &str, level| {
            let format = formats.choose(Some(name.as_ref()), None)?;
            format.check_level(Some(level))?;
            format.at_level(Some(level), || Ok(Dialect::Zlib))
        };
        assert!(at("tar", 1).is_err());
        assert_eq!(
            at("tar.gz", 9).ok(),
            Level::new(9).map(|level| Format::TarGz(level, Dialect::Zlib))
        );
        assert!(
            at("tar.gz", 10)
                .unwrap_err()
                .to_string()
                .contains("deflateInit2")
        );
        assert_eq!(
            at("tar.xz", 77).ok(),
            Some(Format::Filtered("xz -c -77".into()))
        );
        for (level, is_taken) in [(0, false), (1, true), (19, true), (20, false)] {
            assert_eq!(at("tar.zst", level).is_ok(), is_taken, "{level}");
        }
        let plain = self::formats("");
        let zip = plain.choose(Some("zip".as_ref()), None).expect("known");
        assert!(zip.check_level(Some(9)).is_ok());
        assert!(at("tar.gz", 0).is_ok());
    }
}
