//! The router's end: one UDP socket for each path, a device for the clients' packets.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;

use kernel::Prefix;
use kernel::io::Device;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use tokio::net::UdpSocket;
use tracing::{debug, info, warn};

use super::{BURST, Clock, LONGEST, Tun, longest};
use crate::hints::{Hint, Use};
use crate::io::share::{Health, Known, Meeting, Share};
use crate::net::given;
use crate::tunnel::{Event, Micros, PATHS, PathSettings, Refused, Role, Settings, State, Tunnel};

/// A device that tells no MTU is taken for Ethernet.
const ETHERNET: u32 = 1500;
/// After a socket could not be had: the address is not quite there yet, or all descriptors are in
/// use.
const AGAIN: Micros = 500_000;
/// Between two counts of bytes, at least.
const COUNT: Micros = 500_000;

/// One path's socket, by its number in the tunnel.
struct Line {
    socket: UdpSocket,
    address: IpAddr,
    settings: PathSettings,
    device: String,
    /// Bytes there and back that were counted.
    counted: [u64; 2],
}

impl Line {
    /// What tells it from others. An address may come to another device.
    fn key(&self) -> (IpAddr, &str) {
        (self.address, &self.device)
    }
}

/// The end, for as long as a session lasts.
struct End<'a> {
    tun: &'a Tun,
    share: &'a Share,
    partner: SocketAddr,
    tunnel: Tunnel,
    clock: Clock,
    lines: BTreeMap<u8, Line>,
    /// When to try again paths whose socket could not be had.
    again: Option<Micros>,
    /// When bytes were counted last.
    counted: Micros,
    mtu: usize,
    device: Device,
}

