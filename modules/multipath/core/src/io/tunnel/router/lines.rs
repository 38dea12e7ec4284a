//! The router's paths, as the tunnel's ends have them: a socket for each, that sessions share.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::UdpSocket;
use tracing::{debug, warn};

use super::{Carried, End, longest};
use crate::hints::{Hint, Use};
use crate::io::share::Known;
use crate::io::socket;
use crate::tunnel::{Micros, PATHS, PathSettings};

/// A device that tells no MTU is taken for Ethernet.
const ETHERNET: u32 = 1500;
/// After a socket could not be had: the address is not quite there yet, or all descriptors are in
/// use.
const AGAIN: Micros = 500_000;

/// One path's socket, by its number in the tunnels.
pub(super) struct Line {
    pub(super) socket: UdpSocket,
    pub(super) address: IpAddr,
    pub(super) device: String,
    /// The remote end is each tunnel's own.
    settings: PathSettings,
}

impl Line {
    fn open(path: &Known, remote: SocketAddr) -> io::Result<Self> {
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

    /// An address may come to another device.
    fn is(&self, path: &Known) -> bool {
        (self.address, &self.device) == (path.address, &path.device)
    }
}

/// The same path, with what is said of it.
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

impl Carried {
    /// Whether its partner is reached from there.
    fn fits(&self, address: IpAddr) -> bool {
        address.is_ipv6() == self.partner.is_ipv6()
    }

    /// A path is there, which may have been there before.
    pub(super) fn add(&mut self, number: u8, line: &Line, now: Micros) {
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
            warn!(%error, device = line.device, "no tunnel by this path");
        }
        self.counted[usize::from(number)] = self.sums(number);
    }
}

impl End<'_> {
    /// Follows the router's paths.
    pub(super) fn lead(&mut self, paths: &[Known]) {
        self.change(paths);
        // Of a path that is gone nothing is known any more.
        self.tell();
    }

    fn change(&mut self, paths: &[Known]) {
        let now = self.clock.now();
        self.again = None;
        self.count(now);
        let gone: Vec<u8> = self
            .lines
            .iter()
            .filter(|(_, line)| !paths.iter().any(|path| line.is(path)))
            .map(|(number, _)| *number)
            .collect();
        for number in gone {
            for carried in &mut self.tunnels {
                // It cannot be told by this path, and need not: the other end sees that it is
                // silent.
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
                    for Carried {
                        tunnel, partner, ..
                    } in &mut self.tunnels
                    {
                        let remote = *partner;
                        // Where it is not there, there is nothing to be said of it.
                        let _ = tunnel.settle_path(*number, PathSettings { remote, ..settings });
                    }
                }
                continue;
            }
            let mut tunnels = self.tunnels.iter();
            let Some(fits) = tunnels.rfind(|carried| carried.fits(path.address)) else {
                continue;
            };
            let taken = |number: &u8| self.lines.contains_key(number);
            let Some(number) = (0..PATHS as u8).find(|number| !taken(number)) else {
                warn!(
                    device = path.device,
                    "there are more paths than a tunnel takes"
                );
                return;
            };
            match Line::open(path, fits.partner) {
                Ok(line) => {
                    for carried in &mut self.tunnels {
                        carried.add(number, &line, now);
                    }
                    self.lines.insert(number, line);
                }
                Err(error) => {
                    debug!(%error, device = path.device, "no tunnel by this path yet");
                    self.again = Some(now + AGAIN);
                }
            }
        }
    }
}
