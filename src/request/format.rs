//! The formats of archives, and the choice between them (git-archive(1), "CONFIGURATION").
//!
//! git's formats are built in, in git's order, and Zstandard behind them. The configuration may add formats
//! that pipe the tar through a command, and may change or remove the built-in compressors. Must not start a
//! command.

use std::ffi::OsStr;

use gix::{
    bstr::{BStr, BString, ByteSlice},
    config::file::SectionRef,
};

use crate::{
    base::error::{Error, Result, format_bytes},
    format::{
        deflate::{self, Dialect},
        zstd,
    },
    git::repository::settings::truth,
};

/// The command of the configuration that means the built-in compressor, as in git.
const INTERNAL_GZIP: &str = "git archive gzip";
/// The built-in format that git lacks. `tar.tar.zst.remote` decides about it as about git's compressors.
const ZSTD: &str = "tar.zst";

/// The extensions of compressed archives in lower case, with the way to compress a tar so: those that GNU tar,
/// bsdtar and 7-Zip know.
const COMPRESSED: [(&[&str], Compressor); 11] = [
    (&["gz", "tgz", "taz"], Compressor::BuiltIn("tar.gz")),
    (&["zst", "tzst"], Compressor::BuiltIn("tar.zst")),
    (&["zip"], Compressor::BuiltIn("zip")),
    (&["xz", "txz"], Compressor::Command("xz -c")),
    (
        &["bz2", "bz", "tbz2", "tbz", "tb2", "tz2"],
        Compressor::Command("bzip2 -c"),
    ),
    (&["lz"], Compressor::Command("lzip -c")),
    (&["lzma", "tlz"], Compressor::Command("lzma -c")),
    (&["lz4", "tlz4"], Compressor::Command("lz4 -c")),
    (&["lzo", "tzo"], Compressor::Command("lzop -c")),
    (&["z"], Compressor::Command("compress -c")),
    (&["7z", "t7z", "rar"], Compressor::None),
];

#[derive(Clone, Copy)]
enum Compressor {
    /// This format is built in.
    BuiltIn(&'static str),
    /// The configuration may add a format with this command.
    Command(&'static str),
    /// No command reads a tar and writes such an archive.
    None,
}

/// The format of an archive, with its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain tar.
    Tar,
    /// Tar in a gzip stream, with the bytes of this program.
    TarGz(deflate::Level, Dialect),
    /// Tar in a zstd stream.
    TarZst(zstd::Level),
    /// Tar, piped through this command.
    Filtered(BString),
    /// Zip.
    Zip(deflate::Level),
}

/// A format by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFormat {
    name: BString,
    family: FormatKind,
    /// Whether it is served to others (`git archive --remote`).
    remote: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FormatKind {
    Tar,
    Gzip,
    Zstd,
    Command(BString),
    Zip,
}

/// All formats, in the order in which they are looked for.
#[derive(Clone, Debug)]
pub struct Formats {
    all: Vec<NamedFormat>,
    /// Whether only formats that are served to remote clients can be chosen. A format that is not served
    /// still hides a later format of its name.
    only_served: bool,
}

impl Formats {
    /// Reads the formats that `config` adds to the built-in ones. `bare_keys` are keys without a value.
    pub fn read<'k>(
        config: &gix::config::File,
        mut bare_keys: impl Iterator<Item = &'k BStr>,
    ) -> Result<Self> {
        let is_command = |key: &&BStr| key.starts_with(b"tar.") && key.ends_with(b".command");
        if let Some(key) = bare_keys.find(is_command) {
            let refused = format_bytes("unable to parse '{}' from command-line config", &[key]);
            return Err(
                Error::fatal(refused).after(format_bytes("error: missing value for '{}'", &[key]))
            );
        }
        let mut filters = vec![
            FormatFilter::internal("tgz"),
            FormatFilter::internal("tar.gz"),
        ];
        for section in config.sections_by_name("tar").into_iter().flatten() {
            let Some(name) = section.header().subsection_name() else {
                continue;
            };
            for key in section.value_names() {
                let at = filters.iter().position(|filter| filter.name == name);
                let at = at.unwrap_or_else(|| {
                    filters.push(FormatFilter::new(name));
                    filters.len() - 1
                });
                filters[at].set(key.as_bytes(), &section)?;
            }
        }
        let zst = filters.iter().find(|filter| filter.name == ZSTD);
        let zst = NamedFormat {
            remote: zst.and_then(|filter| filter.remote).unwrap_or(true),
            ..NamedFormat::served(ZSTD, FormatKind::Zstd)
        };
        let filters = filters.into_iter().filter_map(FormatFilter::named);
        let all = [NamedFormat::served("tar", FormatKind::Tar)]
            .into_iter()
            .chain(filters)
            .chain([NamedFormat::served("zip", FormatKind::Zip), zst]);
        Ok(Self {
            all: all.collect(),
            only_served: false,
        })
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
            first == Some(format)
        };
        let is_known_to_git = |format: &NamedFormat| format.family != FormatKind::Zstd;
        // The configuration may have a format of the same name, which git would list twice.
        let listed = move |format: &&NamedFormat| {
            self.offers(format) && (is_known_to_git(format) || is_first(format))
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
        let told = output.and_then(|output| self.all.iter().find(|format| format.ends(output)));
        Ok(told.unwrap_or(&self.all[0]))
    }
}

