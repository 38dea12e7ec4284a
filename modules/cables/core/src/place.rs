//! Where a port goes: what may be done by itself, by what the port is for.
//!
//! Nothing that is only heard takes a port from the LAN, or an uplink from its use: what goes wrong
//! here cuts people off, or lets a provider's network into theirs.

use detect::Internet;

use crate::decision::Decision;
use crate::heard::{Gathered, SERVES};
use crate::port::Use;
use crate::role::Role;
use crate::sort::Sort;
use crate::way::way;

/// What a router knows of a port, and of its other ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// What the configuration has the port as.
    pub now: Use,
    /// It is so by an earlier decision, and no person's.
    pub by_itself: bool,
    /// It was decided with this link that people of the LAN are there: from then on it is theirs.
    pub of_lan: bool,
    /// Another port is the uplink, and has a link.
    pub other_uplink: bool,
}

/// Where a port goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is not known yet.
    Awaited,
    /// Nowhere; and why, where somebody could ask.
    Stays(Option<&'static str>),
    /// It is to be used so.
    Goes(Use),
    /// Nothing is to pass, in or out.
    Apart,
}

/// How the Internet is offered at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// By PPPoE; else by DHCP, or by IPv6 alone.
    pub pppoe: bool,
    /// In this VLAN alone.
    pub vlan: Option<u16>,
}

/// From here on an uplink is made one: less is what was heard, and may be a refusal.
const ENOUGH: u8 = 70;

/// How the Internet is offered, if it is.
pub(crate) fn offer(heard: &Gathered) -> Option<Offer> {
    way(heard).filter(|way| !way.others)?;
    let look = heard.look.as_ref();
    let dialled = look.is_some_and(|it| it.internet == Internet::Pppoe);
    let seen = heard.any(&SERVES);
    let pppoe = dialled || seen.is_some_and(|(sort, _)| sort == Sort::Pado);
    let vlan = match seen {
        Some((_, seen)) => seen.tagged(),
        None => look.and_then(|look| look.vlan),
    };
    Some(Offer { pppoe, vlan })
}

/// Where the port goes by what was decided, at this time.
pub(crate) fn place(heard: &Gathered, decision: &Decision, around: Around, time: u64) -> Place {
    match decision.held_by {
        Some("administrator") => return chosen(decision.role, around.now),
        Some(_) => return Place::Stays(None),
        None if decision.decided.is_none() => return Place::Awaited,
        None => {}
    }
    let now = around.now;
    let by_itself = around.by_itself || now == Use::None;
    // Who serves addresses there is none of the LAN.
    let free = around.by_itself && !around.of_lan;
    let leaves = free && now == Use::Lan && serves(heard);
    match decision.role {
        Role::Loop => Place::Apart,
        Role::Mesh if now == Use::Uplink && offer(heard).is_some() => Place::Stays(Some(
            "it stays the uplink, as the Internet is offered there too",
        )),
        Role::Mesh => goes(Use::Mesh, now),
        Role::Uplink if now == Use::Uplink => Place::Stays(None),
        Role::Uplink if by_itself && heard.awaits_look(time) => Place::Awaited,
        Role::Uplink | Role::Unknown if leaves && around.other_uplink => Place::Goes(Use::None),
        Role::Uplink if around.other_uplink => {
            Place::Stays(Some("it stays as it is, as another port is the uplink"))
        }
        Role::Uplink if by_itself && decision.confidence >= ENOUGH => Place::Goes(Use::Uplink),
        Role::Uplink | Role::Unknown if leaves => Place::Goes(Use::None),
        Role::Client | Role::Switch if now == Use::Lan => Place::Stays(None),
        Role::Client | Role::Switch if now == Use::Uplink => Place::Stays(Some(
            "it stays the uplink, as a provider's line can look like that",
        )),
        // Neighbours at a provider's line send all sorts of things.
        Role::Client | Role::Switch if by_itself && asks(heard) => Place::Goes(Use::Lan),
        Role::Client | Role::Switch => Place::Stays(Some(
            "it stays as it is, as nobody there has asked for an address",
        )),
        Role::Border if free && now != Use::Uplink => goes(Use::None, now),
        Role::Uplink | Role::Border | Role::Radio | Role::Unknown => Place::Stays(None),
    }
}

/// Whether somebody asked for an address, and nobody serves any.
fn asks(heard: &Gathered) -> bool {
    heard.of(Sort::DhcpClient).is_some() && !serves(heard)
}

/// Whether somebody serves addresses or ways, this router or others.
fn serves(heard: &Gathered) -> bool {
    heard.any(&SERVES).is_some() || offer(heard).is_some()
}

/// Where the administrator's choice takes a port.
fn chosen(role: Role, now: Use) -> Place {
    match role {
        Role::Uplink => goes(Use::Uplink, now),
        Role::Mesh => goes(Use::Mesh, now),
        Role::Client | Role::Switch => goes(Use::Lan, now),
        Role::Border => goes(Use::None, now),
        // What is behind a radio is not said by that.
        Role::Radio | Role::Loop | Role::Unknown => Place::Stays(None),
    }
}

fn goes(to: Use, now: Use) -> Place {
    match to == now {
        true => Place::Stays(None),
        false => Place::Goes(to),
    }
}
