//! `[portal.radius]`.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use portal_core::account::is_name;
use serde_json::Value;
use toml::de::DeValue;

use runtime::config::{FileValue, OptionalPath, ValueError, list, table};

/// Default port of RADIUS servers (RFC 2865 section 3).
const PORT: u16 = 1812;
/// A server and its backup.
const MOST: usize = 2;

table! {
    /// `[portal.radius]`: guests who have accounts that a RADIUS server knows.
    Radius {
        /// Servers for accounts: one, and a second for when the first does not answer. Empty: no
        /// accounts.
        Restart servers: Servers = Servers::default();
        /// File with the secret that the servers and this router share, in its first line.
        Restart secret: OptionalPath = OptionalPath::default();
        /// Name of this router at the servers (NAS-Identifier).
        Restart name: RouterName = RouterName::default();
        /// Number of devices that one account may use at once: one more is admitted, and the first
        /// one is logged out.
        Restart devices: u8 = 3, 1 => 100;
        /// Duration of access with an account, if the server sets none.
        Restart time: Duration = Duration::from_secs(86_400),
            Duration::from_secs(60) => Duration::from_secs(2_592_000);
    }
}

/// RADIUS servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers(pub Vec<SocketAddr>);

impl FileValue for Servers {
    const ALLOWED: &'static str = "a list of one or two addresses of hosts, each in quotes, with a port where \
        that is not 1812, such as [\"192.0.2.1\", \"[2001:db8::1]:1645\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        let servers = list(value, Self::ALLOWED, |text| {
            let bare = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
            let server = bare.or_else(|_| text.parse()).ok()?;
            is_host(&server).then_some(server)
        })?;
        let twice = servers.first() == servers.get(1) && !servers.is_empty();
        (servers.len() <= MOST && !twice)
            .then_some(Self(servers))
            .ok_or(None)
    }

    fn show(&self) -> Value {
        self.0.iter().map(ToString::to_string).collect()
    }
}

/// Returns true if the address names one host alone. A link-local address also needs a device.
fn is_host(server: &SocketAddr) -> bool {
    let other = match server.ip() {
        IpAddr::V4(address) => address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let ip = server.ip();
    server.port() > 0 && !ip.is_unspecified() && !ip.is_multicast() && !other
}

/// Name of the router at the RADIUS servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterName(pub String);

impl Default for RouterName {
    fn default() -> Self {
        Self("weir".to_owned())
    }
}

impl FileValue for RouterName {
    const ALLOWED: &'static str = "a name in quotes, of 1 to 200 bytes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        let name = value.as_str().ok_or(None)?;
        let fits = (1..=200).contains(&name.len()) && is_name(name);
        fits.then(|| Self(name.to_owned())).ok_or(None)
    }

    fn show(&self) -> Value {
        self.0.as_str().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host() {
        for (server, is) in [
            ("192.0.2.1:1812", true),
            ("[2001:db8::1]:1645", true),
            ("192.0.2.1:0", false),
            ("0.0.0.0:1812", false),
            ("255.255.255.255:1812", false),
            ("224.0.0.1:1812", false),
            ("[::]:1812", false),
            ("[ff02::1]:1812", false),
            ("[fe80::1]:1812", false),
        ] {
            assert_eq!(is_host(&server.parse().expect("one")), is, "{server}");
        }
    }
}
