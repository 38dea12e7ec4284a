//! A simulated daemon with fixed answers.

use std::cell::Cell;
use std::rc::Rc;

use answers::{
    Config, Conversations, ConversationsQuery, DeviceLabel, Devices, Direction, Directions,
    DropCounts, DropPrefix, DropRoutes, DropSet, DropState, Drops, Endpoints, Explanation,
    FamilyFlows, Flow, FlowCounts, FlowFilter, FlowId, FlowQuery, FlowState, Heartbeat, History,
    HistoryQuery, Hook, Hop, HopCounts, LabelledDevice, LearnedDrop, LearnedDrops, Mode,
    PacketCounts, PartProblem, PerPacketRules, Port, PortStack, Protocol, Reason, Reloaded,
    RuleCost, Selection, Status, Translation, TtlRange, Witness, WitnessName,
};
use api::{AccessLevel, ApiRequest, Method, Problem, Route, Routes};

use super::{monitor, paths, probes};

pub struct Paper {
    pub more: u64,
    pub monitor: bool,
    /// Number of queries for paths: with each query, the paths have carried more.
    pub asked: Cell<u64>,
}

impl Default for Paper {
    fn default() -> Self {
        Self {
            more: 0,
            monitor: true,
            asked: Cell::new(0),
        }
    }
}

impl Paper {
    fn monitored(&self) -> Result<(), Problem> {
        self.monitor
            .then_some(())
            .ok_or_else(answers::monitor::is_off)
    }
}

fn endpoints(source: &str, destination: &str) -> Endpoints {
    let parse = |text: &str| {
        text.parse::<std::net::SocketAddr>()
            .expect("an address and a port")
    };
    let (source, destination) = (parse(source), parse(destination));
    Endpoints {
        source: source.ip(),
        source_port: source.port(),
        destination: destination.ip(),
        destination_port: destination.port(),
    }
}

fn direction(packets: u64, hook: Hook) -> Direction {
    Direction {
        packets,
        bytes: packets * 1200,
        proven: true,
        encapsulation_in: None,
        port_in: Some("lan0".into()),
        port_out: Some("wan0".into()),
        hop: Some(0),
        hook: Some(hook),
        ttl: Some(TtlRange {
            lowest: 64,
            highest: 64,
        }),
        longest: Some(1500),
    }
}

fn plain(id: u64) -> Flow {
    Flow {
        id: FlowId(id),
        protocol: Protocol::Tcp,
        original: endpoints("192.168.1.2:40000", "198.51.100.1:443"),
        reply: endpoints("198.51.100.1:443", "203.0.113.7:40000"),
        translated: Translation {
            snat: true,
            dnat: false,
        },
        state: FlowState::Forwarded,
        reason: None,
        directions: Directions {
            original: direction(1_234_567, Hook::Xdp),
            reply: direction(99, Hook::Tc),
        },
        mark: 0,
        zone: 0,
        age_seconds: 3_700,
    }
}

impl Paper {
    fn status(&self) -> Status {
        let packets = PacketCounts {
            forwarded_xdp: 9_000_000,
            forwarded_tc: 1_000,
            bytes: 12_000_000_000,
            passed: [("unproven", 5_000), ("fragment", 12), ("ttl", 0)]
                .map(|(name, n)| (name.to_owned(), n))
                .into(),
            not_proof: [("quiet".to_owned(), 3)].into(),
        };
        Status {
            version: "1.2.3".into(),
            started: 1_700_000_000,
            uptime_seconds: 90_061,
            netns: 4_026_531_840,
            modules: vec!["offload".into()],
            starting: false,
            mode: Mode::Forward,
            armed: true,
            epoch: 7,
            flows: FlowCounts {
                ipv4: FamilyFlows {
                    known: 20,
                    proven: 18,
                    declined: 3,
                },
                ipv6: FamilyFlows {
                    known: 1,
                    proven: 1,
                    declined: 0,
                },
                capacity: 98_304,
            },
            hops: HopCounts {
                used: 2,
                capacity: 1024,
            },
            fast_path_share: packets.fast_path_share(),
            packets,
            bumps: [("routing".to_owned(), 4), ("firewall".to_owned(), 2)].into(),
            refused: [("helper".to_owned(), 3)].into(),
            shadow: None,
            lost_events: 0,
            problems: vec![PartProblem {
                part: "metrics".into(),
                what: "/etc/weir/token: it is readable by others".into(),
                hint: "chmod 600 /etc/weir/token".into(),
            }],
            drops: Some(DropCounts {
                learned: 1_200_000,
                sets: 0,
                routes: 7,
            }),
            multipath: paths::paths(0).status(),
            monitor: self.monitor.then(monitor::remembered),
            each_packet: Some(PerPacketRules {
                connections: 12,
                rules: vec![RuleCost {
                    rule: "inet filter forward, handle 7".into(),
                    why: "a rate limit counts packets".into(),
                    connections: 9,
                }],
            }),
            heartbeat: Heartbeat {
                age_seconds: 0.25,
                limit_seconds: 2.0,
            },
            more: Default::default(),
        }
    }

