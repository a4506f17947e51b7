//! The door to the environment: the variables of git(1) and of git-sluice that matter for an archive, and nothing else of the
//! process.
//!
//! git reads some of these variables at once, so that a bad value ends every run, and others only when it needs them. The latter
//! are kept as they are ([`EnvironmentFlag`]). Must not read a variable by itself: the caller passes them in, so that a program
//! with this library decides what its requests see.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice};

use super::{
    config::{
        path::PathContext,
        syntax::{parse_key, parse_parameters},
        value::parse_truth,
    },
    program::{CallerVariables, GitLocation, GivenVariables, INHERITED},
};
use sluice_base::{
    error::{Error, Result, format_bytes},
    working_directory::WorkingDirectory,
};

/// The variable that forbids to fetch missing objects.
pub const NO_LAZY_FETCH: &str = "GIT_NO_LAZY_FETCH";
/// The variable that hides replacements.
const NO_REPLACE: &str = "GIT_NO_REPLACE_OBJECTS";
/// The most settings that `GIT_CONFIG_COUNT` may announce.
const MAX_COUNT: u64 = i32::MAX as u64;

/// The variables of a run, by the question that they answer.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The current directory, by its full path.
    pub cwd: PathBuf,
    /// The repository, for programs that run in it.
    pub location: GitLocation,
    /// Which repository and which work tree?
    pub discovery: DiscoveryVariables,
    /// Which settings?
    pub config: ConfigVariables,
    /// Which objects and refs?
    pub contents: ContentVariables,
    /// Which attributes?
    pub attributes: AttributeVariables,
    /// What do pathspecs mean?
    pub pathspecs: PathspecVariables,
    /// Must missing objects not be fetched (`GIT_NO_LAZY_FETCH`)?
    pub no_lazy_fetch: bool,
    /// What is asked of git-sluice alone?
    pub sluice: SluiceVariables,
    /// The time of a tree without a commit (`SOURCE_DATE_EPOCH`), in seconds since 1970.
    pub source_date_epoch: Option<OsString>,
    /// Whether no setting may change an archive (`--stable`).
    pub is_stable: bool,
}

/// The variables that decide which repository and which work tree are meant (gitrepository-layout(5); setup.c of git).
#[derive(Clone, Debug, Default)]
pub struct DiscoveryVariables {
    /// `GIT_DIR`
    pub git_dir: Option<PathBuf>,
    /// `GIT_COMMON_DIR`
    pub common_dir: Option<PathBuf>,
    /// `GIT_WORK_TREE`
    pub work_tree: Option<PathBuf>,
    /// `GIT_IMPLICIT_WORK_TREE`: whether the current directory is the work tree if `GIT_DIR` is set and no work tree is named.
    pub implicit_work_tree: EnvironmentFlag,
    /// `GIT_CEILING_DIRECTORIES`
    pub ceilings: Option<OsString>,
    /// `GIT_DISCOVERY_ACROSS_FILESYSTEM`
    pub across_filesystems: EnvironmentFlag,
    /// `SUDO_UID`: the user whose repositories root also trusts.
    pub sudo_uid: Option<OsString>,
    /// Whether the repository is served to a client, who sees no work tree, whatever the settings claim.
    pub is_served: bool,
    /// Whether the work tree that the settings name may be missing, as that of a submodule which is not checked out.
    pub may_lack_work_tree: bool,
}

/// The variables that decide which configuration is read (git-config(1), "ENVIRONMENT").
#[derive(Clone, Debug, Default)]
pub struct ConfigVariables {
    /// `HOME`
    pub home: Option<OsString>,
    /// `XDG_CONFIG_HOME`
    pub xdg_config_home: Option<OsString>,
    /// `PWD`: the current directory as the shell calls it.
    pub pwd: Option<OsString>,
    /// `GIT_CONFIG_NOSYSTEM`
    pub no_system: EnvironmentFlag,
    /// `GIT_CONFIG_SYSTEM`
    pub system: Option<OsString>,
    /// `GIT_CONFIG_GLOBAL`
    pub global: Option<OsString>,
    /// The settings of `GIT_CONFIG_COUNT` and then those of `git -c`, each with the name as it is compared.
    pub parameters: Vec<(BString, Option<BString>)>,
}

