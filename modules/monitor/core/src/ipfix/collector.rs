//! The socket towards a collector: UDP (RFC 7011, section 10.3), which never blocks.
//!
//! Messages that cannot be sent now wait, up to a bound; lost messages are counted, also by the
//! exporter, which reports them to the collector. Only name look-ups block; each runs in a thread
//! of its own.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::exporter::Exporter;
use super::message::{Contents, Message};
use super::target::Target;

/// Milliseconds between a failed look-up or connection and the next attempt.
const RETRY: u64 = 30_000;
/// Milliseconds of errors after which weir resolves the name again, or tries its next address.
const PATIENCE: u64 = 30_000;
/// Milliseconds without an error after which all is well again. ICMP errors are limited to some a
/// second, and are not each a change.
const WELL: u64 = 10_000;

/// Messages that wait for a collector that is away, or for room in the kernel, at most: some 350
/// KB.
pub const BACKLOG_LIMIT: usize = 256;
/// Messages that one call sends at most: a burst would be too much for the collector's socket,
/// which has room for some hundred.
pub const BURST: usize = 64;
/// Attempts at a message before it is given up, if it is the message that is wrong (as too large
/// for the device).
const ATTEMPTS: u8 = 3;

/// Change of the collector's state that is worth a line in the log. Each state is reported once,
/// when the state begins.
#[derive(Debug, PartialEq, Eq)]
pub enum CollectorEvent {
    /// Messages go to this address.
    Sending(SocketAddr),
    /// No program listens at the address (ICMP port unreachable).
    Refused(SocketAddr),
    /// Messages cannot be sent there.
    Failing(SocketAddr, String),
    /// The name has no address.
    Unresolved(String),
}

impl fmt::Display for CollectorEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CollectorEvent::Sending(to) => write!(f, "sending IPFIX to {to}"),
            CollectorEvent::Refused(to) => write!(
                f,
                "no IPFIX collector listens on UDP at {to}; weir keeps trying"
            ),
            CollectorEvent::Failing(to, error) => {
                write!(f, "cannot send IPFIX to {to}: {error}; weir keeps trying")
            }
            CollectorEvent::Unresolved(error) => write!(f, "{error}; weir keeps trying"),
        }
    }
}

/// Number of messages by fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Handed to the kernel.
    pub messages: u64,
    /// Given up: too many waited, or the kernel refused them.
    pub unsent: u64,
    /// Refused by ICMP, as no program listens. There may be more: such answers are limited.
    pub refused: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CollectorState {
    New,
    Well,
    Ill,
}

type Answer = io::Result<Vec<SocketAddr>>;

/// Sends an exporter's messages to one collector.
#[derive(Debug)]
pub struct Collector {
    target: Target,
    addresses: Vec<SocketAddr>,
    next: usize,
    socket: Option<(UdpSocket, SocketAddr)>,
    lookup: Option<Receiver<Answer>>,
    retry_at: u64,
    mood: CollectorState,
    /// Times of the first and the last error.
    trouble: Option<(u64, u64)>,
    /// The last message that was sent: an ICMP error is about it, or one before it.
    last: Option<(Contents, usize)>,
    /// True if the collector may lack the templates of the next messages.
    stranger: bool,
    /// Waiting messages, oldest first, and the attempts to send the oldest.
    backlog: VecDeque<Message>,
    attempts: u8,
    sent: SendCounters,
}

impl Collector {
    /// Opens nothing yet: that is done by the first [`Collector::send`].
    pub fn new(target: Target) -> Self {
        Self {
            target,
            addresses: Vec::new(),
            next: 0,
            socket: None,
            lookup: None,
            retry_at: 0,
            mood: CollectorState::New,
            trouble: None,
            last: None,
            stranger: false,
            backlog: VecDeque::new(),
            attempts: 0,
            sent: SendCounters::default(),
        }
    }

    /// Returns the address of the collector.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the number of messages by fate.
    pub fn sent(&self) -> SendCounters {
        self.sent
    }

    /// Returns the number of waiting messages. At the end, call [`Collector::send`] repeatedly
    /// until none waits.
    pub fn backlog(&self) -> usize {
        self.backlog.len()
    }

