//! Reads the configuration from all of its files, in git's order (git-config(1), "FILES"; `do_git_config_sequence` of git's
//! config.c): the system's, the user's, the repository's, then `git -c` and its variables.
//!
//! A file that exists and cannot be read is an error, because its settings could hide files.

use std::{
    ffi::OsStr,
    fs,
    io::{self, ErrorKind},
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use bstr::{BStr, BString, ByteSlice};

use super::{
    Config, Variable,
    condition::{ConditionOutcome, Conditions, glob},
    path::{PathContext, user_file},
    syntax::{self, BadLine},
    value::missing_value,
};
use crate::{environment::ConfigVariables, program::GitLocation};
use sluice_base::error::{Error, Result, format_bytes, strerror};

/// The configuration of the system, unless a variable names another one. A git that is not installed below `/usr` may have it
/// elsewhere.
const SYSTEM: &str = "/etc/gitconfig";
/// The most files that include one another.
const MAX_DEPTH: usize = 10;

/// What decides which configuration is read.
pub struct Sources<'a> {
    /// The variables of the environment.
    pub variables: &'a ConfigVariables,
    /// The directory in which git runs: relative names count from here.
    pub directory: &'a Path,
    /// The git that is asked where it is installed.
    pub git: &'a GitLocation,
}

/// The configuration of a repository.
pub struct RepositoryFiles<'a> {
    /// The git directory, by its full path.
    pub git_dir: &'a Path,
    /// The git directory as git calls it: a full path, in which links stay.
    pub linked_git_dir: &'a Path,
    /// The top of the work tree, if there is one.
    pub work_tree: Option<&'a Path>,
    /// The files that belong to the repository, as they were read.
    pub own: Vec<Variable>,
    /// Finds the name of the current branch.
    pub branch: &'a dyn Fn() -> Option<BString>,
}

impl Sources<'_> {
    /// The whole configuration: with `repository`, that of a repository.
    pub fn read(&self, repository: Option<&RepositoryFiles<'_>>) -> Result<Config> {
        let conditions = Conditions {
            git_dir: repository.map(|it| it.git_dir),
            linked_git_dir: repository.map(|it| it.linked_git_dir),
            work_tree: repository.and_then(|it| it.work_tree),
            paths: self.paths(),
            branch: repository.map_or(&|| None, |it| it.branch),
        };
        let loader = Loader::new(self, &conditions, repository);
        loader.load()
    }

    /// How paths in the configuration are read.
    pub fn paths(&self) -> PathContext<'_> {
        PathContext {
            home: self.variables.home.as_deref(),
            git: self.git,
        }
    }

    /// All files that are read without a repository, in their order. The last of the pair says whether a file to which the
    /// system denies access counts as missing.
    pub fn files(&self) -> Result<Vec<(PathBuf, bool)>> {
        let variables = self.variables;
        let mut files = Vec::new();
        if !variables.no_system.is_set(false)? {
            let system = variables.system.as_deref();
            let system = system.map(|named| without_dots(named).unwrap_or_else(|| named.into()));
            files.push((system.unwrap_or_else(|| SYSTEM.into()), false));
        }
        match &variables.global {
            Some(global) => files.push((PathBuf::from(global), true)),
            None => {
                let home = variables.home.as_deref();
                let shared = user_file(home, variables.xdg_config_home.as_deref(), "config");
                let own = home.map(|home| {
                    let path = [home.as_bytes(), b"/.gitconfig"].concat();
                    PathBuf::from(OsStr::from_bytes(&path))
                });
                files.extend(shared.into_iter().chain(own).map(|file| (file, true)));
            }
        }
        // An empty name is that of no file.
        files.retain(|(file, _)| !file.as_os_str().is_empty());
        Ok(files
            .into_iter()
            .map(|(file, may_be_denied)| (self.directory.join(file), may_be_denied))
            .collect())
    }
}

/// The path with its `.` and `..` resolved by name, whatever is a link, as git resolves the name of the system's file
/// (`normalize_path_copy`). `None` for a path that leads above its start, which git leaves as it is.
fn without_dots(path: &OsStr) -> Option<PathBuf> {
    let mut normalized = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if normalized.file_name().is_none() => return None,
            Component::ParentDir => {
                normalized.pop();
            }
            Component::CurDir => {}
            part => normalized.push(part),
        }
    }
    Some(normalized)
}

/// The variables of the file at `path`; none if there is no file.
pub fn read_file(path: &Path, may_be_denied: bool) -> Result<Vec<Variable>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if is_missing(&error, may_be_denied) => return Ok(Vec::new()),
        Err(error) => {
            let why = strerror(&error);
            let values = [path.as_os_str().as_bytes(), why.as_bytes()];
            return Err(Error::fatal(format_bytes(
                "unable to access '{}': {}",
                &values,
            )));
        }
    };
    let file: Arc<Path> = path.into();
    syntax::parse(&text, Some(&file)).map_err(|BadLine(line)| {
        let line = line.to_string();
        let values = [line.as_bytes(), path.as_os_str().as_bytes()];
        Error::fatal(format_bytes("bad config line {} in file {}", &values))
    })
}

fn is_missing(error: &io::Error, may_be_denied: bool) -> bool {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => true,
        ErrorKind::PermissionDenied => may_be_denied,
        _ => false,
    }
}

