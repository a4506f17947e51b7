//! Times over the number of files, as a plot that any browser shows. Both axes are logarithmic.

use super::Row;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const MARGIN: f64 = 60.0;

/// Where values lie on a logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// One that ends at powers of ten.
    fn over(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        let low = low.log10().floor();
        Self {
            low,
            high: high.log10().ceil().max(low + 1.0),
        }
    }

    /// From 0 to 1.
    fn place(&self, value: f64) -> f64 {
        (value.log10() - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        (self.low as i32..=self.high as i32).map(|power| 10_f64.powi(power))
    }
}

pub(super) fn svg(rows: &[Row]) -> String {
    type Value = fn(&Row) -> f64;
    let lines: [(&str, &str, Value); 3] = [
        ("full archive", "#888888", |row| row.full),
        ("git diff-tree -r", "#d1742f", |row| row.diff_tree),
        ("git sluice --base", "#2f6fd1", |row| row.delta),
    ];
    let files = |row: &Row| f64::from(row.files);
    let across = Axis::over(rows.iter().map(files));
    let times = lines.iter().flat_map(|(_, _, time)| rows.iter().map(time));
    let up = Axis::over(times);
    let x = |value| MARGIN + across.place(value) * (WIDTH - 2.0 * MARGIN);
    let y = |value| HEIGHT - MARGIN - up.place(value) * (HEIGHT - 2.0 * MARGIN);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let (left, right, bottom) = (MARGIN, WIDTH - MARGIN, HEIGHT - MARGIN);
    for tick in across.ticks() {
        let at = x(tick);
        svg += &format!(
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>\n",
            bottom + 20.0
        );
    }
    for tick in up.ticks() {
        let at = y(tick);
        svg += &format!(
            "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#dddddd\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tick} ms</text>\n",
            left - 6.0,
            at + 4.0
        );
    }
    for (number, (name, colour, time)) in lines.into_iter().enumerate() {
        let points = rows
            .iter()
            .map(|row| format!("{:.1},{:.1}", x(files(row)), y(time(row))));
        let points = points.collect::<Vec<_>>().join(" ");
        let line = 20 + 16 * number;
        svg += &format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"{left}\" y=\"{line}\" fill=\"{colour}\">{name}</text>\n"
        );
    }
    let middle = WIDTH / 2.0;
    let foot = HEIGHT - 16.0;
    svg +=
        &format!("<text x=\"{middle}\" y=\"{foot}\" text-anchor=\"middle\">files</text>\n</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn an_axis_ends_at_powers_of_ten() {
        let axis = Axis::over([2.0, 300.0].into_iter());
        assert_eq!(axis.ticks().collect::<Vec<_>>(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((axis.place(1000.0) - 1.0).abs() < 1e-9);
        // One value is not nothing.
        let axis = Axis::over([10.0].into_iter());
        assert_eq!(axis.ticks().count(), 2);
    }
}
