//! What the configuration says about archives.

use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};

use gix::bstr::{BStr, ByteSlice};

use crate::{
    convert::Driver,
    error::{Error, Result},
    plan::select::{
        attributes::{self, AutoCrlf},
        source::Source,
        verify::Protect,
    },
};

/// `tar.umask` where nothing is configured.
const DEFAULT_UMASK: u32 = 0o002;
/// `core.bigFileThreshold` where nothing is configured, in bytes.
const DEFAULT_BIG_FILE: u64 = 512 << 20;
/// `core.maxTreeDepth` where nothing is configured.
const DEFAULT_TREE_DEPTH: i64 = 2048;

/// Everything read from the configuration.
pub struct Settings {
    /// `tar.umask`
    pub umask: Umask,
    /// `core.bigFileThreshold` in bytes.
    pub big_file: u64,
    /// `core.maxTreeDepth`
    pub max_tree_depth: usize,
    /// `core.protectHFS`, `core.protectNTFS`
    pub protect: Protect,
    /// `uploadarchive.allowUnreachable`: clients of a server may name what they like.
    pub allow_unreachable: bool,
    /// What affects the content of files.
    pub attributes: attributes::Settings,
}

/// Which permission bits are withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Umask {
    /// These.
    Bits(u32),
    /// Those the process withholds from the files it makes.
    User,
}

impl Settings {
    /// Read the configuration of `repository`, in which git runs in `directory`.
    pub fn read(repository: &gix::Repository, directory: PathBuf) -> Result<Self> {
        let config = repository.config_snapshot();
        let boolean = |key: &str| {
            config
                .string(key)
                .map(|value| truth(key, value.as_bstr()))
                .transpose()
        };
        let number = |key: &str| {
            config
                .string(key)
                .map(|value| integer(key, value.as_bstr()))
                .transpose()
        };
        let umask = match config.string("tar.umask") {
            Some(value) if value == "user" => Umask::User,
            Some(value) => Umask::Bits(integer("tar.umask", value.as_bstr())? as u32),
            None => Umask::Bits(DEFAULT_UMASK),
        };
        let autocrlf = match config.string("core.autocrlf") {
            Some(value) if value.eq_ignore_ascii_case(b"input") => AutoCrlf::Input,
            _ if boolean("core.autocrlf")? == Some(true) => AutoCrlf::True,
            _ => AutoCrlf::False,
        };
        let big_file = number("core.bigFileThreshold")?;
        Ok(Self {
            umask,
            big_file: big_file.map_or(DEFAULT_BIG_FILE, |bytes| bytes.max(0) as u64),
            max_tree_depth: number("core.maxTreeDepth")?
                .unwrap_or(DEFAULT_TREE_DEPTH)
                .max(0) as usize,
            protect: Protect {
                hfs: boolean("core.protectHFS")?.unwrap_or(false),
                ntfs: boolean("core.protectNTFS")?.unwrap_or(true),
            },
            allow_unreachable: boolean("uploadarchive.allowUnreachable")?.unwrap_or(false),
            attributes: attributes::Settings {
                source: Source::Archived,
                top: directory,
                files: repository.attribute_global_paths().map_err(|error| {
                    Error::fatal("cannot tell where the user's attributes are").caused_by(error)
                })?,
                info: repository.common_dir().join("info/attributes"),
                ignore_case: boolean("core.ignoreCase")?.unwrap_or(false),
                autocrlf,
                eol_crlf: config
                    .string("core.eol")
                    .is_some_and(|eol| eol.eq_ignore_ascii_case(b"crlf")),
                drivers: drivers(&config)?,
                diff_binary: HashMap::new(),
            },
        })
    }
}

/// The filters that would run or refuse to: an empty command is none.
fn drivers(config: &gix::config::Snapshot<'_>) -> Result<HashMap<String, Arc<Driver>>> {
    let sections = config
        .plumbing()
        .sections_by_name("filter")
        .into_iter()
        .flatten();
    let names: BTreeSet<_> = sections
        .filter_map(|section| section.header().subsection_name())
        .collect();
    let mut drivers = HashMap::new();
    for name in names {
        let key = |key: &str| format!("filter.{name}.{key}");
        let command = |kind: &str| {
            let value = config.string(key(kind).as_str())?;
            (!value.is_empty()).then_some(value)
        };
        // A process counts instead of a smudge command even if it is empty.
        let has_process = config.string(key("process").as_str()).is_some();
        let required = config.string(key("required").as_str());
        let driver = Driver {
            name: name.to_owned(),
            smudge: command("smudge").filter(|_| !has_process),
            process: command("process"),
            required: required
                .map(|value| truth(&key("required"), value.as_bstr()))
                .transpose()?
                .unwrap_or_default(),
        };
        if driver.required || driver.smudge.is_some() || driver.process.is_some() {
            drivers.insert(name.to_string(), Arc::new(driver));
        }
    }
    Ok(drivers)
}

/// What the drivers of the `diff` attribute say of their files, nothing if that is `auto`; for formats
/// that care, so that nobody else fails over it.
pub fn diff_binary(repository: &gix::Repository) -> Result<HashMap<String, Option<bool>>> {
    let config = repository.config_snapshot();
    let sections = config
        .plumbing()
        .sections_by_name("diff")
        .into_iter()
        .flatten();
    let mut drivers = HashMap::new();
    for name in sections.filter_map(|section| section.header().subsection_name()) {
        let key = format!("diff.{name}.binary");
        let binary = match config.string(key.as_str()) {
            Some(value) if !value.eq_ignore_ascii_case(b"auto") => {
                Some(truth(&key, value.as_bstr())?)
            }
            _ => None,
        };
        drivers.insert(name.to_string(), binary);
    }
    Ok(drivers)
}

/// A boolean as git reads it.
pub fn truth(key: &str, value: &BStr) -> Result<bool> {
    match value.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" | b"on" => Ok(true),
        b"false" | b"no" | b"off" | b"" => Ok(false),
        _ => match integer(key, value) {
            Ok(number) => Ok(number != 0),
            Err(_) => {
                let key = key.to_ascii_lowercase();
                Err(Error::fatal(format!(
                    "bad boolean config value '{value}' for '{key}'"
                )))
            }
        },
    }
}

/// A number as git reads it: decimal, octal with `0`, hexadecimal with `0x`, then `k`, `m` or `g`.
pub(super) fn integer(key: &str, value: &BStr) -> Result<i64> {
    let key = key.to_ascii_lowercase();
    let bad = |why| {
        Error::fatal(format!(
            "bad numeric config value '{value}' for '{key}': {why}"
        ))
    };
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
