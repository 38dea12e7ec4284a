//! Signs of Internet access, and their weight.

use detect::Internet;
use net::mac;

use crate::evidence::{Evidence, Observation};
use crate::frame_class::FrameClass;

/// Returns ` in VLAN 7` for a VLAN, otherwise an empty text.
pub fn within(vlan: Option<u16>) -> String {
    vlan.map_or_else(String::new, |number| format!(" in VLAN {number}"))
}

/// A way to the Internet.
pub struct InternetAccess {
    pub why: String,
    /// Weight of the signs.
    pub weight: u8,
    /// True if the server answers others, but not this router.
    pub others: bool,
}

impl InternetAccess {
    fn of(why: String, weight: u8) -> Option<Self> {
        Some(Self {
            why,
            weight,
            others: false,
        })
    }
}

/// Weight of a server or router that was not probed: the classifier does not see the content, which
/// may be a refusal of DHCP, or come from a router that is not a default router.
const HEARD: u8 = 60;
/// A server that answered others, and not this router.
const OTHERS: u8 = 45;

/// Returns the Internet access from passive evidence or from a probe.
pub fn way(heard: &Evidence) -> Option<InternetAccess> {
    let look = heard.look.as_ref();
    let found = |internet| look.filter(|it| it.internet == internet);
    let from = |seen: &Observation| format!("{}{}", mac::text(&seen.from), within(seen.tagged()));
    if let Some(seen) = heard.of(FrameClass::Pado) {
        let why = format!("PPPoE is offered by {}", from(seen));
        return InternetAccess::of(why, 85);
    }
    if let Some(look) = found(Internet::Pppoe) {
        let why = format!("PPPoE was offered{}", within(look.vlan));
        return InternetAccess::of(why, 85);
    }
    let dhcp = heard.of(FrameClass::DhcpServer);
    if let Some(look) = found(Internet::Dhcp) {
        // A modem gives access to its own page that way.
        let without = if look.gateway {
            ""
        } else {
            ", without a router"
        };
        let (by, weight) = match dhcp {
            Some(seen) => (format!("DHCP answers come from {}", from(seen)), 75),
            None => {
                let (who, vlan) = (look.servers.join(" and "), within(look.vlan));
                (format!("DHCP answers came from {who}{vlan}"), 80)
            }
        };
        let weight = if look.gateway { weight } else { 55 };
        return InternetAccess::of(format!("{by}{without}"), second(heard, weight));
    }
    let said = |sort, what: &str| heard.of(sort).map(|seen| format!("{what}, {}", from(seen)));
    let router = said(
        FrameClass::RouterAdvertisement,
        "an IPv6 router advertises itself",
    );
    if let Some(look) = look.filter(|it| it.ipv6) {
        let why = router.unwrap_or_else(|| format!("IPv6 was offered{}", within(look.vlan)));
        return InternetAccess::of(why, second(heard, 70));
    }
    if let Some(seen) = dhcp.filter(|seen| !refuted(seen, heard)) {
        // A server that answers after weir's request answers this request: nothing else would cause
        // a refusal.
        let answers = heard.look_began.is_some_and(|began| seen.last >= began) && look.is_none();
        let why = format!("DHCP answers come from {}", from(seen));
        return InternetAccess::of(why, second(heard, if answers { 75 } else { HEARD }));
    }
    if let Some(why) = router.filter(|_| !look.is_some_and(|it| it.no_default_router)) {
        return InternetAccess::of(why, second(heard, HEARD));
    }
    if let Some(seen) = heard
        .of(FrameClass::Dhcp6Server)
        .filter(|seen| !refuted(seen, heard))
    {
        let why = format!("DHCPv6 answers come from {}", from(seen));
        return InternetAccess::of(why, second(heard, HEARD));
    }
    let (what, seen) = match (dhcp, heard.of(FrameClass::Dhcp6Server)) {
        (Some(seen), _) => ("DHCP", seen),
        (None, seen) => ("DHCPv6", seen?),
    };
    let why = format!(
        "{what} of other devices is answered by {}, but not that of this router",
        from(seen)
    );
    Some(InternetAccess {
        why,
        weight: OTHERS,
        others: true,
    })
}

/// Returns true if a probe found nothing of this, and no new server appeared since.
fn refuted(seen: &Observation, heard: &Evidence) -> bool {
    let look = heard.look.as_ref();
    look.is_some_and(|look| seen.last <= look.at || look.served.contains(&seen.from))
}

/// Adjusts a weight: 10 more for a second sign, 10 less for each server beyond two, 40 at most.
fn second(heard: &Evidence, weight: u8) -> u8 {
    let look = heard.look.as_ref();
    let ways = [
        FrameClass::DhcpServer,
        FrameClass::RouterAdvertisement,
        FrameClass::Dhcp6Server,
    ];
    let none = look.is_some_and(|it| it.no_default_router);
    let counts = |way: &&FrameClass| **way != FrameClass::RouterAdvertisement || !none;
    let ways = ways.iter().filter(counts);
    let ways = ways.filter(|&&way| heard.of(way).is_some()).count();
    let more = if ways > 1 || look.is_some_and(|it| it.gateway) {
        10
    } else {
        0
    };
    // A router and its server may be two; more are a network of others.
    let less = 10 * heard.servers().len().saturating_sub(2).min(4) as u8;
    (weight + more).saturating_sub(less)
}
