//! glibc's texts of system errors, for a program with another C library: git on the same machine most likely has glibc.
//!
//! Only texts that differ from those of musl, and only errors of files, memory and networks.

/// Number and text.
const TEXTS: [(i32, &str); 18] = [
    (libc::EIO, "Input/output error"),
    (libc::ENOMEM, "Cannot allocate memory"),
    (libc::EBUSY, "Device or resource busy"),
    (libc::EXDEV, "Invalid cross-device link"),
    (libc::EMFILE, "Too many open files"),
    (libc::ENOTTY, "Inappropriate ioctl for device"),
    (libc::ESPIPE, "Illegal seek"),
    (libc::EDEADLK, "Resource deadlock avoided"),
    (libc::ENAMETOOLONG, "File name too long"),
    (libc::ELOOP, "Too many levels of symbolic links"),
    (libc::EOVERFLOW, "Value too large for defined data type"),
    (libc::EOPNOTSUPP, "Operation not supported"),
    (libc::EADDRNOTAVAIL, "Cannot assign requested address"),
    (libc::ENETUNREACH, "Network is unreachable"),
    (libc::ETIMEDOUT, "Connection timed out"),
    (libc::EHOSTUNREACH, "No route to host"),
    (libc::EUCLEAN, "Structure needs cleaning"),
    (libc::EDQUOT, "Disk quota exceeded"),
];

/// The text of error `number`, if it is listed.
pub(super) fn text(number: i32) -> Option<&'static str> {
    let listed = TEXTS.iter().find(|(listed, _)| *listed == number);
    listed.map(|(_, text)| *text)
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use std::io;

    use super::{TEXTS, text};

    #[test]
    fn texts_are_those_of_this_c_library() {
        for (number, listed) in TEXTS {
            let error = io::Error::from_raw_os_error(number).to_string();
            assert_eq!(error, format!("{listed} (os error {number})"));
            assert_eq!(text(number), Some(listed));
        }
        assert_eq!(text(libc::ENOENT), None);
    }
}
