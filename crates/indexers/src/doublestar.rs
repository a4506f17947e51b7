//! Globs in the dialect of doublestar v4 (`PathMatch`), which zoekt uses for the names of large files.
//!
//! A pattern is matched against a whole path. `**` is special only as a whole component, where it also
//! matches no component; elsewhere `**` equals `*`. A malformed pattern never matches, and the time is
//! bounded by pattern times path. Quirks of doublestar are reproduced: the beginning of an alternative
//! counts as the beginning of a component, a star at the end of the path matches nothing only as the last
//! token of a pattern, a class can match a slash, and all invalid bytes are the same character.
//!
//! Deliberate differences concern patterns without practical use. doublestar detects mistakes only as far
//! as a path leads, so `{a,[}` matches `a`, and it splits classes with one of `{},` inside braces; here
//! both are malformed. doublestar does not try every match of a star before a class that matches a slash,
//! or before a final `**/`; this module does. And in doublestar the meaning of a star before braces that
//! may be empty (`**/a*{,b}`) depends on earlier attempts; here it does not.

/// Stands for every byte that is not UTF-8.
const NO_TEXT: char = char::REPLACEMENT_CHARACTER;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Doublestar {
    tokens: Vec<PatternToken>,
    /// For each token, and for the end: whether a path may end before it.
    ends: Vec<bool>,
}

#[derive(Clone, Debug)]
enum PatternToken {
    Star,
    Slash,
    /// `?`.
    Any,
    /// This character. An escaped slash is one too.
    One(char),
    Class(Class),
    /// `{`, with the first token of each alternative.
    Open(Vec<usize>),
    /// The end of an alternative, with the first token after the braces.
    Leave(usize),
}

#[derive(Clone, Debug)]
struct Class {
    negated: bool,
    ranges: Vec<(char, char)>,
}

/// How a token can be reached after a part of the path. Bits, since several ways are possible.
mod reached {
    /// After exactly this part, at the beginning of a component.
    pub(super) const START: u8 = 1;
    /// After exactly this part, elsewhere.
    pub(super) const INSIDE: u8 = 2;
    /// Also after more characters, up to the next slash.
    pub(super) const BY_STAR: u8 = 4;
    /// Also after more characters, at the beginning of any later component.
    pub(super) const BY_COMPONENTS: u8 = 8;
}
use reached::{BY_COMPONENTS, BY_STAR, INSIDE, START};

impl Doublestar {
    /// Compile `pattern`. `None` if it is malformed and matches nothing.
    pub fn new(pattern: &[u8]) -> Option<Self> {
        let text: Vec<char> = characters(pattern).collect();
        let mut tokens = Parser::new(&text).tokens()?;
        // From the end, so that one step leaves all braces that end at the same place.
        for at in (0..tokens.len()).rev() {
            if let PatternToken::Leave(target) = tokens[at] {
                tokens[at] = PatternToken::Leave(past(&tokens, target));
            }
        }
        let mut ends = vec![true; tokens.len() + 1];
        for at in (0..tokens.len()).rev() {
            ends[at] = match &tokens[at] {
                PatternToken::Open(starts) => starts.iter().any(|&start| ends[start]),
                PatternToken::Leave(target) => ends[*target],
                _ => may_be_nothing(&tokens, at),
            };
        }
        Some(Self { tokens, ends })
    }

    /// Whether the pattern matches all of `path`, which has no leading slash.
    pub fn is_match(&self, path: &[u8]) -> bool {
        // The ways in which each token is reached, updated for each character.
        let mut now = vec![0; self.tokens.len() + 1];
        let mut next = now.clone();
        now[0] = START;
        for character in characters(path) {
            next.fill(0);
            if self.step(character, &mut now, &mut next) {
                return true;
            }
            std::mem::swap(&mut now, &mut next);
        }
        let mut states = now.iter().zip(&self.ends);
        states.any(|(state, &end)| end && state & (START | INSIDE) != 0)
    }

