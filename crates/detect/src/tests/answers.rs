//! Simulated servers and routers according to the standards.

use crate::frame::{self, Frame, Mac, ethernet};
use crate::{Detection, Evidence, Options, Suggestion};

pub const MAC: Mac = [2, 0, 0, 0, 0, 1];
pub const SERVER: Mac = [2, 0, 0, 0, 0, 2];

/// DHCP options and the offered address.
pub type Offered = (Vec<u8>, [u8; 4]);

pub fn option4(options: &[(u8, &[u8])]) -> Vec<u8> {
    let mut all = vec![53, 1, 2];
    let server = options.iter().any(|(number, _)| *number == 54);
    if !server {
        all.extend([54, 4, 192, 0, 2, 1]);
    }
    for (number, value) in options {
        all.extend([*number, value.len() as u8]);
        all.extend(*value);
    }
    all.push(255);
    all
}

pub fn offer(address: [u8; 4], options: &[(u8, &[u8])]) -> Offered {
    (option4(options), address)
}

/// Returns tags of a PADO, without the number of the PADI.
pub fn pado(name: &str, services: &[&str]) -> Vec<u8> {
    let mut tags = vec![1, 2, 0, name.len() as u8];
    tags.extend(name.bytes());
    for service in services {
        tags.extend([1, 1, 0, service.len() as u8]);
        tags.extend(service.bytes());
    }
    tags
}

/// Returns a router advertisement from behind the checksum on.
pub fn advertisement(lifetime: u16, flags: u8, options: &[&[u8]]) -> Vec<u8> {
    let mut body = vec![64, flags];
    body.extend(lifetime.to_be_bytes());
    body.extend([0; 8]);
    body.extend(options.concat());
    body
}

