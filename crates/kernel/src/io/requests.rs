//! Dumps, and the owner of the sockets for requests.

use std::collections::VecDeque;
use std::io;

use nix::errno::Errno;

use super::RequestError;
use super::socket::{BUFFER, Netlink, Received, Socket};
use super::updates::{Outcome, Updates};
use crate::conntrack::{self, ConnectionState, Refresh};
use crate::event::{ConnectionId, Event, Source};
use crate::message::{Message, Messages, NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, Tally, errno};
use crate::route::{self, Table};
use crate::{firewall, message};

/// Number of times that a dump is restarted because the table changed under it.
const RETRIES: u32 = 4;
/// Datagrams read by one [`Requests::recv`]: about 1,000 connections.
const MOST: usize = 16;

/// Dumps of tables, and updates of connections. Dumps of netfilter and of routing run in parallel,
/// those of one kind in sequence.
#[derive(Debug)]
pub struct Requests {
    netfilter: Dumps,
    route: Dumps,
    updates: Updates,
    probes: Updates,
}

impl Requests {
    /// Opens the sockets, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel lacks the protocol, or there are too many open files.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            netfilter: Dumps::open(Netlink::Netfilter)?,
            route: Dumps::open(Netlink::Route)?,
            updates: Updates::open()?,
            probes: Updates::open()?,
        })
    }

    /// The port that [`relax`](Self::relax) and [`refresh`](Self::refresh) are sent from, for
    /// [`Events::ignore_port`](super::Events::ignore_port).
    pub fn port(&self) -> u32 {
        self.updates.port()
    }

    /// Requests the state of a source: all connections; or links, addresses, neighbours, stations
    /// of bridges and qdiscs, in this order; or the generation of the ruleset. [`recv`](Self::recv)
    /// returns the answer, with [`Event::DumpEnd`] as its last event.
    pub fn dump(&mut self, source: Source) {
        match source {
            Source::Conntrack => self.netfilter.ask(&[Step::Connections, Step::End(source)]),
            Source::Firewall => self.netfilter.ask(&[Step::Generation, Step::End(source)]),
            Source::Route => self.route.ask(&[
                Step::Table(Table::Links),
                Step::Table(Table::Addresses),
                Step::Table(Table::Neighbours),
                Step::Table(Table::Stations),
                Step::Table(Table::Qdiscs),
                Step::End(source),
            ]),
            Source::Policy => {}
        }
    }

    /// Requests one table of rtnetlink only; no [`Event::DumpEnd`] follows.
    pub fn table(&mut self, table: Table) {
        self.route
            .ask(&[Step::Table(table), Step::Pause(Source::Route)]);
    }

    /// Waits for answers and appends a part of them, at most some 1,000; call it again for more.
    /// Waits for ever without a request. A table that keeps changing during its dump ends with
    /// [`Event::Overrun`] instead of [`Event::DumpEnd`]. Cancelling loses nothing.
    ///
    /// # Errors
    /// The kernel refused, or the socket failed: that dump is over, without [`Event::DumpEnd`].
    /// Others continue.
    pub async fn recv(&mut self, out: &mut Vec<Event>) -> Result<(), RequestError> {
        // Both write to `out`, but only one at a time: a future that is not ready has written
        // nothing.
        let found = std::cell::RefCell::new(out);
        tokio::select! {
            result = self.netfilter.recv(&found) => result,
            result = self.route.recv(&found) => result,
        }
    }

    /// Returns the counts of all messages of dumps so far. A malformed message means an entry
    /// missing from the dump.
    pub fn tally(&self) -> Tally {
        let mut tally = self.netfilter.tally;
        tally.add(self.route.tally);
        tally
    }

    /// Asks the kernel to accept any sequence numbers of these TCP connections, in both directions.
    /// Does not wait; takes some microseconds per connection.
    pub fn relax(&mut self, connections: &[ConnectionId]) -> Outcome {
        self.updates
            .send(connections, |id| *id, conntrack::request::relax)
    }

    /// Sets time-outs of connections. Does not wait; takes some microseconds per connection.
    pub fn refresh(&mut self, refreshes: &[Refresh]) -> Outcome {
        self.updates
            .send(refreshes, |refresh| refresh.id, conntrack::request::refresh)
    }

    /// Makes the kernel report these connections to all listeners, this process included, if their
    /// entries can send events. Does not wait; takes some microseconds per connection.
    pub fn probe(&mut self, connections: &[ConnectionId]) -> Outcome {
        self.probes
            .send(connections, |id| *id, conntrack::request::probe)
    }

    /// Requests the present state of these connections. Does not wait; takes some microseconds per
    /// connection.
    pub fn query(&mut self, connections: &[ConnectionId]) -> (Vec<ConnectionState>, Outcome) {
        self.updates.look(connections)
    }
}

