//! The options of `compare`.

use serde_json::{Value, json};

use super::{assert_says, project};
use crate::support::schema::Schema;

/// The archive of `v1` with two more files, a changed one and without a directory.
const RELEASE: &str = "rm -rf .git/t && mkdir .git/t && git archive --prefix=p/ v1 | tar -xf - -C .git/t && cd .git/t/p && \
                       mkdir m4 && echo x >m4/x && echo x >configure && sed -i s/read/write/ README && rm -r docs && cd .. && \
                       tar --format=ustar --sort=name -cf ../release.tar p";

#[test]
fn differences_can_be_accepted() {
    let repo = project();
    let _ = repo.shell(RELEASE).success();
    let compare = |words: &str| repo.compare(&format!("{words} .git/release.tar v1"));
    let lines = "changed   README\nmissing   docs/x\nadded     configure (2 bytes)\nadded     m4/x (2 bytes)\n\
                 differs: 2 added, 1 changed, 1 missing (10 files in the archive)\n";
    assert_says(&compare(""), 1, lines);
    let lines = "changed   README\nmissing   docs/x\nadded     configure (2 bytes)\n\
                 differs: 1 added, 1 changed, 1 missing (10 files in the archive)\n";
    repo.write(".git/expected", "added m4/\n");
    assert_says(&compare("--expect=.git/expected"), 1, lines);
    repo.write(".git/expected", "added /configure\nadded m4\n");
    let lines = "changed   README\nmissing   docs/x\ndiffers: 0 added, 1 changed, 1 missing (10 files in the archive)\n";
    assert_says(&compare("--expect=.git/expected"), 1, lines);
    repo.write(".git/expected", "added *\nmissing docs\n");
    let accept = "--expect=.git/expected";
    let lines =
        "changed   README\ndiffers: 0 added, 1 changed, 0 missing (10 files in the archive)\n";
    assert_says(&compare(accept), 1, lines);
    let output = repo.compare(&format!(
        "{accept} --ignore-unmatch .git/release.tar v1 m4 docs configure"
    ));
    assert_says(
        &output,
        0,
        "same files, other bytes: 3 accepted differences\n",
    );
}

#[test]
fn texts_are_compared_line_by_line() {
    let repo = project();
    let _ = repo.shell(RELEASE).success();
    let lines = "changed   README\n--- a/README\n+++ b/README\n@@ -1 +1 @@\n-read\n+write\n\
                 differs: 0 added, 1 changed, 0 missing (10 files in the archive)\n";
    assert_says(&repo.compare("--diff .git/release.tar v1 README"), 1, lines);
    let archive = repo.archive_of("--format=tar v1");
    let refused = repo.compare_bytes(&archive, "--diff v1");
    refused.assert_refused(
        129,
        &["error: the option '--diff' requires a file or a directory"],
    );
}

