//! Settings of the monitor.

use std::path::PathBuf;
use std::time::Duration;

use super::Setting;

/// `[monitor]`: who uses the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// Count per conversation and device at all.
    pub enabled: Setting<bool>,
    /// How many conversations there are records for.
    pub size: Setting<MeterRoom>,
    /// Learn names from the first packets of conversations.
    pub names: Setting<bool>,
    /// Files of leases, by which devices have names.
    pub leases: Setting<Vec<PathBuf>>,
    /// What else is recorded of the network stack.
    pub probes: Setting<Vec<&'static monitor::probes::Probe>>,
    /// `[monitor.ipfix]`
    pub ipfix: Ipfix,
}

/// Where dnsmasq and odhcpd keep leases: on Debian, on OpenWrt.
const LEASES: [&str; 3] = [
    "/var/lib/misc/dnsmasq.leases",
    "/tmp/dhcp.leases",
    "/tmp/hosts/odhcpd",
];

impl Default for Monitor {
    fn default() -> Self {
        Self {
            enabled: Setting::default_value(true),
            size: Setting::default(),
            names: Setting::default_value(true),
            leases: Setting::default_value(LEASES.map(PathBuf::from).to_vec()),
            probes: Setting::default(),
            ipfix: Ipfix::default(),
        }
    }
}

/// `[monitor.ipfix]`: conversations for collectors elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipfix {
    /// Where to; `None`: nowhere.
    pub collector: Setting<Option<Collector>>,
    /// Both ways in one record (RFC 5103), which few collectors understand.
    pub biflow: Setting<bool>,
    /// How often a conversation that goes on is told of.
    pub active: Setting<Duration>,
    /// Translations that begin and end, too.
    pub nat_events: Setting<bool>,
}

impl Default for Ipfix {
    fn default() -> Self {
        Self {
            collector: Setting::default(),
            biflow: Setting::default(),
            active: Setting::default_value(Duration::from_secs(60)),
            nat_events: Setting::default(),
        }
    }
}

/// Host and port of a collector: an address, or a name to be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector(pub String);

/// Room for conversations that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeterRoom {
    /// A part of the machine's memory.
    #[default]
    Auto,
    /// As many as fit a quarter of the processor's second-level cache.
    Cache,
    /// So many IPv4 conversations, and half as many of IPv6.
    Records(u32),
}

impl MeterRoom {
    /// Fewest that can be asked for.
    pub const FEWEST: u32 = 256;
    /// Most that can be asked for.
    pub const MOST: u32 = 4 * 1024 * 1024;
}