/// Request of a dump, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Connections,
    Generation,
    Table(Table),
    /// The end of a source's dump.
    End(Source),
    /// The end of a part of a source, without an event.
    Pause(Source),
}

impl Step {
    fn request(self, sequence: u32) -> Vec<u8> {
        match self {
            Self::Connections => conntrack::request::dump(sequence),
            Self::Generation => firewall::get(sequence),
            Self::Table(table) => route::dump(table, sequence),
            Self::End(_) | Self::Pause(_) => Vec::new(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Connections => "dump of connections",
            Self::Generation => "generation of the ruleset",
            Self::Table(Table::Links) => "dump of links",
            Self::Table(Table::Addresses) => "dump of addresses",
            Self::Table(Table::Neighbours) => "dump of neighbours",
            Self::Table(Table::Stations) => "dump of the stations of bridges",
            Self::Table(Table::Qdiscs) => "dump of qdiscs",
            Self::End(_) | Self::Pause(_) => "end of a dump",
        }
    }

    fn decode(self, message: &Message<'_>) -> Result<Option<Event>, message::DecodeError> {
        match self {
            Self::Connections => conntrack::decode_message(message),
            Self::Generation => firewall::decode_message(message),
            Self::Table(_) => route::decode_message(message),
            Self::End(_) | Self::Pause(_) => Ok(None),
        }
    }
}

/// Progress of the current step.
#[derive(Debug, Default)]
struct Progress {
    /// Number of its request; 0: not yet sent.
    sequence: u32,
    retries: u32,
    interrupted: bool,
}

/// The dumps of one protocol, one after the other: the kernel allows one at a time per socket.
#[derive(Debug)]
struct Dumps {
    socket: Socket,
    buffer: Vec<u8>,
    steps: VecDeque<Step>,
    progress: Progress,
    sequence: u32,
    tally: Tally,
}

impl Dumps {
    fn open(protocol: Netlink) -> io::Result<Self> {
        Ok(Self {
            socket: Socket::open(protocol, 0, 0)?,
            buffer: vec![0; BUFFER],
            steps: VecDeque::new(),
            progress: Progress::default(),
            sequence: 0,
            tally: Tally::default(),
        })
    }

    fn ask(&mut self, steps: &[Step]) {
        self.steps.extend(steps);
    }

    async fn recv(
        &mut self,
        out: &std::cell::RefCell<&mut Vec<Event>>,
    ) -> Result<(), RequestError> {
        let Some(step) = self.steps.front().copied() else {
            return std::future::pending().await;
        };
        if let Step::End(source) = step {
            out.borrow_mut().push(Event::DumpEnd(source));
        }
        if let Step::End(_) | Step::Pause(_) = step {
            self.next();
            return Ok(());
        }
        if self.progress.sequence == 0 {
            self.sequence = self.sequence.wrapping_add(1).max(1);
            if let Err(source) = self.socket.send(&step.request(self.sequence)) {
                self.abandon();
                return Err(RequestError::Socket {
                    request: step.name(),
                    source,
                });
            }
            self.progress.sequence = self.sequence;
        }
        let Self {
            socket,
            buffer,
            progress,
            tally,
            ..
        } = self;
        let mut end = None;
        let result = socket
            .drain(buffer, MOST, |received, datagram| {
                if !matches!(received, Received::Datagram(_)) {
                    progress.interrupted = true;
                    return true;
                }
                end = read(step, progress, datagram, tally, &mut out.borrow_mut());
                end.is_none()
            })
            .await;
        if let Err(source) = result {
            self.abandon();
            return Err(RequestError::Socket {
                request: step.name(),
                source,
            });
        }
        match end {
            None => Ok(()),
            Some(0) => {
                self.finish(&mut out.borrow_mut());
                Ok(())
            }
            Some(code) => {
                self.abandon();
                Err(RequestError::Refused {
                    request: step.name(),
                    errno: Errno::from_raw(code),
                })
            }
        }
    }

