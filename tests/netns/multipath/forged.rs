//! Forged source addresses and forged ICMP errors.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use lab::Error;
use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER, SERVER6, Uplinks};
use nix::sys::signal::Signal;
use socket2::{Domain, Protocol, Socket, Type};
use weir_tests::LIMIT;
use weir_tests::partner::{Pair, Partner};

use crate::multipath::lock::{build, tell};
use crate::multipath::{SECOND, at, ms};

/// Addresses that no host of the lab has; a client takes them.
const FORGED: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 77);
const FORGED6: &str = "2001:db8:f::77";

/// Builds an IPv4 packet; the kernel fills in checksum and length.
fn packet(protocol: u8, from: Ipv4Addr, to: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0];
    octets.extend(from.octets());
    octets.extend(to.octets());
    octets.extend(payload);
    octets
}

/// Builds a TCP segment without a connection: a pure ACK with a secret as payload.
fn acknowledgement(from: Ipv4Addr, to: Ipv4Addr, port: u16) -> Vec<u8> {
    let mut tcp = vec![0x9c, 0x40];
    tcp.extend(port.to_be_bytes());
    tcp.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.extend(b"a secret of a client");
    let length = (tcp.len() as u16).to_be_bytes();
    let mut pseudo = [from.octets(), to.octets()].concat();
    pseudo.extend([0, 6]);
    pseudo.extend(length);
    pseudo.extend(&tcp);
    let sum = net::checksum::checksum(0, &pseudo).to_be_bytes();
    tcp[16..18].copy_from_slice(&sum);
    packet(6, from, to, &tcp)
}

fn send(octets: &[u8], to: Ipv4Addr) -> io::Result<()> {
    let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255)))?;
    raw.send_to(octets, &SocketAddr::new(to.into(), 0).into())
        .map(drop)
}

fn ipv4(address: IpAddr) -> Ipv4Addr {
    match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => unreachable!("one of IPv4"),
    }
}

/// Counts packets that leave to the forged addresses or from them.
fn count(uplinks: &Uplinks) -> Result<(), Error> {
    for path in 0..uplinks.paths() {
        uplinks.provider(path).nft(&format!(
            "table inet forged {{ chain c {{ type filter hook prerouting priority -300;
            iifname \"home\" ip daddr {FORGED} counter\n iifname \"home\" ip saddr {FORGED} counter
            iifname \"home\" ip6 daddr {FORGED6} counter\n iifname \"home\" ip6 saddr {FORGED6} \
                counter\n }}\n }}\n"
        ))?;
    }
    Ok(())
}

fn counted(uplinks: &Uplinks) -> Result<u64, Error> {
    let mut all = 0;
    for path in 0..uplinks.paths() {
        let told = uplinks.provider(path).run("nft list table inet forged")?;
        let numbers = told.split("counter packets ").skip(1);
        let numbers = numbers.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok());
        all += numbers.sum::<u64>();
    }
    Ok(all)
}

/// Sends datagrams, SYNs and stray segments from the forged addresses.
fn forge(uplinks: &Uplinks) -> Result<(), Error> {
    let all = || -> io::Result<()> {
        let six: IpAddr = FORGED6.parse().expect("an address");
        for (own, to) in [(IpAddr::from(FORGED), SERVER), (six, SERVER6)] {
            let to = SocketAddr::new(to, 5009);
            UdpSocket::bind((own, 0))?.send_to(b"a secret of a client", to)?;
            let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
            socket.set_nonblocking(true)?;
            socket.bind(&SocketAddr::new(own, 0).into())?;
            let _ = socket.connect(&to.into());
            std::thread::sleep(ms(50));
        }
        let to = ipv4(SERVER);
        send(&acknowledgement(FORGED, to, 5009), to)
    };
    let sent = uplinks.client().enter(all)?;
    sent.map_err(Error::system("forge"))?;
    std::thread::sleep(ms(500));
    Ok(())
}