    /// Advance from `now` to `next` by one character. True if every continuation matches.
    fn step(&self, character: char, now: &mut [u8], next: &mut [u8]) -> bool {
        for at in 0..now.len() {
            let state = now[at];
            if state & BY_STAR != 0 && character != '/' {
                next[at] |= BY_STAR | INSIDE;
            }
            if state & BY_COMPONENTS != 0 {
                next[at] |= BY_COMPONENTS;
                next[at] |= if character == '/' { START } else { 0 };
            }
            let here = state & (START | INSIDE);
            if here == 0 || at == self.tokens.len() {
                continue;
            }
            match &self.tokens[at] {
                PatternToken::Open(starts) => starts.iter().for_each(|&start| now[start] |= START),
                PatternToken::Leave(target) => now[*target] |= here,
                PatternToken::Star if self.star(at, here, now) => return true,
                PatternToken::Slash | PatternToken::One('/') if character == '/' => {
                    next[at + 1] |= START
                }
                token if token.takes(character) => next[at + 1] |= INSIDE,
                _ => {}
            }
        }
        false
    }

    /// Reach the token after the star or pair of stars at `at`. True if that is the end and any components
    /// may follow.
    fn star(&self, at: usize, here: u8, now: &mut [u8]) -> bool {
        let mut after = past(&self.tokens, at + 1);
        let mut single = true;
        if let Some(PatternToken::Star) = self.tokens.get(after) {
            after = past(&self.tokens, after + 1);
            if here & START != 0 {
                match self.tokens.get(after) {
                    None => return true,
                    Some(PatternToken::Slash) => {
                        now[after + 1] |= BY_COMPONENTS | START;
                        single = here & INSIDE != 0;
                    }
                    Some(_) => {}
                }
            }
        }
        if single {
            now[after] |= BY_STAR | INSIDE;
        }
        false
    }
}

impl PatternToken {
    /// Whether the token matches this one character.
    fn takes(&self, character: char) -> bool {
        match self {
            Self::Any => character != '/',
            Self::One(wanted) => character == *wanted,
            Self::Class(class) => class.holds(character),
            _ => false,
        }
    }
}

impl Class {
    fn holds(&self, character: char) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|&(low, high)| (low..=high).contains(&character)) != self.negated
    }
}

/// The token at `at`, or the first one after the alternatives that end there.
fn past(tokens: &[PatternToken], at: usize) -> usize {
    match tokens.get(at) {
        Some(PatternToken::Leave(target)) => *target,
        _ => at,
    }
}

/// Whether the rest from `at` on has one of the few forms before which a path may end. No other form
/// counts, not even two separate single stars.
fn may_be_nothing(tokens: &[PatternToken], at: usize) -> bool {
    use PatternToken::{Slash, Star};
    let first = std::iter::successors(Some(at), |&at| Some(past(tokens, at + 1)));
    let mut rest = first.map_while(|at| tokens.get(at));
    // One token more than the longest form.
    let rest: [_; 5] = std::array::from_fn(|_| rest.next());
    matches!(
        rest,
        [Some(Star), None, ..]
            | [Some(Star), Some(Star), None, ..]
            | [Some(Slash), Some(Star), Some(Star), None, ..]
            | [Some(Star), Some(Star), Some(Slash), None, ..]
            | [Some(Slash), Some(Star), Some(Star), Some(Slash), None]
    )
}

/// The characters of a text. Each byte that is not UTF-8 is one character.
fn characters(text: &[u8]) -> impl Iterator<Item = char> {
    text.utf8_chunks().flat_map(|chunk| {
        let odd = chunk.invalid().iter().map(|_| NO_TEXT);
        chunk.valid().chars().chain(odd)
    })
}

/// Parses a pattern to tokens. `None` for a malformed pattern.
struct Parser<'a> {
    rest: std::slice::Iter<'a, char>,
    tokens: Vec<PatternToken>,
    /// The open braces, the outermost first.
    braces: Vec<Braces>,
}

