//! Our own pseudo-random numbers (SplitMix64), so that a seed means the same on every machine and
//! with every version of every library. Integers only: floating-point functions differ.

/// A stream of numbers that depends on nothing but its seed.
pub(super) struct Random(u64);

impl Random {
    /// The stream that belongs to all of `keys` together.
    pub(super) fn new(keys: &[u64]) -> Self {
        let mut state = 0;
        for &key in keys {
            state = mix(state ^ key).wrapping_add(GOLDEN_GAMMA);
        }
        Random(state)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        mix(self.0)
    }

    /// Below `bound`, each number equally often.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Below `bound`, small numbers far more often: number `r` about as often as 1 / (r + 1).
    pub(super) fn skewed(&mut self, bound: u64) -> u64 {
        let octaves = u64::from(u64::BITS - bound.leading_zeros());
        loop {
            let start = 1 << self.below(octaves);
            let number = start + self.below(start) - 1;
            if number < bound {
                return number;
            }
        }
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len() as u64) as usize]
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut state: u64) -> u64 {
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_stream_depends_on_every_key() {
        let first = |keys: &[u64]| Random::new(keys).next();
        assert_eq!(first(&[1, 2]), first(&[1, 2]));
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_ne!(first(&[1]), first(&[1, 0]));
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut random = Random::new(&[7]);
        for bound in 1..200 {
            assert!(random.below(bound) < bound);
            assert!(random.skewed(bound) < bound);
        }
    }
}