/// The variables that decide which objects and refs are read (git(1), "The Git Repository").
#[derive(Clone, Debug, Default)]
pub struct ContentVariables {
    /// `GIT_OBJECT_DIRECTORY`
    pub object_directory: Option<PathBuf>,
    /// `GIT_ALTERNATE_OBJECT_DIRECTORIES`
    pub alternates: Option<OsString>,
    /// `GIT_SHALLOW_FILE`
    pub shallow_file: Option<PathBuf>,
    /// `GIT_GRAFT_FILE`
    pub graft_file: Option<PathBuf>,
    /// `GIT_NO_REPLACE_OBJECTS`
    pub no_replace_objects: bool,
    /// `GIT_REPLACE_REF_BASE`, which may be empty.
    pub replace_ref_base: Option<OsString>,
    /// `GIT_REFERENCE_BACKEND`
    pub reference_backend: Option<OsString>,
    /// `GIT_COMMIT_GRAPH_PARANOIA`
    pub commit_graph_paranoia: EnvironmentFlag,
}

/// The variables that decide which attributes are read.
#[derive(Clone, Debug, Default)]
pub struct AttributeVariables {
    /// `GIT_ATTR_NOSYSTEM`
    pub no_system: EnvironmentFlag,
    /// `GIT_ATTR_SOURCE`
    pub source: Option<OsString>,
}

/// The variables that change the syntax of pathspecs.
#[derive(Clone, Debug, Default)]
pub struct PathspecVariables {
    /// `GIT_LITERAL_PATHSPECS`
    pub literal: EnvironmentFlag,
    /// `GIT_GLOB_PATHSPECS`
    pub glob: EnvironmentFlag,
    /// `GIT_NOGLOB_PATHSPECS`
    pub noglob: EnvironmentFlag,
    /// `GIT_ICASE_PATHSPECS`
    pub icase: EnvironmentFlag,
}

/// The variables of git-sluice.
#[derive(Clone, Debug, Default)]
pub struct SluiceVariables {
    /// `GIT_SLUICE_CACHE`, which may be empty.
    pub cache: Option<PathBuf>,
    /// `GIT_SLUICE_LOG`, which may be empty.
    pub log: Option<PathBuf>,
    /// Whether the caller asked git for the archive, and may not know git-sluice: no setting of git-sluice ends the run.
    pub stands_in: bool,
}

/// A boolean variable. git reads it only when it needs it, and so a bad value ends only some runs.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentFlag {
    name: &'static str,
    value: Option<OsString>,
}

impl EnvironmentFlag {
    /// The variable `name`, as if it were set to `0`.
    fn off(name: &'static str) -> Self {
        Self {
            name,
            value: Some("0".into()),
        }
    }

    /// Whether the variable is true, or `default` if it is not set.
    pub fn is_set(&self, default: bool) -> Result<bool> {
        let Some(value) = &self.value else {
            return Ok(default);
        };
        let value = value.as_bytes().as_bstr();
        parse_truth(value).ok_or_else(|| {
            let template = "bad boolean environment value '{}' for '{}'";
            Error::fatal(format_bytes(template, &[value, self.name.as_bytes()]))
        })
    }
}

