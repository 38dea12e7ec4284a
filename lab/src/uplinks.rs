//! Several ways out: a router with two or more providers, a partner in the Internet that joins them
//! up again, and a server.
//!
//! ```text
//!                     wan0 – home:isp0:core – isp0 \
//! client – lan0:router                              internet – partner
//!                     wan1 – home:isp1:core – isp1 /        \ server
//! ```
//!
//! Everything behind the providers can be reached by each of them. Rates are kept at the providers,
//! where a real line is slow. A path that delays, loses or meddles has a [`Relay`] between `core`
//! and the Internet, in a namespace `relay0`.

mod shape;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::relay::{Relay, Treatment};
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
/// The last part of the router's address at a provider, until it is given another.
const FIRST_HOST: u8 = 2;
/// One digit names a path.
const MOST_PATHS: usize = 9;

/// How [`Uplinks::build`] builds.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The providers, from the router's best (lowest metric) on: one to nine.
    pub paths: Vec<Path>,
    /// IPv6 beside IPv4. The LAN's addresses are local ones, so that the router translates them
    /// too.
    pub ipv6: bool,
}

impl Options {
    /// As many paths as there are rates, each that many Mbit/s in both directions.
    pub fn mbit(rates: &[u64]) -> Self {
        Self {
            paths: rates.iter().map(|rate| Path::mbit(*rate)).collect(),
            ipv6: false,
        }
    }
}

/// What a provider is like. By default it is as fast as the machine, and does nothing but forward.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Path {
    /// From the router; `None`: not shaped.
    pub up: Option<Shape>,
    /// To the router.
    pub down: Option<Shape>,
    /// Builds a relay, which does this; `None`: no relay, and so no [`Uplinks::treat`].
    pub relay: Option<Treatment>,
    /// The provider masquerades IPv4 (carrier-grade NAT): nobody behind it can be called.
    pub masquerade: bool,
}

impl Path {
    /// So many Mbit/s in both directions.
    pub fn mbit(rate: u64) -> Self {
        let shape = Some(Shape::mbit(rate));
        Self {
            up: shape,
            down: shape,
            ..Self::default()
        }
    }

    /// The same, with a relay.
    pub fn with_relay(self, treatment: Treatment) -> Self {
        Self {
            relay: Some(treatment),
            ..self
        }
    }
}

/// A way to lose a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The cable: the router's device goes down, and the kernel forgets its routes and IPv6
    /// addresses.
    Link,
    /// Something behind the provider's first device: carrier, addresses, routes and IPv4 neighbours
    /// stay, and no packet passes. What is in the provider's queues still arrives.
    Hole,
    /// The lease: addresses and default routes of the device go, the carrier stays.
    Address,
}

/// The lab. Paths are told by their number, from 0. Removed when dropped.
#[derive(Debug)]
pub struct Uplinks {
    // Dropped before the namespaces that they work in.
    relays: Vec<Option<Relay>>,
    lab: Lab,
    ipv6: bool,
    /// The last part of the router's address at each provider, and the part that is the provider's.
    hosts: Vec<AtomicU8>,
    networks: Vec<AtomicU8>,
}

impl Uplinks {
    /// Builds it. The router masquerades at each uplink, and has a default route by each in its
    /// main table, as DHCP clients leave them: metric 100, 200 and so on. Rules that choose a path
    /// by the source address are not made: see [`Uplinks::source_rules`].
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

    /// The namespaces: `client`, `router`, `isp0`…, `internet`, `partner`, `server`.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The namespace of that role; there is no such test that can go on without.
    fn node(&self, role: &str) -> &Namespace {
        self.lab.node(role).expect("a namespace that was built")
    }

    /// A host of the LAN.
    pub fn client(&self) -> &Namespace {
        self.node("client")
    }

    /// The router with the uplinks `wan0`, `wan1`….
    pub fn router(&self) -> &Namespace {
        self.node("router")
    }

    /// Where all paths meet; a host with one device, `eth0`.
    pub fn partner(&self) -> &Namespace {
        self.node("partner")
    }

    /// Someone in the Internet who has nothing to do with all this; `eth0`.
    pub fn server(&self) -> &Namespace {
        self.node("server")
    }

    /// The provider of a path; its devices are `home`, towards the router, and `core`.
    pub fn provider(&self, path: usize) -> &Namespace {
        self.node(&format!("isp{path}"))
    }

    /// How many paths there are.
    pub fn paths(&self) -> usize {
        self.hosts.len()
    }

    /// The router's device of a path.
    pub fn device(&self, path: usize) -> String {
        format!("wan{path}")
    }

    /// The router's IPv4 address on a path.
    pub fn address(&self, path: usize) -> IpAddr {
        access(self.network(path), self.host(path))[0]
    }

    /// The router's IPv6 address on a path.
    pub fn address6(&self, path: usize) -> IpAddr {
        access(self.network(path), self.host(path))[1]
    }

    /// The router's IPv4 gateway on a path.
    pub fn gateway(&self, path: usize) -> IpAddr {
        access(self.network(path), 1)[0]
    }

