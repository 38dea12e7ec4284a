//! A small deterministic generator. A seed gives equal traffic on every machine and with every
//! release of every crate.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts a sequence. All seeds are equally good.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `0..limit`, or 0 if `limit` is 0. The distribution is only nearly
    /// uniform, which suffices for traffic.
    pub fn below(&mut self, limit: usize) -> usize {
        match limit {
            0 => 0,
            limit => (self.next_u64() % limit as u64) as usize,
        }
    }

    /// Returns a number in `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Returns true once in `n` times on average.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of `choices`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Returns `length` random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes
    }

    /// Overwrites `bytes` with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_published_sequence() {
        // Reference output of splitmix64.c by Sebastiano Vigna for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn stays_within_limits() {
        let mut random = Random::new(1);
        assert_eq!(random.below(0), 0);
        assert!((0..1000).all(|_| (3..=5).contains(&random.between(3, 5))));
    }
}
