//! Smallest possible proxy between a client and a partner, to compare with: accepts, connects by
//! MPTCP, sends the destination, splices. Uses two threads per connection, no key, no encryption,
//! and ignores the state of paths.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;

use lab::namespace::Process;
use lab::{Namespace, Uplinks};
use nix::fcntl::{FcntlArg, SpliceFFlags, fcntl, splice};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use nix::unistd::pipe2;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::router_and_partner::{self, AT};
use crate::Error;

/// Address on which the router's side accepts.
const ACCEPT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9348));
/// Bytes per splice.
const PIPE: usize = 256 * 1024;

/// Side that a process plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Side {
    /// Takes clients' connections.
    Router,
    /// Connects to the clients' targets.
    Partner,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Partner => "partner",
        }
    }
}

/// Running proxy, both sides.
pub struct PlainProxy {
    processes: [Process; 2],
}

impl PlainProxy {
    /// Starts both sides, and sets up routes and rules.
    pub fn start(uplinks: &Uplinks) -> Result<Self, Error> {
        lead(uplinks)?;
        uplinks.router().nft(
            "table inet bare {\n chain clients {\n  type filter hook prerouting priority mangle;\n\
             \x20 socket transparent 1 meta mark set 1 accept\n\
             \x20 iifname \"lan0\" meta l4proto tcp tproxy ip to 127.0.0.1:9348 meta mark set 1 \
             accept\n }\n}\n",
        )?;
        uplinks.router().run("ip rule add fwmark 1 lookup 99")?;
        uplinks
            .router()
            .run("ip route add local default dev lo table 99")?;
        let partner = launch(uplinks.partner(), Side::Partner)?;
        router_and_partner::listens(uplinks.partner(), AT.port())?;
        let router = launch(uplinks.router(), Side::Router)?;
        router_and_partner::listens(uplinks.router(), ACCEPT.port())?;
        Ok(Self {
            processes: [router, partner],
        })
    }

    /// Returns the process ids of router and partner.
    pub fn ids(&self) -> [u32; 2] {
        [self.processes[0].id(), self.processes[1].id()]
    }
}

/// Sets a route and an MPTCP endpoint for each path, as administrators do by hand.
pub fn lead(uplinks: &Uplinks) -> Result<(), Error> {
    uplinks.source_rules()?;
    let router = uplinks.router();
    router.run("ip mptcp limits set subflows 8 add_addr_accepted 8")?;
    uplinks
        .partner()
        .run("ip mptcp limits set subflows 8 add_addr_accepted 8")?;
    for path in 0..uplinks.paths() {
        let (address, device) = (uplinks.address(path), uplinks.device(path));
        router.run(&format!(
            "ip mptcp endpoint add {address} dev {device} subflow"
        ))?;
    }
    Ok(())
}

fn launch(namespace: &Namespace, side: Side) -> Result<Process, Error> {
    let own = std::env::current_exe().map_err(Error::system("find this program"))?;
    let mut command = Command::new(own);
    command
        .args(["bare-proxy", side.name()])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Ok(namespace.start(&mut command)?)
}

/// Runs a side forever.
pub fn run(side: Side) -> Result<(), Error> {
    let serve = || -> io::Result<()> {
        let listener = match side {
            Side::Router => listen(ACCEPT, Protocol::TCP)?,
            Side::Partner => listen(AT, Protocol::MPTCP)?,
        };
        loop {
            let (near, _) = listener.accept()?;
            thread::spawn(move || match side {
                Side::Router => ask(near),
                Side::Partner => answer(near),
            });
        }
    };
    serve().map_err(Error::system("carry connections"))
}

fn listen(address: SocketAddr, protocol: Protocol) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol))?;
    socket.set_reuse_address(true)?;
    if protocol == Protocol::TCP {
        socket.set_ip_transparent_v4(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

/// Serves the router's side: sends the destination, then the client's bytes.
fn ask(client: TcpStream) -> io::Result<()> {
    let SocketAddr::V4(to) = client.local_addr()? else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP))?;
    socket.connect(&AT.into())?;
    let mut link: TcpStream = socket.into();
    settle(&link);
    link.write_all(&to.ip().octets())?;
    link.write_all(&to.port().to_be_bytes())?;
    both(client, link)
}

fn answer(mut link: TcpStream) -> io::Result<()> {
    settle(&link);
    let mut to = [0; 6];
    link.read_exact(&mut to)?;
    let [a, b, c, d, high, low] = to;
    let to = SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low]));
    both(link, TcpStream::connect(to)?)
}

/// Sets the same options as weir.
fn settle(link: &TcpStream) {
    let _ = link.set_nodelay(true);
    let _ = setsockopt(link, TcpCongestion, &"bbr".into());
}

fn both(one: TcpStream, other: TcpStream) -> io::Result<()> {
    let back = (other.try_clone()?, one.try_clone()?);
    thread::spawn(move || one_way(&back.0, &back.1));
    one_way(&one, &other)
}

fn one_way(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let (read, write) = pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let _ = fcntl(&write, FcntlArg::F_SETPIPE_SZ(PIPE as i32));
    let carried = loop {
        match carry(from, &write, PIPE)? {
            0 => break Ok(()),
            mut left => {
                while left > 0 {
                    left -= carry(&read, to, left)?;
                }
            }
        }
    };
    let _ = SockRef::from(to).shutdown(Shutdown::Write);
    carried
}

fn carry(from: impl AsFd, to: impl AsFd, octets: usize) -> io::Result<usize> {
    Ok(splice(
        from,
        None,
        to,
        None,
        octets,
        SpliceFFlags::SPLICE_F_MOVE,
    )?)
}
