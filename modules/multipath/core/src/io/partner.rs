//! `weir multipath serve`: a partner, from its settings to its threads.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::Prefix;
use kernel::event::{Event, Source};
use kernel::io::{Device, Events, load_rules};
use kernel::sysctls::Sysctls;
use nix::ifaddrs::getifaddrs;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tracing::{info, warn};

use super::changes::Changes;
use super::kernel_settings::KernelSettings;
use super::observations::Observations;
use super::serve::{self, PartnerState};
use super::sessions::Sessions;
use super::store::{Serves, Store, StoreError};
use super::threads::{Threads, processors};
use super::tunnel::{self, Datagrams, Tun};
use super::{TunDevice, limits, socket};
use crate::aead::Cipher;
use crate::net::TunnelNet;
use crate::nft::{self, Partnering};
use crate::reach::Reach;
use crate::traffic_policy::Ports;
use crate::welcome::{LEAST_MTU, Welcome};

/// Longest packet of the tunnel: passes by all paths of 1492 bytes (PPPoE) and of 1500, by IPv4
/// and IPv6.
const MTU: u16 = 1400;
/// File that records changed forwarding settings, for a successor.
const NOTE: &str = "forwarding";

/// Pause before rules that the firewall refused are loaded again.
const AGAIN: Duration = Duration::from_secs(5);
/// Interval of checking the list of routers.
const LOOK: Duration = Duration::from_secs(1);
/// Shortest interval of writing router observations: flash wears.
const WRITE: Duration = Duration::from_secs(60);

/// Settings of a partner.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses to listen on, TCP and UDP.
    pub listen: Vec<SocketAddr>,
    /// Folder of the key.
    pub state: PathBuf,
    /// Local networks that routers may reach through this machine.
    pub allowed: Vec<Prefix>,
    /// True if routers' clients may send mail to mail servers, in this machine's name.
    pub smtp: bool,
    /// True if streams may use AES, where both processors have instructions for it.
    pub aes: bool,
    /// Version that the partner reports.
    pub version: String,
    /// Networks of the tunnel.
    pub net: TunnelNet,
}