    /// Sends `messages` after the waiting ones, at most [`BURST`], and reports lost ones to
    /// `exporter`. Never blocks: call this each second or more often, also without messages. `now`
    /// is milliseconds of a clock that does not jump; `wall` is milliseconds since 1970. Returns
    /// changes to be logged.
    pub fn send(
        &mut self,
        exporter: &mut Exporter,
        messages: Vec<Message>,
        now: u64,
        wall: u64,
    ) -> Option<CollectorEvent> {
        let mut change = self.connect(now);
        for message in messages {
            if self.backlog.len() >= BACKLOG_LIMIT {
                self.give_up(exporter, wall);
            }
            self.backlog.push_back(message);
        }
        for _ in 0..BURST {
            let Some(message) = self.backlog.pop_front() else {
                break;
            };
            let (sent, found) = self.send_one(exporter, &message, now, wall);
            change = change.or(found);
            if !sent {
                self.backlog.push_front(message);
                if self.attempts >= ATTEMPTS {
                    self.give_up(exporter, wall);
                }
                break;
            }
            self.attempts = 0;
        }
        self.recover(now).or(change)
    }

    /// Loses the oldest message that waits.
    fn give_up(&mut self, exporter: &mut Exporter, wall: u64) {
        self.attempts = 0;
        if let Some(oldest) = self.backlog.pop_front() {
            self.sent.unsent += 1;
            exporter.unsent(oldest.contents, oldest.octets.len(), wall);
            // The dropped message may have had templates.
            self.stranger = true;
        }
    }

    /// Sends a message, if that is possible at once. Returns the result.
    fn send_one(
        &mut self,
        exporter: &mut Exporter,
        message: &Message,
        now: u64,
        wall: u64,
    ) -> (bool, Option<CollectorEvent>) {
        let Some((socket, address)) = &self.socket else {
            return (false, None);
        };
        let address = *address;
        let mut result = Ok(0);
        if self.stranger {
            result = send_templates(socket, exporter, message, wall);
        }
        if result.is_ok() {
            result = socket.send(&message.octets);
        }
        let mut change = None;
        // An error that ICMP brought is about an earlier message; reading it clears it, and this
        // one was not sent.
        if refused(&result) {
            self.sent.refused += 1;
            if let Some((contents, octets)) = self.last.take() {
                exporter.unsent(contents, octets, wall);
            }
            // A collector that listens now has not received the templates.
            result = send_templates(socket, exporter, message, wall);
            if result.is_ok() {
                result = socket.send(&message.octets);
            }
            change = self.worry(now, CollectorEvent::Refused(address));
        }
        match result {
            Ok(_) => {
                self.sent.messages += 1;
                self.last = Some((message.contents, message.octets.len()));
                self.stranger = false;
                (true, change)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (false, change),
            // The answer is there already: no program listens. The next attempt is that of the next
            // call.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.stranger = true;
                (false, change)
            }
            Err(error) => {
                self.attempts += 1;
                // The router's own address may have changed: the socket still uses the old one.
                self.socket = None;
                self.retry_at = now + 1000;
                let failing = CollectorEvent::Failing(address, error.to_string());
                (false, change.or(self.worry(now, failing)))
            }
        }
    }

    /// Records an error; returns it if it is the first for a while.
    fn worry(&mut self, now: u64, change: CollectorEvent) -> Option<CollectorEvent> {
        let since = self.trouble.map_or(now, |(since, _)| since);
        self.trouble = Some((since, now));
        if now.saturating_sub(since) >= PATIENCE {
            self.trouble = Some((now, now));
            self.socket = None;
            self.next += 1;
            if self.next >= self.addresses.len() {
                self.addresses.clear();
            }
        }
        let first = self.mood != CollectorState::Ill;
        self.mood = CollectorState::Ill;
        first.then_some(change)
    }

    fn recover(&mut self, now: u64) -> Option<CollectorEvent> {
        let (_, address) = self.socket.as_ref()?;
        let quiet = self
            .trouble
            .is_none_or(|(_, last)| now.saturating_sub(last) >= WELL);
        if self.mood == CollectorState::Well || !quiet {
            return None;
        }
        self.mood = CollectorState::Well;
        self.trouble = None;
        Some(CollectorEvent::Sending(*address))
    }

