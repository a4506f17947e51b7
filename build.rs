//! Links the program that tests start to a fixed address. It must not touch what is released.

use std::env::var;

/// At another address the loader has to change 68,000 places in the program first, which is a third of the time of a short run,
/// and the tests make tens of thousands of those.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_for_tests = var("PROFILE").as_deref() == Ok("debug");
    let is_for_glibc = var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu");
    if is_for_tests && is_for_glibc {
        println!("cargo:rustc-link-arg-bin=git-sluice=-no-pie");
    }
}