#[test]
fn who_forges_his_address_is_answered_nowhere() -> Result<(), Error> {
    let mut pair = build()?;
    pair.wait_for("the tunnel", |told| told.redirects && told.tunnel)?;
    let own = format!("addr add {FORGED}/32 dev eth0\naddr add {FORGED6}/128 dev eth0 nodad\n");
    pair.uplinks.client().ip(&own)?;
    count(&pair.uplinks)?;
    forge(&pair.uplinks)?;
    assert_eq!(counted(&pair.uplinks)?, 0, "with the partner");
    pair.partner.stop();
    pair.wait_for("the end", |told| !told.tunnel)?;
    forge(&pair.uplinks)?;
    assert_eq!(counted(&pair.uplinks)?, 0, "without it");
    tell(pair.uplinks.router(), &pair.weir, &["lock", "lan0"])?;
    pair.weir.end(Signal::SIGTERM)?;
    forge(&pair.uplinks)?;
    assert_eq!(counted(&pair.uplinks)?, 0, "locked, without weir");
    // Clients with an address of the LAN still get through, and the counters do see forged packets.
    pair.uplinks.client().run("ping -c 1 -W 5 192.168.77.1")?;
    tell(pair.uplinks.router(), &pair.weir, &["unlock"])?;
    forge(&pair.uplinks)?;
    let without = counted(&pair.uplinks)?;
    assert!(without >= 4, "{without}");
    Ok(())
}

/// Builds an error for a too long datagram, whose quoted length fits no real packet.
fn too_long(partner: Ipv4Addr, port: u16, router: Ipv4Addr) -> Vec<u8> {
    let mut udp = port.to_be_bytes().to_vec();
    udp.extend([0x04, 0x57, 0, 40, 0, 0]);
    let mut quoted = packet(17, partner, router, &udp);
    quoted[2..4].copy_from_slice(&60_u16.to_be_bytes());
    let mut icmp = vec![3, 4, 0, 0, 0, 0, 0x02, 0x28];
    icmp.extend(quoted);
    let sum = net::checksum::checksum(0, &icmp).to_be_bytes();
    icmp[2..4].copy_from_slice(&sum);
    packet(1, ipv4(SERVER), partner, &icmp)
}

#[test]
fn errors_that_nobody_sent_change_nothing() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[100, 100]))?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    nothing_leaves_a_partner_with_an_address_of_the_tunnel(&pair)?;
    who_claims_that_packets_are_too_long_is_not_believed(&pair)
}

fn who_claims_that_packets_are_too_long_is_not_believed(pair: &Pair) -> Result<(), Error> {
    let (partner, there) = (ipv4(PARTNER), pair.uplinks.partner());
    let router = ipv4(pair.uplinks.address(0));
    let claim = |port: u16| -> Result<String, Error> {
        let sent = pair
            .uplinks
            .server()
            .enter(|| send(&too_long(partner, port, router), partner))?;
        sent.map_err(Error::system("send an error"))?;
        std::thread::sleep(ms(300));
        there.run(&format!("ip route get {router}"))
    };
    let told = claim(multipath_core::PORT)?;
    assert!(!told.contains("mtu 552"), "{told}");
    let told = pair
        .uplinks
        .client()
        .run(&format!("ping -c 3 -i 0.2 -W 5 -s 1300 {SERVER}"))?;
    assert!(told.contains("3 received"), "{told}");
    // A socket without more knowledge believes the error.
    let socket = there.enter(|| UdpSocket::bind("0.0.0.0:7777"))?;
    let _socket = socket.map_err(Error::system("bind"))?;
    let told = claim(7777)?;
    assert!(told.contains("mtu 552"), "{told}");
    Ok(())
}