/// Carries packets, for ever: with each session anew. `link`: index of the device.
pub async fn run(tun: Tun, link: u32, share: Arc<Share>) {
    let mut meetings = share.meetings();
    let mut addresses = Vec::new();
    loop {
        let meeting = match meetings.wait_for(Option::is_some).await {
            Ok(meeting) => meeting.clone(),
            Err(_) => return,
        };
        let Some(meeting) = meeting else { continue };
        let ended = async {
            let other = |now: &Option<Arc<Meeting>>| {
                now.as_ref().is_none_or(|now| !Arc::ptr_eq(now, &meeting))
            };
            let _ = meetings.wait_for(other).await;
        };
        let work = async {
            if let Err(error) = carry(&tun, (link, &mut addresses), &share, &meeting).await {
                warn!(%error, "no tunnel: all but TCP goes directly");
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = ended => {}
            () = work => {}
        }
        share.set_health(BTreeMap::new());
    }
}

/// `addresses`: what the device has of the session before.
async fn carry(
    tun: &Tun,
    (link, addresses): (u32, &mut Vec<Prefix>),
    share: &Share,
    meeting: &Meeting,
) -> io::Result<()> {
    let welcome = &meeting.welcome;
    let failed = |error: kernel::io::RequestError| io::Error::other(error);
    let mut device = Device::open(link).map_err(failed)?;
    let four = welcome.tunnel4.map(|(address, _)| address.into());
    let six = welcome.tunnel6.map(|(address, _)| address.into());
    let own = networks(link);
    let wanted = [four, six].into_iter().flatten();
    let wanted = wanted.map(|address| given(address, &own));
    let wanted = wanted.collect::<Result<Vec<_>, _>>();
    for former in addresses.extract_if(.., |it| !wanted.as_ref().is_ok_and(|all| all.contains(it)))
    {
        device.remove_address(former).map_err(failed)?;
    }
    for address in wanted.map_err(io::Error::other)? {
        device.add_address(address).map_err(failed)?;
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    let partner = share.ways().0.ok_or(io::ErrorKind::HostUnreachable)?;
    let keys = meeting.session.datagrams();
    let mut end = End {
        tun,
        share,
        partner,
        tunnel: Tunnel::new(
            Role::Router,
            meeting.session.id().0,
            &keys,
            Settings::default(),
        ),
        clock: Clock::new(),
        lines: BTreeMap::new(),
        again: None,
        counted: 0,
        mtu: 0,
        device,
    };
    let mut paths = share.paths();
    end.lead(&paths.borrow_and_update().clone());
    let mut buffer = vec![0; LONGEST];
    loop {
        end.settle(&mut buffer);
        tokio::select! {
            _ = paths.changed() => end.lead(&paths.borrow_and_update().clone()),
            packet = tun.readable() => { packet?; end.packets(&mut buffer)?; }
            number = ready(&end.lines) => end.datagrams(number, &mut buffer),
            () = end.clock.until(end.tunnel.next(end.clock.now())) => end.tick(),
            () = end.clock.until(end.again) => end.lead(&paths.borrow_and_update().clone()),
        }
    }
}

/// Networks of this router's other devices.
fn networks(but: u32) -> Vec<Prefix> {
    let Ok(list) = getifaddrs() else {
        return Vec::new();
    };
    let networks = list.filter(|it| if_nametoindex(&*it.interface_name) != Ok(but));
    let networks = networks.filter_map(|it| {
        let [address, mask] = [it.address?, it.netmask?].map(|it| {
            let four = it.as_sockaddr_in().map(|it| IpAddr::V4(it.ip()));
            four.or_else(|| it.as_sockaddr_in6().map(|it| IpAddr::V6(it.ip())))
        });
        let length = match mask? {
            IpAddr::V4(mask) => mask.to_bits().leading_ones(),
            IpAddr::V6(mask) => mask.to_bits().leading_ones(),
        };
        Some(Prefix::around(address?, length as u8))
    });
    networks.collect()
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

/// The next path with datagrams.
async fn ready(lines: &BTreeMap<u8, Line>) -> u8 {
    std::future::poll_fn(|context| {
        for (number, line) in lines {
            if line.socket.poll_recv_ready(context).is_ready() {
                return Poll::Ready(*number);
            }
        }
        Poll::Pending
    })
    .await
}

impl End<'_> {
    /// Follows the router's paths.
    fn lead(&mut self, paths: &[Known]) {
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
            .filter(|(_, line)| {
                let same = |path: &Known| (path.address, &*path.device) == line.key();
                !paths.iter().any(same)
            })
            .map(|(number, _)| *number)
            .collect();
        for number in gone {
            // It cannot be told by this path, and need not: the other end sees that it is silent.
            let _ = self.tunnel.remove_path(number, now);
            self.lines.remove(&number);
        }
        for path in paths {
            let (address, device) = (path.address, &path.device);
            let mut lines = self.lines.iter_mut();
            if let Some((number, line)) = lines.find(|(_, line)| line.key() == (address, device)) {
                let settings = settings(line.settings, path.hint);
                if line.settings != settings {
                    line.settings = settings;
                    // It is there: it has a line.
                    let _ = self.tunnel.settle_path(*number, settings);
                }
                continue;
            }
            if address.is_ipv6() != self.partner.is_ipv6() {
                continue;
            }
            let taken = |number: &u8| self.lines.contains_key(number);
            let Some(number) = (0..PATHS as u8).find(|number| !taken(number)) else {
                warn!(device, "there are more paths than a tunnel takes");
                return;
            };
            match self.line(path, number, now) {
                Ok(line) => drop(self.lines.insert(number, line)),
                Err(error) => {
                    debug!(%error, device, "no tunnel by this path yet");
                    self.again = Some(now + AGAIN);
                }
            }
        }
    }

    fn line(&mut self, path: &Known, number: u8, now: u64) -> io::Result<Line> {
        let (address, device) = (path.address, &path.device);
        let socket = std::net::UdpSocket::bind(SocketAddr::new(address, 0))?;
        socket.set_nonblocking(true)?;
        let socket = UdpSocket::from_std(socket)?;
        let mtu = std::fs::read_to_string(format!("/sys/class/net/{device}/mtu"));
        let mtu = mtu.ok().and_then(|text| text.trim().parse().ok());
        let plain = PathSettings {
            remote: self.partner,
            longest: longest(mtu.unwrap_or(ETHERNET), address.is_ipv6()),
            weight: 100,
            backup: false,
            metered: false,
            rate_out: None,
            rate_in: None,
        };
        let settings = settings(plain, path.hint);
        self.tunnel
            .add_path(number, settings, now)
            .or_else(|_| self.tunnel.change_path(number, settings, now))
            .map_err(io::Error::other)?;
        Ok(Line {
            socket,
            address,
            settings,
            device: device.to_owned(),
            counted: [0; 2],
        })
    }

    /// Packets of clients.
    fn packets(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..BURST {
            let Some(packet) = self.tun.read(buffer)? else {
                return Ok(());
            };
            match self.tunnel.packet_in(packet, self.clock.now()) {
                Ok(()) | Err(Refused::NoPath) => {}
                Err(error) => debug!(%error, "a packet is not carried"),
            }
        }
        Ok(())
    }

    /// Datagrams of the partner.
    fn datagrams(&mut self, number: u8, buffer: &mut [u8]) {
        for _ in 0..BURST {
            let Some(line) = self.lines.get(&number) else {
                return;
            };
            match line.socket.try_recv_from(buffer) {
                Ok((length, from)) if from == self.partner => {
                    let now = self.clock.now();
                    let tun = self.tun;
                    let mut deliver = |packet: &[u8]| tun.write(packet);
                    let came =
                        self.tunnel
                            .datagram_in(from, &mut buffer[..length], now, &mut deliver);
                    if let Err(error) = came {
                        debug!(%error, %from, "not a datagram of the partner");
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // What ICMP said of what was sent before: the path's probes tell what it means.
                Err(_) => {}
            }
        }
    }

    fn tick(&mut self) {
        let (now, tun) = (self.clock.now(), self.tun);
        self.tunnel
            .tick(now, &mut |packet: &[u8]| tun.write(packet));
        if now.saturating_sub(self.counted) >= COUNT {
            self.count(now);
        }
    }

    /// Counts bytes, by path.
    fn count(&mut self, now: Micros) {
        self.counted = now;
        for report in self.tunnel.paths() {
            let Some(line) = self.lines.get_mut(&report.path) else {
                continue;
            };
            let sums = [report.sent.octets, report.received.octets];
            let more = std::array::from_fn(|way| sums[way].saturating_sub(line.counted[way]));
            line.counted = sums;
            self.share.add_tunnelled(line.address, more);
        }
    }

    /// Sends what is to be sent, and tells what happened.
    fn settle(&mut self, buffer: &mut [u8]) {
        while let Some(send) = self.tunnel.send(self.clock.now(), buffer) {
            if let Some(line) = self.lines.get(&send.path) {
                // What the socket does not take is lost, as on the path.
                let _ = line.socket.try_send_to(&buffer[..send.length], send.to);
            }
        }
        let mut happened = false;
        while let Some(event) = self.tunnel.event() {
            happened = true;
            let (number, text) = match event {
                Event::Up(number) => (number, "a path answers"),
                Event::Down(number) => (number, "a path does not answer"),
                event => {
                    debug!(?event, "tunnel");
                    continue;
                }
            };
            if let Some(Line {
                address, device, ..
            }) = self.lines.get(&number)
                && self.share.tells(device)
            {
                info!(device, %address, "{text}");
            }
        }
        if happened {
            self.tell();
        }
    }

    fn tell(&mut self) {
        let health = self.tunnel.paths().filter_map(|report| {
            let address = self.lines.get(&report.path)?.address;
            let health = match report.state {
                State::New => return None,
                State::Up | State::Suspect => Health::Up,
                State::Down => Health::Down,
            };
            Some((address, health))
        });
        self.share.set_health(health.collect());
        if let Some(mtu) = self.tunnel.mtu()
            && mtu != self.mtu
        {
            match self.device.up(u32::try_from(mtu).unwrap_or(ETHERNET)) {
                Ok(()) => self.mtu = mtu,
                Err(error) => warn!(%error, "the tunnel's device does not come up"),
            }
        }
    }
}
