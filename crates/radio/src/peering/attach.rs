//! What peers' devices are put into, without a loop. Frames for all that go round in a ring of
//! bridges never end; two nodes are no ring, three may be one.

/// What carries frames beyond the next peer.
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

/// Why there may be one peer only.
pub const LOOP: &str = "a bare bridge of three access points would be a loop: only the first peer \
    is taken; switch on spanning tree at the bridge, or use mesh = \"batman\" or \"babel\"";

impl Mesh {
    /// Peers at most, of so many that were wanted; `stp`: the bridge has a spanning tree.
    pub fn most(self, wanted: usize, stp: bool) -> usize {
        match self {
            Self::Bridge if !stp => wanted.min(1),
            _ => wanted,
        }
    }
}
