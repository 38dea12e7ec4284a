//! What a stranger found who attacked it.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};

use super::*;

/// A question for a name (RFC 1035): A of `a.example`.
const QUESTION: &[u8] =
    b"\xab\xcd\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x07example\x00\x00\x01\x00\x01";

impl Place {
    /// The client is another device, with another address by IPv6.
    fn becomes(&self, mac: &str, address6: &str) -> Result<(), Error> {
        let client = self.client()?;
        for line in [
            "ip link set eth0 down",
            &format!("ip link set eth0 address {mac}"),
            "ip link set eth0 up",
            &format!("ip -6 addr add {address6}/64 dev eth0 nodad"),
            "ip route replace default via 192.168.1.1",
            &format!("ip -6 route replace default via 2001:db8:1::1 src {address6}"),
        ] {
            client.run(line)?;
        }
        Ok(())
    }
}

/// Somebody flushes the table, or a chain of it: it comes again, with who is in.
#[test]
fn a_table_without_its_rules_comes_anew() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let router = place.lab.node("router")?;
    let to = SocketAddr::new(SERVER, ECHO);
    let _echo = Echo::serve(server, to)?;
    for flush in [
        "chain inet weir_portal forward",
        "chain inet weir_portal from_guests",
        "table inet weir_portal",
    ] {
        router.run(&format!("nft flush {flush}"))?;
        wait_until(flush, LIMIT, || Ok(ask_tcp(client, to, b"in?").is_err()))?;
    }
    let voucher = place.sell("--duration 1h")?;
    place.log_in(&voucher.code)?;
    router.run("nft flush table inet weir_portal")?;
    wait_until("who is in stays in", LIMIT, || {
        let set = router.run("nft list set inet weir_portal guests4")?;
        let rules = router.run("nft list chain inet weir_portal to_guests")?;
        Ok(set.contains("192.168.1.2") && rules.contains("drop"))
    })?;
    assert_eq!(ask_tcp(client, to, b"in")?, b"in");
    Ok(())
}

/// Wrong codes of one device are its own, by IPv6 too: others have the same network.
#[test]
fn wrong_codes_keep_no_neighbour_out() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let voucher = place.sell("--duration 1h")?;
    let page = "http://[2001:db8:1::1]:2080/login";
    let mut said = String::new();
    for _ in 0..7 {
        said = place.curl(&format!("-g -d code=AAAA-AAAA {page}"))?;
    }
    assert_eq!(said, "429>");
    place.becomes("02:00:00:00:55:01", "2001:db8:1::55")?;
    wait_until("another device is let in", LIMIT, || {
        let said = place.curl(&format!("-g -d code={} {page}", voucher.code))?;
        Ok(said.starts_with("303>"))
    })
}

/// One that keeps connections open for names keeps no other from asking.
#[test]
fn names_are_told_beside_who_says_nothing() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let client = place.client()?;
    client.run("ip addr add 192.168.1.9/24 dev eth0")?;
    let at: SocketAddr = "8.8.8.8:53".parse().expect("an address");
    let silent = client.enter(|| {
        let connect = |_| TcpStream::connect_timeout(&at, Duration::from_millis(300)).ok();
        (0..200).map_while(connect).collect::<Vec<_>>()
    })?;
    let other = client.enter(|| -> std::io::Result<u16> {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        let own: SocketAddr = "192.168.1.9:0".parse().expect("an address");
        socket.bind(&own.into())?;
        socket.connect(&at.into())?;
        let mut stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(LIMIT))?;
        stream.write_all(&(QUESTION.len() as u16).to_be_bytes())?;
        stream.write_all(QUESTION)?;
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        Ok(u16::from_be_bytes(length))
    })?;
    assert!(other.map_err(unexpected)? > 12, "beside {}", silent.len());
    Ok(())
}

