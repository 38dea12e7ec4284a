//! The connections of a server: [`Admission`], how often clients connect, and how a connection that
//! has to give way learns of it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use api::server::ResponseBody;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::Notify;

use crate::admission::Admission;
use crate::clock::Clock;
use crate::rate::ConnectionRate;
use crate::throttle::{Allowance, Client};

/// Time for which the device of an address is cached. The daemon asks the kernel for an unknown
/// device again: the kernel may learn its hardware address a moment later.
const REMEMBERED: Duration = Duration::from_secs(2);

/// Largest number of cached addresses.
const ADDRESSES: usize = 512;

/// Time limit for the lookup of a client. Without an answer, the last answer counts, or else the
/// address: a daemon in trouble must not merge devices into a network.
const PATIENCE: Duration = Duration::from_millis(250);

tokio::task_local! {
    /// The slot of the connection that a task serves.
    pub(crate) static SLOT: Rc<Slot>;
}

/// The connections of one server.
pub struct ConnectionPool {
    admission: RefCell<Admission>,
    rate: Option<RefCell<ConnectionRate>>,
    slots: RefCell<HashMap<u64, Rc<Notify>>>,
    clients: RefCell<HashMap<IpAddr, (Client, Duration)>>,
    clock: Clock,
}

impl ConnectionPool {
    /// Allows `most` connections, and `share` of them to each client.
    pub fn new(most: usize, share: usize, clock: Clock) -> Self {
        Self {
            admission: RefCell::new(Admission::new(most, share)),
            rate: None,
            slots: RefCell::default(),
            clients: RefCell::default(),
            clock,
        }
    }

    /// Limits the rate of new connections, for each client and for all together.
    pub fn with_rate(self, [each, all]: [Allowance; 2]) -> Self {
        Self {
            rate: Some(RefCell::new(ConnectionRate::new(each, all))),
            ..self
        }
    }

    /// Returns the client of an address, from `ask` or the cache. An address without a device is
    /// behind another router, where one device may have many: its network is the client.
    pub async fn client(
        &self,
        address: IpAddr,
        ask: impl Future<Output = Option<Client>>,
    ) -> Client {
        if address.is_loopback() {
            return address.into();
        }
        let now = (self.clock)();
        let known = self.clients.borrow().get(&address).copied();
        if let Some((client, since)) = known
            && now.saturating_sub(since) < REMEMBERED
        {
            return client;
        }
        let client = match tokio::time::timeout(PATIENCE, ask).await.ok().flatten() {
            Some(Client::Address(_)) => return Client::network(address),
            Some(client) => client,
            None => return known.map_or(address.into(), |(client, _)| client),
        };
        let mut clients = self.clients.borrow_mut();
        if clients.len() >= ADDRESSES {
            clients.clear();
        }
        clients.insert(address, (client, now));
        client
    }

    /// Takes a connection, or refuses it. Notifies the connection that gives way.
    pub fn enter(self: &Rc<Self>, client: Client, address: IpAddr) -> Option<Rc<Slot>> {
        let now = (self.clock)();
        // Connections of this machine have no rate: a proxy may make many.
        if let Some(rate) = self.rate.as_ref().filter(|_| !client.is_local()) {
            rate.borrow_mut().take(client, address, now).then_some(())?;
        }
        let place = self.admission.borrow_mut().enter(client, address, now)?;
        let mut slots = self.slots.borrow_mut();
        if let Some(gone) = place.dismissed.and_then(|number| slots.remove(&number)) {
            gone.notify_one();
        }
        let dismissed = Rc::<Notify>::default();
        slots.insert(place.number, Rc::clone(&dismissed));
        Some(Rc::new(Slot {
            pool: Rc::clone(self),
            user: client.part(address),
            number: place.number,
            displaced: dismissed,
        }))
    }
}

/// The slot of one connection, released on drop.
pub struct Slot {
    pool: Rc<ConnectionPool>,
    /// The client, if a user is logged in there.
    user: Client,
    number: u64,
    displaced: Rc<Notify>,
}

