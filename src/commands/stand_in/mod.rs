//! `stand-in`: a `git` that passes archives to git-sluice and everything else to the real git.

mod caller;
mod check;
// Other systems have the script alone.
#[cfg_attr(
    not(all(
        target_os = "linux",
        target_pointer_width = "64",
        target_endian = "little",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )),
    path = "no_launcher.rs"
)]
mod launcher;
mod script;

pub use caller::{CALLER, Caller};
pub use check::check;
pub use script::write;
