//! Tricks to get past the portal: tunnels through names, other protocols, other people's addresses.

use std::net::{SocketAddrV6, TcpListener, TcpStream};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::*;

/// Somebody else's device on the same wire.
const THIEF: &str = "02:00:00:00:99:01";

impl Place {
    /// Counts what a host outside receives, but for what belongs to its own link.
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

/// A tunnel through questions for names: iodine, whose server stands outside, and its raw mode.
/// For who is let in it works.
#[test]
fn no_tunnel_leads_through_names() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    place.listen_outside()?;
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
    let _served = server.start(&mut served)?;
    let dig = || -> Result<String, Error> {
        let mut tunnel = client.command("timeout");
        tunnel.args(["15", "iodine", "-f", "-P", "word", "-d", "dns0"]);
        tunnel.args([SERVER.to_string().as_str(), "t.example"]);
        let output = tunnel.output().map_err(unexpected)?;
        Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let told = dig()?;
    assert!(!told.contains("Connection setup complete"), "{told}");
    assert_eq!(place.heard_outside()?, 0, "nothing came out");
    let voucher = place.sell("--duration 1h")?;
    place.log_in(&voucher.code)?;
    let told = dig()?;
    assert!(told.contains("Connection setup complete"), "{told}");
    Ok(())
}

/// Whatever it is that is sent: tunnels of their own, fragments, what has no ports.
#[test]
fn no_protocol_is_passed_on() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let client = place.client()?;
    place.listen_outside()?;
    let send = || -> Result<(), Error> {
        let sent = client.enter(|| -> std::io::Result<()> {
            for server in [SERVER, SERVER6] {
                let at = SocketAddr::new(server, 0);
                let to = SockAddr::from(at);
                // IPIP, 6in4, GRE, ESP, SCTP, UDP-Lite, and one of nobody's.
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
            // More than a frame holds.
            let _ = Datagrams::open(client, to)?.ask(&[7; 4000], Duration::from_millis(50));
        }
        Ok(())
    };
    send()?;
    std::thread::sleep(AT_ONCE / 2);
    assert_eq!(place.heard_outside()?, 0);
    let voucher = place.sell("--duration 1h")?;
    place.log_in(&voucher.code)?;
    send()?;
    wait_until("for who is in it is", LIMIT, || {
        Ok(place.heard_outside()? >= 10)
    })
}

/// The router's own services are not reached by any of its addresses, that of the link neither.
#[test]
fn the_router_itself_is_closed() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
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
    // But the page is there, by that too.
    let page = SocketAddrV6::new(*link.ip(), 2080, 0, scope);
    assert!(connect(SocketAddr::V6(page))?);
    Ok(())
}

/// Who takes the address of somebody who is let in, by ARP or NDP, is not let in; and the address is
/// its owner's again when he uses it.
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
    // Another device with the same addresses, which tells everybody so.
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
