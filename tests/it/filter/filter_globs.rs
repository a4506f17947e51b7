//! Rules that decide by name, against the plainest matcher there is: what is filed, settled early or
//! pruned must be what one pattern after the other would say.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sluice_core::filter::{access::AccessRules, ignore::Ignore};
use sluice_indexers::glob::Glob;

/// An element of a pattern, as written.
#[derive(Debug)]
enum Part {
    Text(char),
    Star,
    Stars,
    One,
    Class(bool, Vec<char>),
    Range(bool, char, char),
    Choice(Vec<Vec<Part>>),
}

/// What a pattern consists of up to the end of the group it is in.
struct Reader<'a>(std::iter::Peekable<std::str::Chars<'a>>);

impl Reader<'_> {
    fn all(pattern: &str) -> Option<Vec<Part>> {
        let mut reader = Reader(pattern.chars().peekable());
        let mut alternatives = reader.alternatives(false)?;
        alternatives.pop()
    }

    fn alternatives(&mut self, in_group: bool) -> Option<Vec<Vec<Part>>> {
        let mut all = vec![Vec::new()];
        while let Some(next) = self.0.next() {
            let part = match next {
                '*' if self.0.next_if_eq(&'*').is_some() => Part::Stars,
                '*' => Part::Star,
                '?' => Part::One,
                '[' => self.class()?,
                '{' => Part::Choice(self.alternatives(true)?),
                '}' if in_group => break,
                ',' if in_group => {
                    all.push(Vec::new());
                    continue;
                }
                '\\' => match self.0.next() {
                    Some(escaped) => Part::Text(escaped),
                    None => continue,
                },
                text => Part::Text(text),
            };
            all.last_mut()?.push(part);
        }
        Some(all)
    }

    fn class(&mut self) -> Option<Part> {
        let negated = self.0.next_if_eq(&'!').is_some();
        let first = self.0.next()?;
        if self.0.next_if_eq(&'-').is_some() {
            let last = self.0.next()?;
            let is_sound = first <= last && self.0.next()? == ']';
            return is_sound.then_some(Part::Range(negated, first, last));
        }
        let mut members = Vec::new();
        let mut next = first;
        while next != ']' {
            members.push(if next == '\\' { self.0.next()? } else { next });
            next = self.0.next()?;
        }
        (!members.is_empty()).then_some(Part::Class(negated, members))
    }
}

/// Whether `parts`, and then `rest`, match all of `text`.
fn matches(parts: &[Part], text: &[char], rest: &dyn Fn(&[char]) -> bool) -> bool {
    let Some((part, parts)) = parts.split_first() else {
        return rest(text);
    };
    let one = |accepts: &dyn Fn(char) -> bool| match text.split_first() {
        Some((first, text)) => accepts(*first) && matches(parts, text, rest),
        None => false,
    };
    let run = |within: &[char]| (0..=within.len()).any(|at| matches(parts, &text[at..], rest));
    match part {
        Part::Text(literal) => one(&|found| found == *literal),
        Part::One => one(&|found| found != '/'),
        Part::Class(negated, members) => one(&|found| members.contains(&found) != *negated),
        Part::Range(negated, low, high) => {
            one(&|found| (*low..=*high).contains(&found) != *negated)
        }
        Part::Star => run(text.split(|found| *found == '/').next().unwrap_or_default()),
        Part::Stars => run(text),
        Part::Choice(alternatives) => {
            let rest: &dyn Fn(&[char]) -> bool = &|text| matches(parts, text, rest);
            alternatives.iter().any(|parts| matches(parts, text, rest))
        }
    }
}

/// The one exception to the textbook: `prefix**suffix`, which may overlap.
fn overlap(parts: &[Part], text: &[char]) -> bool {
    let stars = |part: &Part| matches!(part, Part::Stars);
    let Some(first) = parts.iter().position(stars) else {
        return false;
    };
    let ends = [
        &parts[..first],
        &parts[parts.iter().rposition(stars).unwrap_or(first) + 1..],
    ];
    let is_text = |part: &[Part]| match part {
        [Part::Class(false, members)] => members.len() == 1,
        [Part::Range(false, low, high)] => low == high,
        part => !part.is_empty() && part.iter().all(|part| matches!(part, Part::Text(_))),
    };
    let between = &parts[first..parts.len() - ends[1].len()];
    let all = |_: &[char]| true;
    ends.iter().all(|end| is_text(end))
        && between.iter().all(stars)
        && matches(ends[0], text, &all)
        && (0..=text.len()).any(|at| matches(ends[1], &text[at..], &<[char]>::is_empty))
}

/// Whether `pattern` matches `path`; none if it is no pattern.
fn slow(pattern: &str, path: &str) -> Option<bool> {
    let parts = Reader::all(pattern)?;
    let path: Vec<char> = path.chars().collect();
    Some(matches(&parts, &path, &<[char]>::is_empty) || overlap(&parts, &path))
}

