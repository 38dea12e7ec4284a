//! What the core asks for is done: to proofs, conntrack, flows and ports.

use std::collections::HashSet;

use kernel::conntrack::Refresh;
use kernel::{ConnectionId, Event, Source};
use offload_core::{Action, Decline, Millis};
use tracing::{debug, info, warn};

use super::{Router, readings};
use crate::daemon::module;

// Said by the one, meant by the other.
const _: () = assert!(offload_core::stack::OVER_PPP == datapath::STACK_PPP);

impl Router {
    /// Does what the core asks. Proofs end first: a packet must not go by an old rule because an
    /// install took long.
    pub(super) fn apply(&mut self, mut actions: Vec<Action>) {
        self.core.flush(&mut actions);
        let mut rounds = 0;
        while !actions.is_empty() && rounds < 8 {
            rounds += 1;
            let mut more = Vec::new();
            self.end_proofs(&mut actions);
            self.update_connections(&actions, &mut more);
            for action in actions {
                self.perform(action, &mut more);
            }
            self.core.flush(&mut more);
            actions = more;
        }
    }

    /// Ends the proofs that are to end, all of a batch together, and takes those actions out.
    pub(super) fn end_proofs(&mut self, actions: &mut Vec<Action>) {
        let mut all = None;
        let mut macs = HashSet::new();
        actions.retain(|action| match action {
            Action::Bump(cause) => {
                all.get_or_insert_with(|| cause.clone());
                false
            }
            Action::BumpHops { link: _, mac } => {
                macs.insert(*mac);
                false
            }
            _ => true,
        });
        if !macs.is_empty()
            && let Err(error) = self.path.bump_hops(&macs)
        {
            warn!(%error, "no pause after a neighbour changed");
        }
        let Some(cause) = all else { return };
        debug!(%cause, "all proofs end");
        if let Err(error) = self.path.bump() {
            // Without it nothing is safe: give everything back to the kernel until the next change.
            warn!(%error, "cannot end proofs: the kernel forwards everything");
            self.path.disarm();
        }
    }

    /// Time-outs and TCP windows, in one go each: relaxing comes before any install of the same
    /// batch.
    pub(super) fn update_connections(&mut self, actions: &[Action], more: &mut Vec<Action>) {
        let relax: Vec<ConnectionId> = actions
            .iter()
            .filter_map(|a| {
                if let Action::Relax(id) = a {
                    Some(*id)
                } else {
                    None
                }
            })
            .collect();
        let refresh: Vec<Refresh> = actions
            .iter()
            .filter_map(|a| match a {
                Action::Refresh {
                    id,
                    seconds,
                    unacknowledged,
                } => Some(Refresh {
                    id: *id,
                    timeout: *seconds,
                    status: None,
                    unacknowledged: *unacknowledged,
                }),
                _ => None,
            })
            .collect();
        let look: Vec<ConnectionId> = actions
            .iter()
            .filter_map(|a| match a {
                Action::Look(id) => Some(*id),
                _ => None,
            })
            .collect();
        let (looked, looks) = self.updates.look(&look);
        for looked in &looked {
            self.core.looked(looked, self.now(), more);
        }
        let named = |wanted: fn(&Action) -> Option<ConnectionId>| -> Vec<ConnectionId> {
            actions.iter().filter_map(wanted).collect()
        };
        let probe = named(|a| match a {
            Action::Probe(id) => Some(*id),
            _ => None,
        });
        let poll = named(|a| match a {
            Action::Poll(id) => Some(*id),
            _ => None,
        });
        let (polled, polls) = self.updates.look(&poll);
        for looked in &polled {
            self.core.polled(looked, self.now(), more);
        }
        let mut gone = Vec::new();
        for outcome in [
            (!probe.is_empty()).then(|| self.updates.probe(&probe)),
            Some(polls),
            (!relax.is_empty()).then(|| self.updates.relax(&relax)),
            (!refresh.is_empty()).then(|| self.updates.refresh(&refresh)),
            Some(looks),
        ]
        .into_iter()
        .flatten()
        {
            if outcome.failed > 0 {
                self.updates_failed += outcome.failed;
                debug!(failed = outcome.failed, error = ?outcome.error, "conntrack refused updates");
            }
            gone.extend(outcome.gone);
        }
        let now = self.now();
        for id in gone {
            let event = Event::ConnectionGone(id);
            for module in self.modules.clone().iter() {
                module.on_event(module::Event::Kernel(&event), self);
            }
            self.core.handle(event, now, more);
        }
    }

