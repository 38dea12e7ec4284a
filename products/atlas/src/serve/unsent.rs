//! Answers being sent: bounds the total that slow clients have not yet taken.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;

use crate::client::Client;
use crate::fair_queue::Refused;

/// Limits in bytes in total and for a client; a single answer may be larger.
const MOST: usize = 24 << 20;
const MOST_EACH: usize = 8 << 20;
/// Answers up to this size are not counted: there is room for one per connection.
const SMALL: usize = 32 << 10;

/// Bytes that were not taken yet.
#[derive(Debug, Default)]
pub(super) struct UnsentBytes {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    all: usize,
    each: HashMap<Client, usize>,
}

/// An answer, counted until the last reference is dropped.
struct Counted {
    octets: Bytes,
    client: Client,
    sending: Arc<UnsentBytes>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.octets
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut state = self.sending.state();
        state.all -= self.octets.len();
        if let Some(own) = state.each.get_mut(&self.client) {
            *own -= self.octets.len();
            if *own == 0 {
                state.each.remove(&self.client);
            }
        }
    }
}

impl UnsentBytes {
    /// Counts an answer's bytes, if there is room for them.
    pub fn count(self: &Arc<Self>, client: Client, octets: Bytes) -> Result<Bytes, Refused> {
        let size = octets.len();
        if size <= SMALL {
            return Ok(octets);
        }
        let mut state = self.state();
        let fits = |before: usize, most| before == 0 || before + size <= most;
        let own = state.each.get(&client).copied().unwrap_or_default();
        if !fits(own, MOST_EACH) {
            return Err(Refused::Share);
        }
        if !fits(state.all, MOST) {
            return Err(Refused::Full);
        }
        state.all += size;
        *state.each.entry(client).or_default() += size;
        drop(state);
        Ok(Bytes::from_owner(Counted {
            octets,
            client,
            sending: Arc::clone(self),
        }))
    }

    /// Returns the total in bytes.
    pub fn octets(&self) -> usize {
        self.state().all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn room_is_given_back_with_the_last_of_the_octets() {
        let sending = Arc::new(UnsentBytes::default());
        let client = |last| Client::of(IpAddr::from([192, 0, 2, last]));
        let of = |last, octets| sending.count(client(last), Bytes::from(vec![0; octets]));
        let mebi = 1 << 20;
        let small: Vec<_> = (0..1000).map(|_| of(1, SMALL).expect("small")).collect();
        assert_eq!(sending.octets(), 0);
        let mut held: Vec<_> = (1..4)
            .flat_map(|last| [of(last, 4 * mebi), of(last, 4 * mebi)])
            .map(|one| one.expect("room"))
            .collect();
        assert_eq!(of(1, SMALL + 1).err(), Some(Refused::Share));
        assert_eq!(of(4, SMALL + 1).err(), Some(Refused::Full));
        let half = held.pop().map(|octets| octets.slice(1..2));
        assert_eq!(of(4, SMALL + 1).err(), Some(Refused::Full));
        drop(half);
        assert!(of(4, SMALL + 1).is_ok());
        drop((held, small));
        assert!(of(5, 2 * MOST).is_ok(), "alone");
        assert_eq!(sending.octets(), 0);
        assert!(sending.state().each.is_empty());
    }
}
