//! Guests behind a portal: the router lets them through only after a log-in and only for their
//! time, whether weir or the kernel forwards their packets.

mod accounts;
mod allow_list;
mod browser;
mod bypass;
mod check;
mod cookies;
mod external_attacks;
mod foreign_portals;
mod https;
mod login_methods;
mod network_manager;
mod nodes;
mod old_vouchers;
mod page_content;
mod refresh;
mod scene;
mod schedule;
mod session_end;
mod slow;
mod terms;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use answers::{PortalClients, PortalState, PortalVoucher, PortalVouchers};
use lab::gateway::{CLIENT, SERVER, SERVER6};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo, Transfer, ask_tcp};
use lab::{Error, Lab, Namespace, Options, unexpected};
use testing::Directory;
use weir_tests::{LIMIT, Weir, hooked};

use scene::{AT_ONCE, ECHO, PAGE, Place, Stream, configuration};

#[test]
fn before_the_log_in_all_leads_to_the_portal() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    pages_lead_to_the_portal(&place)?;
    names_are_answered_here(&place)?;
    bypass::forged_sources_hear_nothing(&place)
}

/// The predecessor looped: here every address redirects to the page in a single step.
fn pages_lead_to_the_portal(place: &Place) -> Result<(), Error> {
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
    // A QR code's address: the page fills in the code and ignores all other parts of the address.
    let scanned = "http://portal.weir/?code=k7qm3xwd&next=http://evil.example/";
    let line = format!("--resolve portal.weir:80:192.168.1.1 {scanned}");
    let filled = format!("{PAGE}?code=K7QM-3XWD");
    assert_eq!(place.curl(&line)?, format!("302>{filled}"));
    let page = place.client()?.run(&format!("curl -s -m 10 {filled}"))?;
    assert!(page.contains("value=\"K7QM-3XWD\""), "{page}");
    let nothing = place.curl(&format!("{PAGE}?code=%22%3E%3Cscript%3E"))?;
    assert_eq!(nothing, "200>");
    // IPv6 redirects to the router's IPv6 address.
    let six = place.curl(&format!("http://[{SERVER6}]/"))?;
    assert_eq!(six, "302>http://[2001:db8:1::1]:2080/");
    let captive = place
        .client()?
        .run(&format!("curl -s -m 10 {PAGE}captive-portal/api"))?;
    assert!(captive.contains("\"captive\":true"), "{captive}");
    Ok(())
}

/// The portal answers DNS queries to any server, and no query leaves the router.
fn names_are_answered_here(place: &Place) -> Result<(), Error> {
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
        // For IPv6 queries the portal has no IPv4 address at hand; any leads to the page.
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

/// The log-in resets connections and DNS flows that led to the portal: a browser may keep its
/// connection open, and a resolver may always use one port. The device's other addresses are
/// admitted too.
#[test]
fn a_log_in_ends_what_led_here_and_holds_for_all_addresses() -> Result<(), Error> {
    use std::io::{Read, Write};
    let place = Place::open("tc", "")?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
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
    let told = client.enter(|| ask(&mut open()?))?.map_err(unexpected)?;
    assert!(
        told.contains("302") && told.contains("connection: close"),
        "{told}"
    );
    let at = SocketAddr::new(SERVER, 53);
    let names = server.enter(|| UdpSocket::bind(at))?.map_err(unexpected)?;
    std::thread::spawn(move || {
        while let Ok((_, from)) = names.recv_from(&mut [0; 512]) {
            let _ = names.send_to(b"true", from);
        }
    });
    let resolver = client.enter(|| UdpSocket::bind("0.0.0.0:5353"))?;
    let resolver = resolver.map_err(unexpected)?;
    let limit = Some(Duration::from_millis(300));
    resolver.set_read_timeout(limit).map_err(unexpected)?;
    let look_up = || -> Vec<u8> {
        let mut answer = vec![0; 512];
        let sent = resolver.send_to(external_attacks::QUESTION, at);
        let got = sent.and_then(|_| resolver.recv(&mut answer)).unwrap_or(0);
        answer.truncate(got);
        answer
    };
    assert!(look_up().starts_with(b"\xab\xcd"), "the portal's");
    let mut kept = client.enter(open)?.map_err(unexpected)?;

    let voucher = place.sell("--name guest --duration 1h")?;
    place.log_in(&voucher.code)?;
    let answered = client.enter(|| ask(&mut kept))?;
    let reset = answered.map_err(|error| error.kind());
    assert_eq!(reset, Err(std::io::ErrorKind::ConnectionReset));
    // Connections to the page itself go on.
    assert_eq!(place.curl(PAGE)?, "200>");
    wait_until("the true answer", LIMIT, || Ok(look_up() == b"true"))?;

    // A device that knows the router's hardware address sends no ARP request before it connects
    // from a new IPv4 address: its first connection is slow but succeeds.
    let known = |address: &IpAddr| -> Result<(), Error> {
        let known = place.clients()?;
        assert!(known.clients[0].addresses.contains(address), "{known:?}");
        Ok(())
    };
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
        known(&another)?;
    }
    // By IPv6 the device uses one address after the other.
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
    known(&another)
}
