//! Tries inputs that the fuzzer makes.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| git_sluice_fuzz::inflate::run(input));