fn pattern() -> impl Strategy<Value = String> {
    let any = vec(select(r"ab/.*?[]!-{},\".chars().collect::<Vec<_>>()), 0..10);
    // Of which more are sound, and more match.
    const PARTS: &[&str] = &[
        "a", "b", "é", "/", "/", ".b", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "[a-é]",
        "{a,b}", "{*a,/}", "{,b/**}", "a/b", "/a/",
    ];
    prop_oneof![
        any.prop_map(String::from_iter),
        vec(select(PARTS), 1..7).prop_map(|parts| parts.concat()),
        vec(select(PARTS), 0..4).prop_map(|parts| parts.concat() + "**"),
    ]
}

fn path() -> impl Strategy<Value = String> {
    const COMPONENTS: &[&str] = &["a", "b", "ab", "é", ".b", "b.b", "aa", "{a", "a]"];
    vec(select(COMPONENTS), 1..5).prop_map(|components| components.join("/"))
}

/// Lines that are sound.
fn lines(sign: &'static str) -> impl Strategy<Value = Vec<String>> {
    let line = pattern().prop_filter("a pattern", |pattern| {
        Glob::new(pattern.as_bytes()).is_ok() && !pattern.contains('#')
    });
    let line = (any::<bool>(), line).prop_map(move |(signed, line)| {
        if signed {
            format!("{sign}{line}")
        } else {
            line
        }
    });
    vec(line.prop_filter("not blank", |line| !line.is_empty()), 0..8)
}

/// What a line of an ignore file stands for.
fn meant(line: &str) -> String {
    let pattern = line.strip_prefix('/').unwrap_or(line);
    if pattern.contains(['.', ']', '[', '*', '?']) {
        pattern.to_owned()
    } else {
        format!("{pattern}**")
    }
}

/// All directories above `path`, the root included.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.match_indices('/').map(|(slash, _)| &path[..slash]);
    std::iter::once("").chain(slashes)
}

/// What the last of the rules that match says, each expanded.
fn slow_access(rules: &[String], path: &str) -> bool {
    let path = format!("/{path}");
    let last = rules.iter().rev().find_map(|rule| {
        let (includes, rule) = match rule.strip_prefix('-') {
            Some(rule) => (false, rule),
            None => (true, rule.as_str()),
        };
        let rule = format!("{}{rule}", if rule.starts_with('/') { "" } else { "/" });
        let mut at_root = rule.as_str();
        while at_root.starts_with("/**/") {
            at_root = &at_root[3..];
        }
        let matches = |rule| slow(rule, &path) == Some(true);
        (matches(&rule) || matches(at_root)).then_some(includes)
    });
    last.unwrap_or(false)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: Some(Box::new(
            proptest::test_runner::FileFailurePersistence::WithSource("regressions"),
        )),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_glob_matches_as_in_the_textbook(pattern in pattern(), paths in vec(path(), 1..20)) {
        let glob = Glob::new(pattern.as_bytes()).ok();
        for path in paths.iter().map(String::as_str).chain(["", "/", "a/", "a-"]) {
            let found = glob.as_ref().map(|glob| glob.is_match(path.as_bytes()));
            prop_assert_eq!(found, slow(&pattern, path), "{}", path);
        }
    }

    #[test]
    fn many_patterns_ignore_what_one_of_them_does(
        lines in lines("/"),
        paths in vec(path(), 1..20),
    ) {
        let mut ignore = Ignore::new();
        let text = lines.join("\n");
        // What a slash was taken from may be none.
        prop_assume!(ignore.add("test", text.as_bytes()).is_ok());
        for path in &paths {
            let expected = lines.iter().any(|line| slow(&meant(line), path) == Some(true));
            prop_assert_eq!(ignore.ignores(path.as_bytes()), expected, "{}", path);
            prop_assert_eq!(ignore.rule(path.as_bytes()).is_some(), expected, "{}", path);
            for directory in above(path).filter(|above| ignore.prunes(above.as_bytes())) {
                prop_assert!(expected, "{} below {}", path, directory);
                prop_assert!(ignore.pruning_rule(directory.as_bytes()).is_some());
            }
        }
    }

    #[test]
    fn the_last_rule_decides_and_directories_are_settled_no_other_way(
        rules in lines("-"),
        paths in vec(path(), 1..20),
    ) {
        // Some patterns can match no path, so they are no rules.
        let is_rule = |rule: &String| AccessRules::parse(rule.as_bytes()).is_ok();
        let rules: Vec<String> = rules.into_iter().filter(is_rule).collect();
        let access = AccessRules::parse(rules.join("\n").as_bytes()).ok();
        prop_assert!(access.is_some());
        for (access, path) in access.iter().flat_map(|access| paths.iter().map(move |path| (access, path))) {
            let expected = slow_access(&rules, path);
            prop_assert_eq!(access.allows(path.as_bytes()), expected, "{}", path);
            for above in above(path) {
                let directory = above.as_bytes();
                prop_assert!(!(expected && access.prunes(directory)), "{} below {}", path, above);
                prop_assert!(expected || !access.admits_all(directory), "{} below {}", path, above);
            }
        }
    }
}
