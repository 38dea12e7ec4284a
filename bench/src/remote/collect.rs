//! Counts the packets of a trial on all sockets, and answers those that ask for an answer.

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg};

use super::count::Count;
use super::message::Trial;
use super::payload::{HEADER, Header, Kind};
use super::{frame, sockets};

/// Packets per `recvmmsg` call.
const BATCH: usize = 64;
/// Bytes read of each packet; `MSG_TRUNC` still returns the full length.
const LOOKED_AT: usize = 32;

/// State that the threads share.
#[derive(Debug)]
struct Shared {
    trial: Trial,
    payload: usize,
    begun: Instant,
    over: AtomicBool,
    /// Nanoseconds from `begun` to the first counted packet, plus one; 0 before that packet.
    first: AtomicU64,
    /// Nanoseconds from `begun` to the last counted packet.
    last: AtomicU64,
}

/// View of a running trial for the thread that waits.
#[derive(Debug)]
pub struct Collection<'a> {
    shared: &'a Shared,
}

impl Collection<'_> {
    /// Returns the time since the last counted packet, or since the start if none arrived yet.
    pub fn quiet(&self) -> Duration {
        let last = Duration::from_nanos(self.shared.last.load(Ordering::Relaxed));
        self.shared.begun.elapsed().saturating_sub(last)
    }
}

/// Counts in threads while `until` runs. Returns the counts of all sockets together, and the result
/// of `until`.
pub fn while_running<T>(
    from: &[UdpSocket],
    trial: Trial,
    until: impl FnOnce(&Collection<'_>) -> T,
) -> (Count, T) {
    let ipv6 = from
        .first()
        .and_then(|socket| socket.local_addr().ok())
        .is_some_and(|address| address.is_ipv6());
    let shared = Shared {
        trial,
        payload: frame::payload(trial.length, ipv6).unwrap_or(HEADER),
        begun: Instant::now(),
        over: AtomicBool::new(false),
        first: AtomicU64::new(0),
        last: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        let shared = &shared;
        let workers: Vec<_> = from
            .iter()
            .map(|socket| scope.spawn(move || work(socket, shared)))
            .collect();
        let told = until(&Collection { shared });
        shared.over.store(true, Ordering::Relaxed);
        let mut count = Count::default();
        for worker in workers {
            if let Ok(part) = worker.join() {
                count.add(&part);
            }
        }
        (count, told)
    })
}

fn work(socket: &UdpSocket, shared: &Shared) -> Count {
    let mut count = Count::new(shared.trial.flows);
    let mut buffers = [[0u8; LOOKED_AT]; BATCH];
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, None);
    let mut arrived = Vec::with_capacity(BATCH);
    let flags = MsgFlags::MSG_WAITFORONE | MsgFlags::MSG_TRUNC;
    while !shared.over.load(Ordering::Relaxed) {
        arrived.clear();
        {
            let mut slices: Vec<_> = buffers
                .iter_mut()
                .map(|buffer| [IoSliceMut::new(buffer)])
                .collect();
            let received = recvmmsg(
                socket.as_raw_fd(),
                &mut headers,
                slices.iter_mut(),
                flags,
                None,
            );
            match received {
                Ok(received) => {
                    arrived.extend(received.map(|message| (message.bytes, message.address)));
                }
                // The next call reads the packets. ICMP errors for sent answers end up here, too.
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED) => {}
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
        let now = shared.begun.elapsed().as_nanos() as u64;
        for ((length, from), buffer) in arrived.iter().zip(&buffers) {
            take(socket, shared, &mut count, now, *length, buffer, *from);
        }
    }
    count
}

fn take(
    socket: &UdpSocket,
    shared: &Shared,
    count: &mut Count,
    now: u64,
    length: usize,
    octets: &[u8],
    from: Option<SockaddrStorage>,
) {
    let header = Header::read(&octets[..length.min(octets.len())]);
    let header = header.filter(|header| {
        let known = u32::from(header.flow) < shared.trial.flows && header.kind != Kind::Answer;
        header.run == shared.trial.run && length == shared.payload && known
    });
    let Some(header) = header else {
        count.foreign += 1;
        return;
    };
    if header.kind.is_answered()
        && let Some(from) = from.and_then(address)
    {
        let answer = Header {
            kind: Kind::Answer,
            ..header
        };
        // A lost answer only costs a sample.
        let _ = socket.send_to(&answer.write(), from);
    }
    if header.kind.counts() {
        let first =
            match shared
                .first
                .compare_exchange(0, now + 1, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => now,
                Err(first) => first - 1,
            };
        shared.last.fetch_max(now, Ordering::Relaxed);
        let second = now.saturating_sub(first) / 1_000_000_000;
        let octets = u64::from(shared.trial.length);
        count.take(header.flow, header.sequence, octets, second);
    }
}

fn address(from: SockaddrStorage) -> Option<SocketAddr> {
    if let Some(address) = from.as_sockaddr_in() {
        return Some(SocketAddr::V4((*address).into()));
    }
    let address = from.as_sockaddr_in6()?;
    Some(sockets::canonical(SocketAddr::V6((*address).into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIAL: Trial = Trial {
        run: 7,
        flows: 2,
        length: 60,
        seconds: 1.0,
    };

    fn header(kind: Kind, flow: u16, sequence: u32) -> Header {
        Header {
            run: 7,
            flow,
            kind,
            sequence,
            time: 1,
        }
    }

    #[test]
    fn only_what_belongs_to_the_trial_counts() {
        let sockets = sockets::receiving("127.0.0.1:0".parse().expect("an address"), 1);
        let sockets = sockets.expect("a port");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
        sender
            .connect(sockets[0].local_addr().expect("bound"))
            .expect("connected");
        sender
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("set");
        let (count, answers) = while_running(&sockets, TRIAL, |_| {
            let mut answers = Vec::new();
            for number in 0..100 {
                let kind = [Kind::Counted, Kind::Warm][number as usize % 2];
                sender.send(&header(kind, 1, number).write()).expect("sent");
            }
            let other = Header {
                run: 8,
                ..header(Kind::Marked, 0, 0)
            };
            let strange = [
                other.write().to_vec(),
                header(Kind::Marked, 2, 0).write().to_vec(),
                header(Kind::Answer, 0, 0).write().to_vec(),
                [&header(Kind::Marked, 0, 0).write()[..], &[0]].concat(),
                vec![0xff; 1400],
                Vec::new(),
            ];
            for octets in &strange {
                sender.send(octets).expect("sent");
            }
            for kind in [Kind::First, Kind::Marked] {
                sender.send(&header(kind, 0, 9).write()).expect("sent");
                let mut buffer = [0; 64];
                let length = sender.recv(&mut buffer).expect("an answer");
                answers.push(Header::read(&buffer[..length]));
            }
            answers
        });
        assert_eq!((count.packets, count.octets), (51, 51 * 60));
        assert_eq!(count.foreign, 6);
        let answer = Some(header(Kind::Answer, 0, 9));
        assert_eq!(answers, [answer, answer]);
    }
}
