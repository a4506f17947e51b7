//! The time of an archive: in MS-DOS format for zip (APPNOTE.TXT, section 4.4.6), and that of a tree without a commit.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use bstr::ByteSlice;

use sluice_base::{
    error::{Error, Result, format_bytes},
    local_time::{LocalTime, local_time, utc},
};

/// 1980-01-01T00:00:00Z: a zip has no earlier time.
const FIRST_OF_ZIP: u64 = 315_532_800;
/// 2107-12-31T23:59:59Z: a zip has no later time.
const LAST_OF_ZIP: u64 = 4_354_819_199;

/// Converts `time`, in seconds since 1970, to date and time of day in two-second steps, years since 1980: local time, or UTC if
/// `in_utc`. As in git, only the low 16 bits of each are kept.
pub(super) fn dos(time: u64, in_utc: bool) -> Result<[u16; 2]> {
    let too_large = || Error::fatal(format!("timestamp too large for this system: {time}"));
    let seconds = i64::try_from(time).map_err(|_| too_large())?;
    let read = if in_utc { utc } else { local_time };
    let LocalTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
    } = read(seconds).ok_or_else(too_large)?;
    let clock = second / 2 + minute * 32 + hour * 2048;
    let date = day + month * 32 + (year - 1980) * 512;
    Ok([clock as u16, date as u16])
}

/// The time closest to `time` that a zip can have.
pub(super) fn within_zip(time: u64) -> u64 {
    time.clamp(FIRST_OF_ZIP, LAST_OF_ZIP)
}

/// The time of a tree without a commit in an archive that never changes, in seconds since 1970: that of `SOURCE_DATE_EPOCH`, if
/// it is set.
pub(super) fn of_tree(source_date_epoch: Option<&OsStr>) -> Result<u64> {
    let Some(text) = source_date_epoch else {
        return Ok(FIRST_OF_ZIP);
    };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let bad = "bad value '{}' for 'SOURCE_DATE_EPOCH'";
        Error::fatal(format_bytes(bad, &[text.as_bytes().as_bstr()]))
            .caused_by("not a number of seconds since 1970")
    })
}

#[cfg(test)]
mod tests {
    use super::{dos, of_tree};

    #[test]
    fn times_of_zip() {
        assert_eq!(dos(315_532_800, true).expect("a time"), [0, 33]);
        assert_eq!(dos(1_117_231_201, true).expect("a time"), [0xb000, 0x32bb]);
    }

    #[test]
    fn times_of_trees() {
        assert_eq!(of_tree(None).expect("a time"), 315_532_800);
        assert_eq!(of_tree(Some("17".as_ref())).expect("a time"), 17);
        for bad in ["", "x", "-1", "1.5"] {
            assert!(of_tree(Some(bad.as_ref())).is_err(), "{bad}");
        }
    }
}
