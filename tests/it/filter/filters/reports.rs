//! Manifest and summary are of what is in the archive, and say so only of what is complete.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{IGNORE_FILE, unpack};
use crate::output::report::path_of;
use crate::support::process::run_with_input;
use crate::support::tar_listing;
use crate::support::{Repo, forge, installed};

/// A reader that is everywhere tells for each member: its name in hexadecimal, its kind and its size.
const LIST: &str = "\
import io, stat, sys, tarfile, zipfile
data = io.BytesIO(sys.stdin.buffer.read())
if sys.argv[1] == 'tar':
    for member in tarfile.open(fileobj=data, errors='surrogateescape', encoding='utf-8'):
        name = member.name.encode('utf-8', 'surrogateescape') + (b'/' if member.isdir() else b'')
        kind = 'directory' if member.isdir() else 'link' if member.issym() else \
            'executable' if member.mode & 0o100 else 'file'
        print(name.hex(), kind, member.size)
else:
    for member in zipfile.ZipFile(data).infolist():
        name = member.filename.encode('utf-8' if member.flag_bits & 0x800 else 'cp437')
        mode = member.external_attr >> 16
        kind = 'directory' if name.endswith(b'/') else 'link' if stat.S_ISLNK(mode) else \
            'executable' if mode & 0o100 else 'file'
        print(name.hex(), kind, member.file_size)
";

/// What is in the archive, in order.
fn printable_path(repo: &Repo, format: &str, archive: Vec<u8>) -> Vec<(String, String, u64)> {
    let mut python = repo.command("python3");
    let listing = run_with_input(python.args(["-c", LIST, format]), archive).success();
    let listing = String::from_utf8(listing).expect("digits and words");
    let fields = listing
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let entries = fields.map(|fields| {
        let size = fields[2].parse().expect("a number");
        (fields[0].to_owned(), fields[1].to_owned(), size)
    });
    entries.collect()
}