/// Failure to start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The key or the list of routers cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This machine's addresses are unknown, so routers could reach the machine itself.
    #[error("cannot read this machine's addresses, which routers must not reach: {0}")]
    Addresses(#[source] io::Error),
    /// The tunnel's network contains an address of this machine.
    #[error("the tunnel's network {net} contains {address}, an address of this machine")]
    Net {
        /// Network of the tunnel.
        net: Prefix,
        /// Address of the machine.
        address: IpAddr,
    },
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A thread cannot start.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// A running partner, until it is dropped.
pub struct Partner {
    threads: Threads,
    serving: Arc<PartnerState>,
    net: TunnelNet,
    _serves: Serves,
    _tuned: KernelSettings,
    tunnel: Option<Sysctls>,
}

impl Partner {
    /// Begins to listen. Call it within an event loop, as it queries the kernel. `serves`: lock of
    /// the folder; `device`: for the tunnel; without a device, no tunnel runs.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub async fn start(
        settings: Settings,
        serves: Serves,
        device: Option<TunDevice>,
    ) -> Result<Self, ServeError> {
        let store = Store::open(&settings.state)?;
        for &address in &settings.listen {
            let free = socket::is_free(address);
            free.map_err(|source| ServeError::Listen { address, source })?;
        }
        let own = addresses().map_err(ServeError::Addresses)?;
        let nets = [Some(settings.net.ipv4), settings.net.ipv6];
        for net in nets.iter().flatten() {
            if let Some(&address) = own.iter().find(|address| net.contains(address)) {
                return Err(ServeError::Net { net: *net, address });
            }
        }
        let sessions = Sessions::open(store)?;
        let tuned = KernelSettings::new(&settings.state);
        let limit = limits::raise();
        let routable = |ipv4: bool| {
            let mut own = own.iter();
            own.any(|own| own.is_ipv4() == ipv4 && !own.is_loopback() && !link_local(own))
        };
        let mut welcome = Welcome {
            ipv4: routable(true),
            ipv6: routable(false),
            aes: settings.aes && Cipher::aes_is_fast(),
            tunnel4: None,
            tunnel6: None,
            mtu: LEAST_MTU,
            version: settings.version.clone(),
            forwards: Vec::new(),
            places: None,
        };
        let mut reach = Reach::new(
            settings.allowed.clone(),
            nets.into_iter().flatten().collect(),
        );
        reach.smtp = settings.smtp;
        reach.own(own);
        let (mut tunnel, mut net) = (None, None);
        let (mut rules, forwards) = (None, sessions.forwards());
        if let Some(device) = &device {
            match forward(device, &settings, forwards).await {
                Ok((sysctls, loaded)) => {
                    (tunnel, net) = (Some(sysctls), Some(loaded.net));
                    rules = Some(loaded);
                    welcome.mtu = MTU;
                }
                Err(error) => {
                    warn!(%error, "no tunnel: routers send everything except TCP directly");
                }
            }
        }
        let serving = Arc::new(PartnerState::new(sessions, reach, welcome, net, limit));
        let mut threads = Threads::new();
        for number in 0..processors() {
            for (place, &address) in settings.listen.iter().enumerate() {
                let serving = Arc::clone(&serving);
                threads
                    .start(&format!("partner-{number}-{place}"), move |stop| {
                        // Each thread has a queue of its own.
                        let listener = socket::listen(address, true, false)?;
                        let listener = TcpListener::from_std(listener)?;
                        Ok(stop.during(serve::accept(listener, serving)))
                    })
                    .map_err(|source| ServeError::Listen { address, source })?;
            }
        }
        let shared = Arc::clone(&serving);
        threads
            .start("partner-addresses", move |stop| {
                let events = Events::open(Source::Route)?;
                Ok(stop.during(async move { keep_own(events, &shared).await }))
            })
            .map_err(ServeError::Thread)?;
        // Data of `weir multipath list` and `pair`: written even before any router comes.
        let told = net.unwrap_or(settings.net);
        see(&serving, told, true);
        let shared = Arc::clone(&serving);
        threads
            .start("partner-routers", move |stop| {
                Ok(stop.during(async move { keep_routers(rules, told, &shared).await }))
            })
            .map_err(ServeError::Thread)?;
        if let (Some(device), Some(_)) = (device, net) {
            let (shared, listen) = (Arc::clone(&serving), settings.listen.clone());
            threads
                .start("partner-tunnel", move |stop| {
                    let sockets = listen.into_iter().map(|address| {
                        let named = |error: io::Error| {
                            io::Error::new(error.kind(), format!("UDP {address}: {error}"))
                        };
                        socket::datagrams(address).map_err(named)
                    });
                    let sockets = Datagrams::new(sockets.collect::<io::Result<_>>()?)?;
                    let tun = Tun::new(device.descriptor)?;
                    Ok(stop.during(tunnel::partner::run(tun, sockets, shared)))
                })
                .map_err(ServeError::Thread)?;
        }
        info!(listen = ?settings.listen, tunnel = net.is_some(), "serving routers");
        Ok(Self {
            threads,
            serving,
            net: told,
            _serves: serves,
            _tuned: tuned,
            tunnel,
        })
    }

    /// Ends, and restores the kernel's settings.
    pub async fn stop(mut self) {
        // Threads first: one of them writes the rules.
        drop(self.threads);
        see(&self.serving, self.net, false);
        if self.tunnel.take().is_some()
            && let Err(error) = load_rules(&nft::remove_partner()).await
        {
            warn!(
                error,
                "cannot remove the rules: remove them by `nft delete table inet weir_partner`"
            );
        }
    }
}

