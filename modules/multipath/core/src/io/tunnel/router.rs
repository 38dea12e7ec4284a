//! The router's end: one UDP socket for each path, a device for the clients' packets.
//!
//! Each session has its own keys, and so its own tunnel. After a change of session, both tunnels
//! exist until the new one has a path that works, and a little longer.

mod lines;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use kernel::Prefix;
use kernel::io::Device;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use tracing::{debug, info, warn};

use super::{BURST, Clock, LONGEST, Tun, settings};
use crate::io::proxy_state::{ActiveSession, Health, PathInfo, ProxyState};
use crate::io::router::forget_tunnelled;
use crate::net::given;
use crate::tunnel::datagram::Header;
use crate::tunnel::{Micros, PacketError, Role, Tunnel};
use crate::welcome::Welcome;
use lines::{Lines, SessionTunnel};

/// Shortest interval of counting bytes.
const COUNT: Micros = 500_000;
/// Time for which an old tunnel still receives.
const LINGER: Micros = 2_000_000;

/// The router's end of all tunnels.
struct End<'a> {
    tun: &'a Tun,
    share: &'a ProxyState,
    /// Index of the device.
    link: u32,
    /// Open since the first session.
    device: Option<Device>,
    /// Addresses and MTU of the device, from the session.
    addresses: Vec<Prefix>,
    mtu: usize,
    clock: Clock,
    lines: Lines,
    /// The tunnel of the present session is the last.
    tunnels: Vec<SessionTunnel>,
    /// Time at which old tunnels end.
    leaves: Option<Micros>,
    /// Time of the last count of bytes.
    counted: Micros,
}

/// Carries packets, for ever. `link`: index of the device.
pub async fn run(tun: Tun, link: u32, share: Arc<ProxyState>) {
    let (mut meetings, mut paths) = (share.meetings(), share.paths());
    meetings.mark_changed();
    let mut end = End {
        tun: &tun,
        share: &share,
        link,
        device: None,
        addresses: Vec::new(),
        mtu: 0,
        clock: Clock::new(),
        lines: Lines::default(),
        tunnels: Vec::new(),
        leaves: None,
        counted: 0,
    };
    let mut buffer = vec![0; LONGEST];
    loop {
        end.settle(&mut buffer);
        let went = tokio::select! {
            told = meetings.changed() => {
                if told.is_err() {
                    return;
                }
                let meeting = meetings.borrow_and_update().clone();
                meeting.map_or(Ok(()), |meeting| {
                    let met = end.meet(&meeting);
                    end.lead(&paths.borrow_and_update().clone());
                    met
                })
            }
            _ = paths.changed() => { end.lead(&paths.borrow_and_update().clone()); Ok(()) }
            packet = tun.readable(), if !end.tunnels.is_empty() => {
                packet.and_then(|()| end.packets(&mut buffer))
            }
            number = end.lines.ready() => { end.datagrams(number, &mut buffer); Ok(()) }
            () = end.clock.until(end.next()) => { end.tick(); Ok(()) }
            () = end.clock.until(end.lines.again()) => {
                end.lead(&paths.borrow_and_update().clone());
                Ok(())
            }
        };
        if let Err(error) = went {
            warn!(%error, "no tunnel: everything except TCP goes directly");
            end.leave();
        }
    }
}

/// Returns the networks of this router's other devices.
fn networks(but: u32) -> io::Result<Vec<Prefix>> {
    let networks = getifaddrs()?.filter(|it| if_nametoindex(&*it.interface_name) != Ok(but));
    let networks = networks.filter_map(|it| {
        let [address, mask] = [it.address?, it.netmask?].map(|it| {
            let four = it.as_sockaddr_in().map(|it| IpAddr::V4(it.ip()));
            four.or_else(|| it.as_sockaddr_in6().map(|it| IpAddr::V6(it.ip())))
        });
        let length = match mask? {
            IpAddr::V4(mask) => mask.to_bits().leading_ones(),
            IpAddr::V6(mask) => mask.to_bits().leading_ones(),
        };
        Some(Prefix::truncated(address?, length as u8))
    });
    Ok(networks.collect())
}

