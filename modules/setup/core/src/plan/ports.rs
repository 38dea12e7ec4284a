//! What each port is used for, and how that changes: between LAN, uplink and mesh. What else is
//! decided stays as it is.

mod lime;
mod mesh;
mod uplink;
mod uses;

use serde::{Deserialize, Serialize};

use super::{Config, Facts, Planner, text};
use uses::{Holder, holders};
pub use uses::{is_lime, uses};

/// The type of a section in `network` that notes what weir made of a port. netifd leaves it alone.
const MARK: &str = "weir_cable";

/// What a port is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Used {
    /// A network inside.
    Lan,
    /// The Internet.
    Uplink,
    /// The mesh.
    Mesh,
    /// Nothing.
    None,
}

impl Used {
    fn word(self) -> &'static str {
        match self {
            Self::Lan => "lan",
            Self::Uplink => "uplink",
            Self::Mesh => "mesh",
            Self::None => "none",
        }
    }
}

/// A port, and what it is used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortUse {
    /// The device.
    pub device: String,
    /// What it is used for.
    pub used: Used,
    /// Whether weir made it so, and nobody has changed it since.
    pub by_weir: bool,
}

/// What a port is to be used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// The device.
    pub device: String,
    /// What it is to be used for.
    pub used: Used,
    /// Of a mesh: the number of the VXLAN that it is in.
    #[serde(default)]
    pub vxlan: Option<u32>,
    /// Of an uplink: what was found there.
    #[serde(default)]
    pub uplink: Option<Found>,
}

/// What was found at an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// How the Internet comes.
    pub kind: Kind,
    /// In which VLAN; `None`: without a tag.
    #[serde(default)]
    pub vlan: Option<u16>,
}

/// How the Internet comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// By DHCP.
    Dhcp,
    /// By PPPoE.
    Pppoe,
}

/// Why a port cannot be used as somebody wishes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The configuration says nothing of networks.
    #[error("this router's network is not in the configuration of `weir setup`")]
    NoNetwork,
    /// It is no name of a device, or too long a one.
    #[error("{0:?} is no name of a port that can be used so")]
    Name(String),
    /// Two wishes contradict each other.
    #[error("{0}: there are two wishes that contradict each other")]
    Twice(String),
    /// Another part of the configuration uses the port.
    #[error("{0} belongs to network.{1}, which weir did not make")]
    Held(String, String),
    /// Its frames have tags, or its bridge tells them apart.
    #[error("{0} is in a network by VLANs, which weir does not change")]
    Tagged(String),
    /// Nobody told the provider's name and password.
    #[error("{0}: PPPoE needs the name and password of the provider: the wizard asks for them")]
    NeedsPppoe(String),
    /// The Internet comes by something else.
    #[error("{0}: the Internet is chosen to come otherwise (network.wan.proto {1})")]
    Otherwise(String, String),
    /// Something else has the name of what would be made.
    #[error("{0}: there is a section network.{1} already, which is something else")]
    Collides(String, String),
    /// The router lacks what it takes.
    #[error("{0}: the router lacks what it takes: {1}")]
    Lacks(String, String),
    /// It is no number of a VXLAN.
    #[error("{0}: {1} is no number of a VXLAN, 1 to 16777215")]
    Vxlan(String, u32),
    /// The wizard's own means refuse it.
    #[error("{0}: {1}")]
    Wizard(String, String),
}

impl Refusal {
    /// What to do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoNetwork => "set the router up by the wizard first",
            Self::Name(_) => "take a device that `ip link` lists: eth1",
            Self::Twice(_) => "wish for each port once, and for one uplink",
            Self::Held(..) | Self::Tagged(_) => "take the port out of it by hand first",
            Self::NeedsPppoe(_) => "set up the Internet in the wizard",
            Self::Otherwise(..) => "choose the port of the Internet in the wizard",
            Self::Collides(..) => "give that section another name",
            Self::Lacks(..) => "install it first",
            Self::Vxlan(..) => "take a number from 1 to 16777215",
            Self::Wizard(..) => "put that right, and try again",
        }
    }
}

