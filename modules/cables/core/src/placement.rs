//! Decides the use of a port: the automatic changes that weir may make, by the port's role.
//!
//! Passive evidence never takes a port from the LAN, or an uplink from its use: an error here cuts
//! people off, or lets a provider's network into the users' network.

use detect::Internet;

use crate::decision::Decision;
use crate::evidence::{Evidence, SERVES};
use crate::frame_class::FrameClass;
use crate::internet_access::way;
use crate::port::Use;
use crate::role::Role;

/// State of a port and of the router's other ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacementContext {
    /// Use of the port in the configuration.
    pub now: Use,
    /// True if an earlier decision of weir set the use, not a person.
    pub by_itself: bool,
    /// True if a decision with this link found users of the LAN: from then on the port is theirs.
    pub of_lan: bool,
    /// True if another port is the uplink, and has a link.
    pub other_uplink: bool,
}

/// Change of the use of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The decision is pending.
    Awaited,
    /// The use stays; with a reason if a user could ask for one.
    Stays(Option<&'static str>),
    /// The port gets this use.
    Goes(Use),
    /// Nothing is to pass, in or out.
    Apart,
}

/// Internet access offered at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// By PPPoE; otherwise by DHCP, or by IPv6 alone.
    pub pppoe: bool,
    /// In this VLAN alone.
    pub vlan: Option<u16>,
}

/// Least confidence for a new uplink: passive evidence has less, and may be a refusal.
const ENOUGH: u8 = 70;

/// Returns the Internet access on offer, if any.
pub(crate) fn offer(heard: &Evidence) -> Option<Offer> {
    way(heard).filter(|way| !way.others)?;
    let look = heard.look.as_ref();
    let dialled = look.is_some_and(|it| it.internet == Internet::Pppoe);
    let seen = heard.any(&SERVES);
    let pppoe = dialled || seen.is_some_and(|(sort, _)| sort == FrameClass::Pado);
    let vlan = match seen {
        Some((_, seen)) => seen.tagged(),
        None => look.and_then(|look| look.vlan),
    };
    Some(Offer { pppoe, vlan })
}

/// Decides the use of the port by the decision, at this time.
pub(crate) fn place(
    heard: &Evidence,
    decision: &Decision,
    around: PlacementContext,
    time: u64,
) -> Placement {
    match decision.held_by {
        Some("administrator") => return chosen(decision.role, around.now),
        Some(_) => return Placement::Stays(None),
        None if decision.decided.is_none() => return Placement::Awaited,
        None => {}
    }
    let now = around.now;
    let by_itself = around.by_itself || now == Use::None;
    // A server of addresses does not belong to the LAN.
    let free = around.by_itself && !around.of_lan;
    let leaves = free && now == Use::Lan && serves(heard);
    match decision.role {
        Role::Loop => Placement::Apart,
        Role::Mesh if now == Use::Uplink && offer(heard).is_some() => Placement::Stays(Some(
            "it stays the uplink, as a server there offers the Internet too",
        )),
        Role::Mesh => goes(Use::Mesh, now),
        Role::Uplink if now == Use::Uplink => Placement::Stays(None),
        Role::Uplink if by_itself && heard.awaits_look(time) => Placement::Awaited,
        Role::Uplink | Role::Unknown if leaves && around.other_uplink => Placement::Goes(Use::None),
        Role::Uplink if around.other_uplink => {
            Placement::Stays(Some("it stays as it is, as another port is the uplink"))
        }
        Role::Uplink if by_itself && decision.confidence >= ENOUGH => Placement::Goes(Use::Uplink),
        Role::Uplink | Role::Unknown if leaves => Placement::Goes(Use::None),
        Role::Client | Role::Switch if now == Use::Lan => Placement::Stays(None),
        Role::Client | Role::Switch if now == Use::Uplink => Placement::Stays(Some(
            "it stays the uplink, as a provider's line can look like that",
        )),
        // Neighbours at a provider's line send all sorts of things.
        Role::Client | Role::Switch if by_itself && asks(heard) => Placement::Goes(Use::Lan),
        Role::Client | Role::Switch => Placement::Stays(Some(
            "it stays as it is, as no device there has asked for an address",
        )),
        Role::Border if free && now != Use::Uplink => goes(Use::None, now),
        Role::Uplink | Role::Border | Role::Radio | Role::Unknown => Placement::Stays(None),
    }
}

/// Returns true if a client requested an address, and no server is known.
fn asks(heard: &Evidence) -> bool {
    heard.of(FrameClass::DhcpClient).is_some() && !serves(heard)
}

/// Returns true if there is a server of addresses or routes, this router or another.
fn serves(heard: &Evidence) -> bool {
    heard.any(&SERVES).is_some() || offer(heard).is_some()
}

/// Returns the use that the administrator's choice implies.
fn chosen(role: Role, now: Use) -> Placement {
    match role {
        Role::Uplink => goes(Use::Uplink, now),
        Role::Mesh => goes(Use::Mesh, now),
        Role::Client | Role::Switch => goes(Use::Lan, now),
        Role::Border => goes(Use::None, now),
        // The role does not show which network is behind a radio.
        Role::Radio | Role::Loop | Role::Unknown => Placement::Stays(None),
    }
}

fn goes(to: Use, now: Use) -> Placement {
    match to == now {
        true => Placement::Stays(None),
        false => Placement::Goes(to),
    }
}
