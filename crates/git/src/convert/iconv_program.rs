//! The program `iconv` of the system, in the place of musl's function of that name: git on the same machine has the
//! encodings of the system's C library, and musl has fewer, with another byte order for UTF-16.
//!
//! Starts a process for each conversion. At the end of its input the program writes the final escape sequence of encodings such as
//! UTF-7 and ISO-2022-JP, which git leaves open: a file that ends inside has a few bytes more than git's.
//! Must not read anything but its input: a name with a slash could be that of a file.

use std::{
    io::{Read, Write},
    process::{Child, Command, Stdio},
    thread,
};

/// Suffixes of encodings, which may have slashes.
const SUFFIXES: [&str; 2] = ["//TRANSLIT", "//IGNORE"];

/// Append `input` to `out`, converted. False if the system does not know an encoding or has no such program, or if the
/// input cannot be converted to its end.
pub(super) fn convert(to: &str, from: &str, input: &[u8], out: &mut Vec<u8>) -> bool {
    if ![to, from].into_iter().all(is_name) {
        return false;
    }
    let mut iconv = Command::new("iconv");
    iconv.args([format!("--from-code={from}"), format!("--to-code={to}")]);
    let streams = iconv.stdin(Stdio::piped()).stdout(Stdio::piped());
    let started = streams.stderr(Stdio::null()).spawn();
    started.is_ok_and(|child| exchange(child, input, out))
}

/// Whether `name` is that of an encoding and of no file.
fn is_name(name: &str) -> bool {
    let suffix = SUFFIXES.iter().find_map(|it| name.strip_suffix(it));
    !suffix.unwrap_or(name).contains(['/', '\0'])
}

/// Writes all input while the output is read.
fn exchange(mut child: Child, input: &[u8], out: &mut Vec<u8>) -> bool {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let is_read = thread::scope(|scope| {
        // An input that is not read to its end shows in the exit status.
        let feed = || stdin.map(|mut stdin| stdin.write_all(input));
        let feeder = thread::Builder::new().spawn_scoped(scope, feed);
        feeder.is_ok() && stdout.is_some_and(|mut stdout| stdout.read_to_end(out).is_ok())
    });
    let status = child.wait();
    is_read && status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::convert;

    fn converted(to: &str, input: &str) -> Option<Vec<u8>> {
        let mut out = b"before ".to_vec();
        convert(to, "UTF-8", input.as_bytes(), &mut out).then_some(out)
    }

    #[test]
    fn the_system_knows_encodings() {
        assert_eq!(converted("UTF-16LE", "a").expect("known"), b"before a\0");
        assert_eq!(converted("no-such-encoding", "a"), None);
        assert_eq!(converted("ISO-8859-1", "\u{20ac}"), None);
        let long = "\u{e4}".repeat(1 << 20);
        let length = converted("ISO-8859-1", &long).map(|bytes| bytes.len());
        assert_eq!(length, Some((1 << 20) + "before ".len()));
    }

    #[test]
    fn a_file_is_no_encoding() {
        assert_eq!(converted("/dev/stdin", "a"), None);
        assert_eq!(converted("ASCII/x", "a"), None);
    }
}
