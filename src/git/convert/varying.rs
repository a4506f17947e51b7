//! Finds placeholders that show more than the commit. Nothing is expanded.

use gix::bstr::ByteSlice;

use super::{format::varies, substitute::Found};

/// The first placeholder in the formats of `content` that shows more than the commit: refs, notes, a mailmap, or how many
/// objects there are. The parents of a commit count only if they are not `plain`, because grafts or a shallow clone replace them.
pub fn varying_placeholder(content: &[u8], plain_parents: bool) -> Option<String> {
    let formats = Found { rest: content }.map(|[_, format]| format);
    formats
        .flat_map(placeholders)
        .find(|placeholder| {
            varies(placeholder) && !(plain_parents && placeholder.starts_with(b"P"))
        })
        .map(shown)
}

/// The texts after each `%` of a format that begins a placeholder.
fn placeholders(format: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = format;
    std::iter::from_fn(move || {
        let at = rest.find_byte(b'%')?;
        let placeholder = &rest[at + 1..];
        // Two of them are a percent sign.
        rest = placeholder.strip_prefix(b"%").unwrap_or(placeholder);
        let bare = match placeholder {
            [b'+' | b'-' | b' ', bare @ ..] => bare,
            bare => bare,
        };
        Some(bare)
    })
}

/// A placeholder as its author wrote it.
fn shown(placeholder: &[u8]) -> String {
    let len = match placeholder {
        [b'(', ..] => placeholder.find_byte(b')').map_or(1, |end| end + 1),
        [b'a' | b'c' | b'G', _, ..] => 2,
        _ => 1,
    };
    format!("%{}", placeholder[..len].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::varying_placeholder;

    #[test]
    fn placeholders_that_show_more_than_the_commit() {
        for (content, expected) in [
            ("%d outside", None),
            ("$Format:%H %T %an <%ae> %ad %s%n%b$", None),
            ("$Format:%H$ $Format:%d$", Some("%d")),
            ("$Format:%+D$", Some("%D")),
            ("$Format:%%d%%%h$", Some("%h")),
            ("$Format:%aN$", Some("%aN")),
            (
                "$Format:%(describe:tags=true)$",
                Some("%(describe:tags=true)"),
            ),
            ("$Format:%(trailers:key=x)%C(auto)%<(5)%s$", None),
            ("$Format:%P$", None),
            ("$Format:%d", None),
        ] {
            let found = varying_placeholder(content.as_bytes(), true);
            assert_eq!(found.as_deref(), expected, "{content}");
        }
        let found = varying_placeholder(b"$Format:%P$", false);
        assert_eq!(found.as_deref(), Some("%P"));
    }
}
