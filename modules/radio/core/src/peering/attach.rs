//! Attaches peers' devices to a mesh or bridge, without a loop. Broadcast frames in a ring of
//! bridges never end; two nodes form no ring, three may form one.

use kernel::Mac;
use ring::digest::{Context, SHA256};

/// The id of the tag that batman-adv's frames have, as in other meshes.
pub const TAG_ID: u16 = 29;

/// Returns the name of the tagged device for a peer's device of this name.
pub fn tagged_name(device: &str) -> String {
    device.replacen("peer-", "mesh-", 1)
}

/// Returns the address of the tagged device, and of frames that weir itself sends by a link.
/// batman-adv and bridges distinguish links by the address, and all peers' devices of one access
/// point have that of the access point.
pub fn tagged_address(own: Mac, peer: Mac) -> Mac {
    let mut context = Context::new(&SHA256);
    context.update(&own);
    context.update(&peer);
    let digest = context.finish();
    let mut mac: Mac = std::array::from_fn(|at| digest.as_ref()[at]);
    // Locally administered, of one station (IEEE 802, 8.2).
    mac[0] = mac[0] & !1 | 2;
    mac
}

/// Protocol that carries frames beyond the next peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mesh {
    /// batman-adv, which knows its own frames again.
    #[default]
    Batman,
    /// Babel or another routing protocol: nothing is bridged.
    Babel,
    /// A bridge.
    Bridge,
}

/// Reason for the limit of one peer.
pub const LOOP: &str = "a bare bridge of three access points would be a loop: only the first peer \
    is accepted; enable spanning tree on the bridge, or use mesh = \"batman\" or \"babel\"";

impl Mesh {
    /// Returns the permitted number of peers, of `wanted`; `stp`: the bridge has a spanning tree.
    pub fn most(self, wanted: usize, stp: bool) -> usize {
        match self {
            Self::Bridge if !stp => wanted.min(1),
            _ => wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_has_a_name_and_an_address_of_its_own() {
        assert_eq!(tagged_name("peer-0123456789"), "mesh-0123456789");
        let (a, b, c) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 3]);
        let all = [(a, b), (b, a), (a, c), (c, a), (b, c), (c, b)];
        let mut all = all.map(|(own, peer)| tagged_address(own, peer)).to_vec();
        assert!(all.iter().all(|mac| mac[0] & 3 == 2));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
        // Both stay the same after a restart.
        assert_eq!(tagged_address(a, b), tagged_address(a, b));
    }
}
