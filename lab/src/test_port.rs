//! Wires of an arrangement in the view of the oracle: the ends at which frames enter and leave, and
//! the envelopes there.

use crate::arrangement::{INNER_VLAN, LAN_VLAN, Lan, OTHER_VLAN, PCP, TUNNEL_TAP, WAN_VLAN, Wan};
use crate::encapsulation::{CUSTOMER, Encapsulation, PROVIDER, is_control};
use crate::frame::{Frame, Mac, mac};
use crate::generate::Side;
use crate::view::View;
use crate::{Arrangement, Error, Lab, addresses};

/// The end of a wire opposite the router.
#[derive(Clone, Debug)]
pub struct TestPort {
    /// Host at this end.
    pub role: &'static str,
    /// Device of the host.
    pub device: &'static str,
    /// Side of the end. The first outlet of each side belongs to the side's host.
    pub side: Side,
    /// MAC of the host.
    pub host: Mac,
    /// MAC of the router in the view of this end.
    pub router: Mac,
    /// Envelope of the host's frames.
    pub arriving: Encapsulation,
    /// Permitted envelopes of the router's frames.
    pub leaving: Vec<Encapsulation>,
}

/// A captured frame without its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Envelope of the frame.
    pub envelope: Encapsulation,
    /// Remaining frame. MACs of hosts and router are replaced by those of the plain arrangement.
    pub frame: Frame,
}

/// Returns all outlets of a running gateway.
pub fn outlets(lab: &Lab) -> Result<Vec<TestPort>, Error> {
    let arrangement = &lab.arrangement();
    let session = lab.session()?;
    if arrangement.wan.dials() && session.is_none() {
        return Err(Error::Unexpected("PPPoE has no session".into()));
    }
    let mut outlets = lan(arrangement);
    outlets.extend(wan(arrangement, session));
    Ok(outlets)
}

fn lan(arrangement: &Arrangement) -> Vec<TestPort> {
    let router = match arrangement.lan {
        Lan::Wire | Lan::Vlan => mac("router", "lan0"),
        Lan::Bridge(..) | Lan::Filtering { .. } => mac("router", "br0"),
    };
    let home = arrangement.lan.home();
    let members = arrangement.lan.members();
    let outlet = |index: usize| {
        let role = arrangement.lan.host(index);
        let vlan = match (arrangement.lan, members[index]) {
            (Lan::Vlan, _) | (Lan::Filtering { .. }, "lan2") => Some(LAN_VLAN),
            _ => None,
        };
        let tags: Vec<_> = vlan.iter().map(|vlan| (CUSTOMER, *vlan)).collect();
        let mut leaving = vec![Encapsulation::tagged(&tags)];
        if matches!(arrangement.lan, Lan::Filtering { .. }) && members[index] == "lan2" {
            leaving.push(Encapsulation::tagged(&[(CUSTOMER, OTHER_VLAN)]));
        }
        TestPort {
            role,
            device: "eth0",
            side: Side::Client,
            host: mac(role, "eth0"),
            router,
            arriving: Encapsulation::tagged(&tags),
            leaving,
        }
    };
    let others = (0..members.len()).filter(|index| *index != home);
    std::iter::once(home).chain(others).map(outlet).collect()
}

