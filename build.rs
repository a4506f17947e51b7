//! Links the unwinder into the program. As a library of its own it is one more to find, map and relocate at
//! each start, and it asks the processor what it is: a twentieth of the time of a small archive.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name| env::var(name).unwrap_or_default();
    let is_native = variable("HOST") == variable("TARGET");
    if is_native && variable("TARGET").ends_with("-linux-gnu") {
        // Without the static one the shared one does.
        if let (Some(unwinder), Some(rest)) = (archive("libgcc_eh.a"), archive("libgcc.a")) {
            take_for_shared(&unwinder, &rest);
        }
    }
}

/// Where the C compiler has the static library `name`.
fn archive(name: &str) -> Option<PathBuf> {
    let mut compiler = Command::new("cc");
    let output = compiler.arg(format!("-print-file-name={name}")).output();
    let path = PathBuf::from(String::from_utf8(output.ok()?.stdout).ok()?.trim());
    // What it has not is printed as it was asked for.
    path.is_absolute().then_some(path)
}

/// The Rust compiler asks the linker for `gcc_s`, whatever it is told. In this place the linker finds a script
/// of that name first.
fn take_for_shared(unwinder: &Path, rest: &Path) {
    let Some(directory) = env::var_os("OUT_DIR").map(PathBuf::from) else {
        return;
    };
    let (unwinder, rest) = (unwinder.display(), rest.display());
    let script = format!("GROUP(\"{unwinder}\" \"{rest}\")\n");
    if fs::write(directory.join("libgcc_s.so"), script).is_ok() {
        println!("cargo::rustc-link-search=native={}", directory.display());
    }
}
