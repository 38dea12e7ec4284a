//! Reads the state of the packet path for display.

use std::collections::BTreeMap;

use libbpf_rs::{MapCore, MapFlags, MapMut};

use crate::error::Error;
use crate::headers;
use crate::ingress::Ingress;
use crate::mapped::Mapped;
use crate::reason::Reason;
use crate::skel::types;
use crate::table::Table;

const TIMED: u8 = headers::FLOW_TIMED as u8;

/// Direction of a flow, from its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowDirection {
    /// Proven since the last change.
    pub proven: bool,
    /// Port and encapsulation of incoming packets, once proven.
    pub ingress: Ingress,
    /// Hop it leaves by, once proven.
    pub hop: u32,
    /// Device of that hop; 0 without a hop.
    pub hop_link: u32,
    /// Forwarded at XDP; else, when proven, at TC.
    pub xdp: bool,
    /// Longest IP packet proven, bytes.
    pub length: u16,
    /// TTLs proven, at ingress.
    pub ttl: (u8, u8),
    /// TOS proven, without ECN.
    pub tos: u8,
    /// Marked: its TCP is timed, see [`crate::Datapath::time`].
    pub timed: bool,
    /// IPv6 flow label proven; 0 of IPv4.
    pub label: u32,
    /// Mark with which the kernel sends it.
    pub mark: u32,
    /// Priority with which the kernel sends it.
    pub priority: u32,
    /// Last reason that kept a packet from the fast path, or a direction from being proven.
    pub reason: Reason,
}

/// Sums over all CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets given to the kernel, or not accepted as proof.
    pub passed: BTreeMap<Reason, u64>,
    /// Packets that XDP passed up. TC on the same device sees each again, and counts it under
    /// `passed` or forwards it.
    pub passed_by_xdp: BTreeMap<Reason, u64>,
    /// Shadow mode: packets that the kernel sent as predicted.
    pub shadow_same: u64,
    /// Shadow mode: packets that it sent otherwise.
    pub shadow_different: u64,
}

/// Shadow mode: the headers that weir would have sent, and those that the kernel sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// 0: original direction, 1: reply.
    pub direction: usize,
    /// Number of such differences so far.
    pub times: u16,
    /// Link-layer (without a PPPoE length), IP and layer 4 header as weir would have sent them.
    pub expected: Vec<u8>,
    /// Headers as the kernel sent them.
    pub sent: Vec<u8>,
}

/// Returns the last difference of each direction, if any.
pub fn differences(
    table: &Table,
    expectations: &Mapped<types::expectation>,
    flow: u32,
) -> Vec<Difference> {
    let refs = table.refs(flow).into_iter().flatten();
    refs.enumerate()
        .filter_map(|(direction, reference)| {
            let e = expectations
                .get(table.trial_of(reference))
                .filter(|e| e.different > 0)?;
            // Bytes beyond the headers were never written.
            let used = |octets: &[u8]| octets.iter().rposition(|o| *o != 0).map_or(0, |at| at + 1);
            let ip = used(&e.sent);
            let whole = |link: &[u8], octets: u8, headers: &[u8]| {
                [&link[..usize::from(octets).min(link.len())], &headers[..ip]].concat()
            };
            Some(Difference {
                direction,
                times: e.different,
                expected: whole(&e.expected_link, e.expected_octets, &e.expected),
                sent: whole(&e.sent_link, e.sent_octets, &e.sent),
            })
        })
        .collect()
}

pub fn directions(
    table: &Table,
    trials: &Mapped<types::trial>,
    hops: &Mapped<types::hop>,
    epoch: u32,
    flow: u32,
    at_xdp: impl Fn(u32) -> bool,
) -> Option<[FlowDirection; 2]> {
    let refs = table.refs(flow)?;
    Some(refs.map(|reference| {
        let record = table.record(reference);
        let trial = trials.get(table.trial_of(reference)).unwrap_or_default();
        let hop = hops.get(u32::from(record.hop)).unwrap_or_default();
        let came_in = Ingress::decode(record.r#in);
        FlowDirection {
            proven: record.proof == epoch.wrapping_add(hop.epoch),
            ingress: came_in,
            hop: u32::from(record.hop),
            hop_link: hop.key.ifindex,
            xdp: hop.flags & crate::hops::XDP != 0 && at_xdp(came_in.port),
            length: record.len,
            ttl: (record.ttl_lo, record.ttl_hi),
            tos: record.tos & 0xfc,
            timed: record.tos & TIMED != 0,
            label: table.label(reference),
            mark: trial.mark,
            priority: trial.priority,
            reason: Reason::ALL
                .get(usize::from(trial.reason))
                .copied()
                .unwrap_or(Reason::None),
        }
    }))
}

pub fn totals(passed: &MapMut<'_>, totals: &MapMut<'_>) -> Result<Totals, Error> {
    let mut result = Totals::default();
    for reason in Reason::ALL {
        let number = reason as u32;
        for (counts, key) in [
            (&mut result.passed, number),
            (&mut result.passed_by_xdp, Reason::ALL.len() as u32 + number),
        ] {
            let n = sum(passed, key)?;
            if n > 0 {
                counts.insert(reason, n);
            }
        }
    }
    // enum total
    result.shadow_same = sum(totals, 0)?;
    result.shadow_different = sum(totals, 1)?;
    Ok(result)
}

pub(crate) fn sum(map: &impl MapCore, key: u32) -> Result<u64, Error> {
    sums(map, key, [0]).map(|[sum]| sum)
}

/// The words at these places of a value, each summed over the processors.
pub(crate) fn sums<const N: usize>(
    map: &impl MapCore,
    key: u32,
    places: [usize; N],
) -> Result<[u64; N], Error> {
    let values = map
        .lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY)
        .map_err(|e| Error::bpf("read a counter", e))?
        .unwrap_or_default();
    Ok(places.map(|at| {
        let words = values
            .iter()
            .filter_map(|v| v.get(at..at + 8)?.try_into().ok());
        words.map(u64::from_ne_bytes).fold(0, u64::wrapping_add)
    }))
}
