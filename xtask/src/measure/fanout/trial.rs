//! One format: first the comparison of the bytes, then the rounds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::clients::{self, Turn};
use super::contender::{Cache, Contender, MANY, Producer, Request, SINGLE};
use crate::measure::compare::equality::{self, Outcome};
use crate::median::median;
use crate::{process, scratch};

pub(super) struct Trial {
    pub(super) format: String,
    /// The length of the archive.
    pub(super) bytes: u64,
    pub(super) many: Vec<Row>,
    pub(super) single: Vec<Row>,
    /// For each round, how long a client with a cache waits for its first byte that starts while the archive is
    /// being made for another client.
    pub(super) follower_ms: Vec<f64>,
}

/// A contender with its turns.
pub(super) struct Row {
    pub(super) contender: Contender,
    pub(super) clients: u32,
    /// How many clients had each role in the cache, while the bytes were compared.
    pub(super) roles: BTreeMap<String, usize>,
    /// One for each round.
    pub(super) turns: Vec<Turn>,
}

impl Trial {
    pub(super) fn run(request: &Request, jobs: u32, rounds: u32) -> Result<Self> {
        let work = scratch::directory()?;
        let setting = Setting::make(request, work.path())?;
        let rows = |contenders: &[Contender], clients| {
            let row = |&contender| setting.compared_row(contender, clients);
            contenders.iter().map(row).collect::<Result<Vec<_>>>()
        };
        let (mut many, mut single) = (rows(&MANY, jobs)?, rows(&SINGLE, 1)?);
        let mut follower_ms = Vec::new();
        for round in 0..rounds {
            eprintln!("{}: round {} of {rounds}", request.format, round + 1);
            let mut rows: Vec<&mut Row> = many.iter_mut().chain(&mut single).collect();
            // No contender always runs after the same one.
            let first = round as usize % rows.len();
            rows.rotate_left(first);
            for row in rows {
                row.turns.push(setting.turn(row)?);
            }
            follower_ms.push(setting.follower()?);
        }
        Ok(Trial {
            format: request.format.clone(),
            bytes: setting.bytes,
            many,
            single,
            follower_ms,
        })
    }
}

impl Row {
    pub(super) fn median(&self, value: impl Fn(&Turn) -> f64) -> f64 {
        median(self.turns.iter().map(value))
    }

    /// The median of the ratios to `base` in the same round.
    pub(super) fn ratio(&self, base: &Row, value: impl Fn(&Turn) -> f64) -> f64 {
        let turns = self.turns.iter().zip(&base.turns);
        median(turns.map(|(turn, base)| value(turn) / value(base)))
    }
}

/// What all contenders share.
struct Setting<'a> {
    request: &'a Request,
    /// The directory of all caches.
    work: &'a Path,
    /// The archive that `git archive` wrote, and its length.
    reference: PathBuf,
    bytes: u64,
}

impl<'a> Setting<'a> {
    fn make(request: &'a Request, work: &'a Path) -> Result<Self> {
        let reference = work.join("reference");
        let mut git = MANY[0].command(request, work);
        process::run(git.stdout(File::create(&reference)?))?;
        Ok(Setting {
            request,
            work,
            bytes: fs::metadata(&reference)?.len(),
            reference,
        })
    }

    /// A row without turns, after the bytes of all clients were found to be those of the reference.
    fn compared_row(&self, contender: Contender, clients: u32) -> Result<Row> {
        let mut row = Row {
            contender,
            clients,
            roles: BTreeMap::new(),
            turns: Vec::new(),
        };
        eprintln!("comparing the bytes of {clients} × {}", contender.name());
        if contender.cache == Cache::Warm {
            // The cache may keep an archive from the second request on.
            for _ in 0..2 {
                self.with_clients(&row, clients::measure)?;
            }
        }
        row.roles = self.compare(&row)?;
        Ok(row)
    }

    /// Compares the bytes of all clients, and returns the clients' roles.
    fn compare(&self, row: &Row) -> Result<BTreeMap<String, usize>> {
        let with_summary =
            row.contender.producer == Producer::Sluice && row.contender.cache != Cache::None;
        let summaries = tempfile::tempdir_in(self.work)?;
        self.with_clients(row, |mut commands| {
            if with_summary {
                for (client, command) in commands.iter_mut().enumerate() {
                    let summary = summaries.path().join(client.to_string());
                    command.arg(format!("--summary={}", summary.display()));
                }
            }
            clients::at_once(commands, |pipe, _| {
                is_equal(pipe, File::open(&self.reference)?)
            })
        })?;
        let mut roles = BTreeMap::new();
        for summary in fs::read_dir(summaries.path())? {
            *roles.entry(role(&summary?.path())?).or_default() += 1;
        }
        Ok(roles)
    }

    fn turn(&self, row: &Row) -> Result<Turn> {
        // What the contender before has left of the machine, such as memory that twenty processes gave back,
        // slows down whoever comes next.
        self.with_clients(row, clients::measure)?;
        let turn = self.with_clients(row, clients::measure)?;
        for client in &turn.clients {
            ensure!(
                client.bytes == self.bytes,
                "{} wrote {} bytes in place of {}",
                row.contender.name(),
                client.bytes,
                self.bytes
            );
        }
        Ok(turn)
    }

    fn follower(&self) -> Result<f64> {
        let contender = SINGLE[1];
        let row = Row {
            contender,
            clients: 2,
            roles: BTreeMap::new(),
            turns: Vec::new(),
        };
        self.with_clients(&row, |mut commands| {
            let (second, first) = (commands.pop(), commands.pop());
            let commands = first.zip(second).context("two clients")?;
            clients::second_first_byte_ms(commands.0, commands.1)
        })
    }

    /// Calls `run` with the commands of all clients, and with the cache that the contender is to find.
    fn with_clients<T>(&self, row: &Row, run: impl FnOnce(Vec<Command>) -> Result<T>) -> Result<T> {
        let Row {
            contender, clients, ..
        } = row;
        let cold = tempfile::tempdir_in(self.work)?;
        let warm = self.work.join(format!("{clients} × {}", contender.name()));
        let directory = match contender.cache {
            Cache::Warm => &warm,
            Cache::None | Cache::Cold => cold.path(),
        };
        fs::create_dir_all(directory)?;
        run((0..*clients)
            .map(|_| contender.command(self.request, directory))
            .collect())
    }
}

fn is_equal(mut archive: impl Read, mut reference: impl Read) -> Result<()> {
    match equality::compare(&mut archive, &mut reference)? {
        Outcome::Equal { .. } => Ok(()),
        Outcome::Different { offset } => {
            bail!("the bytes differ from those of git archive from byte {offset} on")
        }
    }
}

/// What the summary says of the cache.
fn role(summary: &Path) -> Result<String> {
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(summary)?)?;
    let role = summary["cache"]["role"].as_str();
    Ok(role.context("the summary names no role")?.to_owned())
}
