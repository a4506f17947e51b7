//! Ranked texts: look-up of the texts that are a prefix of a path, or have the path as a prefix.

/// The position of a pattern in its list. Several patterns may share a rank.
pub type Rank = u32;

/// Texts, each with its greatest rank.
#[derive(Clone, Debug, Default)]
pub struct Prefixes {
    /// The texts in sorted order.
    texts: Vec<Text>,
}

#[derive(Clone, Debug)]
struct Text {
    bytes: Vec<u8>,
    rank: Rank,
    /// The greatest rank of this text and of its prefixes in the table.
    inherited: Rank,
    /// The position of the longest other text that is a prefix of this text.
    parent: Option<usize>,
}

impl Prefixes {
    /// An index of `texts`. Of equal texts, the one with the greatest rank stays.
    pub fn new(texts: impl IntoIterator<Item = (Vec<u8>, Rank)>) -> Self {
        let mut sorted: Vec<_> = texts.into_iter().collect();
        // Of equal texts the one with the greatest rank comes first and is kept.
        sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        sorted.dedup_by(|a, b| a.0 == b.0);
        let mut texts: Vec<Text> = Vec::with_capacity(sorted.len());
        for (bytes, rank) in sorted {
            let before = texts.len().checked_sub(1);
            let parent = ancestors(&texts, before).find(|&at| bytes.starts_with(&texts[at].bytes));
            texts.push(Text {
                inherited: parent.map_or(rank, |at| rank.max(texts[at].inherited)),
                bytes,
                rank,
                parent,
            });
        }
        Self { texts }
    }

    /// The greatest rank of the texts that `path` starts with.
    pub fn of(&self, path: &[u8]) -> Option<Rank> {
        let before = self
            .texts
            .partition_point(|text| &text.bytes[..] <= path)
            .checked_sub(1);
        // Every prefix of `path` in the table is the text in front of `path` or a prefix of that text.
        let found =
            ancestors(&self.texts, before).find(|&at| path.starts_with(&self.texts[at].bytes));
        found.map(|at| self.texts[at].inherited)
    }

    /// The greatest rank of the texts that start with `path`.
    pub fn below(&self, path: &[u8]) -> Option<Rank> {
        let first = self.texts.partition_point(|text| &text.bytes[..] < path);
        let below = self.texts[first..]
            .iter()
            .take_while(|text| text.bytes.starts_with(path));
        below.map(|text| text.rank).max()
    }
}

/// The positions of the text at `start` and of its prefixes, the longest first.
fn ancestors(texts: &[Text], start: Option<usize>) -> impl Iterator<Item = usize> {
    std::iter::successors(start, |&at| texts[at].parent)
}

#[cfg(test)]
mod tests {
    use super::Prefixes;

    #[test]
    fn ranks_are_found_from_both_sides() {
        let texts = [
            ("a", 4),
            ("ab", 1),
            ("abc", 2),
            ("abc", 0),
            ("b/c", 3),
            ("b/d", 5),
        ];
        let prefixes = Prefixes::new(texts.map(|(text, rank)| (text.into(), rank)));
        for (path, of, below) in [
            ("", None, Some(5)),
            ("a", Some(4), Some(4)),
            ("ab", Some(4), Some(2)),
            ("abc", Some(4), Some(2)),
            ("abd", Some(4), None),
            ("b", None, Some(5)),
            ("b/c", Some(3), Some(3)),
            ("b/cc", Some(3), None),
            ("b/cz/", Some(3), None),
            ("b/e", None, None),
            ("c", None, None),
        ] {
            assert_eq!(prefixes.of(path.as_bytes()), of, "of {path}");
            assert_eq!(prefixes.below(path.as_bytes()), below, "below {path}");
        }
    }
}