    /// The step got its whole answer: on to the next, or again if the table changed meanwhile.
    fn finish(&mut self, out: &mut Vec<Event>) {
        if !self.progress.interrupted {
            self.next();
        } else if self.progress.retries < RETRIES {
            self.progress = Progress {
                retries: self.progress.retries + 1,
                ..Progress::default()
            };
        } else {
            out.extend(self.abandon().map(Event::Overrun));
        }
    }

    fn next(&mut self) {
        self.steps.pop_front();
        self.progress = Progress::default();
    }

    /// Aborts the running dump, and keeps the requested later ones. Returns the dumped table.
    fn abandon(&mut self) -> Option<Source> {
        self.progress = Progress::default();
        while let Some(step) = self.steps.pop_front() {
            if let Step::End(source) | Step::Pause(source) = step {
                return Some(source);
            }
        }
        None
    }
}

/// Reads a part of an answer. The errno that ends it, if it ends here; 0 is success.
fn read(
    step: Step,
    progress: &mut Progress,
    datagram: &[u8],
    tally: &mut Tally,
    out: &mut Vec<Event>,
) -> Option<i32> {
    for message in Messages::new(datagram) {
        let decoded = message.and_then(|message| {
            if message.sequence != progress.sequence {
                return Ok((None, None));
            }
            progress.interrupted |= message.flags & NLM_F_DUMP_INTR != 0;
            match message.kind {
                NLMSG_ERROR | NLMSG_DONE => errno(&message).map(|code| (None, Some(code))),
                _ => step.decode(&message).map(|event| (event, None)),
            }
        });
        match decoded {
            Ok((Some(event), _)) => {
                tally.understood += 1;
                out.push(event);
            }
            Ok((None, None)) => tally.ignored += 1,
            Ok((None, end)) => return end,
            Err(error) => tally.fail(error),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_runtime(test: impl FnOnce()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .expect("a runtime");
        let _guard = runtime.enter();
        test();
    }

    #[test]
    fn a_dump_that_is_always_interrupted_ends_with_an_overrun() {
        in_runtime(|| {
            let mut dumps = Dumps::open(Netlink::Route).expect("a socket");
            let links = Step::Table(Table::Links);
            dumps.ask(&[
                links,
                Step::Table(Table::Addresses),
                Step::End(Source::Route),
                links,
            ]);
            let mut out = Vec::new();
            for attempt in 0..=RETRIES {
                assert_eq!(
                    (dumps.steps.len(), out.len(), dumps.progress.retries),
                    (4, 0, attempt)
                );
                dumps.progress.interrupted = true;
                dumps.finish(&mut out);
            }
            assert_eq!(out, [Event::Overrun(Source::Route)]);
            // Later requests are repeated from the start.
            assert_eq!((dumps.steps.len(), dumps.progress.retries), (1, 0));
        });
    }

    #[test]
    fn what_is_given_up_is_one_dump_of_one_source() {
        in_runtime(|| {
            let mut dumps = Dumps::open(Netlink::Netfilter).expect("a socket");
            let firewall = [Step::Generation, Step::End(Source::Firewall)];
            dumps.ask(&[Step::Connections, Step::End(Source::Conntrack)]);
            dumps.ask(&firewall);
            assert_eq!(dumps.abandon(), Some(Source::Conntrack));
            assert_eq!(dumps.steps, firewall);
        });
    }

    #[test]
    fn a_flag_in_any_message_interrupts_and_old_answers_are_passed_over() {
        let mut encoder = crate::encode::Encoder::default();
        let done = |e: &mut crate::encode::Encoder| e.fixed(&[0; 4]);
        encoder.message(NLMSG_DONE, 0, 6, done);
        encoder.message(99, NLM_F_DUMP_INTR, 7, |_| {});
        encoder.message(NLMSG_DONE, 0, 7, |e| e.fixed(&(-16i32).to_ne_bytes()));
        let mut progress = Progress {
            sequence: 7,
            ..Progress::default()
        };
        let mut tally = Tally::default();
        let end = read(
            Step::Connections,
            &mut progress,
            &encoder.finish(),
            &mut tally,
            &mut Vec::new(),
        );
        assert_eq!(
            (end, progress.interrupted, tally.ignored),
            (Some(16), true, 2)
        );
    }
}
