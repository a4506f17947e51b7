//! Times over something else, as a plot that any browser shows.

const WIDTH: f64 = 890.0;
const HEIGHT: f64 = 400.0;
const MARGIN: f64 = 60.0;
/// To the right of the lines are their names.
const NAMES: f64 = 290.0;

/// The times are milliseconds.
pub(crate) struct Plot {
    /// What the times are plotted over.
    pub(crate) across: &'static str,
    pub(crate) scale: Scale,
    pub(crate) lines: Vec<Line>,
}

pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) colour: &'static str,
    /// As SVG has it; empty for a line without gaps.
    pub(crate) dashes: &'static str,
    /// From left to right.
    pub(crate) points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy)]
pub(crate) enum Scale {
    /// From zero.
    Linear,
    Logarithmic,
}

impl Scale {
    /// Logarithmic for what spans a decade.
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        if high < 10.0 * low {
            Scale::Linear
        } else {
            Scale::Logarithmic
        }
    }
}

/// Where values lie. It begins and ends with a tick.
struct Axis {
    scale: Scale,
    ticks: Vec<f64>,
}

impl Axis {
    fn over(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Self {
        let high = values.clone().fold(0.0, f64::max);
        let ticks = match scale {
            Scale::Linear => {
                let step = round(step_above(high / 10.0));
                let last = (high / step).ceil().max(1.0) as u32;
                (0..=last).map(|tick| f64::from(tick) * step).collect()
            }
            Scale::Logarithmic => {
                let low = values.fold(f64::INFINITY, f64::min);
                // One value is not nothing.
                let last = step_above(high).max(step_below(low) + 1);
                (step_below(low)..=last).map(round).collect()
            }
        };
        Axis { scale, ticks }
    }

    /// From 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let scaled = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10(),
        };
        let (low, high) = (self.ticks[0], self.ticks[self.ticks.len() - 1]);
        (scaled(value) - scaled(low)) / (scaled(high) - scaled(low))
    }
}

/// The round numbers, …, 0.5, 1, 2, 5, 10, 20, …, of which 1 is number 0.
fn round(number: i32) -> f64 {
    let power = number.div_euclid(3);
    let digit = [1.0, 2.0, 5.0][number.rem_euclid(3) as usize];
    match power {
        0.. => digit * 10_f64.powi(power),
        // So that 0.2 is what it looks like.
        _ => digit / 10_f64.powi(-power),
    }
}

/// The numbers of the round numbers that are not below `value` and not above it, down to a millionth.
fn step_above(value: f64) -> i32 {
    (-18..).find(|&number| round(number) >= value).unwrap_or(0)
}

fn step_below(value: f64) -> i32 {
    let above = step_above(value);
    if round(above) > value {
        above - 1
    } else {
        above
    }
}

impl Plot {
    pub(crate) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let across = Axis::over(self.scale, points().map(|point| point.0));
        let times = points().map(|point| point.1);
        let up = Axis::over(Scale::of(times.clone()), times);
        let (left, right) = (MARGIN, WIDTH - NAMES);
        let (top, bottom) = (MARGIN / 2.0, HEIGHT - MARGIN);
        let x = |value| left + across.place(value) * (right - left);
        let y = |value| bottom - up.place(value) * (bottom - top);

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for &tick in &across.ticks {
            svg += &text(x(tick), bottom + 20.0, "middle", &tick.to_string());
        }
        for &tick in &up.ticks {
            let at = y(tick);
            svg += &format!("<path d=\"M{left} {at:.1}H{right}\" stroke=\"#dddddd\"/>\n");
            svg += &text(left - 6.0, at + 4.0, "end", &tick.to_string());
        }
        let scale = match Scale::of(points().map(|point| point.1)) {
            Scale::Linear => "",
            Scale::Logarithmic => " (logarithmic)",
        };
        let title = format!("Milliseconds{scale} by {}", self.across);
        svg += &format!("<title>{title}</title>\n");
        svg += &text(left, top - 12.0, "start", &title);
        svg += &text((left + right) / 2.0, HEIGHT - 16.0, "middle", self.across);
        for (number, line) in (0_u32..).zip(&self.lines) {
            let places = line.points.iter().map(|&(at, time)| (x(at), y(time)));
            let name = (right + 20.0, top + 4.0 + 18.0 * f64::from(number));
            svg += &line.svg(places.collect(), name);
        }
        svg + "</svg>\n"
    }
}

impl Line {
    /// With its points at `places`, and its name at `name`.
    fn svg(&self, places: Vec<(f64, f64)>, (right, down): (f64, f64)) -> String {
        let Line { colour, dashes, .. } = self;
        let stroke = format!(
            "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\""
        );
        let points: Vec<_> = places
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let mut svg = format!("<polyline points=\"{}\" {stroke}/>\n", points.join(" "));
        for (x, y) in places {
            svg += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>\n");
        }
        svg += &format!("<path d=\"M{right} {:.1}h24\" {stroke}/>\n", down - 4.0);
        svg + &text(right + 30.0, down, "start", &self.name)
    }
}

fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

#[cfg(test)]
mod tests {
    use super::{Axis, Scale};

    #[test]
    fn an_axis_ends_at_round_numbers() {
        let axis = |scale, values: &[f64]| Axis::over(scale, values.iter().copied());
        let files = axis(Scale::Logarithmic, &[100.0, 1300.0]);
        assert_eq!(files.ticks, [100.0, 200.0, 500.0, 1000.0, 2000.0]);
        assert!((files.place(2000.0) - 1.0).abs() < 1e-9);
        let times = axis(Scale::Logarithmic, &[0.3]);
        assert_eq!(times.ticks, [0.2, 0.5]);
        // One value is not nothing.
        assert_eq!(axis(Scale::Logarithmic, &[10.0]).ticks, [10.0, 20.0]);

        let commits = axis(Scale::Linear, &[5.0, 0.7]);
        assert_eq!(commits.ticks.len(), 11);
        assert!((commits.place(2.5) - 0.5).abs() < 1e-9);
        assert_eq!(axis(Scale::Linear, &[4.3]).ticks.last(), Some(&4.5));
    }
}