/// Makes the kernel forward packets of the tunnel.
async fn forward(
    device: &TunDevice,
    settings: &Settings,
    forwards: Vec<(usize, Vec<Ports>)>,
) -> io::Result<(Sysctls, Partnering)> {
    let mut sysctls = Sysctls::open(&settings.state.join(NOTE))?;
    // A machine that did not forward before must not begin to forward for its other devices.
    let closed = sysctls.get("ipv4/ip_forward")?.as_deref() == Some("0");
    let mut net = settings.net;
    // To switch it on would end router advertisements (accept_ra), by which many servers have their
    // route.
    if sysctls.get("ipv6/conf/all/forwarding")?.as_deref() != Some("1") {
        net.ipv6 = None;
    }
    let rules = Partnering {
        device: device.name.clone(),
        net,
        forwards,
        listens: settings.listen.iter().map(SocketAddr::port).collect(),
        closed,
        smtp: settings.smtp,
    };
    let mut own = Device::open(device.link).map_err(io::Error::other)?;
    own.up(MTU.into()).map_err(io::Error::other)?;
    for address in net.partner() {
        own.add_address(address).map_err(io::Error::other)?;
    }
    // Rules first: nothing is forwarded without them.
    load_rules(&nft::partner(&rules))
        .await
        .map_err(io::Error::other)?;
    sysctls.set("ipv4/ip_forward", "1")?;
    // Answers arrive at a device without a route to their source.
    sysctls.set(&format!("ipv4/conf/{}/rp_filter", device.name), "0")?;
    Ok((sysctls, rules))
}

/// Follows the list of routers: permitted routers and forwarded ports. Stores observations.
async fn keep_routers(mut rules: Option<Partnering>, net: TunnelNet, serving: &PartnerState) {
    let mut kept = serving.sessions.figures(0);
    let mut written: Option<Instant> = None;
    let mut changes = Changes::of(nft::PARTNER_TABLE);
    // Time since which the firewall refuses the rules.
    let mut refused: Option<Instant> = None;
    loop {
        let gone = tokio::select! {
            () = sleep(LOOK) => false,
            () = changes.gone(), if rules.is_some() => true,
        };
        let wanted = serving.sessions.forwards();
        let again = refused.is_some_and(|at| at.elapsed() > AGAIN);
        if let Some(rules) = &mut rules
            && (gone || again || wanted != rules.forwards)
        {
            rules.forwards = wanted;
            let loaded = load_rules(&nft::partner(rules)).await;
            let before = refused.take();
            refused = loaded.is_err().then(Instant::now);
            match loaded {
                Ok(()) if gone => warn!("another program removed the partner's rules: restored"),
                Ok(()) => info!("ports forwarded to routers changed"),
                Err(error) if before.is_none() => {
                    warn!(error, "the firewall refuses the partner's rules: retrying");
                }
                Err(_) => {}
            }
        }
        if written.is_none_or(|at| at.elapsed() > WRITE) {
            let seen = serving.sessions.figures(0);
            if seen != kept {
                see(serving, net, true);
                (kept, written) = (seen, Some(Instant::now()));
            }
        }
    }
}

/// Writes down observations of routers.
fn see(serving: &PartnerState, net: TunnelNet, serves: bool) {
    let sessions = &serving.sessions;
    // For people to read; no decision depends on it.
    #[expect(clippy::disallowed_methods)]
    let at = net::clock::unix_seconds();
    let began = at.saturating_sub(sessions.began().elapsed().as_secs());
    let seen = Observations {
        at,
        serves,
        net,
        routers: sessions.figures(began),
    };
    if let Err(error) = sessions.store().see(&seen) {
        warn!(%error, "cannot store the figures of routers: `weir multipath list` will not show them");
    }
}

/// Follows this machine's addresses: routers must not reach them.
async fn keep_own(mut events: Events, serving: &PartnerState) {
    let learn = || match addresses() {
        Ok(own) => serving.reach.own(own),
        Err(error) => {
            warn!(%error, "cannot read this machine's addresses: routers are kept from the known \
            addresses only")
        }
    };
    let mut told = Vec::new();
    // Addresses that appeared before the events were subscribed.
    learn();
    loop {
        if let Err(error) = events.recv(&mut told).await {
            warn!(%error, "cannot follow this machine's addresses: routers can reach new ones");
            return;
        }
        let changes = |it: &Event| matches!(it, Event::Address(..) | Event::Overrun(_));
        if told.drain(..).any(|it| changes(&it)) {
            learn();
        }
    }
}

/// Returns the addresses of this machine.
fn addresses() -> io::Result<Vec<IpAddr>> {
    let own = getifaddrs()?.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|a| a.ip().into());
        v4.or_else(|| address.as_sockaddr_in6().map(|a| a.ip().into()))
    });
    Ok(own.collect())
}

fn link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}
