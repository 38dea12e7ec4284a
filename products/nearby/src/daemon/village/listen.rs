//! Listener for nodes of the village: accepts callers that have the secret.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::{debug, info};

use super::link::{Error, LinkContext, shake};
use crate::village::{HalfOpenLimiter, Handshake, HandshakeResult, PORT};

/// Time after which a machine without room for connections tries again.
const AGAIN: Duration = Duration::from_secs(1);
/// Connections that the kernel keeps until they are taken.
const BACKLOG: u32 = 64;

/// Listens; without addresses: at all addresses, of either version.
pub fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, String> {
    let wrong = |address: SocketAddr| {
        move |error| format!("cannot listen on {address} for nodes of the village: {error}")
    };
    if addresses.is_empty() {
        let six = SocketAddr::from((Ipv6Addr::UNSPECIFIED, PORT));
        let four = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
        // A machine may have no IPv6.
        let listener = match one(six) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Err(wrong(six)(error)),
            Err(_) => one(four).map_err(wrong(four)),
            listener => listener.map_err(wrong(six)),
        };
        return Ok(vec![listener?]);
    }
    let all = addresses.iter().map(|it| one(*it).map_err(wrong(*it)));
    all.collect()
}

fn one(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => {
            let socket = TcpSocket::new_v6()?;
            // The IPv6 wildcard includes IPv4, whatever the system's default is.
            setsockopt(
                &socket,
                sockopt::Ipv6V6Only,
                &!address.ip().is_unspecified(),
            )?;
            socket
        }
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    info!(address = %listener.local_addr()?, "listening for nodes of the village");
    Ok(listener)
}

type Came = (TcpStream, SocketAddr);

/// Accepts callers, as long as the program runs.
pub async fn listen(around: Arc<LinkContext>, listeners: Vec<TcpListener>) {
    let (came, mut coming) = mpsc::channel(1);
    for listener in listeners {
        tokio::spawn(accept(listener, came.clone()));
    }
    let mut door = HalfOpenLimiter::default();
    let mut tasks: JoinSet<(u32, Option<(Came, HandshakeResult)>)> = JoinSet::new();
    let mut ends = BTreeMap::new();
    loop {
        tokio::select! {
            Some((socket, address)) = coming.recv() => {
                let number = around.numbers.next();
                let goes = door.enter(number, address.ip());
                if let Some(task) = goes.and_then(|it| ends.remove(&it)) {
                    let task: tokio::task::AbortHandle = task;
                    task.abort();
                }
                let around = Arc::clone(&around);
                let task = async move { (number, answer(&around, socket, address).await) };
                ends.insert(number, tasks.spawn(task));
            }
            Some(done) = tasks.join_next() => {
                // The limiter has already removed a dropped handshake.
                let Ok((number, through)) = done else { continue };
                door.leave(number);
                ends.remove(&number);
                if let Some(((socket, address), through)) = through {
                    let around = Arc::clone(&around);
                    tokio::spawn(async move {
                        around.talk(socket, address, false, through).await;
                    });
                }
            }
            else => return,
        }
    }
}

async fn accept(listener: TcpListener, came: mpsc::Sender<Came>) {
    loop {
        match listener.accept().await {
            Ok((socket, address)) => {
                let address = SocketAddr::new(address.ip().to_canonical(), address.port());
                if came.send((socket, address)).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                debug!(%error, "cannot accept a connection");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

async fn answer(
    around: &LinkContext,
    mut socket: TcpStream,
    address: SocketAddr,
) -> Option<(Came, HandshakeResult)> {
    let handshake = Handshake::answer(&around.secret, Arc::clone(&around.key));
    let done = match handshake {
        Ok(handshake) => shake(&mut socket, handshake, Vec::new()).await,
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(through) => return Some(((socket, address), through)),
        Err(Error::Handshake(error)) => around.stranger(address, &error),
        Err(error) => debug!(%address, %error, "caller sent nothing"),
    }
    None
}
