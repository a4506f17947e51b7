//! What entries become: binary files, symbolic links, submodules.

use super::{files, names, unpack};
use crate::support::Repo;
use crate::support::forge;
use crate::support::tar_listing;

/// What of `binary/` is in the archive, with the size of each.
#[track_caller]
fn binaries(repo: &Repo, args: &[&str]) -> Vec<(String, usize)> {
    let args = args.iter().chain(&["HEAD"]);
    let archive = repo.sluice(args).success();
    let records = tar_listing::records(&archive);
    let files = records.iter().filter(|record| record.kind() == '0');
    let sized = files.map(|record| (record.name(), record.data.len()));
    let below = sized.filter_map(|(name, size)| Some((name.strip_prefix("binary/")?.into(), size)));
    below.collect()
}

#[track_caller]
fn assert_binaries(args: &[&str], expected: &[(&str, usize)]) {
    let packed = Repo::from("filters");
    let loose = Repo::copy("filters");
    unpack(&loose);
    let expected: Vec<(String, usize)> = expected
        .iter()
        .map(|(name, size)| (name.to_string(), *size))
        .collect();
    assert_eq!(binaries(&packed, args), expected, "{args:?}");
    assert_eq!(binaries(&loose, args), expected, "{args:?}");
}

#[test]
fn a_nul_makes_a_file_binary() {
    let full = [("early", 4), ("late", 3001), ("one", 1), ("three", 3)];
    assert_binaries(&["--binary=keep"], &full);
    assert_binaries(&["--binary=omit"], &[]);
    let zero = full.map(|(name, _)| (name, 0));
    assert_binaries(&["--binary=empty"], &zero);
    // What is shorter than that is sent as it is.
    let nuls = [("early", 3), ("late", 3), ("one", 1), ("three", 3)];
    assert_binaries(&["--binary=placeholder"], &nuls);
}

/// The searcher looks at the first 32 KiB.
#[test]
fn a_late_nul_may_not_count() {
    let repo = Repo::init();
    for (name, at) in [("early", 0), ("last", 32767), ("late", 32768)] {
        repo.write(name, [&vec![b't'; at][..], b"\0"].concat());
    }
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "NULs"]);
    for packed in [false, true] {
        if packed {
            repo.git(["repack", "-adq"]);
        }
        let sent = |profile: &str| files(&repo, &[profile, "--binary=omit"]);
        assert_eq!(sent("--profile=searcher"), ["late"]);
        assert!(sent("--profile=zoekt").is_empty() && sent("--profile=git").is_empty());
    }
}

/// Larger than an eighth of the memory, so that the writer streams it, loose or packed.
#[test]
fn large_files_are_looked_at_as_well() {
    let repo = Repo::init();
    let text = vec![b't'; 3 << 20];
    let with_nul = |at: usize| {
        let mut text = text.clone();
        text[at] = 0;
        forge::blob(&repo, text)
    };
    let (first, last) = (with_nul(0), with_nul((3 << 20) - 1));
    let plain = forge::blob(&repo, text.clone());
    let entries: [(&str, &[u8], &str); 4] = [
        ("100644", b"a-plain", &plain),
        ("100644", b"b-first", &first),
        ("100644", b"c-last", &last),
        ("100644", b"d-plain", &plain),
    ];
    let commit = forge::commit(&repo, &entries);
    repo.git(["update-ref", "HEAD", &commit]);
    for packed in [false, true] {
        if packed {
            repo.git(["repack", "-adq"]);
        }
        for threads in ["--threads=1", "--threads=4"] {
            let small = [threads, "--memory=8m", "--binary=omit"];
            assert_eq!(files(&repo, &small), ["a-plain", "d-plain"]);
            let within = [&small[..], &["--profile=searcher", "--large=keep"]].concat();
            assert_eq!(files(&repo, &within), ["a-plain", "c-last", "d-plain"]);
            let nuls = [threads, "--memory=8m", "--binary=placeholder", "HEAD"];
            let archive = repo.sluice(nuls).success();
            let sizes: Vec<usize> = tar_listing::records(&archive)[1..]
                .iter()
                .map(|record| record.data.len())
                .collect();
            assert_eq!(sizes, [3 << 20, 3, 3, 3 << 20]);
            assert!(tar_listing::is_complete(&archive));
        }
    }
}

/// The archive decides, not the repository: UTF-16 is binary to who reads it.
#[test]
fn converted_files_are_looked_at_as_they_are_sent() {
    let repo = Repo::init();
    repo.write(
        ".gitattributes",
        "*.utf16 working-tree-encoding=UTF-16LE\n*.crlf eol=crlf\n",
    );
    repo.write("a.utf16", [b'a', 0, b'\n', 0]);
    repo.write("b.crlf", "text\r\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "converted"]);
    assert_eq!(
        files(&repo, &["--binary=omit"]),
        [".gitattributes", "b.crlf"]
    );
    assert_eq!(
        files(&repo, &["--binary=omit", "--no-attributes"]),
        [".gitattributes", "a.utf16", "b.crlf"]
    );
}

#[test]
fn an_omitted_name_is_not_told() {
    let repo = Repo::from("filters");
    let args = [
        "-v",
        "--binary=omit",
        "--max-size=4096",
        "--submodules=omit",
        "HEAD",
    ];
    let output = repo.sluice(args);
    let told = output.messages();
    let archive = output.success();
    // Names that are no text are told as they are.
    let told: Vec<&str> = told
        .lines()
        .filter(|name| !name.starts_with("caf"))
        .collect();
    let mut found = tar_listing::names(&archive);
    found.retain(|name| !name.starts_with("caf"));
    assert_eq!(told, found);
    assert!(!told.contains(&"binary/late") && !told.contains(&"size/over"));
}

#[test]
fn links_may_be_files() {
    let repo = Repo::from("filters");
    let record = |args: &[&str]| {
        let archive = repo.sluice(args.iter().chain(&["HEAD"])).success();
        let records = tar_listing::records(&archive);
        let link = records.iter().find(|record| record.name() == "links/link");
        let link = link.expect("it is there");
        let mode = String::from_utf8_lossy(&link.header[100..107]).into_owned();
        (link.kind(), mode, link.data.to_vec())
    };
    assert_eq!(record(&[]), ('2', "0000777".into(), vec![]));
    let file = ('0', "0000664".into(), b"../kept/file".to_vec());
    assert_eq!(record(&["--symlinks=file"]), file);
    // A target is not as large as that.
    assert_eq!(record(&["--symlinks=link", "--max-size=12"]).0, '2');
    // Nothing else could be a target.
    let stand_in = ('0', "0000664".into(), vec![]);
    assert_eq!(record(&["--max-size=11", "--large=empty"]), stand_in);
    let (told, _) = repo.summary(["--symlinks=file", "--max-size=11", "HEAD", "links"]);
    assert_eq!(told["files"], 0);
    let (told, _) = repo.summary(["--symlinks=file", "HEAD", "links"]);
    assert_eq!(told["files"], 1);
}

#[test]
fn submodules_may_be_nothing() {
    let repo = Repo::from("filters");
    assert!(names(&repo, &[]).contains(&"module/".into()));
    assert!(!names(&repo, &["--submodules=omit"]).contains(&"module/".into()));
    let (lines, output) = repo.manifest(["--submodules=omit", "HEAD", "module"]);
    let _ = output.success();
    assert_eq!(lines[1]["disposition"], "omitted");
    assert_eq!(
        (&lines[1]["mode"], &lines[1]["reason"]),
        (&"160000".into(), &"submodule".into())
    );
}
