//! A router with two or more providers, a partner in the Internet that joins the paths, and a
//! server.
//!
//! ```text
//!                     wan0 – home:isp0:core – isp0 \
//! client – lan0:router                              internet – partner
//!                     wan1 – home:isp1:core – isp1 /        \ server
//! ```
//!
//! Each provider reaches all hosts of the Internet. Rates apply at the providers, as on a slow
//! line. A path that delays, loses or changes frames has a [`Relay`] between `core` and the
//! Internet, in the namespace `relay0`.

mod shape;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::relay::{Impairment, Relay};
use crate::topology::Offloads;
use crate::{Error, Lab, Namespace};

pub use shape::Shape;

/// Client, IPv4.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 77, 2));
/// Router, LAN side, IPv4.
pub const ROUTER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 77, 1));
/// Partner, IPv4.
pub const PARTNER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 10));
/// Server, IPv4.
pub const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 20));
/// Client, IPv6.
pub const CLIENT6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2));
/// Router, LAN side, IPv6.
pub const ROUTER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1));
/// Partner, IPv6.
pub const PARTNER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x113, 0, 0, 0, 0, 10));
/// Server, IPv6.
pub const SERVER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x100, 0, 0, 0, 0, 20));
/// The Internet's addresses towards partner and server.
const INTERNET: [[&str; 2]; 2] = [
    ["203.0.113.1", "2001:db8:113::1"],
    ["198.51.100.1", "2001:db8:100::1"],
];
/// Last byte of the router's address at a provider, until a change.
const FIRST_HOST: u8 = 2;
/// Paths are named by one digit.
const MOST_PATHS: usize = 9;

/// Options of [`Uplinks::build`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Providers, one to nine, in the order of the router's preference (lowest metric first).
    pub paths: Vec<Path>,
    /// Adds IPv6. The LAN's IPv6 addresses are local ones, so the router translates IPv6 too.
    pub ipv6: bool,
}

impl Options {
    /// Returns one path per rate, each with this many Mbit/s in both directions.
    pub fn mbit(rates: &[u64]) -> Self {
        Self {
            paths: rates.iter().map(|rate| Path::mbit(*rate)).collect(),
            ipv6: false,
        }
    }
}

/// Properties of a provider. By default a provider forwards at full speed without changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Path {
    /// Shape from the router; `None` means unshaped.
    pub up: Option<Shape>,
    /// Shape to the router.
    pub down: Option<Shape>,
    /// Builds a relay with this treatment. Without a relay [`Uplinks::treat`] fails.
    pub relay: Option<Impairment>,
    /// The provider masquerades IPv4 (carrier-grade NAT): the Internet cannot open connections.
    pub masquerade: bool,
}

impl Path {
    /// Returns a path with this many Mbit/s in both directions.
    pub fn mbit(rate: u64) -> Self {
        let shape = Some(Shape::mbit(rate));
        Self {
            up: shape,
            down: shape,
            ..Self::default()
        }
    }

    /// Adds a relay.
    pub fn with_relay(self, treatment: Impairment) -> Self {
        Self {
            relay: Some(treatment),
            ..self
        }
    }
}

/// A kind of failure of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Cable: the router's device goes down, and the kernel removes its routes and IPv6 addresses.
    Link,
    /// Failure behind the provider's first device: carrier, addresses, routes and IPv4 neighbours
    /// stay, and no packet passes. Packets in the provider's queues still arrive.
    Hole,
    /// Lease: addresses and default routes of the device go, the carrier stays.
    Address,
}

/// The lab. Paths are numbered from 0. Removed when dropped.
#[derive(Debug)]
pub struct Uplinks {
    // Relays end before their namespaces.
    relays: Vec<Option<Relay>>,
    lab: Lab,
    ipv6: bool,
    /// Host part and network part of the router's address at each provider.
    hosts: Vec<AtomicU8>,
    networks: Vec<AtomicU8>,
}

