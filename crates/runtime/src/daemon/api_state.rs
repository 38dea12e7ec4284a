//! State of the API: answers are made on request, from the state of the core and of the packet
//! path.

use std::cell::{OnceCell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use answers::{
    Conditions, Config, Explanation, FlowCounts, FlowFilter, FlowId, FlowQuery, Heartbeat, Hop,
    HopCounts, Mode, PacketCounts, PartProblem, Port, Reloaded, Selection, ShadowCounts, Status,
};
use api::metrics::Exposition;
use api::{Problem, Routes};
use datapath::Encapsulation;

use super::Settings;
use super::conditions::{self, Registry};
use super::flows::{behind, bridged, flow};
use super::metrics;
use super::module::{ApiContext, Modules, Report};
use super::router::{NO_EVENTS, NO_EVENTS_HINT, Router};
use crate::config::Log;

/// The state of a daemon that serves the API.
pub struct ApiState {
    /// Router whose state the API shows.
    pub router: Rc<RefCell<Router>>,
    /// Settings of the daemon.
    pub settings: Rc<RefCell<Settings>>,
    /// Modules of the daemon.
    pub modules: Modules,
    /// Routes of the API, once all are registered.
    pub routes: OnceCell<Routes>,
    /// Conditions that need attention.
    pub conditions: RefCell<Registry>,
    /// When it began, by a clock that does not jump.
    pub began: Instant,
    /// When it began, seconds since 1970.
    pub started: u64,
    /// Inode of the network namespace.
    pub netns: u64,
}

impl ApiState {
    /// Returns the status of the daemon.
    pub fn status(&self) -> Status {
        let router = &mut *self.router.borrow_mut();
        router.count_all();
        let mut flows = FlowCounts::default();
        for (id, flow) in router.core.flows() {
            let family = match flow.original().is_ipv6() {
                true => &mut flows.ipv6,
                false => &mut flows.ipv4,
            };
            if !flow.installed() {
                family.declined += 1;
                continue;
            }
            family.known += 1;
            let readings = router.path.read(id.0).unwrap_or_default();
            family.proven += u64::from(readings.iter().any(|reading| reading.proven));
        }
        let sizes = router.path.sizes();
        // Two records for each connection, and half of them free: tables keep their size until the
        // next start.
        let room = u64::from(sizes.flows4) / 4 + u64::from(sizes.flows6) / 4;
        flows.capacity = room.min(router.core.settings().max_flows as u64);
        let totals = router.path.totals().unwrap_or_default();
        // A reason has a single counter, for ingress and for the witness.
        let (not_proof, passed) = totals
            .passed
            .iter()
            .map(|(reason, n)| (reason.code().to_owned(), *n, of_the_witness(*reason)))
            .partition::<Vec<_>, _>(|(_, _, witness)| *witness);
        let by_code = |counts: Vec<(String, u64, bool)>| {
            counts.into_iter().map(|(code, n, _)| (code, n)).collect()
        };
        let packets = PacketCounts {
            forwarded_tc: router.account.tc_packets,
            forwarded_xdp: router.account.xdp_packets,
            bytes: router.account.bytes,
            passed: by_code(passed),
            not_proof: by_code(not_proof),
        };
        let statistics = router.core.statistics();
        let shadow = self.settings.borrow().shadow;
        let status = Status {
            version: env!("CARGO_PKG_VERSION").into(),
            started: self.started,
            uptime_seconds: net::clock::unix_seconds().saturating_sub(self.started),
            netns: self.netns,
            modules: Vec::from_iter(router.forwards.then(|| "offload".to_owned())),
            starting: router.is_starting(),
            mode: if shadow { Mode::Shadow } else { Mode::Forward },
            fast_path_share: packets.fast_path_share(),
            packets,
            bumps: statistics
                .bumps
                .iter()
                .map(|(cause, n)| ((*cause).to_owned(), *n))
                .collect(),
            refused: statistics
                .declines()
                .map(|(reason, n)| (reason.name().to_owned(), n as u64))
                .collect(),
            armed: router.path.heartbeat.armed(),
            epoch: router.path.heartbeat.epoch(),
            hops: HopCounts {
                used: router.path.hops_used(),
                capacity: datapath::HOPS,
            },
            flows,
            lost_events: router.lost,
            each_packet: super::costs::each_packet(&router.core),
            shadow: shadow.then_some(ShadowCounts {
                same: totals.shadow_same,
                different: totals.shadow_different,
            }),
            heartbeat: Heartbeat {
                age_seconds: router.beaten.elapsed().as_secs_f64(),
                limit_seconds: f64::from(router.path.options().silence) / 1000.0,
            },
            ..Status::default()
        };
        self.report(router, status).status
    }

    /// Collects the reports of the packet path and of all modules.
    fn report(&self, router: &mut Router, status: Status) -> Report {
        let mut report = Report {
            status,
            findings: Vec::new(),
        };
        // Conntrack reports no connections.
        if router.forwards && router.core.settings().no_events {
            report.status.problems.push(PartProblem {
                part: "offload".into(),
                what: NO_EVENTS.into(),
                hint: NO_EVENTS_HINT.into(),
            });
        }
        for module in self.modules.iter() {
            module.status(router, &mut report);
        }
        report
    }

    /// Updates the conditions; due every second.
    pub fn look_for_conditions(&self) {
        let router = &mut *self.router.borrow_mut();
        let Report {
            status,
            mut findings,
        } = self.report(router, Status::default());
        let shadow = self.settings.borrow().shadow;
        conditions::own(router, shadow, status, &mut findings);
        let now = self.began.elapsed();
        let epoch = net::clock::unix().saturating_sub(now).as_secs();
        let mut known = self.conditions.borrow_mut();
        known.update(findings, now.as_secs(), epoch);
    }

    /// Conditions of the last second.
    pub fn conditions(&self) -> Conditions {
        conditions::shown(&self.conditions.borrow())
    }

    /// Which flows are to be listed.
    pub fn select(&self, filter: &FlowFilter) -> Selection {
        let router = &mut *self.router.borrow_mut();
        let ids: Vec<_> = router.core.flows().map(|(id, _)| id).collect();
        filter.select(ids.into_iter().filter_map(|id| flow(router, id)))
    }

    /// Returns one flow; `None` if the flow has ended.
    pub fn flow(&self, id: FlowId) -> Option<answers::Flow> {
        let router = &mut *self.router.borrow_mut();
        let found = offload_core::FlowId(id.0 as u32);
        flow(router, found).filter(|flow| flow.id == id)
    }

    /// Stations of bridges.
    pub fn bridged(&self, filter: &FlowFilter) -> Vec<answers::StationPair> {
        if filter.port.is_some() || filter.address.is_some() || filter.protocol.is_some() {
            return Vec::new();
        }
        let router = &mut *self.router.borrow_mut();
        let pairs: Vec<_> = router.core.pairs().map(|(id, p)| (id, p.clone())).collect();
        let shown = pairs
            .into_iter()
            .map(|(id, pair)| bridged(router, id, &pair));
        shown
            .filter(|pair| {
                let ways = [&pair.directions.original, &pair.directions.reply];
                let at = |device: &String| {
                    let ports = ways.iter().flat_map(|way| [&way.port_in, &way.port_out]);
                    ports.flatten().any(|port| port == device)
                };
                filter.state.is_none_or(|state| state == pair.state)
                    && filter.device.as_ref().is_none_or(at)
            })
            .collect()
    }

    /// All hops.
    pub fn hops(&self) -> Vec<Hop> {
        let router = &mut *self.router.borrow_mut();
        let names = names(router);
        let mut users: BTreeMap<u32, u64> = BTreeMap::new();
        let installed = router.core.flows().filter(|(_, flow)| flow.installed());
        let inspected = installed.filter_map(|(id, _)| router.path.inspect(id.0));
        for direction in inspected.flatten() {
            if direction.proven {
                *users.entry(direction.hop).or_default() += 1;
            }
        }
        let mac = |header: &[u8]| header.first_chunk().map(net::mac::text);
        router
            .path
            .hops()
            .into_iter()
            .map(|hop| Hop {
                index: hop.index as u16,
                device: names
                    .get(&hop.link)
                    .cloned()
                    .unwrap_or_else(|| format!("#{}", hop.link)),
                header: net::hex::text(&hop.header),
                destination: hop.header.get(..6).filter(|_| !hop.bridged).and_then(mac),
                source: hop.header.get(6..12).filter(|_| !hop.bridged).and_then(mac),
                encapsulation: behind(&Encapsulation::of_header(&hop.header).0),
                ethertype: (!hop.bridged).then(|| Encapsulation::of_header(&hop.header).1),
                epoch: hop.epoch,
                flows: users.get(&hop.index).copied().unwrap_or_default(),
                xdp: hop.xdp,
            })
            .collect()
    }

    /// All ports.
    pub fn ports(&self) -> Vec<Port> {
        super::counters::ports(&mut self.router.borrow_mut())
    }

    /// Explains why a flow is forwarded or not, also for an unknown flow.
    pub fn explain(&self, asked: &FlowQuery) -> Result<Explanation, Problem> {
        let router = &mut *self.router.borrow_mut();
        Ok(super::explain::explain(router, &self.modules, asked))
    }

    /// The effective configuration.
    pub fn config(&self) -> Config {
        self.settings.borrow().effective.to_api()
    }

    /// Reads the configuration again and applies it, as a whole or not at all.
    pub fn reload(&self) -> Result<Reloaded, Problem> {
        let (reloaded, offload) = self.settings.borrow_mut().reload()?;
        let router = &mut *self.router.borrow_mut();
        let effective = &self.settings.borrow().effective;
        router.reload(offload);
        for module in self.modules.iter() {
            module.configure(effective, router);
        }
        crate::log::set(*effective.of::<Log>().level);
        Ok(reloaded)
    }
}

impl ApiContext for ApiState {
    fn router(&self) -> RefMut<'_, Router> {
        self.router.borrow_mut()
    }

    fn routes(&self) -> Option<&Routes> {
        self.routes.get()
    }

    fn metrics(&self) -> String {
        let mut text = Exposition::default();
        metrics::write(&mut text, &self.status());
        conditions::write(&mut text, &self.conditions().conditions);
        let router = &mut *self.router.borrow_mut();
        for module in self.modules.iter() {
            module.metrics(router, &mut text);
        }
        text.end()
    }
}

/// Given at egress, of a packet that the kernel sent (bpf/include/reason.h, "the witness").
fn of_the_witness(reason: datapath::Reason) -> bool {
    reason >= datapath::Reason::NotSeen && reason != datapath::Reason::Shadow
}

/// Device names by index.
pub fn names(router: &Router) -> BTreeMap<u32, String> {
    router
        .core
        .links()
        .map(|link| (link.index, link.name.clone()))
        .collect()
}