/// Changes what ports are used for, one wish after the other. `config` is what the router has.
///
/// # Errors
/// Why that cannot be. Nothing may be done then.
pub fn change(wishes: &[Wish], config: &Config, facts: &Facts) -> Result<Config, Vec<Refusal>> {
    let interfaces = config.of_type("network", "interface");
    if interfaces.filter(|one| one.name != "loopback").count() == 0 {
        return Err(vec![Refusal::NoNetwork]);
    }
    let mut refusals: Vec<Refusal> = wishes
        .iter()
        .filter_map(|wish| wrong(wish, wishes))
        .collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut ports = Ports {
        planner: Planner {
            config: config.clone(),
            facts,
            problems: Vec::new(),
            sentences: Vec::new(),
        },
    };
    for wish in wishes {
        let done = match is_lime(config) {
            true => ports.lime(wish),
            false => ports.wish(wish),
        };
        refusals.extend(done.err());
    }
    let failed = ports.planner.config.failed();
    refusals.extend(failed.map(|why| Refusal::Wizard("network".to_owned(), why.to_owned())));
    match refusals.is_empty() {
        true => Ok(ports.planner.config),
        false => Err(refusals),
    }
}

/// What is wrong with a wish, whatever the router has.
fn wrong(wish: &Wish, all: &[Wish]) -> Option<Refusal> {
    let device = &wish.device;
    if !is_device(device) {
        return Some(Refusal::Name(device.clone()));
    }
    let same = |other: &&Wish| {
        other.device == *device || other.used == Used::Uplink && wish.used == Used::Uplink
    };
    if all.iter().filter(same).count() > 1 {
        return Some(Refusal::Twice(device.clone()));
    }
    let number = wish.vxlan.filter(|number| !(1..1 << 24).contains(number))?;
    Some(Refusal::Vxlan(device.clone(), number))
}

/// Checks the name of a port (`dev_valid_name` of the kernel, and what UCI's lists can have): no
/// program takes the name for an option.
fn is_device(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_');
    (1..16).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(plain)
        && !matches!(name, "." | ".." | "lo")
}

/// A device as a part of a section's name, which has letters, digits and `_` alone.
fn safe(device: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    device.chars().map(safe).collect()
}

/// A plan that is being made.
struct Ports<'a> {
    planner: Planner<'a>,
}