impl Uplinks {
    /// Builds the lab. The router masquerades at each uplink. Its main table has a default route
    /// per uplink with metric 100, 200 and so on, as DHCP clients add them. For rules by source
    /// address see [`Uplinks::source_rules`].
    pub fn build(options: &Options) -> Result<Self, Error> {
        let count = options.paths.len();
        if count == 0 || count > MOST_PATHS {
            return Err(Error::Unexpected(format!(
                "{count} paths asked for: 1 to {MOST_PATHS} can be built"
            )));
        }
        let mut uplinks = Self {
            relays: Vec::new(),
            lab: Lab::new(),
            ipv6: options.ipv6,
            hosts: (0..count).map(|_| AtomicU8::new(FIRST_HOST)).collect(),
            networks: (0..count).map(|path| AtomicU8::new(path as u8)).collect(),
        };
        uplinks.nodes(count)?;
        uplinks.homes()?;
        uplinks.internet()?;
        for (path, wanted) in options.paths.iter().enumerate() {
            uplinks.path(path, wanted)?;
        }
        Ok(uplinks)
    }

    /// Returns the namespaces: `client`, `router`, `isp0`…, `internet`, `partner`, `server`.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Returns the namespace of this role; panics if the role is missing.
    fn node(&self, role: &str) -> &Namespace {
        self.lab.node(role).expect("a namespace that was built")
    }

    /// Returns the host in the LAN.
    pub fn client(&self) -> &Namespace {
        self.node("client")
    }

    /// Returns the router with the uplinks `wan0`, `wan1`….
    pub fn router(&self) -> &Namespace {
        self.node("router")
    }

    /// Returns the host at which all paths meet; its device is `eth0`.
    pub fn partner(&self) -> &Namespace {
        self.node("partner")
    }

    /// Returns an unrelated host in the Internet; its device is `eth0`.
    pub fn server(&self) -> &Namespace {
        self.node("server")
    }

    /// Returns the provider of a path; its devices are `home`, towards the router, and `core`.
    pub fn provider(&self, path: usize) -> &Namespace {
        self.node(&format!("isp{path}"))
    }

    /// Returns the number of paths.
    pub fn paths(&self) -> usize {
        self.hosts.len()
    }

    /// Returns the router's device of a path.
    pub fn device(&self, path: usize) -> String {
        format!("wan{path}")
    }

    /// Returns the router's IPv4 address on a path.
    pub fn address(&self, path: usize) -> IpAddr {
        access(self.network(path), self.host(path))[0]
    }

    /// Returns the router's IPv6 address on a path.
    pub fn address6(&self, path: usize) -> IpAddr {
        access(self.network(path), self.host(path))[1]
    }

    /// Returns the router's IPv4 gateway on a path.
    pub fn gateway(&self, path: usize) -> IpAddr {
        access(self.network(path), 1)[0]
    }

    /// Sets the rates of a path; `None` means full speed.
    fn shape(&self, path: usize, up: Option<Shape>, down: Option<Shape>) -> Result<(), Error> {
        let (provider, isp) = (self.provider(path), format!("isp{path}"));
        let senders = [
            (self.router(), self.device(path)),
            (self.node("internet"), isp),
        ];
        for ((device, shape), (sender, wire)) in
            [("core", up), ("home", down)].into_iter().zip(senders)
        {
            if shape.is_some() {
                // A super-packet longer than a short burst would block the queue for ever.
                sender.run(&format!("ethtool -K {wire} tso off gso off"))?;
            }
            provider.run(&shape::command(device, shape))?;
        }
        Ok(())
    }

    /// Changes the treatment of a path's relay for later frames.
    pub fn treat(&self, path: usize, treatment: Impairment) -> Result<(), Error> {
        self.relay(path)?.treat(treatment);
        Ok(())
    }

    /// Returns the relay of a path.
    pub fn relay(&self, path: usize) -> Result<&Relay, Error> {
        self.relays[path]
            .as_ref()
            .ok_or_else(|| Error::Unexpected(format!("path {path} was built without a relay")))
    }

    /// Adds a table per path, 1000 + its number, and a rule by source address. Without these rules
    /// all of the router's own packets take the best default route. Weir makes its own rules; this
    /// function serves tests of the kernel alone.
    pub fn source_rules(&self) -> Result<(), Error> {
        let mut lines = String::new();
        for path in 0..self.paths() {
            let (device, table) = (self.device(path), 1000 + path);
            lines += &format!(
                "rule add pref {table} from {} lookup {table}\nroute replace 0.0.0.0/0 via {} dev \
                    {device} table {table}\n",
                self.address(path),
                self.gateway(path)
            );
            if self.ipv6 {
                lines += &format!("route replace ::/0 via fe80::1 dev {device} table {table}\n");
                // In a batch, `ip` takes a rule for an IPv4 rule.
                self.router().run(&format!(
                    "ip -6 rule add pref {table} from {} lookup {table}",
                    self.address6(path)
                ))?;
            }
        }
        self.router().ip(&lines).map(drop)
    }

