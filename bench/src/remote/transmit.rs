//! Sends the packets of a trial, and receives the answers.

use std::io::IoSlice;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{MsgFlags, MultiHeaders, sendmmsg};

use super::latency::MOST as MOST_SAMPLES;
use super::pace::Pace;
use super::payload::{Header, Kind};
use super::{Problem, sockets};

/// From this rate on, a thread spins between packets: sleeping would send in bursts.
const SPIN: f64 = 100_000.0;
/// Shortest sleep on most machines.
const NAP: Duration = Duration::from_micros(100);
/// First packets a second.
const GREETINGS: f64 = 20_000.0;
/// Attempts to get a first packet answered.
const ROUNDS: u32 = 5;
/// Longest wait for the answers to an attempt.
const ANSWER: Duration = Duration::from_millis(400);
/// Sequence number of first packets; counted packets never reach it.
const FIRST: u32 = u32::MAX;

/// Flows, with a socket each.
#[derive(Debug)]
pub struct Flows {
    sockets: Vec<UdpSocket>,
    payload: usize,
    clock: Instant,
}

/// Packets to send.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// Number in each packet of the trial.
    pub run: u32,
    /// Packets a second, all threads together.
    pub rate: f64,
    /// Duration.
    pub seconds: f64,
    /// Threads that share the work.
    pub threads: usize,
    /// [`Kind::Warm`] or [`Kind::Counted`].
    pub kind: Kind,
    /// Each `mark`th packet asks for an answer; 0 for no answers.
    pub mark: u32,
}

/// Result of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SendResult {
    /// Packets sent.
    pub packets: u64,
    /// Seconds of sending.
    pub seconds: f64,
}

/// Answers received.
#[derive(Debug)]
pub struct Replies {
    run: AtomicU32,
    over: AtomicBool,
    /// By flow, set once its first packet is answered.
    flows: Vec<AtomicBool>,
    times: std::sync::Mutex<Vec<u64>>,
}

impl Replies {
    /// Returns the flows whose first packet was answered.
    pub fn flows(&self) -> u32 {
        let answered = self
            .flows
            .iter()
            .filter(|flow| flow.load(Ordering::Relaxed));
        answered.count() as u32
    }

    /// Takes the round-trip times of marked packets, in nanoseconds.
    pub fn times(&self) -> Vec<u64> {
        let mut times = self
            .times
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        std::mem::take(&mut times)
    }
}

impl Flows {
    /// Opens `count` flows, with payloads of `payload` bytes.
    ///
    /// # Errors
    /// The sockets cannot be opened.
    pub fn open(
        target: SocketAddr,
        count: u32,
        payload: usize,
        device: Option<&str>,
    ) -> Result<Self, Problem> {
        Ok(Self {
            sockets: sockets::sending(target, count, device)?,
            payload,
            clock: Instant::now(),
        })
    }

    fn now(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    /// Receives the answers of a run while `work` runs.
    ///
    /// # Errors
    /// The kernel has no more room.
    pub fn hearing<T>(&self, run: u32, work: impl FnOnce(&Replies) -> T) -> Result<T, Problem> {
        let failed = |error: Errno| {
            Problem::system("cannot wait for answers", "fewer --flows")(error.into())
        };
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        for (index, socket) in self.sockets.iter().enumerate() {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, index as u64);
            epoll.add(socket, event).map_err(failed)?;
        }
        let heard = Replies {
            run: AtomicU32::new(run),
            over: AtomicBool::new(false),
            flows: self
                .sockets
                .iter()
                .map(|_| AtomicBool::new(false))
                .collect(),
            times: std::sync::Mutex::default(),
        };
        Ok(thread::scope(|scope| {
            scope.spawn(|| self.hear(&epoll, &heard));
            let done = work(&heard);
            heard.over.store(true, Ordering::Relaxed);
            done
        }))
    }

    fn hear(&self, epoll: &Epoll, heard: &Replies) {
        let mut events = [EpollEvent::empty(); 64];
        let mut buffer = [0; 64];
        while !heard.over.load(Ordering::Relaxed) {
            let ready = epoll.wait(&mut events, 20u8).unwrap_or(0);
            for event in &events[..ready] {
                let Some(socket) = self.sockets.get(event.data() as usize) else {
                    continue;
                };
                loop {
                    let flags = MsgFlags::MSG_DONTWAIT;
                    match nix::sys::socket::recv(socket.as_raw_fd(), &mut buffer, flags) {
                        Ok(length) => self.answer(heard, &buffer[..length]),
                        Err(Errno::EAGAIN) => break,
                        // The socket reports an ICMP error, once.
                        Err(_) => break,
                    }
                }
            }
        }
    }

    fn answer(&self, heard: &Replies, octets: &[u8]) {
        let now = self.now();
        let Some(header) = Header::read(octets) else {
            return;
        };
        if header.kind != Kind::Answer || header.run != heard.run.load(Ordering::Relaxed) {
            return;
        }
        if header.sequence == FIRST {
            if let Some(flow) = heard.flows.get(usize::from(header.flow)) {
                flow.store(true, Ordering::Relaxed);
            }
            return;
        }
        let mut times = heard
            .times
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        if times.len() < MOST_SAMPLES {
            times.push(header.age(now));
        }
    }

