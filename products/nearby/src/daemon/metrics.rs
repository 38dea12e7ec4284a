//! Metrics for Prometheus. Ids are never labels: unauthenticated senders choose ids, and any number
//! of them.

use std::collections::BTreeMap;

use api::metrics::Exposition;

use super::wire::Notification;
use crate::machine::{self, Format, PeerReport};

/// Counters since the start of the program.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// By the format's name and the message's kind.
    heard: BTreeMap<(&'static str, &'static str), u64>,
    said: u64,
    done: u64,
    failed: u64,
    read: BTreeMap<&'static str, u64>,
    written: BTreeMap<&'static str, u64>,
}

/// Current values and counters.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Peers nearby.
    pub peers: Vec<PeerReport>,
    /// Format of each connection.
    pub connections: Vec<Format>,
    /// Number of listeners.
    pub listeners: usize,
    /// Counters of the room.
    pub room: machine::Counts,
    /// Counters of the daemon.
    pub counts: Counts,
}

/// Formats that are exported even with a count of zero.
const FORMATS: [Format; 3] = [Format::V1, Format::V2, Format::Ip];
/// Kinds of messages.
const KINDS: [&str; 5] = ["feed", "direct", "routing", "sealed", "unreadable"];

api::metrics! {
    PEERS "weir_nearby_peers" Gauge &[],
        "Peers that are near.";
    SPEAKERS "weir_nearby_speakers" Gauge &["format"],
        "Peers near that speak a format. Who speaks both is one of each.";
    CONNECTIONS "weir_nearby_connections" Gauge &["format"],
        "Connections with peers.";
    WAITING "weir_nearby_waiting_messages" Gauge &[],
        "Messages that wait for peers near, or are under way, once for each peer.";
    LISTENERS "weir_nearby_listeners" Gauge &[],
        "Pages and programs that listen to what comes.";
    HEARD "weir_nearby_heard_messages_total" Counter &["format", "kind"],
        "Messages that came for the first time. Those of kind feed are for all.";
    DOUBLED "weir_nearby_doubled_messages_total" Counter &[],
        "Messages that had come before, and went no further.";
    SAID "weir_nearby_said_messages_total" Counter &[],
        "Messages that were said here.";
    PASSED "weir_nearby_passed_messages_total" Counter &[],
        "Messages of others that were passed on, once for each peer.";
    OUTCOMES "weir_nearby_outcomes_total" Counter &["outcome"],
        "What became of messages that were said here, once for each peer.";
    READ "weir_nearby_read_bytes_total" Counter &["format"],
        "Bytes that peers wrote to connections.";
    WRITTEN "weir_nearby_written_bytes_total" Counter &["format"],
        "Bytes that were written to connections.";
}

impl Counts {
    /// Counts an event for the listeners.
    pub fn note(&mut self, said: &Notification) {
        match said {
            Notification::Message { format, .. } => self.hear(format, "feed"),
            Notification::Direct { format, .. } => self.hear(format, "direct"),
            Notification::Other { format, kind, .. } => {
                let known = KINDS.into_iter().find(|it| it == kind);
                self.hear(format, known.unwrap_or("unreadable"));
            }
            Notification::Own { .. } => self.said += 1,
            Notification::Outcome { done: true, .. } => self.done += 1,
            Notification::Outcome { done: false, .. } => self.failed += 1,
            Notification::Near { .. } | Notification::Gone { .. } | Notification::Missed { .. } => {
            }
        }
    }

    fn hear(&mut self, format: &str, kind: &'static str) {
        let known = FORMATS.into_iter().find(|it| it.name() == format);
        if let Some(format) = known {
            *self.heard.entry((format.name(), kind)).or_default() += 1;
        }
    }

    /// Adds bytes that a peer wrote.
    pub fn read(&mut self, format: Format, octets: usize) {
        *self.read.entry(format.name()).or_default() += octets as u64;
    }

    /// Counts bytes written to a peer.
    pub fn wrote(&mut self, format: Format, octets: usize) {
        *self.written.entry(format.name()).or_default() += octets as u64;
    }
}

