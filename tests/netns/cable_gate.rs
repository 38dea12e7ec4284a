//! The classifier of cables at a member of a bridge. A shut gate blocks all but weir's own frames,
//! a guarded port keeps foreign servers out, and frames are classified as on a wire. The classifier
//! leaves nothing behind.

#[allow(dead_code, reason = "weir setup detect needs the rest of it")]
use crate::detect::scene;

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use answers::SetupUplink;
use datapath::cable::{Cables, Gate, PortRecord};
use lab::frame::Mac;
use lab::{Error, Lab, Offloads, Tap};
use scene::{ROUTER, Scene, WAN};
use weir_tests::binary;

const STATION: Mac = [2, 0, 0, 0, 0, 7];
const OTHER: Mac = [2, 0, 0, 0, 0, 8];
/// Indices of frame kinds (`cables::FrameClass`).
const PADI: usize = 3;
const LLDP: usize = 9;
const ELSE: usize = 18;
/// Within this limit frames under way arrive.
const LIMIT: Duration = Duration::from_secs(60);

fn failed(error: impl std::fmt::Display) -> Error {
    let said = datapath::libbpf_log::last();
    Error::Unexpected(format!("{error}: {said:#?}"))
}

/// Builds a broadcast frame with a number.
fn frame(from: Mac, number: u8) -> Vec<u8> {
    let mut frame = [[0xff; 6], from].concat();
    frame.extend_from_slice(&[0x99, 0x99, number]);
    frame.resize(60, 0);
    frame
}

