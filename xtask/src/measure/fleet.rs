//! `cargo xtask measure fleet`: machines that follow a branch, each commit a job, by different ways.
//!
//! Publishers put each commit on a git server and on a web server. A job brings the directory of a machine to the newest
//! commit. Jobs are timed one at a time, and all machines at once. After each commit the tree of one machine is compared
//! with that of `git archive`.

mod place;
mod proxy;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::binary;
use crate::median::median;
use crate::plot::{Line, Plot, Scale};
use crate::process::kibibytes;
use place::Place;

/// Bring machines to each commit of a branch, by archives in a bucket and in other ways
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The repository whose last commits are followed
    #[arg(long)]
    repo: PathBuf,
    /// The directory in which machines and servers are
    #[arg(long, default_value = "/dev/shm")]
    below: PathBuf,
    /// The commits that are followed
    #[arg(long, default_value_t = 30)]
    commits: usize,
    /// The machines
    #[arg(long, default_value_t = 20)]
    machines: usize,
    /// New machines at once at the end, for the memory of each; 0 for none
    #[arg(long, default_value_t = 200)]
    crowd: usize,
    /// Write the plot of a job's time over the commits to this file
    #[arg(long)]
    plot: Option<PathBuf>,
}

/// A way to bring a machine to the newest commit.
struct Way {
    name: &'static str,
    /// A program that it needs beside git and sluice.
    needs: &'static str,
    /// Done once for each commit, in the directory of the servers.
    publish: &'static str,
    /// Done by each machine.
    job: &'static str,
    colour: &'static str,
}

const WAYS: [Way; 6] = [
    Way {
        name: "tarball each time",
        needs: "curl",
        publish: "git -C origin.git archive main | gzip -1 > www/main.tar.gz",
        job: "rm -rf tree; mkdir tree; curl -sf $HTTP/main.tar.gz | tar -xz -C tree",
        colour: "#d62728",
    },
    Way {
        name: "git clone --depth=1",
        needs: "git",
        publish: "true",
        job: "rm -rf tree; git clone -q --depth=1 $GIT/origin.git tree",
        colour: "#1f77b4",
    },
    Way {
        name: "git fetch --depth=1 into a clone",
        needs: "git",
        publish: "true",
        job: "if [ -d tree ]; then git -C tree fetch -q --depth=1 origin main && git -C tree reset -q --hard FETCH_HEAD; \
              else git clone -q --depth=1 $GIT/origin.git tree; fi",
        colour: "#17becf",
    },
    Way {
        name: "git clone --bundle-uri",
        needs: "git",
        publish: "n=$(ls www/*.bundle 2>/dev/null | wc -l); old=$(git -C origin.git rev-parse -q --verify refs/published || true)
                  git -C origin.git update-ref refs/bundles/main main
                  git -C origin.git bundle create -q ../www/$n.bundle ${old:+^$old} refs/bundles/main
                  git -C origin.git update-ref refs/published main
                  [ -f www/list ] || printf '[bundle]\\n version = 1\\n mode = all\\n heuristic = creationToken\\n' > www/list
                  printf '[bundle \"%d\"]\\n uri = %s/%d.bundle\\n creationToken = %d\\n' $n $HTTP $n $((n + 1)) >> www/list",
        job: "rm -rf tree; git clone -q --bundle-uri=$HTTP/list $GIT/origin.git tree",
        colour: "#9467bd",
    },
    Way {
        name: "casync",
        needs: "casync",
        publish: "rm -rf pub && mkdir pub && git -C origin.git archive main | tar -x -C pub
                  casync make --store=www/main.castr --with=unix www/main.caidx pub >/dev/null 2>&1",
        job: "casync extract --without=privileged --store=$HTTP/main.castr --seed-output=yes $HTTP/main.caidx tree >/dev/null 2>&1",
        colour: "#8c564b",
    },
    Way {
        name: "sluice apply",
        needs: "git",
        publish: "cd origin.git && $SLUICE publish --create $TOP/www/bucket/main main",
        job: "$SLUICE apply tree $HTTP/bucket/main",
        colour: "#2ca02c",
    },
];

/// What the jobs of one way took.
#[derive(Default)]
struct Taken {
    /// The first job of a new machine, in seconds.
    first: f64,
    /// Jobs one at a time, in seconds.
    alone: Vec<f64>,
    /// All machines at once, in seconds.
    together: Vec<f64>,
    requests: Vec<f64>,
    bytes: Vec<f64>,
    publishing: Vec<f64>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let sluice = binary::build_for_stores()?;
    let place = Place::new(&args.below, &args.repo, &sluice.path, args.commits + 1)?;
    let ways: Vec<_> = WAYS.iter().filter(|way| is_installed(way)).collect();
    let mut taken: BTreeMap<&str, Taken> = BTreeMap::new();
    for (number, commit) in place.commits.iter().enumerate() {
        eprintln!("commit {number} of {}", place.commits.len() - 1);
        place.run(
            "",
            &format!("git -C origin.git update-ref refs/heads/main {commit}"),
        )?;
        place.run(
            "reference",
            "rm -rf tree; mkdir tree; git -C $TOP/origin.git archive main | tar -x -C tree",
        )?;
        for way in &ways {
            let taken = taken.entry(way.name).or_default();
            round(&place, way, args.machines, number == 0, taken)
                .with_context(|| way.name.to_owned())?;
        }
    }
    println!("{}", table(&ways, &taken, args));
    if let Some(file) = &args.plot {
        fs::write(file, plot(&ways, &taken))?;
    }
    match args.crowd {
        0 => Ok(()),
        crowd => memory(&place, crowd),
    }
}

