//! A wheel: the package that `pipx` and `uv tool` install (<https://packaging.python.org/specifications/binary-distribution-format>).
//!
//! It holds the program and no Python. A wheel is a zip, so git-sluice itself writes it, from a repository that has only its files.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::target::Target;
use super::{Release, archive};
use crate::layout::{InstalledFile, PROGRAM};
use crate::{binary, process, scratch};

/// Makes the wheel of the static program with `files`; none of other programs. `runnable` is the program, or what runs it here.
pub(super) fn make(
    release: &Release,
    target: &Target,
    runnable: &Path,
    files: &[InstalledFile],
) -> Result<Option<PathBuf>> {
    if !target.is_static() {
        return Ok(None);
    }
    let version = &release.version;
    let stem = format!("git_sluice-{version}");
    let tag = format!("py3-none-{}", platforms(&target.triple));
    let path = release.dist.join(format!("{stem}-{tag}.whl"));
    let readme = std::fs::read_to_string(binary::root().join("README.md"))?;
    let about = [
        ("METADATA", metadata(version, &readme)),
        ("WHEEL", description(&tag)),
    ];
    let mut content: Vec<_> = files.iter().map(|file| placed(&stem, file)).collect();
    for (name, text) in &about {
        content.push((format!("{stem}.dist-info/{name}"), 0o644, text.as_bytes()));
    }
    let list = format!("{stem}.dist-info/RECORD");
    let record = record(&content, &list)?;
    content.push((list, 0o644, record.as_bytes()));
    let place = scratch::directory()?;
    for (path, mode, content) in &content {
        crate::layout::write(&place.path().join(path), content, *mode)?;
    }
    zip(place.path(), runnable, &path, release.time)?;
    Ok(Some(path))
}

/// A path in the wheel, its permissions and its content.
type Placed<'f> = (String, u32, &'f [u8]);

/// Where `file` lies: an installation puts `scripts` into the directory of programs, and `data` below the prefix.
fn placed<'f>(stem: &str, file: &'f InstalledFile) -> Placed<'f> {
    let path = match &file.path[..] {
        PROGRAM => format!("{stem}.data/scripts/git-sluice"),
        path => format!("{stem}.data/data/{path}"),
    };
    (path, file.mode(), &file.content)
}

/// The systems on which a static program runs, as Python names them: any glibc that Python's tools know, and any musl.
fn platforms(triple: &str) -> String {
    let processor = triple.split('-').next().unwrap_or_default();
    format!("manylinux_2_17_{processor}.manylinux2014_{processor}.musllinux_1_1_{processor}")
}

/// <https://packaging.python.org/specifications/core-metadata>
fn metadata(version: &str, readme: &str) -> String {
    format!(
        "Metadata-Version: 2.1\nName: git-sluice\nVersion: {version}\n\
         Summary: The bytes of git archive, several times faster\nLicense: MIT OR Apache-2.0\n\
         Project-URL: Source, https://github.com/git-sluice/git-sluice\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    )
}

fn description(tag: &str) -> String {
    let tags = tag.rsplit('-').next().unwrap_or_default().split('.');
    let tags: String = tags.map(|it| format!("Tag: py3-none-{it}\n")).collect();
    format!("Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n{tags}")
}

/// The sums of all files, and last `list` itself, without a sum.
fn record(files: &[Placed<'_>], list: &str) -> Result<String> {
    let mut record = String::new();
    for (path, _, content) in files {
        let sum = BASE64_URL_SAFE_NO_PAD.encode(archive::sha256(content)?.as_bytes());
        record += &format!("{path},sha256={sum},{}\n", content.len());
    }
    Ok(record + list + ",,\n")
}

/// Writes the files below `root` as a zip to `path`.
fn zip(root: &Path, runnable: &Path, path: &Path, time: u64) -> Result<()> {
    let run = |command: &mut Command| {
        command.current_dir(root).env("GIT_CONFIG_NOSYSTEM", "1");
        process::quiet(command.env("GIT_CONFIG_GLOBAL", "/dev/null"))
    };
    run(Command::new("git").args(["init", "--quiet"]))?;
    run(Command::new("git").args(["add", "--all"]))?;
    let tree = run(Command::new("git").arg("write-tree"))?;
    let tree = String::from_utf8(tree).context("an id is ASCII")?;
    let mut archive = Command::new(runnable.canonicalize()?);
    archive.args([
        "--stable",
        "--format=zip",
        &format!("--mtime=@{time}"),
        "-o",
    ]);
    run(archive.arg(path).arg(tree.trim())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::{description, platforms, record};

    #[test]
    fn files_have_sums_in_base64() {
        let record = record(&[("a".into(), 0o644, b"abc")], "RECORD").expect("no collision");
        let sum = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
        assert_eq!(record, format!("a,sha256={sum},3\nRECORD,,\n"));
    }

    #[test]
    fn each_system_is_a_tag() {
        let tag = format!("py3-none-{}", platforms("aarch64-unknown-linux-musl"));
        let wheel = description(&tag);
        assert_eq!(wheel.matches("\nTag: py3-none-").count(), 3, "{wheel}");
        assert!(
            wheel.contains("\nTag: py3-none-manylinux_2_17_aarch64\n"),
            "{wheel}"
        );
    }
}
