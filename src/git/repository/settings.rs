//! The settings of the configuration that matter for archives.

use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};

use super::discover::Discovery;
use crate::{
    base::error::Result,
    git::{
        attributes::{self, AttributeSource, AutoCrlf},
        config::{
            Config,
            path::user_file,
            value::{bad_number, integer, missing_value},
        },
        convert::Driver,
        environment::Environment,
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

/// The attribute file of the system. A git that is not installed below `/usr` may have it elsewhere.
const SYSTEM_ATTRIBUTES: &str = "/etc/gitattributes";

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
    fn read(config: &Config) -> Result<Self> {
        const KEY: &str = "tar.umask";
        let Some(value) = config.value(KEY) else {
            return Ok(Self::Bits(DEFAULT_UMASK));
        };
        let value = value.unwrap_or_default();
        if value == "user" {
            return Ok(Self::User);
        }
        let bits = i32::try_from(integer(KEY, value)?)
            .map_err(|_| bad_number(KEY, value, "out of range"))?;
        Ok(Self::Bits(bits.cast_unsigned()))
    }
}

impl RepositorySettings {
    /// Reads the settings in the `config` of the repository that was `found`.
    pub(super) fn read(
        config: &Config,
        found: &Discovery,
        environment: &Environment,
    ) -> Result<Self> {
        let boolean = |key: &str| config.boolean(key);
        let number = |key: &str| {
            let value = config.value(key);
            value
                .map(|value| integer(key, value.unwrap_or_default()))
                .transpose()
        };
        let autocrlf = match config.string("core.autocrlf") {
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
                top: found.directory.clone(),
                system: Some(SYSTEM_ATTRIBUTES.into()),
                no_system: environment.attributes.no_system.clone(),
                user: user_attributes(config, found, environment)?,
                info: found.common_dir.join("info/attributes"),
                ignore_case: boolean("core.ignoreCase")?.unwrap_or(false),
                autocrlf,
                eol_crlf: config
                    .string("core.eol")
                    .is_some_and(|eol| eol.eq_ignore_ascii_case(b"crlf")),
                drivers: HashMap::new(),
                lfs: LfsFiles::default(),
                needs_files: false,
                diff_binary: HashMap::new(),
                outside: Arc::default(),
            },
        })
    }
}

impl RepositorySettings {
    /// The settings without a configuration, as far as they decide the bytes of an archive.
    pub fn unconfigured(&self) -> Self {
        Self {
            umask: Umask::Bits(DEFAULT_UMASK),
            big_file: DEFAULT_BIG_FILE,
            attributes: self.attributes.unconfigured(),
            ..self.clone()
        }
    }
}

/// The attribute file of the user. A relative path counts from the directory in which git runs.
fn user_attributes(
    config: &Config,
    found: &Discovery,
    environment: &Environment,
) -> Result<Option<PathBuf>> {
    const KEY: &str = "core.attributesFile";
    if config.value(KEY).is_some() {
        return environment.paths().path(config, KEY, &found.directory);
    }
    let variables = &environment.config;
    let base = variables.xdg_config_home.as_deref();
    Ok(user_file(variables.home.as_deref(), base, "attributes"))
}

/// The filters that run a command or are required. An empty command counts as none. Read only where files may be converted, so
/// that an invalid value does not fail other runs.
pub fn drivers(config: &Config) -> Result<HashMap<String, Arc<Driver>>> {
    let names: BTreeSet<_> = config.section("filter").filter_map(|it| it.0).collect();
    let mut drivers = HashMap::new();
    for name in names {
        let key = |key: &str| format!("filter.{name}.{key}");
        let command = |kind: &str| {
            let key = key(kind);
            match config.value(&key) {
                Some(None) => Err(missing_value(&key)),
                value => Ok(value.flatten().map(ToOwned::to_owned)),
            }
        };
        let (smudge, process) = (command("smudge")?, command("process")?);
        // A process replaces a smudge command, even if the process is empty.
        let smudge = smudge.filter(|_| process.is_none());
        let driver = Driver {
            name: name.to_owned(),
            smudge: smudge.filter(|command| !command.is_empty()),
            process: process.filter(|command| !command.is_empty()),
            required: config.boolean(&key("required"))?.unwrap_or_default(),
        };
        if driver.required || driver.smudge.is_some() || driver.process.is_some() {
            drivers.insert(name.to_string(), Arc::new(driver));
        }
    }
    Ok(drivers)
}

/// The `binary` settings of the drivers of the `diff` attribute, `None` for `auto`. Read only for formats
/// that need them, so that an invalid value does not fail other runs.
pub fn diff_binary(config: &Config) -> Result<HashMap<String, Option<bool>>> {
    let mut drivers = HashMap::new();
    for name in config.section("diff").filter_map(|it| it.0) {
        let key = format!("diff.{name}.binary");
        let binary = match config.string(&key) {
            Some(value) if value.eq_ignore_ascii_case(b"auto") => None,
            _ => config.boolean(&key)?,
        };
        drivers.insert(name.to_string(), binary);
    }
    Ok(drivers)
}
