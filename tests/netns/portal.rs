//! Guests behind a portal: they get no further before they log in, and no longer than they may,
//! whoever forwards their packets.

mod accounts;
mod browser;
mod check;
mod ends;
mod foreign;
mod former;
mod garden;
mod hours;
mod manager;
mod nodes;
mod outside;
mod passes;
mod past;
mod place;
mod refresh;
mod secure;
mod slow;
mod terms;
mod ways;
mod welcome;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use answers::{PortalClients, PortalState, PortalVoucher, PortalVouchers};
use lab::gateway::{CLIENT, SERVER, SERVER6};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo, Transfer, ask_tcp};
use lab::{Error, Lab, Namespace, Options};
use weir_tests::{LIMIT, Weir, hooked};

use place::{AT_ONCE, ECHO, PAGE, Place, Stream, configuration, unexpected};

/// The predecessor's failure was a loop: every way there ends at the page, with one step.
#[test]
fn who_asks_for_any_page_is_sent_to_the_portal_and_no_further() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let wanted = format!("302>{PAGE}");
    for url in [
        format!("http://{SERVER}/"),
        format!("http://{SERVER}/generate_204?x=1"),
        "http://192.168.1.1/cgi-bin/luci".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "-H Host:connectivitycheck.gstatic.com http://198.51.100.7/generate_204".to_owned(),
        format!("-H Host:evil.example {PAGE}login"),
    ] {
        assert_eq!(place.curl(&url)?, wanted, "{url}");
    }
    assert_eq!(place.curl(PAGE)?, "200>");
    let line = format!("curl -s -m 10 -L --max-redirs 3 http://{SERVER}/");
    let page = place.client()?.run(&line)?;
    assert!(
        page.contains("name=\"code\"") && page.contains("Caf\u{e9} &lt;Weir&gt;"),
        "{page}"
    );
    assert!(
        page.contains("<h2>Rules</h2>") && !page.contains("<script"),
        "{page}"
    );
    // As a QR code has it: the code stands in the form, and nothing else of the address.
    let scanned = "http://portal.weir/?code=k7qm3xwd&next=http://evil.example/";
    let line = format!("--resolve portal.weir:80:192.168.1.1 {scanned}");
    let filled = format!("{PAGE}?code=K7QM-3XWD");
    assert_eq!(place.curl(&line)?, format!("302>{filled}"));
    let page = place.client()?.run(&format!("curl -s -m 10 {filled}"))?;
    assert!(page.contains("value=\"K7QM-3XWD\""), "{page}");
    let nothing = place.curl(&format!("{PAGE}?code=%22%3E%3Cscript%3E"))?;
    assert_eq!(nothing, "200>");
    // By IPv6 too, with its own address.
    let six = place.curl(&format!("http://[{SERVER6}]/"))?;
    assert_eq!(six, "302>http://[2001:db8:1::1]:2080/");
    let captive = place
        .client()?
        .run(&format!("curl -s -m 10 {PAGE}captive-portal/api"))?;
    assert!(captive.contains("\"captive\":true"), "{captive}");
    Ok(())
}

/// Nothing passes before the log-in, and what is refused is refused at once.
#[test]
fn nothing_gets_past_it_before_the_log_in() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    // Not even one way.
    server.nft(
        "table inet heard { counter heard { }; chain c { type filter hook input priority 0; \
         meta l4proto { tcp, udp, icmp } counter name heard; \
         icmpv6 type echo-request counter name heard; }; }",
    )?;
    for address in [SERVER, SERVER6] {
        for port in [53, 67, 123, 443, 546, 5353, 33434] {
            let to = SocketAddr::new(address, port);
            let _echo = Echo::serve(server, to)?;
            let answered = Datagrams::open(client, to)?.ask(b"out", Duration::from_millis(150));
            // Refused at once is as good; 53 is answered by the portal, with what was not sent.
            assert!(!answered.unwrap_or(false), "{to}");
        }
        assert!(
            client.run(&format!("ping -c 1 -W 1 {address}")).is_err(),
            "{address}"
        );
    }
    let router = place.lab.node("router")?;
    for address in ["192.168.1.1", "10.0.0.1"] {
        let at: SocketAddr = format!("{address}:22").parse().expect("an address");
        let _ssh = Echo::serve(router, at)?;
        assert!(ask_tcp(client, at, b"root").is_err(), "{at}");
    }
    let began = Instant::now();
    let refused = client.run(&format!("curl -s -m 10 https://{SERVER}/"));
    assert!(refused.is_err() && began.elapsed() < Duration::from_secs(2));
    let heard = server.run("nft list counter inet heard heard")?;
    assert!(heard.contains("packets 0 "), "{heard}");
    Ok(())
}

