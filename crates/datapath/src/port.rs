//! Ports from the daemon's side.

use kernel::Mac;

use crate::headers;
use crate::skel::types;

/// Maximum number of further addresses of a port, after its first.
pub const VLAN_MACS: usize = headers::PORT_MACS as usize - 1;

/// Bit in the number of a device's stack: packets arrive there over PPP, too.
pub const STACK_PPP: u32 = headers::STACK_PPP as u32;

/// Maximum number of PPPoE sessions known at a port.
pub(crate) const SESSIONS: u32 = headers::SESSION_PLACES as u32;

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
    /// True if incoming packets may be forwarded.
    pub ingress: bool,
    /// Flows may leave here.
    pub egress: bool,
    /// XDP frames may be sent by this port.
    pub transmit: bool,
    /// True if its qdisc neither shapes nor classifies.
    pub direct: bool,
    /// Member of a bridge: copies of its egress packets may leave elsewhere, too.
    pub floods: bool,
    /// True if PPPoE may be removed from incoming packets.
    pub ppp_ingress: bool,
    /// True if PPPoE may be added to outgoing packets.
    pub ppp_egress: bool,
    /// Member of a bridge; frames may be forwarded between the bridge's members.
    pub bridges: bool,
    /// True if frames have all their VLAN tags at XDP: the device strips none.
    pub sees_tags: bool,
    /// The conduit of a switch, whose tag is in each frame.
    pub tagger: Option<Tagger>,
}

/// A switch's tag, by the name in `/sys/class/net/CONDUIT/dsa/tagging`: enum dsa_kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Tagger {
    /// MediaTek, `mtk`.
    Mtk = headers::DSA_MTK as u32,
    /// Lantiq and Intel, `gswip`.
    Gswip = headers::DSA_GSWIP as u32,
    /// Qualcomm Atheros, `qca`.
    Qca = headers::DSA_QCA as u32,
}

impl Tagger {
    /// Finds a tag format by the kernel's name; `None` for an unsupported format.
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
            ingress: true,
            egress: true,
            transmit,
            direct: true,
            floods: false,
            ppp_ingress: true,
            ppp_egress: true,
            bridges: false,
            sees_tags: true,
            tagger: None,
        }
    }

    /// enum port_flags.
    fn flags(&self) -> u32 {
        let all = [
            (headers::PORT_ON, self.ingress),
            (headers::PORT_XDP_TX, self.transmit),
            (headers::PORT_OUT, self.egress),
            (headers::PORT_FLOODS, self.floods),
            (headers::PORT_DIRECT, self.direct),
            (headers::PORT_PPP_IN, self.ppp_ingress),
            (headers::PORT_PPP_OUT, self.ppp_egress),
            (headers::PORT_BRIDGES, self.bridges),
            (headers::PORT_SEES_TAGS, self.sees_tags),
        ];
        let on = all.into_iter().filter(|(_, on)| *on);
        on.map(|(flag, _)| flag as u32).sum()
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
