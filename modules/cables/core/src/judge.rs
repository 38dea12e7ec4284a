//! Evaluates the evidence at one moment, independently of earlier decisions.

use detect::Internet;
use net::mac;

use crate::decision::Notice;
use crate::evidence::{Evidence, Observation};
use crate::frame_class::FrameClass;
use crate::internet_access::{InternetAccess, way, within};
use crate::port::{Port, Proof, Use};
use crate::role::Role;

/// Confidence from which on no more evidence is needed.
pub const SURE: u8 = 75;
/// Confidence below which a probe is worth its frames.
pub const DOUBT: u8 = 55;
/// Milliseconds for which a notice lasts after the last frame that caused it.
const NOTICE_LASTS: u64 = 3_600_000;

/// Verdict on the role of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub role: Role,
    pub confidence: u8,
    /// A sentence without a full stop.
    pub why: String,
    pub change_condition: &'static str,
}

fn verdict(role: Role, confidence: u8, why: String, change_condition: &'static str) -> Verdict {
    Verdict {
        role,
        confidence: confidence.min(100),
        why,
        change_condition,
    }
}

/// Judges the evidence.
pub fn judge(port: &Port, heard: &Evidence, now: u64) -> Verdict {
    if heard.looped(port, now) {
        return looped(port, heard);
    }
    if let Some(hello) = heard.proven() {
        let why = format!(
            "the node {} proved that it belongs to the same mesh",
            hello.node
        );
        let change = "Another cable would change it";
        return verdict(Role::Mesh, 100, why, change);
    }
    if let Some(hello) = heard.awaited(now) {
        let why = format!(
            "the node {} claims to belong to the same mesh, without a proof yet",
            hello.node
        );
        let change = "The proof would make it mesh; without one it is a border";
        return verdict(Role::Unknown, 40, why, change);
    }
    let out = way(heard);
    if let Some(border) = border(port, heard, out.as_ref()) {
        return match of_lan(port) {
            true => pretended(&border.why),
            false => border,
        };
    }
    if let Some(twin) = heard.twin() {
        let why = format!(
            "{} both requests and offers addresses, so it is a router like this one",
            mac::text(twin)
        );
        if of_lan(port) {
            return pretended(&why);
        }
        let change = "A hello with the mesh's key would make it mesh";
        // A provider's server may also send requests: an uplink stays an uplink.
        let weight = if port.former == Use::Uplink { 70 } else { 95 };
        return verdict(Role::Unknown, weight, why, change);
    }
    let radio = radio(heard);
    match (out, radio) {
        (Some(out), radio) if !of_lan(port) => uplink(port, out, radio.is_some()),
        (_, Some(radio)) => radio,
        (None, None) if port.former == Use::Uplink && port.works => working(),
        (out, None) => switch(port, heard).unwrap_or_else(|| client(port, heard, out)),
    }
}

fn looped(port: &Port, heard: &Evidence) -> Verdict {
    let own = heard.of(FrameClass::Own);
    let within = within(own.and_then(Observation::tagged));
    let (why, confidence) = match heard.led_to(port) {
        Some((to, _)) if to == port.device => (
            "own frames come back: there is a loop behind this port".into(),
            99,
        ),
        Some((to, _)) => (format!("own frames come back: the cable leads to {to}"), 99),
        None => {
            let more = own.map_or(0, |own| own.frames.saturating_sub(3).min(2));
            let confidence = [80, 90, 99][more as usize];
            (format!("own frames come back{within}"), confidence)
        }
    };
    let change = match port.probes {
        true => "Thirty seconds without own frames would end it",
        false => "Unplug the cable from this port",
    };
    verdict(Role::Loop, confidence, why, change)
}

/// Returns true if the LAN's users are at a port: a forged frame must not take it from them.
fn of_lan(port: &Port) -> bool {
    port.former == Use::Lan || port.own_dhcp && port.former != Use::Uplink
}

/// Evidence that changes a port of the LAN.
const OF_LAN: &str = "The administrator's choice, a hello with the mesh's key, or own frames that come \
    back, would change it";

fn pretended(why: &str) -> Verdict {
    let why = format!("{why}, but a client can forge that, and this port belongs to the LAN");
    verdict(Role::Client, 50, why, OF_LAN)
}

