//! A small run of the programme, with git-sluice as the tests built it.

use std::collections::BTreeMap;
use std::env::{self, consts::EXE_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser as _;

use super::store::{Job, Store, Template};
use super::{edits, report};
use crate::{process, scratch};

/// Says so where it is not.
fn installed(program: &Path) -> bool {
    let found = process::quiet(Command::new(program).arg("--version")).is_ok();
    if !found {
        eprintln!("SKIP: {} is not there", program.display());
    }
    found
}

/// It lies beside the folder of this test, if something had it built.
fn git_sluice() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    folder.join(format!("git-sluice{EXE_SUFFIX}"))
}

#[test]
fn a_small_run_has_every_sample_and_the_numbers_of_the_study() {
    let git_sluice = git_sluice();
    if !installed(Path::new("git")) || !installed(&git_sluice) {
        return;
    }
    let arguments = [
        "edits",
        "--threads=1,2",
        "--repositories=2",
        "--branches=2,3",
        "--files=20,30",
        "--commits=3",
    ];
    let args = edits::Args::parse_from(arguments);
    let trials = edits::measure(&args, &git_sluice).unwrap();

    let csv = report::csv(&trials);
    let lines: Vec<_> = csv.lines().skip(1).collect();
    // Two jobs, four settings, two repositories, three commits.
    assert_eq!(lines.len(), 2 * 4 * 2 * 3, "{csv}");
    let mut warm_ups = BTreeMap::new();
    for line in lines {
        let fields: Vec<_> = line.split(',').collect();
        let [repository @ .., _commit, warm_up, milliseconds] = &fields[..] else {
            panic!("{line}");
        };
        *warm_ups.entry(repository.to_owned()).or_insert(0) += u32::from(*warm_up == "true");
        assert!(milliseconds.parse::<f64>().unwrap() > 0.0, "{line}");
    }
    assert_eq!(warm_ups.len(), 2 * 4 * 2);
    assert!(warm_ups.values().all(|&count| count == 1), "{csv}");

    let tables = report::tables(&trials);
    for row in [
        "| add | 2 | 2 | 2 | 20 | 4 | ",
        "| modify | 1 | 2 | 3 | 20 | 4 | ",
        "| modify | 1 | 2 | 2 | 30 | 4 | ",
        "| modify | 3 | 2 | ",
        "| add (another machine: JGit and git daemon, 4 virtual CPUs, 2017) | | | | | | | 79 ms | 107 ms |",
        "| modify (another machine: JGit and git daemon, 4 virtual CPUs, 2017) | | | | | | | 66 ms | 74 ms |",
        "| another machine: JGit and git daemon, 4 virtual CPUs, 2017 | 50–60 | | | seconds |",
    ] {
        assert!(tables.contains(row), "{row} is not in\n{tables}");
    }

    let plots = report::plots(&trials);
    let over: Vec<_> = plots.iter().map(|(over, _)| *over).collect();
    assert_eq!(over, ["files", "branches", "threads", "commits"]);
    for (_, plot) in plots {
        let svg = plot.svg();
        assert!(
            svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
            "{svg}"
        );
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        assert_eq!(svg.matches("<polyline").count(), 6, "{svg}");
        for name in ["add", "modify"] {
            for percent in [50, 90, 99] {
                assert!(
                    svg.contains(&format!(">{name}, p{percent}</text>")),
                    "{svg}"
                );
            }
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn a_delta_that_fails_is_named() {
    if !installed(Path::new("git")) {
        return;
    }
    let arguments = ["edits", "--files=20", "--branches=1", "--commits=2"];
    let args = edits::Args::parse_from([&arguments[..], &["--repositories=1"]].concat());
    let error = edits::measure(&args, Path::new("no-such-program")).map(|_| ());
    let error = error.unwrap_err().to_string();
    let delta = r#""no-such-program" "--base=branch-000~1" "branch-000""#;
    assert!(error.contains(delta), "{error}");
}

#[test]
fn edits_come_as_pushes_to_one_branch_after_the_other() {
    if !installed(Path::new("git")) {
        return;
    }
    let directory = scratch::directory().unwrap();
    let template = Template::make(60, 2).unwrap();
    for (job, name, expected) in [
        (Job::Add, "add", ["A", "A", "A"]),
        (Job::Modify, "modify", ["M", "M", "M"]),
    ] {
        let store = Store::copy(&template, directory.path().join(name)).unwrap();
        let git = |arguments: &[&str]| {
            process::text(store.command(Path::new("git")).args(arguments)).unwrap()
        };
        let mut made = Vec::new();
        for _ in 0..3 {
            let edit = store.edit(job).unwrap();
            let base = format!("{}~1", edit.branch);
            let changes = git(&["diff-tree", "-r", "--name-status", &base, &edit.branch]);
            let status = changes.split('\t').next().unwrap().to_owned();
            made.push((edit.number, edit.branch, status));
        }
        let branches = ["branch-000", "branch-001", "branch-000"];
        let expected = (1..).zip(branches).zip(expected);
        let expected =
            expected.map(|((number, branch), status)| (number, branch.into(), status.into()));
        assert_eq!(made, expected.collect::<Vec<_>>());
        let objects = git(&["count-objects", "-v"]);
        assert!(objects.contains("packs: 1\n"), "{objects}");
        assert!(!objects.contains("count: 0\n"), "{objects}");
    }
}
