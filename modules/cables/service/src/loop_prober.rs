//! Probes for loops before a port is opened, and for the end of a loop: all ports send a few
//! broadcast frames, and none of the frames may come back. Spanning tree blocks these frames like
//! any other.

use std::os::fd::AsRawFd;

use kernel::Mac;
use nix::sys::socket::{MsgFlags, SockFlag, send};
use tracing::debug;

use runtime::uplink::speaker;

/// Times after the link came, in milliseconds: as soon as the link carries frames, and once more
/// for slow links.
const AFTER: [u64; 2] = [300, 1500];
/// As long as there is a loop.
const EVERY: u64 = 10_000;
/// Interval without a loop: a loop may form far from here, and return only frames of others.
const SELDOM: u64 = 30_000;
/// Frames each time: as many own frames as are a loop.
const FRAMES: usize = 3;
/// Between two rounds, however often links come.
const PAUSE: u64 = 1000;
/// For local experiments (IEEE 802).
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];

/// Schedule of the loop probes.
#[derive(Debug, Default)]
pub struct LoopProber {
    due: Vec<u64>,
    last: Option<u64>,
}

impl LoopProber {
    /// Handles a new link.
    pub fn link(&mut self, now: u64) {
        if self.due.len() < AFTER.len() * 2 {
            self.due.extend(AFTER.map(|after| now + after));
        }
    }

    /// Returns true if a probe is due; `looped`: some port is a loop.
    pub fn is_due(&mut self, now: u64, looped: bool) -> bool {
        let since = self.last.map(|last| now.saturating_sub(last));
        let every = if looped { EVERY } else { SELDOM };
        let late = since.map_or(looped, |since| since >= every);
        let due = self.due.iter().any(|due| now >= *due);
        if !(late || due) || since.is_some_and(|since| since < PAUSE) {
            return false;
        }
        self.due.retain(|due| now < *due);
        self.last = Some(now);
        true
    }
}

/// Sends them by a port, past its gate.
pub fn probe(device: &str, mac: Mac) {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let frame = frame(mac);
    let sent = speaker(device, flags).and_then(|speaker| {
        (0..FRAMES)
            .try_for_each(|_| send(speaker.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT).map(drop))
    });
    if let Err(error) = sent {
        debug!(device, %error, "cannot search for loops");
    }
}

/// Makes a broadcast frame: `loop weir`, and zeros. A hello begins with `weir`.
fn frame(mac: Mac) -> Vec<u8> {
    let mut frame = [&[0xff; 6][..], &mac, &ETHERTYPE, b"loop weir"].concat();
    frame.resize(60, 0);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_twice_after_a_link_and_now_and_then_at_a_loop() {
        let mut prober = LoopProber::default();
        let mut times = |looped, range: std::ops::Range<u64>| -> Vec<u64> {
            let all = range.filter(|now| now % 250 == 0);
            all.filter(|now| prober.is_due(*now, looped)).collect()
        };
        assert!(times(false, 0..5000).is_empty());
        assert_eq!(times(true, 5000..30_000), [5000, 15_000, 25_000]);
        prober.link(30_100);
        let mut times = |range: std::ops::Range<u64>| -> Vec<u64> {
            let all = range.filter(|now| now % 250 == 0);
            all.filter(|now| prober.is_due(*now, false)).collect()
        };
        assert_eq!(times(30_100..92_000), [30_500, 31_750, 61_750, 91_750]);
    }

    #[test]
    fn links_that_come_and_go_make_no_flood() {
        let mut prober = LoopProber::default();
        let mut rounds = 0;
        for now in (0..60_000).step_by(250) {
            prober.link(now);
            rounds += u32::from(prober.is_due(now, false));
        }
        assert!((10..=60).contains(&rounds), "{rounds}");
    }

    #[test]
    fn the_frame_says_what_it_is_and_is_no_hello() {
        let frame = frame([2, 0, 0, 0, 0, 7]);
        assert_eq!(frame.len(), 60);
        assert_eq!(&frame[12..23], b"\x88\xb5loop weir");
        let nobody = cables_hello(&frame);
        assert!(nobody, "it is read as a hello");
    }

    /// Returns true if a port does not take the frame for a hello.
    fn cables_hello(frame: &[u8]) -> bool {
        use cables_core::hello::{MeshKey, NodeKey, Port};
        let mesh = MeshKey::from_secret(b"sixteen octets or").expect("a key");
        let node = NodeKey::from_seed([7; 32]).expect("a key");
        let mut port = Port::new(Some(&mesh), &node, [2, 0, 0, 0, 0, 9], 0);
        port.link([1; 16], 0);
        port.heard(frame, &[], 0).is_none()
    }
}
