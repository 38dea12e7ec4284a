//! Use of each port, and its changes: between LAN, uplink and mesh. All other configuration stays
//! as it is.

mod lan;
mod lime;
mod marks;
mod mesh;
mod request;
mod roles;
mod uplink;

use super::batman::unwire;
use super::{Config, Facts};
use lan::{enter_lan, leave_lan};
use lime::lime;
use marks::{mark, note};
use mesh::mesh;
use request::wrong;
pub use request::{DetectedUplink, PortRequest, Refusal, UplinkProtocol};
pub(super) use roles::{Holder, holders, safe};
pub use roles::{PortAssignment, PortRole, is_lime, uses};
use uplink::{leave_wan, uplink};

/// Changes the use of ports, one wish after the other. `config` is the present configuration.
///
/// # Errors
/// Refusals of the wishes. Nothing may be done then.
pub fn change(
    wishes: &[PortRequest],
    config: &Config,
    facts: &Facts,
) -> Result<Config, Vec<Refusal>> {
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
    let mut changed = config.clone();
    for wish in wishes {
        let done = match is_lime(config) {
            true => lime(wish, &mut changed),
            false => make(wish, &mut changed, facts),
        };
        refusals.extend(done.err());
    }
    let failed = changed.failed();
    refusals.extend(failed.map(|why| Refusal::Wizard("network".to_owned(), why.to_owned())));
    match refusals.is_empty() {
        true => Ok(changed),
        false => Err(refusals),
    }
}

/// Applies a wish for a port.
fn make(wish: &PortRequest, config: &mut Config, facts: &Facts) -> Result<(), Refusal> {
    let device = &wish.device;
    if roles::bases(config, device) != [device.as_str()] {
        return Err(Refusal::Tagged(device.clone()));
    }
    let known = holders(config, device);
    if let Some(Holder::Other(name, _)) = known.iter().find(|one| matches!(one, Holder::Other(..)))
    {
        return Err(Refusal::Held(device.clone(), name.clone()));
    }
    let mark = mark(config, device)?;
    let before = config.clone();
    let place = match wish.used {
        PortRole::Lan => {
            let place = leave(config, facts, device, &[PortRole::Uplink, PortRole::Mesh])?;
            enter_lan(config, facts, device, &mark)?;
            place
        }
        PortRole::Uplink => {
            let place = leave(config, facts, device, &[PortRole::Lan, PortRole::Mesh])?;
            uplink(wish, config, facts)?;
            place
        }
        PortRole::Mesh => {
            let place = leave(config, facts, device, &[PortRole::Lan, PortRole::Uplink])?;
            mesh(wish, config, facts)?;
            place
        }
        PortRole::None => leave(
            config,
            facts,
            device,
            &[PortRole::Lan, PortRole::Uplink, PortRole::Mesh],
        )?,
    };
    let same = before.package("network").map(uci::Package::text)
        == config.package("network").map(uci::Package::text);
    if !same {
        note(config, device, wish.used, place);
    }
    Ok(())
}

/// Takes a port out of these uses. Returns its place among the LAN's ports, if it was one.
fn leave(
    config: &mut Config,
    facts: &Facts,
    device: &str,
    uses: &[PortRole],
) -> Result<Option<usize>, Refusal> {
    let mut place = None;
    for holder in holders(config, device) {
        match holder {
            Holder::Lan if uses.contains(&PortRole::Lan) => {
                place = leave_lan(config, facts, device)?
            }
            Holder::Wan if uses.contains(&PortRole::Uplink) => leave_wan(config, device)?,
            Holder::Mesh if uses.contains(&PortRole::Mesh) => unwire(config, device),
            _ => {}
        }
    }
    Ok(place)
}
