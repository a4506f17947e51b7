//! The program without its features: `git archive`, and nothing that the command line promises in vain.

use crate::support::Repo;

#[test]
fn names_of_commands_that_were_left_out_are_tree_ishes() {
    let repo = Repo::copy("basic");
    let help = repo.shell("git-sluice -h && git-sluice manual").success();
    let help = String::from_utf8_lossy(&help);
    for name in ["apply", "verify", "publish", "prune", "compare"] {
        repo.git(["branch", name, "HEAD"]);
        repo.assert_same([name]);
        for promise in [format!("\n  {name} "), format!("git sluice {name} ")] {
            assert!(!help.contains(&promise), "{promise}");
        }
    }
}
