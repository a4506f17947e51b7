//! One setting of the edits, and the deltas that were timed in it.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::Result;

use super::samples::Sample;
use super::store::{Job, Store};
use crate::process;

/// What is varied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Setting {
    pub(super) job: Job,
    pub(super) threads: u32,
    pub(super) repositories: u32,
    pub(super) branches: u32,
    pub(super) files: u32,
}

/// A setting, and what it took.
pub(super) struct Trial {
    pub(super) setting: Setting,
    pub(super) stores: Vec<Store>,
    pub(super) samples: Vec<Sample>,
}

impl Trial {
    /// So many commits to each repository, by all threads together.
    pub(super) fn take_turn(&mut self, commits: u32, program: &Path) -> Result<()> {
        let next = AtomicU32::new(0);
        let all = commits * self.setting.repositories;
        let work = || -> Result<Vec<Sample>> {
            let mut samples = Vec::new();
            loop {
                let ticket = next.fetch_add(1, Ordering::Relaxed);
                if ticket >= all {
                    return Ok(samples);
                }
                samples.push(self.sample(ticket % self.setting.repositories, program)?);
            }
        };
        let samples = thread::scope(|scope| {
            let threads = (0..self.setting.threads).map(|_| scope.spawn(work));
            let threads: Vec<_> = threads.collect();
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().expect("no thread panics"));
            joined.collect::<Result<Vec<_>>>()
        })?;
        self.samples.extend(samples.into_iter().flatten());
        Ok(())
    }

    /// One commit, and the time of its delta.
    fn sample(&self, repository: u32, program: &Path) -> Result<Sample> {
        let store = &self.stores[repository as usize];
        let edit = store.edit(self.setting.job)?;
        let mut archive = store.command(program);
        archive
            .arg(format!("--base={}~1", edit.branch))
            .arg(&edit.branch)
            .stdout(Stdio::null());
        let start = Instant::now();
        process::run(&mut archive)?;
        Ok(Sample {
            repository: repository + 1,
            commit: edit.number,
            milliseconds: start.elapsed().as_secs_f64() * 1000.0,
        })
    }
}
