//! What is expected: the entries that `git sluice archive` with the same options sends, or those of another archive.

use std::fs;

use super::{assert_says, project};
use crate::support::Repo;

/// A tar of the directory `.git/t`, in which `script` was run.
#[track_caller]
fn directory(repo: &Repo, script: &str) {
    let script = format!("rm -rf .git/t && mkdir -p .git/t && cd .git/t && {{ {script}; }}");
    let _ = repo.shell(&script).success();
}

/// An archive is the same as what its own options expect, with any prefix.
#[test]
fn options_of_the_archive_are_options_of_the_comparison() {
    let repo = project();
    let script = "mkdir -p .git/out/bin && echo conf >.git/out/configure && ln -s configure .git/out/symlink && \
                  echo deep >src/README && echo deep >src/Makefile && git add . && git commit -qm deep && git tag v3";
    let _ = repo.shell(script).success();
    for (options, words) in [
        ("", "src"),
        ("", "src docs"),
        ("", ":(exclude)src"),
        ("--relative=src", ""),
        ("--relative=src", "deep"),
        ("--exclude=README", ""),
        ("--no-attributes", ""),
        ("--add-file=.git/out/configure", ""),
        ("--add-file=.git/out/configure", "src"),
        ("--add-directory=.git/out", ""),
        ("--relative=src --add-directory=.git/out", ""),
    ] {
        for prefix in ["", "p/", "p-1/q/"] {
            let prefix = format!("--prefix={prefix}");
            let words = format!("{options} v3 {words}");
            let words = words.split(' ').filter(|word| !word.is_empty());
            let words: Vec<_> = words.collect();
            let archive = [&["--format=tar", &prefix], &words[..]].concat();
            let archive = repo.sluice(archive).success();
            for output in [
                repo.compare_bytes(&archive, &words.join(" ")),
                repo.compare_bytes(&archive, &format!("{prefix} {}", words.join(" "))),
            ] {
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(
                    said.starts_with("identical: "),
                    "{prefix} {words:?}\n{output}"
                );
            }
        }
    }
    let archive = repo.sluice([
        "--format=tar",
        "--prefix=p/",
        "--add-virtual-file=p/x:1",
        "v3",
    ]);
    let archive = archive.success();
    let output = repo.compare_bytes(&archive, "--add-virtual-file=p/x:1 v3");
    assert_eq!(output.code(), 0, "{output}");
    let lines = "changed   x\ndiffers: 0 added, 1 changed, 0 missing (12 files in the archive)\n";
    let output = repo.compare_bytes(&archive, "--add-virtual-file=p/x:2 v3");
    assert_says(&output, 1, lines);
    let below = repo.clone().at("src");
    let archive = below.archive_of("--format=tar --prefix=p/ v3");
    assert_eq!(below.compare_bytes(&archive, "v3").code(), 0);
}

/// Who leaves a file out is told, also for files below a directory.
#[test]
fn who_leaves_a_file_out() {
    let repo = project();
    let archive = repo
        .sluice(["--format=tar", "--no-attributes", "v1"])
        .success();
    for (options, line) in [
        ("", "as-stored .github/ci (export-ignore)\n"),
        ("--exclude=src", "as-stored src/deep/numbers (excluded)\n"),
        ("--exclude=src --no-attributes", "same      .github/ci\n"),
        ("--max-size=9", "as-stored src/main.c (too-large)\n"),
    ] {
        let output = repo.compare_bytes(&archive, &format!("-v {options} v1"));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(line), "{options}\n{output}");
        assert_eq!(output.code(), 0, "{options}\n{output}");
    }
    let output = repo.compare_bytes(&archive, "--exclude=src --no-attributes v1");
    let lines = "same files, other bytes: 2 files that git archive leaves out\n";
    assert_says(&output, 0, lines);
}

