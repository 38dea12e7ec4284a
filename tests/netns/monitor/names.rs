//! Names of devices and of their remote hosts.

use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::process::{Command, Stdio};

use lab::namespace::wait_until;
use lab::transfer::ask_tcp;
use lab::{Error, Lab, topology, unexpected};
use testing::Directory;
use weir_tests::LIMIT;

use super::{ECHO, Runs, Scene};

/// Sends the client an unrequested DNS answer from the router's port 53 (RFC 1035).
fn forge(lab: &Lab, name: &str, address: IpAddr) -> Result<(), Error> {
    let IpAddr::V4(address) = address else {
        return Err(Error::Unexpected("an address of IPv4 is wanted".into()));
    };
    let mut answer = vec![0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
    for label in name.split('.') {
        answer.push(label.len() as u8);
        answer.extend(label.as_bytes());
    }
    answer.extend([0, 0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4]);
    answer.extend(address.octets());
    let send = || {
        let socket = UdpSocket::bind((lab::gateway::ROUTER_LAN, 53))?;
        socket.send_to(&answer, (lab::gateway::CLIENT, 40_000))
    };
    let sent = lab.node("router")?.enter(send)?;
    sent.map(drop).map_err(Error::system("send an answer"))
}

/// A device takes its lease's name; a remote host the name of the client's DNS answer, or of the
/// client's TLS hello.
#[test]
fn devices_and_far_ends_have_names() -> Result<(), Error> {
    let folder = Directory::new();
    let leases = folder.join("leases");
    let config = format!("[monitor]\nleases = [{leases:?}]\n");
    let scene = Scene::begin(Runs::With("tc"), &config)?;
    let lab = &scene.lab;
    let mac = topology::text(topology::mac("client", "eth0"));
    let client = lab::gateway::CLIENT;
    // Markup and control characters: weir escapes both.
    let lease = format!("2000000000 {mac} {client} the-\x1b[31mlaptop 01:{mac}\n");
    std::fs::write(&leases, lease).map_err(Error::system("write leases"))?;

    let server = lab.arrangement().server(false);
    forge(lab, "bank1.example", server)?;
    ask_tcp(scene.client()?, SocketAddr::new(server, ECHO), b"x")?;
    let forged = || -> Result<Vec<Option<String>>, Error> {
        let conversations = scene.weir.client()?.conversations(&Default::default());
        let conversations = conversations.map_err(unexpected)?.conversations.into_iter();
        let tcp = conversations
            .filter(|conversation| conversation.protocol == Some(answers::Protocol::Tcp));
        Ok(tcp.map(|conversation| conversation.remote_name).collect())
    };
    wait_until("the conversation is known", LIMIT, || {
        Ok(!forged()?.is_empty())
    })?;
    assert!(forged()?.iter().all(Option::is_none), "{:?}", forged()?);
    let mut dnsmasq = Command::new("dnsmasq");
    // Servers that start at once would share a file.
    dnsmasq.arg("--pid-file=");
    dnsmasq.args([
        "--no-daemon",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--user=root",
    ]);
    dnsmasq.arg(format!("--address=/www.example.net/{server}"));
    dnsmasq
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _dnsmasq = lab.node("router")?.start(&mut dnsmasq)?;
    let gateway = lab.node("client")?.run("ip -4 route show default")?;
    let gateway = gateway
        .split_whitespace()
        .nth(2)
        .unwrap_or_default()
        .to_owned();
    let asked = format!("dig +short +tries=20 +time=1 @{gateway} www.example.net");
    assert_eq!(scene.client()?.run(&asked)?.trim(), server.to_string());
    let asked = answers::ConversationsQuery {
        device: Some(mac.clone()),
        // The wanted conversation is not the busiest of many ended ones.
        sort: answers::ConversationSort::Recent,
        limit: *answers::monitor::CONVERSATION_LIMITS.end(),
        ..Default::default()
    };
    let mut seen = String::new();
    let mut wait_for = |name: &str, say: &dyn Fn() -> Result<(), Error>| {
        wait_until("names are there", LIMIT, || {
            say()?;
            let devices = scene.devices()?;
            let conversations = scene
                .weir
                .client()?
                .conversations(&asked)
                .map_err(unexpected)?;
            seen = format!(
                "{devices:#?} {:#?}",
                conversations
                    .conversations
                    .iter()
                    .take(3)
                    .collect::<Vec<_>>()
            );
            let known = devices.devices.iter().any(|device| {
                let called = device.name.as_deref();
                device.mac == mac && called.is_some_and(|called| called.contains("laptop"))
            });
            let mut conversations = conversations.conversations.iter();
            Ok(known
                && conversations
                    .any(|conversation| conversation.remote_name.as_deref() == Some(name)))
        })
    };
    let told = || ask_tcp(scene.client()?, SocketAddr::new(server, ECHO), b"x").map(|_| ());
    let named = wait_for("www.example.net", &told).and_then(|()| {
        // The server stays silent, so openssl waits and the conversation lives during the search.
        let silent = SocketAddr::new(server, 4433);
        let listener = scene
            .lab
            .node("server")?
            .enter(|| TcpListener::bind(silent))?;
        let _listener = listener.map_err(Error::system("listen"))?;
        let mut openssl = Command::new("openssl");
        openssl.args(["s_client", "-servername", "shop.example.org", "-connect"]);
        openssl.arg(silent.to_string()).stdin(Stdio::piped());
        openssl.stdout(Stdio::null()).stderr(Stdio::null());
        let _openssl = scene.client()?.start(&mut openssl)?;
        wait_for("shop.example.org", &|| Ok(()))
    });
    named.map_err(|error| Error::Unexpected(format!("{error}: {seen}")))?;
    assert!(!seen.contains('\x1b'), "{seen}");
    Ok(())
}

/// Builds a TLS ClientHello (RFC 8446, 4.1.2) with this many bytes of padding (RFC 7685) before the
/// server's name.
fn hello(name: &str, padding: u16) -> Vec<u8> {
    let block = |kind: u16, content: &[u8]| -> Vec<u8> {
        let length = (content.len() as u16).to_be_bytes();
        [&kind.to_be_bytes()[..], &length, content].concat()
    };
    let short = (name.len() as u16).to_be_bytes();
    let list = [&[0][..], &short, name.as_bytes()].concat();
    let list = [&(list.len() as u16).to_be_bytes()[..], &list].concat();
    let extensions = [block(21, &vec![0; padding.into()]), block(0, &list)].concat();
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let length = (body.len() as u32).to_be_bytes();
    let handshake = [&[1][..], &length[1..], &body].concat();
    let length = (handshake.len() as u16).to_be_bytes();
    [&[0x16, 3, 1][..], &length, &handshake].concat()
}

/// Browsers send hellos longer than a packet with a late name, also if the kernel merges both
/// segments into one super-packet.
#[test]
fn a_long_hello_is_read_whole() -> Result<(), Error> {
    for plain in [true, false] {
        let scene = Scene::with_wires(Runs::Alone, "", plain)?;
        let to = SocketAddr::new(scene.lab.arrangement().server(false), ECHO);
        let said = hello("late.example.org", 1700);
        let mut seen = String::new();
        let known = wait_until("the name is known", LIMIT, || {
            ask_tcp(scene.client()?, to, &said)?;
            let client = scene.weir.client()?;
            let conversations = client
                .conversations(&Default::default())
                .map_err(unexpected)?;
            seen = format!("{conversations:#?}");
            let mut names = conversations
                .conversations
                .iter()
                .filter_map(|conversation| conversation.remote_name.as_deref());
            Ok(names.any(|name| name == "late.example.org"))
        });
        known.map_err(|error| Error::Unexpected(format!("plain {plain}: {error}: {seen}")))?;
    }
    Ok(())
}
