//! Exceptions from the size limit: zoekt's `-large_file`, an ordered list of globs.
//!
//! The last matching glob decides; a `!` before it denies the exception. The module knows no sizes.

use std::sync::Arc;

use bstr::ByteSlice;

use sluice_indexers::doublestar::Doublestar;

/// The exceptions from a size limit, in order. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LargeFiles {
    rules: Arc<[LargeRule]>,
}

/// One glob of the list.
#[derive(Debug)]
pub struct LargeRule {
    text: Vec<u8>,
    allows: bool,
    /// The compiled glob. `None` for a malformed glob, which matches nothing.
    pattern: Option<Doublestar>,
}

impl LargeFiles {
    /// Parse `globs`, each with an optional leading `!` and surrounding white space.
    pub fn new<'a>(globs: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let rules = globs.into_iter().map(LargeRule::new).collect();
        Self { rules }
    }

    /// Whether the file at `path` may be larger than the limit.
    pub fn allows(&self, path: &[u8]) -> bool {
        self.rule(path).is_some_and(LargeRule::allows)
    }

    /// The rule that decides about `path`, if there is one.
    pub fn rule(&self, path: &[u8]) -> Option<&LargeRule> {
        let mut rules = self.rules.iter().rev();
        rules.find(|rule| rule.pattern.as_ref().is_some_and(|it| it.is_match(path)))
    }
}

impl LargeRule {
    fn new(text: &[u8]) -> Self {
        let text = text.trim();
        let negated = text.strip_prefix(b"!");
        Self {
            text: text.to_vec(),
            allows: negated.is_none(),
            pattern: Doublestar::new(negated.unwrap_or(text)),
        }
    }

    /// Whether matching files may be larger than the limit.
    pub fn allows(&self) -> bool {
        self.allows
    }

    /// The text of the rule, without surrounding white space.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::LargeFiles;

    fn list(globs: &[&str]) -> LargeFiles {
        LargeFiles::new(globs.iter().map(|glob| glob.as_bytes()))
    }

    /// The results of zoekt's own options.
    #[test]
    fn the_last_glob_that_matches_decides() {
        let cases: [(&[&str], &[&str], &[&str]); 24] = [
            (&["foo.txt"], &["foo.txt"], &["a/foo.txt"]),
            (&["/foo.txt"], &[], &["foo.txt"]),
            (&["*.txt"], &["foo.txt"], &["a/foo.txt"]),
            (&["**/*.txt"], &["foo.txt", "a/b/foo.txt"], &[]),
            (&["**.txt"], &["foo.txt"], &["a/foo.txt"]),
            (&["**"], &["a", "a/b", "!x"], &[]),
            (&["vendor/**"], &["vendor/a/b", "vendor"], &["xvendor/a"]),
            (&["vendor/", "vendor"], &[], &["vendor/x"]),
            (&["a/**/z"], &["a/z", "a/b/c/z"], &[]),
            (&["**/*.{js,css}"], &["a.js", "d/e/b.css"], &[]),
            (&["[a-z]?.go"], &["ab.go"], &["Ab.go", "a.go"]),
            (&["[!a]b"], &["xb"], &["ab"]),
            (&["[^a]b"], &["xb"], &["ab"]),
            (
                &["*.json", "!package.json"],
                &["a.json"],
                &["package.json", "d/a.json"],
            ),
            (&["!package.json", "*.json"], &["package.json"], &[]),
            (
                &["**/*.json", "!**/gen/**", "gen/keep.json"],
                &["a.json", "gen/keep.json"],
                &["gen/x.json", "y/gen/z.json"],
            ),
            (&[r"\!bang.txt"], &["!bang.txt"], &["bang.txt"]),
            (&["**", "!!bang.txt"], &["bang.txt"], &["!bang.txt"]),
            (&[" foo.txt\t"], &["foo.txt"], &[]),
            (&["! foo.txt", "foo.txt"], &["foo.txt"], &[]),
            (&["[", "foo.txt", "["], &["foo.txt"], &["["]),
            (&["caf?.txt"], &["café.txt"], &[]),
            (&["a**/b"], &["ax/b", "a/b"], &["ax/y/b"]),
            (&["FOO.txt"], &[], &["foo.txt"]),
        ];
        for (globs, yes, no) in cases {
            let files = list(globs);
            for path in yes {
                assert!(files.allows(path.as_bytes()), "{globs:?} {path}");
            }
            for path in no {
                assert!(!files.allows(path.as_bytes()), "{globs:?} {path}");
            }
        }
    }

    #[test]
    fn the_rule_that_decided_can_be_named() {
        let files = list(&["*.c", " !b.c "]);
        let rule = files.rule(b"b.c").expect("two match");
        assert_eq!((rule.text(), rule.allows()), (&b"!b.c"[..], false));
        assert!(files.rule(b"b.h").is_none());
        assert!(!list(&[]).allows(b"a"));
    }
}