/// A denied path is like a path outside of the tree, whatever its content.
#[test]
fn access_rules_hold() {
    let repo = project();
    repo.write(".git/rules", "/**\n-/src/**\n-/docs/x\n");
    let rules = "--access-rules=.git/rules";
    let allowed = repo.sluice([rules, "--format=tar", "v1"]).success();
    let output = repo.compare_bytes(&allowed, &format!("{rules} -v v1"));
    assert_eq!(output.code(), 0, "{output}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!said.contains("src") && !said.contains("docs"), "{said}");
    let mut lines = Vec::new();
    for guess in ["int main;", "int mine;"] {
        directory(
            &repo,
            &format!("mkdir src && echo '{guess}' >src/main.c && echo read >README"),
        );
        for form in ["-v", "--json", "--diff"] {
            let output = repo.compare(&format!("{rules} {form} .git/t v1"));
            assert_eq!(output.code(), 1, "{output}");
            lines.push((form, output.stdout));
        }
    }
    let (first, second) = lines.split_at(3);
    assert_eq!(first, second);
    let said = String::from_utf8_lossy(&first[0].1);
    assert!(said.contains("added     src/main.c (10 bytes)\n"), "{said}");
    let output = repo.compare(&format!("{rules} --search .git/t"));
    assert_eq!(output.code(), 129, "{output}");
}

/// A repository in a directory is a difference that can be expected. The files of `apply` are none, and name the commit.
#[test]
fn directories() {
    let repo = project();
    let script =
        "git -C ../.. archive v1 | tar -xf - && mkdir -p .git/hooks && echo evil >.git/hooks/x";
    directory(&repo, script);
    let lines = "added     .git (a directory)\ndiffers: 1 added, 0 changed, 0 missing (9 files in the archive)\n";
    assert_says(&repo.compare(".git/t v1"), 1, lines);
    repo.write(".git/expected", "added .git\n");
    let lines = "same files, other bytes: 1 accepted difference\n";
    assert_says(&repo.compare("--expect=.git/expected .git/t v1"), 0, lines);
    let archive = repo.sluice(["--format=tar", "v1"]).success();
    fs::write(repo.path().join(".git/a.tar"), &archive).expect("our own");
    let sluice = crate::support::binary();
    let _ = repo
        .shell(&format!("{sluice} apply .git/copy <.git/a.tar"))
        .success();
    let commit = repo.git(["rev-parse", "v1"]);
    let lines = format!(
        "commit    {commit} (v1), from .git-sluice\nsame files, other bytes: a directory has none\n"
    );
    assert_says(&repo.compare(".git/copy"), 0, &lines);
    // Others may write files with these names.
    for script in [
        "echo x >.git-sluice",
        "chmod +x .git-sluice",
        "ln -sf README .git-sluice",
        "chmod +x .git-sluice.files",
    ] {
        let copy = format!("cp -a ../copy/. . && {script}");
        directory(&repo, &copy);
        let output = repo.compare(".git/t v1");
        assert_eq!(output.code(), 1, "{script}\n{output}");
    }
}

/// A delta has only changes, so nothing is missing in it.
#[test]
fn deltas() {
    let repo = project();
    let delta = repo.sluice(["--format=tar", "--base=v1", "HEAD"]).success();
    let commit = repo.git(["rev-parse", "v1"]);
    let words = format!(
        "fatal: the archive is a delta: it has only the changes since commit {commit}\n\
         hint: apply it to a directory with that commit, and compare the directory\n"
    );
    repo.compare_bytes(&delta, "HEAD")
        .assert_failure(128, &words);
}

/// Another archive takes the place of the commit, without a repository.
#[test]
fn two_archives() {
    let repo = project();
    let script = "git -C ../.. archive --prefix=p-1/ v1 | tar -xf - && tar --format=ustar -cf one.tar p-1 && mv p-1 q && \
                  echo more >>q/README && rm q/docs/x && echo x >q/new && chmod +x q/src/main.c && printf 'a\\nb\\n' >q/dos.txt && \
                  tar -czf two.tar.gz q";
    directory(&repo, script);
    let apart = Repo::init();
    let _ = apart
        .shell(&format!(
            "rm -rf .git && mv {}/.git/t apart",
            repo.path().display()
        ))
        .success();
    let repo = apart;
    let lines = "changed   README\nmissing   docs/x\nline-endings dos.txt\nmode      src/main.c (executable)\nadded     new (2 bytes)\n\
                 differs: 1 added, 1 changed, 1 line-endings, 1 missing, 1 mode (9 files in the archive)\n";
    for other in ["two.tar.gz", "q"] {
        let output = repo.compare(&format!("apart/{other} apart/one.tar"));
        assert_says(&output, 1, lines);
    }
    assert_says(&repo.compare("apart/q apart/two.tar.gz"), 0, "same files\n");
    // A directory in one of the same name.
    let script = "cd apart && mkdir -p p/p r/p && echo x | tee p/p/x >r/p/x && tar -cf p.tar p && tar -cf r.tar r";
    let _ = repo.shell(script).success();
    assert_says(&repo.compare("apart/p.tar apart/r.tar"), 0, "same files\n");
    assert_says(&repo.compare("apart/r.tar apart/p.tar"), 0, "same files\n");
    let json = repo.compare("--json apart/q apart/two.tar.gz");
    let schema = crate::support::schema::Schema::read("compare");
    let value = serde_json::from_slice(&json.stdout).expect("one line");
    schema.accept(&value);
}

/// A text that differs only in the ends of its lines has a class of its own.
#[test]
fn line_endings() {
    let repo = project();
    let script = "git -C ../.. archive v1 | tar -xf -; for f in README src/main.c; do sed -i 's/$/\\r/' $f; done; \
                  sed -i 's/\\r//' dos.txt; printf '\\0\\r\\n' >>run; echo more >>src/main.c";
    directory(&repo, script);
    let lines = "line-endings README\nchanged   run\nchanged   src/main.c\n\
                 differs: 0 added, 2 changed, 1 line-endings, 0 missing (9 files in the archive)\n";
    // In the repository, the lines of dos.txt end as in the directory.
    assert_says(&repo.compare(".git/t v1"), 1, lines);
    repo.write(
        ".git/expected",
        "line-endings *\nchanged run\nchanged main.c\n",
    );
    let output = repo.compare("--expect=.git/expected .git/t v1");
    assert_eq!(output.code(), 0, "{output}");
    // The repository has CRLF, and the archive has not.
    let script = "git config core.autocrlf false && printf 'x\\r\\ny\\r\\n' >windows && git add windows && git commit -qm crlf && git tag v4";
    let _ = repo.shell(script).success();
    directory(
        &repo,
        "git -C ../.. archive v4 | tar -xf -; printf 'x\\ny\\n' >windows",
    );
    let lines = "line-endings windows\ndiffers: 0 added, 0 changed, 1 line-endings, 0 missing (10 files in the archive)\n";
    assert_says(&repo.compare(".git/t v4"), 1, lines);
}
