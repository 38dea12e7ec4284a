//! The monitor as the API shows it.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use monitor_core::{Conversation, Counts, Monitor, Side, Verdict, vendor};
use net::clock::unix_seconds;

use super::clock::Clock;
use super::labels::Labels;
use super::ports::Ports;
use super::vendors::Vendors;
use super::wifi::Wifi;
use history::recorder::HistoryRecorder;
use net::mac::text as mac;

fn count(count: monitor_core::Count) -> answers::Count {
    answers::Count {
        bytes: count.bytes,
        packets: count.packets,
    }
}

fn rate(rate: &monitor_core::Rate) -> answers::Rate {
    answers::Rate {
        received: rate.received,
        sent: rate.sent,
    }
}

fn lan(device: &monitor_core::Device) -> answers::LanTraffic {
    let traffic = device.lan();
    answers::LanTraffic {
        received: count(traffic.received),
        sent: count(traffic.sent),
        rate: rate(&device.lan_rate()),
    }
}

fn sum(both: Counts) -> answers::Count {
    let mut all = both.sent;
    all += both.received;
    count(all)
}

/// State from which responses are built.
pub struct Snapshot<'a> {
    pub core: &'a Monitor,
    pub ports: &'a Ports,
    pub labels: &'a Labels,
    pub vendors: &'a Vendors,
    pub wifi: &'a Wifi,
    pub history: Option<&'a HistoryRecorder>,
    pub clock: Clock,
}

impl Snapshot<'_> {
    fn port_name(&self, link: u32) -> String {
        self.ports
            .get(link)
            .map_or_else(|| format!("#{link}"), |port| port.name.clone())
    }

    /// Returns every station, the busiest first, and every port's equation.
    pub fn devices(&self) -> answers::Devices {
        let mut devices: Vec<answers::Device> = self
            .core
            .devices()
            .map(|device| (device, self.core.name_of(device)))
            .map(|(device, name)| (device, name, self.labels.of(&device.mac)))
            .map(|(device, name, label)| answers::Device {
                name: name.map(|(name, _)| name.to_owned()),
                name_source: name.map(|(_, source)| source.as_str().to_owned()),
                owner: label.owner,
                icon: label.icon,
                configured: label.configured,
                vendor: self.vendors.of(&device.mac),
                local_mac: vendor::is_locally_administered(&device.mac),
                mac: mac(&device.mac),
                addresses: self
                    .core
                    .shown_addresses(device)
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
                port: self.port_name(device.port),
                vlan: Some(device.vlan).filter(|vlan| *vlan != 0),
                uplink: self.core.is_uplink(device),
                received: count(device.internet.received),
                sent: count(device.internet.sent),
                rate: rate(&device.internet_rate),
                lan: lan(device),
                forwarded: sum(device.forwarded),
                conversations: device.conversations,
                latency: latency(&device.latency),
                wifi: self.wifi.of(&device.mac),
                quota: self.history.and_then(|past| past.quota(&device.mac)),
                first_seen: self.clock.unix(device.first),
                last_seen: self.clock.unix(device.last),
            })
            .collect();
        devices.sort_by_cached_key(|device| {
            let internet = device.received.bytes + device.sent.bytes;
            let lan = device.lan.received.bytes + device.lan.sent.bytes;
            (std::cmp::Reverse((internet, lan)), device.mac.clone())
        });
        let labels = self.labels;
        let unseen = labels.known().into_iter();
        let unseen = unseen.filter(|mac| self.core.device(mac).is_none());
        answers::Devices {
            since: self.clock.began(),
            now: unix_seconds(),
            devices,
            unseen: unseen.map(|mac| labels.of(&mac)).collect(),
            ports: self
                .core
                .ports()
                .map(|(_, port)| {
                    let [incoming, outgoing] = port.counters().map(metered);
                    answers::MeteredPort {
                        name: port.name.clone(),
                        uplink: port.is_uplink(),
                        incoming,
                        outgoing,
                        rate: rate(port.own_rate()),
                    }
                })
                .collect(),
        }
    }

    /// Returns conversations, with the data on their other side. Those seen at an uplink and also
    /// inside are listed only if the query names a device or a port.
    pub fn conversations(
        &self,
        asked: &answers::ConversationsQuery,
        core: &offload_core::Core,
    ) -> answers::Conversations {
        let own: HashSet<IpAddr> = core.addresses().map(|own| own.address).collect();
        let everywhere = asked.device.is_some() || asked.port.is_some();
        let shown = self.core.conversations().filter_map(|conversation| {
            let mut shown = self.conversation(conversation);
            self.add_other_half(conversation, &own, &mut shown);
            (everywhere || shown.behind.is_none()).then_some(shown)
        });
        asked.select(shown)
    }

    /// Adds the endpoints of the other half of a conversation, beyond the router.
    fn add_other_half(
        &self,
        conversation: &Conversation,
        own: &HashSet<IpAddr>,
        shown: &mut answers::Conversation,
    ) {
        let ends = conversation.key.ends();
        let leaves = conversation.egress_endpoints.unwrap_or(ends);
        let text = |address, port| SocketAddr::new(address, port).to_string();
        if (ends.station, ends.station_port) != (leaves.station, leaves.station_port) {
            shown.translated = Some(text(leaves.station, leaves.station_port));
        }
        if !shown.outside {
            let twin = conversation.other_half;
            shown.uplink = twin
                .filter(|twin| self.core.is_outside(twin.port, twin.vlan))
                .and_then(|twin| self.ports.get(twin.port))
                .map(|port| port.name.clone());
        } else if conversation.egress_endpoints.is_some() && !own.contains(&leaves.remote) {
            // Traffic of the router itself is seen at no other port.
            shown.behind = Some(text(leaves.remote, leaves.remote_port));
        }
    }

    /// Converts a conversation.
    pub fn conversation(&self, conversation: &Conversation) -> answers::Conversation {
        let station = self.core.device(&conversation.mac);
        answers::Conversation {
            id: conversation.id,
            port: self.port_name(conversation.key.port),
            vlan: Some(conversation.key.vlan).filter(|vlan| *vlan != 0),
            mac: mac(&conversation.mac),
            device: station
                .and_then(|device| self.core.name_of(device))
                .map(|(name, _)| name.to_owned()),
            protocol_number: conversation.key.protocol,
            protocol: match conversation.key.protocol {
                6 => Some(answers::Protocol::Tcp),
                17 => Some(answers::Protocol::Udp),
                _ => None,
            },
            station: conversation.key.station.to_string(),
            station_port: conversation.key.station_port,
            remote: conversation.key.remote.to_string(),
            remote_port: conversation.key.remote_port,
            remote_name: conversation.remote_name.as_deref().map(str::to_owned),
            application: Some(conversation.application.as_str().to_owned()),
            translated: None,
            behind: None,
            outside: self
                .core
                .is_outside(conversation.key.port, conversation.key.vlan),
            lan: conversation.is_internet() == Some(false),
            uplink: None,
            received: count(conversation.total.received),
            sent: count(conversation.total.sent),
            rate: rate(&conversation.rate),
            hook: conversation.xdp.map(|xdp| match xdp {
                true => answers::Hook::Xdp,
                false => answers::Hook::Tc,
            }),
            first_seen: self.clock.unix(conversation.first),
            last_seen: self.clock.unix(conversation.last),
            latency: conversation_latency(conversation),
        }
    }
}

