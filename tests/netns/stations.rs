//! Location of a station: an intruder behind another member of its bridge diverts no more packets
//! than with the kernel alone, and the station stays reachable.
//!
//! The client drives the streams, so that the test does not depend on the machine's speed: packets
//! to the client follow packets from it, which have taught the kernel's bridge its location.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use lab::frame::Mac;
use lab::gateway::{CLIENT, ROUTER_LAN, SERVER};
use lab::namespace::wait_until;
use lab::topology::{mac, text};
use lab::{Arrangement, Error, Lab, Options, Tap};
use weir_tests::scene::{Forwarder, WAYS, at_once, lab, weir};
use weir_tests::{LIMIT, Weir, hooked_at};

mod sources;
mod streams;

use streams::{BOTH, DOWN, Streams, UP, greet};

/// Frames that a stray frame may divert: those under way, and those before the kernel's bridge
/// learns again.
const PER_STRAY: u64 = 10;
/// No proof expires during a test, so events must end it.
const NO_REPROOF: &str = "[offload]\nreprove = \"10m\"\n";

/// A bridge with the client behind it, streams, and weir if it runs.
struct Scene {
    weir: Option<Weir>,
    streams: Streams,
    lab: Lab,
}

impl Scene {
    fn new(by: Forwarder, nat: bool, more: &str) -> Result<Self, Error> {
        let options = Options {
            arrangement: Arrangement::BRIDGE,
            nat,
            ..Options::default()
        };
        let lab = lab(by, &options)?;
        let weir = weir(by, &lab, more)?;
        let streams = Streams::start(&lab)?;
        let scene = Self { weir, streams, lab };
        scene.forwards()?;
        Ok(scene)
    }

    /// Waits until a running weir forwards all three streams in their directions.
    fn forwards(&self) -> Result<(), Error> {
        let Some(weir) = &self.weir else {
            return Ok(());
        };
        let counts = || -> Result<Vec<u64>, Error> {
            let mut counts = Vec::new();
            for (port, ways) in [
                (BOTH, [true, true]),
                (UP, [true, false]),
                (DOWN, [false, true]),
            ] {
                let flow = weir.flow_at(port)?;
                let way = |wanted: bool, packets: u64| if wanted { packets } else { u64::MAX };
                counts.push(flow.as_ref().map_or(0, |flow| {
                    let ways_of = &flow.directions;
                    way(ways[0], ways_of.original.packets).min(way(ways[1], ways_of.reply.packets))
                }));
            }
            Ok(counts)
        };
        let before = counts()?;
        wait_until("weir forwards all streams", LIMIT, || {
            let now = counts()?;
            Ok(now.iter().zip(&before).all(|(now, then)| *now > then + 20))
        })
        .map_err(|error| {
            Error::Unexpected(format!(
                "{error}: {:#?}; {:?}; {}",
                weir.flows(),
                self.streams.counts(),
                weir.log()
            ))
        })
    }

    /// Adds an intruder behind another member.
    fn stranger(&self, host: &str) -> Result<Stranger, Error> {
        Ok(Stranger(Tap::open(self.lab.node(host)?, "eth0")?))
    }
}

/// An intruder who claims other stations' addresses.
struct Stranger(Tap);

impl Stranger {
    /// Sends a frame of 60 bytes from this address.
    fn stray(&self, from: Mac) -> Result<(), Error> {
        let mut frame = [mac("router", "br0"), from].concat();
        frame.extend(0x88b5u16.to_be_bytes());
        frame.resize(60, 0);
        self.0.send(&frame)
    }

    /// Returns the frames to this address that arrive in this time.
    fn diverted(&mut self, to: Mac, time: Duration) -> Result<u64, Error> {
        let end = Instant::now() + time;
        let mut count = 0;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(count);
            }
            if let Some(frame) = self.0.receive(left)? {
                count += u64::from(frame.starts_with(&to));
            }
        }
    }
}

/// A frame with the client's address as source enters at another member now and then. Later another
/// station there has the client's address and sends, too. As with the kernel alone, each takes some
/// of the other's frames, and neither gets all.
#[test]
fn a_stray_frame_or_a_twin_takes_no_station_away() {
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, true, NO_REPROOF)?;
        let own = mac("client", "eth0");
        let mut stranger = scene.stranger("at-lan2")?;
        for stray in 0..4 {
            scene.forwards()?;
            let before = scene.streams.counts();
            stranger.stray(own)?;
            let diverted = stranger.diverted(own, Duration::from_millis(800))?;
            let after = scene.streams.counts();
            println!("{by:?}, stray {stray}: {diverted} diverted; {before:?} {after:?}");
            assert!(diverted <= PER_STRAY, "{by:?}, stray {stray}: {diverted}");
            scene.streams.live(&format!("stray {stray}"))?;
        }
        let (mut diverted, mut sent) = (0, 0);
        let end = Instant::now() + Duration::from_secs(3);
        while Instant::now() < end {
            stranger.stray(own)?;
            sent += 1;
            diverted += stranger.diverted(own, Duration::from_millis(20))?;
        }
        println!("{by:?}: {diverted} diverted by {sent} frames of a twin");
        assert!(diverted <= sent * PER_STRAY, "{by:?}: {diverted} by {sent}");
        scene.streams.live("the twin is silent")?;
        scene.forwards()
    });
}

