//! The Go module `examples/zoekt-index`, which has tests of its own: an index of zoekt that follows a repository.
//!
//! `ZOEKT` may name a clone of zoekt. Without it, Go takes zoekt from its cache or from the module proxy.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::process::{Output, run_with_input};
use crate::support::{Repo, installed, skip};

/// Seconds in which Go has to get the modules.
const PATIENCE: &str = "120";

#[test]
fn the_example_for_zoekt() {
    if !["go", "gofmt", "timeout"].into_iter().all(installed) {
        return;
    }
    let go = Go::new();
    let unformatted = go.run("gofmt", &["-l", "."]).success();
    assert!(
        unformatted.is_empty(),
        "gofmt: {}",
        String::from_utf8_lossy(&unformatted)
    );
    let modules = go.run(
        "timeout",
        &[PATIENCE, "go", "list", "-deps", "-test", "./..."],
    );
    if modules.code() != 0 {
        return skip("zoekt cannot be downloaded: set ZOEKT to a clone of it");
    }
    for args in [&["vet", "./..."][..], &["test", "-count=1", "./..."]] {
        let output = go.run("go", args);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.code(), 0, "{output}\n{said}");
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

    fn run(&self, program: &str, args: &[&str]) -> Output {
        let mut command = self.place.command(program);
        command.args(args).current_dir(&self.module);
        command.envs(self.environment.iter().cloned());
        run_with_input(&mut command, b"")
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
