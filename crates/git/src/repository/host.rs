//! What a host shares between its repositories: those of submodules, and the objects of Git LFS.
//!
//! Only the configuration of the system and of the user decides, which nobody can push. A repository is found by the URL in
//! `.gitmodules`, which anybody may have written, so it counts only if its own configuration says that it may be archived as a
//! submodule, and only with commits that its refs lead to ([`reach`](super::reach)). Must fail closed: in doubt, there is no
//! repository.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use bstr::{BStr, BString, ByteSlice};

use super::{
    Repository, config_without_repository,
    host_url::{HostUrl, bare},
    submodules,
};
use crate::{
    config::{Config, sources::read_file, value},
    environment::Environment,
};
use sluice_base::error::Result;

/// The key of a repository that may be archived as a submodule of others.
const EXPORT: &str = "sluice.exportassubmodule";
/// The last part of the key that maps URLs to a directory: `sluice.<url prefix>.submodulePath`.
const PATH: &str = "submodulepath";
/// A file with lines `<url> <directory>`, for a host whose directories do not follow from URLs.
const MAP: &str = "sluice.submoduleMap";
/// The directory of the objects of Git LFS of all repositories.
const LFS_STORE: &str = "sluice.lfsStore";

/// The repositories and stores of a host.
pub struct Host {
    config: Config,
    /// The file that maps URLs to directories, once a submodule needed it.
    map: OnceLock<Vec<u8>>,
}

impl Host {
    /// Reads the configuration of system and user.
    pub fn read(environment: &Environment) -> Result<Self> {
        let config = config_without_repository(environment)?;
        Ok(Self {
            config,
            map: OnceLock::new(),
        })
    }

    /// The configuration of system and user.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The directory with objects of Git LFS, if there is one.
    pub fn lfs_store(&self) -> Option<PathBuf> {
        self.path(LFS_STORE).map(ToOwned::to_owned)
    }

    /// The absolute path that `key` has.
    fn path(&self, key: &str) -> Option<&Path> {
        let path = Path::new(OsStr::from_bytes(self.config.string(key)?));
        path.is_absolute().then_some(path)
    }

    /// The repositories that `url` in `.gitmodules` of the `superproject` may mean.
    pub fn submodules(&self, superproject: &Repository, url: &BStr) -> Vec<PathBuf> {
        let mut found = Vec::from_iter(self.mapped(superproject, url));
        for (directory, rest) in self.places(superproject, url) {
            for name in names(rest.as_bstr()) {
                found.extend(inside(&directory, name.as_bstr()));
            }
        }
        found.retain(|directory| is_exported(superproject, directory));
        found
    }

    /// The git directory that the map names for `url`, which counts from the URL of the `superproject` if it is relative.
    fn mapped(&self, superproject: &Repository, url: &BStr) -> Option<PathBuf> {
        let path = self.path(MAP)?;
        let map = self.map.get_or_init(|| fs::read(path).unwrap_or_default());
        let mut lines = map.lines().filter_map(map_line);
        let absolute = if is_relative(url) {
            let own = superproject.git_dir.canonicalize().ok()?;
            // To look at each directory would take long.
            let is_own = |directory: &Path| {
                directory.file_name() == own.file_name()
                    && directory.canonicalize().is_ok_and(|it| it == own)
            };
            let (own, _) = lines.clone().find(|(_, directory)| is_own(directory))?;
            resolve(own, url)?
        } else {
            url.to_owned()
        };
        let wanted = HostUrl::parse(absolute.as_bstr());
        let (_, directory) = lines.find(|(url, _)| HostUrl::parse(url).is(&wanted))?;
        let directory = directory.canonicalize().ok()?;
        submodules::is_git_directory(&directory).then_some(directory)
    }

    /// Directories of the host, and the path that `url` means below each.
    fn places(&self, superproject: &Repository, url: &BStr) -> Vec<(PathBuf, BString)> {
        let mappings = self.config.section("sluice");
        let mappings = mappings.filter_map(|(prefix, name, value)| {
            let directory = Path::new(OsStr::from_bytes(value?));
            let directory = directory
                .is_absolute()
                .then(|| directory.canonicalize().ok())??;
            (name == PATH).then_some((prefix?, directory))
        });
        let absolute = HostUrl::parse(url);
        let place = |(prefix, directory): (&BStr, PathBuf)| {
            let rest = if is_relative(url) {
                let own = own_path(superproject, &directory)?;
                resolve(own.as_bstr(), url)?
            } else {
                absolute.below(&HostUrl::parse(prefix))?.to_owned()
            };
            is_below(&rest).then_some((directory, rest))
        };
        mappings.filter_map(place).collect()
    }
}

