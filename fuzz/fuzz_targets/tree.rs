//! Tries inputs that the fuzzer makes, and compares with gitoxide.

#![no_main]

#[path = "../oracle/tree.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    git_sluice_fuzz::tree::run(input);
    oracle::compare(input);
});
