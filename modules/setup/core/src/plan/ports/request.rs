//! Wishes for the use of ports, and refusals.

use serde::{Deserialize, Serialize};

use super::PortRole;

/// Wish for the use of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortRequest {
    /// The device.
    pub device: String,
    /// Wanted use.
    pub used: PortRole,
    /// Of a mesh: the number of its VXLAN.
    #[serde(default)]
    pub vxlan: Option<u32>,
    /// Of an uplink: result of the detection there.
    #[serde(default)]
    pub uplink: Option<DetectedUplink>,
}

/// Result of the detection at an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetectedUplink {
    /// Protocol of the uplink.
    pub kind: UplinkProtocol,
    /// VLAN; `None`: without a tag.
    #[serde(default)]
    pub vlan: Option<u16>,
}

/// Protocol of an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UplinkProtocol {
    /// DHCP.
    Dhcp,
    /// PPPoE.
    Pppoe,
}

/// Refusal of a wish.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The configuration has no networks.
    #[error("the configuration of `weir setup` lacks this router's network")]
    NoNetwork,
    /// Not a valid name of a device, or too long.
    #[error("invalid name of a port: {0:?}")]
    Name(String),
    /// Two wishes contradict each other.
    #[error("{0}: two wishes contradict each other")]
    Twice(String),
    /// Another part of the configuration uses the port.
    #[error("{0} belongs to network.{1}, which was not made by weir")]
    Held(String, String),
    /// Its frames are tagged, or its bridge filters VLANs.
    #[error("{0} is in a network by VLANs, which weir does not change")]
    Tagged(String),
    /// The provider's name and password are missing.
    #[error("{0}: PPPoE needs the provider's name and password")]
    NeedsPppoe(String),
    /// The uplink uses another method.
    #[error("{0}: the Internet is configured otherwise (network.wan.proto {1})")]
    Otherwise(String, String),
    /// The name of a new section is taken.
    #[error("{0}: section network.{1} already exists for another purpose")]
    Collides(String, String),
    /// The router lacks a required package.
    #[error("{0}: the router lacks {1}")]
    Lacks(String, String),
    /// Not a valid number of a VXLAN.
    #[error("{0}: invalid VXLAN number {1}: use 1 to 16777215")]
    Vxlan(String, u32),
    /// The wizard's own checks refuse it.
    #[error("{0}: {1}")]
    Wizard(String, String),
}

impl Refusal {
    /// Returns the remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoNetwork => "set up the router in the wizard first",
            Self::Name(_) => "use a device that `ip link` lists, such as eth1",
            Self::Twice(_) => "give one wish per port, and at most one uplink",
            Self::Held(..) | Self::Tagged(_) => "remove the port from it by hand first",
            Self::NeedsPppoe(_) => "set up the Internet in the wizard",
            Self::Otherwise(..) => "choose the port of the Internet in the wizard",
            Self::Collides(..) => "rename that section",
            Self::Lacks(..) => "install it first",
            Self::Vxlan(..) => "use a number from 1 to 16777215",
            Self::Wizard(..) => "fix that, and try again",
        }
    }
}

/// Checks a request alone, independently of the router.
pub fn wrong(wish: &PortRequest, all: &[PortRequest]) -> Option<Refusal> {
    let device = &wish.device;
    if !is_device(device) {
        return Some(Refusal::Name(device.clone()));
    }
    let same = |other: &&PortRequest| {
        other.device == *device || other.used == PortRole::Uplink && wish.used == PortRole::Uplink
    };
    if all.iter().filter(same).count() > 1 {
        return Some(Refusal::Twice(device.clone()));
    }
    let number = wish.vxlan.filter(|number| !(1..1 << 24).contains(number))?;
    Some(Refusal::Vxlan(device.clone(), number))
}

/// Checks the name of a port (`dev_valid_name` of the kernel, and the limits of UCI's lists): no
/// program takes the name for an option.
fn is_device(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_');
    (1..16).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(plain)
        && !matches!(name, "." | ".." | "lo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_called_as_the_kernel_and_programs_take_it() {
        assert!(
            ["eth0", "eth0.10", "lan-1", "_a"]
                .iter()
                .all(|name| is_device(name))
        );
        for name in [
            "",
            "-x",
            "--help",
            ".",
            "..",
            "lo",
            "a/b",
            "a b",
            "0123456789abcdef",
        ] {
            assert!(!is_device(name), "{name}");
        }
    }
}
