//! The settings of the configuration that matter for archives.

use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};

use gix::{
    bstr::{BStr, ByteSlice},
    config::File,
};

use crate::{
    base::error::{Error, Result, format_bytes},
    git::{
        attributes::{self, AttributeSource, AutoCrlf},
        convert::Driver,
        lfs::LfsFiles,
        tree::Protect,
    },
};

/// The default of `tar.umask`.
const DEFAULT_UMASK: u32 = 0o002;
/// The default of `core.bigFileThreshold` in bytes.
const DEFAULT_BIG_FILE: u64 = 512 << 20;
/// The default of `core.maxTreeDepth`.
const DEFAULT_TREE_DEPTH: i64 = 2048;

/// All settings read from the configuration.
#[derive(Clone)]
pub struct RepositorySettings {
    /// `tar.umask`
    pub umask: Umask,
    /// `core.bigFileThreshold` in bytes.
    pub big_file: u64,
    /// `core.maxTreeDepth`
    pub max_tree_depth: usize,
    /// `core.protectHFS`, `core.protectNTFS`
    pub protect: Protect,
    /// Whether clients of a server may name any object (`uploadarchive.allowUnreachable`).
    pub allow_unreachable: bool,
    /// The settings that affect the content of files.
    pub attributes: attributes::AttributeSettings,
}

/// The permission bits that entries lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Umask {
    /// These bits.
    Bits(u32),
    /// The process's umask.
    User,
}

impl Umask {
    fn read(config: &File) -> Result<Self> {
        const KEY: &str = "tar.umask";
        let Some(value) = config.string_implicit(KEY) else {
            return Ok(Self::Bits(DEFAULT_UMASK));
        };
        let value = value.unwrap_or_default();
        if value == "user" {
            return Ok(Self::User);
        }
        let bits = i32::try_from(integer(KEY, value.as_bstr())?)
            .map_err(|_| bad_number(KEY, value.as_bstr(), "out of range"))?;
        Ok(Self::Bits(bits.cast_unsigned()))
    }
}

impl RepositorySettings {
    /// Read the configuration of `repository`, in which git runs in `directory`.
    pub fn read(repository: &gix::Repository, directory: PathBuf) -> Result<Self> {
        let config = repository.config_snapshot();
        let config = config.plumbing();
        let boolean = |key: &str| boolean(config, key);
        let number = |key: &str| {
            let value = config.string_implicit(key);
            value
                .map(|value| integer(key, value.unwrap_or_default().as_bstr()))
                .transpose()
        };
        let autocrlf = match config.string_implicit("core.autocrlf").flatten() {
            Some(value) if value.eq_ignore_ascii_case(b"input") => AutoCrlf::Input,
            _ if boolean("core.autocrlf")? == Some(true) => AutoCrlf::True,
            _ => AutoCrlf::False,
        };
        let big_file = number("core.bigFileThreshold")?;
        Ok(Self {
            umask: Umask::read(config)?,
            big_file: big_file.map_or(DEFAULT_BIG_FILE, |bytes| bytes.max(0) as u64),
            max_tree_depth: number("core.maxTreeDepth")?
                .unwrap_or(DEFAULT_TREE_DEPTH)
                .max(0) as usize,
            protect: Protect {
                hfs: boolean("core.protectHFS")?.unwrap_or(false),
                ntfs: boolean("core.protectNTFS")?.unwrap_or(true),
            },
            allow_unreachable: boolean("uploadarchive.allowUnreachable")?.unwrap_or(false),
            attributes: attributes::AttributeSettings {
                source: AttributeSource::Archived,
                modes_of: None,
                top: directory,
                files: attribute_files(repository)?,
                info: repository.common_dir().join("info/attributes"),
                ignore_case: boolean("core.ignoreCase")?.unwrap_or(false),
                autocrlf,
                eol_crlf: config
                    .string_implicit("core.eol")
                    .flatten()
                    .is_some_and(|eol| eol.eq_ignore_ascii_case(b"crlf")),
                drivers: drivers(config)?,
                lfs: LfsFiles::default(),
                needs_files: false,
                diff_binary: HashMap::new(),
                outside: Arc::default(),
            },
        })
    }
}

/// The attribute files of the system and of the user. A relative path counts from the top of the work tree, to which git
/// changes; for gix from the directory in which the process began.
fn attribute_files(repository: &gix::Repository) -> Result<Vec<PathBuf>> {
    let unknown = "cannot tell where the user's attributes are";
    let failed = |error| Error::fatal(unknown).caused_by(error);
    let mut files = repository.attribute_global_paths().map_err(failed)?;
    let config = repository.config_snapshot();
    let named = config.trusted_path("core.attributesFile").map_err(failed)?;
    if let Some(named) = named.filter(|path| path.is_relative())
        && let Some(file) = files.iter_mut().find(|file| file.ends_with(&named))
    {
        *file = named;
    }
    Ok(files)
}

