//! Direct traffic by destination, port and client. The server reports the source that it sees.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use answers::PartnerState;
use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{CLIENT, CLIENT6, Options, PARTNER, PARTNER6, SERVER, SERVER6, Uplinks};
use lab::{Error, UdpPair};
use socket2::{Domain, Socket, Type};
use weir_tests::LIMIT;
use weir_tests::partner::{Pair, Partner};

const OTHER: &str = "192.168.77.7";
/// Address of a host in the Internet.
const LISTED: &str = "203.0.113.1";

fn failed() -> impl FnOnce(std::io::Error) -> Error {
    Error::system("talk to the server")
}

/// Returns the source of a TCP connection at the server.
pub(crate) fn by_tcp(pair: &Pair, from: IpAddr, to: SocketAddr) -> Result<IpAddr, Error> {
    let listener = pair.uplinks.server().enter(|| TcpListener::bind(to))?;
    let listener = listener.map_err(failed())?;
    let near = connect(pair, from, to)?;
    let (far, source) = listener.accept().map_err(failed())?;
    drop((near, far));
    Ok(source.ip())
}

fn connect(pair: &Pair, from: IpAddr, to: SocketAddr) -> Result<TcpStream, Error> {
    let open = || -> std::io::Result<TcpStream> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        socket.bind(&SocketAddr::new(from, 0).into())?;
        socket.connect_timeout(&to.into(), LIMIT)?;
        let stream: TcpStream = socket.into();
        stream.set_read_timeout(Some(LIMIT))?;
        Ok(stream)
    };
    pair.uplinks.client().enter(open)?.map_err(failed())
}

fn talk(pair: &Pair, from: IpAddr, to: SocketAddr) -> Result<UdpPair, Error> {
    UdpPair::open(pair.uplinks.client(), Some(from), pair.uplinks.server(), to)
}

/// Returns the source that the server sees.
pub(crate) fn say(talk: &UdpPair, text: &str) -> Result<IpAddr, Error> {
    let seen = talk.ask(text.as_bytes(), LIMIT)?;
    seen.ok_or_else(|| Error::Timeout(format!("an answer to {text:?}")))
}

fn by_udp(pair: &Pair, from: IpAddr, to: SocketAddr) -> Result<IpAddr, Error> {
    say(&talk(pair, from, to)?, "who am I?")
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::new(SERVER, port)
}

#[test]
fn ports_clients_and_networks_go_directly() -> Result<(), Error> {
    let more = format!(
        "direct = [\"{LISTED}\"]\ndirect_ports = [\"tcp/5025\", \"udp/5060-5090\"]\n\
         direct_devices = [\"{OTHER}\"]\n"
    );
    let pair = Pair::with(&Options::mbit(&[100, 100]), &more)?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    let own = pair.uplinks.address(0);
    pair.uplinks
        .client()
        .ip(&format!("addr add {OTHER}/24 dev eth0\n"))?;
    let other = OTHER.parse().expect("an address");
    for (from, port, tcp, udp) in [
        (CLIENT, 5000, PARTNER, PARTNER),
        (CLIENT, 5025, own, PARTNER),
        (CLIENT, 5060, PARTNER, own),
        (CLIENT, 5090, PARTNER, own),
        (CLIENT, 5091, PARTNER, PARTNER),
        (other, 5000, own, own),
    ] {
        let to = at(port);
        assert_eq!(by_tcp(&pair, from, to)?, tcp, "TCP, {from} to {port}");
        assert_eq!(by_udp(&pair, from, to)?, udp, "UDP, {from} to {port}");
    }
    // A private address behind an uplink is a modem's page.
    pair.wait_for("what the partner carried", |told| told.connections.all == 4)?;
    let listed = SocketAddr::new(LISTED.parse().expect("an address"), 5000);
    let modem = SocketAddr::new(pair.uplinks.gateway(0), 5000);
    for (node, to) in [
        (pair.uplinks.lab().node("internet")?, listed),
        (pair.uplinks.provider(0), modem),
    ] {
        let _echo = Echo::serve(node, to)?;
        assert_eq!(ask_tcp(pair.uplinks.client(), to, b"direct")?, b"direct");
        assert_eq!(pair.paths()?.connections.all, 4, "{to}");
    }
    Ok(())
}

