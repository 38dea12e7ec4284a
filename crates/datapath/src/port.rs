//! Ports from the daemon's side.

use kernel::Mac;

use crate::skel::types;

/// Own addresses a port can have beside its first: PORT_MACS of bpf/include/port.h - 1.
pub const VLAN_MACS: usize = 3;

/// PPPoE sessions that are known of a port at a time: SESSION_PLACES of bpf/include/maps.h.
pub(crate) const SESSIONS: u32 = 4;

/// A device as the packet path is to treat it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Interface index.
    pub link: u32,
    /// The address that frames to this router have here.
    pub mac: Mac,
    /// Further ones, each for frames of this outermost VLAN id only; those beyond [`VLAN_MACS`] are
    /// left to the kernel.
    pub vlan_macs: Vec<(u16, Mac)>,
    /// What comes in here may be forwarded.
    pub into: bool,
    /// Flows may leave here.
    pub out: bool,
    /// XDP frames may be sent out of it.
    pub transmit: bool,
    /// Its qdisc neither shapes nor classifies.
    pub direct: bool,
    /// Member of a bridge: what leaves here may leave elsewhere, too.
    pub floods: bool,
    /// PPPoE may be taken off what comes in.
    pub ppp_in: bool,
    /// PPPoE may be put on what leaves.
    pub ppp_out: bool,
    /// Member of a bridge, between whose members frames may be forwarded.
    pub bridges: bool,
    /// Frames have all their VLAN tags at XDP: the device takes none off.
    pub sees_tags: bool,
    /// The conduit of a switch, whose tag each frame has.
    pub tagger: Option<Tagger>,
}

/// A switch's tag, by the name in `/sys/class/net/CONDUIT/dsa/tagging`: enum dsa_kind of
/// bpf/include/dsa.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Tagger {
    /// MediaTek, `mtk`.
    Mtk = 1,
    /// Lantiq and Intel, `gswip`.
    Gswip = 2,
    /// Qualcomm Atheros, `qca`.
    Qca = 3,
}

impl Tagger {
    /// By the kernel's name; `None` for one that weir does not know.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "mtk" => Some(Self::Mtk),
            "gswip" => Some(Self::Gswip),
            "qca" => Some(Self::Qca),
            _ => None,
        }
    }
}

impl Port {
    /// An ordinary port, that everything may go through.
    pub fn new(link: u32, mac: Mac, transmit: bool) -> Self {
        Self {
            link,
            mac,
            vlan_macs: Vec::new(),
            into: true,
            out: true,
            transmit,
            direct: true,
            floods: false,
            ppp_in: true,
            ppp_out: true,
            bridges: false,
            sees_tags: true,
            tagger: None,
        }
    }

    /// enum port_flags.
    fn flags(&self) -> u32 {
        [
            self.into,
            self.transmit,
            self.out,
            self.floods,
            self.direct,
            self.ppp_in,
            self.ppp_out,
            self.bridges,
            self.sees_tags,
        ]
        .iter()
        .enumerate()
        .map(|(bit, on)| u32::from(*on) << bit)
        .sum()
    }

    pub(crate) fn entry(&self, stack: u32) -> types::port {
        let mut mac = [types::port_mac::default(); VLAN_MACS + 1];
        mac[0].mac = self.mac;
        let more = self.vlan_macs.iter().take(VLAN_MACS);
        let macs = 1 + more.len() as u32;
        for (slot, (vlan, address)) in mac[1..].iter_mut().zip(more) {
            *slot = types::port_mac {
                mac: *address,
                vlan: *vlan,
            };
        }
        types::port {
            ifindex: self.link,
            flags: self.flags(),
            stack,
            macs,
            mac,
            dsa: self.tagger.map_or(0, |tagger| tagger as u32),
            reserved: [0; 3],
        }
    }
}
