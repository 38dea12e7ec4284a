//! Limited slots, and a fair queue for them. A client with many requests waits behind a client with
//! few: each turn of a client is one later than its previous turn (as in start-time fair queueing,
//! Goyal, Vin and Cheng 1996), behind those of clients with less recent use of slots.
//!
//! If [`Rules::newcomers`] is set, a client without recent requests comes before all others, the
//! latest of such clients first. Many addresses that arrive at once are new only once: a later
//! client with few requests has the next slot.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::client::Client;

/// Limits in total and for each client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub places: usize,
    pub places_each: usize,
    pub waiting: usize,
    pub waiting_each: usize,
    /// Clients without recent requests come first.
    pub newcomers: bool,
    /// Longest wait.
    pub patience: Duration,
}

/// Reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The client has reached its own limit.
    Share,
    /// Other clients have all slots.
    Full,
}

#[derive(Debug)]
pub(crate) struct FairQueue {
    rules: Rules,
    state: Mutex<State>,
}

/// A slot, or the wait for one; the drop returns it.
#[derive(Debug)]
pub(crate) struct Permit {
    line: Arc<FairQueue>,
    who: Who,
    ticket: Ticket,
}

/// Order of calls: the use and requests so far; the turn, or for newcomers the latest first; and a
/// unique number.
type Ticket = (u64, u64, u64);

/// Time in which past use decays to half.
const HALF: Duration = Duration::from_secs(60);
/// Use counted for each request: after [`HALF`] less than a second remains, and the client is new
/// again.
const QUESTION: Duration = Duration::from_secs(2);
/// Number of clients beyond which the past use of absent ones is dropped.
const CLIENTS: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Who {
    Client(Client),
    /// A request without an address, which has no share.
    Nobody(u64),
}

#[derive(Debug, Default)]
struct State {
    tickets: u64,
    /// The turn that was called last.
    now: u64,
    waiting: BTreeMap<Ticket, Waiting>,
    /// Start time of each slot in use.
    holding: HashMap<Ticket, Instant>,
    /// Clients that hold or await a slot, or have used much.
    clients: HashMap<Who, Own>,
}

#[derive(Debug)]
struct Waiting {
    who: Who,
    turn: u64,
    call: oneshot::Sender<Result<(), Refused>>,
}

#[derive(Debug, Default)]
struct Own {
    holds: usize,
    waits: usize,
    /// The last of its turns.
    turn: u64,
    /// Use of slots, plus a second for each request if newcomers come first, and the time of the
    /// last summation.
    used: Duration,
    summed: Option<Instant>,
}

impl Own {
    /// Returns the decayed use so far, in whole seconds.
    fn used(&mut self, more: Duration, now: Instant) -> u64 {
        let since = self.summed.map_or(Duration::ZERO, |at| now - at);
        let halves = since.as_secs_f64() / HALF.as_secs_f64();
        self.used = self.used.mul_f64((-halves).exp2()) + more;
        self.summed = Some(now);
        self.used.as_secs()
    }
}

