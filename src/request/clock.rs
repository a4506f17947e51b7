//! Local time in MS-DOS format, for zip (APPNOTE.TXT, section 4.4.6).

use jiff::{Timestamp, tz::TimeZone};

use crate::base::error::{Error, Result};

const DAY: i64 = 24 * 60 * 60;

/// Converts `time`, in seconds since 1970, to local time and date: two-second steps, years since 1980. As in
/// git, only the low 16 bits of each are kept.
pub(super) fn dos(time: u64) -> Result<[u16; 2]> {
    let seconds = i64::try_from(time)
        .map_err(|_| Error::fatal(format!("timestamp too large for this system: {time}")))?;
    // Beyond the last known year the last rule of the time zone holds.
    let known = seconds.min(Timestamp::MAX.as_second());
    let offset = Timestamp::from_second(known)
        .map_or(0, |known| TimeZone::system().to_offset(known).seconds());
    let local = seconds.saturating_add(offset.into());
    let (year, month, day) = civil(local.div_euclid(DAY));
    let second = local.rem_euclid(DAY);
    let clock = second % 60 / 2 + second / 60 % 60 * 32 + second / 3600 * 2048;
    let date = day + month * 32 + (year - 1980) * 512;
    Ok([clock as u16, date as u16])
}

/// Year, month and day of the day that is so many `days` after 1970-01-01, in the calendar that is
/// used everywhere ("chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Years begin in March, so that the leap day is the last.
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_have_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(12_930), (2005, 5, 27));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(795_364), (4147, 8, 20));
    }
}
