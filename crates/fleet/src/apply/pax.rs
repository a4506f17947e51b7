//! The fields of pax headers that `apply` knows. A malformed header is an error.

use sluice_base::error::Result;
use sluice_format::unarchive::pax;

use super::input::damaged;

pub(super) use sluice_format::unarchive::pax::{PaxRecord, decimal};

/// The records of one header. The iteration must stop at an error.
pub(super) fn records(header: &[u8]) -> impl Iterator<Item = Result<PaxRecord<'_>>> {
    let malformed = || damaged("a record of an extended header is malformed");
    pax::records(header).map(move |record| record.ok_or_else(malformed))
}

/// The fields of an extended header for the entry after it. Other keys are ignored.
#[derive(Default)]
pub(super) struct Extended {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    sparse_version: [Option<u64>; 2],
    real_size: Option<u64>,
    sparse: bool,
}

impl Extended {
    pub(super) fn read(header: &[u8]) -> Result<Self> {
        let mut extended = Self::default();
        let mut sparse_name = None;
        for record in records(header) {
            let (key, value) = record?;
            let number = || {
                let number = decimal(value).ok_or_else(|| damaged("a size is no number"));
                number.map(Some)
            };
            match key {
                b"path" => extended.path = Some(value.to_vec()),
                b"linkpath" => extended.link = Some(value.to_vec()),
                b"size" => extended.size = number()?,
                b"GNU.sparse.major" => extended.sparse_version[0] = number()?,
                b"GNU.sparse.minor" => extended.sparse_version[1] = number()?,
                b"GNU.sparse.name" => sparse_name = Some(value.to_vec()),
                b"GNU.sparse.realsize" => extended.real_size = number()?,
                _ => {}
            }
            extended.sparse |= key.starts_with(b"GNU.sparse.");
        }
        extended.path = sparse_name.or(extended.path);
        Ok(extended)
    }

    /// The size of a sparse file in the only form that git-sluice writes.
    pub(super) fn hole(&self) -> Result<Option<u64>> {
        match (self.sparse, self.sparse_version, self.real_size) {
            (false, ..) => Ok(None),
            (true, [Some(1), Some(0)], Some(size)) => Ok(Some(size)),
            _ => Err(damaged("a sparse file of an unknown form")),
        }
    }
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
