//! What the edits took, as tables, plots and CSV, with the study's own numbers beside ours.

use super::samples::{Sample, Times};
use super::store::Job;
use super::trial::{Setting, Trial};
use crate::plot::{Line, Plot, Scale};

/// The study's own numbers, which are another machine's and other programs': the job, p90 and p99.
const STUDY: [(&str, u32, u32); 2] = [("add", 79, 107), ("modify", 66, 74)];
const STUDY_WHERE: &str = "another machine: JGit and git daemon, 4 virtual CPUs, 2017";

pub(super) fn tables(trials: &[Trial]) -> String {
    settings(trials) + &first_access(trials)
}

fn settings(trials: &[Trial]) -> String {
    let mut table = String::from(
        "| job | threads | repositories | branches | files | samples | p50 | p90 | p99 |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for trial in trials {
        let Setting {
            job,
            threads,
            repositories,
            branches,
            files,
        } = trial.setting;
        let times = times(&trial.samples);
        table += &format!(
            "| {} | {threads} | {repositories} | {branches} | {files} | {} |",
            job.name(),
            times.count()
        );
        for percent in PERCENT {
            table += &format!(" {} |", milliseconds(times.percentile(percent)));
        }
        table += "\n";
    }
    for (job, p90, p99) in STUDY {
        table += &format!("| {job} ({STUDY_WHERE}) | | | | | | | {p90} ms | {p99} ms |\n");
    }
    table
        + "\nThe study's rows are another machine's and other programs': an order of magnitude, and no \
           comparison.\n"
}

/// The warm-ups, which the other table leaves out.
fn first_access(trials: &[Trial]) -> String {
    let mut table = String::from(
        "\n| first access to a repository | branches | samples | p50 | slowest |\n\
         |---|--:|--:|--:|--:|\n",
    );
    for trial in along(trials, |setting| &mut setting.branches) {
        let warm_ups = trial.samples.iter().filter(|sample| sample.warm_up());
        let times: Times = warm_ups.map(|sample| sample.milliseconds).collect();
        table += &format!(
            "| {} | {} | {} | {} | {} |\n",
            trial.setting.job.name(),
            trial.setting.branches,
            times.count(),
            milliseconds(times.percentile(50)),
            milliseconds(times.percentile(100))
        );
    }
    table + &format!("| {STUDY_WHERE} | 50–60 | | | seconds |\n")
}

fn milliseconds(time: Option<f64>) -> String {
    time.map_or("-".to_owned(), |time| format!("{time:.2} ms"))
}

const PERCENT: [usize; 3] = [50, 90, 99];

/// Without warm-ups.
fn times<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Times {
    let counted = samples.into_iter().filter(|sample| !sample.warm_up());
    counted.map(|sample| sample.milliseconds).collect()
}

/// One of the numbers of a setting.
type Dimension = fn(&mut Setting) -> &mut u32;

fn value(mut setting: Setting, dimension: Dimension) -> u32 {
    *dimension(&mut setting)
}

/// The first trial of each job: the others vary one thing of it, or two.
fn bases(trials: &[Trial]) -> impl Iterator<Item = &Trial> {
    [Job::Add, Job::Modify]
        .into_iter()
        .filter_map(|job| trials.iter().find(|trial| trial.setting.job == job))
}

/// The trials that vary nothing but `dimension`, job by job, in ascending order.
fn along(trials: &[Trial], dimension: Dimension) -> Vec<&Trial> {
    let mut along = Vec::new();
    for base in bases(trials) {
        let alike = |trial: &&Trial| {
            let mut setting = trial.setting;
            *dimension(&mut setting) = value(base.setting, dimension);
            setting == base.setting
        };
        let mut alike: Vec<_> = trials.iter().filter(alike).collect();
        alike.sort_by_key(|trial| value(trial.setting, dimension));
        along.extend(alike);
    }
    along
}

/// Each with what it is over, in one word.
pub(super) fn plots(trials: &[Trial]) -> Vec<(&'static str, Plot)> {
    let dimensions: [(_, _, Dimension); 3] = [
        ("files", "files in the repository", |setting| {
            &mut setting.files
        }),
        ("branches", "branches", |setting| &mut setting.branches),
        ("threads", "threads", |setting| &mut setting.threads),
    ];
    let mut plots = Vec::new();
    for (word, across, dimension) in dimensions {
        let point = |trial: &Trial| {
            let at = value(trial.setting, dimension);
            (trial.setting.job, f64::from(at), times(&trial.samples))
        };
        let points: Vec<_> = along(trials, dimension).into_iter().map(point).collect();
        plots.push((word, plot(across, Scale::Logarithmic, &points)));
    }
    let points: Vec<_> = bases(trials).flat_map(over_commits).collect();
    let across = "commits to the repository";
    plots.push(("commits", plot(across, Scale::Linear, &points)));
    plots
}

/// Times at a place.
type Point = (Job, f64, Times);

/// A tenth of the commits at a time, each at its last.
fn over_commits(base: &Trial) -> Vec<Point> {
    let commits = base.samples.iter().map(|sample| sample.commit).max();
    let end = |tenth| commits.unwrap_or(0) * tenth / 10;
    let point = |tenth| {
        let part = end(tenth - 1) + 1..=end(tenth);
        let samples = base.samples.iter();
        let times = times(samples.filter(|sample| part.contains(&sample.commit)));
        (base.setting.job, f64::from(end(tenth)), times)
    };
    (1..=10).map(point).collect()
}

/// A line for each percentile of each job.
fn plot(across: &'static str, scale: Scale, points: &[Point]) -> Plot {
    let mut lines = Vec::new();
    for (job, colour) in [(Job::Add, "#2f6fd1"), (Job::Modify, "#d1742f")] {
        for (percent, dashes) in PERCENT.into_iter().zip(["", "6 3", "2 3"]) {
            let of_job = points.iter().filter(|point| point.0 == job);
            let places =
                of_job.filter_map(|(_, at, times)| Some((*at, times.percentile(percent)?)));
            lines.push(Line {
                name: format!("{}, p{percent}", job.name()),
                colour,
                dashes,
                points: places.collect(),
            });
        }
    }
    lines.retain(|line| !line.points.is_empty());
    Plot {
        across,
        scale,
        lines,
    }
}

/// A line for each sample.
pub(super) fn csv(trials: &[Trial]) -> String {
    let mut csv = String::from(
        "job,threads,repositories,branches,files,repository,commit,warm_up,milliseconds\n",
    );
    for trial in trials {
        let setting = &trial.setting;
        for sample in &trial.samples {
            csv += &format!(
                "{},{},{},{},{},{},{},{},{:.3}\n",
                setting.job.name(),
                setting.threads,
                setting.repositories,
                setting.branches,
                setting.files,
                sample.repository,
                sample.commit,
                sample.warm_up(),
                sample.milliseconds
            );
        }
    }
    csv
}