/// A device that is let in uses one IPv6 address after the other.
#[test]
fn another_address_of_a_device_is_let_in() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let voucher = place.sell("--name guest --duration 1h")?;
    place.log_in(&voucher.code)?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let to = SocketAddr::new(SERVER6, ECHO);
    let _echo = Echo::serve(server, to)?;
    assert_eq!(ask_tcp(client, to, b"six")?, b"six");
    let another: IpAddr = "2001:db8:1::77".parse().expect("an address");
    client.run(&format!(
        "ip addr add {another}/64 dev eth0 nodad preferred_lft 1000"
    ))?;
    client.run(&format!(
        "ip -6 route replace default via 2001:db8:1::1 src {another}"
    ))?;
    assert_eq!(ask_tcp(client, to, b"seven")?, b"seven");
    let known = place.clients()?;
    assert!(known.clients[0].addresses.contains(&another), "{known:?}");

    Ok(())
}

/// A device that knows the router already asks it for nothing before it connects from a new IPv4
/// address: its first connection is slow, but it is not refused.
#[test]
fn a_first_connection_from_a_new_address_is_not_refused() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let voucher = place.sell("--duration 1h")?;
    place.log_in(&voucher.code)?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let to = SocketAddr::new(SERVER, ECHO);
    let _echo = Echo::serve(server, to)?;
    assert_eq!(ask_tcp(client, to, b"in")?, b"in");
    for last in [77, 78] {
        let another: IpAddr = IpAddr::from([192, 168, 1, last]);
        client.run(&format!("ip addr add {another}/24 dev eth0"))?;
        client.run(&format!(
            "ip route replace default via 192.168.1.1 src {another}"
        ))?;
        assert_eq!(ask_tcp(client, to, b"in")?, b"in", "{another}");
        let known = place.clients()?;
        assert!(known.clients[0].addresses.contains(&another), "{known:?}");
    }
    Ok(())
}

/// Guessing is slow, and what is no code is said to be none.
#[test]
fn wrong_codes_are_refused_and_then_wait() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    assert_eq!(place.curl(&format!("-d code=0OI1 {PAGE}login"))?, "403>");
    let mut said = Vec::new();
    for _ in 0..7 {
        said.push(place.curl(&format!("-d code=AAAA-AAAA {PAGE}login"))?);
    }
    assert_eq!(said[0], "403>");
    assert_eq!(said[6], "429>");
    // A form of another page.
    let forged = format!("-H Origin:http://evil.example -d code=AAAA-AAAA {PAGE}login");
    assert_eq!(place.curl(&forged)?, "403>");
    assert_eq!(place.curl(&format!("-X DELETE {PAGE}login"))?, "405>");

    Ok(())
}

/// Wherever names are asked for, the portal answers, and nobody else hears of it.
#[test]
fn names_are_answered_here_wherever_they_are_asked() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let question = b"\xab\xcd\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06secret\x07example\x00\x00\x01\x00\x01";
    let server = place.lab.node("server")?;
    let heard = server.enter(|| UdpSocket::bind(SocketAddr::new(SERVER, 53)))?;
    let heard = heard.map_err(unexpected)?;
    heard.set_nonblocking(true).map_err(unexpected)?;
    for (to, answer) in [
        ("10.0.0.2:53", [192, 168, 1, 1]),
        ("192.168.1.1:53", [192, 168, 1, 1]),
        ("10.0.0.1:53", [192, 168, 1, 1]),
        ("8.8.8.8:53", [192, 168, 1, 1]),
        // By IPv6 there is no IPv4 address of the router at hand: any leads here.
        ("[2001:db8:2::2]:53", [192, 0, 2, 1]),
    ] {
        let to: SocketAddr = to.parse().expect("an address");
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let (udp, tcp) = place
            .client()?
            .enter(|| -> std::io::Result<_> {
                let socket = UdpSocket::bind(any)?;
                socket.set_read_timeout(Some(LIMIT))?;
                socket.send_to(question, to)?;
                let mut udp = vec![0; 512];
                let (length, from) = socket.recv_from(&mut udp)?;
                assert_eq!(from, to, "the answer comes from who was asked");
                udp.truncate(length);
                let mut stream = std::net::TcpStream::connect(to)?;
                stream.set_read_timeout(Some(LIMIT))?;
                std::io::Write::write_all(&mut stream, &(question.len() as u16).to_be_bytes())?;
                std::io::Write::write_all(&mut stream, question)?;
                let mut tcp = vec![0; length + 2];
                std::io::Read::read_exact(&mut stream, &mut tcp)?;
                Ok((udp, tcp))
            })?
            .map_err(|error| unexpected(format!("{to}: {error}")))?;
        assert_eq!(udp[udp.len() - 4..], answer, "{to}");
        assert_eq!(tcp[2..], udp, "{to}");
    }
    assert!(
        heard.recv(&mut [0; 512]).is_err(),
        "nobody outside hears of it"
    );
    Ok(())
}