impl Environment {
    /// Read the environment through `variable`, for a process in the directory `cwd`.
    pub fn read(cwd: PathBuf, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let flag = |name: &'static str| EnvironmentFlag {
            name,
            value: variable(name),
        };
        let path = |name: &str| variable(name).map(PathBuf::from);
        Ok(Self {
            cwd,
            location: GitLocation {
                caller: CallerVariables {
                    paths: variable("PATH"),
                    exec_path: variable("GIT_EXEC_PATH"),
                    git_dir: path("GIT_DIR"),
                },
                ..GitLocation::default()
            },
            discovery: DiscoveryVariables {
                git_dir: path("GIT_DIR"),
                common_dir: path("GIT_COMMON_DIR"),
                work_tree: path("GIT_WORK_TREE"),
                implicit_work_tree: flag("GIT_IMPLICIT_WORK_TREE"),
                ceilings: variable("GIT_CEILING_DIRECTORIES"),
                across_filesystems: flag("GIT_DISCOVERY_ACROSS_FILESYSTEM"),
                sudo_uid: variable("SUDO_UID"),
                is_served: false,
                may_lack_work_tree: false,
            },
            config: ConfigVariables {
                home: variable("HOME"),
                xdg_config_home: variable("XDG_CONFIG_HOME"),
                pwd: variable("PWD"),
                no_system: flag("GIT_CONFIG_NOSYSTEM"),
                system: variable("GIT_CONFIG_SYSTEM"),
                global: variable("GIT_CONFIG_GLOBAL"),
                parameters: parameters(&variable).map_err(|why| {
                    Error::fatal("unable to parse command-line config")
                        .after(format_bytes("error: {}", &[&why]))
                })?,
            },
            contents: ContentVariables {
                object_directory: path("GIT_OBJECT_DIRECTORY"),
                alternates: variable("GIT_ALTERNATE_OBJECT_DIRECTORIES"),
                shallow_file: path("GIT_SHALLOW_FILE"),
                graft_file: path("GIT_GRAFT_FILE"),
                no_replace_objects: variable(NO_REPLACE).is_some(),
                replace_ref_base: variable("GIT_REPLACE_REF_BASE"),
                reference_backend: variable("GIT_REFERENCE_BACKEND"),
                commit_graph_paranoia: flag("GIT_COMMIT_GRAPH_PARANOIA"),
            },
            attributes: AttributeVariables {
                no_system: flag("GIT_ATTR_NOSYSTEM"),
                source: variable("GIT_ATTR_SOURCE"),
            },
            pathspecs: PathspecVariables {
                literal: flag("GIT_LITERAL_PATHSPECS"),
                glob: flag("GIT_GLOB_PATHSPECS"),
                noglob: flag("GIT_NOGLOB_PATHSPECS"),
                icase: flag("GIT_ICASE_PATHSPECS"),
            },
            no_lazy_fetch: flag(NO_LAZY_FETCH).is_set(false)?,
            sluice: SluiceVariables {
                cache: path("GIT_SLUICE_CACHE"),
                log: path("GIT_SLUICE_LOG"),
                stands_in: false,
            },
            source_date_epoch: variable("SOURCE_DATE_EPOCH"),
            is_stable: false,
        })
    }

    /// Reads the environment of a request in the directory `cwd`, which is not that of the process. The request may name a git
    /// directory from there, instead of `GIT_DIR`. Programs see the variables of the request, and none of git's that the process
    /// has in addition.
    pub fn of_request(
        cwd: PathBuf,
        git_dir: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self> {
        let given = Some(inherited(&variable));
        let mut environment = Self::read(cwd.clone(), variable)?;
        let location = GitLocation {
            git_dir: git_dir.map(|git_dir| cwd.join(git_dir)),
            directory: WorkingDirectory::Other(cwd),
            variables: given,
            ..environment.location
        };
        if location.git_dir.is_some() {
            environment.discovery.git_dir = location.git_dir.clone();
        }
        Ok(Self {
            location,
            ..environment
        })
    }

    /// The environment of the repository with this git directory: the user's settings, and nothing that belongs to
    /// the repository in which the program was called.
    pub fn of_submodule(&self, git_dir: PathBuf) -> Self {
        Self {
            cwd: self.cwd.clone(),
            location: GitLocation {
                git_dir: Some(git_dir.clone()),
                // git refuses a git directory whose work tree is missing.
                work_tree: Some(git_dir.clone()),
                ..self.location.clone()
            },
            discovery: DiscoveryVariables {
                git_dir: Some(git_dir),
                implicit_work_tree: EnvironmentFlag::off("GIT_IMPLICIT_WORK_TREE"),
                may_lack_work_tree: true,
                ..DiscoveryVariables::default()
            },
            config: self.config.clone(),
            contents: ContentVariables {
                no_replace_objects: self.contents.no_replace_objects,
                ..ContentVariables::default()
            },
            attributes: AttributeVariables {
                no_system: self.attributes.no_system.clone(),
                source: None,
            },
            pathspecs: self.pathspecs.clone(),
            no_lazy_fetch: self.no_lazy_fetch,
            sluice: SluiceVariables::default(),
            source_date_epoch: None,
            is_stable: self.is_stable,
        }
    }

    /// The environment of a run whose archive depends on no setting. Which repository is meant, and who trusts it, stays.
    pub fn stable(self) -> Self {
        let replace = OsStr::new(NO_REPLACE);
        let given = self.location.variables.iter().flat_map(|it| it.iter());
        let others = given.filter(|(name, _)| name != replace).cloned();
        let without_replacements = (replace.to_owned(), Some("1".into()));
        Self {
            location: GitLocation {
                variables: Some(others.chain([without_replacements]).collect()),
                ..self.location
            },
            contents: ContentVariables {
                no_replace_objects: true,
                commit_graph_paranoia: EnvironmentFlag::default(),
                ..self.contents
            },
            attributes: AttributeVariables::default(),
            pathspecs: PathspecVariables::default(),
            is_stable: true,
            ..self
        }
    }

    /// How paths in the configuration are read.
    pub fn paths(&self) -> PathContext<'_> {
        PathContext {
            home: self.config.home.as_deref(),
            git: &self.location,
        }
    }

    /// Whether somebody asked git for the archive, here or from another machine, and cannot mend settings of git-sluice.
    pub fn is_for_git(&self) -> bool {
        self.sluice.stands_in || self.discovery.is_served
    }

    /// The current directory, for files that are named from there.
    pub fn directory(&self) -> &WorkingDirectory {
        &self.location.directory
    }
}

