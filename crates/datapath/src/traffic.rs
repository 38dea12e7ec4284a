//! Traffic that flows forwarded, with its path: for counters of devices.

use libbpf_rs::{MapCore, MapFlags};

use crate::hops;
use crate::ingress::Ingress;
use crate::mapped::Mapped;
use crate::skel::types;
use crate::table;
use crate::translate::FlowEndpoints;

/// Traffic that one direction of a flow forwarded since the last call. The path is the present one.
/// If a flow changed its path meanwhile, as when a station moved, its traffic of a fraction of a
/// second took the former path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficDelta {
    /// The caller's number of the flow; `None` if the flow was removed.
    pub flow: Option<u32>,
    /// Packets; of a super-packet, its segments.
    pub packets: u64,
    /// Bytes from the IP header on; of a super-packet, each segment with its headers. A bridged
    /// super-packet counts with one set of headers.
    pub bytes: u64,
    /// Port and encapsulation of incoming packets, without priorities.
    pub ingress: Ingress,
    /// Number of the egress hop, see [`crate::Datapath::hops`].
    pub hop: u32,
    /// True if forwarded at XDP, as far as the path shows; else at TC.
    pub xdp: bool,
    /// Endpoints at ingress and at egress.
    pub endpoints: Option<(FlowEndpoints, FlowEndpoints)>,
    /// True for traffic between members of a bridge, which the bridge's own device does not count.
    /// Bytes are those behind the EtherType.
    pub bridged: bool,
}

impl TrafficDelta {
    pub(crate) fn of(
        flow: Option<u32>,
        record: &types::flow,
        whose: table::EndpointPair,
        grown: table::CounterDelta,
        hops: &Mapped<types::hop>,
        at_xdp: &impl Fn(u32) -> bool,
    ) -> Self {
        let came_in = Ingress::decode(record.r#in).without_priorities();
        let hop = u32::from(record.hop);
        Self {
            flow,
            packets: grown.packets,
            bytes: grown.bytes,
            ingress: came_in,
            endpoints: whose,
            hop,
            bridged: hops
                .get(hop)
                .is_some_and(|hop| hop.key.form & hops::BRIDGED != 0),
            xdp: hops.get(hop).is_some_and(|h| h.flags & hops::XDP != 0) && at_xdp(came_in.port),
        }
    }
}

/// Reads the map of session devices: see [`crate::Datapath::session_devices`].
pub(crate) fn session_devices(map: &impl MapCore) -> Vec<(Ingress, u32)> {
    map.keys()
        .filter_map(|key| {
            let device = map.lookup(&key, MapFlags::ANY).ok().flatten()?;
            let word = u64::from_ne_bytes(key.try_into().ok()?);
            Some((
                Ingress::decode(word),
                u32::from_ne_bytes(device.try_into().ok()?),
            ))
        })
        .collect()
}