/// Returns the metrics in Prometheus' format.
pub fn text(figures: &Figures) -> String {
    let Figures { peers, counts, .. } = figures;
    let mut text = Exposition::default();
    let single = [
        (PEERS, peers.len() as u64),
        (WAITING, peers.iter().map(|peer| peer.waiting as u64).sum()),
        (LISTENERS, figures.listeners as u64),
        (DOUBLED, figures.room.doubled),
        (SAID, counts.said),
        (PASSED, figures.room.passed),
    ];
    for (metric, value) in single {
        text.family(metric);
        text.sample(metric, &[], value);
    }
    let speaks = |format: Format| {
        peers
            .iter()
            .filter(|it| it.formats.contains(&format))
            .count()
    };
    let linked = |format: Format| {
        figures
            .connections
            .iter()
            .filter(|it| **it == format)
            .count()
    };
    text.family(SPEAKERS);
    for format in FORMATS {
        text.sample(SPEAKERS, &[format.name()], speaks(format));
    }
    text.family(CONNECTIONS);
    for format in FORMATS {
        text.sample(CONNECTIONS, &[format.name()], linked(format));
    }
    text.family(HEARD);
    for format in FORMATS.map(Format::name) {
        for kind in KINDS {
            let count = counts.heard.get(&(format, kind)).copied();
            text.sample(HEARD, &[format, kind], count.unwrap_or(0));
        }
    }
    text.family(OUTCOMES);
    text.sample(OUTCOMES, &["done"], counts.done);
    text.sample(OUTCOMES, &["failed"], counts.failed);
    for (metric, by) in [(READ, &counts.read), (WRITTEN, &counts.written)] {
        text.family(metric);
        for format in FORMATS.map(Format::name) {
            text.sample(metric, &[format], by.get(format).copied().unwrap_or(0));
        }
    }
    text.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Id;

    fn nothing() -> Figures {
        Figures {
            peers: Vec::new(),
            connections: Vec::new(),
            listeners: 0,
            room: machine::Counts::default(),
            counts: Counts::default(),
        }
    }

    #[test]
    fn all_is_there_from_the_start() {
        let told = text(&nothing());
        let samples: Vec<&str> = told.lines().filter(|it| !it.starts_with('#')).collect();
        assert!(samples.iter().all(|it| it.ends_with(" 0")), "{told}");
        assert_eq!(samples.len(), 6 + 3 + 3 + 15 + 2 + 6);
        for metric in METRICS {
            let family = metric.name.trim_end_matches("_total");
            let help = format!("# HELP {family} {}\n", metric.help);
            assert_eq!(told.matches(&help).count(), 1, "{family}");
        }
        assert!(told.ends_with("# EOF\n"));
    }

    #[test]
    fn what_happens_is_counted() {
        let mut figures = nothing();
        let other = |kind: &str| Notification::Other {
            peer: "x".to_owned(),
            format: "v1".to_owned(),
            kind: kind.to_owned(),
            octets: 1,
        };
        let outcome = |done| Notification::Outcome {
            number: 1,
            peer: "x".to_owned(),
            done,
        };
        let counts = &mut figures.counts;
        for said in [
            other("direct"),
            other("what a stranger chose\n"),
            other("another"),
            outcome(true),
            outcome(true),
            outcome(false),
        ] {
            counts.note(&said);
        }
        counts.read(Format::V1, 20);
        counts.wrote(Format::V2, 244);
        let peer = PeerReport {
            id: Id([1; 8]),
            place: [0; 6].into(),
            formats: [Format::V1, Format::V2].into(),
            linked: [Format::V2].into(),
            channel: false,
            signal: None,
            seen: 0,
            waiting: 3,
        };
        figures.peers = vec![peer.clone(), peer];
        figures.connections = vec![Format::V2];
        let told = text(&figures);
        for line in [
            "weir_nearby_peers 2",
            "weir_nearby_speakers{format=\"v1\"} 2",
            "weir_nearby_connections{format=\"v1\"} 0",
            "weir_nearby_connections{format=\"v2\"} 1",
            "weir_nearby_waiting_messages 6",
            "weir_nearby_heard_messages_total{format=\"v1\",kind=\"direct\"} 1",
            "weir_nearby_heard_messages_total{format=\"v1\",kind=\"unreadable\"} 2",
            "weir_nearby_outcomes_total{outcome=\"done\"} 2",
            "weir_nearby_outcomes_total{outcome=\"failed\"} 1",
            "weir_nearby_read_bytes_total{format=\"v1\"} 20",
            "weir_nearby_written_bytes_total{format=\"v2\"} 244",
        ] {
            assert!(told.lines().any(|it| it == line), "{line}\n{told}");
        }
        assert!(!told.contains("stranger"));
    }
}