fn uplink(port: &Port, out: InternetAccess, radio: bool) -> Verdict {
    let weight = match port.former {
        Use::Uplink => out.weight + 5,
        Use::Lan => out.weight - 10,
        Use::Mesh | Use::None => out.weight,
    };
    // A radio seldom points at the owner's own network.
    let (by, weight) = match radio {
        true => (", by a radio", weight + 20),
        false => ("", weight),
    };
    let change = "Own frames, a hello with the mesh's key or routing of a mesh would change it";
    if weight < 50 {
        let why = match out.others {
            true => out.why,
            false => format!("{}, but other servers offer addresses too", out.why),
        };
        return verdict(Role::Unknown, weight, why, change);
    }
    verdict(
        Role::Uplink,
        weight.min(90),
        format!("{}{by}", out.why),
        change,
    )
}

/// Returns the verdict for a route that is in use and works. No server offers anything where
/// addresses are fixed.
fn working() -> Verdict {
    let why = "the default route leaves by this port, and its gateway answers".into();
    let change = "Own frames, a hello with the mesh's key or routing of a mesh would change it";
    verdict(Role::Uplink, SURE, why, change)
}

fn border(port: &Port, heard: &Evidence, out: Option<&InternetAccess>) -> Option<Verdict> {
    let change = "A hello with the mesh's key would make it mesh";
    let routing = heard.any(&[FrameClass::Batman, FrameClass::Babel, FrameClass::Routing]);
    if let Some((sort, seen)) = routing {
        // Some modems of providers speak RIP or OSPF.
        let modem = sort == FrameClass::Routing && port.former == Use::Uplink && out.is_some();
        if !modem {
            let what = match sort {
                FrameClass::Batman => "batman-adv",
                FrameClass::Babel => "Babel",
                _ => "a routing protocol",
            };
            let why = format!(
                "{} speaks {what}{}, without a proof that it belongs to the same mesh",
                mac::text(&seen.from),
                within(seen.tagged())
            );
            return Some(verdict(Role::Border, 85, why, change));
        }
    }
    if heard.hello.is_none() {
        heard.of(FrameClass::Hello)?;
        // The proof may still come.
        let why = "a device sends hellos of weir, without a proof".into();
        return Some(verdict(Role::Border, 65, why, change));
    }
    let said = heard.hello.as_ref().map(|(hello, _)| hello);
    if let Some(hello) = said.filter(|it| it.proof == Proof::Awaited) {
        let why = format!(
            "the node {} claims to belong to the same mesh, but does not prove it: its hello is \
             a replay, or it does not receive this router's hellos",
            hello.node
        );
        return Some(verdict(Role::Border, 60, why, change));
    }
    let why = "a weir node of another mesh, or one without the mesh's key, is connected".into();
    Some(verdict(Role::Border, 75, why, change))
}

fn radio(heard: &Evidence) -> Option<Verdict> {
    let change = "A DHCP or PPPoE server, or a hello with the mesh's key, would change it";
    let access = heard.says(|it| it.wlan && !it.router);
    if let Some((maker, name)) = heard.radio() {
        let why = format!("{}'s radio announces itself as {name}", maker.name());
        return Some(verdict(Role::Radio, 75, why, change));
    }
    if !access {
        return None;
    }
    let maker = heard.maker.is_some();
    let weight = match (heard.stations, maker) {
        (_, true) => 75,
        (..=3, false) => 70,
        _ => 62,
    };
    let why = "a wireless access point announces itself".into();
    Some(verdict(Role::Radio, weight, why, change))
}

fn switch(port: &Port, heard: &Evidence) -> Option<Verdict> {
    let change = "A DHCP or PPPoE server, or own frames, would change it";
    // A telephone with a second socket bridges too.
    let bridge = heard.says(|it| it.bridge && !it.router && !it.telephone);
    if bridge {
        let why = "a bridge announces itself".into();
        return Some(verdict(Role::Switch, 65, why, change));
    }
    if let Some(seen) = heard.of(FrameClass::Bpdu) {
        let why = format!(
            "a bridge sends spanning tree frames{}",
            within(seen.tagged())
        );
        return Some(verdict(Role::Switch, 65, why, change));
    }
    if heard.stations < 3 {
        return None;
    }
    let more = if heard.more_stations { " or more" } else { "" };
    let why = format!(
        "{}{more} stations are connected, so it is a switch",
        heard.stations
    );
    // Neighbours at a provider's line are stations too.
    let uplink = port.former == Use::Uplink;
    let weight = if uplink { 55 } else { 65 };
    Some(verdict(Role::Switch, weight, why, change))
}