/// Builds messages of servers: a lease, an advertisement, a lease with a tag.
fn servers(from: Mac) -> [Vec<u8>; 3] {
    let ends = [[0xff; 6], from].concat();
    let mut lease = vec![8, 0, 0x45, 0, 0, 33, 0, 0, 0, 0, 64, 17, 0xb8, 0xcb];
    lease.extend([192, 0, 2, 1, 255, 255, 255, 255]);
    lease.extend([0, 67, 0, 68, 0, 13, 0, 0, 2, 1, 6, 0, 0]);
    let mut advertisement = vec![0x86, 0xdd, 0x60, 0, 0, 0, 0, 16, 58, 255];
    advertisement.resize(advertisement.len() + 32, 0xfe);
    advertisement.extend([134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    // A priority tag: the kernel removes it before the classifier, and hosts do too.
    let tagged = [&[0x81, 0, 0xe0, 0], &lease[..]].concat();
    [lease, advertisement, tagged].map(|rest| [&ends[..], &rest].concat())
}

/// Returns the numbers of arriving frames up to `last`; 99 for messages of servers.
fn until(tap: &mut Tap, last: u8) -> Result<Vec<u8>, Error> {
    let mut numbers = Vec::new();
    loop {
        let Some(frame) = tap.receive(LIMIT)? else {
            let name = tap.name();
            return Err(Error::Unexpected(format!("{last} is missing at {name}")));
        };
        // The tag is not part of the received bytes.
        let is = |servers: [Vec<u8>; 3]| servers.iter().any(|it| frame.starts_with(it));
        if is(servers(STATION)) || is(servers(OTHER)) {
            numbers.push(99);
        }
        if frame[12..14] == [0x99, 0x99] {
            numbers.push(frame[14]);
            if frame[14] == last {
                return Ok(numbers);
            }
        }
    }
}

/// Packet sockets at the hosts and at the watched port.
struct Taps {
    station: Tap,
    other: Tap,
    port: Tap,
    /// Index of the port.
    link: u32,
}

impl Taps {
    /// Builds two hosts, and a bridging router between them.
    fn open(lab: &mut Lab) -> Result<Self, Error> {
        for host in ["station", "other"] {
            lab.host(host)?;
        }
        lab.router("router")?;
        lab.wire(("router", "port0"), ("station", "eth0"), Offloads::Plain)?;
        lab.wire(("router", "port1"), ("other", "eth0"), Offloads::Plain)?;
        lab.node("router")?
            .ip("link add br0 type bridge mcast_snooping 0
             link set port0 master br0
             link set port1 master br0
             link set br0 up")?;
        Ok(Self {
            station: Tap::open(lab.node("station")?, "eth0")?,
            other: Tap::open(lab.node("other")?, "eth0")?,
            port: Tap::open(lab.node("router")?, "port0")?,
            link: lab.index("router", "port0")?,
        })
    }

    /// Sends a frame of this number each way; returns the numbers that arrive at either end.
    fn both_ways(&mut self, number: u8) -> Result<[Vec<u8>; 2], Error> {
        self.station.send(&frame(STATION, number))?;
        self.other.send(&frame(OTHER, number))?;
        let there = until(&mut self.other, number)?;
        Ok([there, until(&mut self.station, number)?])
    }

    fn read(&self, cables: &Cables) -> Result<PortRecord, Error> {
        let record = cables.read(self.link);
        record.ok_or_else(|| Error::Unexpected("port0 is not watched".into()))
    }

    fn what_comes_in_is_told_apart(&mut self, cables: &mut Cables) -> Result<(), Error> {
        let mut padi = [[0xff; 6], STATION].concat();
        // The kernel removes the tag before.
        padi.extend_from_slice(&[0x81, 0, 0, 7, 0x88, 0x63, 0x11, 9]);
        padi.resize(60, 0);
        let mut lldp = [[0x01, 0x80, 0xc2, 0, 0, 0x0e], STATION].concat();
        lldp.extend_from_slice(&[0x88, 0xcc, 2, 7, 4]);
        lldp.resize(200, 3);
        cables.refresh();
        self.station.send(&padi)?;
        self.station.send(&lldp)?;
        assert_eq!(self.both_ways(1)?, [[1], [1]]);
        let noted = self.read(cables)?;
        assert_eq!(noted.sorts.map(|sort| sort.frames).iter().sum::<u32>(), 3);
        assert_eq!(noted.sorts[PADI].frames, 1);
        assert_eq!(noted.sorts[PADI].vlan, Some(7));
        assert_eq!(noted.sorts[LLDP].frames, 1);
        assert_eq!(noted.sorts[ELSE].frames, 1, "what leaves is not noted");
        assert!(
            noted
                .sorts
                .iter()
                .all(|sort| sort.from == STATION || sort.frames == 0)
        );
        assert_eq!(
            (noted.lldp, noted.vlans, noted.stations),
            (lldp, vec![7], vec![STATION])
        );
        Ok(())
    }

    fn nothing_crosses_a_shut_gate(&mut self, cables: &mut Cables) -> Result<(), Error> {
        self.port.drain(Duration::ZERO)?;
        cables.gate(self.link, Gate::Shut);
        for _ in 0..5 {
            cables.refresh();
            self.station.send(&frame(STATION, 2))?;
            cables.refresh();
            self.other.send(&frame(OTHER, 2))?;
        }
        // The gate blocks ordinary packet sockets but not weir's own; both receive.
        cables.refresh();
        assert!(!self.port.offer(&frame(OTHER, 3))?);
        self.port.past_queues()?;
        self.port.send(&frame(OTHER, 4))?;
        assert_eq!(until(&mut self.station, 4)?, [4]);
        let heard = self.port.drain(Duration::ZERO)?;
        assert_eq!(heard, vec![frame(STATION, 2); 5]);
        let noted = self.read(cables)?;
        assert_eq!((noted.dropped_in, noted.dropped_out), (5, 6));
        assert_eq!(noted.sorts[ELSE].frames, 6, "noted all the same");

        cables.gate(self.link, Gate::Note);
        assert_eq!(self.both_ways(5)?, [[5], [5]]);
        Ok(())
    }

    fn no_server_comes_in_at_a_guarded_port(&mut self, cables: &mut Cables) -> Result<(), Error> {
        let before = self.read(cables)?;
        for (gate, there) in [(Gate::Note, vec![99, 99, 99, 7]), (Gate::Guard, vec![7])] {
            cables.gate(self.link, gate);
            for frame in servers(STATION) {
                self.station.send(&frame)?;
            }
            cables.refresh();
            self.station.send(&frame(STATION, 7))?;
            assert_eq!(until(&mut self.other, 7)?, there, "{gate:?}");
        }
        // Messages of this router, and of servers behind it, leave.
        cables.refresh();
        for frame in servers(OTHER) {
            self.other.send(&frame)?;
        }
        self.other.send(&frame(OTHER, 8))?;
        assert_eq!(until(&mut self.station, 8)?, [99, 99, 99, 8]);
        let noted = self.read(cables)?;
        let dropped = (
            noted.dropped_in - before.dropped_in,
            noted.dropped_out - before.dropped_out,
        );
        assert_eq!(dropped, (3, 0));
        cables.gate(self.link, Gate::Note);
        Ok(())
    }
}

#[test]
fn nothing_crosses_a_shut_gate_but_what_weir_sends_itself() -> Result<(), Error> {
    let mut lab = Lab::new();
    let mut taps = Taps::open(&mut lab)?;
    lab.node("router")?.enter(|| {
        let mut cables = Cables::load().map_err(failed)?;
        cables.watch(taps.link, "port0").map_err(failed)?;
        taps.what_comes_in_is_told_apart(&mut cables)?;
        taps.nothing_crosses_a_shut_gate(&mut cables)?;
        taps.no_server_comes_in_at_a_guarded_port(&mut cables)?;
        cables.gate(taps.link, Gate::Shut);
        drop(cables);
        assert_eq!(taps.both_ways(6)?, [[6], [6]], "it is gone");
        Ok(())
    })?
}

/// While the gate is shut the kernel sends nothing, and weir still finds the server.
#[test]
fn weir_asks_and_is_answered_while_the_gate_is_shut() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &["192.0.2.1/24"])?;
    scene.dhcp("isp", &[])?;
    let link = scene.lab.index(ROUTER, WAN)?;
    let (output, record) = scene.lab.node(ROUTER)?.enter(|| {
        let mut cables = Cables::load().map_err(failed)?;
        cables.watch(link, WAN).map_err(failed)?;
        cables.gate(link, Gate::Shut);
        let mut look = Command::new(binary());
        look.args(["setup", "detect", WAN, "--json", "--lan", "192.168.1.0/24"]);
        let output = std::thread::scope(|scope| {
            let look = scope.spawn(move || look.output());
            while !look.is_finished() {
                cables.refresh();
                sleep(Duration::from_millis(100));
            }
            look.join()
        });
        let record = cables.read(link).unwrap_or_default();
        Ok::<_, Error>((output, record))
    })??;
    let output = output.map_err(|_| Error::Unexpected("weir was not run".into()))?;
    let output = output.map_err(Error::system("run weir"))?;
    let found: SetupUplink = serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::Unexpected(format!("{error}: {output:?}")))?;
    let word = serde_json::to_value(found.suggestion.internet).ok();
    assert_eq!(word, Some("dhcp".into()), "{found:#?}");
    assert!(record.dropped_in > 0, "the gate was shut: {record:?}");
    Ok(())
}