/// Returns a prefix option of a router advertisement.
pub fn prefix(first: [u8; 4], length: u8) -> Vec<u8> {
    let mut option = vec![3, 4, length, 0xc0];
    option.extend([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    option.extend(first);
    option.resize(32, 0);
    option
}

/// Returns options of an ADVERTISE, with a prefix of this length or none.
pub fn advertise(length: Option<u8>, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut add = |number: u16, value: &[u8]| {
        all.extend(number.to_be_bytes());
        all.extend((value.len() as u16).to_be_bytes());
        all.extend(value);
    };
    add(1, &[&[0, 3, 0, 1][..], &MAC].concat());
    add(2, &[0, 3, 0, 1, 2, 0, 0, 0, 0, 2]);
    let mut association = vec![0; 12];
    match length {
        Some(length) => {
            association.extend([0, 26, 0, 25]);
            association.extend([0, 0, 1, 0, 0, 0, 1, 0, length]);
            association.extend([0x20, 1, 0xd, 0xb8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        None => association.extend([0, 13, 0, 6, 0, 6, b'n', b'o', b'n', b'e']),
    }
    add(25, &association);
    for (number, value) in options {
        add(*number, value);
    }
    all
}

/// Returns an ARP request.
pub fn arp(sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let mac = [2, 0, 0, 0, 1, sender[3]];
    let mut message = vec![0, 1, 8, 0, 6, 4, 0, 1];
    message.extend(mac);
    message.extend(sender);
    message.extend([0; 6]);
    message.extend(target);
    ethernet(frame::EVERYBODY, mac, None, frame::ARP, &message)
}

/// A simulated wire, and the detection on it.
pub struct Wire {
    pub detection: Detection,
    pub sent: Vec<Vec<u8>>,
    evidence: Vec<Evidence>,
    now: u64,
}

impl Wire {
    pub fn new(options: Options) -> Self {
        let mut wire = Self {
            detection: Detection::new(options),
            sent: Vec::new(),
            evidence: Vec::new(),
            now: 0,
        };
        wire.detection.link(true, 0);
        wire.pass(600);
        wire
    }

    /// Advances the time to this moment.
    pub fn pass(&mut self, until: u64) {
        while self.now < until {
            self.sent.extend(self.detection.passed(self.now));
            self.now += 5;
        }
    }

    pub fn hear(&mut self, frame: &[u8]) {
        self.detection.receive(frame, self.now);
        self.evidence.extend(self.detection.take_evidence());
    }

    /// Ends the detection; returns the suggestion and the evidence.
    pub fn end(mut self) -> (Suggestion, Vec<Evidence>) {
        self.pass(5000);
        self.evidence.extend(self.detection.take_evidence());
        (self.detection.suggestion(), self.evidence)
    }

    /// Sends all own frames back.
    pub fn reflect(&mut self) {
        for frame in self
            .sent
            .clone()
            .iter()
            .filter(|frame| frame[12..14] != [0x81, 0])
        {
            self.hear(frame);
        }
    }

    /// Returns the content of a probe of this kind in that VLAN, behind its Ethernet header.
    fn question(&self, vlan: Option<u16>, kind: u16, protocol: Option<u8>) -> Vec<u8> {
        let frames = self.sent.iter().filter_map(|frame| Frame::read(frame));
        let mut asked = frames.filter(|frame| {
            (frame.vlan, frame.kind) == (vlan, kind)
                && protocol.is_none_or(|protocol| frame.payload[6] == protocol)
        });
        asked.next().expect("it was asked").payload.to_vec()
    }

    pub fn offer_frame(&self, vlan: Option<u16>, offered: &Offered, number: u32) -> Vec<u8> {
        let mut message = vec![2, 1, 6, 0];
        message.extend(number.to_be_bytes());
        message.extend([0; 8]);
        message.extend(offered.1);
        message.extend([0; 8]);
        message.extend(MAC);
        message.resize(236, 0);
        message.extend([99, 130, 83, 99]);
        message.extend(&offered.0);
        let packet = frame::broadcast4(67, 68, &message);
        ethernet(frame::EVERYBODY, SERVER, vlan, frame::IPV4, &packet)
    }

    pub fn dhcp(&mut self, vlan: Option<u16>, offers: &[Offered]) {
        let asked = self.question(vlan, frame::IPV4, None);
        let number = u32::from_be_bytes(asked[32..36].try_into().expect("four"));
        for (which, offered) in offers.iter().enumerate() {
            let mut answer = self.offer_frame(vlan, offered, number);
            answer[11] += which as u8;
            self.hear(&answer);
            self.hear(&answer);
        }
    }

    pub fn pado_frame(&self, vlan: Option<u16>, tags: &[u8]) -> Vec<u8> {
        let asked = self.question(vlan, frame::PPPOE, None);
        let tags = [tags, &asked[10..18]].concat();
        let mut message = vec![0x11, 7, 0, 0, 0, tags.len() as u8];
        message.extend(tags);
        ethernet(MAC, SERVER, vlan, frame::PPPOE, &message)
    }

    pub fn pppoe(&mut self, vlan: Option<u16>, tags: &[u8]) {
        self.hear(&self.pado_frame(vlan, tags));
    }

    /// Returns the number of the untagged probe.
    pub fn number(&self) -> u32 {
        let asked = self.question(None, frame::IPV4, None);
        u32::from_be_bytes(asked[32..36].try_into().expect("four"))
    }

    pub fn router_frame(&self, vlan: Option<u16>, body: &[u8]) -> Vec<u8> {
        let from = frame::link_local(SERVER);
        let packet = frame::icmpv6(from, from, 134, body);
        ethernet(MAC, SERVER, vlan, frame::IPV6, &packet)
    }

    pub fn router(&mut self, vlan: Option<u16>, body: &[u8]) {
        self.hear(&self.router_frame(vlan, body));
    }

    pub fn dhcp6_frame(&self, vlan: Option<u16>, options: &[u8]) -> Vec<u8> {
        let asked = self.question(vlan, frame::IPV6, Some(17));
        let message = [&[2][..], &asked[49..52], options].concat();
        let (from, to) = (frame::link_local(SERVER), frame::link_local(MAC));
        let packet = frame::datagram6(from, to, (50_155, 546), &message);
        ethernet(MAC, SERVER, vlan, frame::IPV6, &packet)
    }

    pub fn dhcp6(&mut self, vlan: Option<u16>, options: &[u8]) {
        self.hear(&self.dhcp6_frame(vlan, options));
    }
}
