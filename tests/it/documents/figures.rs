//! Figures of speed have one source, `benches/figures.json`: its measurements name the pages that show them.
//!
//! A figure is a number before a unit (`ms`, `seconds`, `times`, `%`), in a column of a table with a unit in its header, or at a
//! bar of a chart; code has none. It must round a value of a measurement for its page, or the quotient of two durations of one
//! result, or their difference in percent. The file also lists, for each page, numbers with such units that nobody measured.

use std::{fs, ops::RangeInclusive};

use regex::Regex;
use serde_json::Value;

use super::{read, root};

#[test]
fn figures_are_measured() {
    let file = read(&root().join("benches/figures.json"));
    let file: Value = serde_json::from_str(&file).expect("JSON");
    let docs = fs::read_dir(root().join("docs"));
    let docs = docs
        .expect("ours")
        .map(|it| format!("docs/{}", it.expect("readable").file_name().display()));
    let docs = docs.filter(|it| it.ends_with(".md") || it.ends_with(".svg"));
    let shown: Vec<_> = docs
        .chain(
            [
                "README.md",
                "CHANGELOG.md",
                "examples/zoekt-index/README.md",
            ]
            .map(Into::into),
        )
        .collect();
    let mut unknown = Vec::new();
    for page in &shown {
        let values = values(&file, page);
        for (number, unit) in figures(page) {
            let (range, of) = rounded(&number, &unit);
            let is_measured = values.iter().any(|it| it.1 == of && range.contains(&it.0));
            if !is_measured
                && !items(&file["not measured"][page]).any(|it| *it == format!("{number} {unit}"))
            {
                unknown.push(format!("{page}: {number} {unit}"));
            }
        }
    }
    assert!(unknown.is_empty(), "without a measurement: {unknown:#?}");
    for page in items(&file["measurements"]).flat_map(|it| items(&it["pages"])) {
        assert!(shown.iter().any(|it| it == page), "there is no {page}");
    }
}

/// What the measurements for `page` support, with units.
fn values<'a>(file: &'a Value, page: &str) -> Vec<(f64, &'a str)> {
    let mut values = Vec::new();
    let measurements = items(&file["measurements"]);
    for measurement in measurements.filter(|it| items(&it["pages"]).any(|it| it == page)) {
        let unit = measurement["unit"].as_str().expect("a unit");
        for result in items(&measurement["results"]) {
            let numbers: Vec<_> = items(result).filter_map(Value::as_f64).collect();
            values.extend(numbers.iter().map(|it| (*it, unit)));
            for one in numbers.iter().filter(|_| unit == "ms") {
                let quotients = numbers.iter().map(|other| one / other);
                values.extend(quotients.clone().map(|it| (it, "times")));
                values.extend(quotients.map(|it| ((it - 1.0).abs() * 100.0, "%")));
            }
        }
    }
    values
}

/// The elements of an array, or the values of an object.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    let fields = value.as_object().into_iter().flat_map(|it| it.values());
    value.as_array().into_iter().flatten().chain(fields)
}

/// All figures of a page or a chart, with units.
fn figures(page: &str) -> Vec<(String, String)> {
    let mut text = read(&root().join(page));
    if page.ends_with(".svg") {
        let unit = ["ms", "times"][usize::from(text.contains("<title>Times"))];
        let bars = regex("(<rect x=[^>]*>\n<text[^>]*>[0-9.,]+)");
        text = bars.replace_all(&text, format!("$1 {unit}")).into_owned();
        text = regex("<[^>]*>").replace_all(&text, " ").into_owned();
    }
    let code = regex("(?s)```.*?```|`[^`]*`");
    let text = cells(&text) + &code.replace_all(&text, "`");
    let unit = "(ms|s|seconds?|milliseconds?|times|%)(?:[^a-z]|$)";
    let figure = format!("(?:([0-9][0-9.,]*)[ \n]+(?:to|and)[ \n]+)?([0-9][0-9.,]*)[ \n]*{unit}");
    let mut figures = Vec::new();
    for found in regex(&figure).captures_iter(&text) {
        let numbers = [found.get(1), found.get(2)].into_iter().flatten();
        figures.extend(numbers.map(|it| (it.as_str().to_owned(), found[3].to_owned())));
    }
    figures
}

/// The first number of each cell below a header with a unit, with that unit.
fn cells(text: &str) -> String {
    let unit = regex("[ ,](ms|s|times)(?:[ ,]|$)");
    let number = regex("^[| *]*([0-9][0-9.,]*)(?:[ *]|$)");
    let (mut units, mut found) = (Vec::new(), String::new());
    for line in text.lines() {
        let cells: Vec<_> = line.split(" |").collect();
        if !line.starts_with('|') {
            units.clear();
        } else if units.is_empty() {
            units = cells.iter().map(|cell| unit.captures(cell)).collect();
            continue;
        }
        for (cell, unit) in cells.iter().zip(&units) {
            if let (Some(number), Some(unit)) = (number.captures(cell), unit) {
                found += &format!("{} {}\n", &number[1], &unit[1]);
            }
        }
    }
    found
}

/// The values that a page may round to `number`, and their unit.
fn rounded<'a>(number: &str, unit: &'a str) -> (RangeInclusive<f64>, &'a str) {
    let is_ratio = ["times", "%"].contains(&unit);
    let factor = if unit.starts_with('s') { 1000.0 } else { 1.0 };
    let number = number.replace(',', "");
    let decimals = number.split_once('.').map_or(0, |(_, it)| it.len());
    let half = 0.501 / 10_f64.powi(i32::try_from(decimals).expect("few"));
    let number: f64 = number.parse().expect("a number");
    let range = (number - half) * factor..=(number + half) * factor;
    (range, if is_ratio { unit } else { "ms" })
}

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("valid")
}
