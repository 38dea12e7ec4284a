//! Tests of arrangements, of rules that hold for any evidence, and of time.

mod arrangements;
mod own;
mod place;
mod readers;
mod rules;
mod time;
mod ways;

use detect::{Details, Internet, Mac, Suggestion};

use crate::{Cable, Decision, FrameClass, Hello, Port, PortSummary, Proof, Role, Use};

/// Station number so and so.
pub fn mac(number: u8) -> Mac {
    [2, 0, 0, 0, 0, number]
}

/// A port, as most are.
pub fn port(former: Use) -> Port {
    Port {
        probes: true,
        device: "lan1".into(),
        former,
        works: false,
        administrator: false,
        own_dhcp: former == Use::Lan,
        secret: false,
        held: None,
        other_uplinks: Vec::new(),
    }
}

/// Adds a frame.
pub fn frame(noted: &mut PortSummary, sort: FrameClass, from: Mac, now: u64, vlan: Option<u16>) {
    let heard = &mut noted.sorts[sort as usize];
    (heard.frames, heard.last) = (heard.frames + 1, now);
    (heard.from, heard.vlan) = (from, vlan);
    if sort != FrameClass::Own && !noted.stations.contains(&from) && noted.stations.len() < 16 {
        noted.stations.push(from);
    }
}

/// Makes the result of a probe.
pub fn look(internet: Internet, gateway: bool) -> Suggestion {
    Suggestion {
        internet,
        vlan: None,
        details: Details {
            gateway: gateway.then(|| "192.0.2.1".into()),
            servers: vec!["192.0.2.1".into()],
            ..Details::default()
        },
        lan: None,
        why: Vec::new(),
        confident: true,
        open_questions: Vec::new(),
    }
}

/// A hello of another node.
pub fn hello(proven: bool) -> Hello {
    Hello {
        node: "north".into(),
        mesh: "valley".into(),
        proof: match proven {
            true => Proof::Proven,
            false => Proof::None,
        },
        port: "lan2".into(),
    }
}

/// Makes an LLDP frame: a description and the enabled capabilities.
pub fn lldp(description: &str, enabled: u16) -> Vec<u8> {
    let mut frame = [&[1, 0x80, 0xc2, 0, 0, 0x0e][..], &mac(9), &[0x88, 0xcc]].concat();
    let mut element = |kind: u16, value: &[u8]| {
        frame.extend((kind << 9 | value.len() as u16).to_be_bytes());
        frame.extend(value);
    };
    element(1, &[&[4][..], &mac(9)].concat());
    element(2, b"\x05eth0");
    element(3, &[0, 120]);
    element(5, b"a name");
    element(6, description.as_bytes());
    element(7, &[&[0, 0xff][..], &enabled.to_be_bytes()].concat());
    element(8, &[5, 1, 192, 0, 2, 7, 2, 0, 0, 0, 1, 0]);
    element(0, &[]);
    frame
}

/// A cable whose link came at 1000, and its record.
pub struct Scene {
    pub cable: Cable,
    pub noted: PortSummary,
    pub now: u64,
}

impl Scene {
    pub fn of(port: Port) -> Self {
        let mut cable = Cable::new(port);
        cable.link(true, 1000);
        let noted = PortSummary::default();
        Self {
            cable,
            noted,
            now: 1000,
        }
    }

    pub fn new(former: Use) -> Self {
        Self::of(port(former))
    }

    pub fn hear(mut self, sort: FrameClass, from: u8) -> Self {
        frame(&mut self.noted, sort, mac(from), self.now, None);
        self.cable.noted(&self.noted, self.now);
        self
    }

    /// Own frames, as many as make a loop.
    pub fn loops(self) -> Self {
        (0..3).fold(self, |scene, _| scene.hear(FrameClass::Own, 0))
    }

    pub fn tagged(mut self, sort: FrameClass, from: u8, vlan: u16) -> Self {
        frame(&mut self.noted, sort, mac(from), self.now, Some(vlan));
        self.cable.noted(&self.noted, self.now);
        self
    }

    pub fn announced(mut self, description: &str, enabled: u16) -> Self {
        self.noted.lldp = lldp(description, enabled);
        self.hear(FrameClass::Lldp, 9)
    }

    pub fn looks(mut self, internet: Internet, gateway: bool) -> Self {
        self = self.passes(2000);
        assert!(self.cable.wants_look(self.now), "no look is wanted");
        self = self.passes(2000);
        self.cable.looked(&look(internet, gateway), self.now);
        self
    }

    pub fn greets(mut self, proven: bool) -> Self {
        self.cable.hello(&hello(proven), self.now);
        self
    }

    /// Lets time pass, with ten evaluations a second.
    pub fn passes(mut self, time: u64) -> Self {
        for _ in 0..time / 100 {
            self.now += 100;
            self.cable.decision(self.now);
        }
        self
    }

    pub fn says(&mut self) -> Decision {
        self.cable.decision(self.now)
    }

    pub fn role(&mut self) -> Role {
        self.says().role
    }
}
