//! Names, as guests ask for them: over UDP and TCP (RFC 1035 section 4.2).

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, TcpListener as StdListener, UdpSocket as StdSocket};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg,
};
use portal_core::names::answer;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::LocalSet;
use tracing::debug;
use web::ConnectionPool;

use super::walled_garden::WalledGardenClient;

/// Maximum length of a query, in bytes: longer ones are dropped.
const LONGEST: usize = 1232;
/// Connections at once: seldom any; and of one guest.
const CONNECTIONS: usize = 64;
const OF_ONE: usize = 2;
/// Time limit for a query to arrive, and for its answer to be accepted.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum number of concurrent DNS queries for the walled garden by datagrams; and of one guest.
const FORWARDED: usize = 32;
const FORWARDED_OF_ONE: usize = 16;

/// Serves for ever; returns only an error.
pub async fn serve(
    tcp: Vec<StdListener>,
    udp: Vec<StdSocket>,
    guide: Rc<WalledGardenClient>,
) -> io::Error {
    let began = Instant::now();
    let pool = |most, share| {
        Rc::new(ConnectionPool::new(
            most,
            share,
            Rc::new(move || began.elapsed()),
        ))
    };
    let forwarded = pool(FORWARDED, FORWARDED_OF_ONE);
    let room = pool(CONNECTIONS, OF_ONE);
    let connections = LocalSet::new();
    let all = async {
        let (send, mut heard) = tokio::sync::mpsc::unbounded_channel();
        for socket in udp {
            let (send, guide, forwarded) = (send.clone(), Rc::clone(&guide), Rc::clone(&forwarded));
            tokio::task::spawn_local(async move {
                let _ = send.send(datagrams(socket, guide, forwarded).await);
            });
        }
        for listener in tcp {
            let (send, room, guide) = (send.clone(), Rc::clone(&room), Rc::clone(&guide));
            tokio::task::spawn_local(async move {
                let _ = send.send(streams(listener, room, guide).await);
            });
        }
        heard.recv().await
    };
    let ended = connections.run_until(all).await;
    ended
        .and_then(Result::err)
        .unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())
}

async fn datagrams(
    socket: StdSocket,
    guide: Rc<WalledGardenClient>,
    forwarded: Rc<ConnectionPool>,
) -> io::Result<()> {
    let socket = Rc::new(UdpSocket::from_std(socket)?);
    let mut octets = [0; LONGEST];
    loop {
        let take = || receive(&socket, &mut octets);
        let (length, from, to) = match socket.async_io(Interest::READABLE, take).await {
            Ok(received) => received,
            // The error belongs to the last answer.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(error) => return Err(error),
        };
        let (Some(from), Some((to, source))) = (from, to) else {
            continue;
        };
        let Some(asked) = octets.get(..length) else {
            continue;
        };
        if let (Some(question), Some(guest)) = (guide.concerns(asked).await, address_of(&from)) {
            // Limited by address: datagrams with a forged sender cost weir no query.
            let Some(slot) = forwarded.enter(guest.into(), guest) else {
                continue;
            };
            slot.answering();
            let (socket, guide) = (socket.clone(), guide.clone());
            let asked = asked.to_vec();
            tokio::task::spawn_local(async move {
                let answered = tokio::select! {
                    answered = guide.answer(&asked, &question, guest) => answered,
                    () = slot.displaced() => None,
                };
                if let Some(said) = answered {
                    reply(&socket, &said, &from, &source);
                }
            });
        } else if let Some(said) = answer(asked, to) {
            reply(&socket, &said, &from, &source);
        }
    }
}

/// Sends a reply. If sending fails, the client asks again.
fn reply(socket: &UdpSocket, said: &[u8], to: &SockaddrStorage, source: &Source) {
    if let Err(error) = send(socket, said, to, source) {
        debug!(%error, "cannot answer a name query");
    }
}

fn address_of(from: &SockaddrStorage) -> Option<IpAddr> {
    let four = from.as_sockaddr_in().map(|from| from.ip().into());
    four.or_else(|| Some(from.as_sockaddr_in6()?.ip().into()))
}

/// The address that received a datagram, from which the answer is sent.
enum Source {
    V4(nix::libc::in_pktinfo),
    V6(nix::libc::in6_pktinfo),
}

type Received = (usize, Option<SockaddrStorage>, Option<(IpAddr, Source)>);

fn receive(socket: &UdpSocket, octets: &mut [u8]) -> io::Result<Received> {
    let mut space = nix::cmsg_space!(nix::libc::in6_pktinfo);
    let mut slices = [IoSliceMut::new(octets)];
    let flags = MsgFlags::MSG_DONTWAIT;
    let got = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut space), flags)?;
    let mut to = None;
    for message in got.cmsgs()? {
        to = match message {
            ControlMessageOwned::Ipv4PacketInfo(mut info) => {
                let address = IpAddr::from(u32::from_be(info.ipi_addr.s_addr).to_be_bytes());
                info.ipi_spec_dst = info.ipi_addr;
                Some((address, Source::V4(info)))
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => {
                Some((IpAddr::from(info.ipi6_addr.s6_addr), Source::V6(info)))
            }
            _ => continue,
        };
    }
    Ok((got.bytes, got.address, to))
}

fn send(socket: &UdpSocket, said: &[u8], to: &SockaddrStorage, source: &Source) -> io::Result<()> {
    let slices = [IoSlice::new(said)];
    let source = match source {
        Source::V4(info) => ControlMessage::Ipv4PacketInfo(info),
        Source::V6(info) => ControlMessage::Ipv6PacketInfo(info),
    };
    let flags = MsgFlags::MSG_DONTWAIT;
    sendmsg(socket.as_raw_fd(), &slices, &[source], flags, Some(to))?;
    Ok(())
}

async fn streams(
    listener: StdListener,
    room: Rc<ConnectionPool>,
    guide: Rc<WalledGardenClient>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let from = from.ip().to_canonical();
        let client = room.client(from, guide.client(from)).await;
        let Some(slot) = room.enter(client, from) else {
            continue;
        };
        let guide = Rc::clone(&guide);
        tokio::task::spawn_local(async move {
            tokio::select! {
                _ = tokio::time::timeout(PATIENCE, converse(stream, from, &guide)) => {}
                () = slot.displaced() => {}
            }
        });
    }
}

async fn converse(
    mut stream: TcpStream,
    guest: IpAddr,
    guide: &WalledGardenClient,
) -> io::Result<()> {
    let to = stream.local_addr()?.ip().to_canonical();
    loop {
        let length = usize::from(stream.read_u16().await?);
        if length > LONGEST {
            return Ok(());
        }
        let mut question = vec![0; length];
        stream.read_exact(&mut question).await?;
        let said = match guide.concerns(&question).await {
            Some(plain) => guide.answer(&question, &plain, guest).await,
            None => answer(&question, to),
        };
        let Some(said) = said else {
            return Ok(());
        };
        let mut out = (said.len() as u16).to_be_bytes().to_vec();
        out.extend(said);
        stream.write_all(&out).await?;
    }
}
