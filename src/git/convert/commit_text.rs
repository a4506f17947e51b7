//! The text of a commit as git reads it before it expands placeholders: in UTF-8, if the encoding that the commit
//! claims is really its own.
//!
//! git reads beyond the end of a text whose header has no end (`parse_commit_header` and `%B` in its pretty.c), and what
//! lies there differs from run to run. The module determines where that happens.

use std::borrow::Cow;

use gix::bstr::{BStr, ByteSlice};

use super::{
    encoding::{decode, is_utf8},
    format::{CommitFacts, CommitHeader},
};

/// The text of a commit.
pub(super) struct CommitText<'a> {
    text: Cow<'a, [u8]>,
    /// The encoding that the commit claims, unless that is UTF-8.
    pub(super) encoding: Option<String>,
}

impl<'a> CommitText<'a> {
    /// The text of a commit with this `content`.
    pub(super) fn of(content: &'a [u8]) -> Self {
        let encoding = lines(content, "encoding ").next().map(ToString::to_string);
        let encoding = encoding.filter(|name| !is_utf8(name));
        // git converts a string, which ends at the first NUL, and goes on with the content as it is if that fails.
        let string = content.split(|&byte| byte == 0).next().unwrap_or_default();
        let decoded = encoding.as_ref().and_then(|name| decode(name, string));
        Self {
            text: decoded.map_or(Cow::Borrowed(content), Cow::Owned),
            encoding,
        }
    }

    /// The value of a header line whose start is `name`. As in git, the last one counts.
    pub(super) fn field(&self, name: &str) -> Option<&BStr> {
        lines(&self.text, name).last()
    }

    /// What git finds in this text without leaving it.
    pub(super) fn known(&self) -> CommitFacts {
        let known = |name: &str| self.field(name).is_some();
        CommitFacts {
            header: header(&self.text),
            author: known("author "),
            committer: known("committer "),
        }
    }
}

/// The values of the header lines of `text` whose start is `name`.
fn lines<'t>(text: &'t [u8], name: &str) -> impl Iterator<Item = &'t BStr> {
    let head = text.lines().take_while(|line| !line.is_empty());
    head.filter_map(move |line| line.strip_prefix(name.as_bytes()).map(ByteSlice::as_bstr))
}

/// Where git leaves the header of `text`, whose lines end at a line end or at a NUL.
fn header(text: &[u8]) -> CommitHeader {
    let mut start = 0;
    while text.get(start).is_some_and(|&byte| byte != 0) {
        let rest = &text[start..];
        match rest.find_byteset(b"\n\0") {
            Some(0) => return CommitHeader::Ended,
            Some(len) => start += len + 1,
            None => return CommitHeader::Open,
        }
    }
    if start < text.len() {
        CommitHeader::Ended
    } else {
        CommitHeader::Alone
    }
}

#[cfg(test)]
mod tests {
    use super::{CommitHeader, CommitText, header};

    #[test]
    fn where_git_leaves_the_header() {
        for (text, expected) in [
            ("tree a\nauthor b\n\nsubject\n", CommitHeader::Ended),
            ("tree a\n\n", CommitHeader::Ended),
            ("tree a\nauthor b\0c\n\nsubject", CommitHeader::Ended),
            ("tree a\n\0", CommitHeader::Ended),
            ("tree a\nauthor b\n", CommitHeader::Alone),
            ("", CommitHeader::Alone),
            ("tree a\0", CommitHeader::Alone),
            ("tree a\nauthor b", CommitHeader::Open),
            ("tree a\0author b", CommitHeader::Open),
        ] {
            assert_eq!(header(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn an_encoding_counts_only_where_it_is_the_texts() {
        let commit = "author A <a> 1 +0000\nauthor B <b> 2 +0000\nencoding UTF-16\n\nsubject";
        let even = CommitText::of(commit.as_bytes()).known();
        assert_eq!((even.header, even.author), (CommitHeader::Open, false));
        let odd = format!("{commit}s");
        let odd = CommitText::of(odd.as_bytes());
        let author = odd.field("author ");
        assert_eq!(author, Some("B <b> 2 +0000".into()), "it is the last");
        assert_eq!(odd.known().header, CommitHeader::Ended);
        assert_eq!(odd.encoding.as_deref(), Some("UTF-16"));
    }
}