impl NamedFormat {
    /// The name, such as `tar.gz`.
    pub fn name(&self) -> &BStr {
        self.name.as_bstr()
    }

    fn served(name: &str, family: FormatKind) -> Self {
        Self {
            name: name.into(),
            family,
            remote: true,
        }
    }

    /// Whether the format is zip.
    pub fn is_zip(&self) -> bool {
        self.family == FormatKind::Zip
    }

    /// Whether a file called `path` is of this format: a name, a dot, the format.
    fn ends(&self, path: &[u8]) -> bool {
        let stem = path.strip_suffix(self.name.as_slice());
        let stem = stem.and_then(|stem| stem.strip_suffix(b"."));
        stem.is_some_and(|stem| !stem.is_empty())
    }

    /// Refuses a plain tar for a file called `output` if the name is that of a compressed archive.
    pub fn fit_name(&self, output: &[u8]) -> Result<()> {
        let is_tar = self.family == FormatKind::Tar;
        let Some(hint) = compression_hint(output).filter(|_| is_tar) else {
            return Ok(());
        };
        let refused = format_bytes("'{}' is the name of a compressed archive", &[output]);
        Err(Error::fatal(refused).hinted(hint))
    }

    /// The command of the configuration that compresses the tar, without a level.
    pub fn command(&self) -> Option<&BStr> {
        match &self.family {
            FormatKind::Command(command) => Some(command.as_bstr()),
            _ => None,
        }
    }

    /// Refuses a compression level that this format does not have.
    pub fn check_level(&self, level: Option<i32>) -> Result<()> {
        let Some(level) = level else { return Ok(()) };
        let known = match self.family {
            FormatKind::Tar => false,
            FormatKind::Zip => (0..=9).contains(&level),
            FormatKind::Zstd => zstd::Level::new(level as u32).is_some(),
            FormatKind::Gzip | FormatKind::Command(_) => true,
        };
        match known {
            true => Ok(()),
            false => Err(Error::fatal(format_bytes(
                "Argument not supported for format '{}': -{}",
                &[&self.name, level.to_string().as_bytes()],
            ))),
        }
    }