struct Braces {
    open: usize,
    /// The ends of their alternatives.
    leaves: Vec<usize>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [char]) -> Self {
        Self {
            rest: text.iter(),
            tokens: Vec::new(),
            braces: Vec::new(),
        }
    }

    fn tokens(mut self) -> Option<Vec<PatternToken>> {
        while let Some(character) = self.next() {
            match character {
                '{' => {
                    let (open, leaves) = (self.tokens.len(), Vec::new());
                    self.braces.push(Braces { open, leaves });
                    self.tokens.push(PatternToken::Open(Vec::new()));
                }
                ',' if !self.braces.is_empty() => self.leave(),
                '}' if !self.braces.is_empty() => {
                    self.leave();
                    self.close();
                }
                character => {
                    let token = self.token(character)?;
                    self.tokens.push(token);
                }
            }
        }
        self.braces.is_empty().then_some(self.tokens)
    }

    /// End an alternative. Its target is set when the braces close.
    fn leave(&mut self) {
        if let Some(braces) = self.braces.last_mut() {
            braces.leaves.push(self.tokens.len());
        }
        self.tokens.push(PatternToken::Leave(0));
    }

    /// Set the targets of the innermost braces, which end here.
    fn close(&mut self) {
        let Some(Braces { open, leaves }) = self.braces.pop() else {
            return;
        };
        let after = self.tokens.len();
        for &leave in &leaves {
            self.tokens[leave] = PatternToken::Leave(after);
        }
        let in_front = std::iter::once(open).chain(leaves);
        let starts = in_front.map(|at| at + 1).filter(|&start| start < after);
        self.tokens[open] = PatternToken::Open(starts.collect());
    }

    fn token(&mut self, character: char) -> Option<PatternToken> {
        Some(match character {
            '*' => PatternToken::Star,
            '?' => PatternToken::Any,
            '/' => PatternToken::Slash,
            '[' => PatternToken::Class(self.class()?),
            '\\' => PatternToken::One(self.next()?),
            character => PatternToken::One(character),
        })
    }

    /// Parse the part of a class after its `[`.
    fn class(&mut self) -> Option<Class> {
        let negated = matches!(self.rest.as_slice().first(), Some('!' | '^'));
        if negated {
            self.next();
        }
        let mut ranges = Vec::new();
        // The possible start of a range.
        let mut low = None;
        loop {
            let ends_next = self.rest.as_slice().get(1) == Some(&']');
            match (self.rest.as_slice().first()?, low) {
                (']', _) => break,
                ('-', Some(from)) if !ends_next => {
                    self.next();
                    ranges.push((from, self.member()?));
                    low = None;
                }
                _ => {
                    let member = self.member()?;
                    ranges.push((member, member));
                    low = Some(member);
                }
            }
        }
        self.next();
        (!ranges.is_empty()).then_some(Class { negated, ranges })
    }

    /// Parse one character of a class.
    fn member(&mut self) -> Option<char> {
        match self.next()? {
            '\\' => self.next(),
            '{' | ',' | '}' if !self.braces.is_empty() => None,
            character => Some(character),
        }
    }

    fn next(&mut self) -> Option<char> {
        self.rest.next().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::{collection::vec, prelude::*};

    use super::Doublestar;

    fn matches(pattern: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> bool {
        Doublestar::new(pattern.as_ref()).is_some_and(|pattern| pattern.is_match(path.as_ref()))
    }

    #[test]
    fn patterns_match_as_they_do_in_doublestar() {
        for (pattern, yes, no) in [
            ("**", "a a/b/c", ""),
            ("**/", "a/", "a a/b"),
            ("a/**", "a a/ a/b/c", "ab b/a"),
            ("a/**/", "a a/b/", "a/b"),
            ("**/a", "a b/a c/b/a", "ba a/b"),
            ("a**/b", "ax/b a/b", "ax/y/b ab"),
            ("**a", "a ba", "b/a"),
            ("***/a", "b/a", "a b/c/a"),
            ("a***", "ab", "a"),
            ("a*{,b}", "ac acb", "a"),
            ("{a,b/**}/c", "a/c b/c b/x/c", "c"),
            ("{*,a}*/c", "c x/y/c", "xc"),
            ("a{**/b,c}", "ab ax/b ac", "axb"),
            ("{a,{b,c}{d,}}", "a b cd", "ad"),
            ("[^ab-d]", "e - /", "a c"),
            ("[a-]", "a -", "b"),
            ("[-a]", "a -", "b"),
            ("[z-a]", "z", "a b"),
            (r"[\]]\*", "]*", "]a"),
            (r"[\a-\c]", "b", r"\ -"),
            ("a}", "a}", "a"),
            ("a,b", "a,b", "a"),
        ] {
            for path in yes.split_whitespace() {
                assert!(matches(pattern, path), "{pattern} {path}");
            }
            for path in no.split_whitespace() {
                assert!(!matches(pattern, path), "{pattern} {path}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_one_character_each() {
        assert!(matches(b"caf?", b"caf\xe9"));
        assert!(matches(b"caf\xe9", b"caf\xe8"));
        assert!(!matches(b"caf?", b"caf\xe2\x82"));
    }

    #[test]
    fn malformed_patterns_are_none() {
        for pattern in r"[ a[ [] []a] [!] [a- [\] {a {a,{b} a\ {[,]}".split(' ') {
            assert!(Doublestar::new(pattern.as_bytes()).is_none(), "{pattern}");
        }
    }

    #[test]
    fn hostile_patterns_take_no_time() {
        let path = [b'a'; 400];
        let repeated = ["*a", "**/", "{a,a}", "{*,**/}", "{"].map(|piece| piece.repeat(200) + "b");
        let nested = "{a,".repeat(200) + &"}".repeat(200);
        for pattern in repeated.into_iter().chain([nested]) {
            let start = Instant::now();
            assert!(!matches(&pattern, path));
            assert!(start.elapsed() < Duration::from_secs(2), "{pattern}");
        }
        // Deep nesting needs no stack.
        assert!(matches(
            "{".repeat(100_000) + "a" + &"}".repeat(100_000),
            "a"
        ));
    }

    /// A reference implementation, as plain as possible.
    fn plainly(pattern: &[char], path: &[char], start: bool) -> bool {
        if let ['{', ..] = pattern {
            let mut all = expanded(pattern).into_iter();
            return all.any(|pattern| plainly(&pattern, path, true));
        }
        let Some((&first, others)) = path.split_first() else {
            let text: String = pattern.iter().collect();
            return ["", "*", "**", "/**", "**/", "/**/"].contains(&text.as_str());
        };
        match pattern {
            [] => false,
            ['*', '*'] if start => true,
            ['*', '*', '/', rest @ ..] if start => (0..=path.len())
                .filter(|&at| at == 0 || path[at - 1] == '/')
                .any(|at| plainly(rest, &path[at..], true)),
            ['*', '*', rest @ ..] | ['*', rest @ ..] => (0..=path.len())
                .take_while(|&at| at == 0 || path[at - 1] != '/')
                .any(|at| plainly(rest, &path[at..], false)),
            ['?', rest @ ..] => first != '/' && plainly(rest, others, false),
            ['[', '!', one, ']', rest @ ..] => first != *one && plainly(rest, others, false),
            ['[', one, other, ']', rest @ ..] => {
                [*one, *other].contains(&first) && plainly(rest, others, false)
            }
            [one, rest @ ..] => first == *one && plainly(rest, others, first == '/'),
        }
    }

    /// The pattern once for each alternative of its leading braces.
    fn expanded(pattern: &[char]) -> Vec<Vec<char>> {
        let (mut depth, mut alternatives) = (0, vec![vec![]]);
        for (at, &character) in pattern.iter().enumerate() {
            depth += i32::from(character == '{') - i32::from(character == '}');
            match character {
                '{' if depth == 1 => {}
                ',' if depth == 1 => alternatives.push(vec![]),
                '}' if depth == 0 => {
                    let whole =
                        |alternative: Vec<char>| [&alternative, &pattern[at + 1..]].concat();
                    return alternatives.into_iter().map(whole).collect();
                }
                _ => alternatives.last_mut().unwrap().push(character),
            }
        }
        unreachable!("braces are closed")
    }

    fn pattern() -> impl Strategy<Value = String> {
        const SIMPLE: [&str; 11] = [
            "a", "b", "ab", "/", "*", "**", "**/", "/**/", "?", "[ab]", "[!a]",
        ];
        let simple = prop::sample::select(&SIMPLE[..]).prop_map(String::from);
        let pieces = simple.prop_recursive(2, 24, 4, |inner| {
            let alternative = vec(inner, 0..4).prop_map(|pieces| pieces.concat());
            let alternatives = vec(alternative, 1..4);
            alternatives.prop_map(|all| format!("{{{}}}", all.join(",")))
        });
        vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_match_is_what_it_plainly_is(pattern in pattern(), path in "[ab]{1,3}(/[ab]{1,2}){0,3}") {
            let expected = plainly(
                &pattern.chars().collect::<Vec<_>>(),
                &path.chars().collect::<Vec<_>>(),
                true,
            );
            prop_assert_eq!(matches(&pattern, &path), expected);
        }
    }
}