fn is_installed(way: &Way) -> bool {
    let found = Command::new("sh")
        .args(["-c", "command -v $0 >/dev/null", way.needs])
        .status();
    let is_installed = found.is_ok_and(|status| status.success());
    if !is_installed {
        println!("SKIP: {} is not installed", way.needs);
    }
    is_installed
}

/// Publishes the newest commit in this way, and brings all machines to it.
fn round(
    place: &Place,
    way: &Way,
    machines: usize,
    is_first: bool,
    taken: &mut Taken,
) -> Result<()> {
    let begun = Instant::now();
    place.run("", way.publish)?;
    taken.publishing.push(begun.elapsed().as_secs_f64());
    let directory = |machine: usize| format!("{}/{machine}", way.name.replace(' ', "-"));
    place.counted();
    let begun = Instant::now();
    place.run(&directory(0), way.job)?;
    let alone = begun.elapsed().as_secs_f64();
    let (requests, bytes) = place.counted();
    if is_first {
        taken.first = alone;
    } else {
        taken.alone.push(alone);
        taken.requests.push(requests as f64);
        taken.bytes.push(bytes as f64);
    }
    place.run(&directory(0), "diff -r --no-dereference -x .git -x .git-sluice -x .git-sluice.files tree $TOP/reference/tree")?;
    let begun = Instant::now();
    let started: Result<Vec<Child>> = (1..machines)
        .map(|machine| Ok(place.shell(&directory(machine), way.job)?.spawn()?))
        .collect();
    for mut child in started? {
        ensure!(child.wait()?.success(), "a job failed");
    }
    if !is_first {
        taken
            .together
            .push(begun.elapsed().as_secs_f64() / (machines - 1).max(1) as f64);
    }
    Ok(())
}

fn table(ways: &[&Way], taken: &BTreeMap<&str, Taken>, args: &Args) -> String {
    let mut table = format!(
        "{} machines, {} commits; medians\n\n\
         | way | a new machine, ms | the next commit, ms | of {} at once, ms each | requests | KB down | publishing, ms |\n\
         |---|--:|--:|--:|--:|--:|--:|\n",
        args.machines,
        args.commits,
        args.machines - 1
    );
    for way in ways {
        let taken = &taken[way.name];
        let ms = |seconds: &[f64]| median(seconds.iter().copied()) * 1e3;
        table += &format!(
            "| {} | {:.0} | {:.1} | {:.1} | {:.0} | {:.1} | {:.0} |\n",
            way.name,
            taken.first * 1e3,
            ms(&taken.alone),
            ms(&taken.together),
            median(taken.requests.iter().copied()),
            median(taken.bytes.iter().copied()) / 1e3,
            ms(&taken.publishing),
        );
    }
    table
}

fn plot(ways: &[&Way], taken: &BTreeMap<&str, Taken>) -> String {
    let lines = ways.iter().map(|way| {
        let times = (1..).zip(&taken[way.name].alone);
        Line {
            name: way.name.to_owned(),
            colour: way.colour,
            dashes: "",
            points: times
                .map(|(at, seconds): (u32, _)| (f64::from(at), seconds * 1e3))
                .collect(),
        }
    });
    let plot = Plot {
        across: "commit",
        scale: Scale::Linear,
        lines: lines.collect(),
    };
    plot.svg()
}

/// The memory of new machines that all come at once.
fn memory(place: &Place, machines: usize) -> Result<()> {
    let begun = Instant::now();
    let job = "exec $SLUICE apply --channel=$TOP/www/bucket/main tree";
    let started: Result<Vec<Child>> = (0..machines)
        .map(|machine| Ok(place.shell(&format!("crowd/{machine}"), job)?.spawn()?))
        .collect();
    let mut running = started?;
    let (mut resident, mut anonymous) = (0, 0);
    while !running.is_empty() {
        for child in &running {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
            let status = status.unwrap_or_default();
            resident = resident.max(kibibytes(&status, "VmHWM:"));
            anonymous = anonymous.max(kibibytes(&status, "RssAnon:"));
        }
        let mut failed = false;
        running.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            ended => {
                failed |= !matches!(ended, Ok(Some(status)) if status.success());
                false
            }
        });
        ensure!(!failed, "a job failed");
        thread::sleep(Duration::from_millis(1));
    }
    println!(
        "{machines} new machines at once: {:.1} s; memory of the largest: {} KiB resident, {} KiB anonymous",
        begun.elapsed().as_secs_f64(),
        resident,
        anonymous
    );
    place.run(
        "crowd/0",
        "diff -r --no-dereference -x .git-sluice -x .git-sluice.files tree $TOP/reference/tree",
    )
}
