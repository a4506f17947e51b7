//! Parses formats (git-log(1), "PRETTY FORMATS") and determines how their placeholders depend on the text
//! around them.
//!
//! Nothing is expanded here: the module determines how git is asked, and how the answer changes the file.

use gix::bstr::ByteSlice;

use crate::base::error::{Error, Result};

/// All trailers. With options, their syntax matters even if there are none.
const TRAILERS: &[u8] = b"(trailers)";

/// Where git leaves the header of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CommitHeader {
    /// Inside of the text.
    #[default]
    Ended,
    /// At the end of the text: git would read beyond it for `%B`.
    Alone,
    /// Beyond the end of the text, since its last line has no end.
    Open,
}

/// What git finds in the text of a commit without leaving it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommitFacts {
    /// Where the header ends.
    pub(super) header: CommitHeader,
    /// Whether the header has an author.
    pub(super) author: bool,
    /// Whether the header has a committer.
    pub(super) committer: bool,
}

impl CommitFacts {
    /// The number of bytes of `placeholder` that come to nothing, since the commit lacks what it stands for. `None` if git
    /// finds that in the text, or looks for it beyond.
    fn absent(self, placeholder: &[u8]) -> Option<usize> {
        let is_open = self.header == CommitHeader::Open;
        // Without a person, git takes the newer ones among the placeholders for text.
        let person = |kind: &u8| if b"netdDri".contains(kind) { 2 } else { 0 };
        match placeholder {
            [b'B', ..] => (self.header != CommitHeader::Ended).then_some(1),
            [b's' | b'f' | b'b', ..] => is_open.then_some(1),
            [b'a', kind, ..] => (is_open && !self.author).then(|| person(kind)),
            [b'c', kind, ..] => (is_open && !self.committer).then(|| person(kind)),
            _ if placeholder.starts_with(TRAILERS) => is_open.then_some(TRAILERS.len()),
            _ => None,
        }
    }
}

/// What the formats of one archive have in common.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedFormatState {
    /// Whether a format before had a `%(describe`: git expands only one per archive.
    pub(super) described: bool,
    /// The text of the commit.
    pub(super) known: CommitFacts,
}

/// A parsed format.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Format {
    /// The format for git, without a second `%(describe`: git expands only one per archive.
    pub(super) text: Vec<u8>,
    /// The pieces of the format, if no placeholder depends on the text around it.
    pub(super) pieces: Option<Vec<FormatPiece>>,
    /// Whether a placeholder makes git read the head of the commit.
    pub(super) reads_head: bool,
    /// Whether a placeholder may show more than the commit.
    pub(super) varies: bool,
    /// Whether a placeholder reads or changes the text before it.
    pub(super) looks_back: bool,
    /// Whether git would read beyond the text of the commit for a placeholder.
    pub(super) leaves_text: bool,
    /// Whether a placeholder counts the columns of the line before it.
    pub(super) counts_columns: bool,
    /// Whether a placeholder wraps lines.
    pub(super) wraps: bool,
    /// Whether a placeholder may make git wrap all text before it.
    pub(super) wraps_all: bool,
    /// Whether a placeholder wraps lines before the first one that makes git wrap all.
    pub(super) wraps_before: bool,
    /// Whether the previous placeholder may have requested padding.
    padded: bool,
}

/// A part of a format.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormatPiece {
    /// Literal text.
    Text(Vec<u8>),
    /// A placeholder without its `%`.
    Placeholder(Vec<u8>),
}

impl Format {
    /// Parse `format`, one of several in an archive.
    pub(super) fn parse(format: &[u8], shared: &mut SharedFormatState) -> Result<Self> {
        let mut parsed = Self {
            pieces: Some(Vec::new()),
            ..Self::default()
        };
        // To git, the format is a string that ends in NUL.
        let mut rest = format.split(|&byte| byte == 0).next().unwrap_or_default();
        while let Some(at) = rest.find_byte(b'%') {
            parsed.text.extend(&rest[..=at]);
            parsed.push(&rest[..at]);
            rest = &rest[at + 1..];
            let len = parsed.placeholder(rest, shared)?;
            rest = &rest[len..];
        }
        parsed.text.extend(rest);
        parsed.push(rest);
        Ok(parsed)
    }

