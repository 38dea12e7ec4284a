//! Traffic made of frames: identical bytes in each run.

use std::net::IpAddr;
use std::thread::sleep;
use std::time::Duration;

use lab::frame::{Body, Packet, Tcp, flag};
use lab::gateway::{CLIENT, CLIENT6, SERVER, SERVER6};
use lab::generate::Side;
use lab::{Error, Lab, Tap};

/// Ports at the server.
pub const WEB: u16 = 80;
pub const DATAGRAMS: u16 = 5000;
/// Port of datagrams in fragments.
pub const FRAGMENTED: u16 = 5001;
/// Port of datagrams in frames padded to Ethernet's minimum.
pub const PADDED: u16 = 5002;
/// Port of datagrams behind an IPv6 extension header, or with an IPv4 option.
pub const EXTENDED: u16 = 5003;
/// First port of the client.
pub const CLIENTS: u16 = 40_000;
pub const ICMP: u8 = 1;
pub const UDP: u8 = 17;
pub const IPV6_FRAGMENT: u8 = 44;
pub const GRE: u8 = 47;
pub const ICMP6: u8 = 58;
pub const IPV6_OPTIONS: u8 = 60;

/// The ends of both wires, as hosts without a stack.
pub struct Ends {
    client: Tap,
    server: Tap,
}

/// Returns the addresses of client and server.
fn addresses(ipv6: bool) -> (IpAddr, IpAddr) {
    match ipv6 {
        true => (CLIENT6, SERVER6),
        false => (CLIENT, SERVER),
    }
}

fn packet(side: Side, ipv6: bool, body: Body) -> Packet {
    let (client, server) = addresses(ipv6);
    let (from, to) = match side {
        Side::Client => (client, server),
        Side::Server => (server, client),
    };
    Packet::new((side.host_mac(), from), (side.router_mac(), to), body)
}

fn datagram(side: Side, ipv6: bool, far: u16, length: usize) -> Packet {
    let (from, to) = match side {
        Side::Client => (CLIENTS, far),
        Side::Server => (far, CLIENTS),
    };
    packet(side, ipv6, Body::Udp(from, to, vec![b'w'; length]))
}

impl Ends {
    pub fn of(lab: &Lab) -> Result<Self, Error> {
        Ok(Self {
            client: Tap::open(lab.node("client")?, "eth0")?,
            server: Tap::open(lab.node("server")?, "eth0")?,
        })
    }

    fn send(&self, side: Side, frame: &[u8]) -> Result<(), Error> {
        match side {
            Side::Client => self.client.send(frame),
            Side::Server => self.server.send(frame),
        }
    }

    /// Sends all kinds of traffic but TCP, as question and answer.
    pub fn mixture(&self) -> Result<(), Error> {
        for ipv6 in [false, true] {
            for (number, side) in [Side::Client, Side::Server].into_iter().enumerate() {
                for length in [1, 99, 1300, 1472 - 20 * usize::from(ipv6)] {
                    self.send(side, &datagram(side, ipv6, DATAGRAMS, length).bytes())?;
                }
                let mut padded = datagram(side, ipv6, PADDED, 3);
                padded.lies.pad_to = 120;
                self.send(side, &padded.bytes())?;
                // Larger than the MTU: reassembled, the packet would leave the router as a whole.
                for fragment in datagram(side, ipv6, FRAGMENTED, 2000).fragments(1200) {
                    self.send(side, &fragment)?;
                }
                let mut extended = datagram(side, ipv6, EXTENDED, 200);
                match ipv6 {
                    // PadN: six zero bytes.
                    true => {
                        extended.extensions = vec![(IPV6_OPTIONS, vec![0, 0, 1, 4, 0, 0, 0, 0])]
                    }
                    // Four no-operation options.
                    false => extended.options = vec![1; 4],
                }
                self.send(side, &extended.bytes())?;
                let kind = [[8, 0], [128, 129]][usize::from(ipv6)][number];
                let echo = Body::Icmp(kind, 0, 0x0007_0001, vec![b'w'; 56]);
                self.send(side, &packet(side, ipv6, echo).bytes())?;
                // The inner packet is Ethernet with an unknown type, not IP.
                let inner = [&[0, 0, 0x88, 0xb5][..], &[b'w'; 60]].concat();
                self.send(side, &packet(side, ipv6, Body::Raw(GRE, inner)).bytes())?;
            }
        }
        Ok(())
    }
}

/// A TCP connection whose ends answer on request.
pub struct Connection {
    ipv6: bool,
    /// The client's port.
    pub port: u16,
    /// Sequence numbers: the client's, the server's.
    next: [u32; 2],
}

impl Connection {
    pub fn new(port: u16, ipv6: bool) -> Self {
        let start = u32::from(port) * 10_000;
        Self {
            ipv6,
            port,
            next: [start, start + 5_000],
        }
    }

    fn segment(&mut self, side: Side, flags: u16, payload: usize) -> Vec<u8> {
        let own = usize::from(side == Side::Server);
        let ports = [self.port, WEB];
        let acknowledgement = match flags & flag::ACK {
            0 => 0,
            _ => self.next[1 - own],
        };
        let tcp = Tcp {
            from: ports[own],
            to: ports[1 - own],
            sequence: self.next[own],
            acknowledgement,
            flags,
            window: 65_000,
            payload: vec![b'w'; payload],
            ..Tcp::default()
        };
        self.next[own] += payload as u32 + u32::from(flags & flag::SYN != 0);
        packet(side, self.ipv6, Body::Tcp(tcp)).bytes()
    }
}

/// Connections that act in parallel.
pub struct Connections<'a> {
    pub ends: &'a Ends,
    pub all: Vec<Connection>,
}

impl Connections<'_> {
    fn each(&mut self, side: Side, flags: u16, payload: usize) -> Result<(), Error> {
        for connection in &mut self.all {
            let frame = connection.segment(side, flags, payload);
            self.ends.send(side, &frame)?;
        }
        Ok(())
    }

    /// Sends SYN, SYN-ACK, ACK, with these waits at the server and at the client.
    pub fn open(&mut self, server: Duration, client: Duration) -> Result<(), Error> {
        self.each(Side::Client, flag::SYN, 0)?;
        sleep(server);
        self.each(Side::Server, flag::SYN | flag::ACK, 0)?;
        sleep(client);
        self.each(Side::Client, flag::ACK, 0)
    }

    /// Sends data from one side, acknowledged by the other after `wait`. A silence follows: weir
    /// times a segment every 16 jiffies at most, up to 160 ms.
    pub fn say(&mut self, side: Side, wait: Duration) -> Result<(), Error> {
        self.each(side, flag::PSH | flag::ACK, 700)?;
        sleep(wait);
        self.each(side.other(), flag::ACK, 0)?;
        sleep(Duration::from_millis(400));
        Ok(())
    }
}
