//! Tricks to bypass the portal: DNS tunnels, other protocols, stolen addresses.

use std::net::{SocketAddrV6, TcpListener, TcpStream};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::*;

/// Another device on the same wire.
const THIEF: &str = "02:00:00:00:99:01";

impl Place {
    /// Counts packets that a host outside receives, except those of its own link.
    fn listen_outside(&self) -> Result<(), Error> {
        self.lab.node("server")?.nft(
            "table inet heard { counter heard { }; chain c { type filter hook prerouting \
             priority raw; icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, \
             nd-router-solicit, nd-router-advert, mld2-listener-report } return; \
             iifname lo return; counter name heard; }; }",
        )?;
        Ok(())
    }

    fn heard_outside(&self) -> Result<u64, Error> {
        let listed = self
            .lab
            .node("server")?
            .run("nft list counter inet heard heard")?;
        let count = listed.split("packets ").nth(1);
        let count = count.and_then(|rest| rest.split(' ').next()?.parse().ok());
        count.ok_or_else(|| unexpected(listed))
    }
}

/// Before the log-in no packet of any kind passes, and refusals are immediate; after the log-in all
/// traffic works.
#[test]
fn nothing_gets_past_it_before_the_log_in() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    // Not even one direction works.
    place.listen_outside()?;
    ordinary_traffic_is_refused(&place)?;
    send_strange_protocols(&place)?;
    the_router_itself_is_closed(&place)?;
    std::thread::sleep(AT_ONCE / 2);
    assert_eq!(place.heard_outside()?, 0, "no protocol is passed on");
    let _served = tunnels(&place)?;
    let told = dig(&place)?;
    assert!(!told.contains("Connection setup complete"), "{told}");
    assert_eq!(place.heard_outside()?, 0, "no tunnel leads out");
    let voucher = place.sell("--duration 1h")?;
    place.log_in(&voucher.code)?;
    send_strange_protocols(&place)?;
    wait_until("for who is in it is", LIMIT, || {
        Ok(place.heard_outside()? >= 10)
    })?;
    let told = dig(&place)?;
    assert!(told.contains("Connection setup complete"), "{told}");
    Ok(())
}

fn ordinary_traffic_is_refused(place: &Place) -> Result<(), Error> {
    let (client, server) = (place.client()?, place.lab.node("server")?);
    for address in [SERVER, SERVER6] {
        for port in [53, 67, 123, 443, 546, 5353, 33434] {
            let to = SocketAddr::new(address, port);
            let _echo = Echo::serve(server, to)?;
            let answered = Datagrams::open(client, to)?.ask(b"out", Duration::from_millis(150));
            // An immediate refusal is fine; on port 53 the portal answers with other bytes.
            assert!(!answered.unwrap_or(false), "{to}");
        }
        assert!(
            client.run(&format!("ping -c 1 -W 1 {address}")).is_err(),
            "{address}"
        );
    }
    let began = Instant::now();
    let refused = client.run(&format!("curl -s -m 10 https://{SERVER}/"));
    assert!(refused.is_err() && began.elapsed() < Duration::from_secs(2));
    Ok(())
}

/// Sends foreign protocols, fragments, and packets without ports.
fn send_strange_protocols(place: &Place) -> Result<(), Error> {
    let client = place.client()?;
    let sent = client.enter(|| -> std::io::Result<()> {
        for server in [SERVER, SERVER6] {
            let at = SocketAddr::new(server, 0);
            let to = SockAddr::from(at);
            // IPIP, 6in4, GRE, ESP, SCTP, UDP-Lite, and an unassigned protocol.
            for protocol in [4, 41, 47, 50, 132, 136, 253] {
                let protocol = Some(Protocol::from(protocol));
                let raw = Socket::new(Domain::for_address(at), Type::RAW, protocol)?;
                raw.send_to(&[0x45; 64], &to)?;
            }
        }
        Ok(())
    })?;
    sent.map_err(unexpected)?;
    for server in [SERVER, SERVER6] {
        let to = SocketAddr::new(server, 4500);
        // The datagram exceeds a frame.
        let _ = Datagrams::open(client, to)?.ask(&[7; 4000], Duration::from_millis(50));
    }
    Ok(())
}

/// Starts DNS tunnels: iodine with a server outside, and its raw mode.
fn tunnels(place: &Place) -> Result<lab::Process, Error> {
    let server = place.lab.node("server")?;
    let mut served = server.command("iodined");
    served.args([
        "-f",
        "-c",
        "-P",
        "word",
        "-d",
        "dns0",
        "10.99.0.1/24",
        "t.example",
    ]);
    server.start(&mut served)
}