    /// Sets the rates of a path; `None`: as fast as the machine.
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
                // A super-packet that is longer than a short burst would stay at its head for ever.
                sender.run(&format!("ethtool -K {wire} tso off gso off"))?;
            }
            provider.run(&shape::command(device, shape))?;
        }
        Ok(())
    }

    /// Changes what a path's relay does, for what arrives there from now on.
    pub fn treat(&self, path: usize, treatment: Treatment) -> Result<(), Error> {
        self.relay(path)?.treat(treatment);
        Ok(())
    }

    /// The relay of a path that was built with one.
    pub fn relay(&self, path: usize) -> Result<&Relay, Error> {
        self.relays[path]
            .as_ref()
            .ok_or_else(|| Error::Unexpected(format!("path {path} was built without a relay")))
    }

    /// What a router with several uplinks needs: a table per path, 1000 + its number, and a rule by
    /// the source address. Without these, all that the router sends takes the best default route.
    /// Weir makes its own; this is for the kernel alone.
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
                // In a batch, a rule is taken for one of IPv4.
                self.router().run(&format!(
                    "ip -6 rule add pref {table} from {} lookup {table}",
                    self.address6(path)
                ))?;
            }
        }
        self.router().ip(&lines).map(drop)
    }

    /// Cuts a path. Several cuts may come together.
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
                    // It goes by a link-local address, and would stay.
                    router.run(&format!("ip -6 route flush exact default dev {device}"))?;
                }
                router.run(&format!("ip addr flush dev {device} scope global"))?
            }
        };
        Ok(())
    }

    /// Undoes every cut of a path: the router's link is up, and has its addresses and default
    /// routes again, as its DHCP client would see to.
    pub fn heal(&self, path: usize) -> Result<(), Error> {
        let device = self.device(path);
        self.router().run(&format!("ip link set {device} up"))?;
        self.provider(path)
            .nft("table inet hole {}\ndelete table inet hole\n")?;
        self.lease(path)
    }

    /// The provider gives the router other addresses, whose last part is `host` (3 to 254); the old
    /// ones go at once.
    pub fn renumber(&self, path: usize, host: u8) -> Result<(), Error> {
        self.cut(path, Cut::Address)?;
        self.hosts[path].store(host, Ordering::Relaxed);
        self.lease(path)
    }

    /// The provider of a path gives out the IPv4 network of another's, and from it the address
    /// whose last part is `host`; with 2 both have the same. It must masquerade, or nothing would
    /// come back.
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
            // Whatever this machine's default is; answers may come by another path than they would
            // go.
            node.sysctl("net.ipv4.conf.all.rp_filter", 0)?;
            node.sysctl("net.ipv4.conf.default.rp_filter", 0)?;
        }
        Ok(())
    }

    /// The LAN.
    fn homes(&self) -> Result<(), Error> {
        let lab = &self.lab;
        lab.wire(("client", "eth0"), ("router", "lan0"), Offloads::Default)?;
        self.addresses("router", "lan0", [ROUTER, ROUTER6], 1)?;
        self.addresses("client", "eth0", [CLIENT, CLIENT6], 2)?;
        self.default_route("client", [ROUTER, ROUTER6])
    }

    /// Partner and server, each in a network of its own.
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

    /// A provider, with its wires, rates and relay.
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

    /// Wires by way of a relay. Frames must be on them as a real wire would have them: not longer
    /// than the MTU, their checksums done.
    fn relayed(&mut self, path: usize, treatment: Treatment) -> Result<Relay, Error> {
        let (isp, role) = (format!("isp{path}"), format!("relay{path}"));
        self.lab.host(&role)?;
        self.lab
            .wire((&isp, "core"), (&role, "near"), Offloads::Plain)?;
        self.lab
            .wire((&role, "far"), ("internet", &isp), Offloads::Plain)?;
        Relay::start(self.node(&role), ["near", "far"], treatment)
    }

    /// Gives the router what a provider's DHCP server and router advertisements would: addresses
    /// and default routes.
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

    /// Addresses of a device, IPv6 ones where IPv6 is on: with a link-local one, `fe80::N`, from
    /// which neighbours are asked.
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

/// Addresses between router and provider; the provider is 1.
fn access(path: usize, host: u8) -> [IpAddr; 2] {
    let path = path as u8;
    [
        Ipv4Addr::new(10, 64, path, host).into(),
        Ipv6Addr::new(0x2001, 0xdb8, 0x64, path.into(), 0, 0, 0, host.into()).into(),
    ]
}

/// The networks of these.
fn networks(path: usize) -> [String; 2] {
    let [four, six] = access(path, 0);
    [format!("{four}/24"), format!("{six}/64")]
}

/// Addresses between provider (2) and Internet (1).
fn core(path: usize, host: u8) -> [IpAddr; 2] {
    let path = path as u8;
    [
        Ipv4Addr::new(198, 18, path, host).into(),
        Ipv6Addr::new(0x2001, 0xdb8, 0x18, path.into(), 0, 0, 0, host.into()).into(),
    ]
}
