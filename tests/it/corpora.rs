//! What the fuzzer has found or was given: each input of a corpus, with the code of its target.

// A library has readers outside of this program.
#[allow(unreachable_pub)]
#[path = "../../fuzz/src/lib.rs"]
mod targets;

use std::{fs, panic, path::Path};

#[test]
fn each_target_takes_each_input_of_its_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, run) in targets::TARGETS {
        let inputs = fs::read_dir(corpora.join(name)).expect("each target has a corpus");
        let inputs: Vec<_> = inputs.map(|entry| entry.expect("our own").path()).collect();
        assert!(!inputs.is_empty(), "the corpus of {name} is empty");
        for path in inputs {
            let input = fs::read(&path).expect("our own");
            let tried = panic::catch_unwind(|| run(&input));
            assert!(tried.is_ok(), "{}", path.display());
        }
    }
}
