//! What the placeholders of a format (git-log(1), "PRETTY FORMATS") have to do with what is around
//! them.
//!
//! Nothing is expanded here: this says how git is to be asked, and what comes of it for the file.

use gix::bstr::ByteSlice;

use crate::error::{Error, Result};

/// A format, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Format {
    /// As git is to be asked: without a second `%(describe`, of which it expands one an archive.
    pub(super) text: Vec<u8>,
    /// What it is made of, if no placeholder touches what is around it.
    pub(super) pieces: Option<Vec<Piece>>,
    /// A placeholder makes git read the head of the commit.
    pub(super) reads_head: bool,
    /// A placeholder looks at what is in front of it, or changes that.
    pub(super) looks_back: bool,
    /// A placeholder counts the columns of the line in front of it.
    pub(super) counts_columns: bool,
    /// A placeholder wraps lines.
    pub(super) wraps: bool,
    /// A placeholder may make git wrap all that is in front of it.
    pub(super) wraps_all: bool,
    /// A placeholder wraps lines before one makes git wrap all.
    pub(super) wraps_before: bool,
    /// The placeholder before may have asked for padding.
    padded: bool,
}

/// A part of a format.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it is.
    Text(Vec<u8>),
    /// Without the `%`.
    Placeholder(Vec<u8>),
}

impl Format {
    /// Take `format` apart. `described` says whether this archive had a `%(describe` before.
    pub(super) fn parse(format: &[u8], described: &mut bool) -> Result<Self> {
        let mut parsed = Self {
            pieces: Some(Vec::new()),
            ..Self::default()
        };
        // To git it is a string that ends in NUL.
        let mut rest = format.split(|&byte| byte == 0).next().unwrap_or_default();
        while let Some(at) = rest.find_byte(b'%') {
            parsed.text.extend(&rest[..=at]);
            parsed.push(&rest[..at]);
            rest = &rest[at + 1..];
            let len = parsed.placeholder(rest, described)?;
            rest = &rest[len..];
        }
        parsed.text.extend(rest);
        parsed.push(rest);
        Ok(parsed)
    }

    /// Take in the placeholder at the start of `rest`, and say how much of that was taken in; the `%`
    /// was before.
    fn placeholder(&mut self, rest: &[u8], described: &mut bool) -> Result<usize> {
        if let Some((byte, len)) = literal(rest) {
            self.push(&[byte]);
            self.text.extend(&rest[..len]);
            return Ok(len);
        }
        let modified = usize::from(matches!(rest.first(), Some(b'+' | b'-' | b' ')));
        let (modifier, bare) = rest.split_at(modified);
        refuse(bare)?;
        self.looks_back |= looks_back(rest);
        self.counts_columns |= counts_columns(rest);
        self.note_wrapping(rest);
        if bare.starts_with(b"(describe") && std::mem::replace(described, true) {
            self.leave_out(modifier);
            return Ok(modified);
        }
        self.reads_head |= reads_head(bare);
        let len = plain(rest);
        match (&mut self.pieces, len) {
            (Some(pieces), Some(len)) => pieces.push(Piece::Placeholder(rest[..len].to_vec())),
            _ => self.pieces = None,
        }
        let len = len.unwrap_or(0);
        self.text.extend(&rest[..len]);
        Ok(len)
    }

    /// Note whether `rest` begins with a placeholder that wraps lines. Where git pads it, it takes the start
    /// of the padded text for that of the file.
    fn note_wrapping(&mut self, rest: &[u8]) {
        let wraps = rest.starts_with(b"w(");
        self.wraps_before |= wraps && !self.padded && !self.wraps_all;
        self.wraps |= wraps;
        self.wraps_all |= wraps && self.padded;
        match rest.first() {
            Some(b'<' | b'>') => self.padded = true,
            // What is padded is what comes after a colour.
            Some(b'C') => {}
            _ => self.padded = false,
        }
    }

    /// Instead of a placeholder that is not expanded, take in what is always empty, for what is in
    /// front to work on. A modifier takes the `%` along.
    fn leave_out(&mut self, modifier: &[u8]) {
        self.text.extend(modifier);
        self.text.extend(b"gd");
        if modifier.is_empty() {
            self.text.extend(b"%%");
            self.push(b"%");
        } else {
            self.pieces = None;
        }
    }

    fn push(&mut self, text: &[u8]) {
        if let Some(pieces) = &mut self.pieces
            && !text.is_empty()
        {
            pieces.push(Piece::Text(text.to_vec()));
        }
    }

    /// Whether git may be asked for this and others at once, with NUL in between.
    pub(super) fn stands_alone(&self) -> bool {
        let ends = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains(&0));
        self.pieces
            .as_ref()
            .is_some_and(|pieces| !pieces.iter().any(ends))
    }
}

/// Some are for series of patches, and nothing else.
fn refuse(placeholder: &[u8]) -> Result<()> {
    for name in ["(count)", "(total)"] {
        if placeholder.starts_with(name.as_bytes()) {
            let message = format!("%{name} is not supported by this command");
            return Err(Error::fatal(message));
        }
    }
    Ok(())
}

