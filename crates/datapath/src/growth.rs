//! What flows forwarded, and by which way: for counters of devices.

use std::time::Instant;

use libbpf_rs::{MapCore, MapFlags};

use crate::Datapath;
use crate::came_in::CameIn;
use crate::hops;
use crate::mapped::Mapped;
use crate::skel::types;
use crate::table;
use crate::translate::Who;

/// What one direction of a flow forwarded since that was last asked. The way is the one it goes
/// now: a flow that changed it meanwhile, as when a station moved, went the former for a part of a
/// second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The caller's number of the flow; `None` of one that is removed.
    pub flow: Option<u32>,
    /// Packets; of a super-packet, its segments.
    pub packets: u64,
    /// Bytes from the IP header on; of a super-packet, each segment with its headers. Of bridged
    /// ones super-packets count with one.
    pub octets: u64,
    /// Where and behind what it comes in, without priorities.
    pub came_in: CameIn,
    /// Number of the hop by which it leaves, see [`Datapath::hops`].
    pub hop: u32,
    /// Forwarded at XDP, as far as the way tells; else at TC.
    pub xdp: bool,
    /// Between whom, as it comes in and as it leaves.
    pub whose: Option<(Who, Who)>,
    /// Between members of a bridge, which the bridge's own device does not count. Bytes are those
    /// behind the EtherType.
    pub bridged: bool,
}

impl Datapath {
    /// What a flow forwarded since this was last asked, where it forwarded anything. Due at least
    /// every two seconds for each flow: the shared counters are narrow. What a flow forwards after
    /// it was last asked, until it is removed, [`Datapath::tidy`] gives out.
    pub fn grown(&mut self, flow: u32, mut each: impl FnMut(Growth)) {
        let (ports, hops, hooks) = (&self.ports, &self.hops, &self.hooks);
        let at_xdp = |slot| ports.get(slot).is_some_and(|p| hooks.at_xdp(p.ifindex));
        self.table.grown(flow, |record, whose, growth| {
            each(Growth::of(Some(flow), record, whose, growth, hops, &at_xdp));
        });
    }

    /// Where frames of PPPoE sessions come in, and the device that the kernel took their packets
    /// for: the PPP device, or the VRF that it is in. Only of sessions by which a proven packet
    /// came in; some may have ended since, and their devices be gone.
    pub fn session_devices(&self) -> Vec<(CameIn, u32)> {
        let map = &self.skel.maps.session_devices;
        map.keys()
            .filter_map(|key| {
                let device = map.lookup(&key, MapFlags::ANY).ok().flatten()?;
                let word = u64::from_ne_bytes(key.try_into().ok()?);
                Some((
                    CameIn::decode(word),
                    u32::from_ne_bytes(device.try_into().ok()?),
                ))
            })
            .collect()
    }

    /// Frees the records that have rested.
    pub(crate) fn reclaim(&mut self, now: Instant, mut last: impl FnMut(Growth)) {
        let (ports, hops, hooks) = (&self.ports, &self.hops, &self.hooks);
        let at_xdp = |slot| ports.get(slot).is_some_and(|p| hooks.at_xdp(p.ifindex));
        self.table.reclaim(now, |record, whose, growth| {
            last(Growth::of(None, record, whose, growth, hops, &at_xdp));
        });
    }
}

impl Growth {
    fn of(
        flow: Option<u32>,
        record: &types::flow,
        whose: table::Whose,
        grown: table::Growth,
        hops: &Mapped<types::hop>,
        at_xdp: &impl Fn(u32) -> bool,
    ) -> Self {
        let came_in = CameIn::decode(record.r#in).without_priorities();
        let hop = u32::from(record.hop);
        Self {
            flow,
            packets: grown.packets,
            octets: grown.octets,
            came_in,
            whose,
            hop,
            bridged: hops
                .get(hop)
                .is_some_and(|hop| hop.key.form & hops::BRIDGED != 0),
            xdp: hops.get(hop).is_some_and(|h| h.flags & hops::XDP != 0) && at_xdp(came_in.port),
        }
    }
}