/// One device with very many addresses that holds connections open keeps nobody from the page.
#[test]
fn the_page_is_there_beside_very_many_who_say_nothing() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let client = place.client()?;
    for last in 20..80 {
        client.run(&format!("ip addr add 192.168.1.{last}/24 dev eth0"))?;
    }
    let page: SocketAddr = "192.168.1.1:2080".parse().expect("an address");
    let silent = client.enter(|| {
        let connect = |last: u8| -> std::io::Result<TcpStream> {
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
            socket.bind(&SocketAddr::from(([192, 168, 1, last], 0)).into())?;
            socket.connect_timeout(&page.into(), Duration::from_millis(300))?;
            let mut stream = TcpStream::from(socket);
            stream.write_all(b"GET / HTTP/1.1\r\nHos")?;
            Ok(stream)
        };
        let all = (0..6).flat_map(|_| 20..80);
        all.filter_map(|last| connect(last).ok())
            .collect::<Vec<_>>()
    })?;
    assert!(silent.len() > 256, "{} are there", silent.len());
    // Its burst is spent: the device may connect ten times a second from now on.
    let asks = || Ok(place.curl(PAGE).is_ok_and(|said| said == "200>"));
    wait_until("the page", AT_ONCE, asks)?;
    for _ in 0..5 {
        std::thread::sleep(AT_ONCE / 4);
        assert_eq!(place.curl(PAGE)?, "200>", "beside {}", silent.len());
    }
    Ok(())
}

/// A resolver that always asks from one port gets the true answers once it is let in.
#[test]
fn the_same_port_asks_the_true_server_after_the_log_in() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let at = SocketAddr::new(SERVER, 53);
    let server = place.lab.node("server")?.enter(|| UdpSocket::bind(at))?;
    let server = server.map_err(unexpected)?;
    std::thread::spawn(move || {
        while let Ok((_, from)) = server.recv_from(&mut [0; 512]) {
            let _ = server.send_to(b"true", from);
        }
    });
    let client = place.client()?;
    let socket = client.enter(|| UdpSocket::bind("0.0.0.0:5353"))?;
    let socket = socket.map_err(unexpected)?;
    let limit = Some(Duration::from_millis(300));
    socket.set_read_timeout(limit).map_err(unexpected)?;
    let ask = || -> Vec<u8> {
        let mut answer = vec![0; 512];
        let sent = socket.send_to(QUESTION, at);
        let got = sent.and_then(|_| socket.recv(&mut answer)).unwrap_or(0);
        answer.truncate(got);
        answer
    };
    assert!(ask().starts_with(b"\xab\xcd"), "the portal's");
    let voucher = place.sell("--duration 1h")?;
    place.log_in(&voucher.code)?;
    wait_until("the true answer", LIMIT, || Ok(ask() == b"true"))
}

/// No answer of the router goes to who did not ask: so nothing gets out in one.
#[test]
fn a_forged_source_is_answered_by_nobody() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    server.nft(
        "table inet heard { counter heard { }; chain c { type filter hook prerouting priority raw; \
         icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, \
         nd-router-advert, mld2-listener-report } return; iifname lo return; \
         counter name heard; }; }",
    )?;
    // As if it were the server.
    client.run(&format!("ip addr add {SERVER}/32 dev lo"))?;
    client.run(&format!("ip -6 addr add {SERVER6}/128 dev lo nodad"))?;
    for (own, router) in [(SERVER, "192.168.1.1"), (SERVER6, "2001:db8:1::1")] {
        let line = format!("ping -c 2 -i 0.2 -W 1 -I {own} {router}");
        assert!(client.run(&line).is_err(), "{own}");
        let asked = client.enter(|| -> std::io::Result<()> {
            let socket = UdpSocket::bind(SocketAddr::new(own, 0))?;
            let router: IpAddr = router.parse().expect("an address");
            socket.send_to(QUESTION, SocketAddr::new(router, 53))?;
            socket.send_to(QUESTION, SocketAddr::new(router, 9))?;
            Ok(())
        })?;
        asked.map_err(unexpected)?;
    }
    std::thread::sleep(AT_ONCE / 2);
    let heard = server.run("nft list counter inet heard heard")?;
    assert!(heard.contains("packets 0 "), "{heard}");
    Ok(())
}

/// A device that is called otherwise is none of the portal's: that is said.
#[test]
fn a_device_that_is_gone_is_told_of() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    place
        .lab
        .node("router")?
        .run("ip link set lan0 name lanx")?;
    wait_until("a word of it", LIMIT, || {
        Ok(place
            .weir
            .log()
            .contains("a device of the portal is not there"))
    })
}