    /// Cuts a path. Cuts can be combined.
    pub fn cut(&self, path: usize, cut: Cut) -> Result<(), Error> {
        let (router, device) = (self.router(), self.device(path));
        match cut {
            Cut::Link => router.run(&format!("ip link set {device} down"))?,
            Cut::Hole => self.provider(path).nft(
                "table inet hole {\n\
                 chain in { type filter hook prerouting priority raw; policy drop; }\n\
                 chain out { type filter hook output priority raw; policy drop; }\n}\n",
            )?,
            Cut::Address => {
                if self.ipv6 {
                    // This route uses a link-local gateway and would stay.
                    router.run(&format!("ip -6 route flush exact default dev {device}"))?;
                }
                router.run(&format!("ip addr flush dev {device} scope global"))?
            }
        };
        Ok(())
    }

    /// Undoes every cut of a path: restores the router's link, addresses and default routes, as a
    /// DHCP client would.
    pub fn heal(&self, path: usize) -> Result<(), Error> {
        let device = self.device(path);
        self.router().run(&format!("ip link set {device} up"))?;
        self.provider(path)
            .nft("table inet hole {}\ndelete table inet hole\n")?;
        self.lease(path)
    }

    /// Replaces the router's addresses at a provider at once; `host` (3 to 254) is the new last
    /// byte.
    pub fn renumber(&self, path: usize, host: u8) -> Result<(), Error> {
        self.cut(path, Cut::Address)?;
        self.hosts[path].store(host, Ordering::Relaxed);
        self.lease(path)
    }

    /// Makes a provider lease an address of another provider's IPv4 network, with `host` as last
    /// byte; with 2, both leases are equal. The provider must masquerade, or answers cannot return.
    pub fn imitate(&self, path: usize, other: usize, host: u8) -> Result<(), Error> {
        self.cut(path, Cut::Address)?;
        let network = self.networks[other].load(Ordering::Relaxed);
        self.networks[path].store(network, Ordering::Relaxed);
        let gateway = self.gateway(path);
        self.provider(path).ip(&format!(
            "addr flush dev home scope global\naddr add {gateway}/24 dev home\n"
        ))?;
        self.hosts[path].store(host, Ordering::Relaxed);
        self.lease(path)
    }

    fn network(&self, path: usize) -> usize {
        self.networks[path].load(Ordering::Relaxed).into()
    }

    fn host(&self, path: usize) -> u8 {
        self.hosts[path].load(Ordering::Relaxed)
    }

    fn nodes(&mut self, count: usize) -> Result<(), Error> {
        for role in ["client", "partner", "server"] {
            self.lab.host(role)?;
        }
        self.lab.router("router")?;
        self.lab.router("internet")?;
        for path in 0..count {
            self.lab.router(&format!("isp{path}"))?;
        }
        for node in self.lab.nodes() {
            // Overrides the machine's default, because answers may arrive by another path.
            node.sysctl("net.ipv4.conf.all.rp_filter", 0)?;
            node.sysctl("net.ipv4.conf.default.rp_filter", 0)?;
        }
        Ok(())
    }

    /// Builds the LAN.
    fn homes(&self) -> Result<(), Error> {
        let lab = &self.lab;
        lab.wire(("client", "eth0"), ("router", "lan0"), Offloads::Default)?;
        self.addresses("router", "lan0", [ROUTER, ROUTER6], 1)?;
        self.addresses("client", "eth0", [CLIENT, CLIENT6], 2)?;
        self.default_route("client", [ROUTER, ROUTER6])
    }

    /// Builds partner and server, each in its own network.
    fn internet(&self) -> Result<(), Error> {
        let ends = [
            ("partner", [PARTNER, PARTNER6]),
            ("server", [SERVER, SERVER6]),
        ];
        for ((role, own), gateway) in ends.into_iter().zip(INTERNET) {
            let gateway = gateway.map(|text| text.parse().expect("an address"));
            self.lab
                .wire((role, "eth0"), ("internet", role), Offloads::Default)?;
            self.addresses("internet", role, gateway, 1)?;
            self.addresses(role, "eth0", own, 2)?;
            self.default_route(role, gateway)?;
        }
        Ok(())
    }