impl Slot {
    /// Returns when another connection displaces this one.
    pub async fn displaced(&self) {
        self.displaced.notified().await;
    }

    /// A whole request has arrived.
    pub fn answering(&self) {
        let now = (self.pool.clock)();
        self.pool.admission.borrow_mut().answering(self.number, now);
    }

    /// The answer was sent.
    pub fn waiting(&self) {
        let now = (self.pool.clock)();
        self.pool.admission.borrow_mut().waiting(self.number, now);
    }
}

/// Marks the client of this task as logged in: its connections no longer count against the common
/// limit.
pub(crate) fn logged_in() {
    // A test may ask without a slot.
    let _ = SLOT.try_with(|slot| {
        if let Some(rate) = &slot.pool.rate {
            let now = (slot.pool.clock)();
            rate.borrow_mut().set_user(slot.user, now);
        }
    });
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.pool.admission.borrow_mut().leave(self.number);
        self.pool.slots.borrow_mut().remove(&self.number);
    }
}

/// Body of a request. The answer starts only when all of the body has arrived.
pub struct RequestBody {
    body: Incoming,
    slot: Option<Rc<Slot>>,
    ended: Cell<bool>,
}

impl RequestBody {
    pub(crate) fn new(body: Incoming, slot: Option<Rc<Slot>>) -> Self {
        let body = Self {
            body,
            slot,
            ended: Cell::new(false),
        };
        body.note_end();
        body
    }

    fn note_end(&self) {
        if self.body.is_end_stream()
            && !self.ended.replace(true)
            && let Some(slot) = &self.slot
        {
            slot.answering();
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match (&polled, &self.slot) {
            (Poll::Ready(None), Some(slot)) if !self.ended.replace(true) => slot.answering(),
            _ => self.note_end(),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Body of an answer. The connection waits for the next request when all of it was taken.
pub(crate) struct SlotBody {
    body: ResponseBody,
    slot: Option<Rc<Slot>>,
}

impl SlotBody {
    pub(crate) fn new(body: ResponseBody, slot: Option<Rc<Slot>>) -> Self {
        Self { body, slot }
    }
}

impl Body for SlotBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for SlotBody {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            slot.waiting();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn ask(
        pool: &ConnectionPool,
        address: IpAddr,
        ask: impl Future<Output = Option<Client>>,
    ) -> Client {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(pool.client(address, ask))
    }

    #[test]
    fn an_address_without_a_device_is_part_of_a_network() {
        let now = Rc::new(Cell::new(Duration::from_secs(100)));
        let clock = Rc::clone(&now);
        let pool = ConnectionPool::new(8, 8, Rc::new(move || clock.get()));
        let device = Client::Device([2, 0, 0, 0, 0, 1]);
        let of = |text: &str, answer: Option<Client>| {
            let address: IpAddr = text.parse().expect("an address");
            match answer {
                Some(client) => ask(&pool, address, async move { Some(client) }),
                None => ask(&pool, address, pending()),
            }
        };
        let network = |text: &str| Client::Network(text.parse().expect("an address"));
        for (text, wanted) in [
            ("10.79.0.7", "10.79.0.0"),
            ("2001:db8:1:2::3", "2001:db8:1::"),
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(of(text, Some(address.into())), network(wanted));
        }
        let own: IpAddr = "127.0.0.1".parse().expect("an address");
        assert_eq!(of("127.0.0.1", None), own.into());
        // Without an answer the last answer counts; without any, the address.
        let other: IpAddr = "10.79.0.8".parse().expect("an address");
        assert_eq!(of("10.79.0.8", None), other.into());
        assert_eq!(ask(&pool, other, async { None }), other.into());
        assert_eq!(of("10.79.0.8", Some(device)), device);
        now.set(Duration::from_secs(200));
        assert_eq!(of("10.79.0.8", None), device);
        assert_eq!(ask(&pool, other, async { None }), device);
    }
}
