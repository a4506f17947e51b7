//! What the fuzzer has found or was given: each input of a corpus, with the code of its target.

// A library has readers outside of this program.
#[allow(unreachable_pub)]
#[path = "../../fuzz/src/lib.rs"]
mod targets;

use std::{ffi::OsString, fs, panic, path::Path};

/// A target that the list lacks would not be tested.
#[test]
fn the_list_has_all_targets() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let files = fs::read_dir(folder).expect("our own");
    let mut files: Vec<_> = files
        .map(|file| file.expect("our own").file_name())
        .collect();
    files.sort();
    let listed = targets::TARGETS.map(|(name, _)| OsString::from(format!("{name}.rs")));
    assert_eq!(files, listed);
}

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
