//! Finds placeholders for data that can change while the commit stays. Nothing is expanded.

use bstr::ByteSlice;

use super::{
    format::{FormatPiece, pieces, varies},
    substitute::Found,
};

/// The first placeholder in the formats of `content` for data that can change: refs, a mailmap, or how many objects there
/// are. So do placeholders that only git expands, since that depends on its version. The parents of a commit count only if they
/// are not `plain`, because grafts or a shallow clone replace them.
pub fn varying_placeholder(content: &[u8], plain_parents: bool) -> Option<String> {
    let formats = Found { rest: content }.map(|[_, format]| format);
    formats.flat_map(pieces).find_map(|piece| match piece {
        FormatPiece::Placeholder(b"P") if plain_parents => None,
        FormatPiece::Placeholder(name) => varies(name).then(|| shown(name)),
        FormatPiece::Other(rest) => Some(shown(rest)),
        FormatPiece::Text(_) | FormatPiece::Byte(_) => None,
    })
}

/// The placeholder at the start of `rest` as its author wrote it.
fn shown(rest: &[u8]) -> String {
    let modified = usize::from(matches!(rest.first(), Some(b'+' | b'-' | b' ')));
    let len = match &rest[modified..] {
        [b'(', inside @ ..] => inside.find_byte(b')').map_or(1, |end| end + 2),
        [b'a' | b'c' | b'G', _, ..] => 2,
        bare => bare.len().min(1),
    };
    format!("%{}", rest[..modified + len].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::varying_placeholder;

    #[test]
    fn placeholders_that_show_more_than_the_commit() {
        for (content, expected) in [
            ("%d outside", None),
            ("$Format:%H %T %an <%ae> %ad %aI %cs %s%n%b$", None),
            ("$Format:%cr$", Some("%cr")),
            ("$Format:%H$ $Format:%d$", Some("%d")),
            ("$Format:%+D$", Some("%+D")),
            ("$Format:%%d%%%h$", Some("%h")),
            ("$Format:%aN$", Some("%aN")),
            (
                "$Format:%(describe:tags=true)$",
                Some("%(describe:tags=true)"),
            ),
            ("$Format:%s%w(20)%b$", Some("%w")),
            ("$Format:%(trailers:key=x)$", Some("%(trailers:key=x)")),
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
