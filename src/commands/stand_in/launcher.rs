//! The launcher: a program of a kilobyte, without a C library, that replaces itself by the real git. One of eight modules with
//! `unsafe` code.
//!
//! A host runs git a hundred times for a page, and a shell script in between costs 0.8 ms each time. The launcher finds the next
//! git in `PATH` by the rule of the script, and starts it. The script next to it does everything else: words that git-sluice may
//! have to answer, wherever they are among the words; a caller that names the real git or that a stand-in has started; and
//! whatever fails.
//!
//! The assembler of the compiler makes the code, so nobody needs tools of their own. It works at any address.
#![allow(unsafe_code)]

use std::{arch::global_asm, slice};

use super::script::MARK;

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
/// The address of the file in memory, a multiple of each size of page.
const ADDRESS: u64 = 0x40_0000;
const PAGE: u64 = 0x1_0000;
/// The length of the header of an ELF file, and that of each entry of its table.
const HEADER: u16 = 64;
const ENTRY: u16 = 56;
/// The code follows the header, a table of two entries and [`MARK`].
const CODE_OFFSET: u64 = (HEADER + 2 * ENTRY) as u64 + MARK.len() as u64;

global_asm!(
    ".pushsection .rodata.git_sluice_launcher, \"a\"",
    ".balign 8",
    ".globl git_sluice_launcher",
    ".hidden git_sluice_launcher",
    ".globl git_sluice_launcher_end",
    ".hidden git_sluice_launcher_end",
    "git_sluice_launcher:",
    #[cfg(target_arch = "x86_64")]
    include_str!("launcher_x86_64.s"),
    #[cfg(target_arch = "aarch64")]
    include_str!("launcher_aarch64.s"),
    include_str!("launcher_data.s"),
    "git_sluice_launcher_end:",
    ".popsection",
);

unsafe extern "C" {
    static git_sluice_launcher: u8;
    static git_sluice_launcher_end: u8;
}

/// The code of the launcher, which expects the path of the script after it.
fn code() -> &'static [u8] {
    let start = &raw const git_sluice_launcher;
    let end = &raw const git_sluice_launcher_end;
    // SAFETY: the assembler has put both names around one block of constant bytes.
    unsafe { slice::from_raw_parts(start, end as usize - start as usize) }
}

/// The launcher that starts `script` if it does not find the script next to itself.
pub(super) fn program(script: &[u8]) -> Option<Vec<u8>> {
    let code = code();
    let length = CODE_OFFSET + (code.len() + script.len()) as u64 + 1;
    let mut file = Vec::new();
    // 64 bits, little-endian, a program.
    file.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    put(&mut file, [2, MACHINE]);
    put_words(&mut file, [1]);
    put_longs(&mut file, [ADDRESS + CODE_OFFSET, u64::from(HEADER), 0]);
    put_words(&mut file, [0]);
    put(&mut file, [HEADER, ENTRY, 2, 0, 0, 0]);
    // The whole file, to read and to execute.
    put_words(&mut file, [1, 5]);
    put_longs(&mut file, [0, ADDRESS, ADDRESS, length, length, PAGE]);
    // The stack, to read and to write.
    put_words(&mut file, [0x6474_e551, 6]);
    put_longs(&mut file, [0, 0, 0, 0, 0, 16]);
    file.extend_from_slice(MARK);
    file.extend_from_slice(code);
    file.extend_from_slice(script);
    file.push(0);
    Some(file)
}

fn put<const N: usize>(file: &mut Vec<u8>, values: [u16; N]) {
    file.extend(values.into_iter().flat_map(u16::to_le_bytes));
}

fn put_words<const N: usize>(file: &mut Vec<u8>, values: [u32; N]) {
    file.extend(values.into_iter().flat_map(u32::to_le_bytes));
}

fn put_longs<const N: usize>(file: &mut Vec<u8>, values: [u64; N]) {
    file.extend(values.into_iter().flat_map(u64::to_le_bytes));
}