fn dig(place: &Place) -> Result<String, Error> {
    let mut tunnel = place.client()?.command("timeout");
    tunnel.args(["15", "iodine", "-f", "-P", "word", "-d", "dns0"]);
    tunnel.args([SERVER.to_string().as_str(), "t.example"]);
    let output = tunnel.output().map_err(unexpected)?;
    Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// Guests cannot reach the router's own services by any address, including the link-local one.
fn the_router_itself_is_closed(place: &Place) -> Result<(), Error> {
    let (client, router) = (place.client()?, place.lab.node("router")?);
    let link = router.run("ip -6 -o addr show dev lan0 scope link")?;
    let link = link
        .split_whitespace()
        .nth(3)
        .and_then(|a| a.split('/').next());
    let link = link.ok_or_else(|| unexpected("no address of the link"))?;
    let listener = router.enter(|| TcpListener::bind("[::]:22"))?;
    let _listener = listener.map_err(unexpected)?;
    let scope = client.run("ip -o link show dev eth0")?;
    let scope = scope.split(':').next().unwrap_or_default();
    let scope: u32 = scope.parse().map_err(unexpected)?;
    let connect = |to: SocketAddr| {
        client.enter(move || TcpStream::connect_timeout(&to, Duration::from_secs(2)).is_ok())
    };
    let link = SocketAddrV6::new(link.parse().map_err(unexpected)?, 22, 0, scope);
    let all = [
        "192.168.1.1:22",
        "10.0.0.1:22",
        "[2001:db8:1::1]:22",
        "[2001:db8:2::1]:22",
    ];
    let all = all.map(|at| at.parse::<SocketAddr>().expect("an address"));
    for to in all.into_iter().chain([SocketAddr::V6(link)]) {
        assert!(!connect(to)?, "{to}");
    }
    // The page is reachable by the link-local address, too.
    let page = SocketAddrV6::new(*link.ip(), 2080, 0, scope);
    assert!(connect(SocketAddr::V6(page))?);
    Ok(())
}

/// The router sends no answers to forged sources, which could carry data out.
pub(super) fn forged_sources_hear_nothing(place: &Place) -> Result<(), Error> {
    let client = place.client()?;
    place.listen_outside()?;
    // The client takes the server's address.
    client.run(&format!("ip addr add {SERVER}/32 dev lo"))?;
    client.run(&format!("ip -6 addr add {SERVER6}/128 dev lo nodad"))?;
    for (own, router) in [(SERVER, "192.168.1.1"), (SERVER6, "2001:db8:1::1")] {
        let line = format!("ping -c 2 -i 0.2 -W 1 -I {own} {router}");
        assert!(client.run(&line).is_err(), "{own}");
        let asked = client.enter(|| -> std::io::Result<()> {
            let socket = UdpSocket::bind(SocketAddr::new(own, 0))?;
            let router: IpAddr = router.parse().expect("an address");
            socket.send_to(external_attacks::QUESTION, SocketAddr::new(router, 53))?;
            socket.send_to(external_attacks::QUESTION, SocketAddr::new(router, 9))?;
            Ok(())
        })?;
        asked.map_err(unexpected)?;
    }
    std::thread::sleep(AT_ONCE / 2);
    assert_eq!(place.heard_outside()?, 0);
    Ok(())
}

/// A thief who takes a guest's address by ARP or NDP is not admitted. The guest gets the address
/// back as soon as the guest's device uses it.
#[test]
fn a_stolen_address_lets_nobody_in() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let voucher = place.sell("--duration 1h")?;
    place.log_in(&voucher.code)?;
    let (to, to6) = (
        SocketAddr::new(SERVER, ECHO),
        SocketAddr::new(SERVER6, ECHO),
    );
    let (_echo, _echo6) = (Echo::serve(server, to)?, Echo::serve(server, to6)?);
    let asks = || {
        (
            ask_tcp(client, to, b"in").is_ok(),
            ask_tcp(client, to6, b"in").is_ok(),
        )
    };
    assert_eq!(asks(), (true, true));
    // Another device announces the same addresses.
    let own = place.clients()?.clients[0].mac.clone();
    let announce = format!(
        "ip link set eth0 down\nip link set eth0 address {THIEF}\nip link set eth0 up\n\
         ip addr replace {CLIENT}/24 dev eth0\nip -6 addr replace 2001:db8:1::2/64 dev eth0 nodad\n\
         ip route replace default via 192.168.1.1\nip -6 route replace default via 2001:db8:1::1"
    );
    for line in announce.lines() {
        client.run(line)?;
    }
    client.run("ping -c 1 -W 2 192.168.1.1")?;
    client.run("ping -c 1 -W 2 2001:db8:1::1")?;
    wait_until("the thief is seen", LIMIT, || {
        let clients = place.clients()?.clients;
        Ok(clients
            .iter()
            .any(|one| one.mac == THIEF && one.addresses.contains(&CLIENT)))
    })?;
    assert_eq!(asks(), (false, false));
    let thief = place
        .clients()?
        .clients
        .into_iter()
        .find(|one| one.mac == THIEF);
    assert_eq!(thief.map(|thief| thief.state), Some(PortalState::Waiting));
    for line in announce.replace(THIEF, &own).lines() {
        client.run(line)?;
    }
    wait_until("it is its owner's again", LIMIT, || {
        Ok(asks() == (true, true))
    })
}
