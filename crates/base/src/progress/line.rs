//! The words of a line of progress.

const KIB: f64 = 1024.0;
const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];

/// The first of `fields` that fit into `columns` together, joined. A first field that does not fit is cut.
pub(super) fn fitted(fields: &[String], columns: usize) -> String {
    let mut line = String::new();
    for field in fields {
        let comma = if line.is_empty() { "" } else { ", " };
        let room = columns.saturating_sub(line.len() + comma.len());
        if field.len() <= room {
            line.extend([comma, field]);
        } else if line.is_empty() {
            line.extend(field.chars().take(columns));
        } else {
            break;
        }
    }
    line
}

/// So many bytes, in words.
pub(super) fn size(bytes: u64) -> String {
    let (unit, name) = unit(bytes);
    format!("{:.1} {name}", bytes as f64 / unit)
}

/// `bytes` of `total`, in words.
pub(super) fn part(bytes: u64, total: u64) -> String {
    let (unit, name) = unit(total);
    let [bytes, total] = [bytes, total].map(|bytes| bytes as f64 / unit);
    format!("{bytes:.1} of {total:.1} {name}")
}

/// The unit for `bytes`, and its name.
fn unit(bytes: u64) -> (f64, &'static str) {
    let mut unit = KIB;
    for name in UNITS {
        if (bytes as f64) < unit * KIB {
            return (unit, name);
        }
        unit *= KIB;
    }
    (unit / KIB, UNITS[UNITS.len() - 1])
}

/// So many seconds: minutes and seconds, and hours before them if there are any.
pub(super) fn time(seconds: u64) -> String {
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    match minutes / 60 {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{:02}:{seconds:02}", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::{fitted, part, size, time};

    #[test]
    fn sizes_and_times() {
        assert_eq!(size(0), "0.0 KiB");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size((1 << 20) - 1), "1024.0 KiB");
        assert_eq!(size(300 << 20), "300.0 MiB");
        assert_eq!(size(1 << 60), "1048576.0 TiB");
        assert_eq!(part(1 << 20, 1 << 30), "0.0 of 1.0 GiB");
        assert_eq!(part(1 << 20, 3 << 20), "1.0 of 3.0 MiB");
        assert_eq!(time(0), "0:00");
        assert_eq!(time(90), "1:30");
        assert_eq!(time(3723), "1:02:03");
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let fields = ["Trying: 5 %", "1.0 MiB", "1.0 MiB/s"].map(ToOwned::to_owned);
        for (columns, line) in [
            (usize::MAX, "Trying: 5 %, 1.0 MiB, 1.0 MiB/s"),
            (31, "Trying: 5 %, 1.0 MiB, 1.0 MiB/s"),
            (30, "Trying: 5 %, 1.0 MiB"),
            (19, "Trying: 5 %"),
            (6, "Trying"),
            (0, ""),
        ] {
            assert_eq!(fitted(&fields, columns), line, "{columns}");
        }
    }
}
