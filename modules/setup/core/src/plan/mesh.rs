//! Mesh with other nodes: 802.11s below batman-adv, or access points that peer.

use super::batman::{batman, meshes_by_wire, no_bat0};
use super::radios::Radios;
use super::{Config, Facts, ProblemKind, Radio, Report, is_enabled, text};
use crate::choices::{Mesh, MeshKind};
use crate::read::{is_mesh, mesh_of, mesh_section as section};

/// Edits the mesh.
pub(super) fn edit(mesh: &Mesh, config: &mut Config, facts: &Facts, report: &mut Report) {
    let mut plan = MeshPlan {
        config,
        facts,
        report,
    };
    plan.edit(mesh);
}

/// A plan for the mesh.
struct MeshPlan<'a> {
    config: &'a mut Config,
    facts: &'a Facts,
    report: &'a mut Report,
}

impl MeshPlan<'_> {
    fn edit(&mut self, mesh: &Mesh) {
        let known = mesh_of(self.config);
        let stays = |wanted: &Mesh| {
            let key = wanted.key.clone().or_else(|| known.key.clone());
            let wanted = Mesh {
                key: key.filter(|_| wanted.kind == MeshKind::Batman),
                country: String::new(),
                ..wanted.clone()
            };
            wanted == known
        };
        if stays(mesh) && mesh.country.is_empty() {
            return;
        }
        let lacks = match mesh.kind {
            MeshKind::Batman => self.facts.missing("batman", "mesh.kind", self.report),
            MeshKind::Apup => self.facts.missing("apup", "mesh.kind", self.report),
            MeshKind::None => false,
        };
        if lacks {
            return;
        }
        Radios::new(self.config, self.facts, self.report)
            .set_country("mesh.country", &mesh.country);
        let radios = self.mesh_radios(mesh);
        let names: Vec<String> = radios.iter().map(|radio| section(&radio.name)).collect();
        if mesh.kind != MeshKind::Batman {
            self.no_batman();
        }
        // Former sections of the wizard, for other radios or of another kind.
        let former: Vec<(String, String)> = self
            .config
            .of_type("wireless", "wifi-iface")
            .filter(|section| is_mesh(section))
            .map(|section| {
                (
                    section.name.clone(),
                    text(section, "mode").unwrap_or_default(),
                )
            })
            .collect();
        for (name, mode) in former {
            let stays = match mesh.kind {
                MeshKind::None => false,
                MeshKind::Batman => mode == "mesh",
                MeshKind::Apup => mode == "ap",
            };
            if !stays || !names.contains(&name) {
                self.config.remove("wireless", &name);
                self.config.remove("network", &name);
            }
        }
        match mesh.kind {
            MeshKind::None => {
                self.report.add_sentence(
                    "mesh",
                    "mesh-none",
                    &[],
                    "It is not part of a mesh.".to_owned(),
                );
            }
            MeshKind::Batman | MeshKind::Apup => self.join(mesh, &radios),
        }
    }

    /// Returns the radios of the mesh: those named, or each that is able.
    fn mesh_radios(&mut self, mesh: &Mesh) -> Vec<Radio> {
        let can = |radio: &&Radio| match mesh.kind {
            MeshKind::None => false,
            MeshKind::Batman => radio.mesh,
            MeshKind::Apup => radio.apup,
        };
        if mesh.kind == MeshKind::None {
            return Vec::new();
        }
        if mesh.radios.is_empty() {
            let able = self.facts.radios.iter().filter(can).cloned();
            let (radios, others): (Vec<Radio>, Vec<Radio>) =
                able.partition(|radio| match radio.air {
                    Some(_) => self.off_mesh(mesh, radio).is_none(),
                    None => (mesh.channel).is_none_or(|channel| has_channel(radio, channel)),
                });
            if radios.is_empty() {
                let off = others.iter().find_map(|radio| self.off_mesh(mesh, radio));
                match off {
                    Some(wrong) => self.report.add_problem("mesh.channel", &wrong),
                    None => {
                        let what = "radio that supports it".to_owned();
                        self.report
                            .add_problem("mesh.kind", &ProblemKind::Lacking(what));
                    }
                }
            }
            return radios;
        }
        let mut radios = Vec::new();
        for name in &mesh.radios {
            let known = self.facts.radios.iter().find(|radio| radio.name == *name);
            let Some(radio) = known.filter(can) else {
                let wrong = ProblemKind::UnknownRadio(name.clone());
                self.report.add(wrong.at("mesh.radios"));
                continue;
            };
            match self.off_mesh(mesh, radio) {
                Some(wrong) => self.report.add_problem("mesh.channel", &wrong),
                None => radios.push(radio.clone()),
            }
        }
        radios
    }

    /// Returns why a radio cannot carry the mesh. A mesh that it carries already is not checked.
    fn off_mesh(&self, mesh: &Mesh, radio: &Radio) -> Option<ProblemKind> {
        let of = |section: &str, option: &str| self.config.get("wireless", section, option);
        let there = of(&section(&radio.name), "device").as_deref() == Some(&radio.name);
        let channel = of(&radio.name, "channel").and_then(|channel| channel.parse().ok());
        if there && (mesh.channel.is_none() || mesh.channel == channel) {
            return None;
        }
        let peers = mesh.kind == MeshKind::Batman;
        let where_to = radio.off_air(self.config, mesh.channel, peers)?;
        Some(ProblemKind::NotOnAir(radio.name.clone(), where_to))
    }

    fn join(&mut self, mesh: &Mesh, radios: &[Radio]) {
        if !self.report.text("mesh.name", &mesh.name, 32) {
            return;
        }
        if let Some(key) = &mesh.key
            && (key.len() == 64 || !super::check::is_wifi_key(key))
        {
            return self
                .report
                .add_problem("mesh.key", &ProblemKind::NotAPassword);
        }
        if let Some(channel) = mesh.channel
            && !(1..=233).contains(&channel)
        {
            return self
                .report
                .add_problem("mesh.channel", &ProblemKind::OutOfRange(1, 233));
        }
        if mesh.kind == MeshKind::Apup && mesh.key.is_some() {
            // Traffic between access points is not encrypted.
            return self.report.add_problem("mesh.key", &ProblemKind::KeyUnused);
        }
        if mesh.channel.is_some() && radios.len() > 1 {
            return self
                .report
                .add_problem("mesh.channel", &ProblemKind::OneRadio);
        }
        for radio in radios {
            let name = section(&radio.name);
            self.config.section("wireless", &name, "wifi-iface");
            self.config.set("wireless", &name, "device", &radio.name);
            Radios::new(self.config, self.facts, self.report).switch_on(&radio.name);
            if let Some(channel) = mesh.channel {
                let channel = channel.to_string();
                self.config
                    .set("wireless", &radio.name, "channel", &channel);
            }
            match mesh.kind {
                MeshKind::Batman => self.mesh_point(mesh, &name),
                MeshKind::Apup => self.peering_access_point(mesh, &name),
                MeshKind::None => {}
            }
            let (mesh, radio) = (&*mesh.name, &*radio.name);
            let says = format!("It is a node of the mesh {mesh}, by {radio}.");
            let open = self.config.get("wireless", &name, "key").is_none();
            self.report
                .add_sentence("mesh", "mesh", &[("name", mesh), ("radio", radio)], says);
            if open {
                let says = format!("The mesh {mesh} is open: anyone nearby can join it.");
                self.report.add_sentence(
                    "mesh",
                    "mesh-open",
                    &[("name", mesh), ("radio", radio)],
                    says,
                );
            }
        }
        if mesh.kind == MeshKind::Batman {
            batman(self.config, self.facts, mesh);
            // The mesh's device stays from now on, even if ports change.
            self.config.unset("network", "bat0", "weir");
        }
    }

    /// Configures the mesh point: 802.11s carries frames from neighbour to neighbour; batman-adv
    /// finds the route.
    fn mesh_point(&mut self, mesh: &Mesh, name: &str) {
        let config = &mut *self.config;
        config.set("wireless", name, "mode", "mesh");
        config.set("wireless", name, "mesh_id", &mesh.name);
        config.set_new("wireless", name, "mesh_fwding", "0");
        config.set("wireless", name, "network", name);
        // A key that is not given stays.
        if mesh.key.is_some() {
            config.set("wireless", name, "encryption", "sae");
            config.set_if("wireless", name, "key", mesh.key.as_deref());
        } else if config.get("wireless", name, "key").is_none() {
            config.set("wireless", name, "encryption", "none");
        }
        config.section("network", name, "interface");
        config.set("network", name, "proto", "batadv_hardif");
        config.set("network", name, "master", "bat0");
        // Its header takes 32 bytes, and packets of 1500 have to fit.
        config.set_new("network", name, "mtu", "1532");
    }

    fn peering_access_point(&mut self, mesh: &Mesh, name: &str) {
        let config = &mut *self.config;
        config.set("wireless", name, "mode", "ap");
        config.set("wireless", name, "ssid", &mesh.name);
        // A separate network: anybody may join, so it must not be the LAN.
        config.set("wireless", name, "network", name);
        config.set("wireless", name, "encryption", "none");
        config.section("network", name, "interface");
        config.set("network", name, "proto", "none");
        config.set("wireless", name, "apup", "1");
        let prefix = format!("{}p", name.replace("mesh_radio", "ap"));
        config.set("wireless", name, "apup_peer_ifname_prefix", &prefix);
    }

    fn no_batman(&mut self) {
        if self.config.get("network", "bat0", "proto").as_deref() != Some("batadv") {
            return;
        }
        let ours = self
            .config
            .of_type("network", "interface")
            .any(|interface| {
                // Sections with a device are ports.
                interface.name.starts_with("mesh_")
                    && text(interface, "proto").as_deref() == Some("batadv_hardif")
                    && interface.get("device").is_none()
            });
        if !ours {
            return;
        }
        if meshes_by_wire(self.config) {
            // The device is removed with the last port that weir added to the mesh.
            return self.config.set("network", "bat0", "weir", "1");
        }
        no_bat0(self.config);
    }
}

