//! The Go module `examples/zoekt-index`, which has tests of its own: an index of zoekt that follows a repository.
//!
//! `ZOEKT` may name a clone of zoekt. Without it, Go takes zoekt from its cache or from the module proxy.

use std::{env, fs, path::Path, process::Output};

use crate::support::{Repo, go_environment, installed, makes_all_rounds, skip};

/// Seconds in which Go has to get the modules.
const PATIENCE: &str = "120";

#[test]
#[ignore = "slow"]
fn the_example_for_zoekt() {
    if !["go", "gofmt", "timeout"].into_iter().all(installed) {
        return;
    }
    let place = Repo::scratch();
    let unformatted = run(&place, &["gofmt", "-l", "."]);
    assert!(
        unformatted.status.success() && unformatted.stdout.is_empty(),
        "{unformatted:?}"
    );
    let list = ["timeout", PATIENCE, "go", "list", "-deps", "-test", "./..."];
    if !run(&place, &list).status.success() {
        return skip("zoekt cannot be downloaded: set ZOEKT to a clone of it");
    }
    let rounds = if makes_all_rounds() {
        "-short=false"
    } else {
        "-short"
    };
    let test = ["go", "test", "-vet=all", "-count=1", rounds, "./..."];
    let output = run(&place, &test);
    let [said, messages] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{messages}\n{said}");
}

/// Runs a command in the module, without the time limit of other tests: Go compiles zoekt, and `go test` has a limit of its own.
fn run(place: &Repo, words: &[&str]) -> Output {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/zoekt-index");
    let mut command = place.command(words[0]);
    command.args(&words[1..]).envs(go_environment());
    if let Ok(zoekt) = env::var("ZOEKT") {
        let workspace = place.path().join("go.work");
        let text = format!("go 1.25.9\nuse {module:?}\nuse {zoekt:?}\n");
        fs::write(&workspace, text).expect("a scratch directory can be written to");
        command.env("GOWORK", workspace);
    }
    let output = command.current_dir(module).output();
    output.expect("it is installed")
}
