//! Counters of the simulated daemon's monitor.

use answers::{
    Conversation, ConversationsQuery, Count, Device, Devices, History, HistoryBy, HistoryQuery,
    HistoryUnit, Hook, LabelledDevice, LanCount, Latency, MeteredPort, MonitorStatus, Part, Period,
    PortCounters, Protocol, QuotaState, Rate, Wifi,
};

/// Time of all records, seconds since 1970: 2023-11-15 23:14 UTC.
pub const NOW: u64 = 1_700_090_061;

fn count(bytes: u64, packets: u64) -> Count {
    Count { bytes, packets }
}

fn device(mac: u8, name: Option<&str>, addresses: &[&str]) -> Device {
    Device {
        mac: format!("02:00:5e:10:00:{mac:02x}"),
        name: name.map(Into::into),
        addresses: addresses
            .iter()
            .map(|address| (*address).to_owned())
            .collect(),
        port: "lan0".into(),
        received: count(1_000_000 * u64::from(mac), 1000 * u64::from(mac)),
        sent: count(50_000 * u64::from(mac), 700 * u64::from(mac)),
        first_seen: NOW - 86_400,
        last_seen: NOW - 1,
        ..Device::default()
    }
}

/// Returns a partial use of the memory, after a flood.
pub fn remembered() -> MonitorStatus {
    MonitorStatus {
        conversations: 1_203,
        capacity: 82_035,
        memory: 984_054,
        memory_limit: 67_104_630,
        overflow: count(2_400_000, 40_000),
    }
}

/// Returns four devices: a laptop that downloads, a telephone with a hostile name, a device without
/// a name, and the gateway to the Internet.
pub fn devices() -> Devices {
    let mut laptop = device(1, Some("laptop"), &["192.168.1.2", "2001:db8::2"]);
    laptop.received = count(3_650_722_201, 2_600_000);
    laptop.rate = Rate {
        received: 34_100_000,
        sent: 1_250_000,
    };
    laptop.lan.sent = count(6_000_000_000, 4_000_000);
    laptop.lan.received = count(90_000_000, 1_500_000);
    laptop.conversations = 17;
    laptop.owner = Some("Anna".into());
    laptop.icon = Some("laptop".into());
    laptop.vendor = Some("Raspberry Pi Foundation".into());
    laptop.latency = Some(Latency {
        lan: Some(2.14),
        wan: Some(24.4),
        retransmissions: 12,
        bufferbloat: Some("bad".into()),
        ..Latency::default()
    });
    let mut telephone = device(2, Some("Zoë\u{1b}[31m \u{202e}写真"), &["192.168.1.3"]);
    telephone.rate = Rate {
        received: 900_000,
        sent: 4_000_000,
    };
    telephone.conversations = 3;
    telephone.local_mac = true;
    telephone.wifi = Some(Wifi {
        signal: Some(-61),
        rate_to: Some(433_300_000),
        ..Wifi::default()
    });
    telephone.quota = Some(QuotaState {
        period: "month".into(),
        limit: 10_000_000,
        used: 9_000_000,
        state: "warned".into(),
        resets: NOW + 86_400,
    });
    let mut nameless = device(3, None, &["192.168.1.4"]);
    nameless.last_seen = NOW - 3_700;
    nameless.vlan = Some(20);
    let mut gateway = device(0xfe, None, &["203.0.113.1"]);
    gateway.port = "wan0".into();
    gateway.uplink = true;
    gateway.rate = Rate {
        received: 5_250_000,
        sent: 35_000_000,
    };
    gateway.conversations = 20;
    let metered = |conversations: Count, link| PortCounters {
        conversations,
        unplaced: count(1400, 2),
        other: count(46, 1),
        link,
    };
    let port = |name: &str, uplink, rate| MeteredPort {
        name: name.into(),
        uplink,
        incoming: metered(count(2_000_000, 1490), 20_902),
        outgoing: metered(count(900, 15), 252),
        rate,
    };
    Devices {
        since: NOW - 90_061,
        now: NOW,
        unseen: vec![LabelledDevice {
            mac: "02:00:5e:10:00:09".into(),
            name: Some("old laptop".into()),
            owner: Some("Anna".into()),
            ..LabelledDevice::default()
        }],
        ports: vec![
            port("lan\u{1b}0", false, Rate::default()),
            port("wan0", true, gateway.rate),
        ],
        devices: vec![laptop, telephone, nameless, gateway],
    }
}

