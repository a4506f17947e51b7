//! What an installation consists of, and where below its prefix each file lies: in `/usr/local`, in `~/.local`, in the
//! archives and in the packages.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{binary, process};

/// The program.
pub(crate) const PROGRAM: &str = "bin/git-sluice";

/// The commands with a manual page of their own.
const MANUALS: [&str; 15] = [
    "ls",
    "explain",
    "info",
    "missing",
    "apply",
    "verify",
    "compare",
    "publish",
    "prune",
    "batch",
    "upload-archive",
    "stand-in",
    "completions",
    "manual",
    "help",
];
/// The shells, each with the place where it looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/git-sluice"),
    ("zsh", "share/zsh/site-functions/_git-sluice"),
    ("fish", "share/fish/vendor_completions.d/git-sluice.fish"),
];

/// What the program writes about itself: the words that ask for it, and the place where it is looked for.
fn generated() -> Vec<(Vec<&'static str>, String)> {
    let page = |name| format!("share/man/man1/git-sluice{name}.1");
    let mut texts = vec![(vec!["manual"], page(String::new()))];
    texts.extend(MANUALS.map(|name| (vec!["manual", name], page(format!("-{name}")))));
    texts.extend(COMPLETIONS.map(|(shell, path)| (vec!["completions", shell], path.to_owned())));
    texts
}

/// The folder of [`DOCUMENTS`].
const FOLDER_OF_DOCUMENTS: &str = "share/doc/git-sluice";
/// The folder of programs among them.
const EXAMPLES: &str = "share/doc/git-sluice/examples";

/// Files of the source.
const DOCUMENTS: [(&str, &str); 6] = [
    ("README.md", "share/doc/git-sluice/README.md"),
    ("CHANGELOG.md", "share/doc/git-sluice/CHANGELOG.md"),
    ("LICENSE-APACHE", "share/doc/git-sluice/LICENSE-APACHE"),
    ("LICENSE-MIT", "share/doc/git-sluice/LICENSE-MIT"),
    (
        "examples/ssh-command",
        "share/doc/git-sluice/examples/ssh-command",
    ),
    (
        "examples/archive_server.py",
        "share/doc/git-sluice/examples/archive_server.py",
    ),
];

/// A file of an installation.
#[derive(Clone, Debug)]
pub(crate) struct InstalledFile {
    /// The path below the prefix.
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
}

impl InstalledFile {
    pub(crate) fn mode(&self) -> u32 {
        if self.path.starts_with("bin/") || self.path.starts_with(EXAMPLES) {
            0o755
        } else {
            0o644
        }
    }

    /// Whether the file is made for a release: neither the program nor a file of the source.
    pub(crate) fn is_generated(&self) -> bool {
        self.path != PROGRAM && DOCUMENTS.iter().all(|(_, path)| self.path != *path)
    }

    /// Writes the file below `prefix`.
    pub(crate) fn write_below(&self, prefix: &Path) -> Result<()> {
        write(&prefix.join(&self.path), &self.content, self.mode())
    }
}

/// Writes `content` to `path` with the permissions `mode`, and makes the directories above. A program that runs from an older file
/// keeps it.
pub(crate) fn write(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let write = || {
        let directory = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory)?;
        let permissions = fs::Permissions::from_mode(mode);
        let new = tempfile::Builder::new()
            .permissions(permissions.clone())
            .tempfile_in(directory)?;
        fs::write(new.path(), content)?;
        fs::set_permissions(new.path(), permissions)?;
        new.persist(path).map(drop).map_err(std::io::Error::from)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Removes an installation below `prefix`, and the folders of its documents. Returns the paths of the files that were there.
pub(crate) fn remove_below(prefix: &Path) -> Result<Vec<PathBuf>> {
    let generated = generated().into_iter().map(|(_, path)| path);
    let of_source = std::iter::once(PROGRAM).chain(DOCUMENTS.map(|(_, path)| path));
    let paths = generated.chain(of_source.map(str::to_owned));
    let mut removed = Vec::new();
    for path in paths.map(|path| prefix.join(path)) {
        match fs::remove_file(&path) {
            Ok(()) => removed.push(path),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
        }
    }
    // Others may have put something there.
    for folder in [EXAMPLES, FOLDER_OF_DOCUMENTS] {
        let _ = fs::remove_dir(prefix.join(folder));
    }
    Ok(removed)
}

/// All files of an installation of `program`. Its manual pages and completions are what `runnable` prints: the program, or what
/// runs it on this machine.
pub(crate) fn files(program: &Path, runnable: &Path) -> Result<Vec<InstalledFile>> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("no {}", path.display()));
    let mut files = vec![InstalledFile {
        path: PROGRAM.to_owned(),
        content: read(program)?,
    }];
    for (words, path) in generated() {
        let content = process::quiet(Command::new(runnable).args(words))?;
        files.push(InstalledFile { path, content });
    }
    for (document, path) in DOCUMENTS {
        let content = read(&binary::root().join(document))?;
        let path = path.to_owned();
        files.push(InstalledFile { path, content });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::{FOLDER_OF_DOCUMENTS, PROGRAM, files, remove_below};
    use crate::scratch;

    /// A shell script in the place of the program.
    #[test]
    fn the_program_is_asked_for_its_texts() {
        let place = scratch::directory().expect("a folder");
        let program = place.path().join("program");
        scratch::write_script(&program, "#!/bin/sh\necho \"$*\"\n").expect("ours");
        let prefix = place.path().join("prefix");
        for file in files(&program, &program).expect("all there") {
            file.write_below(&prefix).expect("written");
        }
        let page = fs::read_to_string(prefix.join("share/man/man1/git-sluice.1"));
        assert_eq!(page.expect("written"), "manual\n");
        let mode = |path: &str| {
            let metadata = fs::metadata(prefix.join(path)).expect("written");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!(mode(PROGRAM), 0o755);
        assert_eq!(mode("share/doc/git-sluice/README.md"), 0o644);
        assert_eq!(mode("share/doc/git-sluice/examples/ssh-command"), 0o755);
        // Files of others stay.
        let others = prefix.join("share/man/man1/other.1");
        fs::write(&others, "").expect("ours");
        let removed = remove_below(&prefix).expect("all there");
        assert_eq!(
            removed.len(),
            files(&program, &program).expect("all there").len()
        );
        assert!(removed.iter().all(|path| !path.exists()));
        assert!(!prefix.join(FOLDER_OF_DOCUMENTS).exists() && others.exists());
        assert!(remove_below(&prefix).expect("nothing there").is_empty());
    }
}
