//! The shortest way through the archives of a channel. Must not read one.

use std::collections::HashMap;

use super::published_archive::PublishedArchive;

/// The archives, in order, that make `target` of what a directory holds: a commit, or nothing that counts. The way with
/// the fewest bytes; `None` if there is none.
///
/// A full archive takes the place of whatever is there, so each may begin a way.
pub(super) fn cheapest_chain<'s>(
    steps: &'s [PublishedArchive],
    held: Option<&str>,
    target: &str,
) -> Option<Vec<&'s PublishedArchive>> {
    // The cost of each commit in bytes, and the last step to it.
    let mut reached: HashMap<&str, (u64, Option<&PublishedArchive>)> = HashMap::new();
    reached.extend(held.map(|held| (held, (0, None))));
    // Each round reaches at least one commit for less, and no way has more steps than there are.
    for _ in steps {
        let mut is_shorter = false;
        for step in steps {
            let before = match &step.base {
                None => Some(0),
                Some(base) => reached.get(&**base).map(|(bytes, _)| *bytes),
            };
            let Some(bytes) = before.map(|before| before.saturating_add(step.size)) else {
                continue;
            };
            let known = reached.get(&*step.target);
            if known.is_none_or(|(known, _)| bytes < *known) {
                reached.insert(&step.target, (bytes, Some(step)));
                is_shorter = true;
            }
        }
        if !is_shorter {
            break;
        }
    }
    let mut way = Vec::new();
    let mut commit = target;
    while let Some(step) = reached.get(commit)?.1 {
        way.push(step);
        match &step.base {
            // A step without a byte could lead back.
            Some(base) if way.len() <= steps.len() => commit = base,
            Some(_) => return None,
            None => break,
        }
    }
    way.reverse();
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::super::published_archive::{PublishedArchive, tests::step};

    /// The sizes of the steps from `held` to `target`.
    fn cheapest_chain(steps: &[PublishedArchive], held: &str, target: &str) -> Option<Vec<u64>> {
        let held = (!held.is_empty()).then(|| held.repeat(40));
        let way = super::cheapest_chain(steps, held.as_deref(), &target.repeat(40))?;
        Some(way.iter().map(|step| step.size).collect())
    }

    #[test]
    fn the_fewest_bytes() {
        let steps = [
            step(None, "a", 100),
            step(Some("a"), "b", 10),
            step(Some("b"), "c", 20),
            step(Some("a"), "c", 25),
            step(None, "c", 105),
            step(Some("c"), "d", 5),
        ];
        for (held, target, expected) in [
            ("", "a", Some(vec![100])),
            ("", "d", Some(vec![105, 5])),
            ("a", "a", Some(vec![])),
            ("a", "b", Some(vec![10])),
            ("a", "d", Some(vec![25, 5])),
            ("b", "d", Some(vec![20, 5])),
            ("d", "d", Some(vec![])),
            // Back, and from elsewhere.
            ("d", "a", Some(vec![100])),
            ("e", "c", Some(vec![105])),
            ("a", "e", None),
            ("e", "e", Some(vec![])),
        ] {
            assert_eq!(
                cheapest_chain(&steps, held, target),
                expected,
                "{held} to {target}"
            );
        }
    }

    #[test]
    fn the_order_of_steps_does_not_matter_and_circles_end() {
        let steps = [
            step(Some("c"), "d", 1),
            step(Some("b"), "c", 1),
            step(Some("d"), "b", 1),
            step(Some("a"), "b", 1),
            step(None, "a", 1),
        ];
        assert_eq!(cheapest_chain(&steps, "", "d"), Some(vec![1; 4]));
        assert_eq!(cheapest_chain(&steps, "d", "c"), Some(vec![1; 2]));
        let nothing = [step(Some("a"), "b", 0), step(Some("b"), "a", 0)];
        assert_eq!(cheapest_chain(&nothing, "", "a"), None);
        assert_eq!(cheapest_chain(&nothing, "a", "b"), Some(vec![0]));
    }
}
