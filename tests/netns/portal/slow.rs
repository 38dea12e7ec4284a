//! Clients that never end a request.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use lab::topology::Offloads;

use super::*;

/// The addresses of the slow device.
const ADDRESSES: std::ops::Range<u8> = 64..128;

/// Connects from the given address of this host.
fn connect(host: &Namespace, from: Ipv4Addr, to: SocketAddr) -> Result<TcpStream, Error> {
    let stream = host.enter(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from((from, 0)))?;
            let stream = socket.connect(to).await?.into_std()?;
            stream.set_nonblocking(false)?;
            stream.set_read_timeout(Some(LIMIT))?;
            Ok::<_, std::io::Error>(stream)
        })
    })?;
    stream.map_err(unexpected)
}

/// A device with 64 addresses begins requests and ends none of them. Another guest still gets the
/// page 20 times of 20, and DNS answers by TCP.
#[test]
fn a_slow_device_keeps_no_guest_out() -> Result<(), Error> {
    let folder = Directory::new();
    std::fs::write(folder.join("said.md"), scene::SAID).map_err(unexpected)?;
    let mut lab = Lab::gateway(&Options::default())?;
    lab.host("other")?;
    lab.wire(("router", "lan1"), ("other", "eth0"), Offloads::Default)?;
    lab.address("router", "lan1", "192.168.3.1/24")?;
    lab.address("other", "eth0", "192.168.3.2/24")?;
    for last in ADDRESSES {
        lab.address("client", "eth0", &format!("192.168.1.{last}/24"))?;
    }
    let config = configuration("off", &folder, "").replace("[\"lan0\"]", "[\"lan0\", \"lan1\"]");
    let weir = Weir::start(lab.node("router")?, &config, &[])?;
    let place = Place { weir, lab, folder };
    place.is_closed()?;
    let (client, other) = (place.client()?, place.lab.node("other")?);
    let head = "POST /login HTTP/1.1\r\nHost: 192.168.1.1:2080\r\nContent-Length: 99\r\n\r\nc";
    let mut held = Vec::new();
    for (port, begun, each) in [(2080, head.as_bytes(), 4), (53, &[0, 99, 1], 1)] {
        let to = SocketAddr::from(([192, 168, 1, 1], port));
        for last in ADDRESSES.flat_map(|last| std::iter::repeat_n(last, each)) {
            if let Ok(mut slow) = connect(client, Ipv4Addr::new(192, 168, 1, last), to) {
                let _ = slow.write_all(begun);
                held.push(slow);
            }
        }
    }
    let own = Ipv4Addr::new(192, 168, 3, 2);
    let request = b"GET / HTTP/1.1\r\nHost: 192.168.3.1:2080\r\nConnection: close\r\n\r\n";
    // example.org, A, IN (RFC 1035 section 4.1), with its length before it (section 4.2.2).
    let question = b"\x00\x1d\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\
        \x07example\x03org\x00\x00\x01\x00\x01";
    for n in 0..20 {
        let mut page = connect(other, own, SocketAddr::from(([192, 168, 3, 1], 2080)))?;
        let _ = page.write_all(request);
        let mut answer = Vec::new();
        let _ = page.read_to_end(&mut answer);
        assert!(answer.starts_with(b"HTTP/1.1 200 "), "page {n}");
        let mut names = connect(other, own, SocketAddr::from(([192, 168, 3, 1], 53)))?;
        let _ = names.write_all(question);
        let mut answer = [0; 4];
        let read = names.read_exact(&mut answer);
        assert!(read.is_ok() && answer[2..] == [0x12, 0x34], "name {n}");
    }
    Ok(())
}