    /// The format at this level. `gzip` decides whose bytes a tar.gz has.
    pub fn at_level(
        &self,
        level: Option<i32>,
        gzip: impl FnOnce() -> Result<Dialect>,
    ) -> Result<Format> {
        let deflate = || match level {
            None => Ok(deflate::Level::DEFAULT),
            Some(level) => u8::try_from(level)
                .ok()
                .and_then(deflate::Level::new)
                .ok_or_else(|| Error::fatal("deflateInit2: stream consistency error (no message)")),
        };
        Ok(match &self.family {
            FormatKind::Tar => Format::Tar,
            FormatKind::Gzip => Format::TarGz(deflate()?, gzip()?),
            FormatKind::Zip => Format::Zip(deflate()?),
            FormatKind::Zstd => Format::TarZst(
                level
                    .and_then(|level| zstd::Level::new(level as u32))
                    .unwrap_or(zstd::Level::DEFAULT),
            ),
            FormatKind::Command(command) => Format::Filtered(match level {
                None => command.clone(),
                Some(level) => format!("{command} -{level}").into(),
            }),
        })
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
    let mut known = COMPRESSED.iter();
    let (_, compressor) = known.find(|(ends, _)| ends.iter().any(is_end))?;
    let plain = "--format=tar writes a plain tar";
    Some(match compressor {
        Compressor::BuiltIn(format) => format!("--format={format} compresses it; {plain}").into(),
        Compressor::Command(command) => {
            // git compares the names of formats byte for byte.
            let is_tar = stem.to_ascii_lowercase().ends_with(b".tar");
            let name = &output[stem.len() + 1 - if is_tar { 4 } else { 0 }..];
            format_bytes(
                "'git config tar.{}.command \"{}\"' compresses it; {}",
                &[name, command.as_bytes(), plain.as_bytes()],
            )
        }
        Compressor::None => plain.into(),
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

    /// Takes the last value of `key` in `section`.
    fn set(&mut self, key: &[u8], section: &SectionRef<'_>) -> Result<()> {
        let name = &self.name;
        let full = |key: &str| format!("tar.{name}.{key}");
        if key.eq_ignore_ascii_case(b"command") {
            let Some(command) = section.value("command") else {
                let (key, path) = (full("command"), section.meta().path.as_deref());
                let place =
                    path.map_or_else(String::new, |path| format!(" in file {}", path.display()));
                return Err(Error::fatal(format!("bad config variable '{key}'{place}"))
                    .after(format!("error: missing value for '{key}'")));
            };
            self.command = Some(command);
        } else if key.eq_ignore_ascii_case(b"remote") {
            self.remote = Some(match section.value("remote") {
                Some(value) => truth(&full("remote"), value.as_bstr())?,
                None => true,
            });
        }
        Ok(())
    }

    /// The format, if the configuration gives a command.
    fn named(self) -> Option<NamedFormat> {
        let command = self.command?;
        Some(NamedFormat {
            family: match command == INTERNAL_GZIP {
                true => FormatKind::Gzip,
                false => FormatKind::Command(command),
            },
            name: self.name,
            remote: self.remote.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, FormatKind, Formats};
    use crate::format::deflate::{self, Dialect};

    fn formats(config: &str) -> Formats {
        let config = gix::config::File::try_from(config).expect("valid");
        Formats::read(&config, std::iter::empty()).expect("valid")
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
        assert_eq!(zip.family, FormatKind::Command("mine".into()));
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
            (
                configured,
                "x.xz",
                Some("'git config tar.xz.command \"xz -c\"'"),
            ),
            (
                "",
                "x.tar.xz",
                Some("'git config tar.tar.xz.command \"xz -c\"'"),
            ),
            (
                "",
                "x.tbz2",
                Some("'git config tar.tbz2.command \"bzip2 -c\"'"),
            ),
            ("", "x.zst", Some("--format=tar.zst")),
            ("", "x.gz", Some("--format=tar.gz")),
            ("", "x.TGZ", Some("--format=tar.gz")),
            ("", "x.Tar.Gz", Some("--format=tar.gz")),
            ("", "x.ZIP", Some("--format=zip")),
            (
                "",
                "d.x/x.TAR.XZ",
                Some("'git config tar.TAR.XZ.command \"xz -c\"'"),
            ),
            (
                "",
                "x.tar.lz",
                Some("'git config tar.tar.lz.command \"lzip -c\"'"),
            ),
            (
                "",
                "x.tbz",
                Some("'git config tar.tbz.command \"bzip2 -c\"'"),
            ),
            (
                "",
                "x.tar.lz4",
                Some("'git config tar.tar.lz4.command \"lz4 -c\"'"),
            ),
            (
                "",
                "x.tar.Z",
                Some("'git config tar.tar.Z.command \"compress -c\"'"),
            ),
            ("", "x.gz/y", None),
            ("", ".zip", None),
            ("", "d/.tgz", None),
            ("", "x.tar.gz.asc", None),
        ] {
            let formats = formats(config);
            let chosen = formats.choose(None, Some(output.as_bytes()));
            let refused = chosen.and_then(|format| format.fit_name(output.as_bytes()));
            let expected = hint.map(|hint| {
                format!(
                    "fatal: '{output}' is the name of a compressed archive\n\
                     hint: {hint} compresses it; --format=tar writes a plain tar"
                )
            });
            let refused = refused.map_err(|error| error.to_string());
            assert_eq!(refused.err(), expected, "{output}");
        }
    }

    #[test]
    fn no_command_writes_these() {
        let formats = formats("");
        for output in ["x.7z", "x.tar.7z", "x.RAR"] {
            let chosen = formats.choose(None, Some(output.as_bytes()));
            let refused = chosen.and_then(|format| format.fit_name(output.as_bytes()));
            let expected = format!(
                "fatal: '{output}' is the name of a compressed archive\n\
                 hint: --format=tar writes a plain tar"
            );
            assert_eq!(refused.expect_err(output).to_string(), expected);
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
            deflate::Level::new(9).map(|level| Format::TarGz(level, Dialect::Zlib))
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
        assert!(at("tar.zst", 20).is_err());
    }
}