fn wan(arrangement: &Arrangement, session: Option<u16>) -> Vec<TestPort> {
    let plain = TestPort {
        role: "server",
        device: "eth0",
        side: Side::Server,
        host: mac("server", "eth0"),
        router: mac("router", "wan0"),
        arriving: Encapsulation::default(),
        leaving: vec![Encapsulation::default()],
    };
    let tag = |pcp: u16| (CUSTOMER, pcp << 13 | WAN_VLAN);
    let mapped = || PCP.iter().map(|(_, pcp)| tag(*pcp));
    match arrangement.wan {
        Wan::Wire => vec![plain],
        Wan::Vlan => vec![TestPort {
            arriving: Encapsulation::tagged(&[tag(0)]),
            leaving: mapped().map(|tag| Encapsulation::tagged(&[tag])).collect(),
            ..plain
        }],
        Wan::VlanWithOwnMac => vec![TestPort {
            router: mac("router", "wan0.7"),
            arriving: Encapsulation::tagged(&[tag(0)]),
            leaving: mapped().map(|tag| Encapsulation::tagged(&[tag])).collect(),
            ..plain
        }],
        Wan::Qinq => {
            let both = Encapsulation::tagged(&[(PROVIDER, WAN_VLAN), (CUSTOMER, INNER_VLAN)]);
            vec![TestPort {
                arriving: both.clone(),
                leaving: vec![both],
                ..plain
            }]
        }
        Wan::Pppoe => {
            let envelope = Encapsulation {
                tags: Vec::new(),
                session,
            };
            vec![TestPort {
                arriving: envelope.clone(),
                leaving: vec![envelope],
                ..plain
            }]
        }
        Wan::PppoeOverVlan => {
            let over = |tag| Encapsulation {
                tags: vec![tag],
                session,
            };
            vec![TestPort {
                arriving: over(tag(0)),
                leaving: mapped().map(over).collect(),
                ..plain
            }]
        }
        Wan::Two => {
            let second = TestPort {
                device: "eth1",
                host: mac("server", "eth1"),
                router: mac("router", "wan1"),
                ..plain.clone()
            };
            vec![plain, second]
        }
        Wan::Hairpin => {
            let server = TestPort {
                router: mac("router", "lan0"),
                ..plain.clone()
            };
            let nobody = TestPort {
                role: "isp",
                host: mac("isp", "eth0"),
                ..plain
            };
            vec![server, nobody]
        }
        Wan::WireGuard => vec![TestPort {
            device: TUNNEL_TAP,
            ..plain
        }],
    }
}

impl TestPort {
    /// Returns `role:device`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.role, self.device)
    }

    /// Returns a frame of the plain arrangement with the MACs of this wire.
    pub fn address(&self, frame: &[u8]) -> Frame {
        let side = self.side;
        exchange(
            frame,
            &[
                (side.host_mac(), self.host),
                (side.router_mac(), self.router),
            ],
        )
    }

    /// Returns a frame of the plain arrangement as the host sends it here.
    pub fn seal(&self, frame: &[u8]) -> Frame {
        self.arriving.seal(&self.address(frame))
    }

    /// Removes the envelope of a captured frame.
    pub fn open(&self, frame: &[u8]) -> CapturedFrame {
        let (envelope, inside) = Encapsulation::open(frame);
        let side = self.side;
        let known = [
            (self.host, side.host_mac()),
            (self.router, side.router_mac()),
        ];
        CapturedFrame {
            envelope,
            frame: exchange(&inside, &known),
        }
    }

    /// Returns the frame as it was on the wire, for reports.
    pub fn close(&self, arrival: &CapturedFrame) -> Frame {
        arrival.envelope.seal(&self.address(&arrival.frame))
    }

    /// Returns true if the router may send this frame here: the envelope must be one of the
    /// arrangement's. Frames of other senders, passed on by a bridge, may have any envelope.
    pub fn may_leave(&self, arrival: &CapturedFrame) -> bool {
        arrival.frame.get(6..12) != Some(&self.side.router_mac())
            || self.leaving.contains(&arrival.envelope)
    }
}

/// Replaces the first MAC of each pair by the second, in both addresses.
fn exchange(frame: &[u8], pairs: &[(Mac, Mac)]) -> Frame {
    let mut frame = frame.to_vec();
    for field in frame.chunks_mut(6).take(2) {
        if let Some((_, new)) = pairs.iter().find(|(old, _)| *field == old[..]) {
            field.copy_from_slice(new);
        }
    }
    frame
}

