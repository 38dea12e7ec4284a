//! How a path is lost, and found again.

use std::sync::atomic::Ordering;

use super::Uplinks;
use crate::Error;

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

impl Uplinks {
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
}
