//! Local time, by the C library: one of eight modules with `unsafe` code.
//!
//! Time zones come from the process (`TZ`), as for git. The C library decides what they mean, because libraries in Rust read some of
//! them otherwise: a summer time without rules, a name in another case, words after a rule.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// The year of the calendar.
    pub year: i64,
    /// From 1 to 12.
    pub month: i64,
    /// From 1 to 31.
    pub day: i64,
    /// From 0 to 23.
    pub hour: i64,
    /// From 0 to 59.
    pub minute: i64,
    /// From 0 to 60.
    pub second: i64,
}

/// The time in UTC at `seconds` since 1970. `None` if the year is beyond 9999.
pub fn utc(seconds: i64) -> Option<LocalTime> {
    let time = jiff::Timestamp::from_second(seconds).ok()?;
    let time = jiff::tz::TimeZone::UTC.to_datetime(time);
    Some(LocalTime {
        year: time.year().into(),
        month: time.month().into(),
        day: time.day().into(),
        hour: time.hour().into(),
        minute: time.minute().into(),
        second: time.second().into(),
    })
}

/// The local time at `seconds` since 1970. `None` if the year is beyond those of the C library.
pub fn local_time(seconds: i64) -> Option<LocalTime> {
    // libc deprecates the type on musl, because it will be wider there on systems of 32 bits.
    #[allow(deprecated)]
    let time = libc::time_t::try_from(seconds).ok()?;
    let mut found = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both pointers are valid, and the function writes to the second one only. It reads the environment, which no part of
    // this crate changes.
    let is_known = unsafe { !libc::localtime_r(&raw const time, found.as_mut_ptr()).is_null() };
    // SAFETY: a result that is not null says that the structure was written.
    let found = is_known.then(|| unsafe { found.assume_init() })?;
    Some(LocalTime {
        year: i64::from(found.tm_year) + 1900,
        month: i64::from(found.tm_mon) + 1,
        day: found.tm_mday.into(),
        hour: found.tm_hour.into(),
        minute: found.tm_min.into(),
        second: found.tm_sec.into(),
    })
}