    /// Sends the first packet of each flow until it is answered, or `ROUNDS` are over.
    pub fn greet(&self, run: u32, heard: &Replies, stop: &dyn Fn() -> bool) {
        for _ in 0..ROUNDS {
            let mut pace = Pace::new(GREETINGS);
            let begun = Instant::now();
            for (index, socket) in self.sockets.iter().enumerate() {
                if heard.flows[index].load(Ordering::Relaxed) {
                    continue;
                }
                while pace.due(begun.elapsed().as_nanos() as u64) == 0 {
                    if stop() {
                        return;
                    }
                    thread::sleep(NAP);
                }
                let header = Header {
                    run,
                    flow: index as u16,
                    kind: Kind::First,
                    sequence: FIRST,
                    time: self.now(),
                };
                let mut octets = vec![0; self.payload];
                octets[..super::payload::HEADER].copy_from_slice(&header.write());
                // The first call may return the ICMP error of an earlier packet, once.
                if socket.send(&octets).is_err() {
                    let _ = socket.send(&octets);
                }
            }
            let sent = Instant::now();
            while heard.flows() < self.sockets.len() as u32 {
                if stop() || sent.elapsed() >= ANSWER {
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
            if stop() || heard.flows() == self.sockets.len() as u32 {
                return;
            }
        }
    }

    /// Sends. Calls `watch` all the time, and ends once `watch` returns true.
    pub fn send(&self, order: Order, watch: &mut dyn FnMut() -> bool) -> SendResult {
        let threads = order.threads.clamp(1, self.sockets.len().max(1));
        let over = AtomicBool::new(false);
        let begun = Instant::now();
        let each = self.sockets.len().div_ceil(threads);
        let packets = thread::scope(|scope| {
            let workers: Vec<_> = self
                .sockets
                .chunks(each)
                .enumerate()
                .map(|(index, part)| {
                    let share = part.len() as f64 / self.sockets.len() as f64;
                    let order = Order {
                        rate: order.rate * share,
                        ..order
                    };
                    let over = &over;
                    scope.spawn(move || self.work(part, index * each, order, begun, over))
                })
                .collect();
            while workers.iter().any(|worker| !worker.is_finished()) {
                if watch() {
                    over.store(true, Ordering::Relaxed);
                }
                thread::sleep(Duration::from_millis(5));
            }
            let sent = workers.into_iter().filter_map(|worker| worker.join().ok());
            sent.sum()
        });
        SendResult {
            packets,
            seconds: match over.load(Ordering::Relaxed) {
                true => begun.elapsed().as_secs_f64(),
                false => order.seconds,
            },
        }
    }

    fn work(
        &self,
        part: &[UdpSocket],
        first: usize,
        order: Order,
        begun: Instant,
        over: &AtomicBool,
    ) -> u64 {
        let mut pace = Pace::new(order.rate);
        let mut packets = Packets::new(self.payload, pace.burst() as usize, part.len());
        let end = (order.seconds * 1e9) as u64;
        let wanted = (order.rate * order.seconds).round() as u64;
        let mut sent = 0;
        let mut turn = 0;
        while sent < wanted && !over.load(Ordering::Relaxed) {
            let now = begun.elapsed().as_nanos() as u64;
            if now >= end {
                break;
            }
            let due = u64::from(pace.due(now));
            let due = due.min(wanted - sent) as u32;
            if due == 0 {
                let wait = Duration::from_nanos(pace.wait());
                match order.rate < SPIN || wait > NAP * 2 {
                    true => thread::sleep(wait.max(NAP)),
                    false => std::hint::spin_loop(),
                }
                continue;
            }
            let flow = (turn % part.len(), first + turn % part.len());
            turn += 1;
            let done = packets.send(&part[flow.0], flow, due, &order, self.now(), sent);
            pace.give_back(due - done);
            if done == 0 {
                thread::sleep(NAP);
            }
            sent += u64::from(done);
        }
        sent
    }
}

/// Buffers for a burst, and the next sequence number of each flow.
struct Packets {
    octets: Vec<Vec<u8>>,
    headers: MultiHeaders<()>,
    nowhere: Vec<Option<()>>,
    sequences: Vec<u32>,
}

impl Packets {
    fn new(payload: usize, burst: usize, flows: usize) -> Self {
        Self {
            octets: vec![vec![0; payload]; burst],
            headers: MultiHeaders::preallocate(burst, None),
            nowhere: vec![None; burst],
            sequences: vec![0; flows],
        }
    }

    /// Sends `count` packets of a flow; returns the number sent.
    fn send(
        &mut self,
        socket: &UdpSocket,
        (own, flow): (usize, usize),
        count: u32,
        order: &Order,
        time: u64,
        before: u64,
    ) -> u32 {
        let count = (count as usize).min(self.octets.len());
        for (index, octets) in self.octets[..count].iter_mut().enumerate() {
            let number = before + index as u64;
            let marked = order.mark != 0 && number.is_multiple_of(u64::from(order.mark));
            let header = Header {
                run: order.run,
                flow: flow as u16,
                kind: if marked { Kind::Marked } else { order.kind },
                sequence: self.sequences[own].wrapping_add(index as u32),
                time,
            };
            octets[..super::payload::HEADER].copy_from_slice(&header.write());
        }
        let slices: Vec<_> = self.octets[..count]
            .iter()
            .map(|octets| [IoSlice::new(octets)])
            .collect();
        let done = sendmmsg(
            socket.as_raw_fd(),
            &mut self.headers,
            &slices,
            &self.nowhere,
            [],
            MsgFlags::empty(),
        );
        // On an error (full socket, or an ICMP error, which is reported once) the packets stay due.
        let done = done.map_or(0, Iterator::count) as u32;
        self.sequences[own] = self.sequences[own].wrapping_add(done);
        done
    }
}
