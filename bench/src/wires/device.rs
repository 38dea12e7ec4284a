//! By which device packets leave, and what the kernel tells of it.

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;

use kernel::io::{Filters, Policy};
use nix::net::if_::{if_indextoname, if_nametoindex};

use super::Trouble;

/// A network device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
}

impl Device {
    /// The one of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Self, Trouble> {
        match if_nametoindex(name) {
            Ok(_) => Ok(Self { name: name.into() }),
            Err(_) => Err(Trouble::new(
                format!("there is no device {name}"),
                "`ip link` lists them",
            )),
        }
    }

    /// The one by which a packet to this address would leave. `None`: there is no way to it.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn towards(address: IpAddr) -> Result<Option<Self>, Trouble> {
        let failed = |error: &dyn std::fmt::Display| {
            Trouble::new(
                format!("the kernel does not tell the way to {address}: {error}"),
                "name the device: --device",
            )
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(|error| failed(&error))?;
        // The socket is asked at once; it only wants a runtime to belong to.
        let _inside = runtime.enter();
        let mut routes = Policy::open().map_err(|error| failed(&error))?;
        let index = routes.way_to(address).map_err(|error| failed(&error))?;
        Ok(index.and_then(Self::numbered))
    }

    /// The one of a number; none has 0.
    pub fn numbered(index: u32) -> Option<Self> {
        let name = if_indextoname(index).ok()?;
        let name = name.to_string_lossy().into_owned();
        (index != 0 && !name.is_empty()).then_some(Self { name })
    }

    /// Packets that its queue dropped so far, modulo 2^32; 0 if the kernel does not tell.
    pub fn queue_dropped(&self) -> u32 {
        let ask = || {
            let index = if_nametoindex(self.name.as_str()).ok()?;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build()
                .ok()?;
            let _inside = runtime.enter();
            Filters::open().ok()?.dropped(index).ok()
        };
        ask().unwrap_or(0)
    }

    /// Whether packets never leave the machine by it.
    pub fn is_loopback(&self) -> bool {
        self.name == "lo"
    }

    fn read(&self, file: &str) -> Option<u64> {
        let text = fs::read_to_string(format!("/sys/class/net/{}/{file}", self.name)).ok()?;
        text.trim().parse().ok()
    }

    /// Mbit/s, where the driver knows it.
    pub fn speed(&self) -> Option<f64> {
        // -1 is what some drivers say instead.
        let speed = self.read("speed").filter(|speed| *speed > 0)?;
        Some(speed as f64)
    }

    /// Bytes of IP.
    pub fn mtu(&self) -> Option<u64> {
        self.read("mtu")
    }

    /// How often its link went up or down so far.
    pub fn carrier_changes(&self) -> u64 {
        self.read("carrier_changes").unwrap_or(0)
    }

    /// Packets that arrived and for which it had no room so far. Not `rx_dropped`: what nobody here
    /// speaks is in it too.
    pub fn dropped(&self) -> u64 {
        let counters = ["rx_missed_errors", "rx_fifo_errors"];
        counters
            .iter()
            .filter_map(|name| self.read(&format!("statistics/{name}")))
            .sum()
    }
}

/// Where the person at this machine came from, if by SSH: the first word of `SSH_CONNECTION`
/// (sshd(8)).
pub fn ssh_client(connection: Option<OsString>) -> Option<IpAddr> {
    let connection = connection?;
    let text = connection.to_str()?;
    let address = text.split_whitespace().next()?;
    // Link-local ones have their device behind a per cent sign.
    let address = address.split('%').next()?;
    address.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// Refuses a device that carries the session of the person who asks.
///
/// # Errors
/// It does.
pub fn spare_ssh(device: &Device, connection: Option<OsString>) -> Result<(), Trouble> {
    let Some(client) = ssh_client(connection) else {
        return Ok(());
    };
    match Device::towards(client) {
        Ok(Some(own)) if own == *device && !own.is_loopback() => Err(Trouble::new(
            format!(
                "{} carries your own SSH session from {client}, which would not get through while \
                    it is flooded",
                device.name
            ),
            "measure by another device, or --force",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_by_ssh() {
        let of = |text: &str| ssh_client(Some(text.into()));
        assert_eq!(
            of("192.0.2.1 50000 192.0.2.2 22"),
            Some(IpAddr::from([192, 0, 2, 1]))
        );
        assert_eq!(
            of("::ffff:192.0.2.1 50000 ::ffff:192.0.2.2 22"),
            Some(IpAddr::from([192, 0, 2, 1]))
        );
        assert_eq!(
            of("fe80::1%eth0 50000 fe80::2%eth0 22"),
            "fe80::1".parse().ok()
        );
        for text in ["", " ", "nobody", "UNKNOWN 65535 UNKNOWN 65535"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(ssh_client(None), None);
    }

    #[test]
    fn the_way_to_oneself() {
        let here = Device::towards(IpAddr::from([127, 0, 0, 1])).expect("told");
        assert!(here.is_some_and(|device| device.is_loopback()));
        let told = Device::named("nosuch0").expect_err("none");
        assert!(told.what.contains("nosuch0"));
        let lo = Device::named("lo").expect("there");
        assert!(spare_ssh(&lo, Some("127.0.0.1 1 127.0.0.1 22".into())).is_ok());
    }
}
