//! Converts evidence into clues.

use detect::Internet;
use net::mac;

use crate::decision::EvidenceItem;
use crate::evidence::{Evidence, Observation};
use crate::frame_class::FrameClass;
use crate::internet_access::within;
use crate::port::Proof;

/// Lists all clues in order of arrival; `up`: the time at which the link came.
pub fn clues(heard: &Evidence, up: u64) -> Vec<EvidenceItem> {
    let mut all = Vec::new();
    let mut say = |kind, at: u64, text: String| {
        all.push(EvidenceItem {
            kind,
            after: at.saturating_sub(up),
            text,
        });
    };
    // A hello that was read says more.
    let told =
        |sort| sort != FrameClass::Other && !(sort == FrameClass::Hello && heard.hello.is_some());
    for sort in FrameClass::ALL {
        if let Some(seen) = heard.of(sort).filter(|_| told(sort)) {
            say(sort.word(), seen.first, of_sort(sort, seen, heard));
        }
    }
    if let Some((hello, at)) = &heard.hello {
        let proof = match hello.proof {
            Proof::Proven => "with",
            Proof::Awaited => "not yet with",
            Proof::None | Proof::Own => "without",
        };
        let text = format!(
            "The node {} of the mesh {} sends hellos from its port {}, {proof} proof",
            hello.node, hello.mesh, hello.port
        );
        say("hello", *at, text);
    }
    if let Some((port, at)) = &heard.led_to {
        let text = format!("A hello of this router came back, sent at its port {port}");
        say("own-hello", *at, text);
    }
    if let (Some((maker, mac)), Some(at)) = (heard.maker, heard.first()) {
        let text = format!(
            "The address {} belongs to {}, a maker of radios",
            mac::text(&mac),
            maker.name()
        );
        say("maker", at, text);
    }
    if let Some(look) = &heard.look {
        let what = match look.internet {
            Internet::Dhcp => "DHCP answers",
            Internet::Pppoe => "PPPoE answers",
            Internet::Ipv6Only => "IPv6 answers",
            Internet::Static => "stations ask for each other, and no server answers",
            Internet::None => "no server answers",
        };
        let text = format!("A probe: {what}{}", within(look.vlan));
        say("look", look.at, text);
    }
    all.sort_by_key(|clue| clue.after);
    all
}

fn of_sort(sort: FrameClass, seen: &Observation, heard: &Evidence) -> String {
    let who = mac::text(&seen.from);
    let vlan = within(seen.tagged());
    let said = match sort {
        FrameClass::Lldp => heard.lldp.as_ref().map(|it| [&it.name, &it.description]),
        FrameClass::Cdp => heard.cdp.as_ref().map(|it| [&it.device, &it.platform]),
        FrameClass::Mndp => heard.mndp.as_ref().map(|it| [&it.identity, &it.board]),
        _ => None,
    };
    if let Some([name, what]) = said {
        let name = match (name.is_empty(), what.is_empty()) {
            (false, false) => format!(" as {name} ({what})"),
            (false, true) => format!(" as {name}"),
            (true, false) => format!(" as {what}"),
            (true, true) => String::new(),
        };
        return format!("{who} announces itself{vlan}{name}");
    }
    let what = match sort {
        FrameClass::Own => return format!("{} own frames came back{vlan}", seen.frames),
        FrameClass::Hello => "sends hellos of weir",
        FrameClass::Pado => "offers PPPoE",
        FrameClass::Padi => "asks for PPPoE",
        FrameClass::DhcpServer => "answers DHCP",
        FrameClass::DhcpClient => "asks for an address by DHCP",
        FrameClass::Dhcp6Server => "answers DHCPv6",
        FrameClass::RouterAdvertisement => "advertises itself as an IPv6 router",
        FrameClass::RouterSolicitation => "asks for IPv6 routers",
        FrameClass::Lldp => "announces itself by LLDP",
        FrameClass::Cdp => "announces itself by CDP",
        FrameClass::Mndp => "announces itself by MNDP",
        FrameClass::Batman => "speaks batman-adv",
        FrameClass::Babel => "speaks Babel",
        FrameClass::Routing => "speaks a routing protocol",
        FrameClass::Bpdu => "sends spanning tree frames",
        FrameClass::Arp => "sends ARP",
        FrameClass::Ip => "sends IP",
        FrameClass::Other => "sends something",
    };
    format!("{who} {what}{vlan}")
}
