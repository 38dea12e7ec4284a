//! Schedule of events, alike in all worlds. Times are milliseconds since the start.

/// Length of a step: each asker with a question asks once per step.
pub const STEP: u64 = 250;
/// Divisor of conntrack's time-outs: 24 hours become one.
const SCALE: u32 = 24;
/// Time before and after an edge in which an answer is uncertain.
const EDGE: u64 = 1_500;
/// Length of a round, in which all events happen once.
const ROUND: u64 = 60_000;

/// Names and defaults in seconds of the sysctls `net.netfilter.nf_conntrack_*`.
const CLOCK: [(&str, u32); 12] = [
    ("tcp_timeout_established", 432_000),
    ("tcp_timeout_unacknowledged", 300),
    ("tcp_timeout_max_retrans", 300),
    ("tcp_timeout_fin_wait", 120),
    ("tcp_timeout_time_wait", 120),
    ("tcp_timeout_close_wait", 60),
    ("tcp_timeout_syn_sent", 120),
    ("tcp_timeout_syn_recv", 60),
    ("tcp_timeout_last_ack", 30),
    ("udp_timeout", 30),
    ("udp_timeout_stream", 120),
    ("generic_timeout", 600),
];

/// Returns the scaled time-outs, for an hour that stands for a day.
pub fn clock() -> impl Iterator<Item = (String, u32)> {
    CLOCK.iter().map(|(name, seconds)| {
        (
            format!("net.netfilter.nf_conntrack_{name}"),
            (seconds / SCALE).max(2),
        )
    })
}

/// Event at the router or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The set of the only accepting rule gets an element, for this many seconds.
    Open(u64),
    /// The client sends a packet that bans its sender, for [`BAN`] seconds.
    Knock,
    /// The quota is reset.
    Reset,
    /// The client moves behind the other member of the bridge.
    Roam,
    /// The WAN loses link and address, and gets them back with [`Event::Dial`].
    HangUp,
    Dial,
}

/// Length of a ban, in seconds.
pub const BAN: u64 = 6;

/// Returns a pseudo-random number, always equal for equal arguments.
pub fn dice(what: u64, nth: u64) -> u64 {
    let mut z = what.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ nth.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the seconds for which the rule is open in this round.
fn opened(round: u64) -> u64 {
    3 + dice(1, round) % 25
}

/// Returns the events of this step.
pub fn events(at: u64) -> Vec<Event> {
    let (round, within) = (at / ROUND, at % ROUND);
    let redials = round % 2 == 1;
    [
        (0, Some(Event::Reset)),
        (2_000, Some(Event::Open(opened(round)))),
        (10_000, Some(Event::Knock)),
        (40_000, Some(Event::Roam)),
        (46_000, redials.then_some(Event::HangUp)),
        (48_000, redials.then_some(Event::Dial)),
    ]
    .into_iter()
    .filter(|(when, _)| *when == within)
    .filter_map(|(_, event)| event)
    .collect()
}

/// Returns whether packets may get lost: a station has just moved, or the WAN is down.
pub fn unsettled(at: u64) -> bool {
    let within = at % ROUND;
    (39_000..44_000).contains(&within) || at / ROUND % 2 == 1 && (45_000..54_000).contains(&within)
}

/// Returns whether an answer to this asker is uncertain at this time.
pub fn uncertain(who: &str, at: u64) -> bool {
    let (round, within) = (at / ROUND, at % ROUND);
    let edges: &[u64] = match who {
        "gate" => &[2_000, 2_000 + opened(round) * 1_000],
        "banned" => &[10_000, 10_000 + BAN * 1_000],
        "metered" => &[0, ROUND],
        _ => &[],
    };
    unsettled(at) || edges.iter().any(|edge| edge.abs_diff(within) <= EDGE)
}

/// Returns whether a stream sends at this time: spells of one to fifteen seconds, and rests of up
/// to twenty.
pub fn conversations(stream: u64, at: u64) -> bool {
    let (mut begin, mut spell) = (0, 0);
    while begin <= at {
        let talk = 1_000 + dice(100 + stream, spell) % 14_000;
        let rest = 1_000 + dice(200 + stream, spell) % 19_000;
        if at < begin + talk {
            return true;
        }
        begin += talk + rest;
        spell += 1;
    }
    false
}

/// Returns the time at which a connection speaks again after its `nth` time at `at`.
pub fn rests(connection: u64, nth: u64, at: u64) -> u64 {
    at + 5_000 + dice(300 + connection, nth) % 395_000
}

/// Converts to seconds, for display.
pub fn seconds(at: u64) -> f64 {
    at as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_each_event_once() {
        let steps = (0..2 * ROUND).step_by(STEP as usize);
        let all: Vec<_> = steps.flat_map(events).collect();
        let count = |event| all.iter().filter(|one| **one == event).count();
        assert_eq!(
            (count(Event::Roam), count(Event::HangUp), count(Event::Dial)),
            (2, 1, 1)
        );
        assert!(unsettled(ROUND + 46_000) && !unsettled(46_000) && !unsettled(30_000));
    }

    #[test]
    fn streams_talk_and_rest() {
        let talking = (0..400)
            .filter(|second| conversations(1, second * 1_000))
            .count();
        assert!((80..320).contains(&talking), "{talking}");
    }
}
