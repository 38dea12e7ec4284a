//! A patch panel: sockets of nodes, and cables between them that can be pulled.

use std::cell::Cell;

use lab::namespace::Namespace;
use lab::{Error, Lab, Offloads};

/// Host that all cables lead to.
const PANEL: &str = "panel";

/// Nodes, and the panel that their sockets lead to.
pub struct Panel {
    lab: Lab,
    cables: Cell<u32>,
}

impl Panel {
    /// Builds these nodes with their sockets, without cables.
    pub fn new(nodes: &[(&str, &[&str])]) -> Result<Self, Error> {
        let mut lab = Lab::new();
        lab.host(PANEL)?;
        for (role, devices) in nodes {
            lab.host(role)?;
            for device in *devices {
                let own = end(role, device);
                lab.wire((PANEL, &own), (role, device), Offloads::Default)?;
                lab.node(PANEL)?.run(&format!("ip link set {own} down"))?;
            }
        }
        let cables = Cell::new(0);
        Ok(Self { lab, cables })
    }

    pub fn node(&self, role: &str) -> Result<&Namespace, Error> {
        self.lab.node(role)
    }

    /// Connects two sockets by a cable.
    pub fn plug(&self, a: (&str, &str), b: (&str, &str)) -> Result<(), Error> {
        self.switch(&[a, b])
    }

    /// Connects all sockets to one dumb switch: a bridge that forwards all groups except those that
    /// 802.1D forbids, like a cable.
    pub fn switch(&self, sockets: &[(&str, &str)]) -> Result<(), Error> {
        self.cables.set(self.cables.get() + 1);
        let cable = format!("cable{}", self.cables.get());
        let panel = self.lab.node(PANEL)?;
        panel.run(&format!("ip link add {cable} type bridge mcast_snooping 0"))?;
        panel.run(&format!(
            "ip link set {cable} type bridge group_fwd_mask 0x4000"
        ))?;
        panel.run(&format!("ip link set {cable} up"))?;
        for (role, device) in sockets {
            let own = end(role, device);
            panel.run(&format!("ip link set {own} master {cable}"))?;
            panel.run(&format!("ip link set {own} up"))?;
        }
        Ok(())
    }

    /// Pulls the cable out of a socket.
    pub fn unplug(&self, role: &str, device: &str) -> Result<(), Error> {
        let own = end(role, device);
        let panel = self.lab.node(PANEL)?;
        panel
            .run(&format!("ip link set {own} down nomaster"))
            .map(drop)
    }
}

/// Returns the panel's end of a socket.
fn end(role: &str, device: &str) -> String {
    format!("{role}-{device}")
}