/// Reports a new contradiction between the mesh and DHCP: all nodes are one network inside.
pub(super) fn and_addresses(config: &Config, was: &Config, report: &mut Report) {
    let now = contradiction(config);
    if now == contradiction(was) {
        return;
    }
    match now {
        Some("mesh-dhcp") => {
            let says = "It gives addresses in the mesh, and is not a gateway: devices with such an \
                        address use this node for the Internet, and have no Internet if the node \
                        has none.";
            report.add_sentence("mesh", "mesh-dhcp", &[], says.to_owned());
        }
        Some("mesh-gateway") => {
            let says = "It is a gateway of the mesh, and gives no addresses: devices connected to \
                        this node get none.";
            report.add_sentence("mesh", "mesh-gateway", &[], says.to_owned());
        }
        _ => {}
    }
}

/// Returns the contradiction of a mesh node: DHCP without a gateway, or a gateway without DHCP.
fn contradiction(config: &Config) -> Option<&'static str> {
    config
        .get("network", "bat0", "proto")
        .filter(|proto| proto == "batadv")?;
    let gateway = config.get("network", "bat0", "gw_mode").as_deref() == Some("server");
    let dhcp = config.section_of("dhcp", "lan");
    match (gateway, dhcp.is_some_and(|lan| !is_enabled(lan, "ignore"))) {
        (false, true) => Some("mesh-dhcp"),
        (true, false) => Some("mesh-gateway"),
        _ => None,
    }
}

/// Returns true if a channel is in a radio's bands, as far as its number shows: channels of 6 GHz
/// reuse numbers of other bands (IEEE 802.11, annex E).
fn has_channel(radio: &Radio, channel: u16) -> bool {
    let band = if channel <= 14 { "2g" } else { "5g" };
    radio.bands.is_empty() || radio.bands.iter().any(|known| known == band)
}