/// The URL and the directory in a `line` of the map.
fn map_line(line: &[u8]) -> Option<(&BStr, &Path)> {
    let line = line.trim();
    let (url, directory) = line.split_at(line.find_byteset(b" \t")?);
    let directory = Path::new(OsStr::from_bytes(directory.trim()));
    directory
        .is_absolute()
        .then_some((url.as_bstr(), directory))
}

fn is_relative(url: &[u8]) -> bool {
    url.starts_with(b"./") || url.starts_with(b"../")
}

/// The path of the `superproject` below `directory`.
fn own_path(superproject: &Repository, directory: &Path) -> Option<BString> {
    let own = superproject.git_dir.canonicalize().ok()?;
    let own = own.strip_prefix(directory).ok()?;
    let work_tree = own.parent().filter(|_| own.ends_with(".git"));
    Some(work_tree.unwrap_or(own).as_os_str().as_bytes().into())
}

/// The path that a relative `url` means, seen from the repository at `own`, as git counts: from the repository itself.
fn resolve(own: &BStr, url: &BStr) -> Option<BString> {
    let mut parts: Vec<&[u8]> = own.split_str("/").collect();
    let mut rest = url.as_bytes();
    loop {
        if let Some(inner) = rest.strip_prefix(b"./") {
            rest = inner;
        } else if let Some(outer) = rest.strip_prefix(b"../") {
            parts.pop()?;
            rest = outer;
        } else {
            parts.push(rest);
            return Some(parts.join(&b'/').into());
        }
    }
}

/// Whether `path` stays below the directory that it counts from.
fn is_below(path: &[u8]) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let is_plain =
        |part: &[u8]| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git");
    path.split_str("/").all(is_plain) && !path.contains(&0)
}

/// The names that a host may have given the repository at `path`, as it is written or in lower case. A name that means another
/// repository does no harm, because the commit says what is archived.
fn names(path: &BStr) -> Vec<BString> {
    let lower = path.to_ascii_lowercase();
    let is_other = lower != path.as_bytes();
    let written = [path.as_bytes()].into_iter();
    let bare = written.chain(is_other.then_some(&lower[..])).map(bare);
    bare.flat_map(|bare| [bare.into(), [bare, b".git"].concat().into()])
        .collect()
}

/// The git directory called `name` in `directory`, unless a link leads out of there.
fn inside(directory: &Path, name: &BStr) -> Option<PathBuf> {
    let found = directory
        .join(OsStr::from_bytes(name))
        .canonicalize()
        .ok()?;
    let is_inside = found != directory && found.starts_with(directory);
    (is_inside && submodules::is_git_directory(&found)).then_some(found)
}

/// Whether the repository at `git_dir` says that it may be archived as a submodule, in the file that belongs to it alone.
fn is_exported(superproject: &Repository, git_dir: &Path) -> bool {
    let Ok(variables) = read_file(&git_dir.join("config"), false) else {
        return false;
    };
    let said = variables.iter().rfind(|variable| variable.key == EXPORT);
    let is_said = said.is_some_and(|variable| match &variable.value {
        Some(text) => value::truth(EXPORT, text.as_bstr()).unwrap_or(false),
        None => true,
    });
    is_said && submodules::check_owner(superproject, git_dir).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{is_below, names, resolve};

    #[test]
    fn relative_urls_count_from_the_repository() {
        for (own, url, expected) in [
            ("group/project.git", "../lib.git", Some("group/lib.git")),
            ("group/project.git", "../../other/lib", Some("other/lib")),
            (
                "group/project.git",
                "./inner",
                Some("group/project.git/inner"),
            ),
            ("group/project.git", "../../../lib", None),
            ("project", "../../lib", None),
        ] {
            let found = resolve(own.into(), url.into());
            assert_eq!(found, expected.map(Into::into), "{own} {url}");
        }
    }

    #[test]
    fn paths_stay_below() {
        for path in ["a", "a/b.git", "a/b/"] {
            assert!(is_below(path.as_bytes()), "{path}");
        }
        for path in [
            "", "/", "/a", "a//b", "../a", "a/../b", "a/.", "a/.git", "a/.GIT/b", "a\0b",
        ] {
            assert!(!is_below(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn hosts_add_git_or_do_not() {
        assert_eq!(names("a/b".into()), ["a/b", "a/b.git"]);
        assert_eq!(names("a/b.git/".into()), ["a/b", "a/b.git"]);
        let all = ["A/b", "A/b.git", "a/b", "a/b.git"];
        assert_eq!(names("A/b.git".into()), all);
    }
}