    fn select(&self, filter: &FlowFilter) -> Selection {
        filter.select((0..3 + self.more).filter_map(|id| self.flow(FlowId(id))))
    }

    fn flow(&self, id: FlowId) -> Option<Flow> {
        let mut flow = plain(id.0);
        match id.0 {
            1 => {
                flow.protocol = Protocol::Udp;
                flow.original = endpoints("[2001:db8::2]:5000", "[2001:db8:1::1]:53");
                flow.reply = endpoints("[2001:db8:1::1]:53", "[2001:db8::2]:5000");
                flow.translated = Translation::default();
                flow.state = FlowState::Known;
                flow.directions = Directions::default();
                flow.age_seconds = 3;
            }
            2 => {
                flow.translated = Translation {
                    snat: false,
                    dnat: true,
                };
                flow.reply = endpoints("10.0.0.9:8443", "192.168.1.2:40000");
                flow.state = FlowState::Declined;
                flow.reason = Some(Reason {
                    code: "helper".into(),
                    text: "A helper follows it.".into(),
                    hint: None,
                });
                flow.directions = Directions::default();
            }
            _ => {}
        }
        Some(flow)
    }

    fn hops(&self) -> Vec<Hop> {
        vec![Hop {
            index: 0,
            device: "wan0".into(),
            header: "02005e10000102005e1000020800".into(),
            destination: Some("02:00:5e:10:00:01".into()),
            source: Some("02:00:5e:10:00:02".into()),
            encapsulation: None,
            ethertype: Some(0x0800),
            epoch: 1,
            flows: 12,
            xdp: true,
        }]
    }

    fn drops(&self) -> Drops {
        let on = DropState {
            active: true,
            reason: None,
        };
        let off = |reason: &str| DropState {
            active: false,
            reason: Some(reason.into()),
        };
        Drops {
            learned: LearnedDrops {
                state: on.clone(),
                dropped: 1_200_000,
                known: 3,
                cached: 1,
                capacity: 4096,
                crowded: 0,
                tuples: vec![LearnedDrop {
                    protocol: Protocol::Udp,
                    endpoints: endpoints("198.51.100.7:4000", "10.0.0.2:9999"),
                    device: "wan0".into(),
                    cached: true,
                    dropped: 1_200_000,
                    sampled: 18_750,
                    tried: 19_000,
                    confirmed: 19_000,
                }],
            },
            sets: vec![
                DropSet {
                    name: "inet fw4 banned4".into(),
                    state: on,
                    prefixes: 2,
                    left_out: 1,
                    dropped: 90,
                    sampled: 3,
                    confirmed: Some(3),
                    busiest: vec![DropPrefix {
                        prefix: "192.0.2.0/24".into(),
                        dropped: 90,
                        sampled: 3,
                    }],
                },
                DropSet {
                    name: "inet fw4 missing".into(),
                    state: off("there is no such\u{1b} set"),
                    ..DropSet::default()
                },
            ],
            routes: DropRoutes {
                state: off("not enabled: set `routes` under [drops]"),
                ..DropRoutes::default()
            },
        }
    }

    fn devices(&self) -> Result<Devices, Problem> {
        self.monitored().map(|()| monitor::devices())
    }

    fn conversations(&self, asked: &ConversationsQuery) -> Result<Conversations, Problem> {
        self.monitored()
            .map(|()| asked.select(monitor::conversations(asked)))
    }

    fn history(&self, asked: &HistoryQuery) -> Result<History, Problem> {
        self.monitored().map(|()| monitor::history(asked))
    }

    fn paths(&self) -> answers::Paths {
        self.asked.set(self.asked.get() + 1);
        paths::paths(self.asked.get())
    }

    fn probes(&self) -> Result<answers::Probes, Problem> {
        Ok(probes::probes())
    }

    fn ports(&self) -> Vec<Port> {
        let reason = Reason {
            code: "no_mac".into(),
            text: "it has no Ethernet header".into(),
            hint: Some("use a device that has one".into()),
        };
        vec![
            Port {
                name: "lan\u{1b}0".into(),
                index: 2,
                mac: Some("02:00:5e:10:00:02".into()),
                hook: Some(Hook::Xdp),
                xdp_transmit: true,
                reason: None,
                packets_in: 1_500,
                bytes_in: 2_100_000,
                packets_out: 20,
                bytes_out: 1_080,
                total: Some(answers::Traffic {
                    packets_in: 1_510,
                    bytes_in: 2_101_000,
                    packets_out: 25,
                    bytes_out: 1_580,
                }),
                unattributed: 3,
                stack: PortStack::default(),
            },
            Port {
                name: "wg0".into(),
                index: 13,
                mac: None,
                hook: None,
                xdp_transmit: false,
                reason: Some(reason),
                packets_in: 0,
                bytes_in: 0,
                packets_out: 0,
                bytes_out: 0,
                total: None,
                unattributed: 0,
                stack: PortStack::default(),
            },
        ]
    }