fn client(port: &Port, heard: &Evidence, out: Option<InternetAccess>) -> Verdict {
    if let Some(out) = out {
        return pretended(&out.why);
    }
    let change = match of_lan(port) {
        true => OF_LAN,
        false => "A DHCP or PPPoE server would make it uplink, three stations a switch",
    };
    let silent = heard
        .look
        .as_ref()
        .is_some_and(|it| it.internet == Internet::None || it.internet == Internet::Static);
    let more = if silent { 5 } else { 0 };
    // Without a probe, an offer was not possible.
    let but = if silent {
        ", and no server answers"
    } else {
        ""
    };
    let less = if port.former == Use::Uplink { 10 } else { 0 };
    let alone = heard.says(|it| (it.station || it.telephone) && !it.router);
    if alone {
        let why = "a station announces itself".into();
        return verdict(Role::Client, 70, why, change);
    }
    // Weir itself does so: behind a switch that blocks hellos, another weir would take this router
    // for a client, too, and the two networks would be joined.
    let of = |sort| heard.of(sort).map(|seen| seen.from);
    let both = of(FrameClass::Padi).filter(|from| of(FrameClass::DhcpClient) == Some(*from));
    if let Some(from) = both.filter(|_| !of_lan(port)) {
        let who = mac::text(&from);
        let why = format!(
            "{who} asks for DHCP and PPPoE at once, as a router that searches for its uplink \
                 does"
        );
        let change = "A hello with the mesh's key would make it mesh, a server uplink";
        return verdict(Role::Unknown, 45, why, change);
    }
    let asks = [
        FrameClass::DhcpClient,
        FrameClass::RouterSolicitation,
        FrameClass::Padi,
        FrameClass::Arp,
        FrameClass::Ip,
    ];
    if let Some((sort, seen)) = heard.any(&asks) {
        let (weight, what) = match sort {
            FrameClass::Arp | FrameClass::Ip => (50 + more, "is there"),
            // A router of IPv4 that is silent until queried does so, too.
            FrameClass::RouterSolicitation => (50 + more, "asks for IPv6 routers"),
            _ => (55, "asks for an address or a PPPoE session"),
        };
        let why = format!(
            "{}{} {what}{but}",
            mac::text(&seen.from),
            within(seen.tagged())
        );
        // Clients send no tags: this may be a provider's router, or a switch.
        if seen.tagged().is_some() && !of_lan(port) {
            return verdict(Role::Unknown, 40, why, change);
        }
        return verdict(Role::Client, weight - less, why, change);
    }
    let change = "Any frame would change it";
    if silent {
        let why = match heard.first() {
            Some(_) => "the frames so far do not show the port's role, and no server answered",
            None => "no device sends anything, and no server answered",
        };
        return verdict(Role::Unknown, 30, why.into(), change);
    }
    let why = match heard.first() {
        Some(_) => "the frames so far do not show the port's role",
        None => "no device sends anything",
    };
    verdict(Role::Unknown, 10, why.into(), change)
}

/// Lists problems for the user from recent evidence, as the link may stay up for long after a
/// server behind a switch is gone.
pub fn notices(port: &Port, heard: &Evidence, now: u64) -> Vec<Notice> {
    if !of_lan(port) {
        return Vec::new();
    }
    let lately = |last: u64| now.saturating_sub(last) < NOTICE_LASTS;
    let look = heard.look.as_ref().filter(|it| lately(it.at));
    let found = |internet| look.filter(|it| it.internet == internet);
    // The sender on record, otherwise the servers of the probe.
    let who = |sort, internet: Option<Internet>| {
        let seen = heard.of(sort).filter(|seen| lately(seen.last));
        match (seen, internet.and_then(found)) {
            (Some(seen), _) => Some(format!(
                "{}{}",
                mac::text(&seen.from),
                within(seen.tagged())
            )),
            (None, Some(look)) => Some(format!(
                "{}{}",
                look.servers.join(" and "),
                within(look.vlan)
            )),
            (None, None) => None,
        }
    };
    let kinds = [
        (
            "dhcp-server",
            "A DHCP server",
            FrameClass::DhcpServer,
            Some(Internet::Dhcp),
        ),
        (
            "pppoe-server",
            "A PPPoE server",
            FrameClass::Pado,
            Some(Internet::Pppoe),
        ),
        (
            "router-advertisement",
            "An IPv6 router",
            FrameClass::RouterAdvertisement,
            None,
        ),
        (
            "mesh",
            "A node that speaks batman-adv",
            FrameClass::Batman,
            None,
        ),
        ("mesh", "A node that speaks Babel", FrameClass::Babel, None),
        (
            "mesh",
            "A node that speaks a routing protocol",
            FrameClass::Routing,
            None,
        ),
    ];
    let told = kinds
        .into_iter()
        .filter_map(|(kind, what, sort, internet)| {
            let who = who(sort, internet)?;
            let comma = if who.is_empty() { "" } else { ", " };
            let text = format!("{what}{comma}{who}, is at a port of the LAN");
            Some(Notice { kind, text, who })
        });
    told.collect()
}
