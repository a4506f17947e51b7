//! Whether a delta pays for packs that it takes nothing from.
//!
//! The same files in one pack and in six, and on top of them two commits whose objects are loose: git and
//! git-sluice ask every index for the base commit before they look for its file. The growth from one pack to
//! six is held against that of `git diff-tree`, in the same repositories.

use std::path::Path;

use anyhow::Result;

use super::fixture::{DELTA, Fixture};
use super::samples::{SHORT, medians};

const FEW: u32 = 1;
const MANY: u32 = 6;

pub(super) struct Packs {
    few: Fixture,
    many: Fixture,
}

impl Packs {
    pub(super) fn make(files: u32) -> Result<Self> {
        Ok(Self {
            few: Fixture::in_packs(files, FEW)?,
            many: Fixture::in_packs(files, MANY)?,
        })
    }

    /// A table of both, and how much longer each program takes where there are many packs.
    pub(super) fn measure(&self, binary: &Path, rounds: u32) -> Result<String> {
        let commands = [&self.few, &self.many].into_iter().flat_map(|fixture| {
            [
                fixture.command(binary, &DELTA),
                fixture.command(Path::new("git"), &["diff-tree", "-r", "main~1", "main"]),
            ]
        });
        let times = medians(&mut commands.collect::<Vec<_>>(), SHORT * rounds)?;
        let (growth, of_diff_tree) = (times[2] / times[0], times[3] / times[1]);
        let mut table = format!(
            "\n| packs with {} files | delta | git diff-tree -r |\n|--:|--:|--:|\n",
            self.few.files
        );
        for (packs, times) in [FEW, MANY].into_iter().zip(times.chunks(2)) {
            table += &format!("| {packs} | {:.2} ms | {:.2} ms |\n", times[0], times[1]);
        }
        table += &format!(
            "\nFrom {FEW} to {MANY} packs: {growth:.2} of the time (at most git diff-tree's, \
             {of_diff_tree:.2}).\n"
        );
        Ok(table)
    }
}
