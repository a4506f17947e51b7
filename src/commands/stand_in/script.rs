//! Writes the stand-in: a `git` that passes archives to git-sluice and everything else to the real git.
//!
//! It is a shell script, which costs 2.0 to 2.4 ms for an archive. It works without this program: if git-sluice was removed, or
//! cannot start, the real git does the work. The try costs more than half of the time for an archive. On Linux, a launcher for
//! other commands of git comes before it.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice};

use super::launcher;
use sluice_base::error::{Error, Result, format_bytes, shell_word, strerror};

/// The script, without the paths of git-sluice, of the real git, and of its own directory.
const SCRIPT: &str = include_str!("git.sh");
/// The name of the stand-in: the launcher, or a link to the script.
pub(super) const NAME: &str = "git";
/// The name of the script, which the launcher has too.
const SCRIPT_NAME: &str = "git-sluice-script";
/// Each version of the script and of the launcher has this near its start.
pub(super) const MARK: &[u8] = b"\n# git-sluice stand-in: ";
/// Bytes at the start of a file that are searched for [`MARK`].
const MARK_WITHIN: u64 = 256;
/// The names of links to the script: ssh and web servers start the servers of archives, and git starts the last one after
/// options of git.
const LINKS: [&str; 3] = [
    "git-upload-archive",
    "git-http-backend",
    "git-sluice-program",
];

/// Writes the script into `directory`, and returns the line that puts it first in `PATH`. `program` is this program, and
/// `variable` reads the environment.
pub fn write(
    directory: &Path,
    program: &Path,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<BString> {
    let paths = variable("PATH").unwrap_or_default();
    let git = find_git(variable("REAL_GIT"), &paths)?;
    let program = by_its_name(program, &paths);
    let directory = created(directory)?;
    let file = directory.join(NAME);
    refuse_shared(&directory, &file)?;
    let values = [&program, &git, &directory].map(|path| shell_word(path.as_os_str().as_bytes()));
    let script = format_bytes(SCRIPT, &values.each_ref().map(|value| value.as_slice()));
    let replaced = replace(&directory, &script);
    replaced.map_err(|error| unwritable(&file, &error))?;
    Ok(path_line(&directory))
}

/// Creates `directory`, and returns its path.
fn created(directory: &Path) -> Result<PathBuf> {
    let failed = |error| unwritable(directory, &error);
    refuse_separator(&std::path::absolute(directory).map_err(failed)?)?;
    fs::create_dir_all(directory).map_err(failed)?;
    let directory = directory.canonicalize().map_err(failed)?;
    // The way to the directory may lead through a link.
    refuse_separator(&directory)?;
    Ok(directory)
}

/// Refuses a directory that cannot be in `PATH`.
fn refuse_separator(directory: &Path) -> Result<()> {
    let path = directory.as_os_str().as_bytes();
    if path.contains(&b':') {
        Err(
            Error::fatal(format_bytes("'{}' cannot be in PATH", &[path]))
                .caused_by("a ':' separates the directories there")
                .hinted("name a directory without a ':'"),
        )
    } else {
        Ok(())
    }
}

/// Refuses a directory with files of others: a work tree that would have the program `git` among its files, or a directory
/// of programs, which others have in their `PATH`.
fn refuse_shared(directory: &Path, file: &Path) -> Result<()> {
    const HINT: &str = "name an empty or a new directory";
    if is_stand_in(file) {
        return Ok(());
    }
    let path = [directory.as_os_str().as_bytes()];
    let mut entries = fs::read_dir(directory).map_err(|error| unwritable(directory, &error))?;
    match entries.next() {
        Some(_) if file.exists() => {
            let path = file.as_os_str().as_bytes();
            let refused = format_bytes("'{}' exists, and git-sluice did not write it", &[path]);
            Err(Error::fatal(refused).hinted(HINT))
        }
        Some(_) => {
            let refused = format_bytes("'{}' is not for a stand-in alone", &path);
            Err(Error::fatal(refused).hinted(HINT))
        }
        None => Ok(()),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    let refused = format_bytes("cannot write '{}'", &[path.as_os_str().as_bytes()]);
    Error::fatal(refused).caused_by(strerror(error))
}

/// Replaces the script, its links, and the launcher last, which needs them. A shell that reads the old script keeps it.
fn replace(directory: &Path, script: &[u8]) -> io::Result<()> {
    replace_program(directory, SCRIPT_NAME, script)?;
    for name in LINKS {
        replace_link(directory, name)?;
    }
    match launcher::program(directory.join(SCRIPT_NAME).as_os_str().as_bytes()) {
        Some(launcher) => replace_program(directory, NAME, &launcher),
        None => replace_link(directory, NAME),
    }
}

/// The new program has its name only once it is closed, because the system starts no file that somebody may write to.
fn replace_program(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let mut new = tempfile::Builder::new().tempfile_in(directory)?;
    new.write_all(content)?;
    new.as_file()
        .set_permissions(Permissions::from_mode(0o755))?;
    new.into_temp_path().persist(directory.join(name))?;
    Ok(())
}

/// Makes `name` a link to the script.
fn replace_link(directory: &Path, name: &str) -> io::Result<()> {
    let link = tempfile::Builder::new().make_in(directory, |path| symlink(SCRIPT_NAME, path))?;
    link.into_temp_path().persist(directory.join(name))?;
    Ok(())
}

/// The real git: `named` by `REAL_GIT`, or the first in `paths` that is none of our scripts.
fn find_git(named: Option<OsString>, paths: &OsStr) -> Result<PathBuf> {
    let searched = env::split_paths(paths).map(|directory| directory.join(NAME));
    let candidates = named.map(PathBuf::from).into_iter().chain(searched);
    let mut programs = candidates.filter(|path| is_program(path) && !is_stand_in(path));
    let found = programs.find_map(|path| std::path::absolute(path).ok());
    let missing = || Error::fatal("cannot find git").hinted("set REAL_GIT to the path of git");
    found.ok_or_else(missing)
}

/// The name under which `paths` lead to `program`, because a name stays when a new version has another file. Otherwise its own.
fn by_its_name(program: &Path, paths: &OsStr) -> PathBuf {
    let own = identity(program);
    let named = env::split_paths(paths).map(|directory| directory.join("git-sluice"));
    let mut named = named.filter(|path| path.is_absolute() && identity(path) == own);
    named.next().unwrap_or_else(|| program.to_owned())
}

/// The file that `path` leads to.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Whether `path` is a file that can be executed.
pub(super) fn is_program(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Whether the file is a script of this module.
pub(super) fn is_stand_in(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MARK_WITHIN).read_to_end(&mut start));
    read.is_ok() && start.contains_str(MARK)
}

/// The line for a shell, with a `directory` that may have any characters.
fn path_line(directory: &Path) -> BString {
    format_bytes(
        "PATH={}:$PATH\n",
        &[&shell_word(directory.as_os_str().as_bytes())],
    )
}
