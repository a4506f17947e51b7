//! The middle of some figures.

/// The middle value, or the mean of the two in the middle; no number for no values.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values = Vec::from_iter(values);
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0]), 3.0);
        assert_eq!(median([9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 9.0]), 3.0);
        assert!(median([]).is_nan());
    }
}
