//! `cargo xtask measure suite`: where the time of `cargo test` goes.
//!
//! The times of tests are those of the test harness. Only a nightly harness reports them, unless `RUSTC_BOOTSTRAP` is set while
//! it runs. Tests run side by side, so the times of all tests add up to more than the time of the suite.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::usage;
use crate::{binary, process};

/// Show where the time of `cargo test` goes: the slowest tests, each folder, and how many processes start
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many of the slowest tests are shown
    #[arg(long, default_value_t = 30)]
    slowest: usize,
    /// Only tests whose name contains one of these
    filters: Vec<String>,
}

/// A test that ran.
struct Test {
    name: String,
    seconds: f64,
    has_passed: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let started = Instant::now();
    let binaries = build()?;
    println!("compilation: {:.0} s", started.elapsed().as_secs_f64());
    let mut tests = Vec::new();
    for binary in &binaries {
        tests.extend(run_binary(binary, &args.filters)?);
    }
    println!("\n| folder | tests | seconds of all tests |\n|---|--:|--:|");
    for (folder, (count, seconds)) in by_folder(&tests) {
        println!("| {folder} | {count} | {seconds:.1} |");
    }
    tests.sort_by(|one, two| two.seconds.total_cmp(&one.seconds));
    println!("\n| slowest tests | seconds |\n|---|--:|");
    for test in tests.iter().take(args.slowest) {
        println!("| {} | {:.1} |", test.name, test.seconds);
    }
    let failed = tests.iter().filter(|test| !test.has_passed);
    let failed = Vec::from_iter(failed.map(|test| test.name.as_str()));
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// The test binaries of `cargo test`.
fn build() -> Result<Vec<PathBuf>> {
    let messages = process::text(binary::cargo().args([
        "test",
        "--no-run",
        "--locked",
        "--quiet",
        "--message-format=json",
    ]))?;
    let mut binaries = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).context("a message of cargo")?;
        // A target without the harness of tests is no test: see `tests/skipped.rs`.
        let is_test = message["profile"]["test"] == true && message["target"]["name"] != "skipped";
        if let (true, Some(path)) = (is_test, message["executable"].as_str()) {
            binaries.push(PathBuf::from(path));
        }
    }
    Ok(binaries)
}

/// Runs all tests of a binary and prints what they took together.
fn run_binary(binary: &Path, filters: &[String]) -> Result<Vec<Test>> {
    let (before, forks) = (usage::of_children()?, forks());
    let started = Instant::now();
    let mut command = Command::new(binary);
    command
        .args(["-Zunstable-options", "--report-time", "--format=json"])
        .arg("--include-ignored")
        .args(filters)
        .env("RUSTC_BOOTSTRAP", "1")
        .stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("could not start {command:?}"))?;
    let output = BufReader::new(child.stdout.take().context("it is a pipe")?);
    let tests = read_tests(output)?;
    let status = child.wait()?;
    let has_failed = tests.iter().any(|test| !test.has_passed);
    ensure!(
        status.success() || has_failed,
        "{command:?} ended in the middle: {status}"
    );
    let after = usage::of_children()?;
    let name = binary.file_name().unwrap_or_default().display();
    let user = usage::user_seconds(&after) - usage::user_seconds(&before);
    let system = usage::system_seconds(&after) - usage::system_seconds(&before);
    println!(
        "{name}: {} tests in {:.0} s, {user:.0} s of CPU time in programs and {system:.0} s in the kernel",
        tests.len(),
        started.elapsed().as_secs_f64(),
    );
    if let (Some(before), Some(after)) = (forks, self::forks()) {
        println!("{} processes and threads started meanwhile", after - before);
    }
    Ok(tests)
}

/// The tests that ran, from the messages of the harness.
fn read_tests(messages: impl BufRead) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for line in messages.lines() {
        let line = line?;
        let message: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
        let event = message["event"].as_str().unwrap_or_default();
        if message["type"] == "test" && ["ok", "failed"].contains(&event) {
            let name = message["name"].as_str();
            let seconds = message["exec_time"].as_f64();
            tests.push(Test {
                name: name.with_context(|| line.clone())?.to_owned(),
                seconds: seconds.with_context(|| format!("no time in {line}"))?,
                has_passed: event == "ok",
            });
        }
    }
    Ok(tests)
}

/// How many processes and threads the system has started since its own start, where Linux says so.
fn forks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let count = stat
        .lines()
        .find_map(|line| line.strip_prefix("processes "))?;
    count.trim().parse().ok()
}

/// The number of tests and the sum of their times, by the first two of the modules in which they are.
fn by_folder(tests: &[Test]) -> BTreeMap<String, (usize, f64)> {
    let mut folders = BTreeMap::<_, (usize, f64)>::new();
    for test in tests {
        let mut modules = Vec::from_iter(test.name.split("::"));
        modules.pop();
        modules.truncate(2);
        let (count, seconds) = folders.entry(modules.join("::")).or_default();
        *count += 1;
        *seconds += test.seconds;
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::{by_folder, read_tests};

    #[test]
    fn messages_of_the_harness_are_read() {
        let messages = r#"{"type":"suite","event":"started","test_count":3}
{"type":"test","event":"started","name":"a::b::c::d"}
{"type":"test","name":"a::b::c::d","event":"ok","exec_time":0.5}
{"type":"test","name":"a::b::d","event":"failed","exec_time":1.5,"stdout":""}
{"type":"test","name":"a::e::f","event":"ignored"}
"#;
        let tests = read_tests(messages.as_bytes()).unwrap();
        assert_eq!(by_folder(&tests)["a::b"], (2, 2.0));
        assert_eq!(by_folder(&tests).len(), 1);
        assert!(tests[0].has_passed && !tests[1].has_passed);
    }
}
