//! A port becomes the mesh's, or is it no more.

use super::{Holder, Ports, Refusal, Wish, holders, safe};
use crate::choices::Mesh;
use crate::plan::{Planner, text};

/// What notes that weir made a section itself: it goes when nobody needs it.
const OURS: &str = "weir";
/// The zone of ports that carry VXLAN: nothing but that comes in.
const ZONE: &str = "vxlan";
/// To whom frames go that all are to have: the group of Gluon's nodes, on each link apart.
const GROUP: &str = "ff02::15c";
/// IANA's port of VXLAN (RFC 7348).
const PORT: &str = "4789";
/// What fits into 1500 bytes: without IPv6 (40), UDP (8), VXLAN (8) and Ethernet (14).
const FITS: &str = "1430";
/// Bytes of the longest name of a device, without `vx_`.
const LONGEST: usize = 12;

impl Ports<'_> {
    /// Makes a port one of the mesh, by batman-adv: as it is, or in a VXLAN.
    pub(super) fn mesh(&mut self, wish: &Wish) -> Result<(), Refusal> {
        let device = &wish.device;
        let lacks = |feature: &str| {
            let what = self.planner.facts.lacks.get(feature);
            what.map_or(Ok(()), |what| {
                Err(Refusal::Lacks(device.clone(), what.clone()))
            })
        };
        lacks("batman")?;
        if wish.vxlan.is_some() {
            lacks("vxlan")?;
            if safe(device).len() > LONGEST {
                return Err(Refusal::Name(device.clone()));
            }
        }
        let [mesh, wire, vxlan] = names(device);
        // Of a port that is the mesh's already, they are its own.
        if !holders(&self.planner.config, device).contains(&Holder::Mesh) {
            for section in [&mesh, &wire, &vxlan] {
                self.is_free(device, section, |_| false)?;
            }
        }
        let proto = |name: &str| self.planner.config.get("network", name, "proto");
        if proto("bat0").is_some_and(|proto| proto != "batadv") {
            return Err(Refusal::Collides(device.clone(), "bat0".to_owned()));
        }
        let known = self.planner.config.get("network", &vxlan, "vid");
        if known != wish.vxlan.map(|number| number.to_string()) {
            self.leave_mesh(device)?;
        }
        self.bat0(device)?;
        let over = match wish.vxlan {
            Some(number) => {
                self.vxlan(device, number);
                vxlan
            }
            None => device.clone(),
        };
        let config = self.config();
        config.section("network", &mesh, "interface");
        config.set("network", &mesh, "proto", "batadv_hardif");
        config.set("network", &mesh, "master", "bat0");
        config.set("network", &mesh, "device", &over);
        if wish.vxlan.is_none() {
            // Its header takes 32 bytes, and packets of 1500 have to fit. In a VXLAN on a port of 1500
            // they do not: batman-adv makes two of one.
            config.set("network", &mesh, "mtu", "1532");
        }
        Ok(())
    }

    /// The mesh as a device, in the LAN's bridge.
    fn bat0(&mut self, device: &str) -> Result<(), Refusal> {
        if self.planner.config.has("network", "bat0") {
            return Ok(());
        }
        self.lan_bridge(device)?;
        self.planner.batman(&Mesh::default());
        self.config().set("network", "bat0", OURS, "1");
        Ok(())
    }

    /// A VXLAN on a port, in which whoever else is at the same switch does not take part.
    fn vxlan(&mut self, device: &str, number: u32) {
        let [_, wire, vxlan] = names(device);
        let config = self.config();
        config.section("network", &wire, "interface");
        config.set("network", &wire, "proto", "none");
        config.set("network", &wire, "device", device);
        config.section("network", &vxlan, "interface");
        for (option, value) in [
            ("proto", "vxlan6"),
            ("tunlink", &wire),
            ("peer6addr", GROUP),
            ("port", PORT),
            ("vid", &number.to_string()),
            ("mtu", FITS),
            // The frames within have sums of their own.
            ("rxcsum", "0"),
            ("txcsum", "0"),
        ] {
            config.set("network", &vxlan, option, value);
        }
        if config.of_type("firewall", "zone").next().is_some() {
            self.let_in(&wire);
        }
    }

    /// Lets VXLAN and neighbour discovery come in by an interface, and nothing else.
    fn let_in(&mut self, interface: &str) {
        let config = self.config();
        config.section("firewall", "zone_vxlan", "zone");
        for (option, value) in [
            ("name", ZONE),
            ("input", "REJECT"),
            ("output", "ACCEPT"),
            ("forward", "REJECT"),
        ] {
            config.set("firewall", "zone_vxlan", option, value);
        }
        config.list_with("firewall", "zone_vxlan", "network", interface);
        for (section, name, proto) in [
            ("vxlan_in", "Allow-VXLAN", "udp"),
            ("vxlan_nd", "Allow-VXLAN-Neighbours", "icmp"),
        ] {
            config.section("firewall", section, "rule");
            config.set("firewall", section, "name", name);
            config.set("firewall", section, "src", ZONE);
            config.set("firewall", section, "family", "ipv6");
            config.set("firewall", section, "proto", proto);
            config.set("firewall", section, "target", "ACCEPT");
        }
        config.set("firewall", "vxlan_in", "dest_port", PORT);
        for kind in ["neighbour-solicitation", "neighbour-advertisement"] {
            config.list_with("firewall", "vxlan_nd", "icmp_type", kind);
        }
    }

    /// Takes a port out of the mesh, and what weir made for it.
    pub(super) fn leave_mesh(&mut self, device: &str) -> Result<(), Refusal> {
        self.planner.unwire(device);
        Ok(())
    }
}

/// The sections that a port of the mesh has.
fn names(device: &str) -> [String; 3] {
    ["mesh", "wire", "vx"].map(|kind| format!("{kind}_{}", safe(device)))
}

impl Planner<'_> {
    /// Takes a port out of the mesh, and what weir made for it.
    pub(in crate::plan) fn unwire(&mut self, device: &str) {
        if !holders(&self.config, device).contains(&Holder::Mesh) {
            return;
        }
        let [mesh, wire, vxlan] = names(device);
        for section in [&mesh, &wire, &vxlan] {
            self.config.remove("network", section);
        }
        self.config
            .list_without("firewall", "zone_vxlan", "network", &wire);
        if self
            .config
            .list("firewall", "zone_vxlan", "network")
            .is_empty()
        {
            for section in ["zone_vxlan", "vxlan_in", "vxlan_nd"] {
                self.config.remove("firewall", section);
            }
        }
        let is_ours = self.config.get("network", "bat0", OURS).is_some();
        if is_ours && !self.meshes_by_wire() && !self.meshes_by_radio() {
            self.no_bat0();
        }
    }

    /// Whether a port is the mesh's, be it weir's doing or another's.
    pub(in crate::plan) fn meshes_by_wire(&self) -> bool {
        let mut interfaces = self.config.of_type("network", "interface");
        interfaces.any(|one| {
            text(one, "proto").as_deref() == Some("batadv_hardif") && one.get("device").is_some()
        })
    }

    fn meshes_by_radio(&self) -> bool {
        let mut interfaces = self.config.of_type("network", "interface");
        interfaces.any(|one| {
            text(one, "proto").as_deref() == Some("batadv_hardif") && one.get("device").is_none()
        })
    }
}
