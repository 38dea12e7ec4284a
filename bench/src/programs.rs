//! Times single programs under BPF_PROG_TEST_RUN: nanoseconds per run, or instructions if the clock
//! counts those (`scripts/vm --icount`).
//!
//! A small program writes the next flow's frame and calls the timed program. The cost of both and
//! the harness is measured with a program that only drops, and subtracted. Flows take turns in
//! order, and hashes scatter their records. With many flows the figures thus include cache misses
//! of the records, and no others: frames stay in the first cache.

use std::thread::sleep;
use std::time::Duration;

use datapath::bench::{Bench, Exit, Target, Traffic};
use datapath::{Datapath, Options, Port, Sizes, SkbFields, Tagger};
use lab::frame::{Body, Packet, Tcp, flag};
use lab::topology::mac;
use lab::{Lab, Offloads};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::machine::inside;
use crate::rounds::median;
use crate::traffic::Kind;

/// Cost of a path through a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Program and traffic.
    pub name: String,
    /// Nanoseconds, or instructions, beyond those of a drop.
    pub own: f64,
    /// Nanoseconds, or instructions, of the drop: harness, frame writer, call.
    pub drop: f64,
}

/// Effort of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Runs in a batch.
    pub runs: u32,
    /// Batches, of which the median counts.
    pub batches: u32,
    /// Largest number of flows.
    pub flows: u32,
}

struct Stage {
    path: Datapath,
    lan: u32,
    wan: u32,
    effort: Effort,
    costs: Vec<Cost>,
}

/// Times all programs, in the order of the table in docs/performance.md.
pub fn all(effort: Effort) -> Result<Vec<Cost>, Error> {
    let mut lab = Lab::new();
    for role in ["client", "router", "server"] {
        lab.host(role)?;
    }
    lab.wire(("client", "eth0"), ("router", "lan0"), Offloads::Plain)?;
    lab.wire(("router", "wan0"), ("server", "eth0"), Offloads::Plain)?;
    let (lan, wan) = (lab.index("router", "lan0")?, lab.index("router", "wan0")?);
    inside(lab.node("router")?, || {
        let options = Options {
            rehearsal: true,
            ..Options::default()
        };
        let mut path = Datapath::load(
            Sizes::new(effort.flows.max(4096), 4096, &[lan, wan]),
            options,
        )?;
        path.declare(&Port::new(lan, mac("router", "lan0"), true))?;
        path.declare(&Port::new(wan, mac("router", "wan0"), true))?;
        path.heartbeat.arm()?;
        path.heartbeat.invalidate_all()?;
        let mut stage = Stage {
            path,
            lan,
            wan,
            effort,
            costs: Vec::new(),
        };
        stage.forwarding()?;
        stage.encapsulated()?;
        stage.passing()?;
        Ok(stage.costs)
    })?
}

impl Stage {
    /// Times forwarding of known and proven flows, and the programs that weir is compared with.
    fn forwarding(&mut self) -> Result<(), Error> {
        let nat = Kind {
            ipv6: false,
            translated: true,
            length: 60,
            flows: self.effort.flows,
            servers: false,
        };
        let routed = Kind {
            ipv6: true,
            translated: false,
            length: 62,
            flows: 1000.min(self.effort.flows),
            servers: false,
        };
        self.prove(&nat, 0)?;
        self.prove(&routed, nat.flows)?;
        self.time(
            "XDP static rewrite",
            &Kind { flows: 64, ..nat },
            Target::Ceiling,
        )?;
        let counts = [1, 10, 1000, 100_000].map(|n: u32| n.min(self.effort.flows));
        for (target, name) in [
            (Target::HashNat, "XDP hash map + SNAT"),
            (Target::Weir, "weir XDP NAT44"),
        ] {
            for (index, flows) in counts.into_iter().enumerate() {
                if index == 0 || counts[index - 1] < flows {
                    self.time(
                        &format!("{name}, {flows} flows"),
                        &Kind { flows, ..nat },
                        target,
                    )?;
                }
            }
        }
        self.time(
            &format!("weir XDP IPv6 routed, {} flows", routed.flows),
            &routed,
            Target::Weir,
        )?;
        self.time(
            "TC static rewrite",
            &Kind { flows: 64, ..nat },
            Target::CeilingTc,
        )?;
        self.time(
            "weir TC NAT44, 64 flows",
            &Kind { flows: 64, ..nat },
            Target::WeirTc,
        )?;
        self.time(
            "weir TC IPv6 routed, 64 flows",
            &Kind {
                flows: 64,
                ..routed
            },
            Target::WeirTc,
        )
    }

