//! `benches/figures.json`: the measurements behind all figures of the pages. A test refuses a figure that they lack.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::header;
use crate::{binary, process};

/// Replaces the measurement `name` by the milliseconds in `results`. The pages that show it stay listed.
pub(super) fn record(name: &str, git_sluice: &Path, results: &Value) -> Result<()> {
    let file = binary::root().join("benches/figures.json");
    let mut figures: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    let mut describe = Command::new("git");
    describe.args(["describe", "--always", "--dirty"]);
    let pages = figures["measurements"][name]["pages"].take();
    figures["measurements"][name] = json!({
        "command": header::command(),
        "commit": process::text(describe.current_dir(binary::root()))?,
        "date": process::text(Command::new("date").arg("+%F"))?,
        "machine": machine()?,
        "pages": pages.as_array().cloned().unwrap_or_default(),
        "programs": header::programs(git_sluice)?,
        "results": results,
        "unit": "ms",
    });
    fs::write(&file, format!("{figures:#}\n"))?;
    println!(
        "recorded as \"{name}\": list the pages that show it in {}",
        file.display()
    );
    Ok(())
}

/// The processor, the number of cores, and the kernel.
fn machine() -> Result<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find(|line| line.starts_with("model name"));
    let (_, model) = model
        .and_then(|line| line.split_once(": "))
        .unwrap_or_default();
    let cores = std::thread::available_parallelism()?;
    let kernel = process::text(Command::new("uname").arg("-sr"))?;
    Ok(format!("{model}, {cores} cores, {kernel}"))
}
