//! Attributes by the hundred, over files by the thousand: what is a lookup for each pair in a naive
//! program.

use std::fmt::Write as _;

use crate::support::Repo;

/// 13,000 files in 130 directories, and of each kind of pattern so many that there are 550 lines.
fn at_scale() -> Repo {
    let repo = Repo::init();
    let mut attributes = String::new();
    for number in 0..550 {
        let pattern = match number % 11 {
            0 => format!("/d{}/**", number / 5),
            1 => format!("d{}/f{number}.txt", number % 130),
            2 => format!("f{number}.*"),
            3 => format!("*{number}.txt"),
            4 => format!("f{number}"),
            5 => format!("/d{}/", number / 6),
            6 => format!("d{}/*{}.bin", number % 130, number % 100),
            7 => format!("**/d{number}/f*"),
            8 => format!("*.x{number}"),
            9 => format!("F{number}.TXT"),
            _ => format!("f?{}[0-4].bin", number % 10),
        };
        writeln!(attributes, "{pattern} export-ignore").expect("a string takes everything");
    }
    let mut import =
        String::from("commit refs/heads/main\ncommitter C <c@example.com> 1 +0000\ndata 0\n");
    let mut file = |path: &str, content: &str| {
        let length = content.len();
        writeln!(import, "M 100644 inline {path}\ndata {length}\n{content}")
            .expect("a string takes everything");
    };
    file(".gitattributes", &attributes);
    for directory in 0..130 {
        for number in 0..100 {
            let number = directory * 7 + number * 3;
            let end = ["txt", "bin", "c", "x8"][number % 4];
            file(&format!("d{directory}/f{number}.{end}"), "x\n");
        }
        if directory % 10 == 0 {
            let own = "*.c -export-ignore\n*1.* export-ignore\n";
            file(&format!("d{directory}/.gitattributes"), own);
        }
    }
    repo.git_with_input(["fast-import", "--quiet"], import);
    repo
}

#[test]
#[ignore = "slow"]
fn hundreds_of_lines_over_thousands_of_files() {
    let repo = at_scale();
    let files = repo.git(["ls-tree", "-r", "--name-only", "HEAD"]);
    let all = files.lines().count();
    assert!(all >= 13_000, "{all} files");
    let left = crate::support::tar_listing::names(&repo.sluice(["HEAD"]).success()).len();
    assert!(
        (1000..all - 1000).contains(&left),
        "{left} of {all} are left"
    );
    repo.assert_same_within(&["1", "8"], &["1m"], ["-v", "HEAD"]);
    let folded = repo.with(["-c", "core.ignoreCase=true"]);
    folded.assert_same_within(&["2"], &["1m"], ["HEAD"]);
}