    /// Times NAT44 at XDP between link-layer headers other than plain Ethernet.
    fn encapsulated(&mut self) -> Result<(), Error> {
        let kind = Kind {
            ipv6: false,
            translated: true,
            length: 100,
            flows: 64,
            servers: false,
        };
        let vlan = [0x8100, 10].map(u16::to_be_bytes).concat();
        let qinq = [0x88a8, 100, 0x8100, 7].map(u16::to_be_bytes).concat();
        // Length of the IP packet, and of PPP's protocol field before it.
        let length = kind.length as u16 - 14 + 2;
        let pppoe = [0x8100, 7, 0x8864, 0x1100, 9, length, 0x0021]
            .map(u16::to_be_bytes)
            .concat();
        // Tags of a switch (net/dsa/tag_mtk.c): the port at which a frame arrives, and a map with
        // the port by which it leaves.
        let (from_switch, to_switch) = (vec![0, 3, 0, 0], vec![0, 1 << 3, 0, 0]);
        let plain = Vec::new();
        let (client, uplink) = (Some(self.lan), Some(self.wan));
        for (name, lan, wan, conduit) in [
            ("VLAN to VLAN", &vlan, &vlan, None),
            ("plain to QinQ", &plain, &qinq, None),
            ("QinQ to plain", &qinq, &plain, None),
            ("plain to PPPoE over VLAN", &plain, &pppoe, None),
            ("PPPoE over VLAN to plain", &pppoe, &plain, None),
            ("plain to a switch (mtk)", &plain, &to_switch, uplink),
            ("a switch (mtk) to plain", &from_switch, &plain, client),
        ] {
            self.conduit(conduit)?;
            self.path.heartbeat.invalidate_all()?;
            sleep(Duration::from_millis(25));
            for n in 0..kind.flows {
                self.path.heartbeat.beat()?;
                // Frames of a session only count once the kernel has sent into the session.
                let back = dress(&kind.sent_back(n), lan);
                self.run(false, &dress(&kind.answer(n), wan), self.wan)?;
                self.run(true, &back, self.lan)?;
                self.run(false, &dress(&kind.received(n).bytes(), lan), self.lan)?;
                self.run(true, &dress(&kind.sent(n), wan), self.wan)?;
            }
            let traffic = Traffic {
                shift: dress(&[0; 14], lan).len() - 14,
                ..Traffic::of(dress(&kind.received(0).bytes(), lan), kind.flows)
            };
            let name = format!("weir XDP NAT44, {name}");
            let before = self.forwarded(kind.flows);
            self.time_traffic(&name, &traffic, &kind, Target::Weir)?;
            if self.forwarded(kind.flows) < before + u64::from(self.effort.runs) {
                return Err(Error::Wrong(format!("{name}: it does not forward")));
            }
        }
        self.conduit(None)
    }

    /// Returns the packets of the first `flows` flows, in their first direction.
    fn forwarded(&mut self, flows: u32) -> u64 {
        let readings = (0..flows).filter_map(|flow| self.path.read(flow));
        readings.map(|[sent, _]| sent.packets).sum()
    }

    /// Runs the TC program, or with `leaves` the egress witness, on a frame.
    fn run(&self, leaves: bool, frame: &[u8], link: u32) -> Result<(), Error> {
        let fields = &mut SkbFields::default();
        self.path.test_skb(leaves, frame, link, fields)?;
        Ok(())
    }

    /// Makes a port the conduit of a switch; the others, or all for `None`, are plain.
    fn conduit(&mut self, conduit: Option<u32>) -> Result<(), Error> {
        for (link, name) in [(self.lan, "lan0"), (self.wan, "wan0")] {
            let tagger = (conduit == Some(link)).then_some(Tagger::Mtk);
            let port = Port::new(link, mac("router", name), true);
            self.path.declare(&Port { tagger, ..port })?;
        }
        Ok(())
    }

