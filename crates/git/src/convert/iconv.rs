//! The C library's `iconv`: git's encodings are those of this library, including its byte order for UTF-16.
//!
//! One of eight modules with `unsafe` code. It returns only owned bytes.
#![allow(unsafe_code)]
// The crate `libc` is going to leave the library `iconv` of macOS to other crates.
#![cfg_attr(target_vendor = "apple", allow(deprecated))]

use std::{ffi::CString, io};

/// The least room for output in bytes.
const ROOM: usize = 64;

/// Append `input` to `out`, converted. False if the C library does not know an encoding, or if the input cannot be
/// converted to its end.
pub(super) fn convert(to: &str, from: &str, input: &[u8], out: &mut Vec<u8>) -> bool {
    Iconv::open(to, from).is_some_and(|conversion| conversion.convert(input, out))
}

/// A conversion between two encodings of the C library.
struct Iconv(libc::iconv_t);

impl Iconv {
    /// Open a conversion. `None` if the C library does not know an encoding.
    fn open(to: &str, from: &str) -> Option<Self> {
        let (to, from) = (CString::new(to).ok()?, CString::new(from).ok()?);
        // SAFETY: both are strings that end in NUL and outlive the call.
        let descriptor = unsafe { libc::iconv_open(to.as_ptr(), from.as_ptr()) };
        (descriptor as isize != -1).then_some(Self(descriptor))
    }

    /// Append all of `input`, converted, to `out`. False if the input cannot be converted to its end.
    fn convert(self, input: &[u8], out: &mut Vec<u8>) -> bool {
        let mut from = input.as_ptr().cast_mut().cast();
        let mut left = input.len();
        loop {
            out.reserve(left.max(ROOM));
            let spare = out.spare_capacity_mut();
            let mut to = spare.as_mut_ptr().cast();
            let mut room = spare.len();
            let capacity = room;
            // SAFETY: the descriptor is open. `from` and `left` describe the unread part of `input`, which
            // iconv does not write to in spite of its type; `to` and `room` describe the spare memory of
            // `out`, which has no other reference.
            let outcome = unsafe { libc::iconv(self.0, &mut from, &mut left, &mut to, &mut room) };
            let done = outcome != usize::MAX;
            let error = io::Error::last_os_error();
            // SAFETY: iconv wrote to the first `capacity - room` bytes of the spare memory.
            unsafe { out.set_len(out.len() + (capacity - room)) };
            if done {
                return true;
            }
            if error.raw_os_error() != Some(libc::E2BIG) {
                return false;
            }
        }
    }
}

impl Drop for Iconv {
    fn drop(&mut self) {
        // SAFETY: the descriptor is open and not used again.
        unsafe { libc::iconv_close(self.0) };
    }
}