/// Reads files, and the files that they include.
struct Loader<'a> {
    sources: &'a Sources<'a>,
    conditions: &'a Conditions<'a>,
    repository: Option<&'a RepositoryFiles<'a>>,
    config: Config,
    /// How many files include the one that is read.
    depth: usize,
    urls: Urls,
}

/// The URLs of remotes, which conditions ask for.
enum Urls {
    /// No condition has asked so far.
    Unknown,
    /// Those of all files. Once a condition asks for them, no file that a condition includes may have any.
    Known(Vec<BString>),
    /// This reader looks for them: conditions about URLs hold. The flag says that a condition, of whatever kind, has led here.
    Wanted { is_conditional: bool },
}

impl<'a> Loader<'a> {
    fn new(
        sources: &'a Sources<'a>,
        conditions: &'a Conditions<'a>,
        repository: Option<&'a RepositoryFiles<'a>>,
    ) -> Self {
        Self {
            sources,
            conditions,
            repository,
            config: Config::default(),
            depth: 0,
            urls: Urls::Unknown,
        }
    }

    fn load(mut self) -> Result<Config> {
        for (file, may_be_denied) in self.sources.files()? {
            self.add_all(read_file(&file, may_be_denied)?)?;
        }
        if let Some(repository) = self.repository {
            self.add_all(repository.own.clone())?;
        }
        for (key, value) in &self.sources.variables.parameters {
            self.add(Variable {
                key: key.clone(),
                value: value.clone(),
                file: None,
                line: 0,
            })?;
        }
        Ok(self.config)
    }

    fn add_all(&mut self, variables: Vec<Variable>) -> Result<()> {
        variables.into_iter().try_for_each(|it| self.add(it))
    }

    /// Adds a variable, then what it includes.
    fn add(&mut self, variable: Variable) -> Result<()> {
        let is_url =
            || matches!(variable.in_section("remote"), Some((Some(_), name)) if name == "url");
        if let Urls::Wanted {
            is_conditional: true,
        } = self.urls
            && is_url()
        {
            return Err(Error::fatal(
                "remote URLs cannot be configured in file directly or indirectly included by \
                 includeIf.hasconfig:remote.*.url",
            ));
        }
        self.config.push(variable.clone());
        if variable.key == "include.path" {
            return self.include(&variable);
        }
        let Some((Some(condition), name)) = variable.in_section("includeif") else {
            return Ok(());
        };
        let file = variable.file.as_deref();
        let holds = match self.conditions.decide(condition, file)? {
            ConditionOutcome::Decided(holds) => holds,
            ConditionOutcome::ByUrl(pattern) => self.has_url(pattern.as_bstr())?,
        };
        if holds && name == "path" {
            return self.include_conditionally(&variable);
        }
        Ok(())
    }

    /// Whether a remote has a URL of this `pattern`.
    fn has_url(&mut self, pattern: &BStr) -> Result<bool> {
        if let Urls::Unknown = self.urls {
            let mut reader = Self::new(self.sources, self.conditions, self.repository);
            reader.urls = Urls::Wanted {
                is_conditional: false,
            };
            let config = reader.load()?;
            let urls = config.section("remote").filter_map(|(remote, name, url)| {
                (remote.is_some() && name == "url").then_some(url?.to_owned())
            });
            self.urls = Urls::Known(urls.collect());
        }
        Ok(match &self.urls {
            Urls::Known(urls) => urls.iter().any(|url| glob(pattern, url.as_bstr(), false)),
            Urls::Unknown | Urls::Wanted { .. } => true,
        })
    }

    /// Adds the file that `variable` names under a condition that holds.
    fn include_conditionally(&mut self, variable: &Variable) -> Result<()> {
        let Urls::Wanted { is_conditional } = &mut self.urls else {
            return self.include(variable);
        };
        let before = std::mem::replace(is_conditional, true);
        self.include(variable)?;
        self.urls = Urls::Wanted {
            is_conditional: before,
        };
        Ok(())
    }

    /// Adds the file that `variable` names.
    fn include(&mut self, variable: &Variable) -> Result<()> {
        let refused = |why: &str, path: &BStr| {
            Error::fatal("cannot read the configuration").caused_by(format!("{why} '{path}'"))
        };
        let path = variable
            .value
            .as_ref()
            .ok_or_else(|| missing_value("include.path"))?;
        let expanded = self.sources.paths().expand(path.as_bstr());
        let expanded =
            expanded.ok_or_else(|| refused("could not expand include path", path.as_bstr()))?;
        let directory = variable.file.as_deref().and_then(Path::parent);
        let file = match directory {
            // git runs there, and calls the file by its bare name, so an empty path stays empty.
            Some(directory)
                if expanded.as_os_str().is_empty() && directory == self.sources.directory =>
            {
                return Ok(());
            }
            Some(directory) => directory.join(&expanded),
            None if expanded.is_absolute() => expanded,
            None => {
                let why = "relative config includes must come from files, not";
                return Err(refused(why, path.as_bstr()));
            }
        };
        let included = read_file(&file, false)?;
        if self.depth == MAX_DEPTH && file.exists() {
            let why = "exceeded maximum include depth while including";
            return Err(refused(why, file.as_os_str().as_bytes().as_bstr()));
        }
        self.depth += 1;
        self.add_all(included)?;
        self.depth -= 1;
        Ok(())
    }
}
