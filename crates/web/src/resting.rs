//! Connections by which nothing is being asked. Where there is no place left, the one that rested
//! longest goes for a new one: whoever holds very many, from very many addresses, keeps nobody out.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;

tokio::task_local! {
    /// Of the connection that a task serves.
    pub static REST: Rest;
}

/// All of them, the one that rested longest first.
#[derive(Default)]
pub struct Resting {
    next: Cell<u64>,
    all: RefCell<BTreeMap<u64, Rc<Notify>>>,
}

impl Resting {
    /// Tells the one that rested longest to go. Whether there was one.
    pub fn make_room(&self) -> bool {
        let longest = self.all.borrow_mut().pop_first();
        longest.is_some_and(|(_, told)| {
            told.notify_one();
            true
        })
    }
}

/// One connection. It rests from its beginning, and between its requests.
pub struct Rest {
    among: Rc<Resting>,
    place: Cell<Option<u64>>,
    told: Rc<Notify>,
}

impl Rest {
    pub fn new(among: Rc<Resting>) -> Self {
        let rest = Self {
            among,
            place: Cell::new(None),
            told: Rc::default(),
        };
        rest.begin();
        rest
    }

    /// Ready when it is told to go.
    pub fn told(&self) -> Rc<Notify> {
        Rc::clone(&self.told)
    }

    /// It rests from now on.
    pub fn begin(&self) {
        self.end();
        let place = self.among.next.get();
        self.among.next.set(place + 1);
        let mut all = self.among.all.borrow_mut();
        all.insert(place, Rc::clone(&self.told));
        self.place.set(Some(place));
    }

    /// Something is asked.
    pub fn end(&self) {
        if let Some(place) = self.place.take() {
            self.among.all.borrow_mut().remove(&place);
        }
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_told(rest: &Rest) -> bool {
        let told = rest.told();
        let mut told = std::pin::pin!(told.notified());
        told.as_mut().enable()
    }

    #[test]
    fn the_one_that_rested_longest_goes() {
        let all = Rc::new(Resting::default());
        let [one, two, three] = [0; 3].map(|_| Rest::new(Rc::clone(&all)));
        // The first asks something, the second did.
        one.end();
        two.end();
        two.begin();
        assert!(all.make_room());
        assert_eq!([&one, &two, &three].map(is_told), [false, false, true]);
        assert!(all.make_room());
        assert!(is_told(&two));
        assert!(!all.make_room(), "nobody rests");
        drop(three);
        one.begin();
        drop(one);
        assert!(!all.make_room(), "who went is not told");
    }
}