    fn explain(&self, asked: &FlowQuery) -> Result<Explanation, Problem> {
        let witness = |name, ok, text: &str| Witness {
            name,
            ok,
            text: text.into(),
        };
        Ok(Explanation {
            asked: asked.to_string(),
            verdict: "The kernel forwards it, because no packet has proven the way yet.".into(),
            witnesses: vec![
                witness(WitnessName::Seen, true, "came in at lan0"),
                witness(WitnessName::Known, true, "established, for 3 s"),
                witness(WitnessName::Proven, false, "not seen to leave"),
            ],
            change: vec!["One more packet in each direction.".into()],
            flow: None,
        })
    }

    fn config(&self) -> Config {
        Config::default()
    }

    fn reload(&self) -> Result<Reloaded, Problem> {
        let mut problem = Problem::new(
            422,
            "configuration",
            "the configuration has 1 error",
            "correct the file",
        );
        problem
            .errors
            .push("weir.toml:1:1: tcp: unknown section; `tcp` belongs in [offload]".into());
        Err(problem)
    }
}

type Get = fn(&Paper) -> Result<serde_json::Value, Problem>;

/// Returns a loop and a full upload.
fn conditions() -> answers::Conditions {
    let one = |severity, key: &str, text: &str, since| answers::Condition {
        id: format!("{key} lan1"),
        severity,
        key: key.to_owned(),
        text: text.to_owned(),
        since,
        ..answers::Condition::default()
    };
    answers::Conditions {
        now: 10_000,
        conditions: vec![
            one(
                answers::Severity::Critical,
                "loop",
                "A cable at lan1 leads back to this router:\u{1b}[31m the network has a loop.",
                9_940,
            ),
            one(
                answers::Severity::Warning,
                "upload-full",
                "The upload of wan0 is full at 10 Mbit/s: packets wait 370 ms longer than they have to.",
                6_400,
            ),
        ],
    }
}

/// Converts a value to JSON.
fn told(value: impl serde::Serialize) -> Result<serde_json::Value, Problem> {
    Ok(serde_json::to_value(value).expect("JSON"))
}

impl Paper {
    /// Returns the routes with the daemon's answers.
    pub fn routes(self) -> Routes {
        let paper = Rc::new(self);
        let all: [(&'static str, Get); 9] = [
            ("/v1/status", |paper| told(paper.status())),
            ("/v1/conditions", |_| told(conditions())),
            ("/v1/hops", |paper| told(paper.hops())),
            ("/v1/ports", |paper| told(paper.ports())),
            ("/v1/drops", |paper| told(paper.drops())),
            ("/v1/devices", |paper| paper.devices().and_then(told)),
            ("/v1/paths", |paper| told(paper.paths())),
            ("/v1/probes", |paper| paper.probes().and_then(told)),
            ("/v1/config", |paper| told(paper.config())),
        ];
        let all = all.map(|(path, answer)| {
            let paper = Rc::clone(&paper);
            Route::get(path, AccessLevel::User, move |()| answer(&paper))
        });
        let paper = || Rc::clone(&paper);
        let (lists, conversations, was, explains, reloads) =
            (paper(), paper(), paper(), paper(), paper());
        Routes::new(all.into_iter().chain([
            Route::raw(
                Method::GET,
                "/v1/flows",
                AccessLevel::User,
                move |asked: ApiRequest<FlowFilter>| {
                    let selection = lists.select(&asked.query);
                    let paper = Rc::clone(&lists);
                    Ok(selection.answer(&[], move |id| paper.flow(id)))
                },
            ),
            Route::new(
                Method::POST,
                "/v1/devices/{mac}/label",
                AccessLevel::User,
                |asked: ApiRequest<(), DeviceLabel>| {
                    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
                    Ok(LabelledDevice {
                        mac: asked.path_params[0].clone(),
                        name: given(asked.body.name),
                        owner: given(asked.body.owner),
                        icon: given(asked.body.icon),
                        configured: vec!["icon".into()],
                    })
                },
            ),
            Route::get("/v1/conversations", AccessLevel::User, move |asked| {
                conversations.conversations(&asked)
            }),
            Route::get("/v1/history", AccessLevel::User, move |asked| {
                was.history(&asked)
            }),
            Route::get("/v1/explain", AccessLevel::User, move |asked| {
                explains.explain(&asked)
            }),
            Route::new(
                Method::POST,
                "/v1/reload",
                AccessLevel::User,
                move |_: ApiRequest| reloads.reload(),
            ),
        ]))
    }
}