/// A reload applies to new connections; carried ones go on unchanged.
#[test]
fn rules_change_under_what_is_carried() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[100, 100]))?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    let own = pair.uplinks.address(0);
    let _echo = Echo::serve(pair.uplinks.server(), at(5100))?;
    let mut stream = connect(&pair, CLIENT, at(5100))?;
    let mut answered = |text: &[u8; 4]| {
        stream.write_all(text).expect("written");
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).expect("the echo");
        assert_eq!(answer, *text);
    };
    answered(b"then");
    let lasting = talk(&pair, CLIENT, at(5101))?;
    assert_eq!(say(&lasting, "then")?, PARTNER);

    let file = pair.weir.config_file();
    let before = std::fs::read_to_string(&file).expect("the configuration");
    let reload = |more: &str| {
        std::fs::write(&file, format!("{before}{more}\n")).expect("written");
        pair.weir.client().expect("a client").reload()
    };
    let error = reload("direct_ports = [\"tcp25\"]").expect_err("no ports");
    let error = format!("{error:?}");
    assert!(
        error.contains("multipath.direct_ports: cannot contain") && error.contains("tcp25"),
        "{error}"
    );
    let link = pair.uplinks.client().run("ip -o link show dev eth0")?;
    let mac = link.split("link/ether ").nth(1).expect("it has one");
    let mac = mac.split_whitespace().next().unwrap_or_default();
    for more in [
        "direct_ports = [\"tcp/1-65535\", \"udp/5101-5103\"]".to_owned(),
        format!("direct_devices = [\"{}\"]", mac.to_uppercase()),
    ] {
        reload(&more).expect("a good configuration");
        lab::namespace::wait_until("the new rules", LIMIT, || {
            Ok(by_tcp(&pair, CLIENT, at(5000))? == own)
        })?;
        assert_eq!(by_udp(&pair, CLIENT, at(5102))?, own, "{more}");
        answered(b"now!");
        assert_eq!(say(&lasting, "now")?, PARTNER, "{more}");
        reload("").expect("as it was");
        lab::namespace::wait_until("the old rules", LIMIT, || {
            Ok(by_tcp(&pair, CLIENT, at(5000))? == PARTNER)
        })?;
        assert_eq!(by_udp(&pair, CLIENT, at(5103))?, PARTNER);
    }
    assert_eq!(
        pair.weir.log().matches("connected to the partner").count(),
        1,
        "it did not begin anew"
    );
    Ok(())
}

/// The partner does not forward IPv6: TCP uses the partner, all other IPv6 traffic goes directly.
#[test]
fn clients_of_ipv6_go_directly() -> Result<(), Error> {
    let other: IpAddr = "fd77::7".parse().expect("an address");
    let mut options = Options::mbit(&[100, 100]);
    options.ipv6 = true;
    let more = format!("direct_devices = [\"{other}\"]\ndirect_ports = [\"tcp/5025\"]\n");
    let pair = Pair::with(&options, &more)?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    pair.uplinks
        .client()
        .ip(&format!("addr add {other}/64 dev eth0 nodad\n"))?;
    let own = pair.uplinks.address6(0);
    let to = |port| SocketAddr::new(SERVER6, port);
    assert_eq!(by_tcp(&pair, CLIENT6, to(5000))?, PARTNER6);
    assert_eq!(by_tcp(&pair, CLIENT6, to(5025))?, own);
    assert_eq!(by_tcp(&pair, other, to(5000))?, own);
    assert_eq!(by_udp(&pair, CLIENT6, to(5000))?, own);
    assert_eq!(by_udp(&pair, CLIENT, at(5000))?, PARTNER);
    Ok(())
}

/// A partner's address from DNS alone is not direct. With `fallback = "stop"` neither is the
/// provider's translator to IPv4.
#[test]
fn only_a_partner_that_proved_itself_is_reached_directly() -> Result<(), Error> {
    for (fallback, translator) in [("direct", true), ("stop", false)] {
        let uplinks = Uplinks::build(&Options::mbit(&[100]))?;
        let mut partner = Partner::start(uplinks.partner(), &[])?;
        let line = partner.pair(&PARTNER.to_string())?;
        partner.stop();
        let fallback = format!("fallback = \"{fallback}\"\n");
        let mut pair = Pair::join(uplinks, partner, &line, &fallback)?;
        pair.wait_for("it to be missed", |told| told.state == PartnerState::Failed)?;
        let direct = |family: &str| {
            let set = format!("nft list set inet weir_multipath direct{family}");
            pair.uplinks.router().run(&set)
        };
        let own = PARTNER.to_string();
        wait_until("the rules", LIMIT, || Ok(direct("4").is_ok()))?;
        assert!(!direct("4")?.contains(&own), "{fallback}");
        assert_eq!(direct("6")?.contains("64:ff9b::/96"), translator);
        pair.partner.restart(pair.uplinks.partner())?;
        wait_until("the partner", LIMIT, || Ok(direct("4")?.contains(&own)))?;
    }
    Ok(())
}
