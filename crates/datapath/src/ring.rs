//! Rings of records from the programs to user space.

use std::cell::RefCell;
use std::rc::Rc;

use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};

/// Reads a ring. Records are gathered first: libbpf's callback lives as long as the ring.
pub(crate) struct Reader {
    ring: RingBuffer<'static>,
    /// Length, then bytes, of each.
    found: Rc<RefCell<Vec<u8>>>,
}

impl Reader {
    pub fn new(map: &impl MapCore) -> Result<Self, libbpf_rs::Error> {
        let found = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&found);
        let mut builder = RingBufferBuilder::new();
        builder.add(map, move |record| {
            let mut found = into.borrow_mut();
            found.extend_from_slice(&(record.len() as u32).to_ne_bytes());
            found.extend_from_slice(record);
            0
        })?;
        let ring = builder.build()?;
        Ok(Self { ring, found })
    }

    /// Passes the ring's records to `each`, in order, at most `most` records. Returns true if the
    /// ring is empty then.
    pub fn read(&mut self, most: usize, mut each: impl FnMut(&[u8])) -> bool {
        let taken = self.ring.consume_raw_n(most);
        let mut found = std::mem::take(&mut *self.found.borrow_mut());
        let mut rest = found.as_slice();
        while let Some((record, next)) = next(rest) {
            rest = next;
            each(record);
        }
        // Reuse the memory next time.
        found.clear();
        *self.found.borrow_mut() = found;
        usize::try_from(taken).is_ok_and(|taken| taken < most)
    }
}

/// Takes a record off those that were gathered.
fn next(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = rest.split_first_chunk()?;
    rest.split_at_checked(u32::from_ne_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    #[test]
    fn records_that_are_cut_short_are_left_out() {
        assert_eq!(super::next(&[9, 0, 0, 0, 1]), None);
    }
}
