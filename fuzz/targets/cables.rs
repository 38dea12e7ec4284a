//! Input at a port: any bytes as announcements, and as a sequence of events. No panic, no control
//! sequences or markup in text. Mesh needs a proof, the administrator's choice and connection stay,
//! and a link gets one probe.
#![no_main]

use cables_core::{
    Cable, Cdp, Decision, FrameClass, Hello, Lldp, Mndp, Port, PortSummary, Proof, Role, Use,
};
use detect::{Details, Internet, Suggestion};
use libfuzzer_sys::fuzz_target;

fn harmless(text: &str, most: usize) {
    let plain = |letter: char| matches!(letter, ' '..='~') || letter.is_alphanumeric();
    assert!(text.chars().all(plain), "{text:?}");
    assert!(text.chars().count() <= most, "{text:?}");
}

fn read(frame: &[u8]) {
    let mut texts = Vec::new();
    if let Some(said) = Lldp::read(frame) {
        texts.extend([said.chassis, said.port, said.name, said.description]);
    }
    if let Some(said) = Cdp::read(frame) {
        texts.extend([said.device, said.platform]);
    }
    if let Some(said) = Mndp::read(frame) {
        texts.extend([said.identity, said.platform, said.version, said.board]);
    }
    texts.iter().for_each(|text| harmless(text, 64));
}

/// Returns a frame that is valid up to its content.
fn announcement(how: u8, data: &[u8]) -> Vec<u8> {
    let ends = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 2]].concat();
    let cdp = &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0, 2, 180, 0, 0];
    let begin: Vec<u8> = match how % 3 {
        0 => [&[0x88, 0xcc][..], &[2, 2, 7, b'x']].concat(),
        1 => [&[5, 0][..], cdp].concat(),
        _ => {
            let mut packet = vec![8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
            packet.extend([192, 0, 2, 1, 255, 255, 255, 255]);
            packet.extend([0x16, 0x2e, 0x16, 0x2e, 5, 0, 0, 0, 0, 0, 0, 1]);
            packet
        }
    };
    [&ends[..], &begin, data].concat()
}

fn found(how: u8, part: &[u8]) -> Suggestion {
    let internet = [
        Internet::Dhcp,
        Internet::Static,
        Internet::Pppoe,
        Internet::Ipv6Only,
        Internet::None,
    ];
    Suggestion {
        internet: internet[usize::from(how) % internet.len()],
        vlan: (how & 16 != 0).then_some(7),
        details: Details {
            gateway: (how & 32 != 0).then(String::new),
            ipv6: how & 64 != 0,
            no_default_router: how & 128 != 0,
            servers: vec![String::from_utf8_lossy(part).into()],
            ..Details::default()
        },
        lan: None,
        why: Vec::new(),
        confident: true,
        open_questions: Vec::new(),
    }
}

fn check(said: &Decision, port: &Port, proven: bool) {
    assert!(said.confidence <= 100);
    let clues = said.evidence.iter().map(|it| &it.text);
    let notices = said.notices.iter().map(|it| &it.text);
    for text in clues
        .chain(notices)
        .chain([&said.why, &said.change_condition])
    {
        harmless(text, 600);
    }
    assert!(said.vxlan.is_none() || said.role == Role::Mesh);
    match port.held {
        Some(role) => assert_eq!(said.role, role),
        None if port.administrator => assert_eq!(said.role, Role::Client),
        None => assert!(said.role != Role::Mesh || proven),
    }
}

fuzz_target!(|octets: &[u8]| {
    read(octets);
    (0..3).for_each(|how| read(&announcement(how, octets)));
    let Some((&[first, second], mut data)) = octets.split_first_chunk() else {
        return;
    };
    let former = [Use::Lan, Use::Uplink, Use::Mesh, Use::None];
    let mut port = Port {
        device: "lan1".into(),
        former: former[usize::from(first & 3)],
        works: second & 0x80 != 0,
        administrator: first & 0x1c == 0x1c,
        own_dhcp: first & 0x20 != 0,
        secret: first & 0x40 != 0,
        probes: first & 0x80 != 0,
        held: Role::ALL.get(usize::from(second & 0x7f)).copied(),
        other_uplinks: vec![("wan1".into(), [2, 0, 0, 0, 0, 1])],
    };
    let mut cable = Cable::new(port.clone());
    let mut noted = PortSummary::default();
    let (mut now, mut up, mut looks, mut proven) = (0u64, false, 0, false);
    while let Some((&[what, how, time, length], rest)) = data.split_first_chunk() {
        let (part, rest) = rest.split_at(usize::from(length).min(rest.len()));
        data = rest;
        now += u64::from(time) * 50;
        match what % 8 {
            0 => {
                let comes = how & 1 != 0;
                if comes != up {
                    (noted, looks, proven) = (PortSummary::default(), 0, false);
                }
                up = comes;
                cable.link(up, now);
            }
            1..=3 => {
                let heard = &mut noted.sorts[usize::from(how) % FrameClass::ALL.len()];
                heard.frames = heard.frames.saturating_add(1);
                // The classifier's clock may be off.
                heard.last = now.wrapping_sub(u64::from(length));
                heard.from = [2, 0, 0, 0, 0, what >> 5];
                heard.vlan = (what & 16 != 0).then_some(u16::from(length));
                noted.stations = part.as_chunks().0.iter().copied().take(16).collect();
                noted.more_stations = how & 64 != 0;
                cable.noted(&noted, now);
            }
            4 => {
                let frame = announcement(how, part);
                match how % 3 {
                    0 => noted.lldp = frame,
                    1 => noted.cdp = frame,
                    _ => noted.mndp = frame,
                }
                cable.noted(&noted, now);
            }
            5 => cable.looked(&found(how, part), now),
            6 => {
                let text = String::from_utf8_lossy(part);
                proven |= how & 1 != 0 && how & 7 != 7 && up;
                cable.vxlan((how & 8 != 0).then_some(how.into()));
                cable.hello(
                    &Hello {
                        node: text.clone().into(),
                        mesh: text.clone().into(),
                        proof: match how & 7 {
                            7 => Proof::Own,
                            1 | 3 | 5 => Proof::Proven,
                            2 => Proof::Awaited,
                            _ => Proof::None,
                        },
                        port: text.into(),
                    },
                    now,
                );
            }
            _ => {
                port.administrator = how & 15 == 15;
                cable.facts(port.clone());
            }
        }
        let wants = cable.wants_look(now);
        assert!(!wants || (up && port.held.is_none() && !port.administrator));
        looks += u8::from(wants);
        assert!(looks <= 1);
        check(&cable.decision(now), &port, proven);
    }
});
