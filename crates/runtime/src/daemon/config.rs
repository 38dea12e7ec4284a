//! `[offload]` and `[ports.NAME]`.

use std::fmt;
use std::time::Duration;

use net::digits;
use serde_json::Value;
use toml::de::DeValue;

use crate::config::{DeviceName, FileValue, Section, ValueError, integer, table, words};

/// Sections of the fast path.
pub const SECTIONS: [Section; 2] = [
    Section::of::<Offload>("offload"),
    Section::named::<PortSettings>("ports", DeviceName::NAMING),
];

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

table! {
    /// `[offload]`: the fast path.
    Offload {
        /// Take over connections.
        Live enabled: bool = true;
        /// Take over TCP connections.
        Live tcp: bool = true;
        /// Take over UDP (and so QUIC) connections.
        Live udp: bool = true;
        /// Interval at which the kernel forwards one packet of each flow again, so that weir
        /// notices a changed decision.
        // Below a second every packet of a slow flow would go to the kernel; above ten minutes it
        // would be no safeguard.
        Live reprove: Duration = secs(20), secs(1) => secs(600);
        /// Number of connections that the table holds; "auto" depends on memory.
        Restart flows: FlowRoom = FlowRoom::Auto;
        /// Connection mark, as value and mask, of connections that stay with the kernel.
        Live opt_out_mark: Option<Mark> = None;
        /// Connections of which a firewall rule may need each packet: "respect" leaves them to the
        /// kernel, "ignore" takes them over.
        Live each_packet: PerPacketPolicy = PerPacketPolicy::Respect;
        /// Hook at which packets are taken, on devices that [ports] does not name. "auto" is XDP if
        /// the driver can, else TC.
        Live hook: HookChoice = HookChoice::Auto;
        /// Also forward frames that a bridge passes from one of its members to another.
        Restart bridge: bool = false;
        /// Decide and count, but leave every packet to the kernel.
        Restart shadow: bool = false;
    }
}

table! {
    /// `[ports.NAME]`: one device.
    PortSettings {
        /// Hook at which packets of this device are taken. "auto" follows offload.hook; "off"
        /// leaves the device alone.
        Live hook: PortHook = PortHook::Auto;
    }
}

/// Room for connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowRoom {
    /// From the memory of the machine.
    #[default]
    Auto,
    /// A fixed number.
    Connections(u32),
}

impl FlowRoom {
    /// Minimum that can be configured.
    pub const FEWEST: u32 = 1024;
    /// Maximum that can be configured: two records of 128 bytes each make 1 GiB of that.
    pub const MOST: u32 = 4 * 1024 * 1024;
}

/// A mark under a mask: fits where `mark & mask == value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Within the mask.
    pub value: u32,
    /// Never 0.
    pub mask: u32,
}

impl Mark {
    /// Returns true if a connection's mark matches.
    pub fn fits(&self, mark: u32) -> bool {
        mark & self.mask == self.value
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}/{:#x}", self.value, self.mask)
    }
}

/// Treatment of connections of which a rule may see each packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PerPacketPolicy {
    /// The connections stay with the kernel.
    #[default]
    Respect,
    /// The connections are taken over: the rule sees a sample of their packets.
    Ignore,
}

/// Hook that takes packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookChoice {
    /// XDP if driver and egress path allow it, else TC.
    #[default]
    Auto,
    /// XDP.
    Xdp,
    /// TC.
    Tc,
}

/// Hook that takes packets of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortHook {
    /// The hook of `offload.hook`.
    #[default]
    Auto,
    /// XDP.
    Xdp,
    /// TC.
    Tc,
    /// None: the device is left alone, for traffic in and out.
    Off,
}

impl FileValue for FlowRoom {
    const ALLOWED: &'static str =
        "\"auto\", or a number of connections from 1024 to 4194304, without quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        if value.as_str() == Some("auto") {
            return Ok(Self::Auto);
        }
        let number = integer(value)
            .and_then(|number| u32::try_from(number).ok())
            .ok_or(None)?;
        if !(Self::FEWEST..=Self::MOST).contains(&number) {
            return Err(None);
        }
        Ok(Self::Connections(number))
    }

    fn show(&self) -> Value {
        match self {
            Self::Auto => "auto".into(),
            Self::Connections(number) => (*number).into(),
        }
    }
}

impl FileValue for Option<Mark> {
    const ALLOWED: &'static str =
        "\"none\", or VALUE/MASK in hexadecimal and quotes, such as \"0x10/0xf0\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        let text = value.as_str().ok_or(None)?;
        if text == "none" {
            return Ok(None);
        }
        let (value, mask) = text.split_once('/').ok_or(None)?;
        let (value, mask) = (
            hexadecimal(value).ok_or(None)?,
            hexadecimal(mask).ok_or(None)?,
        );
        let wrong = |what: &str, hint: &str| {
            Err(Some(ValueError {
                what: what.to_owned(),
                hint: hint.to_owned(),
            }))
        };
        if mask == 0 {
            return wrong(
                "the mask is 0, which would match every connection",
                "set the bits to compare",
            );
        }
        if value & !mask != 0 {
            return wrong(
                "the value has bits outside the mask, so no mark can match",
                "widen the mask, or drop the bits",
            );
        }
        Ok(Some(Mark { value, mask }))
    }

    fn show(&self) -> Value {
        self.map_or_else(|| "none".into(), |mark| mark.to_string().into())
    }
}

fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    u32::try_from(digits::hexadecimal(digits)?).ok()
}

words!(PerPacketPolicy, "\"respect\" or \"ignore\"", "respect" => Self::Respect, "ignore" => Self::Ignore);
words!(HookChoice, "\"auto\", \"xdp\" or \"tc\"",
    "auto" => Self::Auto, "xdp" => Self::Xdp, "tc" => Self::Tc);
words!(PortHook, "\"auto\", \"xdp\", \"tc\" or \"off\"",
    "auto" => Self::Auto, "xdp" => Self::Xdp, "tc" => Self::Tc, "off" => Self::Off);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_fit_under_their_mask() {
        let mark = Mark {
            value: 0x10,
            mask: 0xf0,
        };
        assert!(mark.fits(0x1f) && !mark.fits(0x20));
        assert_eq!(mark.to_string(), "0x10/0xf0");
    }
}
