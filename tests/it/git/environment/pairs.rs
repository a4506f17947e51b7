//! Two variables together. `PROPTEST_CASES` says how many pairs are drawn.

use std::sync::LazyLock;

use proptest::{prelude::*, sample::Index};

use super::{LINES, PLACES, World, is_killed, is_new, variables::cases};
use crate::support::process::Output;

static WORLD: LazyLock<World> = LazyLock::new(World::create);

proptest! {
    #[test]
    #[ignore = "slow"]
    fn both_end_in_the_same_way(
        one in any::<Index>(),
        other in any::<Index>(),
        place in any::<Index>(),
        line in any::<Index>(),
    ) {
        let world = &*WORLD;
        // Versions of git look for faults in another order, and an older git knows one variable only.
        let cases: Vec<_> = cases(world).into_iter().filter(|(name, _)| !is_new(name)).collect();
        let (one, other) = (one.get(&cases), other.get(&cases));
        let (place, line) = (*place.get(&PLACES), *line.get(&LINES));
        prop_assume!(one.0 != other.0);
        let variables = [one, other].map(|(name, value)| (*name, value.as_deref()));
        let ours = world.run(("git-sluice", line), place, &variables);
        let theirs = world.run(("git", line), place, &variables);
        let end = |output: &Output| (output.code(), super::without_own_format(output));
        prop_assert!(
            is_killed(&theirs) || end(&ours) == (theirs.code(), theirs.stdout.clone()),
            "{:?} {:?} {:?}\nours: {}\ngit: {}", line, place, variables, ours, theirs
        );
    }
}
