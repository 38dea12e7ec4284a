//! The router's paths in the tunnel: a socket for each, shared by the sessions.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::Poll;

use tokio::net::UdpSocket;
use tracing::{debug, warn};

use crate::hints::{Hint, Use};
use crate::io::proxy_state::{Health, PathInfo, ProxyState};
use crate::io::socket;
use crate::io::tunnel::longest;
use crate::tunnel::{Micros, PATHS, PathSettings, State, Tunnel};

/// MTU of Ethernet, for a device whose MTU cannot be read.
const ETHERNET: u32 = 1500;
/// Pause after a failure to open a socket: the address is not quite there yet, or all descriptors
/// are in use.
const AGAIN: Micros = 500_000;

/// Socket of a path, by the path's number in the tunnels.
pub struct Line {
    socket: UdpSocket,
    address: IpAddr,
    device: String,
    /// Settings of the path; each tunnel has its own remote end.
    settings: PathSettings,
}

impl Line {
    fn open(path: &PathInfo, remote: SocketAddr) -> io::Result<Self> {
        let (address, device) = (path.address, &path.device);
        let socket = std::net::UdpSocket::bind(SocketAddr::new(address, 0))?;
        socket.set_nonblocking(true)?;
        if address.is_ipv4() {
            socket::keep_length(&socket)?;
        }
        let mtu = std::fs::read_to_string(format!("/sys/class/net/{device}/mtu"));
        let mtu = mtu.ok().and_then(|text| text.trim().parse().ok());
        let plain = PathSettings {
            remote,
            longest: longest(mtu.unwrap_or(ETHERNET), address.is_ipv6()),
            weight: 100,
            backup: false,
            metered: false,
            rate_out: None,
            rate_in: None,
        };
        Ok(Self {
            socket: UdpSocket::from_std(socket)?,
            address,
            device: device.clone(),
            settings: settings(plain, path.hint),
        })
    }

    /// Compares the device too: an address may move to another.
    fn is(&self, path: &PathInfo) -> bool {
        (self.address, &self.device) == (path.address, &path.device)
    }
}

/// Applies a hint to the settings of a path.
fn settings(path: PathSettings, hint: Hint) -> PathSettings {
    let octets = |bits: u64| (bits / 8).max(1);
    PathSettings {
        weight: hint.weight,
        backup: hint.used == Use::Backup,
        metered: hint.used == Use::Metered,
        rate_out: hint.up.map(octets),
        rate_in: hint.down.map(octets),
        ..path
    }
}

/// Tunnel of a session.
pub struct SessionTunnel {
    pub session: u64,
    pub partner: SocketAddr,
    pub tunnel: Tunnel,
    /// Bytes there and back at the last count, by path.
    counted: [[u64; 2]; PATHS],
}

impl SessionTunnel {
    /// Creates the tunnel of a session, without paths.
    pub fn new(session: u64, partner: SocketAddr, tunnel: Tunnel) -> Self {
        Self {
            session,
            partner,
            tunnel,
            counted: [[0; 2]; PATHS],
        }
    }

    /// Returns the health of a path, if known.
    pub fn health(&self, number: u8) -> Option<Health> {
        let report = self.tunnel.paths().find(|report| report.path == number)?;
        match report.state {
            State::New => None,
            State::Up | State::Suspect => Some(Health::Up),
            State::Down => Some(Health::Down),
        }
    }

    /// Returns true if the partner answers by any path.
    pub fn works(&self) -> bool {
        (0..PATHS as u8).any(|number| self.health(number) == Some(Health::Up))
    }

    /// Returns the bytes there and back by a path.
    fn sums(&self, number: u8) -> [u64; 2] {
        let report = self.tunnel.paths().find(|report| report.path == number);
        report.map_or([0; 2], |it| [it.sent.octets, it.received.octets])
    }

    /// Returns the bytes there and back by a path since the last count.
    fn count(&mut self, number: u8) -> [u64; 2] {
        let sums = self.sums(number);
        let counted = std::mem::replace(&mut self.counted[usize::from(number)], sums);
        std::array::from_fn(|way| sums[way].saturating_sub(counted[way]))
    }

    /// Returns true if the partner is of the address's family.
    fn fits(&self, address: IpAddr) -> bool {
        address.is_ipv6() == self.partner.is_ipv6()
    }

