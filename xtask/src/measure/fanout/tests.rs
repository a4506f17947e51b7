//! The arguments, a small run, and the reports of fixed figures.

use std::path::Path;
use std::process::Command;

use clap::Parser as _;

use super::clients::{self, Client, Turn};
use super::contender::{Cache, Contender, MANY, Producer, Request, SINGLE};
use super::trial::{Row, Trial};
use super::{bars, report};
use crate::{corpus, process, scratch};

/// The arguments alone.
#[derive(clap::Parser)]
struct Parsed {
    #[command(flatten)]
    args: super::Args,
}

#[test]
fn twenty_clients_ask_for_two_formats() {
    let parse = |arguments: &[&str]| Parsed::try_parse_from([&["fanout"], arguments].concat());
    let Ok(Parsed { args }) = parse(&[]) else {
        panic!("no argument is required");
    };
    assert_eq!(args.jobs, 20);
    assert_eq!(args.format, ["tar", "tar.gz"]);
    assert!(parse(&["--jobs=0"]).is_err());
    assert!(parse(&["--rounds=0"]).is_err());
}

/// git in the place of git-sluice.
const STAND_IN: &str = r#"#!/bin/sh
if [ "$1" = upload-archive ]; then
    shift
    exec git upload-archive "$@"
fi
for word do
    shift
    case $word in
        --cache=* | --no-cache) ;;
        --summary=*) echo '{"cache":{"role":"producer"}}' >"${word#*=}" ;;
        *) set -- "$@" "$word" ;;
    esac
done
exec git archive "$@"
"#;

#[test]
fn every_contender_takes_its_turns() {
    if process::quiet(Command::new("git").arg("--version")).is_err() {
        eprintln!("SKIP: git is not there");
        return;
    }
    let directory = scratch::directory().unwrap();
    let repository = directory.path().join("a repository");
    corpus::unpacked(&repository, 20, 1).unwrap();
    let git_sluice = directory.path().join("stand in");
    scratch::write_script(&git_sluice, STAND_IN).unwrap();
    let request = Request {
        git_sluice,
        repository,
        revision: "HEAD".to_owned(),
        format: "tar".to_owned(),
    };
    let trial = Trial::run(&request, 2, 1).unwrap();
    assert!(trial.bytes > 20 * 1024);
    assert_eq!(contenders(&trial.many), MANY);
    assert_eq!(contenders(&trial.single), SINGLE);
    for (row, clients) in trial
        .many
        .iter()
        .map(|row| (row, 2))
        .chain(trial.single.iter().map(|row| (row, 1)))
    {
        let [turn] = &row.turns[..] else {
            panic!("one turn in one round");
        };
        assert_eq!(turn.clients.len(), clients);
        assert!(
            turn.clients
                .iter()
                .all(|client| client.first_byte_ms <= client.end_ms)
        );
        assert!(
            turn.clients
                .iter()
                .all(|client| client.end_ms <= turn.wall_ms)
        );
        let cached =
            row.contender.producer == Producer::Sluice && row.contender.cache != Cache::None;
        assert_eq!(row.roles.get("producer"), cached.then_some(&clients));
    }

    let other_bytes = STAND_IN.replace("git archive", "git archive --prefix=other/");
    scratch::write_script(&request.git_sluice, &other_bytes).unwrap();
    let error = format!("{:#}", Trial::run(&request, 2, 1).map(|_| ()).unwrap_err());
    assert!(
        error.contains("differ from those of git archive from byte"),
        "{error}"
    );
}

fn contenders(rows: &[Row]) -> Vec<Contender> {
    rows.iter().map(|row| row.contender).collect()
}

#[test]
fn a_client_that_fails_is_named() {
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    };
    let error = |script| {
        let error = clients::measure(vec![shell("echo"), shell(script)]).map(|_| ());
        format!("{:#}", error.unwrap_err())
    };
    assert_eq!(
        error("echo; exit 3"),
        r#""sh" "-c" "echo; exit 3" failed: exit status: 3"#
    );
    assert_eq!(
        error("exit 4"),
        r#""sh" "-c" "exit 4" ended with exit status: 4: no byte was written"#
    );
}

/// Two rounds, the second of which takes three times as long. Each contender differs from the first by a factor.
fn fixed() -> Trial {
    let turn = |clients: u32, factor: f64| Turn {
        clients: (1..=clients)
            .map(|nth| Client {
                first_byte_ms: factor * f64::from(nth),
                end_ms: factor * f64::from(90 + nth),
                bytes: 10_240,
            })
            .collect(),
        wall_ms: factor * 100.0,
        cpu_ms: factor * 200.0,
        written_bytes: 3_000_000,
    };
    let row = |contender: Contender, clients, factor| Row {
        contender,
        clients,
        roles: [("producer".to_owned(), 1), ("follow".to_owned(), 2)]
            .into_iter()
            .filter(|_| contender.cache == Cache::Cold)
            .collect(),
        turns: vec![turn(clients, factor), turn(clients, 3.0 * factor)],
    };
    let rows = |contenders: &[Contender], clients, factors: &[f64]| {
        let rows = contenders.iter().zip(factors);
        rows.map(|(&contender, &factor)| row(contender, clients, factor))
            .collect()
    };
    let many = [1.0, 0.5, 0.04, 0.02, 1.5, 0.75, 0.1, 0.05];
    Trial {
        format: "tar".to_owned(),
        bytes: 10_240,
        many: rows(&MANY, 3, &many),
        single: rows(&SINGLE, 1, &[0.2, 0.3, 0.01]),
        follower_ms: vec![3.0, 5.0],
    }
}

#[test]
fn the_tables_of_fixed_figures() {
    let trial = fixed();
    let text = report::tables(&trial) + &bars::table(&bars::of(&trial));
    assert_eq!(text, include_str!("expected.md"));
}

#[test]
fn a_line_for_each_turn() {
    let csv = report::csv(&[fixed()]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * (MANY.len() + SINGLE.len()));
    assert_eq!(
        lines[5],
        "tar,3,git sluice,cold,1,4.000,8.000,0.080,0.120,10240,3000000"
    );
    let columns = |line: &&str| line.split(',').count();
    assert!(
        lines.iter().all(|line| columns(line) == columns(&lines[0])),
        "{csv}"
    );
}

#[test]
fn a_plot_has_a_line_for_each_contender() {
    let svg = report::plot(&fixed());
    assert_eq!(svg.matches("<polyline").count(), MANY.len());
    assert!(svg.contains(">git sluice server, warm</text>"), "{svg}");
    assert!(!svg.contains("NaN"), "{svg}");
    let file = |formats| super::plot_file(Path::new("a/fan.svg"), &fixed(), formats);
    assert_eq!(file(1), Path::new("a/fan.svg"));
    assert_eq!(file(2), Path::new("a/fan-tar.svg"));
}
