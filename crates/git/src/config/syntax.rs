//! The syntax of configuration files (git-config(1), "Syntax"), of keys, and of the variable in which `git -c` passes its
//! settings on.
//!
//! Must accept what git's config.c accepts, and nothing else: where this fails, the installed git is asked for the message.

use std::{path::Path, sync::Arc};

use bstr::{BStr, BString, ByteSlice};

use super::{Config, Variable};

/// What git may find in front of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The number of the first line that is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLine(pub usize);

/// The variables of a configuration file with the content `text`.
pub fn parse(text: &[u8], file: Option<&Arc<Path>>) -> Result<Vec<Variable>, BadLine> {
    let mut parser = Parser {
        rest: text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text),
        line: 1,
        next_line: 1,
    };
    let variables = parser.variables(file);
    variables.ok_or(BadLine(parser.line))
}

struct Parser<'t> {
    rest: &'t [u8],
    /// The line of the byte that was read last, and that of the next one.
    line: usize,
    next_line: usize,
}

/// A space as git counts them, which is not as C does.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The text up to its first NUL, where a string of C ends.
fn as_c_string(mut text: BString) -> BString {
    let end = text.find_byte(0).unwrap_or(text.len());
    text.truncate(end);
    text
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl Parser<'_> {
    /// The next byte. The end of the file ends a line, and so does a carriage return before a line feed.
    fn next(&mut self) -> u8 {
        let (byte, len) = match self.rest {
            [] => (b'\n', 0),
            [b'\r', b'\n', ..] => (b'\n', 2),
            [byte, ..] => (*byte, 1),
        };
        self.rest = &self.rest[len..];
        self.line = self.next_line;
        self.next_line += usize::from(byte == b'\n');
        byte
    }

    fn variables(&mut self, file: Option<&Arc<Path>>) -> Option<Vec<Variable>> {
        let mut variables = Vec::new();
        let mut section: Option<Vec<u8>> = None;
        while !self.rest.is_empty() {
            match self.next() {
                byte if is_space(byte) => {}
                b'#' | b';' => self.skip_comment(),
                b'[' => section = Some(self.section()?),
                first if first.is_ascii_alphabetic() => {
                    let (key, value) = self.variable(section.as_deref(), first)?;
                    variables.push(Variable {
                        key: as_c_string(key),
                        value: value.map(as_c_string),
                        file: file.cloned(),
                        line: self.line,
                    });
                }
                _ => return None,
            }
        }
        Some(variables)
    }

    fn skip_comment(&mut self) {
        while self.next() != b'\n' {}
    }

    /// The name of a section, after its bracket, with a dot at its end.
    fn section(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            if self.rest.is_empty() {
                return None;
            }
            match self.next() {
                b']' if name.is_empty() => return None,
                b']' => break,
                byte if is_space(byte) => {
                    self.subsection(byte, &mut name)?;
                    break;
                }
                byte if is_key_byte(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return None,
            }
        }
        name.push(b'.');
        Some(name)
    }

    /// Adds a subsection in quotes to the `name` of a section, after a first `space`.
    fn subsection(&mut self, space: u8, name: &mut Vec<u8>) -> Option<()> {
        let mut byte = space;
        while is_space(byte) {
            if byte == b'\n' {
                return None;
            }
            byte = self.next();
        }
        if byte != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            match self.next() {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return None,
                    escaped => name.push(escaped),
                },
                byte => name.push(byte),
            }
        }
        (self.next() == b']').then_some(())
    }

    /// A variable of `section` whose name begins with the byte `first`.
    fn variable(
        &mut self,
        section: Option<&[u8]>,
        first: u8,
    ) -> Option<(BString, Option<BString>)> {
        let mut key = section.unwrap_or_default().to_vec();
        key.push(first.to_ascii_lowercase());
        let mut byte = self.next();
        while is_key_byte(byte) {
            key.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        let value = match byte {
            b'\n' => None,
            b'=' => Some(self.value()?),
            _ => return None,
        };
        Some((key.into(), value))
    }

    fn value(&mut self) -> Option<BString> {
        let mut value: Vec<u8> = Vec::new();
        let (mut is_quoted, mut is_comment) = (false, false);
        // The length without the spaces at the end.
        let mut trimmed = None;
        loop {
            match self.next() {
                b'\n' if is_quoted => return None,
                b'\n' => {
                    value.truncate(trimmed.unwrap_or(value.len()));
                    return Some(value.into());
                }
                _ if is_comment => {}
                byte if is_space(byte) && !is_quoted => {
                    trimmed = trimmed.or(Some(value.len()));
                    if !value.is_empty() {
                        value.push(byte);
                    }
                }
                b'#' | b';' if !is_quoted => is_comment = true,
                byte => {
                    trimmed = None;
                    match byte {
                        b'\\' => value.extend(self.escaped()?),
                        b'"' => is_quoted = !is_quoted,
                        byte => value.push(byte),
                    }
                }
            }
        }
    }

    /// The byte that is meant after a backslash; none for a line that goes on.
    fn escaped(&mut self) -> Option<Option<u8>> {
        Some(match self.next() {
            b'\n' => None,
            b't' => Some(b'\t'),
            b'b' => Some(b'\x08'),
            b'n' => Some(b'\n'),
            byte @ (b'\\' | b'"') => Some(byte),
            _ => return None,
        })
    }
}