    /// Parse the placeholder at the start of `rest`, after its `%`, and return the number of parsed bytes.
    fn placeholder(&mut self, rest: &[u8], shared: &mut SharedFormatState) -> Result<usize> {
        if let Some((byte, len)) = literal(rest) {
            self.push(&[byte]);
            self.text.extend(&rest[..len]);
            return Ok(len);
        }
        let modified = usize::from(matches!(rest.first(), Some(b'+' | b'-' | b' ')));
        let (modifier, bare) = rest.split_at(modified);
        refuse(bare)?;
        self.looks_back |= modifier == b"-" || looks_back(bare);
        self.counts_columns |= counts_columns(bare);
        self.note_wrapping(modifier, bare);
        if bare.starts_with(b"(describe") && std::mem::replace(&mut shared.described, true) {
            self.leave_out(modifier);
            return Ok(modified);
        }
        self.reads_head |= reads_head(bare);
        self.varies |= varies(bare);
        match shared.known.absent(bare) {
            Some(0) => {
                self.text.push(b'%');
                self.push(b"%");
                return Ok(0);
            }
            Some(len) => {
                self.empty(modifier);
                return Ok(modified + len);
            }
            None => {}
        }
        self.leaves_text |= shared.known.header == CommitHeader::Open && reads_lines(bare);
        let len = plain(rest);
        match (&mut self.pieces, len) {
            (Some(pieces), Some(len)) => {
                pieces.push(FormatPiece::Placeholder(rest[..len].to_vec()))
            }
            _ => self.pieces = None,
        }
        let skipped = || enclosed(bare).map(|len| modified + len);
        let len = len.or_else(skipped).unwrap_or(0);
        self.text.extend(&rest[..len]);
        Ok(len)
    }

    /// Record whether `bare` begins with a placeholder that wraps lines, which git does not expand with a `modifier`. If
    /// git pads it, git takes the start of the padded text for the start of the file.
    fn note_wrapping(&mut self, modifier: &[u8], bare: &[u8]) {
        let wraps = modifier.is_empty() && bare.starts_with(b"w(");
        self.wraps_before |= wraps && !self.padded && !self.wraps_all;
        self.wraps |= wraps;
        self.wraps_all |= wraps && self.padded;
        match bare.first() {
            Some(b'<' | b'>') => self.padded = true,
            // The padding applies to the placeholder after a colour.
            Some(b'C') => {}
            _ => self.padded = false,
        }
    }

    /// Replace a placeholder that is not expanded by one that is always empty, so that its modifier still
    /// applies. With a modifier, the `%` disappears too.
    fn leave_out(&mut self, modifier: &[u8]) {
        self.empty(modifier);
        if modifier.is_empty() {
            self.text.extend(b"%%");
            self.push(b"%");
        }
    }

    /// Put a placeholder that is always empty, with its `modifier`, in the place of one.
    fn empty(&mut self, modifier: &[u8]) {
        self.text.extend(modifier);
        self.text.extend(b"gd");
        if !modifier.is_empty() {
            self.pieces = None;
        }
    }

    fn push(&mut self, text: &[u8]) {
        if let Some(pieces) = &mut self.pieces
            && !text.is_empty()
        {
            pieces.push(FormatPiece::Text(text.to_vec()));
        }
    }

    /// Whether git may expand this format together with others, separated by NUL.
    pub(super) fn stands_alone(&self) -> bool {
        let ends =
            |piece: &FormatPiece| matches!(piece, FormatPiece::Text(text) if text.contains(&0));
        self.pieces
            .as_ref()
            .is_some_and(|pieces| !pieces.iter().any(ends))
    }
}

/// Refuse placeholders for series of patches.
fn refuse(placeholder: &[u8]) -> Result<()> {
    for name in ["(count)", "(total)"] {
        if placeholder.starts_with(name.as_bytes()) {
            let message = format!("%{name} is not supported by this command");
            return Err(Error::fatal(message));
        }
    }
    Ok(())
}

