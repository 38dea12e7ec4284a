//! Finds devices by the names that people use.

use answers::{Device, Devices};

use crate::Error;
use crate::output::clipped;

/// Returns true if `wanted` is the hardware address, the name (in any case) or an IP address of the
/// device.
pub fn is_called(device: &Device, wanted: &str) -> bool {
    let mac = answers::monitor::normal_mac(wanted);
    let address = wanted.parse::<std::net::IpAddr>().ok();
    let has = |own: &String| own.parse().ok() == address;
    let name = device.name.as_ref();
    mac.is_some_and(|mac| mac == device.mac)
        || name.is_some_and(|name| name.to_lowercase() == wanted.to_lowercase())
        || address.is_some() && device.addresses.iter().any(has)
}

/// Returns the hardware address of the device with this name; an unknown hardware address is
/// returned as it is.
pub fn mac_of(devices: &Devices, wanted: &str) -> Result<String, Error> {
    if let Some(mac) = answers::monitor::normal_mac(wanted) {
        return Ok(mac);
    }
    let called = devices
        .devices
        .iter()
        .filter(|device| is_called(device, wanted));
    // A name given by people outranks a name that the device announces.
    let mut called: Vec<_> = called.collect();
    let trust = |device: &&Device| match device.name_source.as_deref() {
        Some("configuration") => 2,
        Some("given" | "ethers") => 1,
        _ => 0,
    };
    let most = called.iter().map(trust).max();
    called.retain(|device| Some(trust(device)) == most);
    let unseen = || {
        let lower = wanted.to_lowercase();
        let mut named = devices.unseen.iter();
        let is = |name: &String| name.to_lowercase() == lower;
        named.find(|label| label.name.as_ref().is_some_and(is))
    };
    match *called {
        [] => match unseen() {
            Some(label) => Ok(label.mac.clone()),
            None => Err(unknown(wanted)),
        },
        [one] => Ok(one.mac.clone()),
        [first, second, ..] => {
            let what = format!("more than one device is called `{wanted}`");
            let hint = format!(
                "give the hardware address, such as {} or {}",
                first.mac, second.mac
            );
            Err(Error::new(what, hint))
        }
    }
}

/// Nothing is called so.
pub fn unknown(wanted: &str) -> Error {
    let what = format!("no device called `{}` is known", clipped(wanted, 64));
    Error::new(
        what,
        "`weir devices --all` lists all devices; give a name, a hardware address or an IP address",
    )
}

#[cfg(test)]
mod tests {
    use answers::LabelledDevice;

    use super::*;

    /// A device that has nothing else.
    fn device(mac: &str, name: Option<&str>, address: &str) -> Device {
        Device {
            mac: mac.into(),
            name: name.map(Into::into),
            addresses: vec![address.into()],
            ..Device::default()
        }
    }

    #[test]
    fn devices_are_found_by_what_people_know() {
        let answer = Devices {
            devices: vec![
                device("02:00:00:00:00:0a", Some("Laptop"), "192.168.1.2"),
                device("02:00:00:00:00:0b", Some("tv"), "2001:db8::1"),
                device("02:00:00:00:00:0c", Some("TV"), "192.168.1.3"),
            ],
            ..Devices::default()
        };
        let mut answer = answer;
        answer.unseen.push(LabelledDevice {
            mac: "02:00:00:00:00:0d".into(),
            name: Some("Away".into()),
            ..LabelledDevice::default()
        });
        for (wanted, found) in [
            ("away", "02:00:00:00:00:0d"),
            ("laptop", "02:00:00:00:00:0a"),
            ("192.168.1.3", "02:00:00:00:00:0c"),
            ("2001:DB8:0::1", "02:00:00:00:00:0b"),
            ("02-00-00-00-00-0C", "02:00:00:00:00:0c"),
            ("02:00:00:00:00:ff", "02:00:00:00:00:ff"),
        ] {
            assert_eq!(
                mac_of(&answer, wanted).ok().as_deref(),
                Some(found),
                "{wanted}"
            );
        }
        let twice = mac_of(&answer, "tv").expect_err("two").to_string();
        assert!(
            twice.contains("02:00:00:00:00:0b or 02:00:00:00:00:0c"),
            "{twice}"
        );
        // The device that people gave this name is chosen.
        let mut said = answer.clone();
        said.devices[2].name_source = Some("given".into());
        said.devices[1].name_source = Some("mdns".into());
        let found = mac_of(&said, "tv").ok();
        assert_eq!(found.as_deref(), Some("02:00:00:00:00:0c"));
        said.devices[1].name_source = Some("configuration".into());
        let found = mac_of(&said, "tv").ok();
        assert_eq!(found.as_deref(), Some("02:00:00:00:00:0b"));
        let none = mac_of(&answer, "\x1b[2Jx").expect_err("none").to_string();
        assert!(none.contains("`?[2Jx`"), "{none}");
    }
}
