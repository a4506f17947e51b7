//! The records of pax headers, for `apply`. A malformed header is an error.

use sluice_base::error::Result;
use sluice_format::unarchive::pax;

use super::input::damaged;

pub(super) use sluice_format::unarchive::pax::{PaxRecord, decimal};

/// The records of one header. The iteration must stop at an error.
pub(super) fn records(header: &[u8]) -> impl Iterator<Item = Result<PaxRecord<'_>>> {
    let malformed = || damaged("a record of an extended header is malformed");
    pax::records(header).map(move |record| record.ok_or_else(malformed))
}

#[cfg(test)]
mod tests {
    use super::{decimal, records};

    fn read(header: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let owned = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
        records(header)
            .map(|record| record.ok().map(owned))
            .collect()
    }

    #[test]
    fn what_is_given_twice_is_there_twice() {
        let twice = read(b"6 a=b\n8 a==\nc\n5 c=\n").expect("sound");
        let expected: [(&[u8], &[u8]); 3] = [(b"a", b"b"), (b"a", b"=\nc"), (b"c", b"")];
        let expected = expected.map(|(key, value)| (key.to_vec(), value.to_vec()));
        assert_eq!(twice, expected);
        assert_eq!(read(b""), Some(Vec::new()));
    }

    #[test]
    fn lengths_that_lie() {
        for header in [
            &b"7 a=b\n"[..],
            b"5 a=b\n",
            b"0 a=b\n",
            b"1 a=b\n",
            b"2 a=b\n",
            b"+6 a=b\n",
            b"-6 a=b\n",
            b" a=b\n",
            b"6 a=b",
            b"6a=b\n",
            b"5 =b\n",
            b"5 ab\n",
            b"99999999999999999999 a=b\n",
            b"18446744073709551615 a=b\n",
            b"6 a=b\n\0",
            b"6",
        ] {
            assert_eq!(read(header), None, "{}", header.escape_ascii());
        }
    }

    #[test]
    fn numbers_are_digits() {
        assert_eq!(decimal(b"007"), Some(7));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(decimal(b""), None);
        assert_eq!(decimal(b"+1"), None);
    }
}
