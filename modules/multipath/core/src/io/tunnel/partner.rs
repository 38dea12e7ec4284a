//! The partner's end: the same UDP sockets and one device for all routers.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{debug, warn};

use super::datagrams::{Came, Datagrams, Way};
use super::{BURST, Clock, LONGEST, Tun, settings};
use crate::io::serve::PartnerState;
use crate::io::sessions::Member;
use crate::net::TunnelNet;
use crate::session::SessionId;
use crate::tunnel::datagram::Header;
use crate::tunnel::{Event, Micros, Role, Tunnel};

/// Maximum number of addresses of a router's paths at a time: more are remains of earlier paths.
const FROM: usize = 64;
/// Interval at which a session is marked as used: an unmarked one is forgotten after a day.
const HOUR: Micros = 3_600_000_000;
const MINUTE: Duration = Duration::from_secs(60);

/// The partner's end of a session's tunnel.
struct End {
    tunnel: Tunnel,
    /// Sequence number; later ends have higher ones.
    number: u64,
    /// The router of the session.
    member: Member,
    /// The router's own addresses: packets from others are dropped.
    own: Vec<IpAddr>,
    /// Time of the last mark as used, after an authenticated datagram.
    said: Option<Micros>,
    /// Arrival of each path, which answers take back.
    asked: HashMap<SocketAddr, Way>,
}

impl End {
    /// Notes the arrival of an authenticated datagram of a path.
    fn asked(&mut self, from: SocketAddr, way: Way) {
        if self.asked.len() >= FROM && !self.asked.contains_key(&from) {
            self.asked.clear();
        }
        self.asked.insert(from, way);
    }
}

/// The ends of all sessions.
struct Ends {
    tun: Tun,
    sockets: Datagrams,
    serving: Arc<PartnerState>,
    clock: Clock,
    ends: HashMap<SessionId, End>,
    /// Number of ends so far.
    number: u64,
    /// Session that reaches a router's address, with its end's number: the latest in use.
    by_address: HashMap<IpAddr, (SessionId, u64)>,
    strays: Strays,
}

/// Datagrams without a session: a few come whenever the partner restarts, many from an attacker.
/// Many are logged once a minute.
struct Strays {
    since: Instant,
    number: u32,
}

impl Strays {
    const MANY: u32 = 1000;

    fn came(&mut self, from: SocketAddr) {
        if self.since.elapsed() > MINUTE {
            *self = Self::default();
        }
        self.number = self.number.saturating_add(1);
        if self.number == Self::MANY {
            warn!(%from, "too many datagrams from unpaired senders, the latest from this address: \
                dropped");
        }
    }
}

impl Default for Strays {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            number: 0,
        }
    }
}

/// Carries packets of all routers, for ever.
pub async fn run(tun: Tun, sockets: Datagrams, serving: Arc<PartnerState>) {
    let mut ends = Ends {
        tun,
        sockets,
        serving,
        clock: Clock::new(),
        ends: HashMap::new(),
        number: 0,
        by_address: HashMap::new(),
        strays: Strays::default(),
    };
    let mut buffer = vec![0; LONGEST];
    let mut changed = ends.serving.sessions.changed();
    loop {
        ends.settle(&mut buffer);
        let now = ends.clock.now();
        let next = ends
            .ends
            .values()
            .filter_map(|end| end.tunnel.next(now))
            .min();
        let result = tokio::select! {
            ready = ends.tun.readable() => ready.and_then(|()| ends.packets(&mut buffer)),
            ready = ends.sockets.readable() => ready.map(|()| ends.datagrams(&mut buffer)),
            () = ends.clock.until(next) => { ends.tick(); Ok(()) }
            // Never an error: `self` owns the sender too.
            _ = changed.changed() => { ends.follow(); Ok(()) }
        };
        if let Err(error) = result {
            debug!(%error, "cannot read or write the tunnel's device");
        }
    }
}

/// Returns the addresses of the router with this place.
fn own(net: &TunnelNet, place: usize) -> Vec<IpAddr> {
    let (four, six) = net.router(place);
    let four = four.map(|(address, _)| IpAddr::V4(address));
    let six = six.map(|(address, _)| IpAddr::V6(address));
    four.into_iter().chain(six).collect()
}

/// Returns source and destination of an IP packet.
fn addresses(packet: &[u8]) -> Option<[IpAddr; 2]> {
    match packet.first()? >> 4 {
        4 => {
            let at = |from: usize| -> Option<IpAddr> {
                let octets: [u8; 4] = packet.get(from..from + 4)?.try_into().ok()?;
                Some(octets.into())
            };
            Some([at(12)?, at(16)?])
        }
        6 => {
            let at = |from: usize| -> Option<IpAddr> {
                let octets: [u8; 16] = packet.get(from..from + 16)?.try_into().ok()?;
                Some(octets.into())
            };
            Some([at(8)?, at(24)?])
        }
        _ => None,
    }
}

