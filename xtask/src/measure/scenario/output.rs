//! The folder for CSV files and plots.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

pub(super) fn write(directory: &Path, name: &str, text: &str) -> Result<()> {
    let file = directory.join(name);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&file, text))
        .with_context(|| format!("could not write '{}'", file.display()))
}