/// The byte of a `placeholder` that is independent of the commit, and the length of the placeholder.
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

/// The length of a colour or of a padding (`parse_color` and `parse_padding_placeholder` of git's pretty.c). git looks for
/// nothing in its parentheses.
fn enclosed(placeholder: &[u8]) -> Option<usize> {
    let open = placeholder.find_byte(b'(')?;
    let (name, inside) = (&placeholder[..open], &placeholder[open + 1..]);
    let len = match name {
        b"C" => inside.find_byte(b')')?,
        b"<" | b"<|" | b">" | b">|" | b">>" | b">>|" | b"><" | b"><|" => {
            let end = inside.find_byteset(b",)").filter(|_| has_width(inside))?;
            let cuts = match inside[end] {
                b',' => [",trunc)", ",ltrunc)", ",mtrunc)"].as_slice(),
                _ => &[")"],
            };
            let rest = &inside[end..];
            let cut = cuts.iter().find(|cut| rest.starts_with(cut.as_bytes()))?;
            end + cut.len() - 1
        }
        _ => return None,
    };
    Some(open + 1 + len + 1)
}

/// Whether `text` begins with a number other than 0, as `strtol` reads it.
fn has_width(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"+").or(text.strip_prefix(b"-"));
    let mut digits = digits.unwrap_or(text).iter();
    let digits = digits.by_ref().take_while(|byte| byte.is_ascii_digit());
    digits.into_iter().any(|digit| *digit != b'0')
}

/// The length of a placeholder that neither changes nor reads the text around it.
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
            let end = placeholder.find_byte(b')').filter(|_| known)?;
            // git may refuse the options, and then looks for placeholders in them.
            (!placeholder[..end].contains(&b'%')).then_some(end + 1)
        }
        _ => None,
    }
}

/// Whether `placeholder` shows lines of the commit, and not only its encoding.
fn reads_lines(placeholder: &[u8]) -> bool {
    matches!(placeholder.first(), Some(b'a' | b'c')) || placeholder.starts_with(b"(trailers")
}

/// Whether git reads the head of the commit for `placeholder`. An unknown placeholder counts.
fn reads_head(placeholder: &[u8]) -> bool {
    let first = placeholder.first().copied().unwrap_or_default();
    let without = b"HhTtPpmdDSgNGwC<>".contains(&first)
        || literal(placeholder).is_some()
        || placeholder.starts_with(b"(describe")
        || placeholder.starts_with(b"(decorate");
    !without
}

/// Whether git expands `placeholder` by more than the commit: refs, notes, a mailmap, keys, the time of day, the depth of
/// a shallow clone, or the number of objects, which decides how long a short id is.
pub(super) fn varies(placeholder: &[u8]) -> bool {
    match placeholder {
        [
            b'h' | b't' | b'p' | b'P' | b'd' | b'D' | b'N' | b'G' | b'S',
            ..,
        ] => true,
        [b'a' | b'c', b'N' | b'E' | b'L' | b'r' | b'h', ..] => true,
        [b'(', inside @ ..] => !inside.starts_with(b"trailers"),
        _ => false,
    }
}

/// Whether `placeholder` removes preceding spaces or counts columns.
fn looks_back(placeholder: &[u8]) -> bool {
    ["<|", ">|", ">>", "><|"]
        .iter()
        .any(|start| placeholder.starts_with(start.as_bytes()))
}

