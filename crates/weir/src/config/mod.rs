//! The configuration file: `/etc/weir/weir.toml`.
//!
//! [`parse`] is pure: text in, [`Effective`] or every error of the text out. [`Source`] remembers where the text came from and
//! what the command line said, so that a reload asks the same again.

mod error;
mod file;
mod keys;
mod parse;
mod settings;
mod suggest;
mod values;

pub use error::ConfigError;
pub use file::{DEFAULT_FILE, Source};
pub use keys::{KeyHelp, help};
pub use parse::parse;
pub use settings::{
    Api, Collector, DeviceName, Drops, EachPacket, Effective, Fallback, FlowRoom, History,
    HookChoice, Ipfix, Log, LogLevel, Mark, MeterRoom, MetricsFor, Monitor, Multipath, Octets,
    Offload, Origin, PortHook, PortSettings, QuotaAction, QuotaPeriod, QuotaSettings, Setting, Web,
    WebTls,
};