    /// Adds a path, or updates it.
    fn add(&mut self, number: u8, line: &Line, now: Micros) {
        if !self.fits(line.address) {
            return;
        }
        let settings = PathSettings {
            remote: self.partner,
            ..line.settings
        };
        let added = self
            .tunnel
            .add_path(number, settings, now)
            .or_else(|_| self.tunnel.change_path(number, settings, now));
        if let Err(error) = added {
            warn!(%error, device = line.device, "cannot add a path to the tunnel");
        }
        self.counted[usize::from(number)] = self.sums(number);
    }
}

/// Sockets of all paths, by number in the tunnels.
#[derive(Default)]
pub struct Lines {
    lines: BTreeMap<u8, Line>,
    /// Time of the next try to open missing sockets.
    again: Option<Micros>,
}

impl Lines {
    /// Returns the own address and device of each path, by number.
    pub fn all(&self) -> impl Iterator<Item = (u8, IpAddr, &str)> {
        let lines = self.lines.iter();
        lines.map(|(number, line)| (*number, line.address, &*line.device))
    }

    /// Returns the socket of a path.
    pub fn socket(&self, number: u8) -> Option<&UdpSocket> {
        self.lines.get(&number).map(|line| &line.socket)
    }

    /// Returns the time of the next try.
    pub fn again(&self) -> Option<Micros> {
        self.again
    }

    /// Waits for a path with datagrams.
    pub async fn ready(&self) -> u8 {
        poll_fn(|context| {
            let mut ready = |line: &Line| line.socket.poll_recv_ready(context).is_ready();
            let mut lines = self.lines.iter();
            let found = lines.find_map(|(number, line)| ready(line).then_some(*number));
            found.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Adds all paths that fit to a tunnel.
    pub fn join(&self, tunnel: &mut SessionTunnel, now: Micros) {
        for (number, line) in &self.lines {
            tunnel.add(*number, line, now);
        }
    }

    /// Adds the bytes that the tunnels carried since the last time to the sums of each path.
    pub fn count(&self, tunnels: &mut [SessionTunnel], share: &ProxyState) {
        for (number, line) in &self.lines {
            for carried in &mut *tunnels {
                share.add_tunnelled(line.address, carried.count(*number));
            }
        }
    }

    /// Follows the router's paths, and updates the tunnels.
    pub fn follow(&mut self, paths: &[PathInfo], tunnels: &mut [SessionTunnel], now: Micros) {
        self.again = None;
        let gone: Vec<u8> = self
            .lines
            .iter()
            .filter(|(_, line)| !paths.iter().any(|path| line.is(path)))
            .map(|(number, _)| *number)
            .collect();
        for number in gone {
            for carried in &mut *tunnels {
                // The path cannot carry a notice, and need not: the other end sees the silence.
                let _ = carried.tunnel.remove_path(number, now);
            }
            self.lines.remove(&number);
        }
        for path in paths {
            let mut lines = self.lines.iter_mut();
            if let Some((number, line)) = lines.find(|(_, line)| line.is(path)) {
                let settings = settings(line.settings, path.hint);
                if line.settings != settings {
                    line.settings = settings;
                    for SessionTunnel {
                        tunnel, partner, ..
                    } in &mut *tunnels
                    {
                        let remote = *partner;
                        // A tunnel without this path has nothing to update.
                        let _ = tunnel.settle_path(*number, PathSettings { remote, ..settings });
                    }
                }
                continue;
            }
            let mut fitting = tunnels.iter();
            let Some(fits) = fitting.rfind(|carried| carried.fits(path.address)) else {
                continue;
            };
            let taken = |number: &u8| self.lines.contains_key(number);
            let Some(number) = (0..PATHS as u8).find(|number| !taken(number)) else {
                warn!(device = path.device, "too many paths for a tunnel");
                return;
            };
            match Line::open(path, fits.partner) {
                Ok(line) => {
                    for carried in &mut *tunnels {
                        carried.add(number, &line, now);
                    }
                    self.lines.insert(number, line);
                }
                Err(error) => {
                    debug!(%error, device = path.device, "cannot add a path to the tunnel yet");
                    self.again = Some(now + AGAIN);
                }
            }
        }
    }
}
