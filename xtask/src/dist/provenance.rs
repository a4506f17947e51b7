//! Where a release comes from, as programs read it: a statement of in-toto with the provenance of SLSA
//! (<https://slsa.dev/spec/v1.0/provenance>). Whoever publishes the release signs it.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::{Release, archive};

const SOURCE: &str = "https://github.com/git-sluice/git-sluice";

/// Writes the statement about all files of `release`, which were made on the machine whose own target is `triple`.
pub(super) fn write(release: &Release, triple: &str) -> Result<PathBuf> {
    let mut subjects = Vec::new();
    for path in &release.made {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let sum = archive::sha256(&std::fs::read(path)?)?.to_string();
        subjects.push(json!({ "name": name, "digest": { "sha256": sum } }));
    }
    let name = format!("git-sluice-{}-{triple}.intoto.json", release.version);
    let path = release.dist.join(name);
    let statement = serde_json::to_vec_pretty(&statement(&release.commit, subjects))?;
    std::fs::write(&path, statement)?;
    Ok(path)
}

fn statement(commit: &str, subjects: Vec<Value>) -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": format!("{SOURCE}/blob/main/docs/install.md"),
                "externalParameters": { "command": "cargo xtask dist", "commit": commit },
                "resolvedDependencies": [{
                    "uri": format!("git+{SOURCE}@{commit}"),
                    "digest": { "gitCommit": commit },
                }],
            },
            "runDetails": { "builder": { "id": format!("{SOURCE}/blob/main/.github/workflows/release.yml") } },
        },
    })
}
