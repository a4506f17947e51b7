//! Matches paths against wildcards as git does (wildmatch.c): in attribute files, pathspecs and conditions of the configuration.
//!
//! Not gix's port: it takes a reversed range for one that is not, and folds the case of sets, which git does not.

/// As deep as `*` may lead into `*`. Only a pathspec of thousands of wildcards gets there.
const MAX_DEPTH: usize = 1024;

/// How wildcards match.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wildmatch {
    /// Whether only `**` matches a slash.
    pub slashes_count: bool,
    /// Whether the case of ASCII letters does not matter.
    pub ignores_case: bool,
}

/// The end of a comparison. Those that abort tell the stars before that it is no use to go on.
#[derive(PartialEq, Eq)]
enum Outcome {
    Match,
    NoMatch,
    AbortAll,
    AbortToStarStar,
}

use Outcome::{AbortAll, AbortToStarStar, Match, NoMatch};

/// The byte at `position`, or a zero after the end, as in C. No path and no pattern has a zero.
fn at(text: &[u8], position: usize) -> u8 {
    text.get(position).copied().unwrap_or(0)
}

impl Wildmatch {
    /// Whether `pattern` matches all of `text`.
    pub fn matches(self, pattern: &[u8], text: &[u8]) -> bool {
        self.compare(pattern, text, 0) == Match
    }

    fn folded(self, byte: u8) -> u8 {
        if self.ignores_case {
            byte.to_ascii_lowercase()
        } else {
            byte
        }
    }

    fn compare(self, pattern: &[u8], text: &[u8], depth: usize) -> Outcome {
        let (mut p, mut t) = (0, 0);
        while p < pattern.len() {
            let byte = self.folded(at(text, t));
            match self.folded(pattern[p]) {
                b'*' => match self.star(pattern, p, &text[t.min(text.len())..], depth) {
                    // A star and a slash: the directory is passed.
                    Err((next, slash)) => (p, t) = (next, t + slash),
                    Ok(outcome) => return outcome,
                },
                _ if byte == 0 => return AbortAll,
                b'?' if self.slashes_count && byte == b'/' => return NoMatch,
                b'?' => {}
                b'[' => {
                    let Some((is_member, end)) = self.set(pattern, p, byte) else {
                        return AbortAll;
                    };
                    if !is_member || (self.slashes_count && byte == b'/') {
                        return NoMatch;
                    }
                    p = end;
                }
                b'\\' => {
                    p += 1;
                    if at(pattern, p) != byte {
                        return NoMatch;
                    }
                }
                literal if literal != byte => return NoMatch,
                _ => {}
            }
            p += 1;
            t += 1;
        }
        if t < text.len() { NoMatch } else { Match }
    }

    /// Compares from the star at `p` on. Or else the star is one directory: returns the position of the slash after it in the
    /// pattern, and in `text`.
    fn star(
        self,
        pattern: &[u8],
        star: usize,
        text: &[u8],
        depth: usize,
    ) -> Result<Outcome, (usize, usize)> {
        if depth == MAX_DEPTH {
            return Ok(AbortAll);
        }
        let stars = pattern[star..].iter().take_while(|byte| **byte == b'*');
        let stars = stars.count();
        let p = star + stars;
        let rest = &pattern[p..];
        let is_component = (star == 0 || pattern[star - 1] == b'/')
            && (rest.is_empty() || rest.starts_with(b"/") || rest.starts_with(b"\\/"));
        let crosses = !self.slashes_count || (stars > 1 && is_component);
        if self.slashes_count
            && crosses
            && rest.first() == Some(&b'/')
            && self.compare(&rest[1..], text, depth + 1) == Match
        {
            // Two stars and a slash may also be nothing.
            return Ok(Match);
        }
        let slash = text.iter().position(|byte| *byte == b'/');
        if rest.is_empty() {
            let is_over = crosses || slash.is_none();
            return Ok(if is_over { Match } else { AbortToStarStar });
        }
        if !crosses && rest[0] == b'/' {
            return slash.map_or(Ok(AbortAll), |slash| Err((p, slash)));
        }
        Ok(self.after_star(rest, text, crosses, depth))
    }

    /// Compares `rest`, which follows a star, with each end of `text` that the star leaves.
    fn after_star(self, rest: &[u8], text: &[u8], crosses: bool, depth: usize) -> Outcome {
        let is_special = matches!(rest[0], b'*' | b'?' | b'[' | b'\\');
        let literal = self.folded(rest[0]);
        let mut t = 0;
        while t < text.len() {
            if !is_special {
                // All up to the next byte of this kind belongs to the star.
                let is_end =
                    |byte: &u8| self.folded(*byte) == literal || (!crosses && *byte == b'/');
                t += text[t..].iter().position(is_end).unwrap_or(text.len() - t);
                if self.folded(at(text, t)) != literal {
                    return if crosses { AbortAll } else { AbortToStarStar };
                }
            }
            match self.compare(rest, &text[t..], depth + 1) {
                NoMatch if !crosses && at(text, t) == b'/' => return AbortToStarStar,
                NoMatch => {}
                AbortToStarStar if crosses => {}
                outcome => return outcome,
            }
            t += 1;
        }
        AbortAll
    }

