//! Local time in MS-DOS format, for zip (APPNOTE.TXT, section 4.4.6).

use crate::base::{
    error::{Error, Result},
    local_time::local_time,
};

/// Converts `time`, in seconds since 1970, to local time and date: two-second steps, years since 1980. As in
/// git, only the low 16 bits of each are kept.
pub(super) fn dos(time: u64) -> Result<[u16; 2]> {
    let too_large = || Error::fatal(format!("timestamp too large for this system: {time}"));
    let seconds = i64::try_from(time).map_err(|_| too_large())?;
    let local = local_time(seconds).ok_or_else(too_large)?;
    let clock = local.second / 2 + local.minute * 32 + local.hour * 2048;
    let date = local.day + local.month * 32 + (local.year - 1980) * 512;
    Ok([clock as u16, date as u16])
}
