//! Names that git-describe(1) prints: a ref, a number of commits, and the beginning of an id, as in `v1.0-14-g2414721`.
//!
//! A git before 2.49 looks at the id alone, so that a misspelled name still names a commit.

use bstr::{BStr, ByteSlice};

use crate::refs::is_sound;

/// Whether `name` ends as such a name and begins in another way: git since 2.49 does not know it (`get_describe_name` of git's
/// object-name.c).
pub(super) fn is_loose(name: &BStr) -> bool {
    let Some((before, id)) = name.rsplit_once_str("-g") else {
        return false;
    };
    let is_hex = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit);
    let is_whole = before
        .rsplit_once_str("-")
        .is_some_and(|(name, number)| is_hex(number) && is_sound(name.as_bstr()));
    !before.is_empty() && is_hex(id) && !is_whole
}

#[cfg(test)]
mod tests {
    use super::is_loose;

    #[test]
    fn names_begin_with_a_ref_and_a_number() {
        for name in "x-g1234 | v1-x-g1234 | -1-g1234 | a..b-1-g1234 | v1--g1234".split(" | ") {
            assert!(is_loose(name.into()), "{name}");
        }
        for name in
            "v1-14-g1234 | a/b-c-0-g1234 | v1-1-gx | v1-1-g | 1234 | -g1234 | v1".split(" | ")
        {
            assert!(!is_loose(name.into()), "{name}");
        }
    }
}