/// The client moves behind another member; then an earlier frame arrives late at the old member.
#[test]
fn a_late_frame_takes_nobody_back() {
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, false, NO_REPROOF)?;
        let client = scene.lab.node("client")?;
        let own = mac("client", "eth0");
        scene.lab.node("at-lan3")?.run(&format!(
            "ip link set eth0 netns {} name eth1",
            client.name()
        ))?;
        client.ip(&format!(
            "addr flush dev eth0\nlink set eth0 address 02:00:00:00:99:99\n\
             link set eth1 address {}\nlink set eth1 up\naddr add {CLIENT}/24 dev eth1\n\
             route replace default via {ROUTER_LAN}\n",
            text(own)
        ))?;
        scene.streams.live("the client is elsewhere")?;
        let mut late = scene.stranger("client")?;
        for frame in 0..3 {
            scene.forwards()?;
            late.stray(own)?;
            let diverted = late.diverted(own, Duration::from_millis(500))?;
            println!("{by:?}, late frame {frame}: {diverted} diverted");
            assert!(diverted <= PER_STRAY, "{by:?}: {diverted}");
            scene.streams.live("a late frame")?;
        }
        Ok(())
    });
}

/// A bridge with a short ageing time keeps a station that sends all the time, although weir
/// forwards its frames: nothing is flooded.
#[test]
fn a_station_that_sends_is_not_forgotten() {
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, true, "")?;
        let router = scene.lab.node("router")?;
        router.run("ip link set br0 type bridge ageing_time 300")?;
        let mut other = scene.stranger("at-lan2")?;
        // Frames are flooded before weir knows that the bridge must forget sooner.
        other.diverted(mac("client", "eth0"), Duration::from_secs(1))?;
        let flooded = other.diverted(mac("client", "eth0"), Duration::from_secs(7))?;
        println!("{by:?}: {flooded} flooded");
        assert!(flooded <= PER_STRAY, "{by:?}: {flooded}");
        scene.forwards()
    });
}

/// An intruder claims the client's IP address; the client contradicts. The router believes the last
/// claim, as with the kernel alone.
#[test]
fn who_spoke_last_has_the_address() {
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, true, NO_REPROOF)?;
        let router = scene.lab.node("router")?;
        // The kernel ignores a second claim within this time.
        router.sysctl("net.ipv4.neigh.br0.locktime", 0)?;
        let (own, forged) = (mac("client", "eth0"), mac("at-lan2", "eth0"));
        let mut stranger = scene.stranger("at-lan2")?;
        let client = Stranger(Tap::open(scene.lab.node("client")?, "eth0")?);
        for round in 0..3 {
            scene.forwards()?;
            stranger.announces(forged, CLIENT)?;
            wait_until("he gets what is sent to the client", LIMIT, || {
                Ok(stranger.diverted(forged, Duration::from_millis(100))? > 0)
            })?;
            client.announces(own, CLIENT)?;
            // The change takes effect on frames in flight; after them nothing is diverted.
            stranger.diverted(forged, Duration::from_millis(500))?;
            let diverted = stranger.diverted(forged, Duration::from_millis(500))?;
            assert_eq!(diverted, 0, "{by:?}, round {round}");
            scene.streams.live("the client has said so")?;
        }
        Ok(())
    });
}

impl Stranger {
    /// Announces by a gratuitous ARP answer to all that this IP address is at this hardware
    /// address.
    fn announces(&self, at: Mac, address: IpAddr) -> Result<(), Error> {
        let IpAddr::V4(address) = address else {
            return Err(Error::Unexpected(format!("no ARP for {address}")));
        };
        let mut frame = [[0xff; 6], at].concat();
        // ARP, Ethernet, IPv4, their lengths, an answer.
        frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 2]);
        for part in [&at[..], &address.octets(), &[0xff; 6], &address.octets()] {
            frame.extend(part);
        }
        frame.resize(60, 0);
        self.0.send(&frame)
    }
}

/// Address of the station behind a member without weir.
const APART: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 77));