/// The name of a variable as it is compared, if `key` is one: section and last part in lower case.
pub fn parse_key(key: &BStr) -> Option<BString> {
    let last = key.rfind_byte(b'.')?;
    let section_end = key.find_byte(b'.')?;
    let (section, name) = (&key[..section_end], &key[last + 1..]);
    let is_key = section.iter().all(|byte| is_key_byte(*byte))
        && last > 0
        && name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(|byte| is_key_byte(*byte))
        && !key.contains(&b'\n');
    is_key.then(|| {
        let mut canonical = key.to_vec();
        canonical[..section_end].make_ascii_lowercase();
        canonical[last..].make_ascii_lowercase();
        canonical.into()
    })
}

/// Parse `'a.b'='c' 'flag'= 'old.style=x'`, the form in which `git -c` passes its settings on (`GIT_CONFIG_PARAMETERS`): words
/// in single quotes. A quote or an exclamation mark is written outside the quotes, after a backslash. `None` if the list is
/// malformed.
pub fn parse_parameters(mut list: &[u8]) -> Option<Vec<(BString, Option<BString>)>> {
    let mut parameters = Vec::new();
    while !list.is_empty() {
        let key = quoted(&mut list)?;
        let parameter = match list {
            [b'=', rest @ ..] => {
                list = rest;
                let value = match list.first() {
                    Some(b'\'') => Some(quoted(&mut list)?),
                    _ => None,
                };
                (key, value)
            }
            _ => match key.split_once_str("=") {
                Some((key, value)) => (key.into(), Some(value.into())),
                None => (key, None),
            },
        };
        let spaces = list.iter().take_while(|byte| is_space(**byte)).count();
        if spaces == 0 && !list.is_empty() {
            return None;
        }
        list = &list[spaces..];
        parameters.push(parameter);
    }
    Some(parameters)
}

fn quoted(list: &mut &[u8]) -> Option<BString> {
    let mut word = Vec::new();
    loop {
        *list = list.strip_prefix(b"'")?;
        let end = list.find_byte(b'\'')?;
        word.extend_from_slice(&list[..end]);
        *list = &list[end + 1..];
        match *list {
            [b'\\', escaped @ (b'\'' | b'!'), b'\'', ..] => {
                word.push(*escaped);
                *list = &list[2..];
            }
            _ => return Some(word.into()),
        }
    }
}

impl Config {
    /// A configuration with the content `text`, for tests. Panics if it is malformed.
    #[doc(hidden)]
    pub fn of_text(text: &str) -> Self {
        let mut config = Self::default();
        let variables = parse(text.as_bytes(), None).expect("well formed");
        variables.into_iter().for_each(|it| config.push(it));
        config
    }
}