impl Ends {
    /// Carries packets to routers.
    fn packets(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..BURST {
            let Some(packet) = self.tun.read(buffer)? else {
                return Ok(());
            };
            let end = addresses(packet)
                .and_then(|[_, to]| self.by_address.get(&to))
                .and_then(|(session, _)| self.ends.get_mut(session));
            let Some(end) = end else { continue };
            match end.tunnel.packet_in(packet, self.clock.now()) {
                Ok(()) => end.member.moved(packet.len() as u64, 0),
                Err(error) => debug!(%error, "packet dropped"),
            }
        }
        Ok(())
    }

    /// Carries datagrams of routers.
    fn datagrams(&mut self, buffer: &mut [u8]) {
        for _ in 0..BURST {
            let came = match self.sockets.try_recv(buffer) {
                Ok(came) => came,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => continue,
            };
            self.datagram(&mut buffer[..came.length], came);
        }
    }

    fn datagram(&mut self, datagram: &mut [u8], Came { from, way, .. }: Came) {
        let Ok(id) = Header::read(datagram).map(|header| SessionId(header.session)) else {
            return self.strays.came(from);
        };
        if !self.ends.contains_key(&id) {
            let Some(found) = self.serving.sessions.find(id) else {
                return self.strays.came(from);
            };
            let Some(net) = &self.serving.net else {
                return;
            };
            let settings = match settings() {
                Ok(settings) => settings,
                Err(error) => return warn!(%error, "cannot create a tunnel for a router"),
            };
            let keys = found.session.datagrams();
            let tunnel = Tunnel::new(Role::Partner, id.0, &keys, settings);
            self.number += 1;
            let end = End {
                tunnel,
                number: self.number,
                member: found.member,
                own: own(net, found.address_index),
                said: None,
                asked: HashMap::new(),
            };
            self.ends.insert(id, end);
            self.follow();
        }
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        let (tun, own, reach) = (&self.tun, &end.own, &self.serving.reach);
        let member = &end.member;
        let mut deliver = |packet: &[u8]| match addresses(packet) {
            Some([source, to]) if own.contains(&source) && reach.permits(to) => {
                member.moved(0, packet.len() as u64);
                tun.write(packet);
            }
            _ => {}
        };
        match end
            .tunnel
            .datagram_in(from, datagram, self.clock.now(), &mut deliver)
        {
            Ok(()) => {
                end.asked(from, way);
                end.member.mark_seen();
                let now = self.clock.now();
                if end.said.is_none_or(|said| now.saturating_sub(said) > HOUR) {
                    end.said = Some(now);
                    self.serving.sessions.opened(id, from);
                }
                // A router drops a session once it has another: late datagrams of the old session
                // do not change the route. Until a path of the new session answers, packets for the
                // router use the old session.
                let works = end.tunnel.works();
                for address in &end.own {
                    let present = self.by_address.get(address);
                    if present.is_none_or(|(_, number)| *number < end.number && works) {
                        self.by_address.insert(*address, (id, end.number));
                    }
                }
            }
            Err(error) => debug!(%error, %from, "invalid datagram from a router"),
        }
    }

    /// Drops ends with a forgotten session or a revoked router, and routes to ends that no longer
    /// have the address.
    fn follow(&mut self) {
        let (sessions, net) = (&self.serving.sessions, &self.serving.net);
        self.ends.retain(|id, end| match (sessions.find(*id), net) {
            (Some(found), Some(net)) => {
                // A second end with the same keys must never exist: this end gets other addresses.
                end.own = own(net, found.address_index);
                true
            }
            _ => false,
        });
        let ends = &self.ends;
        self.by_address
            .retain(|address, (id, _)| ends.get(id).is_some_and(|end| end.own.contains(address)));
    }

    fn tick(&mut self) {
        let now = self.clock.now();
        for end in self.ends.values_mut() {
            let (tun, own, reach) = (&self.tun, &end.own, &self.serving.reach);
            let member = &end.member;
            end.tunnel.tick(now, &mut |packet: &[u8]| {
                if let Some([source, to]) = addresses(packet)
                    && own.contains(&source)
                    && reach.permits(to)
                {
                    member.moved(0, packet.len() as u64);
                    tun.write(packet);
                }
            });
        }
    }

    fn settle(&mut self, buffer: &mut [u8]) {
        let mut closed = Vec::new();
        for (id, end) in &mut self.ends {
            while let Some(send) = end.tunnel.send(self.clock.now(), buffer) {
                let way = end.asked.get(&send.to).copied();
                let _ = self.sockets.try_send(&buffer[..send.length], send.to, way);
            }
            while let Some(event) = end.tunnel.event() {
                debug!(session = %id, ?event, "tunnel");
                if event == Event::Closed {
                    closed.push(*id);
                }
            }
        }
        for id in closed {
            debug!(session = %id, "the router ended the session");
        }
    }
}
