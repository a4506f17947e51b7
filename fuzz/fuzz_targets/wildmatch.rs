//! Tries inputs that the fuzzer makes, and compares with gitoxide.

#![no_main]

#[path = "../oracle/wildmatch.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    git_sluice_fuzz::wildmatch::run(input);
    oracle::compare(input);
});