    /// Builds a provider, with its wires, rates and relay.
    fn path(&mut self, path: usize, wanted: &Path) -> Result<(), Error> {
        let (isp, wan) = (format!("isp{path}"), self.device(path));
        self.lab
            .wire(("router", &wan), (&isp, "home"), Offloads::Default)?;
        let relay = match wanted.relay {
            None => {
                self.lab
                    .wire((&isp, "core"), ("internet", &isp), Offloads::Default)?;
                None
            }
            Some(treatment) => Some(self.relayed(path, treatment)?),
        };
        self.relays.push(relay);
        self.addresses(&isp, "home", access(path, 1), 1)?;
        self.addresses(&isp, "core", core(path, 2), 2)?;
        self.addresses("internet", &isp, core(path, 1), 1)?;
        self.default_route(&isp, core(path, 1))?;
        if wanted.masquerade {
            self.lab.masquerade(&isp, "core", true, false)?;
        }
        let [network, network6] = networks(path);
        if !wanted.masquerade {
            self.lab.route("internet", &network, core(path, 2)[0])?;
        }
        if self.ipv6 {
            self.lab.route("internet", &network6, core(path, 2)[1])?;
        }
        self.lab.masquerade("router", &wan, true, self.ipv6)?;
        self.lease(path)?;
        self.shape(path, wanted.up, wanted.down)
    }

    /// Lays wires with a relay between them. Frames must look as on a real wire: not longer than
    /// the MTU, with finished checksums.
    fn relayed(&mut self, path: usize, treatment: Impairment) -> Result<Relay, Error> {
        let (isp, role) = (format!("isp{path}"), format!("relay{path}"));
        self.lab.host(&role)?;
        self.lab
            .wire((&isp, "core"), (&role, "near"), Offloads::Plain)?;
        self.lab
            .wire((&role, "far"), ("internet", &isp), Offloads::Plain)?;
        Relay::start(self.node(&role), ["near", "far"], treatment)
    }

    /// Adds the router's addresses and default routes, as a provider's DHCP server and router
    /// advertisements would.
    fn lease(&self, path: usize) -> Result<(), Error> {
        let (device, metric) = (self.device(path), 100 * (path + 1));
        let [address, address6] = access(self.network(path), self.host(path));
        let gateway = self.gateway(path);
        let mut lines = format!(
            "addr replace {address}/24 dev {device}\n\
             route replace 0.0.0.0/0 via {gateway} dev {device} src {address} proto dhcp metric \
             {metric}\n"
        );
        if self.ipv6 {
            lines += &format!(
                "addr replace fe80::2/64 dev {device} nodad\naddr replace {address6}/64 dev \
                    {device} nodad\n\
                 route replace ::/0 via fe80::1 dev {device} proto ra metric {metric}\n"
            );
        }
        self.router().ip(&lines).map(drop)
    }

    /// Adds addresses to a device. With IPv6, adds a link-local address `fe80::N` too, the source
    /// of neighbour solicitations.
    fn addresses(&self, role: &str, device: &str, own: [IpAddr; 2], n: u8) -> Result<(), Error> {
        self.lab.address(role, device, &format!("{}/24", own[0]))?;
        if self.ipv6 {
            self.lab.address(role, device, &format!("fe80::{n}/64"))?;
            self.lab.address(role, device, &format!("{}/64", own[1]))?;
        }
        Ok(())
    }

    fn default_route(&self, role: &str, via: [IpAddr; 2]) -> Result<(), Error> {
        self.lab.route(role, "default", via[0])?;
        if self.ipv6 {
            self.lab.route(role, "default", via[1])?;
        }
        Ok(())
    }
}

/// Returns addresses between router and provider; the provider's host part is 1.
fn access(path: usize, host: u8) -> [IpAddr; 2] {
    let path = path as u8;
    [
        Ipv4Addr::new(10, 64, path, host).into(),
        Ipv6Addr::new(0x2001, 0xdb8, 0x64, path.into(), 0, 0, 0, host.into()).into(),
    ]
}

/// Returns the networks of [`access`].
fn networks(path: usize) -> [String; 2] {
    let [four, six] = access(path, 0);
    [format!("{four}/24"), format!("{six}/64")]
}

/// Returns addresses between provider (2) and Internet (1).
fn core(path: usize, host: u8) -> [IpAddr; 2] {
    let path = path as u8;
    [
        Ipv4Addr::new(198, 18, path, host).into(),
        Ipv6Addr::new(0x2001, 0xdb8, 0x18, path.into(), 0, 0, 0, host.into()).into(),
    ]
}
