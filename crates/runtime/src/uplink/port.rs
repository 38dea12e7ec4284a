//! The port: found by its name, with its present uses.

use std::net::{IpAddr, Ipv6Addr, SocketAddrV6, UdpSocket};

use ::detect::Mac;
use kernel::io::Policy;
use kernel::policy::MAIN;
use kernel::uplinks::RoutingSnapshot;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use crate::Error;
use crate::output::sanitize;

/// Ethernet (include/uapi/linux/if_arp.h).
const ETHERNET: u16 = 1;

/// A port.
pub struct Port {
    /// Name of the port.
    pub name: String,
    /// Interface index.
    pub index: u32,
    /// Hardware address.
    pub mac: Mac,
    /// Hardware addresses of this machine's other devices.
    pub others: Vec<Mac>,
    /// True if the device is up.
    pub up: bool,
    /// The default route leaves by it.
    pub leads_out: bool,
    /// Existing uses of the port, behind "The port …".
    pub uses: Vec<String>,
}

impl Port {
    /// Finds a port by name.
    ///
    /// # Errors
    /// The port does not exist, or is not an Ethernet port.
    pub fn find(name: &str) -> Result<Self, Error> {
        let picture = picture()?;
        let Some(link) = picture.links.iter().find(|link| link.name == name) else {
            let what = format!("there is no device {}", sanitize(name));
            return Err(Error::new(what, listed(&picture)));
        };
        let Some(mac) = link.mac.filter(|_| link.hardware == ETHERNET) else {
            let what = format!("{} is not an Ethernet device", sanitize(name));
            return Err(Error::new(what, listed(&picture)));
        };
        let own = picture
            .addresses
            .iter()
            .filter(|own| own.link == link.index);
        let mut uses = Vec::new();
        if let Some(master) = link.master {
            let master = picture.links.iter().find(|link| link.index == master);
            let master = master.map_or("another device", |link| link.name.as_str());
            uses.push(format!("is a member of {}", sanitize(master)));
        }
        for own in own {
            match own.address {
                IpAddr::V6(address) if address.is_unicast_link_local() => {}
                address => uses.push(format!("has the address {address}")),
            }
        }
        let leads_out = picture.defaults.iter().any(|route| {
            route.table == MAIN && route.hops.iter().any(|hop| hop.link == link.index)
        });
        if leads_out {
            uses.push("already leads to the Internet (default route)".into());
        }
        let others = picture.links.iter().filter_map(|link| link.mac);
        Ok(Self {
            name: name.to_owned(),
            index: link.index,
            mac,
            others: others
                .filter(|other| *other != mac && *other != [0; 6])
                .collect(),
            up: flags(name).contains(InterfaceFlags::IFF_UP),
            leads_out,
            uses,
        })
    }

    /// Returns true if there is a link to the other end of the cable.
    pub fn has_link(&self) -> bool {
        flags(&self.name).contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING)
    }

    /// Returns the port's link-local address, if any.
    pub fn link_local(&self) -> Option<Ipv6Addr> {
        let own = getifaddrs().into_iter().flatten();
        let own = own.filter(|entry| entry.interface_name == self.name);
        let mut own = own.filter_map(|entry| Some(entry.address?.as_sockaddr_in6()?.ip()));
        own.find(Ipv6Addr::is_unicast_link_local)
    }

    /// Opens a socket for answers of DHCPv6 that is never read: the packet socket receives them.
    /// Without the socket, the kernel would reject the answers (ICMPv6). `None` if a client listens
    /// there already.
    pub fn ear(&self, address: Ipv6Addr) -> Option<UdpSocket> {
        UdpSocket::bind(SocketAddrV6::new(address, 546, 0, self.index)).ok()
    }

    /// An error about it.
    pub fn failed(&self, what: &str, error: Errno) -> Error {
        let hint = match error {
            Errno::EPERM | Errno::EACCES => "run it as root",
            _ => "check whether the device still exists: ip link",
        };
        Error::with_cause(
            format!("cannot {what} {}", sanitize(&self.name)),
            &error,
            hint,
        )
    }
}

/// Devices that may be an uplink's, as a hint.
///
/// # Errors
/// The kernel does not answer.
pub fn devices() -> Result<String, Error> {
    Ok(listed(&picture()?))
}

fn listed(picture: &RoutingSnapshot) -> String {
    let all = picture
        .links
        .iter()
        .filter(|link| link.hardware == ETHERNET);
    let all: Vec<String> = all.map(|link| sanitize(&link.name)).collect();
    match all.is_empty() {
        true => "there are no Ethernet devices here".into(),
        false => format!("name one of these: {}", all.join(", ")),
    }
}

fn picture() -> Result<RoutingSnapshot, Error> {
    inside(|| -> Result<RoutingSnapshot, String> {
        let mut policy = Policy::open().map_err(|error| error.to_string())?;
        policy.snapshot().map_err(|error| error.to_string())
    })?
    .map_err(|why| Error::new(format!("cannot list devices: {why}"), "try again"))
}

/// Within an event loop, which the kernel's sockets need though they wait for nothing here.
pub fn inside<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    let event_loop = crate::event_loop()?;
    let done = {
        let _inside = event_loop.enter();
        work()
    };
    event_loop.shutdown_background();
    Ok(done)
}

fn flags(name: &str) -> InterfaceFlags {
    let all = getifaddrs().into_iter().flatten();
    let own = all
        .filter(|entry| entry.interface_name == name)
        .map(|entry| entry.flags);
    own.fold(InterfaceFlags::empty(), |all, flags| all | flags)
}
