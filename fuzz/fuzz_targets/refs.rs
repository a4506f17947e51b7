//! Tries inputs that the fuzzer makes, and compares with gitoxide, which includes what `refs::run` does.

#![no_main]

#[path = "../oracle/refs.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|input: &[u8]| oracle::compare(input));
