//! Expectations: a file with the differences that a user expects of a package. Each line has a class and a pattern.

use std::{collections::HashSet, io::Write};

use bstr::{BStr, ByteSlice};

use super::class::Class;
use sluice_base::{
    error::{Error, Result, format_bytes, printable_path},
    io::print_line,
};
use sluice_core::filter::{
    exclude::{Exclude, rules},
    rule::Rule,
};

/// The longest path that is compared with patterns, in bytes.
const PATH_MAX: usize = 64 << 10;

/// The differences that are expected.
#[derive(Default)]
pub(super) struct Expectations {
    /// The patterns for each class.
    classes: Vec<(Class, Exclude)>,
    /// All rules, in order.
    rules: Vec<Rule>,
}

/// The lines that matched something.
pub(super) type Met = HashSet<Option<usize>>;

impl Expectations {
    /// The expectations in the `text` of the file that is called `name`.
    pub(super) fn parse(name: &[u8], text: &[u8]) -> Result<Self> {
        let mut classes: Vec<_> = Class::expectable().map(|it| (it, Vec::new())).collect();
        let mut all = Vec::new();
        for mut rule in rules(name, text) {
            let line = rule.pattern.trim_start();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let end = line.find_byteset(" \t").unwrap_or(line.len());
            let (word, pattern) = (&line[..end], line[end..].trim_start());
            let mut classes = classes.iter_mut();
            let class = classes.find(|(class, _)| class.as_str().as_bytes() == word);
            let class = class.filter(|_| !pattern.is_empty());
            let (_, patterns) = class.ok_or_else(|| refused(name, &rule))?;
            rule.pattern = pattern.into();
            patterns.push(rule.clone());
            all.push(rule);
        }
        let classes = classes.into_iter();
        let classes = classes.map(|(class, rules)| (class, Exclude::new(rules)));
        Ok(Self {
            classes: classes.collect(),
            rules: all,
        })
    }

    /// Whether a difference of this `class` is expected at `path` or at a directory above it. The lines that match are `met`.
    pub(super) fn expects(&self, class: Class, path: &[u8], met: &mut Met) -> bool {
        let Some((_, patterns)) = self.classes.iter().find(|(of, _)| *of == class) else {
            return false;
        };
        // No file system takes a longer path, and each directory of it would be looked at.
        if patterns.is_empty() || path.len() > PATH_MAX {
            return false;
        }
        let mut excludes = |path: &[u8], is_directory| {
            let decision = patterns.decide(path, is_directory);
            decision.is_some_and(|decision| {
                let _ = met.insert(decision.rule.line);
                decision.excludes
            })
        };
        let mut above = path.find_iter("/").map(|end| &path[..end]);
        above.any(|it| excludes(it, true)) || excludes(path, false)
    }

    /// Warns on `messages` of the lines that matched no difference: all but those `met`.
    pub(super) fn warn(&self, met: &Met, messages: &mut dyn Write) {
        for rule in self.rules.iter().filter(|rule| !met.contains(&rule.line)) {
            let words = format_bytes("{} matches no difference", &[&rule.words()]);
            print_line(messages, "warning: ", &words);
        }
    }
}

fn refused(name: &[u8], rule: &Rule) -> Error {
    let classes: Vec<_> = Class::expectable().map(Class::as_str).collect();
    let number = rule.line.unwrap_or_default().to_string();
    let values = [&printable_path(BStr::new(name))[..], number.as_bytes()];
    Error::usage(format_bytes(
        "--expect='{}': line {} has no class and pattern",
        &values,
    ))
    .hinted(format!("the classes are {}", classes.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{Class, Expectations, Met};

    #[test]
    fn the_class_and_the_pattern_decide() {
        let text = b"# what autotools add\nadded configure\n added  m4/\n\nmissing .github/**\r\nadded !m4/own\n";
        let expected = Expectations::parse(b"x", text).expect("expectations");
        let mut met = Met::new();
        for (class, path, is_expected) in [
            (Class::Added, "configure", true),
            (Class::Added, "a/configure", true),
            (Class::Changed, "configure", false),
            (Class::Added, "m4/x", true),
            (Class::Added, "m4", false),
            (Class::Missing, ".github/a/b", true),
            (Class::Missing, "m4/x", false),
            (Class::Doubt, "configure", false),
        ] {
            assert_eq!(
                expected.expects(class, path.as_bytes(), &mut met),
                is_expected,
                "{class:?} {path}"
            );
        }
        let mut messages = Vec::new();
        expected.warn(&met, &mut messages);
        let words = String::from_utf8(messages).expect("text");
        assert_eq!(words, "warning: '!m4/own' (x:6) matches no difference\n");
    }

    #[test]
    fn other_lines_are_refused() {
        for text in [
            "configure",
            "added",
            "same x",
            "doubt *",
            "twice *",
            "Added x",
            "added\n",
        ] {
            assert!(
                Expectations::parse(b"x", text.as_bytes()).is_err(),
                "{text}"
            );
        }
    }
}