/// Whether `placeholder` counts the columns before it.
fn counts_columns(placeholder: &[u8]) -> bool {
    ["<|", ">|", ">>|", "><|"]
        .iter()
        .any(|start| placeholder.starts_with(start.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{CommitFacts, CommitHeader, Format, FormatPiece, SharedFormatState};

    fn parse(format: &str) -> Format {
        Format::parse(format.as_bytes(), &mut SharedFormatState::default()).expect(format)
    }

    /// git takes a colour or a padding whole, but what stands in parentheses of other placeholders only if it is valid.
    #[test]
    fn placeholders_within_placeholders() {
        assert!(parse("%(trailersX%>|(20)%an").looks_back);
        assert!(!parse("%C(x%>|(20)%an").looks_back);
        let mut shared = SharedFormatState::default();
        for enclosing in [
            "%<(5%(describe)",
            "%><|(5%(describe),trunc)",
            "%C(x%(describe)",
            "%+>( +12%(describe)",
        ] {
            Format::parse(enclosing.as_bytes(), &mut shared).expect(enclosing);
            assert!(!shared.described, "{enclosing}");
        }
        for open in [
            "%<(0%(describe)",
            "%<(5,%(describe),cut)",
            "%<(x%(describe)",
            "%C%(describe)",
            "%(trailers:%(describe)",
        ] {
            let mut shared = SharedFormatState::default();
            Format::parse(open.as_bytes(), &mut shared).expect(open);
            assert!(shared.described, "{open}");
        }
    }

    #[test]
    fn plain_formats_are_known_to_their_end() {
        let parsed = parse("a%%b %H%n%x41%an%(trailers:key=a)");
        let pieces = parsed.pieces.as_deref().unwrap_or_default();
        let shown = pieces.iter().map(|piece| match piece {
            FormatPiece::Text(text) => String::from_utf8_lossy(text).into_owned(),
            FormatPiece::Placeholder(name) => format!("<{}>", String::from_utf8_lossy(name)),
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
    fn formats_that_show_more_than_the_commit() {
        for format in ["%h", "%H %D", "%(describe:tags)", "%+aN", "%cr", "%<(9)%P"] {
            assert!(parse(format).varies, "{format}");
        }
        for format in [
            "",
            "%H%T",
            "%an %ae %aI %cs",
            "%s%n%b",
            "%(trailers:key=a)",
            "%%h",
            "%q",
        ] {
            assert!(!parse(format).varies, "{format}");
        }
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
            ("%+<|(3)%h", false, true),
            ("% >>(3)%h", false, true),
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
            ("%-<(5)%w(20)%s", true, true, false),
            ("%+<|(5)%s", false, false, true),
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
        let mut shared = SharedFormatState::default();
        for (format, expected) in [
            ("%%(describe) %h", "%%(describe) %h"),
            ("%(describe) %-(describe)", "%(describe) %-gd(describe)"),
            ("%(describe:tags) %H", "%gd%%(describe:tags) %H"),
            ("%H\0%s", "%H"),
        ] {
            let parsed = Format::parse(format.as_bytes(), &mut shared).expect(format);
            assert_eq!(parsed.text, expected.as_bytes());
        }
    }

    #[test]
    fn git_is_not_asked_for_what_lies_beyond_the_commit() {
        for (header, format, expected) in [
            (
                CommitHeader::Ended,
                "%s %B %an %cI %(trailers)",
                Some("%s %B %an %cI %(trailers)"),
            ),
            (
                CommitHeader::Alone,
                "%s %B %an%(trailers)",
                Some("%s %gd %an%(trailers)"),
            ),
            (
                CommitHeader::Open,
                "%h %s%+B %-b%f %an %e",
                Some("%h %gd%+gd %-gd%gd %gd %e"),
            ),
            (CommitHeader::Open, "%ct", None),
            (
                CommitHeader::Open,
                "%aI%+aN%(trailers)",
                Some("%%aI%%+aN%gd"),
            ),
            (CommitHeader::Open, "%cI", None),
            (CommitHeader::Open, "%(trailers:only)", None),
        ] {
            let known = CommitFacts {
                header,
                author: false,
                committer: true,
            };
            let mut shared = SharedFormatState {
                known,
                ..SharedFormatState::default()
            };
            let parsed = Format::parse(format.as_bytes(), &mut shared).expect(format);
            let asked = (!parsed.leaves_text).then_some(parsed.text);
            assert_eq!(asked.as_deref(), expected.map(str::as_bytes), "{format}");
        }
    }
}
