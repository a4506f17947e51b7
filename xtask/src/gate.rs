//! `cargo xtask gate`: whether git-sluice got slower, without a clock.
//!
//! It counts the instructions of some archives under valgrind and compares them with those written
//! down in `xtask/gate.json`. A busy machine changes nothing about them, and neither does its
//! processor: valgrind emulates always the same one. What does change them is the compiler, so
//! another one than the baseline's is a reason to skip, and to say so; never a reason to fail.

mod fixture;
mod pack;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::dist::{self, Target};
use crate::process;
use fixture::Fixture;

/// Count the instructions of some archives, and compare them with those of before
///
/// The program is the static one of a release. Needs valgrind. Fails if an archive takes 3 % more
/// instructions than the baseline says, and advises to renew it if one takes 3 % less. Skips, and
/// says so, where counts cannot be compared.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Take the counts of now as the baseline
    #[arg(long)]
    renew: bool,
}

const FILES: u32 = 3000;
const COMMITS: u32 = 120;

/// What is counted: a name, and the arguments. One thread, since what threads do depends on chance.
const WORKLOADS: [(&str, &[&str]); 6] = [
    ("tar of one file", &["--format=tar", "main", "Kconfig"]),
    ("tar", &["--format=tar", "main"]),
    ("tar of an old revision", &["--format=tar", "old"]),
    ("tar with export-ignore", &["--format=tar", "attributes"]),
    ("tar.gz of headers", &["--format=tar.gz", "main", "*.h"]),
    ("zip", &["--format=zip", "main"]),
];

/// Counts repeat within a tenth of a percent; what is below this is not worth a look.
const TOLERANCE_PERCENT: f64 = 3.0;

pub(crate) fn run(args: &Args) -> Result<()> {
    if process::text(Command::new("valgrind").arg("--version")).is_err() {
        println!("SKIP: valgrind is not installed");
        return Ok(());
    }
    let target = match dist::static_target() {
        Ok(target) => target,
        Err(error) => {
            println!("SKIP: {error}");
            return Ok(());
        }
    };
    let fixture = Fixture::make(FILES, COMMITS)?;
    let conditions = conditions(&target, &fixture)?;
    let baseline = if args.renew {
        Value::Null
    } else {
        let baseline = read_baseline()?;
        if let Some(reason) = incomparable(&baseline, &conditions) {
            println!("SKIP: {reason}; `cargo xtask gate --renew` makes a baseline for here");
            return Ok(());
        }
        baseline
    };
    let binary = dist::build(&target)?;
    let mut counts = Map::new();
    for (name, arguments) in WORKLOADS {
        eprintln!("counting: {name}");
        read_all(&fixture.path())?;
        let count = count(&binary, arguments, &fixture.path())?;
        counts.insert(name.to_owned(), count.into());
    }
    if args.renew {
        return write_baseline(conditions, counts);
    }
    judge(&baseline["instructions"], &counts)
}

/// Reads every file below `directory`, since git-sluice reads ahead if files are not in memory, which takes other instructions.
fn read_all(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            read_all(&path)?;
        } else if path.is_file() {
            fs::read(&path)?;
        }
    }
    Ok(())
}

/// What must be as it was for counts to be comparable.
fn conditions(target: &Target, fixture: &Fixture) -> Result<Value> {
    let compiler = process::text(Command::new("rustc").arg("--version"))?;
    Ok(json!({ "compiler": compiler, "target": target.triple, "fixture": fixture.pack }))
}

fn incomparable(baseline: &Value, conditions: &Value) -> Option<String> {
    let (was, is) = (&baseline["conditions"], conditions);
    ["compiler", "target", "fixture"]
        .into_iter()
        .find(|&name| was[name] != is[name])
        .map(|name| format!("the {name} is {}, the baseline's {}", is[name], was[name]))
}

/// Instructions of one run in `repository`, the kernel's not counted; leaves a file beside it.
fn count(binary: &Path, arguments: &[&str], repository: &Path) -> Result<u64> {
    let result = repository.with_file_name("counts");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("TZ", "UTC")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", result.display()))
        .arg(binary)
        .arg("--threads=1")
        .args(arguments)
        .current_dir(repository)
        .stdout(Stdio::null());
    process::run(&mut valgrind)?;
    let result = fs::read_to_string(&result)?;
    let total = result
        .lines()
        .find_map(|line| line.strip_prefix("totals: "));
    Ok(total.context("callgrind wrote no total")?.trim().parse()?)
}

fn baseline_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("gate.json")
}

fn read_baseline() -> Result<Value> {
    let file = baseline_file();
    let text = fs::read(&file).with_context(|| format!("could not read '{}'", file.display()))?;
    Ok(serde_json::from_slice(&text)?)
}

fn write_baseline(conditions: Value, instructions: Map<String, Value>) -> Result<()> {
    let baseline = json!({ "conditions": conditions, "instructions": instructions });
    let text = serde_json::to_string_pretty(&baseline)? + "\n";
    print!("{text}");
    let file = baseline_file();
    fs::write(&file, text).with_context(|| format!("could not write '{}'", file.display()))
}

/// What a count says beside the baseline's.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    Fewer,
    More,
    /// The baseline has no such workload.
    New,
}

impl Verdict {
    fn of(change_percent: Option<f64>) -> Self {
        match change_percent {
            None => Verdict::New,
            Some(change) if change > TOLERANCE_PERCENT => Verdict::More,
            Some(change) if change < -TOLERANCE_PERCENT => Verdict::Fewer,
            Some(_) => Verdict::Same,
        }
    }
}

/// Prints a line for each count, and fails if there is one too high.
fn judge(baseline: &Value, counts: &Map<String, Value>) -> Result<()> {
    let mut verdicts = Vec::new();
    for (name, count) in counts {
        let now = count.as_f64().context("a count is a number")?;
        let change = baseline[name]
            .as_f64()
            .map(|before| (now / before - 1.0) * 100.0);
        let shown = change.map_or("new".to_owned(), |change| format!("{change:+.2} %"));
        println!("{name:<24} {now:>14} instructions {shown:>10}");
        verdicts.push(Verdict::of(change));
    }
    if verdicts.contains(&Verdict::More) {
        bail!(
            "more than {TOLERANCE_PERCENT} % more instructions than before; if it cannot be helped, \
             say why in the commit that has the new baseline (`cargo xtask gate --renew`)"
        );
    }
    if verdicts.iter().any(|verdict| *verdict != Verdict::Same) {
        println!("the baseline should be renewed: `cargo xtask gate --renew`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Verdict, incomparable};

    #[test]
    fn three_percent_are_tolerated_either_way() {
        let verdicts = [Some(2.9), Some(-2.9), Some(3.1), Some(-3.1), None].map(Verdict::of);
        assert_eq!(
            verdicts,
            [
                Verdict::Same,
                Verdict::Same,
                Verdict::More,
                Verdict::Fewer,
                Verdict::New
            ]
        );
    }

    #[test]
    fn another_compiler_is_named() {
        let here = json!({ "compiler": "rustc 2", "target": "t", "fixture": "f" });
        let there = json!({ "compiler": "rustc 1", "target": "t", "fixture": "f" });
        let compare = |was| incomparable(&json!({ "conditions": was }), &here);
        assert_eq!(compare(&here), None);
        assert_eq!(
            compare(&there).unwrap(),
            r#"the compiler is "rustc 2", the baseline's "rustc 1""#
        );
    }
}