impl End<'_> {
    /// Follows the router's paths.
    fn lead(&mut self, paths: &[PathInfo]) {
        let now = self.clock.now();
        self.count(now);
        self.lines.follow(paths, &mut self.tunnels, now);
        // The health of a removed path is unknown.
        self.tell();
    }

    /// Creates a tunnel for a new session, in addition to the working one.
    fn meet(&mut self, meeting: &ActiveSession) -> io::Result<()> {
        self.count(self.clock.now());
        self.take_addresses(&meeting.welcome)?;
        let former = self.used().map(|used| self.tunnels.swap_remove(used));
        self.tunnels = former.into_iter().collect();
        let keys = meeting.session.datagrams();
        let session = meeting.session.id().0;
        let settings = settings().map_err(io::Error::other)?;
        let tunnel = Tunnel::new(Role::Router, session, &keys, settings);
        let mut tunnel = SessionTunnel::new(session, meeting.partner, tunnel);
        self.lines.join(&mut tunnel, self.clock.now());
        self.tunnels.push(tunnel);
        Ok(())
    }

    /// Sets the partner's addresses on the device, and removes old ones.
    fn take_addresses(&mut self, welcome: &Welcome) -> io::Result<()> {
        let failed = |error: kernel::io::RequestError| io::Error::other(error);
        let four = welcome.tunnel4.map(|(address, _)| address.into());
        let six = welcome.tunnel6.map(|(address, _)| address.into());
        let own = networks(self.link)?;
        let wanted = [four, six].into_iter().flatten();
        let wanted = wanted.map(|address| given(address, &own));
        let wanted = wanted.collect::<Result<Vec<_>, _>>();
        let mut device = Device::open(self.link).map_err(failed)?;
        let is_former = |it: &mut Prefix| !wanted.as_ref().is_ok_and(|all| all.contains(it));
        let former: Vec<_> = self.addresses.extract_if(.., is_former).collect();
        for address in &former {
            device.remove_address(*address).map_err(failed)?;
        }
        if !former.is_empty() {
            // Conversations have the old addresses, which the partner no longer accepts.
            forget_tunnelled();
        }
        for address in wanted.map_err(io::Error::other)? {
            device.add_address(address).map_err(failed)?;
            if !self.addresses.contains(&address) {
                self.addresses.push(address);
            }
        }
        self.device = Some(device);
        Ok(())
    }

    /// Removes all tunnels until the next session.
    fn leave(&mut self) {
        self.count(self.clock.now());
        self.tunnels.clear();
        self.lines = Lines::default();
        self.leaves = None;
        self.tell();
    }

    /// Returns the tunnel for packets: the newest working one, otherwise the newest.
    fn used(&self) -> Option<usize> {
        let works = self.tunnels.iter().rposition(SessionTunnel::works);
        works.or(self.tunnels.len().checked_sub(1))
    }

    /// Carries packets of clients.
    fn packets(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let Some(used) = self.used() else {
            return Ok(());
        };
        for _ in 0..BURST {
            let Some(packet) = self.tun.read(buffer)? else {
                return Ok(());
            };
            let tunnel = &mut self.tunnels[used].tunnel;
            match tunnel.packet_in(packet, self.clock.now()) {
                Ok(()) | Err(PacketError::NoPath) => {}
                Err(error) => debug!(%error, "packet dropped"),
            }
        }
        Ok(())
    }

    /// Carries datagrams of the partner.
    fn datagrams(&mut self, number: u8, buffer: &mut [u8]) {
        for _ in 0..BURST {
            let Some(socket) = self.lines.socket(number) else {
                return;
            };
            match socket.try_recv_from(buffer) {
                Ok((length, from)) => self.datagram(from, &mut buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // An ICMP error of an earlier datagram: the path's probes show its meaning.
                Err(_) => {}
            }
        }
    }

    fn datagram(&mut self, from: SocketAddr, datagram: &mut [u8]) {
        let Ok(header) = Header::read(datagram) else {
            return;
        };
        let of = |it: &&mut SessionTunnel| (it.session, it.partner) == (header.session, from);
        let Some(carried) = self.tunnels.iter_mut().find(of) else {
            return;
        };
        let tun = self.tun;
        let mut deliver = |packet: &[u8]| tun.write(packet);
        let tunnel = &mut carried.tunnel;
        if let Err(error) = tunnel.datagram_in(from, datagram, self.clock.now(), &mut deliver) {
            debug!(%error, %from, "invalid datagram from the partner");
        }
    }

    /// Returns the time of the next [`End::tick`].
    fn next(&self) -> Option<Micros> {
        let now = self.clock.now();
        let tunnels = self.tunnels.iter().filter_map(|it| it.tunnel.next(now));
        tunnels.chain(self.leaves).min()
    }

    fn tick(&mut self) {
        let (now, tun) = (self.clock.now(), self.tun);
        for carried in &mut self.tunnels {
            let deliver = &mut |packet: &[u8]| tun.write(packet);
            carried.tunnel.tick(now, deliver);
        }
        if now.saturating_sub(self.counted) >= COUNT {
            self.count(now);
        }
        if self.leaves.is_some_and(|leaves| leaves <= now) {
            self.leaves = None;
            let former = self.tunnels.len().saturating_sub(1);
            self.tunnels.drain(..former);
        }
    }

    /// Counts bytes, by path.
    fn count(&mut self, now: Micros) {
        self.counted = now;
        self.lines.count(&mut self.tunnels, self.share);
    }

    /// Sends pending datagrams, and reports events.
    fn settle(&mut self, buffer: &mut [u8]) {
        let mut happened = false;
        for carried in &mut self.tunnels {
            while let Some(send) = carried.tunnel.send(self.clock.now(), buffer) {
                if let Some(socket) = self.lines.socket(send.path) {
                    // A datagram that the socket refuses is lost, as on the path.
                    let _ = socket.try_send_to(&buffer[..send.length], send.to);
                }
            }
            while let Some(event) = carried.tunnel.event() {
                debug!(?event, session = carried.session, "tunnel");
                happened = true;
            }
        }
        if happened {
            self.tell();
        }
    }

    /// Reports the health of the paths, and ends old tunnels once the new one works.
    fn tell(&mut self) {
        let mut health = BTreeMap::new();
        let used = self.used();
        for (number, address, device) in self.lines.all() {
            let used = used.and_then(|used| self.tunnels[used].health(number));
            // A new tunnel does not have the measurements of its predecessor yet.
            let known = || self.tunnels.iter().rev().find_map(|it| it.health(number));
            if let Some(now) = used.or_else(known) {
                health.insert(address, now);
                self.log(address, device, now);
            }
        }
        self.share.set_health(health);
        let Some(used) = used else { return };
        self.leaves = match used + 1 == self.tunnels.len() && used > 0 {
            true => self.leaves.or(Some(self.clock.now() + LINGER)),
            false => None,
        };
        if let (Some(mtu), Some(device)) = (self.tunnels[used].tunnel.mtu(), &mut self.device)
            && mtu != self.mtu
        {
            match device.up(u32::try_from(mtu).unwrap_or(u32::MAX)) {
                Ok(()) => self.mtu = mtu,
                Err(error) => warn!(%error, "cannot bring up the tunnel's device"),
            }
        }
    }

    fn log(&self, address: IpAddr, device: &str, now: Health) {
        if self.share.health(address) == Some(now) || !self.share.tells(device) {
            return;
        }
        match now {
            Health::Up => info!(device, %address, "path answers"),
            Health::Down => info!(device, %address, "path does not answer"),
        }
    }
}