#[test]
fn json_lines() {
    let repo = project();
    let _ = repo.shell(RELEASE).success();
    let lines = |words: &str| -> Vec<Value> {
        let output = repo.compare(&format!("--json {words}"));
        let schema = Schema::read("compare");
        let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
        let line = |line| {
            let value = serde_json::from_str(line).expect("JSON");
            schema.accept(&value);
            value
        };
        text.lines().map(line).collect()
    };
    let (commit, tree) = (
        repo.git(["rev-parse", "v1"]),
        repo.git(["rev-parse", "v1^{tree}"]),
    );
    let counts = |added: u64, changed: u64, missing: u64, same: u64| {
        json!({"added": added, "as-stored": 0, "changed": changed, "doubt": 0, "line-endings": 0, "missing": missing, "mode": 0,
               "same": same, "twice": 0, "type": 0})
    };
    let expected = [
        json!({"compare": 1, "path": "README", "class": "changed", "difference": true}),
        json!({"compare": 1, "path": "docs/x", "class": "missing", "difference": true}),
        json!({"compare": 1, "path": "configure", "class": "added", "size": 2, "difference": true}),
        json!({"compare": 1, "path": "m4/x", "class": "added", "size": 2, "difference": true}),
        json!({"compare": 1, "result": "differs", "commit": commit, "tree": tree, "prefix": "p/", "files": 10,
               "counts": counts(2, 1, 1, 7)}),
    ];
    assert_eq!(lines(".git/release.tar v1"), expected);
    let _ = repo
        .shell("git archive --format=tar -o .git/a.tar v1")
        .success();
    let expected = [
        json!({"compare": 1, "result": "identical", "commit": commit, "tree": tree, "found_by": "the comment of the archive", "refs": ["v1"],
                           "prefix": "", "files": 9, "counts": counts(0, 0, 0, 9),
                           "command": format!("git archive --format=tar {commit}")}),
    ];
    assert_eq!(lines(".git/a.tar"), expected);
    let _ = repo
        .shell("head -c 3000 .git/a.tar >.git/cut.tar")
        .success();
    let cut = lines(".git/cut.tar v1");
    let last = cut.last().expect("a result");
    assert_eq!(last["result"], "damaged");
    assert_eq!(last["damage"], "it ends too early");
}

/// The line of progress goes to standard error.
#[test]
fn progress_is_no_output() {
    let repo = project();
    let archive = repo.archive_of("--format=tar v1");
    let lines = "identical: git archive --format=tar v1\n";
    assert_says(&repo.compare_bytes(&archive, "--progress -j1 v1"), 0, lines);
    assert_says(
        &repo.compare_bytes(&archive, "-j3 --memory=1m v1"),
        0,
        lines,
    );
}

/// A partial clone needs only the files that attributes may change.
#[test]
fn a_partial_clone_without_blobs() {
    let repo = project();
    let script = "git config uploadpack.allowFilter true && git config uploadpack.allowAnySHA1InWant true && \
                  git clone -q --no-checkout --filter=blob:none file://$PWD/.git .git/part";
    let _ = repo.shell(script).success();
    let archive = repo.archive_of("--format=tar --prefix=p/ v1");
    let part = repo.clone().at(".git/part");
    let output = part.compare_bytes(&archive, "v1 src run README");
    assert_eq!(output.code(), 0, "{output}");
    let output = part.compare_bytes(&archive, "v1");
    assert_eq!(output.code(), 0, "{output}");
    let missing = "git rev-list --objects --missing=print v1 | grep -c '^?'";
    let missing = String::from_utf8(part.shell(missing).success()).expect("a number");
    // The attribute file and the two files that it converts were fetched.
    assert_eq!(missing.trim(), "7", "{output}");
}

/// Files of Git LFS are pointers, or their contents.
#[test]
fn lfs() {
    let repo = project();
    let pointer = "version https://git-lfs.github.com/spec/v1\n\
                   oid sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\nsize 3\n";
    repo.write("large.bin", pointer);
    repo.write(".gitattributes", "*.bin filter=lfs\n");
    let script = "git add . && git commit -qm lfs && mkdir -p .git/lfs/objects/ba/78 && \
                  printf abc >.git/lfs/objects/ba/78/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let _ = repo.shell(script).success();
    let pointers = repo
        .sluice(["--lfs=pointer", "--format=tar", "HEAD"])
        .success();
    let contents = repo
        .sluice(["--lfs=content", "--format=tar", "HEAD"])
        .success();
    let compare =
        |archive: &[u8], how: &str| repo.compare_bytes(archive, &format!("--lfs={how} HEAD"));
    let lines = "identical: git sluice archive --format=tar <options> HEAD\n";
    assert_says(&compare(&pointers, "pointer"), 0, lines);
    assert_says(&compare(&contents, "content"), 0, lines);
    let lines = "same files, other bytes: 1 file as stored, attributes not applied\n";
    assert_says(&compare(&pointers, "content"), 0, lines);
    assert_eq!(compare(&contents, "pointer").code(), 1);
}