/// A path as `listed` has it.
fn path(line: &Value) -> String {
    let bytes = path_of(line);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The lines, after all that any manifest has to be.
#[track_caller]
fn entries(lines: Vec<Value>) -> Vec<Value> {
    let mut lines = lines;
    let last = lines.pop().expect("it has lines");
    let first = lines.remove(0);
    assert_eq!(first["manifest"], 1);
    assert_eq!(last["end"], true);
    assert_eq!(last["entries"], lines.len());
    lines
}

#[track_caller]
fn assert_tells_of_the_archive(repo: &Repo, revision: &str, options: &[&str]) {
    let tree: BTreeMap<String, (String, String)> = repo
        .git([
            "ls-tree",
            "-rt",
            "-z",
            "--format=%(objectmode) %(objectname) %(path)",
            revision,
        ])
        .split('\0')
        .filter_map(|line| Some((line.get(..6)?, line.get(7..47)?, line.get(48..)?)))
        .map(|(mode, id, path)| (path.into(), (mode.into(), id.into())))
        .collect();
    for format in ["tar", "zip"] {
        if format == "zip" && options.contains(&"--profile=zoekt") {
            continue;
        }
        let with = |threads: &str| {
            let format = format!("--format={format}");
            let common = [&format[..], threads];
            repo.manifest([&common[..], options, &[revision]].concat())
        };
        let (lines, output) = with("--threads=1");
        let (again, _) = with("--threads=4");
        assert!(lines == again, "{options:?} {format}");
        let found = printable_path(repo, format, output.success());
        let told = entries(lines);
        let sent: Vec<&Value> = told
            .iter()
            .filter(|line| line["disposition"] != "omitted")
            .collect();
        let paths: Vec<String> = sent.iter().map(|line| path(line)).collect();
        let names: Vec<String> = found.iter().map(|entry| entry.0.clone()).collect();
        assert_eq!(paths, names, "{options:?} {format}");
        for (line, (_, kind, size)) in sent.iter().zip(&found) {
            let mode = line["mode"].as_str().expect("always there");
            let links_as_files = options.contains(&"--profile=zoekt");
            let expected = match mode {
                "100755" => "executable",
                "100644" => "file",
                "120000" if links_as_files => "file",
                "120000" => "link",
                _ => "directory",
            };
            assert_eq!(kind, expected, "{line}");
            let is_whole = line["disposition"] == "content" && options.contains(&"--no-attributes");
            if is_whole && kind == "file" {
                assert_eq!(&line["size"], size, "{line}");
            }
        }
        for line in &told {
            let Some(path) = line["path"].as_str() else {
                continue;
            };
            if let Some((mode, id)) = tree.get(path.trim_end_matches('/')) {
                assert_eq!(
                    (&line["mode"], &line["id"]),
                    (&mode[..].into(), &id[..].into())
                );
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn the_manifest_tells_of_the_archive() {
    if !installed("python3") {
        return;
    }
    let by_hand = [
        "--no-attributes",
        IGNORE_FILE,
        "--max-size=4096",
        "--binary=omit",
        "--submodules=omit",
    ];
    let all = [
        &["--profile=git"][..],
        &["--profile=searcher"],
        &by_hand,
        &["--profile=zoekt"],
    ];
    for (fixture, revision, options) in [
        ("filters", "HEAD", &all[..]),
        ("basic", "HEAD", &all[..2]),
        ("names-long", "HEAD", &all[3..]),
        ("export-ignore", "HEAD", &all[..1]),
        ("deltas", "HEAD~30", &all[2..]),
    ] {
        let repo = Repo::from(fixture);
        for options in options {
            assert_tells_of_the_archive(&repo, revision, options);
        }
    }
}

#[test]
fn names_that_are_no_text_are_told() {
    let repo = Repo::from("filters");
    let (lines, output) = repo.manifest(["HEAD", "caf*"]);
    let _ = output.success();
    let told = entries(lines);
    assert_eq!(path_of(&told[0]), b"caf\xe9");
    assert_eq!(told[0].get("path"), None);
}

#[test]
fn what_is_not_sent_is_told_with_its_reason() {
    let repo = Repo::from("filters");
    let args = [
        IGNORE_FILE,
        "--max-size=4096",
        "--large=placeholder",
        "--binary=placeholder",
        "--submodules=omit",
        "HEAD",
    ];
    let (lines, output) = repo.manifest(args);
    let _ = output.success();
    let told: BTreeMap<String, Value> = entries(lines)
        .into_iter()
        .filter_map(|line| Some((line["path"].as_str()?.to_owned(), line)))
        .collect();
    for (path, disposition, reason, size) in [
        ("ignored/", "omitted", Some("excluded"), None),
        ("x.min.js", "omitted", Some("excluded"), None),
        ("size/over", "placeholder", Some("too-large"), Some(4097)),
        ("binary/late", "placeholder", Some("binary"), Some(3001)),
        ("binary/one", "content", None, Some(1)),
        ("module", "omitted", Some("submodule"), None),
        ("size/limit", "content", None, Some(4096)),
    ] {
        let line = told.get(path).or_else(|| told.get(&format!("{path}/")));
        let line = line.unwrap_or_else(|| panic!("{path} is not told of"));
        assert_eq!(line["disposition"], disposition, "{path}");
        assert_eq!(line.get("reason").and_then(Value::as_str), reason, "{path}");
        assert_eq!(line.get("size").and_then(Value::as_u64), size, "{path}");
    }
    let (told, output) = repo.summary(args);
    let archive = output.success();
    assert_eq!(told["complete"], true);
    assert_eq!(told["bytes_out"], archive.len());
    assert_eq!(told["placeholders"]["too-large"], 4);
    assert_eq!(told["placeholders"]["binary"], 3);
    assert_eq!(told["omitted"]["excluded"], 3);
    assert_eq!(told["omitted"]["submodule"], 1);
    assert_eq!(told["entries"], tar_listing::names(&archive).len());
    assert_eq!(told["commit"], repo.git(["rev-parse", "HEAD"]));
}

#[test]
fn a_run_that_fails_is_not_complete() {
    let repo = Repo::copy("filters");
    unpack(&repo);
    forge::lose(&repo, "HEAD:run.sh");
    for format in ["--format=tar", "--format=zip"] {
        for threads in ["--threads=1", "--threads=4"] {
            let args = [format, threads, "HEAD"];
            let (lines, output) = repo.manifest(args);
            assert_eq!(output.code(), 255, "{output}");
            assert!(!output.stdout.is_empty() && !tar_listing::is_complete(&output.stdout));
            crate::archive::readers::assert_rejected(&output.stdout);
            assert!(lines.len() > 1 && lines.iter().all(|line| line.get("end").is_none()));
            let (told, output) = repo.summary(args);
            assert_eq!(told["complete"], false);
            let error = told["error"].as_str().expect("it is told");
            assert!(
                output.messages().contains(error.trim_end()),
                "{error}\n{output}"
            );
        }
    }
}

/// What is found out before the first byte is told as well.
#[test]
fn a_run_that_never_began_has_a_summary() {
    let repo = Repo::from("filters");
    for args in [
        &["nowhere"][..],
        &["HEAD", "no-such-path"],
        &["--exclude-from=nowhere", "HEAD"],
    ] {
        let (told, output) = repo.summary(args);
        assert_eq!(output.code(), 128, "{output}");
        assert_eq!(
            (&told["complete"], &told["entries"]),
            (&false.into(), &0.into())
        );
    }
}

#[test]
fn nothing_to_send_may_be_told_by_the_status() {
    let repo = Repo::copy("filters");
    let all = ["--exclude=**", "HEAD"];
    assert!(tar_listing::is_complete(&repo.sluice(all).success()));
    let (told, output) = repo.summary([&["--fail-if-empty"][..], &all].concat());
    assert_eq!(output.code(), 4, "{output}");
    assert!(tar_listing::is_complete(&output.stdout));
    assert_eq!(
        (&told["complete"], &told["files"]),
        (&true.into(), &0.into())
    );
    // Links and submodules are nothing to index, unless links are files.
    let links = ["--fail-if-empty", "HEAD", "links", "module"];
    assert_eq!(repo.sluice(links).code(), 4);
    let files = repo.sluice(["--symlinks=file"].iter().chain(&links));
    assert_eq!(files.code(), 0, "{files}");
    assert_eq!(repo.sluice(["--fail-if-empty", "HEAD"]).code(), 0);
}