    /// Opens a socket, without blocking as far as possible.
    fn connect(&mut self, now: u64) -> Option<CollectorEvent> {
        if self.socket.is_some() {
            return None;
        }
        if let Some(lookup) = &self.lookup {
            let answer = match lookup.try_recv() {
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => {
                    Err(io::Error::other("the look-up was interrupted"))
                }
                Ok(answer) => answer,
            };
            self.lookup = None;
            self.next = 0;
            match answer {
                Ok(addresses) if !addresses.is_empty() => self.addresses = addresses,
                other => {
                    let why = other.err().map_or("no address".into(), |e| e.to_string());
                    self.retry_at = now + RETRY;
                    let text = format!("no address for the IPFIX collector {}: {why}", self.target);
                    return self.worry(now, CollectorEvent::Unresolved(text));
                }
            }
        } else if now < self.retry_at {
            return None;
        }
        if self.addresses.is_empty() {
            self.look_up();
            // An address needs no thread, and is there at once.
            if self.addresses.is_empty() {
                return None;
            }
        }
        let address = *self.addresses.get(self.next).or(self.addresses.first())?;
        match open(address) {
            Ok(socket) => {
                self.socket = Some((socket, address));
                self.last = None;
                // For some collectors another source port is another stream.
                self.stranger = self.sent != SendCounters::default();
                None
            }
            Err(error) => {
                self.next += 1;
                if self.next >= self.addresses.len() {
                    self.addresses.clear();
                    self.retry_at = now + RETRY;
                }
                self.worry(now, CollectorEvent::Failing(address, error.to_string()))
            }
        }
    }

    fn look_up(&mut self) {
        let Target { host, port } = self.target.clone();
        self.next = 0;
        if let Ok(address) = host.parse::<IpAddr>() {
            self.addresses = vec![SocketAddr::new(address, port)];
            return;
        }
        let (answer, lookup) = channel();
        self.lookup = Some(lookup);
        let look = move || {
            let found = (host.as_str(), port).to_socket_addrs();
            // The receiver may be gone.
            let _ = answer.send(found.map(|found| found.take(8).collect()));
        };
        // Without a thread the channel ends at once, which counts as a failed look-up.
        let _ = std::thread::Builder::new()
            .name("ipfix-lookup".into())
            .spawn(look);
    }
}

fn refused(result: &io::Result<usize>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}

fn send_templates(
    socket: &UdpSocket,
    exporter: &mut Exporter,
    before: &Message,
    wall: u64,
) -> io::Result<usize> {
    let mut sum = 0;
    for message in exporter.templates_before(before, wall) {
        match socket.send(&message.octets) {
            Ok(length) => sum += length,
            Err(error) => {
                exporter.unsent(message.contents, message.octets.len(), wall);
                return Err(error);
            }
        }
    }
    Ok(sum)
}

