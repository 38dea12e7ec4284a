//! IPFIX export (RFC 7011, RFC 7012): flows, translations and statistics as messages for a
//! collector.
//!
//! Pure: [`Exporter`] turns [`FlowRecord`]s into [`Message`]s. The socket is in [`Collector`].
//!
//! Templates are fixed, as listed in [`Shape`]. Over UDP they may be lost, or the collector may
//! restart; hence they are sent before the first record of a kind, and repeated after a while.

mod collector;
mod element;
mod encode;
mod exporter;
mod message;
mod record;
mod target;
mod template;

pub use collector::{BACKLOG_LIMIT, BURST, Collector, CollectorEvent, SendCounters};
pub use element::{Element, REVERSE};
pub use encode::NAME_LIMIT;
pub use exporter::{Exporter, INTERFACE_LIMIT, MESSAGE_SIZES, QUEUE_LIMIT, Settings, Statistics};
pub use message::{Contents, Message};
pub use record::{
    EndReason, FlowCounters, FlowRecord, Icmp, Initiator, NatEvent, NatEventKind, Tcp, Translation,
};
pub use target::{Target, TargetError};
pub use template::{FlowShape, Layer4, Shape, Template, View};