/// Sends an error about an unknown conversation by the tunnel: conntrack does not translate it.
fn nothing_leaves_a_partner_with_an_address_of_the_tunnel(pair: &Pair) -> Result<(), Error> {
    let (server, router) = (pair.uplinks.server(), pair.uplinks.router());
    server.nft(
        "table inet seen { chain c { type filter hook prerouting priority -300;
        ip saddr 10.93.0.0/16 counter\n }\n }\n",
    )?;
    let error = |server: Ipv4Addr| {
        let own = Ipv4Addr::new(10, 93, 0, 2);
        let mut quoted = packet(17, server, own, &[0x13, 0x88, 0x13, 0x89, 0, 40, 0, 0]);
        quoted[2..4].copy_from_slice(&60_u16.to_be_bytes());
        let mut icmp = vec![3, 3, 0, 0, 0, 0, 0, 0];
        icmp.extend(quoted);
        let sum = net::checksum::checksum(0, &icmp).to_be_bytes();
        icmp[2..4].copy_from_slice(&sum);
        packet(1, own, server, &icmp)
    };
    let seen = || -> Result<bool, Error> {
        let sent = router.enter(|| {
            let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255)))?;
            raw.bind_device(Some(b"weir-tunnel"))?;
            let to = SocketAddr::new(SERVER, 0);
            raw.send_to(&error(ipv4(SERVER)), &to.into())
        })?;
        sent.map_err(Error::system("send an error"))?;
        std::thread::sleep(ms(300));
        let told = server.run("nft list table inet seen")?;
        Ok(!told.contains("counter packets 0 "))
    };
    assert!(!seen()?);
    // Without the partner's rule the error would arrive.
    let partner = pair.uplinks.partner();
    partner.run("nft flush chain inet weir_partner known")?;
    assert!(seen()?);
    Ok(())
}

/// The partner has room for 64 connections and gives its only router half of them. The first client
/// gets half of that half, and the next client some too.
#[test]
fn clients_share_what_the_partner_gives() -> Result<(), Error> {
    const OTHER: &str = "192.168.77.7";
    let uplinks = Uplinks::build(&Options::mbit(&[100]))?;
    let partner = Partner::narrow(uplinks.partner(), 600)?;
    let line = partner.pair(&PARTNER.to_string())?;
    let pair = Pair::join(uplinks, partner, &line, "fallback = \"stop\"\n")?;
    pair.wait_for("the partner", |told| told.redirects)?;
    let (client, server) = (pair.uplinks.client(), pair.uplinks.server());
    client.ip(&format!("addr add {OTHER}/24 dev eth0\n"))?;
    let _echo = Echo::serve(server, at(SERVER))?;
    let connect = || std::net::TcpStream::connect_timeout(&at(SERVER), LIMIT);
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(client.enter(connect)?);
    }
    wait_until("some to be turned away", 10 * SECOND, || {
        let told = pair.paths()?.connections;
        Ok(told.open == 16 && told.refused == 4)
    })?;
    let other: IpAddr = OTHER.parse().expect("an address");
    let to = SocketAddr::new(SERVER, 5003);
    assert_eq!(crate::multipath::rules::by_tcp(&pair, other, to)?, PARTNER);
    // With `fallback = "direct"`, connections without a slot go directly.
    let file = pair.weir.config_file();
    let text = std::fs::read_to_string(&file).expect("the configuration");
    std::fs::write(&file, text.replace("\"stop\"", "\"direct\"")).expect("written");
    let reloaded = pair.weir.client()?.reload();
    reloaded.map_err(|error| Error::Unexpected(error.to_string()))?;
    pair.wait_for("the other word", |told| !told.stops)?;
    assert_eq!(ask_tcp(client, at(SERVER), b"x")?, b"x");
    let told = pair.paths()?.connections;
    assert_eq!((told.direct, told.refused), (1, 4), "{told:?}");
    drop(held);
    wait_until("room", LIMIT, || {
        Ok(ask_tcp(client, at(SERVER), b"x").is_ok())
    })
}