/// Returns conversations: two of the laptop, one of the telephone, one of the router itself. A
/// query for the uplink also gets the first one as seen there.
pub fn conversations(asked: &ConversationsQuery) -> Vec<Conversation> {
    let web = Conversation {
        id: 1,
        port: "lan0".into(),
        vlan: None,
        mac: "02:00:5e:10:00:01".into(),
        device: Some("laptop".into()),
        protocol_number: 6,
        protocol: Some(Protocol::Tcp),
        station: "192.168.1.2".into(),
        station_port: 40_000,
        remote: "198.51.100.1".into(),
        remote_port: 443,
        remote_name: Some("video.example.org".into()),
        application: Some("video".into()),
        translated: Some("203.0.113.7:61000".into()),
        behind: None,
        outside: false,
        lan: false,
        uplink: Some("wan0".into()),
        received: count(3_000_000_000, 2_100_000),
        sent: count(40_000_000, 900_000),
        rate: Rate {
            received: 33_000_000,
            sent: 1_000_000,
        },
        hook: Some(Hook::Xdp),
        first_seen: NOW - 600,
        last_seen: NOW - 1,
        latency: Some(Latency {
            lan: Some(2.0),
            wan: Some(24.0),
            retransmissions: 12,
            ..Latency::default()
        }),
    };
    let dns = Conversation {
        id: 2,
        protocol_number: 17,
        protocol: Some(Protocol::Udp),
        station: "2001:db8::2".into(),
        station_port: 5000,
        remote: "2001:db8:1::1".into(),
        remote_port: 53,
        remote_name: None,
        application: Some("dns".into()),
        translated: None,
        received: count(900, 3),
        sent: count(300, 3),
        rate: Rate::default(),
        hook: None,
        latency: None,
        ..web.clone()
    };
    let ping = Conversation {
        id: 3,
        mac: "02:00:5e:10:00:02".into(),
        device: Some("Zoë\u{1b}[31m \u{202e}写真".into()),
        protocol_number: 1,
        protocol: None,
        station: "192.168.1.3".into(),
        station_port: 0,
        remote: "198.51.100.9".into(),
        remote_port: 0,
        remote_name: Some("\u{1b}]0;owned\u{7}evil.example".into()),
        application: None,
        received: count(8400, 100),
        sent: count(8400, 100),
        rate: Rate {
            received: 672,
            sent: 672,
        },
        ..dns.clone()
    };
    let uplink = Conversation {
        id: 4,
        port: "wan0".into(),
        mac: "02:00:5e:10:00:fe".into(),
        device: None,
        station: "198.51.100.1".into(),
        station_port: 443,
        remote: "203.0.113.7".into(),
        remote_port: 61_000,
        remote_name: None,
        behind: Some("192.168.1.2:40000".into()),
        outside: true,
        lan: false,
        ..web.clone()
    };
    let own = Conversation {
        id: 5,
        station: "198.51.100.53".into(),
        station_port: 53,
        remote_port: 5353,
        protocol_number: 17,
        protocol: Some(Protocol::Udp),
        application: Some("dns".into()),
        hook: None,
        behind: None,
        received: count(60, 1),
        sent: count(250, 1),
        rate: Rate::default(),
        latency: None,
        ..uplink.clone()
    };
    let mut all = vec![web, dns, ping, own];
    if asked.device.is_some() || asked.port.is_some() {
        all.push(uplink);
    }
    all
}

/// Returns three days or hours; a query for months gets the days.
pub fn history(asked: &HistoryQuery) -> History {
    let length = match asked.unit {
        HistoryUnit::Hour => 3600,
        HistoryUnit::Day | HistoryUnit::Month => 86_400,
    };
    let part = |key: &str, name: Option<&str>, bytes| Part {
        key: key.into(),
        name: name.map(Into::into),
        received: count(bytes, bytes / 1000),
        sent: count(bytes / 10, bytes / 2000),
        lan: LanCount {
            received: count(bytes / 4, bytes / 4000),
            sent: count(bytes / 8, bytes / 8000),
        },
    };
    let parts = |scale: u64| match asked.by {
        HistoryBy::Device => vec![
            part("02:00:5e:10:00:01", Some("laptop"), 3_000_000_000 * scale),
            part(
                "02:00:5e:10:00:02",
                Some("Zoë\u{1b}[31m"),
                200_000_000 * scale,
            ),
            part("02:00:5e:10:00:03", None, 40_000_000 * scale),
            part("02:00:5e:10:00:04", Some("tv"), 3_000_000),
        ],
        HistoryBy::Application => vec![
            part("video", None, 3_000_000_000 * scale),
            part("web", None, 243_000_000),
        ],
    };
    let period = |(back, scale): (u64, u64)| {
        let parts = parts(scale);
        let end = NOW - NOW % length - back * length;
        let sum = |of: fn(&Part) -> Count| {
            count(
                parts.iter().map(|part| of(part).bytes).sum(),
                parts.iter().map(|part| of(part).packets).sum(),
            )
        };
        Period {
            start: end - length,
            end,
            received: sum(|part| part.received),
            sent: sum(|part| part.sent),
            lan: LanCount {
                received: sum(|part| part.lan.received),
                sent: sum(|part| part.lan.sent),
            },
            parts,
        }
    };
    History {
        unit: asked.unit.to_string(),
        by: asked.by.to_string(),
        offset_minutes: 0,
        periods: [(2, 1), (1, 4), (0, 2)].map(period).into(),
    }
}
