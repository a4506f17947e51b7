//! The Go module `examples/zoekt-index`, which has tests of its own: an index of zoekt that follows a repository.
//!
//! `ZOEKT` may name a clone of zoekt. Without it, Go takes zoekt from its cache or from the module proxy.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::support::{Repo, installed, makes_all_rounds, skip};

/// Seconds in which Go has to get the modules.
const PATIENCE: &str = "120";

#[test]
#[ignore = "slow"]
fn the_example_for_zoekt() {
    if !["go", "gofmt", "timeout"].into_iter().all(installed) {
        return;
    }
    let go = Go::new();
    let unformatted = go.run("gofmt", &["-l", "."]);
    assert!(
        unformatted.status.success() && unformatted.stdout.is_empty(),
        "{unformatted:?}"
    );
    let modules = go.run(
        "timeout",
        &[PATIENCE, "go", "list", "-deps", "-test", "./..."],
    );
    if !modules.status.success() {
        return skip("zoekt cannot be downloaded: set ZOEKT to a clone of it");
    }
    let rounds = if makes_all_rounds() {
        "-short=false"
    } else {
        "-short"
    };
    for args in [
        &["vet", "./..."][..],
        &["test", "-count=1", rounds, "./..."],
    ] {
        let output = go.run("go", args);
        let [said, messages] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(output.status.success(), "{messages}\n{said}");
    }
}

/// How Go is called in the module.
struct Go {
    place: Repo,
    module: PathBuf,
    environment: Vec<(String, String)>,
}

impl Go {
    fn new() -> Go {
        let place = Repo::scratch();
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/zoekt-index");
        let mut environment = settings();
        if let Ok(zoekt) = env::var("ZOEKT") {
            let workspace = place.path().join("go.work");
            let text = format!("go 1.25.9\nuse {:?}\nuse {zoekt:?}\n", module.as_path());
            fs::write(&workspace, text).expect("a scratch directory can be written to");
            let workspace = workspace.into_os_string().into_string();
            environment.push(("GOWORK".into(), workspace.expect("a plain path")));
        }
        Go {
            place,
            module,
            environment,
        }
    }

    /// Without the time limit of other tests: Go compiles zoekt, and `go test` has a limit of its own.
    fn run(&self, program: &str, args: &[&str]) -> Output {
        let mut command = self.place.command(program);
        command.args(args).current_dir(&self.module);
        command.envs(self.environment.iter().cloned());
        command.output().expect("it is installed")
    }
}

/// The user's caches and proxy, because a test has a home of its own, where Go would download and compile everything again.
fn settings() -> Vec<(String, String)> {
    const NAMES: [&str; 3] = ["GOCACHE", "GOMODCACHE", "GOPROXY"];
    let output = Command::new("go").arg("env").args(NAMES).output();
    let values = String::from_utf8(output.expect("go is installed").stdout).expect("text");
    let values = values.lines().map(String::from);
    let mut settings: Vec<_> = NAMES.map(String::from).into_iter().zip(values).collect();
    settings.push(("GOTOOLCHAIN".into(), "local".into()));
    settings
}