/// The variables that programs see.
fn inherited(variable: impl Fn(&str) -> Option<OsString>) -> GivenVariables {
    let names = INHERITED.split(' ').map(str::to_owned);
    let count = variable("GIT_CONFIG_COUNT").and_then(|count| parse_count(&count).ok());
    let numbered = (0..count.unwrap_or(0))
        .map(|number| ["KEY", "VALUE"].map(|it| format!("GIT_CONFIG_{it}_{number}")))
        .take_while(|names| variable(&names[0]).is_some())
        .flatten();
    names
        .chain(numbered)
        .map(|name| (OsString::from(&name), variable(&name)))
        .collect()
}

/// The settings of the command line: those of `GIT_CONFIG_COUNT`, then those of `git -c`. Fails with git's message.
fn parameters(
    variable: impl Fn(&str) -> Option<OsString>,
) -> std::result::Result<Vec<(BString, Option<BString>)>, BString> {
    let bytes = |value: &OsStr| BString::from(value.as_bytes());
    let count = variable("GIT_CONFIG_COUNT");
    let count = count.map_or(Ok(0), |count| parse_count(&count))?;
    let mut parameters = Vec::new();
    for number in 0..count {
        let value_of = |kind: &str| {
            let name = format!("GIT_CONFIG_{kind}_{number}");
            let missing = || format!("missing config {} {name}", kind.to_lowercase());
            variable(&name).ok_or_else(missing)
        };
        let (key, value) = (value_of("KEY")?, value_of("VALUE")?);
        parameters.push((checked_key(bytes(&key).as_bstr())?, Some(bytes(&value))));
    }
    let list = variable("GIT_CONFIG_PARAMETERS").unwrap_or_default();
    let of_git = parse_parameters(list.as_bytes())
        .ok_or_else(|| BString::from("bogus format in GIT_CONFIG_PARAMETERS"))?;
    for (key, value) in of_git {
        parameters.push((checked_key(key.as_bstr())?, value));
    }
    Ok(parameters)
}