    /// Whether the set that begins at `p` has `byte`, and where it ends. `None` if it does not end, or has an unknown class.
    fn set(self, pattern: &[u8], mut p: usize, byte: u8) -> Option<(bool, usize)> {
        p += 1;
        let is_negated = matches!(at(pattern, p), b'!' | b'^');
        p += usize::from(is_negated);
        let (mut previous, mut is_member) = (0, false);
        loop {
            let mut member = at(pattern, p);
            match member {
                0 => return None,
                b'\\' => {
                    p += 1;
                    member = at(pattern, p);
                    if member == 0 {
                        return None;
                    }
                    is_member |= byte == member;
                }
                b'-' if previous != 0 && !matches!(at(pattern, p + 1), 0 | b']') => {
                    p += 1;
                    if at(pattern, p) == b'\\' {
                        p += 1;
                    }
                    let last = at(pattern, p);
                    if last == 0 {
                        return None;
                    }
                    is_member |= self.is_between(byte, previous, last);
                    member = 0;
                }
                b'[' if at(pattern, p + 1) == b':' => match class_end(pattern, p)? {
                    Some(end) => {
                        is_member |= self.is_in_class(byte, &pattern[p + 2..end - 1])?;
                        p = end;
                        member = 0;
                    }
                    None => is_member |= byte == b'[',
                },
                _ => is_member |= byte == member,
            }
            previous = member;
            p += 1;
            if at(pattern, p) == b']' {
                return Some((is_member != is_negated, p));
            }
        }
    }

    fn is_between(self, byte: u8, first: u8, last: u8) -> bool {
        let is_in = |byte: u8| (first..=last).contains(&byte);
        is_in(byte)
            || (self.ignores_case && byte.is_ascii_lowercase() && is_in(byte.to_ascii_uppercase()))
    }

    /// Whether `byte` is in the class `name`. `None` if there is no such class.
    fn is_in_class(self, byte: u8, name: &[u8]) -> Option<bool> {
        Some(match name {
            b"alnum" => byte.is_ascii_alphanumeric(),
            b"alpha" => byte.is_ascii_alphabetic(),
            b"blank" => matches!(byte, b' ' | b'\t'),
            b"cntrl" => byte.is_ascii_control(),
            b"digit" => byte.is_ascii_digit(),
            b"graph" => byte.is_ascii_graphic(),
            b"lower" => byte.is_ascii_lowercase(),
            b"print" => byte == b' ' || byte.is_ascii_graphic(),
            b"punct" => byte.is_ascii_punctuation(),
            b"space" => matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
            b"upper" => {
                byte.is_ascii_uppercase() || (self.ignores_case && byte.is_ascii_lowercase())
            }
            b"xdigit" => byte.is_ascii_hexdigit(),
            _ => return None,
        })
    }
}

/// The position of the bracket that ends the class which begins at `p`. The inner `None` means that no class begins there, the
/// outer one that the set does not end.
fn class_end(pattern: &[u8], p: usize) -> Option<Option<usize>> {
    let name = pattern.get(p + 2..)?;
    let len = name.iter().position(|byte| *byte == b']')?;
    let is_class = len > 0 && name[len - 1] == b':';
    Some(is_class.then_some(p + 2 + len))
}

#[cfg(test)]
mod tests {
    use super::Wildmatch;

    /// Rows of t3070-wildmatch.sh of git, and what differs from other ports: pattern, text, whether they match if slashes count,
    /// if they do not, and with slashes and without case.
    const ROWS: [(&str, &str, [bool; 3]); 30] = [
        ("foo", "foo", [true; 3]),
        ("", "", [true; 3]),
        ("???", "foo", [true; 3]),
        ("??", "foo", [false; 3]),
        ("*f", "foo", [false; 3]),
        ("*ob*a*r*", "foobar", [true; 3]),
        ("*\\*x", "aaaaaaab*x", [true; 3]),
        ("[ten]", "ten", [false; 3]),
        ("t[a-g]n", "ten", [true; 3]),
        ("t[!a-g]n", "ten", [false; 3]),
        ("a[]-]b", "a]b", [true; 3]),
        ("foo*bar", "foo/baz/bar", [false, true, false]),
        ("foo**bar", "foo/baz/bar", [false, true, false]),
        ("foo/**/bar", "foo/bar", [true, false, true]),
        ("foo/**/**/bar", "foo/b/a/z/bar", [true; 3]),
        ("**/foo", "bar/foo", [true; 3]),
        ("*/*/*", "foo/bar", [false; 3]),
        ("**/t[o]", "foo/bar/baz/to", [true; 3]),
        (
            "[[:alpha:]][[:digit:]][[:upper:]]",
            "a1B",
            [true, true, true],
        ),
        ("[[:digit:][:upper:][:space:]]", "a", [false, false, true]),
        ("[[:xdigit:]]", "5", [true; 3]),
        ("[[:bogus:]]", "b", [false; 3]),
        ("[a-c]b*", "a:b", [false; 3]),
        ("[\\-^]", "-", [true; 3]),
        ("[z-a]*", "m", [false; 3]),
        ("[Z-A]", "m", [false; 3]),
        ("[A-Z]", "a", [false, false, true]),
        ("[B]", "b", [false; 3]),
        (
            "-*-*-*-*-*-*-12-*-*-*-m-*-*-*",
            "-adobe-courier-bold-o-normal--12-120-75-75-m-70-iso8859-1",
            [true; 3],
        ),
        (
            "**/*a*b*g*n*t",
            "abcd/abcdefg/abcdefghijk/abcdefghijklmnop.txt",
            [true; 3],
        ),
    ];

    #[test]
    fn rows_of_git() {
        for (pattern, text, expected) in ROWS {
            let modes = [(true, false), (false, false), (true, true)];
            let found = modes.map(|(slashes_count, ignores_case)| {
                let wildmatch = Wildmatch {
                    slashes_count,
                    ignores_case,
                };
                wildmatch.matches(pattern.as_bytes(), text.as_bytes())
            });
            assert_eq!(found, expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_long_pattern_ends() {
        let pattern = "*a".repeat(100_000);
        assert!(!Wildmatch::default().matches(pattern.as_bytes(), &b"a".repeat(200_000)));
    }
}