/// Microseconds as milliseconds, to the microsecond.
fn milliseconds(micros: u32) -> f64 {
    f64::from(micros) / 1000.0
}

fn latency(latency: &monitor_core::Latency) -> Option<answers::Latency> {
    let median = |side| latency.median(side).map(milliseconds);
    let least = |side| latency.min(side).map(milliseconds);
    (!latency.is_empty()).then(|| answers::Latency {
        lan: median(Side::Station),
        wan: median(Side::Remote),
        lan_min: least(Side::Station),
        wan_min: least(Side::Remote),
        retransmissions: latency.retransmits,
        growth: latency.growth().map(milliseconds),
        bufferbloat: latency.verdict().map(|verdict| {
            match verdict {
                Verdict::Good => "good",
                Verdict::Fair => "fair",
                Verdict::Bad => "bad",
            }
            .to_owned()
        }),
    })
}

/// Returns the latency of a conversation: the last measurement and the least.
fn conversation_latency(conversation: &Conversation) -> Option<answers::Latency> {
    let times = &conversation.rtt;
    let measured =
        |way: usize, values: &[u32; 2]| (times.count[way] > 0).then(|| milliseconds(values[way]));
    let again = conversation.retransmits.iter().sum();
    (times.count != [0; 2] || again > 0).then(|| answers::Latency {
        lan: measured(1, &times.last),
        wan: measured(0, &times.last),
        lan_min: measured(1, &times.min),
        wan_min: measured(0, &times.min),
        retransmissions: again,
        bufferbloat: None,
        growth: None,
    })
}

fn metered(metered: monitor_core::port::PortCounters) -> answers::PortCounters {
    answers::PortCounters {
        conversations: count(metered.conversations),
        unplaced: count(metered.unplaced),
        other: count(metered.other),
        link: u64::try_from(metered.link).unwrap_or_default(),
    }
}