fn open(address: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = if address.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        ([0u16; 8], 0).into()
    };
    let socket = UdpSocket::bind(any)?;
    socket.set_nonblocking(true)?;
    socket.connect(address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{EndReason, FlowCounters, FlowRecord, Initiator, Settings};
    use super::*;

    fn collector(text: &str) -> Collector {
        Collector::new(text.parse().unwrap())
    }

    fn flow() -> FlowRecord<'static> {
        FlowRecord {
            source: [192, 0, 2, 1].into(),
            destination: [192, 0, 2, 2].into(),
            source_port: 1,
            destination_port: 2,
            protocol: 17,
            icmp: None,
            ingress_port: 1,
            egress_port: 2,
            vlan: 0,
            mac: [2; 6],
            sent: FlowCounters {
                octets: 100,
                packets: 1,
                ..FlowCounters::default()
            },
            received: FlowCounters::default(),
            start: 1,
            end: 2,
            internet: false,
            reason: EndReason::Idle,
            initiator: Initiator::Unknown,
            translation: None,
            application: None,
            remote_name: None,
            tcp: None,
        }
    }

    #[test]
    fn a_collector_that_is_away_is_told_once_and_gets_what_waited() {
        // A port that was free a moment ago.
        let free = UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let mut exporter = Exporter::new(Settings::default());
        let mut collector = collector(&free.to_string());
        let mut changes = Vec::new();
        for second in 0..5 {
            exporter.flow(&flow(), 1_000_000 + second * 1000);
            let messages = exporter.tick(1_000_000 + second * 1000);
            assert_eq!(messages.len(), 1);
            changes.extend(collector.send(&mut exporter, messages, second * 1000, second));
            // Until the kernel's answer is there.
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(
            changes,
            [CollectorEvent::Sending(free), CollectorEvent::Refused(free)]
        );
        assert!(collector.sent().refused > 0);
        let listener = UdpSocket::bind(free).unwrap();
        listener
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        exporter.flow(&flow(), 1_006_000);
        let messages = exporter.tick(1_006_000);
        let last = messages[0].octets.clone();
        collector.send(&mut exporter, messages, 6000, 6);
        assert_eq!(collector.backlog(), 0);
        let mut datagram = [0; 2000];
        let mut received = 0;
        for number in 0.. {
            let length = listener.recv(&mut datagram).unwrap();
            if number == 0 {
                assert_eq!(datagram[16..18], [0, 2], "a set of templates comes first");
            } else {
                received += 1;
            }
            if datagram[..length] == last {
                break;
            }
        }
        let statistics = exporter.statistics();
        // The first message was sent before the refusal arrived.
        assert!(statistics.not_sent.flows >= 1);
        assert_eq!(statistics.not_sent.flows + received, 6);
        assert_eq!(statistics.exported.flows, received);
        let well = collector.send(&mut exporter, Vec::new(), 17_000, 17);
        assert_eq!(well, Some(CollectorEvent::Sending(free)));
    }

    #[test]
    fn bursts_are_spread_over_calls() {
        let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut exporter = Exporter::new(Settings::default());
        let mut collector = collector(&listener.local_addr().unwrap().to_string());
        let mut messages = Vec::new();
        for second in 0..200 {
            exporter.flow(&flow(), second);
            messages.extend(exporter.tick(second));
        }
        collector.send(&mut exporter, messages, 0, 0);
        assert_eq!(collector.backlog(), 200 - BURST);
        let mut calls = 1;
        while collector.backlog() > 0 && calls < 1000 {
            collector.send(&mut exporter, Vec::new(), 0, 0);
            calls += 1;
        }
        let sent = SendCounters {
            messages: 200,
            ..SendCounters::default()
        };
        assert_eq!(collector.sent(), sent);
    }

    #[test]
    fn a_name_is_looked_up_without_waiting() {
        let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
        listener
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut exporter = Exporter::new(Settings::default());
        let mut collector = collector(&format!("localhost:{port}"));
        let mut now = 0;
        // Either family's loopback may come first; after a refusal the next one is tried.
        while collector.sent().messages == 0
            || collector.sent().refused >= collector.sent().messages
        {
            std::thread::sleep(Duration::from_millis(5));
            now += 31_000;
            exporter.flow(&flow(), now);
            let messages = exporter.tick(now);
            collector.send(&mut exporter, messages, now, now);
            assert!(now < 31_000 * 1000, "{:?}", collector);
        }
        let mut datagram = [0; 2000];
        assert!(listener.recv(&mut datagram).unwrap() > 16);
    }

    #[test]
    fn what_has_no_address_is_counted() {
        let mut exporter = Exporter::new(Settings::default());
        // The label is too long for the DNS, so resolvers send no query.
        let mut collector = collector(&format!("{}.invalid:1", "x".repeat(64)));
        let mut change = None;
        let mut rounds = 0;
        while (change.is_none() || rounds < 300) && rounds < 2000 {
            exporter.flow(&flow(), 1000);
            let messages = exporter.tick(1000);
            let found = collector.send(&mut exporter, messages, 0, 1000);
            change = change.or(found);
            rounds += 1;
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(
            matches!(change, Some(CollectorEvent::Unresolved(_))),
            "{change:?}"
        );
        assert_eq!(collector.backlog(), BACKLOG_LIMIT);
        let unsent = rounds - BACKLOG_LIMIT as u64;
        assert_eq!(
            collector.sent(),
            SendCounters {
                unsent,
                ..SendCounters::default()
            }
        );
        assert_eq!(exporter.statistics().not_sent.flows, unsent);
    }

    #[test]
    fn what_the_kernel_will_not_send_is_given_up() {
        let mut exporter = Exporter::new(Settings::default());
        let mut collector = collector("127.0.0.1:9");
        exporter.flow(&flow(), 1000);
        let mut messages = exporter.tick(1000);
        // Larger than UDP carries.
        messages[0].octets.resize(70_000, 0);
        let mut changes = Vec::new();
        for second in 0..5 {
            let messages = std::mem::take(&mut messages);
            changes.extend(collector.send(&mut exporter, messages, second * 2000, 1000));
        }
        assert!(
            matches!(changes[..], [CollectorEvent::Failing(..), ..]),
            "{changes:?}"
        );
        assert_eq!((collector.backlog(), collector.sent().unsent), (0, 1));
        assert_eq!(exporter.statistics().not_sent.flows, 1);
    }
}
