//! Devices above one another, and the plans for their ports.

use std::collections::BTreeMap;

use kernel::{Link, Vlan};
use weir_offload_core::ports::{Below, Plans, plans};
use weir_offload_core::{Action, Device, PortFacts, PortPlan, PortReason, Settings};

use crate::common::{facts, link};

pub const ETH0: u32 = 2;

pub fn of_kind(index: u32, name: &str, kind: &str) -> Link {
    Link {
        kind: kind.into(),
        qdisc: "noqueue".into(),
        ..link(index, name)
    }
}

pub fn vlan(index: u32, lower: &Link, id: u16) -> Link {
    Link {
        lower: Some(lower.index),
        vlan: Some(Vlan {
            id,
            protocol: 0x8100,
        }),
        mac: lower.mac,
        ..of_kind(index, &format!("{}.{id}", lower.name), "vlan")
    }
}

pub fn ppp(index: u32) -> Link {
    Link {
        hardware: 512,
        mac: None,
        qdisc: "fq_codel".into(),
        ..of_kind(index, &format!("ppp{}", index - 80), "ppp")
    }
}

pub fn member(mut link: Link, master: &Link) -> Link {
    link.master = Some(master.index);
    link
}

/// A router as it is put together in each test.
#[derive(Clone, Default)]
pub struct World {
    pub links: Vec<Link>,
    pub facts: BTreeMap<u32, PortFacts>,
    pub settings: Settings,
}

impl World {
    pub fn of(links: &[Link]) -> Self {
        Self {
            links: links.to_vec(),
            ..Self::default()
        }
    }

    pub fn fact(mut self, link: u32, change: impl Fn(&mut PortFacts)) -> Self {
        change(self.facts.entry(link).or_insert_with(facts));
        self
    }

    pub fn change(mut self, link: u32, change: impl Fn(&mut Link)) -> Self {
        let found = self.links.iter_mut().find(|l| l.index == link);
        change(found.expect("there"));
        self
    }

    pub fn plans(&self) -> Plans {
        let common = facts();
        let devices: Vec<Device<'_>> = self
            .links
            .iter()
            .map(|link| Device {
                link,
                facts: Some(self.facts.get(&link.index).unwrap_or(&common)),
                own_xdp: false,
            })
            .collect();
        plans(&devices, &self.settings)
    }

    pub fn plan(&self, link: u32) -> PortPlan {
        let plans = self.plans().ports.into_iter();
        plans
            .into_iter()
            .find(|plan| plan.link == link)
            .expect("planned")
    }
}

/// Two LAN ports in a bridge, a VLAN on the bridge; the WAN by PPPoE over VLAN 7 of another device.
pub fn home_router() -> World {
    let (lan0, lan1, wan) = (link(4, "lan0"), link(5, "lan1"), link(ETH0, "eth0"));
    let br0 = of_kind(10, "br0", "bridge");
    let guests = vlan(11, &br0, 20);
    let wan7 = vlan(12, &wan, 7);
    World::of(&[
        member(lan0, &br0),
        member(lan1, &br0),
        br0,
        guests,
        wan,
        wan7,
        ppp(80),
    ])
}

pub fn above(device: &str, reason: PortReason) -> PortReason {
    PortReason::Above {
        device: device.into(),
        reason: Box::new(reason),
    }
}

pub fn below(ports: &[&str], others: &[&str]) -> PortReason {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    PortReason::Upper(Below {
        ports: names(ports),
        others: names(others),
    })
}

pub fn ports(actions: &[Action]) -> Vec<&PortPlan> {
    pub fn port(action: &Action) -> Option<&PortPlan> {
        match action {
            Action::Port(plan) => Some(plan),
            _ => None,
        }
    }
    actions.iter().filter_map(port).collect()
}
