//! Bytes of a message. A message is in memory once, for any number of recipients; a pool counts
//! all of them, so that the total can be bounded.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// Approximate overhead of a message in addition to its bytes.
const BESIDE: usize = 128;

/// Shared bytes of a message; a clone refers to the same bytes.
#[derive(Clone)]
pub struct SharedBytes(Rc<Counted>);

struct Counted {
    octets: Vec<u8>,
    pool: Pool,
}

/// Counts those that are there.
#[derive(Clone, Debug, Default)]
pub struct Pool(Rc<Cell<usize>>);

impl Pool {
    /// Adds bytes to the pool.
    pub fn take(&self, mut octets: Vec<u8>) -> SharedBytes {
        octets.shrink_to_fit();
        self.0.set(self.0.get() + weight(octets.len()));
        SharedBytes(Rc::new(Counted {
            octets,
            pool: self.clone(),
        }))
    }

    /// Returns the memory of all bytes in the pool, in bytes.
    pub fn used(&self) -> usize {
        self.0.get()
    }
}

impl SharedBytes {
    /// Returns the memory of these bytes, in bytes.
    pub fn weight(&self) -> usize {
        weight(self.len())
    }
}

fn weight(length: usize) -> usize {
    length + BESIDE
}

/// Bytes outside any shared pool.
impl From<Vec<u8>> for SharedBytes {
    fn from(octets: Vec<u8>) -> Self {
        Pool::default().take(octets)
    }
}

impl From<&[u8]> for SharedBytes {
    fn from(octets: &[u8]) -> Self {
        octets.to_vec().into()
    }
}

impl<const N: usize> From<&[u8; N]> for SharedBytes {
    fn from(octets: &[u8; N]) -> Self {
        octets.to_vec().into()
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.octets
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Octets({})", self.len())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let used = &self.pool.0;
        used.set(used.get() - weight(self.octets.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_counted_once() {
        let pool = Pool::default();
        let one = pool.take(vec![1; 1000]);
        let other = one.clone();
        assert_eq!((pool.used(), one.weight()), (1128, 1128));
        drop(one);
        assert_eq!((pool.used(), &other[..3]), (1128, &[1, 1, 1][..]));
        drop(other);
        assert_eq!(pool.used(), 0);
    }
}