    /// The end: conntrack is told of the packets that moved last.
    pub fn finish(&mut self) {
        let now = self.now();
        let mut actions = Vec::new();
        let path = &mut self.path;
        self.core
            .before_finish(now, &mut |flow| readings(path, flow), &mut actions);
        let mut more = Vec::new();
        self.update_connections(&actions, &mut more);
        let path = &mut self.path;
        self.core
            .finish(now, &mut |flow| readings(path, flow), &mut more);
        self.update_connections(&more, &mut Vec::new());
    }

    fn perform(&mut self, action: Action, more: &mut Vec<Action>) {
        match action {
            Action::Install {
                flow,
                original,
                reply,
                window_scales,
            } => match self.path.install(flow.0, &original, &reply) {
                Ok(()) => {
                    if let Some(scales) = window_scales {
                        self.path.guard(flow.0, scales);
                    }
                }
                Err(datapath::Error::Full) => self.core.refused(flow, Decline::TableFull),
                Err(error) => {
                    debug!(%error, "cannot install a flow");
                    self.core.refused(flow, Decline::Unsupported);
                }
            },
            Action::InstallPair { flow, stations } => {
                if let Err(error) = self.path.install_pair(flow.0, stations) {
                    debug!(%error, "cannot install a pair of stations");
                    self.core.refused(flow, Decline::TableFull);
                }
            }
            Action::Remove { flow } => {
                self.account.read(&mut self.path, flow.0);
                self.path.remove(flow.0);
            }
            Action::Prove { flow } => self.path.prove(flow.0),
            Action::Dump(source) => {
                if source == Source::Conntrack {
                    self.gone = Some(HashSet::new());
                }
                for module in self.modules.clone().iter() {
                    module.on_event(module::Event::Dump(source), self);
                }
                self.dumps.push(source);
            }
            Action::Port(plan) => self.port(plan, more),
            Action::Stacks(stacks) => {
                if let Err(error) = self.path.set_stacks(&stacks) {
                    warn!(%error, "not all devices are known to the packet path");
                }
            }
            // Done before, all of a batch together.
            Action::Bump(_)
            | Action::BumpHops { .. }
            | Action::Relax(_)
            | Action::Look(_)
            | Action::Probe(_)
            | Action::Poll(_)
            | Action::Refresh { .. } => {}
        }
    }

    /// Attaches to a device, changes it, or takes hands off it.
    fn port(&mut self, plan: offload_core::PortPlan, more: &mut Vec<Action>) {
        if !self.forwards {
            return;
        }
        let hook = match plan.hook {
            offload_core::Hook::Xdp => datapath::Hook::Xdp,
            offload_core::Hook::Tc => datapath::Hook::Tc,
            offload_core::Hook::Watch => datapath::Hook::Watch,
            offload_core::Hook::Off | offload_core::Hook::Auto => {
                if self.attached.remove(&plan.link).is_some() {
                    info!(
                        device = plan.name,
                        reason = plan.reason.explain(),
                        "no longer a port"
                    );
                    if let Err(error) = self.path.detach(plan.link) {
                        warn!(device = plan.name, %error, "cannot detach");
                    }
                }
                return;
            }
        };
        match self.path.attach(
            &datapath::Port {
                link: plan.link,
                mac: plan.mac,
                vlan_macs: plan.vlan_macs.clone(),
                into: plan.into,
                out: plan.out,
                transmit: plan.xdp_transmit,
                direct: plan.direct,
                floods: plan.floods,
                ppp_in: plan.ppp_in,
                ppp_out: plan.ppp_out,
                bridges: plan.bridges,
                sees_tags: plan.sees_tags,
                tagger: plan.tagging.as_deref().and_then(datapath::Tagger::named),
            },
            &plan.name,
            hook,
        ) {
            Ok(()) => {
                match plan.forwards() {
                    true => {
                        info!(device = plan.name, hook = ?plan.hook, reason = plan.reason.explain(), "is a port")
                    }
                    false => info!(
                        device = plan.name,
                        reason = plan.reason.explain(),
                        "no port, but what its bridge sends there is looked at"
                    ),
                }
                self.account.port(self.path.slot(plan.link), plan.link);
                self.attached.insert(plan.link, plan);
            }
            Err(error) => {
                warn!(device = plan.name, %error, "cannot be a port this way");
                self.attached.remove(&plan.link);
                let mut facts = self.core.port_facts(plan.link).cloned().unwrap_or_default();
                match hook {
                    datapath::Hook::Xdp => facts.xdp_refused = true,
                    datapath::Hook::Tc | datapath::Hook::Watch => facts.tc_refused = true,
                }
                self.core.facts(
                    plan.link,
                    facts,
                    self.started.elapsed().as_millis() as Millis,
                    more,
                );
            }
        }
    }
}