/// Returns true for frames that a router sends by itself at any time: listener reports for groups
/// (RFC 3376, RFC 3810), PPPoE discovery, and PPP's own protocols. `routers` lists all MACs of the
/// router's devices.
pub(crate) fn is_chatter(frame: &[u8], arrival: &CapturedFrame, routers: &[Mac]) -> bool {
    let from = frame.get(6..12);
    let own = routers
        .iter()
        .chain([&Side::Server.router_mac(), &Side::Client.router_mac()])
        .any(|mac| from == Some(mac) || arrival.frame.get(6..12) == Some(mac));
    if !own {
        return false;
    }
    let Some(view) = View::of(&arrival.frame) else {
        return arrival.frame.get(12..).is_some_and(is_control);
    };
    // The report follows a hop-by-hop header with a router alert.
    let listener = view.protocol == 0 && arrival.frame.get(62) == Some(&143);
    // A router sends redirects (RFC 4861, section 8) at most once a second to each station,
    // regardless of the traffic.
    let redirect = view.protocol == 58 && arrival.frame.get(54) == Some(&137);
    redirect
        || listener && view.to == addresses::ALL_MLD_ROUTERS
        || view.protocol == 2 && view.to == addresses::ALL_IGMP_ROUTERS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encapsulation::SESSION;
    use crate::frame::{Body, Packet};

    fn packet(side: Side) -> Packet {
        let (from, to) = (addresses::CLIENT6, addresses::SERVER6);
        let body = Body::Udp(1, 2, vec![3; 9]);
        Packet::new((side.host_mac(), from), (side.router_mac(), to), body)
    }

    /// Returns the outlets of every arrangement, with a session number for PPPoE.
    fn all() -> impl Iterator<Item = TestPort> {
        Arrangement::ALL
            .into_iter()
            .flat_map(|arrangement| [lan(&arrangement), wan(&arrangement, Some(7))].concat())
    }

    #[test]
    fn what_a_host_sends_is_opened_to_the_plain_frame() {
        for outlet in all() {
            let frame = packet(outlet.side).bytes();
            let arrival = outlet.open(&outlet.seal(&frame));
            assert_eq!(arrival.frame, frame, "{outlet:?}");
            assert_eq!(arrival.envelope, outlet.arriving);
            assert_eq!(outlet.close(&arrival), outlet.seal(&frame));
        }
    }

    #[test]
    fn a_router_sends_in_its_own_envelopes_only() {
        for outlet in all() {
            let mut packet = packet(outlet.side);
            std::mem::swap(&mut packet.to_mac, &mut packet.from_mac);
            let mut arrival = CapturedFrame {
                envelope: outlet.leaving[0].clone(),
                frame: packet.bytes(),
            };
            assert!(outlet.may_leave(&arrival), "{outlet:?}");
            arrival.envelope.tags.push((CUSTOMER, 999));
            assert!(!outlet.may_leave(&arrival), "{outlet:?}");
            // A bridge forwards frames of stations unchanged.
            arrival.frame[6..12].copy_from_slice(&[2; 6]);
            assert!(outlet.may_leave(&arrival), "{outlet:?}");
        }
    }

    #[test]
    fn only_the_routers_own_talk_is_chatter() {
        let outlet = lan(&Arrangement::PLAIN).remove(0);
        let chatter = |packet: &Packet, routers: &[Mac]| {
            let frame = packet.bytes();
            is_chatter(&frame, &outlet.open(&frame), routers)
        };
        let member = [2, 0, 0, 0, 0, 5];
        let mut report = packet(Side::Client);
        report.from_mac = member;
        report.to = addresses::ALL_MLD_ROUTERS;
        report.extensions = vec![(0, vec![0, 0, 5, 2, 0, 0, 1, 0])];
        report.body = Body::Icmp(143, 0, 1, vec![0; 20]);
        assert!(chatter(&report, &[member]));
        assert!(!chatter(&report, &[]));
        report.to = addresses::SERVER6;
        assert!(!chatter(&report, &[member]));
        let mut echo = packet(Side::Client).bytes()[..12].to_vec();
        echo[6..12].copy_from_slice(&member);
        echo.extend(SESSION.to_be_bytes());
        echo.extend([0x11, 0, 0, 7, 0, 10, 0xc0, 0x21, 10, 1, 0, 8, 0, 0, 0, 0]);
        assert!(is_chatter(&echo, &outlet.open(&echo), &[member]));
        // Changes the frame into data of the session.
        echo[20..22].copy_from_slice(&[0, 0x21]);
        assert!(!is_chatter(&echo, &outlet.open(&echo), &[member]));
    }
}
