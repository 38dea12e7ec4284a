//! The effective configuration: every setting, and where it was set.

mod history;
mod monitor;
mod multipath;
mod web;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

pub use history::{History, Octets, QuotaAction, QuotaPeriod, QuotaSettings};
pub use monitor::{Collector, Ipfix, MeterRoom, Monitor};
pub use multipath::{Fallback, Multipath, PathSettings, Rate};
pub use web::{MetricsFor, Web, WebTls};

/// Where a setting was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: it is what weir does by itself.
    #[default]
    Default,
    /// A flag.
    CommandLine,
    /// A configuration file.
    File {
        /// As it was named.
        name: String,
        /// From 1.
        line: usize,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::CommandLine => f.pad("command line"),
            Self::File { name, line } => f.pad(&format!("{name}:{line}")),
        }
    }
}

/// A value, and where it was set. Reads like the value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub origin: Origin,
}

impl<T> Setting<T> {
    /// What weir does by itself.
    pub fn default_value(value: T) -> Self {
        Self {
            value,
            origin: Origin::Default,
        }
    }
}

impl<T> Deref for Setting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// All settings, as the daemon uses them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effective {
    /// `[offload]`
    pub offload: Offload,
    /// `[ports.NAME]`, by name of the device.
    pub ports: BTreeMap<String, PortSettings>,
    /// `[drops]`
    pub drops: Drops,
    /// `[monitor]`
    pub monitor: Monitor,
    /// `[history]`
    pub history: History,
    /// `[quotas.NAME]`: by hardware address, by name of the device, or [`QuotaSettings::ALL`].
    pub quotas: BTreeMap<String, QuotaSettings>,
    /// `[multipath]`
    pub multipath: Multipath,
    /// `[web]`
    pub web: Web,
    /// `[api]`
    pub api: Api,
    /// `[log]`
    pub log: Log,
}

/// `[offload]`: the fast path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Take flows over at all.
    pub enabled: Setting<bool>,
    /// Take TCP over.
    pub tcp: Setting<bool>,
    /// Take UDP over.
    pub udp: Setting<bool>,
    /// How often the kernel is shown a packet of each flow again.
    pub reprove: Setting<Duration>,
    /// How many connections there is room for.
    pub flows: Setting<FlowRoom>,
    /// Connections with this ct mark stay with the kernel.
    pub opt_out_mark: Setting<Option<Mark>>,
    /// What becomes of connections that a rule may see each packet of.
    pub each_packet: Setting<EachPacket>,
    /// Where packets are taken, on devices that `[ports]` says nothing about.
    pub hook: Setting<HookChoice>,
    /// Forward frames between members of a bridge, too.
    pub bridge: Setting<bool>,
    /// Prove and count, but forward nothing.
    pub shadow: Setting<bool>,
}

impl Default for Offload {
    fn default() -> Self {
        Self {
            enabled: Setting::default_value(true),
            tcp: Setting::default_value(true),
            udp: Setting::default_value(true),
            reprove: Setting::default_value(Duration::from_secs(20)),
            flows: Setting::default(),
            opt_out_mark: Setting::default(),
            each_packet: Setting::default(),
            hook: Setting::default(),
            bridge: Setting::default(),
            shadow: Setting::default(),
        }
    }
}

/// `[drops]`: what is dropped early, as netfilter or a route would drop it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drops {
    /// Learn what netfilter drops.
    pub learn: Setting<bool>,
    /// Sets of sources.
    pub sets: Setting<Vec<kernel::SetName>>,
    /// Ports at which `sets` count; none: all.
    pub ports: Setting<Vec<DeviceName>>,
    /// Go by a set only where the ruleset drops all that comes from it.
    pub verify: Setting<bool>,
    /// Go by routes that drop.
    pub routes: Setting<bool>,
}

impl Default for Drops {
    fn default() -> Self {
        Self {
            learn: Setting::default(),
            sets: Setting::default(),
            ports: Setting::default(),
            verify: Setting::default_value(true),
            routes: Setting::default(),
        }
    }
}

/// Name of a network device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceName(pub String);

impl DeviceName {
    /// `dev_valid_name` (net/core/dev.c): shorter than IFNAMSIZ, neither `.` nor `..`, without `/`, `:` and white space.
    pub fn fits(name: &str) -> bool {
        (1..=15).contains(&name.len())
            && name != "."
            && name != ".."
            && !name.chars().any(|letter| {
                letter == '/' || letter == ':' || letter.is_whitespace() || letter.is_control()
            })
    }
}

/// Room for connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowRoom {
    /// From the memory of the machine.
    #[default]
    Auto,
    /// So many.
    Connections(u32),
}

impl FlowRoom {
    /// Fewest that can be asked for.
    pub const FEWEST: u32 = 1024;
    /// Most that can be asked for: two records of 128 octets each make 1 GiB of that.
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
    /// Whether a connection's mark fits.
    pub fn fits(&self, mark: u32) -> bool {
        mark & self.mask == self.value
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}/{:#x}", self.value, self.mask)
    }
}

/// What becomes of connections that a rule may see each packet of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EachPacket {
    /// They stay with the kernel.
    #[default]
    Respect,
    /// They are taken over: the rule sees a sample of their packets.
    Ignore,
}

/// Where packets are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookChoice {
    /// XDP where driver and way out allow it, else TC.
    #[default]
    Auto,
    /// XDP.
    Xdp,
    /// TC.
    Tc,
}

/// Where packets of one device are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortHook {
    /// As `offload.hook` says.
    #[default]
    Auto,
    /// XDP.
    Xdp,
    /// TC.
    Tc,
    /// Nowhere: the device is left alone, for traffic in and out.
    Off,
}

/// `[ports.NAME]`: one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSettings {
    /// Where packets are taken.
    pub hook: Setting<PortHook>,
}

/// `[api]`: how others speak to the daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Api {
    /// Path of the socket; `None`: by network namespace.
    pub socket: Setting<Option<PathBuf>>,
}

/// `[log]`: what the daemon tells, on standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// How much.
    pub level: Setting<LogLevel>,
}

/// How much is logged; each level has those before it in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// What failed.
    Error,
    /// What may be wrong.
    Warn,
    /// What the daemon does.
    #[default]
    Info,
    /// What each part of it does.
    Debug,
    /// Each event.
    Trace,
}

impl LogLevel {
    const ALL: [Self; 5] = [
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Debug,
        Self::Trace,
    ];

    /// So many steps louder (quieter, when negative), as far as there are any.
    pub fn louder(self, steps: i32) -> Self {
        let at = Self::ALL
            .iter()
            .position(|level| *level == self)
            .unwrap_or_default();
        let at = i32::try_from(at)
            .unwrap_or_default()
            .saturating_add(steps)
            .clamp(0, 4);
        Self::ALL[usize::try_from(at).unwrap_or_default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_ends() {
        assert_eq!(LogLevel::Info.louder(1), LogLevel::Debug);
        assert_eq!(LogLevel::Info.louder(i32::MAX), LogLevel::Trace);
        assert_eq!(LogLevel::Info.louder(i32::MIN), LogLevel::Error);
    }

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