/// The bridge forgets a station behind a member without forwarding by weir, and floods. The station
/// still gets its frames, and others get these frames only briefly. `prepare` puts the station
/// behind such a member, and returns the member's name.
fn forgets(
    by: Forwarder,
    more: &str,
    prepare: impl Fn(&Lab) -> Result<&'static str, Error>,
) -> Result<(), Error> {
    let options = Options {
        arrangement: Arrangement::BRIDGE,
        nat: false,
        ..Options::default()
    };
    let lab = lab(by, &options)?;
    let (router, server) = (lab.node("router")?, lab.node("server")?);
    let member = prepare(&lab)?;
    let weir = match by {
        Forwarder::Kernel => None,
        Forwarder::Weir(hook) => {
            let config = format!("{NO_REPROOF}{more}{}", hooked_at(hook, &["lan1", "wan0"]));
            let weir = Weir::start(router, &config, &[])?;
            weir.wait_for_ports(2)?;
            Some(weir)
        }
    };
    let bind = |port: u16| {
        let socket = UdpSocket::bind(("0.0.0.0", port))?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        Ok::<_, std::io::Error>(socket)
    };
    let station = lab.node("at-lan2")?.enter(|| bind(BOTH))?;
    let station = station.map_err(Error::system("open the station's socket"))?;
    let source = server.enter(|| bind(BOTH))?;
    let source = source.map_err(Error::system("open the server's socket"))?;
    let to = greet(&station, &source, BOTH).map_err(Error::system("greet the server"))?;
    if let Some(weir) = &weir {
        weir.wait_for_known(1)?;
    }
    let mut bystander = Stranger(Tap::open(lab.node("client")?, "eth0")?);
    let own = mac("at-lan2", "eth0");
    let (mut arrived, mut misled) = (0, 0);
    for packet in 0..400 {
        if packet == 10 {
            router.run(&format!("ip link set {member} type bridge_slave fdb_flush"))?;
        }
        source
            .send_to(&[7; 200], to)
            .map_err(Error::system("send to the station"))?;
        // The answer comes late: several packets are flooded, as if there was one direction.
        if packet == 60 {
            let server = SocketAddr::new(SERVER, BOTH);
            station
                .send_to(b"here", server)
                .map_err(Error::system("answer"))?;
        }
        misled += bystander.diverted(own, Duration::from_millis(2))?;
        let last = packet == 399;
        station
            .set_nonblocking(!last)
            .map_err(Error::system("read from the station"))?;
        while station.recv(&mut [0; 2048]).is_ok() {
            arrived += 1;
        }
    }
    let ports = weir
        .as_ref()
        .and_then(|weir| weir.client().ok()?.ports().ok());
    println!("{by:?}: {arrived} of 400 arrived, {misled} elsewhere");
    assert_eq!(arrived, 400, "{by:?}; {ports:#?}");
    assert!(misled <= 60, "{by:?}: {misled}; {ports:#?}");
    Ok(())
}

#[test]
fn a_station_behind_a_member_that_is_off_gets_what_is_sent_to_it() {
    let off = "[ports.lan2]\nhook = \"off\"\n[ports.lan3]\nhook = \"off\"\n";
    at_once(&WAYS, |by| {
        forgets(by, off, |lab| {
            let station = lab.node("at-lan2")?;
            station.ip(&format!(
                "link set eth0 address {}\nlink set eth0 up\naddr add {APART}/24 dev eth0\n\
                 route add default via {ROUTER_LAN}\n",
                text(mac("at-lan2", "eth0"))
            ))?;
            Ok("lan2")
        })
    });
}

/// Tests a station behind a tunnel, which weir cannot use as a port: weir checks frames there.
#[test]
fn a_station_behind_a_tunnel_in_the_bridge_gets_what_is_sent_to_it() {
    at_once(&WAYS, |by| {
        forgets(by, "", |lab| {
            let (router, station) = (lab.node("router")?, lab.node("at-lan2")?);
            let tunnel = |local: u8, remote: u8| {
                format!(
                    "type vxlan id 5 dstport 4789 local 172.16.0.{local} remote 172.16.0.{remote}"
                )
            };
            router.ip(&format!(
                "link set lan3 nomaster\nlink set lan2 nomaster\naddr add 172.16.0.1/24 dev lan2\n\
                 link add vxlan0 {}\nlink set vxlan0 master br0\nlink set vxlan0 up\n",
                tunnel(1, 2)
            ))?;
            station.ip(&format!(
                "link set eth0 up\naddr add 172.16.0.2/24 dev eth0\nlink add vxlan0 address {} {}\n\
                 link set vxlan0 up\naddr add {APART}/24 dev vxlan0\nroute add default via \
                 {ROUTER_LAN}\n",
                text(mac("at-lan2", "eth0")),
                tunnel(2, 1)
            ))?;
            station.ip("link set eth0 address 02:00:00:00:77:77\n")?;
            Ok("vxlan0")
        })
    });
}
