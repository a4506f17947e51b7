//! The settings of the configuration that matter for archives.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use bstr::{BString, ByteSlice};

use super::discover::Discovery;
use crate::{
    attributes::{AttributeSettings, AttributeSource, AutoCrlf},
    config::{
        Config,
        path::user_file,
        value::{parse_int, parse_unsigned},
    },
    convert::Driver,
    environment::Environment,
};
use sluice_base::{error::Result, name::Protect};

/// The default of `tar.umask`.
const DEFAULT_UMASK: u32 = 0o002;
/// The default of `core.bigFileThreshold` in bytes.
const DEFAULT_BIG_FILE: u64 = 512 << 20;
/// The default of `core.maxTreeDepth`.
const DEFAULT_TREE_DEPTH: i32 = 2048;

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
    pub attributes: AttributeSettings,
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
    /// Reads all values, since git refuses also one that another one overrides.
    fn read(config: &Config, directory: &Path) -> Result<Self> {
        let mut umask = Self::Bits(DEFAULT_UMASK);
        for variable in config.variables().filter(|it| it.key == "tar.umask") {
            umask = match &variable.value {
                Some(value) if value == "user" => Self::User,
                _ => Self::Bits(variable.number(directory, parse_int)?.cast_unsigned()),
            };
        }
        Ok(umask)
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
        let autocrlf = match config.string("core.autocrlf") {
            Some(value) if value.eq_ignore_ascii_case(b"input") => AutoCrlf::Input,
            _ if boolean("core.autocrlf")? == Some(true) => AutoCrlf::True,
            _ => AutoCrlf::False,
        };
        let directory = &found.directory;
        let big_file = config.variable("core.bigFileThreshold");
        let big_file = big_file.map(|it| it.number(directory, parse_unsigned));
        let depth = config.variable("core.maxTreeDepth");
        let depth = depth.map(|it| it.number(directory, parse_int));
        Ok(Self {
            umask: Umask::read(config, directory)?,
            big_file: big_file.transpose()?.unwrap_or(DEFAULT_BIG_FILE),
            max_tree_depth: depth.transpose()?.unwrap_or(DEFAULT_TREE_DEPTH).max(0) as usize,
            protect: Protect {
                hfs: boolean("core.protectHFS")?.unwrap_or(false),
                ntfs: boolean("core.protectNTFS")?.unwrap_or(true),
            },
            allow_unreachable: boolean("uploadarchive.allowUnreachable")?.unwrap_or(false),
            attributes: AttributeSettings {
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
                ..AttributeSettings::default()
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
/// that an invalid value does not fail other runs. There, git refuses also a value that another one overrides.
pub fn drivers(config: &Config, directory: &Path) -> Result<HashMap<BString, Arc<Driver>>> {
    let mut drivers: HashMap<BString, Driver> = HashMap::new();
    for variable in config.variables() {
        let Some((Some(name), key)) = variable.in_section("filter") else {
            continue;
        };
        let driver = drivers.entry(name.to_owned()).or_default();
        match key.as_bytes() {
            b"clean" => {
                variable.required(directory)?;
            }
            b"smudge" => driver.smudge = Some(variable.required(directory)?.to_owned()),
            b"process" => driver.process = Some(variable.required(directory)?.to_owned()),
            b"required" => driver.required = variable.truth()?,
            _ => {}
        }
    }
    let has_effect =
        |driver: &Driver| driver.required || driver.smudge.is_some() || driver.process.is_some();
    let complete = |(name, driver): (BString, Driver)| {
        // A process replaces a smudge command, even if the process is empty.
        let smudge = driver.smudge.filter(|_| driver.process.is_none());
        let driver = Driver {
            name: name.clone(),
            smudge: smudge.filter(|command| !command.is_empty()),
            process: driver.process.filter(|command| !command.is_empty()),
            required: driver.required,
        };
        has_effect(&driver).then(|| (name, Arc::new(driver)))
    };
    Ok(drivers.into_iter().filter_map(complete).collect())
}

/// Keys of `diff.<driver>` that need a value.
const DIFF_COMMANDS: [&str; 6] = [
    "algorithm",
    "command",
    "funcname",
    "textconv",
    "wordregex",
    "xfuncname",
];

/// The `binary` settings of the drivers of the `diff` attribute, `None` for `auto`. Read only for formats that need them, so that
/// an invalid value does not fail other runs. There, git refuses also a value that another one overrides.
pub fn diff_binary(config: &Config, directory: &Path) -> Result<HashMap<BString, Option<bool>>> {
    let mut drivers = HashMap::new();
    for variable in config.variables() {
        let Some((Some(name), key)) = variable.in_section("diff") else {
            continue;
        };
        let binary = drivers.entry(name.to_owned()).or_insert(None);
        match key.as_bytes() {
            b"binary" => {
                let value = variable.value.as_ref();
                let is_auto = value.is_some_and(|value| value.eq_ignore_ascii_case(b"auto"));
                *binary = if is_auto {
                    None
                } else {
                    Some(variable.truth()?)
                };
            }
            b"cachetextconv" | b"trustexitcode" => {
                variable.truth()?;
            }
            key if DIFF_COMMANDS.iter().any(|it| key == it.as_bytes()) => {
                variable.required(directory)?;
            }
            _ => {}
        }
    }
    Ok(drivers)
}