#[cfg(test)]
mod tests {
    use super::{BadLine, parse, parse_key, parse_parameters};

    /// The variables of `text` as `git config --list` prints them, with `!` for a missing value.
    fn list(text: &str) -> Result<Vec<String>, BadLine> {
        let line = |it: super::Variable| match it.value {
            Some(value) => format!("{}={value}", it.key),
            None => format!("{}!", it.key),
        };
        Ok(parse(text.as_bytes(), None)?
            .into_iter()
            .map(line)
            .collect())
    }

    #[test]
    fn what_git_accepts() {
        for (text, expected) in [
            ("", &[][..]),
            ("\u{feff}[a]b", &["a.b!"]),
            ("[A]B=C\n", &["a.b=C"]),
            ("[a.B \"C\\\"d\"] x = 1 ; no\n", &["a.b.C\"d.x=1"]),
            ("[a]\nb = \"x;y\" # no\n c\n", &["a.b=x;y", "a.c!"]),
            ("[a]b= x \t y  \r\nc=1\\\n2", &["a.b=x \t y", "a.c=12"]),
            ("[a]\nb=\\t\\n\\\"\\\\\n# [\n;\n", &["a.b=\t\n\"\\"]),
            ("[a]\nb = \n[ \"\"]\nd=1", &["a.b=", "..d=1"]),
            ("[.]d=1", &["..d=1"]),
            ("[a]b=2\x0c", &["a.b=2\x0c"]),
            ("[a]b=\"x  \"  \n", &["a.b=x  "]),
            ("x=1\n", &["x=1"]),
            ("[a \"b\0c\"]\nd=1\n[a]\nb=1\x002\n", &["a.b=1", "a.b=1"]),
        ] {
            assert_eq!(list(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_git_refuses() {
        for (text, line) in [
            ("[a", 1),
            ("[a]\nb=\"x\n", 2),
            ("[a]\n\n=1", 3),
            ("[a]\nb=\\x", 2),
            ("[a \"b]\n", 1),
            ("[a \"b\" ]\n", 1),
            ("[a]b c", 1),
            ("[a b]", 1),
            ("[a]1=2", 1),
            ("[a]b$=2", 1),
            ("[]", 1),
            ("[a]\x0b b=2", 1),
            ("\x0c", 1),
            ("[a]\nb\0=1", 2),
        ] {
            assert_eq!(list(text), Err(BadLine(line)), "{text:?}");
        }
    }

    #[test]
    fn keys_have_a_section_and_a_name() {
        for (key, expected) in [
            ("A.B", Some("a.b")),
            ("A.B.C", Some("a.B.c")),
            ("A.b.. C.d", Some("a.b.. C.d")),
            ("a", None),
            (".a", None),
            ("a.", None),
            ("a.1", None),
            ("a_b.c", None),
            ("a.b\n.c", None),
        ] {
            let found = parse_key(key.into());
            assert_eq!(
                found.as_ref().map(ToString::to_string).as_deref(),
                expected,
                "{key:?}"
            );
        }
    }

    #[test]
    fn parameters_are_unquoted() {
        let list = br"'a.b'='c d' 'flag' 'old.style=x' 'q'='it'\''s'\!'' 'empty'=''  'on'= ";
        let expected = [
            ("a.b", Some("c d")),
            ("flag", None),
            ("old.style", Some("x")),
            ("q", Some("it's!")),
            ("empty", Some("")),
            ("on", None),
        ];
        let expected = expected.map(|(key, value)| (key.into(), value.map(Into::into)));
        assert_eq!(parse_parameters(list).as_deref(), Some(&expected[..]));
        for bad in ["bare", "'open", "'a'='b'c", "'a'=b", " 'a'", " "] {
            assert_eq!(parse_parameters(bad.as_bytes()), None, "{bad}");
        }
    }
}