/// The byte that `placeholder` stands for, whatever the commit, and the length of it.
fn literal(placeholder: &[u8]) -> Option<(u8, usize)> {
    match placeholder {
        [b'%', ..] => Some((b'%', 1)),
        [b'n', ..] => Some((b'\n', 1)),
        [b'x', digits @ ..] => {
            let digits = digits.get(..2)?;
            let valid = digits.iter().all(u8::is_ascii_hexdigit);
            let digits = digits.to_str().ok().filter(|_| valid)?;
            Some((u8::from_str_radix(digits, 16).ok()?, 3))
        }
        _ => None,
    }
}

/// The length of a placeholder that neither touches nor looks at what is around it.
fn plain(placeholder: &[u8]) -> Option<usize> {
    let second = |known: &[u8]| {
        let second = placeholder.get(1)?;
        known.contains(second).then_some(2)
    };
    match placeholder.first()? {
        b'H' | b'h' | b'T' | b't' | b'P' | b'p' | b'm' | b'd' | b'D' | b'S' | b'N' => Some(1),
        b'e' | b's' | b'f' | b'b' | b'B' => Some(1),
        b'a' | b'c' => second(b"nNeElLdDrtiIsh"),
        b'g' => second(b"DdnNeEs"),
        b'G' => second(b"?SKFPTG"),
        b'(' => {
            let known = ["(describe", "(decorate", "(trailers"];
            let known = known
                .iter()
                .any(|name| placeholder.starts_with(name.as_bytes()));
            placeholder
                .find_byte(b')')
                .filter(|_| known)
                .map(|end| end + 1)
        }
        _ => None,
    }
}

/// Whether git reads the head of the commit for `placeholder`. It does for all that it does not know.
fn reads_head(placeholder: &[u8]) -> bool {
    let first = placeholder.first().copied().unwrap_or_default();
    let without = b"HhTtPpmdDSgNGwC<>".contains(&first)
        || literal(placeholder).is_some()
        || placeholder.starts_with(b"(describe")
        || placeholder.starts_with(b"(decorate");
    !without
}

/// Whether `placeholder` removes line ends or spaces in front of it, or counts columns.
fn looks_back(placeholder: &[u8]) -> bool {
    ["-", "<|", ">|", ">>", "><|"]
        .iter()
        .any(|start| placeholder.starts_with(start.as_bytes()))
}

/// Whether `placeholder` counts the columns in front of it.
fn counts_columns(placeholder: &[u8]) -> bool {
    ["<|", ">|", ">>|", "><|"]
        .iter()
        .any(|start| placeholder.starts_with(start.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{Format, Piece};

    fn parse(format: &str) -> Format {
        Format::parse(format.as_bytes(), &mut false).expect(format)
    }

    #[test]
    fn plain_formats_are_known_to_their_end() {
        let parsed = parse("a%%b %H%n%x41%an%(trailers:key=a)");
        let pieces = parsed.pieces.as_deref().unwrap_or_default();
        let shown = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Piece::Placeholder(name) => format!("<{}>", String::from_utf8_lossy(name)),
        });
        let shown: Vec<_> = shown.collect();
        let expected = [
            "a",
            "%",
            "b ",
            "<H>",
            "\n",
            "A",
            "<an>",
            "<(trailers:key=a)>",
        ];
        assert_eq!(shown, expected);
        for format in [
            "%",
            "%q",
            "%aq",
            "%+H",
            "%w(3)%s",
            "%<(3)%s",
            "%(trailers",
            "%Cred",
            "%xzz",
        ] {
            assert_eq!(parse(format).pieces, None, "{format}");
        }
        assert!(!parse("%x00").stands_alone());
    }

    #[test]
    fn what_reads_the_head_and_what_looks_back() {
        for (format, reads_head, looks_back) in [
            ("text %% %n", false, false),
            ("%H %h %D %(describe)", false, false),
            ("%s", true, false),
            ("%+s", true, false),
            ("%+h", false, false),
            ("%q", true, false),
            ("%-e", true, true),
            ("%>>(3)%h", false, true),
            ("%<(3)%h", false, false),
            ("%<|(3)%h", false, true),
            ("%><(3)%h", false, false),
            ("%><|(3)%h", false, true),
        ] {
            let parsed = parse(format);
            assert_eq!(
                (parsed.reads_head, parsed.looks_back),
                (reads_head, looks_back),
                "{format}"
            );
        }
    }

    #[test]
    fn what_wraps_and_what_counts_columns() {
        for (format, wraps, wraps_all, counts_columns) in [
            ("%w(20)%s", true, false, false),
            ("%<(5)%w(20,2,4)%s%w()", true, true, false),
            ("%>|(5) text %% %Cred%w(20)%s", true, true, true),
            ("%<(5)%s%w(20)%b", true, false, false),
            ("%+w(20)", false, false, false),
            ("%>>|(5)%s", false, false, true),
        ] {
            let parsed = parse(format);
            assert_eq!(
                (parsed.wraps, parsed.wraps_all, parsed.counts_columns),
                (wraps, wraps_all, counts_columns),
                "{format}"
            );
        }
    }

    #[test]
    fn an_archive_is_described_once() {
        let mut described = false;
        for (format, expected) in [
            ("%%(describe) %h", "%%(describe) %h"),
            ("%(describe) %-(describe)", "%(describe) %-gd(describe)"),
            ("%(describe:tags) %H", "%gd%%(describe:tags) %H"),
            ("%H\0%s", "%H"),
        ] {
            let parsed = Format::parse(format.as_bytes(), &mut described).expect(format);
            assert_eq!(parsed.text, expected.as_bytes());
        }
    }
}
