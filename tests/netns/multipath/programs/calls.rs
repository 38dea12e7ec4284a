//! A call sends fifty packets of 200 bytes a second in each direction, as telephones do, during a
//! full download and while a path is lost.

use std::net::UdpSocket;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use lab::Error;
use lab::goodput::{Demand, Goodput, Transport};
use lab::uplinks::{Cut, SERVER};

use super::Stage;
use crate::multipath::{SECOND, at, ms};

/// Bytes after IP and UDP; with them 200 bytes, as G.711 sends for 20 ms with its RTP header (RFC
/// 3550).
const PAYLOAD: usize = 172;
const EVERY: Duration = Duration::from_millis(20);
/// Length of a call, at 50 packets a second.
const CALL: Duration = Duration::from_secs(14);
const PACKETS: usize = 700;

/// Packets that one end received: number, send time and arrival time, in order of arrival.
#[derive(Clone, Debug, Default)]
struct Heard(Vec<(usize, Duration, Duration)>);

impl Heard {
    /// Returns the number of packets that never came.
    fn lost(&self) -> usize {
        let mut seen = [false; PACKETS];
        self.0.iter().for_each(|(number, ..)| seen[*number] = true);
        seen.iter().filter(|seen| !**seen).count()
    }

    /// Returns the number of duplicates.
    fn twice(&self) -> usize {
        self.0.len() + self.lost() - PACKETS
    }

    fn delays(&self) -> impl Iterator<Item = Duration> {
        let delay = |(_, sent, came): &(usize, Duration, Duration)| came.saturating_sub(*sent);
        self.0.iter().map(delay)
    }

    /// Returns the greatest interarrival jitter (RFC 3550, section 6.4.1).
    fn jitter(&self) -> Duration {
        let delays: Vec<_> = self.delays().collect();
        let mut jitter = 0.0_f64;
        let grown = delays.windows(2).map(|pair| {
            let change = pair[1].as_secs_f64() - pair[0].as_secs_f64();
            jitter += (change.abs() - jitter) / 16.0;
            jitter
        });
        Duration::from_secs_f64(grown.fold(0.0, f64::max))
    }

    /// Returns the longest time without a packet.
    fn silence(&self) -> Duration {
        let pairs = self.0.windows(2);
        let silences = pairs.map(|pair| pair[1].2.saturating_sub(pair[0].2));
        silences.max().unwrap_or_default()
    }
}

type Hearing = JoinHandle<()>;

/// Sends and receives for the length of a call; the two ends share a clock.
fn talk(socket: UdpSocket, clock: Instant, heard: &Arc<Mutex<Heard>>) -> std::io::Result<Hearing> {
    socket.set_read_timeout(Some(SECOND))?;
    let (ear, heard) = (socket.try_clone()?, heard.clone());
    let hearing = thread::spawn(move || {
        let mut packet = [0; PAYLOAD];
        while clock.elapsed() < CALL + 2 * SECOND {
            if !matches!(ear.recv(&mut packet), Ok(PAYLOAD)) {
                continue;
            }
            let field = |at: usize| {
                packet[at..at + 8]
                    .iter()
                    .fold(0u64, |all, octet| all << 8 | u64::from(*octet))
            };
            let sent = Duration::from_micros(field(8));
            let one = (field(0) as usize, sent, clock.elapsed());
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.0.push(one);
        }
    });
    for number in 0..PACKETS {
        let due = EVERY * number as u32;
        sleep(due.saturating_sub(clock.elapsed()));
        let mut packet = [0; PAYLOAD];
        packet[..8].copy_from_slice(&(number as u64).to_be_bytes());
        packet[8..16].copy_from_slice(&(clock.elapsed().as_micros() as u64).to_be_bytes());
        // A packet that cannot be sent is lost.
        let _ = socket.send(&packet);
    }
    Ok(hearing)
}

#[test]
fn calls_beside_a_full_download_and_over_a_cut() -> Result<(), Error> {
    let stage = Stage::build(&[20, 20])?;
    let broken = |what: &'static str| Error::system(what);
    let to = std::net::SocketAddr::new(SERVER, 5004);
    let callee = stage.server().enter(|| UdpSocket::bind(to))?;
    let callee = callee.map_err(broken("listen"))?;
    let caller = stage.client().enter(|| {
        let socket = UdpSocket::bind(("0.0.0.0", 0))?;
        socket.connect(to)?;
        socket.send(b"ring").map(|_| socket)
    })?;
    let caller = caller.map_err(broken("call"))?;
    callee
        .set_read_timeout(Some(5 * SECOND))
        .map_err(broken("wait"))?;
    let (_, from) = lab::uninterrupted(|| callee.recv_from(&mut [0; 4])).map_err(broken("hear"))?;
    callee.connect(from).map_err(broken("answer"))?;

    let demand = Demand::down(Transport::Tcp, at(SERVER));
    let download = Goodput::start(stage.client(), stage.server(), &demand)?;
    sleep(2 * SECOND);
    let clock = Instant::now();
    let ends = [caller, callee].map(|socket| {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let note = heard.clone();
        (heard, thread::spawn(move || talk(socket, clock, &note)))
    });
    sleep(5 * SECOND);
    let cut = download.now();
    stage.pair.uplinks.cut(1, Cut::Hole)?;
    sleep(4 * SECOND);
    let healed = download.now();
    stage.pair.uplinks.heal(1)?;
    for (name, (heard, talking)) in ["caller", "callee"].into_iter().zip(ends) {
        let hearing = talking.join().expect("no panic").map_err(broken("talk"))?;
        hearing.join().expect("no panic");
        let heard = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let slowest = heard.delays().max().unwrap_or_default();
        eprintln!(
            "the {name} missed {} of {PACKETS}, {} came twice, jitter {:?} at most, delay \
                {slowest:?} at most, longest silence {:?}",
            heard.lost(),
            heard.twice(),
            heard.jitter(),
            heard.silence()
        );
        assert_eq!(heard.twice(), 0);
        assert!(heard.lost() <= PACKETS / 20, "{} lost", heard.lost());
        assert!(heard.jitter() < ms(100), "{:?}", heard.jitter());
        assert!(heard.silence() < SECOND, "{:?}", heard.silence());
    }
    let series = download.stop()?;
    eprintln!(
        "beside a download of {:.1} Mbit/s",
        series.rate(2 * SECOND..7 * SECOND) / 1e6
    );
    assert!(
        series.rate(2 * SECOND..7 * SECOND) > 26e6,
        "{:?}",
        series.slots()
    );
    let longest = series.silence(cut..healed);
    assert!(longest < 2 * SECOND, "no TCP came for {longest:?}");
    stage.by_the_partner()
}