/// Parse a number as C's strtoul does, which takes an empty text for zero.
fn parse_count(text: &OsStr) -> std::result::Result<u64, BString> {
    let bogus = || BString::from("bogus count in GIT_CONFIG_COUNT");
    if text.is_empty() {
        return Ok(0);
    }
    let text = text.to_str().ok_or_else(bogus)?.trim_ascii_start();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(bogus());
    }
    let count = digits.parse().unwrap_or(u64::MAX);
    let count = if is_negative {
        0_u64.wrapping_sub(count)
    } else {
        count
    };
    if count <= MAX_COUNT {
        Ok(count)
    } else {
        Err("too many entries in GIT_CONFIG_COUNT".into())
    }
}

/// The name of a setting as it is compared.
fn checked_key(key: &BStr) -> std::result::Result<BString, BString> {
    let dot = key.rfind_byte(b'.').filter(|dot| *dot > 0);
    parse_key(key).ok_or_else(|| match dot {
        _ if key.is_empty() => "empty config key".into(),
        None => format_bytes("key does not contain a section: {}", &[key]),
        Some(dot) if dot + 1 == key.len() => {
            format_bytes("key does not contain variable name: {}", &[key])
        }
        Some(_) if key.contains(&b'\n') => format_bytes("invalid key (newline): {}", &[key]),
        Some(_) => format_bytes("invalid key: {}", &[key]),
    })
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, path::PathBuf};

    use super::Environment;

    /// What an environment with these variables is, or git's last message about it.
    fn read(variables: &[(&str, &str)]) -> Result<Environment, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let environment = Environment::read(PathBuf::from("/"), variable);
        environment.map_err(|error| String::from_utf8(error.lines()).expect("ASCII"))
    }

    #[test]
    fn settings_are_counted_as_git_counts_them() {
        for (count, expected) in [("", 0), ("0", 0), (" 1", 1), ("+1", 1)] {
            let variables = [
                ("GIT_CONFIG_COUNT", count),
                ("GIT_CONFIG_KEY_0", "A.b"),
                ("GIT_CONFIG_VALUE_0", ""),
            ];
            let parameters = read(&variables).unwrap().config.parameters;
            assert_eq!(parameters.len(), expected, "{count}");
        }
        for (variables, message) in [
            (
                &[("GIT_CONFIG_COUNT", "x")][..],
                "bogus count in GIT_CONFIG_COUNT",
            ),
            (
                &[("GIT_CONFIG_COUNT", " ")],
                "bogus count in GIT_CONFIG_COUNT",
            ),
            (
                &[("GIT_CONFIG_COUNT", "-1")],
                "too many entries in GIT_CONFIG_COUNT",
            ),
            (
                &[("GIT_CONFIG_COUNT", "1")],
                "missing config key GIT_CONFIG_KEY_0",
            ),
            (
                &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b")],
                "missing config value GIT_CONFIG_VALUE_0",
            ),
            (
                &[("GIT_CONFIG_PARAMETERS", "'a'")],
                "key does not contain a section: a",
            ),
            (
                &[("GIT_CONFIG_PARAMETERS", "'a.'")],
                "key does not contain variable name: a.",
            ),
            (&[("GIT_CONFIG_PARAMETERS", "'a.1'")], "invalid key: a.1"),
            (
                &[("GIT_CONFIG_PARAMETERS", "a")],
                "bogus format in GIT_CONFIG_PARAMETERS",
            ),
        ] {
            let expected =
                format!("error: {message}\nfatal: unable to parse command-line config\n");
            assert_eq!(read(variables).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_bad_boolean_is_an_error_when_it_is_needed() {
        let environment = read(&[("GIT_ICASE_PATHSPECS", "bad"), ("GIT_GLOB_PATHSPECS", "")]);
        let pathspecs = environment.unwrap().pathspecs;
        assert!(!pathspecs.glob.is_set(true).unwrap());
        assert!(pathspecs.noglob.is_set(true).unwrap());
        let message = pathspecs.icase.is_set(false).unwrap_err().to_string();
        let expected = "fatal: bad boolean environment value 'bad' for 'GIT_ICASE_PATHSPECS'";
        assert_eq!(message, expected);
    }
}
