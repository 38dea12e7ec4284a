//! Converts the configuration to settings of the core and of the packet path.

use std::path::PathBuf;

use answers::{ConfigChange, Reloaded};
use api::Problem;
use datapath::{Options, Sizes};
use kernel::facts;

use super::config::{FlowRoom, HookChoice, Offload, PerPacketPolicy, PortHook, PortSettings};
use super::memory;
use super::module::Part;
use crate::config::{ConfigError, Effective, When};

/// Reads the configuration again.
pub type Source = Box<dyn Fn() -> Result<Effective, Vec<ConfigError>>>;

/// Options of `weir run`.
pub struct RunOptions {
    /// Source of the configuration, for a reload.
    pub source: Source,
    /// The file that it is read from, whether or not it is there.
    pub config: PathBuf,
    /// Socket of the API.
    pub socket: PathBuf,
    /// Let the kernel forward, and compare.
    pub shadow: bool,
    /// Only these modules; none: all.
    pub only: Vec<String>,
    /// Contribution of each module, in the order of creation.
    pub modules: Vec<Part>,
}

impl RunOptions {
    /// Returns true if a module is to run.
    pub fn wants(&self, module: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == module)
    }
}

/// The current configuration, and its origin.
pub struct Settings {
    /// Configuration in force.
    pub effective: Effective,
    /// Shadow mode, by option or by configuration.
    pub shadow: bool,
    source: Source,
}

impl Settings {
    /// As at the start.
    pub fn new(effective: Effective, shadow: bool, source: Source) -> Self {
        let shadow = shadow || *effective.of::<Offload>().shadow;
        Self {
            effective,
            shadow,
            source,
        }
    }

    /// Reads the configuration again. An error changes nothing. Keys that need a restart are
    /// reported each time, until the restart or until the file matches the running value.
    pub fn reload(&mut self) -> Result<(Reloaded, offload_core::Settings), Problem> {
        let effective = (self.source)().map_err(|errors| {
            let mut problem = Problem::new(
                422,
                "configuration",
                "the configuration has errors; the previous one stays in use",
                "fix the file and reload again",
            );
            problem.errors = errors.iter().map(ToString::to_string).collect();
            problem
        })?;
        let before = self.effective.to_api();
        let after = effective.to_api();
        let changed = after
            .entries
            .iter()
            .filter_map(|entry| {
                let old = before
                    .entries
                    .iter()
                    .find(|e| e.key == entry.key)
                    .map(|e| e.value.clone());
                let old = old.unwrap_or(serde_json::Value::Null);
                (old != entry.value).then(|| ConfigChange {
                    after_restart: effective.when(&entry.key) == Some(When::Restart),
                    key: entry.key.clone(),
                    from: old,
                    to: entry.value.clone(),
                })
            })
            .chain(
                before
                    .entries
                    .iter()
                    .filter(|e| !e.value.is_null() && after.entries.iter().all(|n| n.key != e.key))
                    .map(|e| ConfigChange {
                        key: e.key.clone(),
                        from: e.value.clone(),
                        to: serde_json::Value::Null,
                        after_restart: false,
                    }),
            )
            .collect();
        self.effective = effective.reloaded(&self.effective);
        let settings = offload_settings(&self.effective, self.shadow);
        Ok((Reloaded { changed }, settings))
    }
}

/// Settings of the core.
pub fn offload_settings(effective: &Effective, shadow: bool) -> offload_core::Settings {
    let offload = effective.of::<Offload>();
    let mut timeouts = offload_core::Timeouts::default();
    let mut no_events = false;
    if let Ok(Some(settings)) = facts::conntrack_settings() {
        let seconds = |d: std::time::Duration| u32::try_from(d.as_secs()).unwrap_or(u32::MAX);
        no_events = settings.events == 0;
        timeouts = offload_core::Timeouts {
            tcp_established: seconds(settings.tcp_established),
            tcp_unacknowledged: seconds(settings.tcp_unacknowledged),
            tcp_max_retrans: seconds(settings.tcp_max_retrans),
            udp: seconds(settings.udp),
            udp_stream: seconds(settings.udp_stream),
        };
    }
    let (four, six) = connections(effective);
    offload_core::Settings {
        max_flows: (four + six) as usize,
        opt_out: offload.opt_out_mark.map(|mark| offload_core::Mark {
            value: mark.value,
            mask: mark.mask,
        }),
        each_packet: *offload.each_packet == PerPacketPolicy::Respect,
        reprove: offload.reprove.as_millis() as offload_core::Millis,
        tcp: *offload.enabled && *offload.tcp,
        udp: *offload.enabled && *offload.udp,
        timeouts,
        hook: match *offload.hook {
            HookChoice::Auto => offload_core::Hook::Auto,
            HookChoice::Xdp => offload_core::Hook::Xdp,
            HookChoice::Tc => offload_core::Hook::Tc,
        },
        ports: effective
            .named::<PortSettings>()
            .iter()
            .map(|(name, port)| {
                let hook = match *port.hook {
                    PortHook::Auto => offload_core::Hook::Auto,
                    PortHook::Xdp => offload_core::Hook::Xdp,
                    PortHook::Tc => offload_core::Hook::Tc,
                    PortHook::Off => offload_core::Hook::Off,
                };
                (name.clone(), hook)
            })
            .collect(),
        no_events,
        bridge: bridges(effective),
        max_pairs: max_pairs(effective) as usize,
        shadow,
        ..Default::default()
    }
}

/// Changes settings for a daemon that leaves forwarding to the kernel.
pub fn hands_off(settings: offload_core::Settings) -> offload_core::Settings {
    offload_core::Settings {
        tcp: false,
        udp: false,
        bridge: false,
        ..settings
    }
}

fn bridges(effective: &Effective) -> bool {
    *effective.of::<Offload>().enabled && *effective.of::<Offload>().bridge
}

/// Returns the number of pairs of stations to make room for: a quarter of the connections, in
/// addition.
fn max_pairs(effective: &Effective) -> u32 {
    (connections(effective).0 / 4).min(16_384)
}

/// Room for connections, IPv4 and IPv6: as configured, or one for each 16 KiB of memory, and a
/// quarter as many.
fn connections(effective: &Effective) -> (u32, u32) {
    let all = match *effective.of::<Offload>().flows {
        FlowRoom::Connections(n) => return (n, n / 2),
        FlowRoom::Auto => {
            let memory = memory::meminfo("MemTotal").unwrap_or(128 << 20);
            let memory = memory::limit().map_or(memory, |limit| limit.octets);
            (memory / 16_384).clamp(4096, 65_536) as u32
        }
    };
    (all, all / 4)
}

/// Returns table sizes for these devices.
pub fn sizes(effective: &Effective, links: &[u32]) -> Sizes {
    let (four, six) = connections(effective);
    let pairs = match bridges(effective) {
        true => max_pairs(effective),
        false => 0,
    };
    Sizes::new(four + pairs, six, links)
}

/// Load options of the packet path.
pub fn options(effective: &Effective, shadow: bool, modules: &[Part]) -> Options {
    let mut options = Options {
        shadow,
        bridge: bridges(effective) && !shadow,
        ..Default::default()
    };
    for module in modules {
        (module.prepare)(effective, &mut options);
    }
    options
}