    /// Times packets that go to the kernel.
    fn passing(&mut self) -> Result<(), Error> {
        let kind = Kind {
            ipv6: false,
            translated: true,
            length: 60,
            flows: self.effort.flows,
            servers: false,
        };
        let known = kind.received(0);
        let unknown = |ipv6| {
            let kind = Kind {
                ipv6,
                translated: false,
                length: 62,
                flows: 64,
                servers: false,
            };
            let mut packet = kind.received(0);
            packet.body = Body::Udp(1024, 9999, vec![0; 18]);
            packet
        };
        let tcp = |flags| {
            Body::Tcp(Tcp {
                from: 1024,
                to: 443,
                flags,
                window: 1000,
                ..Tcp::default()
            })
        };
        let changed = |change: &dyn Fn(&mut Packet)| {
            let mut packet = known.clone();
            change(&mut packet);
            packet.bytes()
        };
        for (ipv6, name) in [
            (false, "weir XDP, unknown flow"),
            (true, "weir XDP, unknown flow, IPv6"),
        ] {
            let traffic = Traffic::of(unknown(ipv6).bytes(), 64);
            self.time_traffic(name, &traffic, &kind, Target::Weir)?;
        }
        let mut arp = known.bytes();
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        let frames = [
            ("unknown flow, TCP", changed(&|p| p.body = tcp(flag::ACK))),
            ("ARP", arp),
            ("other MAC", changed(&|p| p.to_mac = [2, 9, 9, 9, 9, 9])),
            ("TTL 1", changed(&|p| p.ttl = 1)),
            ("fragment", known.fragments(8)[0].clone()),
            ("options", changed(&|p| p.options = vec![1; 4])),
            (
                "ICMP",
                changed(&|p| p.body = Body::Icmp(8, 0, 7, vec![0; 20])),
            ),
        ];
        for (name, frame) in frames {
            let traffic = Traffic::of(frame, 0);
            self.time_traffic(&format!("weir XDP, {name}"), &traffic, &kind, Target::Weir)?;
        }
        self.path.heartbeat.invalidate_all()?;
        self.time(
            "weir XDP, known but not proven, 64 flows",
            &Kind { flows: 64, ..kind },
            Target::Weir,
        )?;
        self.time(
            "weir witness, unknown flow",
            &Kind { flows: 64, ..kind },
            Target::Witness,
        )
    }

    /// Installs flows, and proves them by sending what the kernel would send.
    fn prove(&mut self, kind: &Kind, first: u32) -> Result<(), Error> {
        for n in 0..kind.flows {
            let (original, reply) = kind.tuples(n);
            match self.path.install(first + n, &original, &reply) {
                // A few in a thousand find both buckets full, and stay with the kernel: too few to
                // matter.
                Ok(()) | Err(datapath::Error::Full) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Proofs only count after a pause that follows each change.
        sleep(Duration::from_millis(25));
        for n in 0..kind.flows {
            if n % 1000 == 0 {
                self.path.heartbeat.beat()?;
            }
            self.path.test_xdp(&kind.received(n).bytes(), self.lan)?;
            self.run(true, &kind.sent(n), self.wan)?;
        }
        let proven = (0..kind.flows)
            .filter_map(|n| self.path.read(first + n))
            .filter(|r| r[0].proven)
            .count();
        match proven * 1000 >= kind.flows as usize * 998 {
            true => Ok(()),
            false => Err(Error::Wrong(format!(
                "{proven} of {} flows proven: {:?}",
                kind.flows,
                self.path.totals()
            ))),
        }
    }

    fn time(&mut self, name: &str, kind: &Kind, target: Target) -> Result<(), Error> {
        self.time_traffic(name, &kind.forward(), kind, target)
    }

    fn time_traffic(
        &mut self,
        name: &str,
        traffic: &Traffic,
        kind: &Kind,
        target: Target,
    ) -> Result<(), Error> {
        let exit: Exit = kind.exit(self.wan);
        let mut bench = Bench::load(traffic, 0, &exit)?;
        bench.aim(&self.path)?;
        if target == Target::HashNat {
            for n in 0..kind.flows {
                let (original, reply) = kind.tuples(n);
                bench.translate(&original, &reply)?;
            }
        }
        let tc = matches!(target, Target::CeilingTc | Target::WeirTc | Target::Witness);
        let runs = self.effort.runs.max(traffic.flows);
        let (mut drops, mut all) = (Vec::new(), Vec::new());
        bench.rotate(target, self.lan, traffic.flows.max(64))?;
        for _ in 0..self.effort.batches {
            self.path.heartbeat.beat()?;
            drops.push(bench.rotate(
                if tc { Target::BareTc } else { Target::Bare },
                self.lan,
                runs,
            )? as f64);
            all.push(bench.rotate(target, self.lan, runs)? as f64);
        }
        let [drop, all] = [drops, all].map(|mut values| {
            values.sort_by(f64::total_cmp);
            median(&values)
        });
        self.costs.push(Cost {
            name: name.to_owned(),
            own: all - drop,
            drop,
        });
        Ok(())
    }
}

/// Puts these bytes between the addresses and IP of a plain frame. They end in the EtherType,
/// except with PPPoE.
fn dress(frame: &[u8], octets: &[u8]) -> Vec<u8> {
    let pppoe = octets.len() % 4 == 2;
    let rest = if pppoe { 14 } else { 12 };
    [&frame[..12], octets, &frame[rest..]].concat()
}
