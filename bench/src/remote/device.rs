//! Device by which packets leave, and its counters in the kernel.

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;

use kernel::io::{Filters, Policy};
use nix::net::if_::{if_indextoname, if_nametoindex};

use super::Problem;

/// A network device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Name, as `ip link` shows it.
    pub name: String,
}

impl Device {
    /// Returns the device with this name.
    ///
    /// # Errors
    /// No device has this name.
    pub fn named(name: &str) -> Result<Self, Problem> {
        match if_nametoindex(name) {
            Ok(_) => Ok(Self { name: name.into() }),
            Err(_) => Err(Problem::new(
                format!("there is no device {name}"),
                "`ip link` lists all devices",
            )),
        }
    }

    /// Returns the device that routes use for this address, or `None` without a route.
    ///
    /// # Errors
    /// The kernel does not answer the request.
    pub fn towards(address: IpAddr) -> Result<Option<Self>, Problem> {
        let failed = |error: &dyn std::fmt::Display| {
            Problem::new(
                format!("cannot get the route to {address}: {error}"),
                "name the device with --device",
            )
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(|error| failed(&error))?;
        // `Policy::open` needs a runtime, though its socket answers at once.
        let _inside = runtime.enter();
        let mut routes = Policy::open().map_err(|error| failed(&error))?;
        let index = routes.way_to(address).map_err(|error| failed(&error))?;
        Ok(index.and_then(Self::numbered))
    }

    /// Returns the device with this index, or `None`, as for index 0.
    pub fn numbered(index: u32) -> Option<Self> {
        let name = if_indextoname(index).ok()?;
        let name = name.to_string_lossy().into_owned();
        (index != 0 && !name.is_empty()).then_some(Self { name })
    }

    /// Returns the packets dropped by the device's queue, modulo 2^32; 0 if unknown.
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

    /// Returns whether packets to this device stay in the machine.
    pub fn is_loopback(&self) -> bool {
        self.name == "lo"
    }

    fn read(&self, file: &str) -> Option<u64> {
        let text = fs::read_to_string(format!("/sys/class/net/{}/{file}", self.name)).ok()?;
        text.trim().parse().ok()
    }

    /// Returns the link speed in Mbit/s, if the driver knows it.
    pub fn speed(&self) -> Option<f64> {
        // Some drivers report -1 for an unknown speed, which does not parse.
        let speed = self.read("speed").filter(|speed| *speed > 0)?;
        Some(speed as f64)
    }

    /// Returns the MTU: bytes of IP.
    pub fn mtu(&self) -> Option<u64> {
        self.read("mtu")
    }

    /// Returns the link's changes up and down so far.
    pub fn carrier_changes(&self) -> u64 {
        self.read("carrier_changes").unwrap_or(0)
    }

    /// Returns the received packets dropped for lack of room. `rx_dropped` does not fit: it also
    /// counts packets of protocols that this machine does not speak.
    pub fn dropped(&self) -> u64 {
        let counters = ["rx_missed_errors", "rx_fifo_errors"];
        counters
            .iter()
            .filter_map(|name| self.read(&format!("statistics/{name}")))
            .sum()
    }
}

/// Returns the client's address of an SSH session: the first word of `SSH_CONNECTION` (sshd(8)).
pub fn ssh_client(connection: Option<OsString>) -> Option<IpAddr> {
    let connection = connection?;
    let text = connection.to_str()?;
    let address = text.split_whitespace().next()?;
    // Link-local addresses carry their device behind a per cent sign.
    let address = address.split('%').next()?;
    address.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// Refuses a device that carries the user's own SSH session.
///
/// # Errors
/// The device carries the session.
pub fn spare_ssh(device: &Device, connection: Option<OsString>) -> Result<(), Problem> {
    let Some(client) = ssh_client(connection) else {
        return Ok(());
    };
    match Device::towards(client) {
        Ok(Some(own)) if own == *device && !own.is_loopback() => Err(Problem::new(
            format!(
                "{} carries your own SSH session from {client}, which the measurement would block",
                device.name
            ),
            "use another device, or --force",
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
