//! `[monitor]`, `[monitor.ipfix]` and `[devices.MAC]`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use monitor_core::probes::{PROBES, Probe, find};
use net::digits::decimal;
use serde_json::Value;
use toml::de::DeValue;

use history::devices::DeviceSettings;
use runtime::config::{ByteSize, FileValue, Form, Section, ValueError, integer, list, table};

/// Sections of this module in the configuration file.
pub const SECTIONS: [Section; 3] = [
    Section::of::<Monitor>("monitor"),
    Section::of::<Ipfix>("monitor.ipfix"),
    Section::named::<DeviceSettings>("devices", DeviceSettings::NAMING),
];

/// Lease files of dnsmasq and odhcpd: on Debian, on OpenWrt.
const LEASES: [&str; 3] = [
    "/var/lib/misc/dnsmasq.leases",
    "/tmp/dhcp.leases",
    "/tmp/hosts/odhcpd",
];

table! {
    /// `[monitor]`: who uses the network.
    Monitor {
        /// Count traffic, by conversation and by device.
        Restart enabled: bool = true;
        /// Number of conversations that have a record. "auto" depends on memory, "cache" on the
        /// processor's second-level cache. Traffic without a record is counted for its device.
        Restart size: MeterCapacity = MeterCapacity::Auto;
        /// Memory of the daemon for conversations that it remembers. "auto" is 1/32 of the
        /// machine's memory, from 4 MiB to 64 MiB. When the memory is full, short conversations are
        /// removed first.
        Restart memory: MonitorMemory = MonitorMemory::Auto;
        /// Learn names of devices and of remote hosts from the first packets of conversations (DNS,
        /// DHCP, TLS, QUIC). Names are kept in memory only.
        Restart names: bool = true;
        /// Lease files of a DHCP server, as a further source of device names. Missing files are
        /// skipped.
        Restart leases: Vec<PathBuf> = LEASES.map(PathBuf::from).to_vec();
        /// File of the labels that the page and `weir device` give to devices. "auto" is
        /// /var/lib/weir/devices in the first network namespace, and nothing in any other.
        Restart choices: Option<PathBuf> = None;
        /// Probes that record more of the network stack; `weir probes` lists all. Each costs time
        /// for every packet that it examines.
        Live probes: Vec<&'static Probe> as PROBES_ON = Vec::new();
    }
}

table! {
    /// `[monitor.ipfix]`: conversations for collectors elsewhere.
    Ipfix {
        /// Collector to which conversations are exported, by IPFIX over UDP.
        Live collector: Option<Collector> as COLLECTOR = None;
        /// Export both directions in one record (RFC 5103). Few collectors support this.
        Live biflow: bool = false;
        /// Interval at which a continuing conversation is exported.
        Live active: Duration = Duration::from_secs(60),
            Duration::from_secs(1) => Duration::from_secs(600);
        /// Export the begin and end of IPv4 translations: which device had which port.
        Live nat_events: bool = false;
    }
}

/// Memory for conversations that are remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MonitorMemory {
    /// A part of the machine's.
    #[default]
    Auto,
    /// Number of bytes.
    Bytes(u64),
}

impl MonitorMemory {
    /// Valid range, in bytes.
    const RANGE: RangeInclusive<u64> = 1 << 20..=1 << 30;
}

impl FileValue for MonitorMemory {
    const ALLOWED: &'static str =
        "\"auto\", or from \"1MiB\" to \"1GiB\", in quotes with its unit, or in bytes without";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        if value.as_str() == Some("auto") {
            return Ok(Self::Auto);
        }
        let ByteSize(octets) = <ByteSize as FileValue>::read(value)?;
        let fits = Self::RANGE.contains(&octets);
        fits.then_some(Self::Bytes(octets)).ok_or(None)
    }

    fn show(&self) -> Value {
        match self {
            Self::Auto => "auto".into(),
            Self::Bytes(octets) => ByteSize(*octets).show(),
        }
    }
}

/// Host and port of a collector: an address, or a name to resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector(pub String);

/// Capacity of the meter, in conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeterCapacity {
    /// A part of the machine's memory.
    #[default]
    Auto,
    /// As many as fit a quarter of the processor's second-level cache.
    Cache,
    /// Number of IPv4 conversations, and half as many of IPv6.
    Records(u32),
}

impl MeterCapacity {
    /// Fewest that can be asked for.
    pub const FEWEST: u32 = 256;
    /// Most that can be asked for.
    pub const MOST: u32 = 4 * 1024 * 1024;
}

impl FileValue for MeterCapacity {
    const ALLOWED: &'static str =
        "\"auto\", \"cache\", or a number of conversations from 256 to 4194304, without quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        match value.as_str() {
            Some("auto") => return Ok(Self::Auto),
            Some("cache") => return Ok(Self::Cache),
            _ => {}
        }
        let number = integer(value)
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| (Self::FEWEST..=Self::MOST).contains(number));
        number.map(Self::Records).ok_or(None)
    }

    fn show(&self) -> Value {
        match self {
            Self::Auto => "auto".into(),
            Self::Cache => "cache".into(),
            Self::Records(number) => (*number).into(),
        }
    }
}

const COLLECTOR: Form<Option<Collector>> = Form {
    allowed: "\"none\", or HOST:PORT in quotes, such as \"192.0.2.1:4739\" or \"[2001:db8::1]:4739\"",
    read: |value, _| {
        let text = value.as_str().ok_or(None)?;
        if text == "none" {
            return Ok(None);
        }
        let (host, port) = text.rsplit_once(':').ok_or(None)?;
        let port: u16 = decimal(port).ok_or(None)?;
        let literal = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let fits = match literal {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                (1..=253).contains(&host.len())
                    && host
                        .bytes()
                        .all(|octet| octet.is_ascii_alphanumeric() || b"-._".contains(&octet))
            }
        };
        if port == 0 || !fits {
            return Err(None);
        }
        Ok(Some(Collector(text.to_owned())))
    },
    show: |collector| match collector {
        Some(collector) => collector.0.as_str().into(),
        None => "none".into(),
    },
};

const PROBES_ON: Form<Vec<&'static Probe>> = Form {
    allowed: "a list of probes, each in quotes, such as [\"drops\"]",
    read: |value, allowed| {
        let named = |wrong: ValueError| {
            let names: Vec<_> = PROBES.iter().map(|probe| probe.name).collect();
            ValueError {
                hint: format!("{}; valid probes: {}", wrong.hint, names.join(", ")),
                ..wrong
            }
        };
        list(value, allowed, |text| find(text).ok()).map_err(|wrong| wrong.map(named))
    },
    show: |all| all.iter().map(|probe| probe.name).collect(),
};