impl FairQueue {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            state: Mutex::default(),
        }
    }

    /// Waits for a place. Who leaves before it has one waits no more.
    pub async fn place(self: &Arc<Self>, client: Option<Client>) -> Result<Permit, Refused> {
        let (place, called) = self.come(client)?;
        match tokio::time::timeout(self.rules.patience, called).await {
            Ok(Ok(called)) => called.map(|()| place),
            // A call is dropped only after its ticket.
            Ok(Err(_)) => Err(Refused::Full),
            Err(_) => Err(self.state().why(place.who)),
        }
    }

    fn come(
        self: &Arc<Self>,
        client: Option<Client>,
    ) -> Result<(Permit, oneshot::Receiver<Result<(), Refused>>), Refused> {
        let mut state = self.state();
        state.tickets += 1;
        let number = state.tickets;
        let who = client.map_or(Who::Nobody(number), Who::Client);
        let now = state.now;
        state.bound();
        let own = state.clients.entry(who).or_default();
        if own.waits >= self.rules.waiting_each {
            return Err(Refused::Share);
        }
        own.turn = own.turn.max(now) + 1;
        own.waits += 1;
        let turn = own.turn;
        let come = Instant::now();
        let used = own.used(Duration::ZERO, come);
        let order = match self.rules.newcomers {
            true if used == 0 => u64::MAX - number,
            _ => turn,
        };
        if self.rules.newcomers {
            own.used(QUESTION, come);
        }
        let ticket = (used, order, number);
        let (call, called) = oneshot::channel();
        state.waiting.insert(ticket, Waiting { who, turn, call });
        let line = Arc::clone(self);
        let place = Permit { line, who, ticket };
        state.call(&self.rules);
        if state.waiting.len() > self.rules.waiting {
            state.send_last_away();
        }
        drop(state);
        Ok((place, called))
    }

    /// Returns the number of waiting requests.
    pub fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives free slots to the next tickets.
    fn call(&mut self, rules: &Rules) {
        while self.holding.len() < rules.places {
            let mut waiting = self.waiting.iter();
            let may = |who| {
                self.clients
                    .get(who)
                    .is_none_or(|own| own.holds < rules.places_each)
            };
            let next = waiting.find(|(_, one)| may(&one.who));
            let Some(ticket) = next.map(|(at, _)| *at) else {
                return;
            };
            let Some(Waiting { who, turn, call }) = self.waiting.remove(&ticket) else {
                return;
            };
            if let Some(own) = self.clients.get_mut(&who) {
                own.waits -= 1;
                own.holds += 1;
            }
            self.holding.insert(ticket, Instant::now());
            self.now = self.now.max(turn);
            // If the client has left, its slot is returned automatically.
            let _ = call.send(Ok(()));
        }
    }

    /// Refuses the last ticket of a full queue: of the client with most requests, or the newest.
    fn send_last_away(&mut self) {
        let Some((_, Waiting { who, turn, call })) = self.waiting.pop_last() else {
            return;
        };
        let why = self.why(who);
        if let Some(own) = self.clients.get_mut(&who) {
            own.turn = own.turn.min(turn.saturating_sub(1));
        }
        self.waits_no_more(who);
        let _ = call.send(Err(why));
    }

    /// Returns the reason why a client's request gets no slot.
    fn why(&self, who: Who) -> Refused {
        match self.clients.get(&who) {
            Some(own) if own.holds + own.waits > 1 => Refused::Share,
            _ => Refused::Full,
        }
    }

    fn waits_no_more(&mut self, who: Who) {
        if let Some(own) = self.clients.get_mut(&who) {
            own.waits -= 1;
        }
        self.forget(who);
    }

    fn forget(&mut self, who: Who) {
        if let Some(own) = self.clients.get_mut(&who)
            && own.holds + own.waits == 0
            && (own.used(Duration::ZERO, Instant::now()) == 0 || matches!(who, Who::Nobody(_)))
        {
            self.clients.remove(&who);
        }
    }

    /// Bounds the memory of absent clients.
    fn bound(&mut self) {
        if self.clients.len() > CLIENTS {
            self.clients.retain(|_, own| own.holds + own.waits > 0);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.line.state();
        if state.waiting.remove(&self.ticket).is_some() {
            state.waits_no_more(self.who);
        } else if let Some(since) = state.holding.remove(&self.ticket) {
            if let Some(own) = state.clients.get_mut(&self.who) {
                own.holds -= 1;
                let now = Instant::now();
                own.used(now - since, now);
            }
            state.forget(self.who);
            state.call(&self.line.rules);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    const RULES: Rules = Rules {
        places: 2,
        places_each: 1,
        waiting: 6,
        waiting_each: 4,
        newcomers: false,
        patience: Duration::from_millis(20),
    };

    type Come = Result<(Permit, oneshot::Receiver<Result<(), Refused>>), Refused>;

    fn client(number: u8) -> Option<Client> {
        Some(Client::of(IpAddr::from([192, 0, 2, number])))
    }

    fn come(line: &Arc<FairQueue>, number: u8) -> Come {
        line.come(client(number))
    }

    /// Returns the result so far; `None`: still waiting.
    fn told(come: &mut Come) -> Option<Result<(), Refused>> {
        match come {
            Ok((_, called)) => called.try_recv().ok(),
            Err(refused) => Some(Err(*refused)),
        }
    }

    #[test]
    fn one_client_has_its_share_and_the_rest_is_for_others() {
        let line = Arc::new(FairQueue::new(RULES));
        let mut own: Vec<Come> = (0..6).map(|_| come(&line, 1)).collect();
        assert_eq!(told(&mut own[0]), Some(Ok(())));
        for waiting in &mut own[1..5] {
            assert_eq!(told(waiting), None);
        }
        assert_eq!(told(&mut own[5]), Some(Err(Refused::Share)));
        let mut other = come(&line, 2);
        assert_eq!(told(&mut other), Some(Ok(())));
        assert_eq!(line.waiting(), 4);
        drop(other);
        assert_eq!(told(&mut own[1]), None, "a place is free, but not for it");
        drop(own.remove(0));
        assert_eq!(told(&mut own[0]), Some(Ok(())), "its next");
        drop(own);
        assert_eq!(line.waiting(), 0);
        assert!(line.state().clients.is_empty() && line.state().holding.is_empty());
    }

    #[test]
    fn turns_go_round() {
        let line = Arc::new(FairQueue::new(Rules { places: 1, ..RULES }));
        let mut all: Vec<(char, Come)> = [(1, 'a'), (1, 'b'), (1, 'c'), (2, 'd'), (2, 'e')]
            .map(|(number, name)| (name, come(&line, number)))
            .into();
        let mut order = String::new();
        while !all.is_empty() {
            let at = all
                .iter_mut()
                .position(|(_, come)| told(come) == Some(Ok(())));
            order.push(all.remove(at.expect("somebody's turn")).0);
        }
        assert_eq!(order, "abdce");
    }

    #[test]
    fn who_comes_to_a_full_line_takes_the_place_of_who_asks_most() {
        let line = Arc::new(FairQueue::new(Rules { places: 1, ..RULES }));
        let mut first: Vec<Come> = (0..5).map(|_| come(&line, 1)).collect();
        let mut others: Vec<Come> = (2..4).map(|number| come(&line, number)).collect();
        assert_eq!(line.waiting(), 6);
        let mut late = come(&line, 4);
        assert_eq!(told(&mut late), None, "waits");
        assert_eq!(told(&mut first[4]), Some(Err(Refused::Share)));
        for number in 5..7 {
            others.push(come(&line, number));
        }
        // Each client has a waiting request.
        let mut last = come(&line, 8);
        assert_eq!(told(&mut last), Some(Err(Refused::Full)));
        assert!(others.iter_mut().all(|other| told(other).is_none()));
        assert_eq!(line.waiting(), 6);
    }

    /// Eighteen with a query each that takes all its time, again and again.
    #[test]
    fn who_has_used_much_waits_behind_who_has_not() {
        let rules = Rules {
            waiting: 16,
            ..RULES
        };
        let line = Arc::new(FairQueue::new(rules));
        let mut slow: Vec<Come> = (1..=18).map(|number| come(&line, number)).collect();
        let ends = |come: Come| {
            let (place, _) = come.expect("a place");
            let mut state = line.state();
            let since = state.holding.get_mut(&place.ticket).expect("held");
            *since -= Duration::from_secs(5);
            drop(state);
        };
        // All have had a slot once, and request another at once.
        for number in 1..=18 {
            assert_eq!(told(&mut slow[0]), Some(Ok(())), "{number}");
            ends(slow.remove(0));
            slow.push(come(&line, number));
        }
        let mut other = come(&line, 100);
        assert_eq!(told(&mut other), None, "waits, though the line is full");
        assert_eq!(line.waiting(), 16);
        assert_eq!(told(&mut slow[17]), Some(Err(Refused::Full)));
        ends(slow.remove(0));
        assert_eq!(told(&mut other), Some(Ok(())), "before all others");
        drop((other, slow));
        assert_eq!(line.state().clients.len(), 18, "are remembered");
    }

    /// Twenty clients at once, each with three requests that use all their time, and retries after
    /// a refusal.
    #[test]
    fn a_newcomer_has_the_next_place_however_many_are_before() {
        let rules = Rules {
            waiting: 16,
            newcomers: true,
            ..RULES
        };
        let line = Arc::new(FairQueue::new(rules));
        let mut crowd: Vec<(u8, Come)> = Vec::new();
        for _ in 0..3 {
            crowd.extend((1..=20).map(|number| (number, come(&line, number))));
        }
        let mut held = Vec::new();
        for _ in 0..40 {
            // Each refused one retries; one in ten keeps its slot for five seconds.
            for (number, mut one) in std::mem::take(&mut crowd) {
                match told(&mut one) {
                    Some(Ok(())) => held.push(one),
                    Some(Err(_)) => crowd.push((number, come(&line, number))),
                    None => crowd.push((number, one)),
                }
            }
            assert_eq!(held.len(), 2, "places are taken");
            let mut first = come(&line, 100);
            assert_eq!(told(&mut first), None, "waits");
            drop(held.remove(0));
            assert_eq!(told(&mut first), Some(Ok(())), "is next");
            // Let time pass for a newcomer to count as one.
            drop(first);
            line.state()
                .clients
                .remove(&Who::Client(Client::of(IpAddr::from([192, 0, 2, 100]))));
        }
    }

    #[test]
    fn who_asked_much_lately_is_no_newcomer() {
        let rules = Rules {
            places: 1,
            newcomers: true,
            ..RULES
        };
        let line = Arc::new(FairQueue::new(rules));
        let place = come(&line, 9);
        let mut one: Vec<Come> = (0..3).map(|_| come(&line, 1)).collect();
        let mut other = come(&line, 2);
        drop(place);
        assert_eq!(told(&mut other), Some(Ok(())), "the latest that is new");
        let mut second = come(&line, 2);
        drop(other);
        assert_eq!(told(&mut one[0]), Some(Ok(())), "was new, too");
        drop(one.remove(0));
        assert_eq!(told(&mut one[0]), Some(Ok(())), "comes before");
        drop(one.remove(0));
        assert_eq!(told(&mut second), Some(Ok(())), "has asked less");
    }

    #[test]
    fn what_was_used_is_forgotten() {
        let (mut own, begin) = (Own::default(), Instant::now());
        assert_eq!(own.used(Duration::from_millis(900), begin), 0);
        assert_eq!(own.used(Duration::from_secs(8), begin), 8);
        assert_eq!(own.used(Duration::ZERO, begin + HALF), 4);
        assert_eq!(own.used(Duration::ZERO, begin + HALF * 4), 0);
        let mut state = State::default();
        for number in 0..=CLIENTS as u64 {
            state.clients.entry(Who::Nobody(number)).or_default();
        }
        let first = state.clients.get_mut(&Who::Nobody(0)).expect("there");
        first.waits = 1;
        state.bound();
        assert_eq!(state.clients.len(), 1);
    }

    #[test]
    fn patience_ends_and_says_why() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.expect("a runtime").block_on(async {
            let line = Arc::new(FairQueue::new(RULES));
            let first = line.place(client(1)).await.expect("a place");
            let second = line.place(client(1)).await;
            assert_eq!(second.err(), Some(Refused::Share));
            let nobody = line.place(None).await.expect("a place");
            assert_eq!(line.place(client(3)).await.err(), Some(Refused::Full));
            assert_eq!(line.place(None).await.err(), Some(Refused::Full));
            assert_eq!(line.waiting(), 0);
            drop(first);
            let again = line.place(client(3)).await;
            assert!(again.is_ok());
            drop(nobody);
        });
    }
}
