//! Tries inputs that the fuzzer makes, and compares with gitoxide.

#![no_main]

#[path = "../oracle/delta.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    git_sluice_fuzz::delta::run(input);
    oracle::compare(input);
});