/// Whoever keeps connections open keeps nobody else out.
#[test]
fn idle_connections_keep_nobody_out() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let client = place.client()?;
    client.run("ip addr add 192.168.1.9/24 dev eth0")?;
    let page: SocketAddr = "192.168.1.1:2080".parse().expect("an address");
    let idle = client.enter(|| {
        let connect = |_| {
            let limit = Duration::from_millis(200);
            let mut stream = std::net::TcpStream::connect_timeout(&page, limit).ok()?;
            std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\nHos").ok()?;
            Some(stream)
        };
        (0..2000).map_while(connect).collect::<Vec<_>>()
    })?;
    let said = place.curl(&format!("--interface 192.168.1.9 {PAGE}"))?;
    assert_eq!(said, "200>", "beside {}", idle.len());
    Ok(())
}

/// A browser keeps connections open: one that was brought to the portal would bring it there again.
#[test]
fn what_was_redirected_ends_with_the_log_in() -> Result<(), Error> {
    use std::io::{Read, Write};
    let place = Place::open("tc", "")?;
    let to = SocketAddr::new(SERVER, 80);
    let open = || -> std::io::Result<std::net::TcpStream> {
        let stream = std::net::TcpStream::connect(to)?;
        stream.set_read_timeout(Some(LIMIT))?;
        Ok(stream)
    };
    let ask = |stream: &mut std::net::TcpStream| -> std::io::Result<String> {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")?;
        let mut told = String::new();
        stream.read_to_string(&mut told)?;
        Ok(told)
    };
    let client = place.client()?;
    let told = client.enter(|| ask(&mut open()?))?.map_err(unexpected)?;
    assert!(
        told.contains("302") && told.contains("connection: close"),
        "{told}"
    );
    let mut kept = client.enter(open)?.map_err(unexpected)?;
    let voucher = place.sell("--duration 1h")?;
    place.log_in(&voucher.code)?;
    let answered = client.enter(|| ask(&mut kept))?;
    let reset = answered.map_err(|error| error.kind());
    assert_eq!(reset, Err(std::io::ErrorKind::ConnectionReset));
    // The page itself goes on.
    assert_eq!(place.curl(PAGE)?, "200>");
    Ok(())
}

/// Who comes asks for an address first, and gets it from the router: dnsmasq and udhcpc.
#[test]
fn an_address_comes_before_the_log_in() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let (client, router) = (place.client()?, place.lab.node("router")?);
    let mut server = router.command("dnsmasq");
    server.args([
        "-k",
        "-p",
        "0",
        "-C",
        "/dev/null",
        "-i",
        "lan0",
        "--bind-interfaces",
    ]);
    server.args(["--dhcp-authoritative", "-l"]);
    server.arg(place.folder.join("leases"));
    server.arg("--dhcp-range=192.168.1.100,192.168.1.120,1h");
    let _server = router.start(&mut server)?;
    let mut told = String::new();
    wait_until("an address", LIMIT, || {
        let asked = client.run("busybox udhcpc -n -q -f -t 3 -T 1 -i eth0 -s /bin/true");
        told = asked.map_or_else(|error| error.to_string(), |_| String::new());
        Ok(told.is_empty())
    })
    .map_err(|_| unexpected(&told))?;
    let leases = std::fs::read_to_string(place.folder.join("leases")).map_err(unexpected)?;
    assert!(leases.contains("192.168.1.1"), "{leases}");
    Ok(())
}