/// The filters that run a command or are required. An empty command counts as none.
fn drivers(config: &File) -> Result<HashMap<String, Arc<Driver>>> {
    let sections = config.sections_by_name("filter").into_iter().flatten();
    let names: BTreeSet<_> = sections
        .filter_map(|section| section.header().subsection_name())
        .collect();
    let mut drivers = HashMap::new();
    for name in names {
        let key = |key: &str| format!("filter.{name}.{key}");
        let command = |kind: &str| {
            let key = key(kind);
            match config.string_implicit(key.as_str()) {
                Some(None) => Err(missing_value(&key)),
                value => Ok(value.flatten()),
            }
        };
        let (smudge, process) = (command("smudge")?, command("process")?);
        // A process replaces a smudge command, even if the process is empty.
        let smudge = smudge.filter(|_| process.is_none());
        let driver = Driver {
            name: name.to_owned(),
            smudge: smudge.filter(|command| !command.is_empty()),
            process: process.filter(|command| !command.is_empty()),
            required: boolean(config, &key("required"))?.unwrap_or_default(),
        };
        if driver.required || driver.smudge.is_some() || driver.process.is_some() {
            drivers.insert(name.to_string(), Arc::new(driver));
        }
    }
    Ok(drivers)
}

/// The `binary` settings of the drivers of the `diff` attribute, `None` for `auto`. Read only for formats
/// that need them, so that an invalid value does not fail other runs.
pub fn diff_binary(repository: &gix::Repository) -> Result<HashMap<String, Option<bool>>> {
    let config = repository.config_snapshot();
    let config = config.plumbing();
    let sections = config.sections_by_name("diff").into_iter().flatten();
    let mut drivers = HashMap::new();
    for name in sections.filter_map(|section| section.header().subsection_name()) {
        let key = format!("diff.{name}.binary");
        let binary = match config.string_implicit(key.as_str()).flatten() {
            Some(value) if value.eq_ignore_ascii_case(b"auto") => None,
            _ => boolean(config, &key)?,
        };
        drivers.insert(name.to_string(), binary);
    }
    Ok(drivers)
}

/// The boolean `key`, which is true without a value. `None` if the key is not set.
fn boolean(config: &File, key: &str) -> Result<Option<bool>> {
    match config.string_implicit(key) {
        None => Ok(None),
        Some(None) => Ok(Some(true)),
        Some(Some(value)) => truth(key, value.as_bstr()).map(Some),
    }
}

/// The error of `key` without a required value.
pub fn missing_value(key: &str) -> Error {
    Error::fatal(format!("bad config variable '{key}'"))
        .after(format!("error: missing value for '{key}'"))
}

/// The error of `key` with a `value` that is no number.
fn bad_number(key: &str, value: &BStr, why: &str) -> Error {
    let key = key.to_ascii_lowercase();
    let template = "bad numeric config value '{}' for '{}': {}";
    Error::fatal(format_bytes(
        template,
        &[value, key.as_bytes(), why.as_bytes()],
    ))
}

/// Parse a boolean as git does.
pub fn truth(key: &str, value: &BStr) -> Result<bool> {
    match value.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" | b"on" => Ok(true),
        b"false" | b"no" | b"off" | b"" => Ok(false),
        _ => match integer(key, value) {
            Ok(number) => Ok(number != 0),
            Err(_) => {
                let key = key.to_ascii_lowercase();
                let template = "bad boolean config value '{}' for '{}'";
                Err(Error::fatal(format_bytes(
                    template,
                    &[value, key.as_bytes()],
                )))
            }
        },
    }
}

/// Parse a number as git does: decimal, octal with `0`, hexadecimal with `0x`, then `k`, `m` or `g`.
pub fn integer(key: &str, value: &BStr) -> Result<i64> {
    let bad = |why| bad_number(key, value, why);
    let text = value
        .to_str()
        .map_err(|_| bad("invalid unit"))?
        .trim_ascii_start();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = text.to_ascii_lowercase();
    let (radix, digits) = match lower.strip_prefix("0x") {
        Some(hex) => (16, hex),
        None if lower.starts_with('0') => (8, lower.as_str()),
        None => (10, lower.as_str()),
    };
    let end = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    let unit = match &digits[end..] {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return Err(bad("invalid unit")),
    };
    if end == 0 {
        return Err(bad("invalid unit"));
    }
    let number = i64::from_str_radix(&digits[..end], radix).ok();
    number
        .and_then(|number| number.checked_mul(unit))
        .map(|number| sign * number)
        .ok_or_else(|| bad("out of range"))
}

#[cfg(test)]
mod tests {
    use super::integer;

    #[test]
    fn numbers_are_read_as_git_reads_them() {
        for (value, expected) in [
            ("18", 18),
            ("0022", 0o22),
            ("0x1fF", 0x1ff),
            ("1k", 1024),
            ("-1", -1),
            ("2G", 2 << 30),
        ] {
            assert_eq!(
                integer("tar.umask", value.into()).ok(),
                Some(expected),
                "{value}"
            );
        }
        let error = integer("tar.umask", "x".into()).unwrap_err().to_string();
        assert_eq!(
            error,
            "fatal: bad numeric config value 'x' for 'tar.umask': invalid unit"
        );
        let error = integer("tar.umask", "99999999999g".into())
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("out of range"));
    }
}