impl Ports<'_> {
    fn config(&mut self) -> &mut Config {
        &mut self.planner.config
    }

    fn wish(&mut self, wish: &Wish) -> Result<(), Refusal> {
        let device = &wish.device;
        if uses::bases(&self.planner.config, device) != [device.as_str()] {
            return Err(Refusal::Tagged(device.clone()));
        }
        let known = holders(&self.planner.config, device);
        if let Some(Holder::Other(name, _)) =
            known.iter().find(|one| matches!(one, Holder::Other(..)))
        {
            return Err(Refusal::Held(device.clone(), name.clone()));
        }
        let mark = self.mark(device)?;
        let before = self.planner.config.clone();
        let place = match wish.used {
            Used::Lan => {
                let place = self.leave(device, &[Used::Uplink, Used::Mesh])?;
                self.enter_lan(device, &mark)?;
                place
            }
            Used::Uplink => {
                let place = self.leave(device, &[Used::Lan, Used::Mesh])?;
                self.uplink(wish)?;
                place
            }
            Used::Mesh => {
                let place = self.leave(device, &[Used::Lan, Used::Uplink])?;
                self.mesh(wish)?;
                place
            }
            Used::None => self.leave(device, &[Used::Lan, Used::Uplink, Used::Mesh])?,
        };
        let same = before.package("network").map(uci::Package::text)
            == self
                .planner
                .config
                .package("network")
                .map(uci::Package::text);
        if !same {
            self.note(device, wish.used, place);
        }
        Ok(())
    }

    /// The section that notes what weir made of a port.
    fn mark(&self, device: &str) -> Result<String, Refusal> {
        let mark = format!("cable_{}", safe(device));
        self.is_free(device, &mark, |known| {
            known.kind == MARK && text(known, "device").as_deref() == Some(device)
        })?;
        Ok(mark)
    }

    /// Notes what weir made of a port, and where it was among those of the LAN.
    fn note(&mut self, device: &str, used: Used, place: Option<usize>) {
        let mark = format!("cable_{}", safe(device));
        let config = self.config();
        config.section("network", &mark, MARK);
        config.set("network", &mark, "device", device);
        config.set("network", &mark, "used", used.word());
        match place {
            Some(place) => config.set("network", &mark, "place", &place.to_string()),
            None if used == Used::Lan => config.unset("network", &mark, "place"),
            None => {}
        }
    }

    /// Refuses a name that something else has.
    fn is_free(
        &self,
        device: &str,
        section: &str,
        is_ours: impl Fn(&uci::Section) -> bool,
    ) -> Result<(), Refusal> {
        let network = self.planner.config.package("network");
        match network.and_then(|network| network.section(section)) {
            Some(known) if !is_ours(known) => {
                Err(Refusal::Collides(device.to_owned(), section.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Takes a port out of these uses. Gives its place among the LAN's ports, where it was one.
    fn leave(&mut self, device: &str, uses: &[Used]) -> Result<Option<usize>, Refusal> {
        let mut place = None;
        for holder in holders(&self.planner.config, device) {
            match holder {
                Holder::Lan if uses.contains(&Used::Lan) => place = self.leave_lan(device)?,
                Holder::Wan if uses.contains(&Used::Uplink) => self.leave_wan(device)?,
                Holder::Mesh if uses.contains(&Used::Mesh) => self.leave_mesh(device)?,
                _ => {}
            }
        }
        Ok(place)
    }

    fn leave_lan(&mut self, device: &str) -> Result<Option<usize>, Refusal> {
        let bridge = self.lan_bridge(device)?;
        let ports = self.planner.config.list("network", &bridge, "ports");
        let Some(place) = ports.iter().position(|port| port == device) else {
            return Err(Refusal::Tagged(device.to_owned()));
        };
        let config = self.config();
        config.list_without("network", &bridge, "ports", device);
        Ok(Some(place))
    }

    fn enter_lan(&mut self, device: &str, mark: &str) -> Result<(), Refusal> {
        if holders(&self.planner.config, device).contains(&Holder::Lan) {
            return Ok(());
        }
        let bridge = self.lan_bridge(device)?;
        let place = self.planner.config.get("network", mark, "place");
        let place = place.and_then(|place| place.parse().ok());
        let mut ports = self.planner.config.list("network", &bridge, "ports");
        let place = place.unwrap_or(ports.len()).min(ports.len());
        ports.insert(place, device.to_owned());
        let config = self.config();
        config.replace_list("network", &bridge, "ports", &ports);
        Ok(())
    }

    /// The section of the LAN's bridge, which is made where there is none.
    fn lan_bridge(&mut self, device: &str) -> Result<String, Refusal> {
        if !self.planner.config.has("network", "lan") {
            self.planner.interface("lan");
            let config = self.config();
            if let Some(bridge) = config.which("network", "device", "name", "br-lan") {
                // Which ports it has is what is wished for.
                config.unset("network", &bridge, "ports");
            }
        }
        let config = self.config();
        let tagged = || Refusal::Tagged(device.to_owned());
        let own = config.get("network", "lan", "device");
        let known = (own.as_ref()).and_then(|own| config.which("network", "device", "name", own));
        if let Some(bridge) = known
            .filter(|section| config.get("network", section, "type").as_deref() == Some("bridge"))
        {
            let vlans = |bridge: &str| config.which("network", "bridge-vlan", "device", bridge);
            return match own.and_then(|own| vlans(&own)) {
                Some(_) => Err(tagged()),
                None => Ok(bridge),
            };
        }
        // The LAN has a port itself, or none: that becomes a bridge's.
        let plain = own
            .as_deref()
            .is_none_or(|own| uses::bases(config, own) == [own]);
        if !plain
            || config.package("network").is_some_and(|network| {
                let lan = network.section("lan");
                lan.is_some_and(|lan| lan.get("ifname").is_some() || lan.get("type").is_some())
            })
        {
            return Err(tagged());
        }
        let section = "lan_dev".to_owned();
        if config.has("network", &section) {
            return Err(Refusal::Collides(device.to_owned(), section));
        }
        config.section("network", &section, "device");
        config.set("network", &section, "name", "br-lan");
        config.set("network", &section, "type", "bridge");
        config.set("network", &section, "bridge_empty", "1");
        if let Some(own) = own {
            config.list_with("network", &section, "ports", &own);
        }
        config.set("network", "lan", "device", "br-lan");
        Ok(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_called_as_the_kernel_and_programs_take_it() {
        assert!(
            ["eth0", "eth0.10", "lan-1", "_a"]
                .iter()
                .all(|name| is_device(name))
        );
        for name in [
            "",
            "-x",
            "--help",
            ".",
            "..",
            "lo",
            "a/b",
            "a b",
            "0123456789abcdef",
        ] {
            assert!(!is_device(name), "{name}");
        }
    }
}
