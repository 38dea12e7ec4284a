//! What is told of an access point's peers.

use answers::{RadioPeer, RadioPeers};
use radio_core::peering::metric::Metric;
use radio_core::peering::{State, Waits};

use super::{Session, text};

impl Session {
    /// All that are known, and what does not work.
    pub(super) fn shown(&self) -> RadioPeers {
        let now = self.begun.elapsed().as_millis() as u64;
        let peers = self.machine.shown().map(|shown| {
            let radio_core::peering::Shown {
                mac,
                name,
                state,
                waits,
                since,
                signal,
                encrypted,
                clear,
            } = shown;
            let expected = self.metrics.get(&mac).and_then(Metric::told);
            RadioPeer {
                address: text(mac),
                interface: name,
                state: word(state).to_owned(),
                waits: waits.map(|waits| why(waits).to_owned()),
                peer_seconds: since.map(|since| now.saturating_sub(since) / 1000),
                encrypted,
                clear,
                signal,
                expected_mbit: expected.map(|bits| bits as f64 / 1e6),
            }
        });
        let now = [&self.trouble, &self.refused, &self.deaf, &self.open];
        let now = now.into_iter().flatten();
        let notices = self.notices.iter().chain(now);
        RadioPeers {
            device: String::new(),
            peers: peers.collect(),
            notices: notices.cloned().collect(),
        }
    }
}

fn why(waits: Waits) -> &'static str {
    match waits {
        Waits::Faint => "faint",
        Waits::Full => "full",
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Seen => "seen",
        State::Waiting => "waiting",
        State::Handshake => "handshake",
        State::Installed => "installed",
        State::Alive => "alive",
    }
}
