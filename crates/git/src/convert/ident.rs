//! Expands `$Id$` (gitattributes(5), "ident").

use bstr::ByteSlice;

/// Expand `$Id$` and renew `$Id: … $` in `content`. An expansion of another system, which has a space
/// between two words, is kept. `None` if there is none.
pub(super) fn ident(id: &str, content: &[u8]) -> Option<Vec<u8>> {
    let mut rest = content;
    let mut expanded = None;
    while let Some(start) = rest.find("$Id") {
        let out = expanded.get_or_insert_with(|| Vec::with_capacity(content.len() + 64));
        let (before, keyword) = rest.split_at(start + 3);
        out.extend(before);
        rest = keyword;
        match keyword.first() {
            Some(b'$') => rest = &keyword[1..],
            Some(b':') => {
                let Some(end) = keyword.find_byte(b'$') else {
                    break;
                };
                let inside = &keyword[1..end];
                if inside.contains(&b'\n') || is_foreign(inside) {
                    continue;
                }
                rest = &keyword[end + 1..];
            }
            _ => continue,
        }
        out.extend(format!(": {id} $").as_bytes());
    }
    if let Some(out) = &mut expanded {
        out.extend(rest);
    }
    expanded
}

fn is_foreign(inside: &[u8]) -> bool {
    let space = inside.iter().skip(1).position(|&byte| byte == b' ');
    space.is_some_and(|at| at + 1 < inside.len() - 1)
}
