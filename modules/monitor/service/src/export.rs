//! IPFIX: exports conversations to a collector.

use std::net::Ipv4Addr;

use kernel::Event;
use monitor_core::ipfix::{
    Collector, EndReason, Exporter, FlowCounters, FlowRecord, Icmp, Initiator, Message, NatEvent,
    Settings, Target, Tcp, Translation,
};
use monitor_core::{ConversationReport, Count, Millis};
use tracing::{info, warn};

use super::config::Ipfix;
use super::translations::Translations;

/// ICMP and ICMPv6.
const ICMP: u8 = 1;
const ICMP6: u8 = 58;
const TCP: u8 = 6;
const SYN: u8 = 0x02;

/// Export to one collector.
pub struct Export {
    exporter: Exporter,
    collector: Collector,
    /// Settings of this export.
    settings: Ipfix,
    /// Translations, if their events are exported.
    translations: Option<Translations>,
    /// True once existing translations were exported.
    begun: bool,
}

impl Export {
    /// Creates the configured export; `None`: no collector, or an invalid one.
    pub fn new(settings: &Ipfix) -> Option<Self> {
        let text = &settings.collector.value.as_ref()?.0;
        let target: Target = text
            .parse()
            .inspect_err(|error| warn!(%error, "cannot send IPFIX"))
            .ok()?;
        info!(collector = %target, "sending conversations to an IPFIX collector");
        Some(Self {
            exporter: Exporter::new(Settings {
                biflow: *settings.biflow,
                ..Settings::default()
            }),
            collector: Collector::new(target),
            settings: settings.clone(),
            translations: settings.nat_events.then(Translations::default),
            begun: false,
        })
    }

    /// Returns true if these settings give an equal export: then its state is kept.
    pub fn suits(&self, settings: &Ipfix) -> bool {
        let values = |of: &Ipfix| (of.collector.value.clone(), *of.biflow, *of.nat_events);
        values(&self.settings) == values(settings)
    }

    /// Handles an event of the kernel. `outside`: as for [`Translations::on_event`].
    pub fn on_event(&mut self, event: &Event, outside: impl Fn(Ipv4Addr, Ipv4Addr) -> bool) {
        let Some(translations) = &mut self.translations else {
            return;
        };
        let (now, mut told) = (wall_now(), Vec::new());
        translations.on_event(event, outside, now, &mut told);
        self.translated(&told, now);
    }

    /// Handles the start of a dump of all connections.
    pub fn on_dump_start(&mut self) {
        if let Some(translations) = &mut self.translations {
            translations.on_dump_start();
        }
    }

    /// Exports the existing connections, once: an export that starts later has missed their events.
    pub fn begin(
        &mut self,
        connections: &offload_core::Core,
        outside: impl Fn(Ipv4Addr, Ipv4Addr) -> bool,
    ) {
        let Some(translations) = &mut self.translations else {
            return;
        };
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let (now, mut told) = (wall_now(), Vec::new());
        for (_, flow) in connections.flows() {
            translations.add(&flow.id, &flow.reply, &outside, now, &mut told);
        }
        self.translated(&told, now);
    }

    fn translated(&mut self, told: &[NatEvent], now: u64) {
        for event in told {
            self.exporter.nat_event(event, now);
        }
    }

    /// Sends complete messages; due at each tick, as many connections may begin in a second.
    pub fn tick(&mut self, now: Millis) {
        if self.translations.is_some() {
            let messages = self.exporter.take();
            self.send(messages, now, wall_now());
        }
    }

    /// Sets the name of a port, for the collector.
    pub fn port(&mut self, link: u32, name: &str) {
        self.exporter.interface(link, name);
    }

    /// Removes a port.
    pub fn port_gone(&mut self, link: u32) {
        self.exporter.interface_gone(link);
    }

    /// Exports a conversation. `began`: start of the monitor's clock, in seconds since 1970;
    /// `stops`: weir stops, so that this record is the last.
    pub fn add_conversation(&mut self, told: &ConversationReport, began: u64, stops: bool) {
        let conversation = &told.conversation;
        let leaves = conversation
            .egress_endpoints
            .filter(|leaves| *leaves != conversation.key.ends());
        let wall = |at: Millis| began * 1000 + at;
        let tcp_flags = u16::from(conversation.tcp_flags);
        let way = |count: Count, tos: u8| FlowCounters {
            octets: count.bytes,
            packets: count.packets,
            tcp_flags,
            tos,
        };
        let icmp = matches!(conversation.key.protocol, ICMP | ICMP6).then_some(Icmp {
            kind: conversation.icmp.0,
            code: conversation.icmp.1,
        });
        let record = FlowRecord {
            source: conversation.key.station,
            destination: conversation.key.remote,
            source_port: conversation.key.station_port,
            destination_port: conversation.key.remote_port,
            protocol: conversation.key.protocol,
            icmp,
            ingress_port: conversation.key.port,
            egress_port: told.egress_port.unwrap_or(0),
            vlan: conversation.key.vlan,
            mac: conversation.mac,
            sent: way(told.delta.sent, conversation.tos),
            received: way(told.delta.received, conversation.tos),
            start: wall(told.since),
            end: wall(conversation.last).max(wall(told.since)),
            internet: conversation.is_internet() == Some(true),
            reason: match (told.ended, conversation.is_closed()) {
                (false, false) if stops => EndReason::Forced,
                (false, true) if stops => EndReason::EndDetected,
                (false, _) => EndReason::Active,
                (true, true) => EndReason::EndDetected,
                (true, false) => EndReason::Idle,
            },
            // The initiator is not recorded yet: a SYN shows at least that weir was running then.
            initiator: match conversation.tcp_flags & SYN != 0
                && conversation.key.station_port > conversation.key.remote_port
            {
                true => Initiator::Station,
                false => Initiator::Unknown,
            },
            translation: leaves.map(|leaves| Translation {
                source: leaves.station,
                source_port: leaves.station_port,
                destination: leaves.remote,
                destination_port: leaves.remote_port,
            }),
            application: Some(conversation.application.as_str()),
            remote_name: conversation.remote_name.as_deref(),
            tcp: (conversation.key.protocol == TCP).then(|| tcp(told)),
        };
        self.exporter.flow(&record, wall_now());
    }

    /// Sends pending messages; due every second. `ignored`: total traffic outside of conversations.
    pub fn second(&mut self, ignored: Count, now: Millis) {
        let wall = wall_now();
        self.exporter.ignored(
            monitor_core::Count {
                packets: ignored.packets,
                bytes: ignored.bytes,
            },
            wall,
        );
        let mut messages = self.exporter.take();
        messages.extend(self.exporter.tick(wall));
        self.send(messages, now, wall);
    }

    fn send(&mut self, messages: Vec<Message>, now: Millis, wall: u64) {
        let change = self.collector.send(&mut self.exporter, messages, now, wall);
        if let Some(change) = change {
            info!("{change}");
        }
    }
}

/// Returns the waiting times of TCP, from the last measurements.
fn tcp(told: &ConversationReport) -> Tcp {
    let times = &told.conversation.rtt;
    let measured = |way: usize| (times.count[way] > 0).then(|| times.last[way]);
    Tcp {
        retransmits: told
            .retransmits
            .map(|again| again.min(u32::MAX.into()) as u32),
        near: measured(1),
        far: measured(0),
    }
}

/// Milliseconds since 1970.
fn wall_now() -> u64 {
    net::clock::unix().as_millis() as u64
}
