//! Hosts, routers and the wires between them.

use std::net::IpAddr;

use crate::{Error, Namespace};

pub use crate::frame::{Mac, mac, text};

/// Packet processing of a wire's devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offloads {
    /// The kernel's default: unfinished checksums, super-packets of 64 KiB.
    #[default]
    Default,
    /// Like a simple network card: frames on the wire have finished checksums and VLAN tags,
    /// without segmentation or merging. GRO is on, because veth takes XDP frames only with GRO or
    /// an XDP program, but a size limit prevents merging.
    Plain,
    /// Like `Plain`, but veth takes no XDP frames, as with Wi-Fi and similar devices.
    WithoutXdp,
}

/// Namespaces and wires of a lab. Removed when dropped.
#[derive(Debug, Default)]
pub struct Topology {
    nodes: Vec<Namespace>,
}

impl Topology {
    /// Adds a host.
    pub fn host(&mut self, role: &str) -> Result<&Namespace, Error> {
        if self.nodes.iter().any(|node| node.role() == role) {
            return Err(Error::Unexpected(format!("two namespaces called {role}")));
        }
        let namespace = Namespace::new(role)?;
        silence(&namespace)?;
        self.nodes.push(namespace);
        self.node(role)
    }

    /// Adds a router: a host that forwards IPv4 and IPv6 and sends no redirects.
    pub fn router(&mut self, role: &str) -> Result<&Namespace, Error> {
        self.host(role)?;
        self.forwarding(role, true)?;
        self.node(role)
    }

    /// Returns the namespace of this role.
    pub fn node(&self, role: &str) -> Result<&Namespace, Error> {
        self.nodes
            .iter()
            .find(|node| node.role() == role)
            .ok_or_else(|| Error::Unexpected(format!("no namespace called {role}")))
    }

    /// Returns all namespaces.
    pub fn nodes(&self) -> &[Namespace] {
        &self.nodes
    }

    /// Lays a wire between two new devices, each given as `(role, device)`. The devices have the
    /// MACs of [`mac`], one queue each, and are up.
    pub fn wire(&self, a: (&str, &str), b: (&str, &str), offloads: Offloads) -> Result<(), Error> {
        let (near, far) = (self.node(a.0)?, self.node(b.0)?);
        let merging = match offloads {
            Offloads::Default => None,
            Offloads::Plain => Some("on"),
            Offloads::WithoutXdp => Some("off"),
        };
        let end = |role, device| {
            let limit = merging.map_or("", |_| "gro_max_size 1");
            let mac = text(mac(role, device));
            format!("address {mac} numtxqueues 1 numrxqueues 1 {limit}")
        };
        near.run(&format!(
            "ip link add {} {} type veth peer name {} netns {} {}",
            a.1,
            end(a.0, a.1),
            b.1,
            far.name(),
            end(b.0, b.1),
        ))?;
        // Both ends are set before either is up: at its start, a veth learns from its peer's GRO if
        // it takes XDP frames.
        if let Some(merging) = merging {
            for (node, device) in [(near, a.1), (far, b.1)] {
                node.run(&format!(
                    "ethtool -K {device} rx off tx off tso off gso off txvlan off \
                        tx-vlan-stag-hw-insert off gro {merging}"
                ))?;
            }
        }
        for (node, device) in [(near, a.1), (far, b.1)] {
            node.run(&format!("ip link set {device} up"))?;
        }
        Ok(())
    }

    /// Gives a device an address, such as `10.0.0.1/24`. IPv6 addresses are usable at once.
    pub fn address(&self, role: &str, device: &str, address: &str) -> Result<(), Error> {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        let line = format!("ip addr add {address} dev {device}{nodad}");
        self.node(role)?.run(&line).map(drop)
    }

    /// Sets the largest IP packet of a device, bytes.
    pub fn mtu(&self, role: &str, device: &str, mtu: u16) -> Result<(), Error> {
        let line = format!("ip link set {device} mtu {mtu}");
        self.node(role)?.run(&line).map(drop)
    }

    /// Adds a permanent neighbour, so that the node never resolves the address.
    pub fn neighbour(
        &self,
        role: &str,
        device: &str,
        address: IpAddr,
        mac: Mac,
    ) -> Result<(), Error> {
        let line = format!(
            "ip neigh replace {address} lladdr {} dev {device} nud permanent",
            text(mac)
        );
        self.node(role)?.run(&line).map(drop)
    }

    /// Adds a route: `to` is a prefix or `default`.
    pub fn route(&self, role: &str, to: &str, via: IpAddr) -> Result<(), Error> {
        let family = if via.is_ipv6() { "-6" } else { "-4" };
        let line = format!("ip {family} route replace {to} via {via}");
        self.node(role)?.run(&line).map(drop)
    }

    /// Switches forwarding of both families.
    pub fn forwarding(&self, role: &str, on: bool) -> Result<(), Error> {
        let node = self.node(role)?;
        node.sysctl("net.ipv4.ip_forward", u8::from(on))?;
        node.sysctl("net.ipv6.conf.all.forwarding", u8::from(on))
    }

    /// Masquerades packets that leave by `device`, IPv4 and IPv6 as chosen; table `inet nat`, chain
    /// `post`.
    pub fn masquerade(
        &self,
        role: &str,
        device: &str,
        ipv4: bool,
        ipv6: bool,
    ) -> Result<(), Error> {
        let mut rules = String::new();
        for (on, family) in [(ipv4, "ipv4"), (ipv6, "ipv6")] {
            if on {
                rules += &format!("oifname \"{device}\" meta nfproto {family} masquerade\n");
            }
        }
        let text = format!(
            "table inet nat {{ chain post {{ type nat hook postrouting priority srcnat; policy \
                accept;\n{rules}}}\nchain track {{ type filter hook forward priority filter; \
                policy accept;\nct state established accept\n}}\n}}\n"
        );
        self.node(role)?.nft(&text).map(drop)
    }

    /// Returns the MACs of all devices of a namespace.
    pub fn macs(&self, role: &str) -> Result<Vec<Mac>, Error> {
        let shown = self.node(role)?.run("ip -json link show")?;
        let links: serde_json::Value = serde_json::from_str(&shown)
            .map_err(|error| Error::Unexpected(format!("ip -json: {error}")))?;
        let address = |link: &serde_json::Value| net::mac::parse(link["address"].as_str()?);
        Ok(links
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(address)
            .collect())
    }

    /// Returns the interface index of a device in its namespace.
    pub fn index(&self, role: &str, device: &str) -> Result<u32, Error> {
        let node = self.node(role)?;
        node.enter(|| nix::net::if_::if_nametoindex(device))?
            .map_err(Error::system(format!("find {role}:{device}")))
    }
}

/// Keeps a namespace from sending by itself: no duplicate address detection, link-local addresses,
/// router solicitations or redirects. A router that resolves IPv6 neighbours needs a link-local
/// address by [`Topology::address`]. Call this before making devices, which copy the defaults.
fn silence(node: &Namespace) -> Result<(), Error> {
    for scope in ["all", "default"] {
        for (key, value) in [
            ("accept_dad", 0),
            ("addr_gen_mode", 1),
            ("router_solicitations", 0),
            ("accept_ra", 0),
        ] {
            node.sysctl(&format!("net.ipv6.conf.{scope}.{key}"), value)?;
        }
        node.sysctl(&format!("net.ipv4.conf.{scope}.send_redirects"), 0)?;
    }
    Ok(())
}
