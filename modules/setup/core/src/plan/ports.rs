//! Use of each port, and its changes: between LAN, uplink and mesh. All other configuration stays
//! as it is.

mod lan;
mod lime;
mod marks;
mod mesh;
mod uplink;
mod uses;
mod wish;

use super::batman::unwire;
use super::{Config, Facts};
use lan::{enter_lan, leave_lan};
use lime::lime;
use marks::{mark, note};
use mesh::mesh;
use uplink::{leave_wan, uplink};
pub(super) use uses::{Holder, holders, safe};
pub use uses::{PortUse, Used, is_lime, uses};
use wish::wrong;
pub use wish::{Found, Kind, Refusal, Wish};

/// Changes the use of ports, one wish after the other. `config` is the present configuration.
///
/// # Errors
/// Refusals of the wishes. Nothing may be done then.
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
fn make(wish: &Wish, config: &mut Config, facts: &Facts) -> Result<(), Refusal> {
    let device = &wish.device;
    if uses::bases(config, device) != [device.as_str()] {
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
        Used::Lan => {
            let place = leave(config, facts, device, &[Used::Uplink, Used::Mesh])?;
            enter_lan(config, facts, device, &mark)?;
            place
        }
        Used::Uplink => {
            let place = leave(config, facts, device, &[Used::Lan, Used::Mesh])?;
            uplink(wish, config, facts)?;
            place
        }
        Used::Mesh => {
            let place = leave(config, facts, device, &[Used::Lan, Used::Uplink])?;
            mesh(wish, config, facts)?;
            place
        }
        Used::None => leave(
            config,
            facts,
            device,
            &[Used::Lan, Used::Uplink, Used::Mesh],
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
    uses: &[Used],
) -> Result<Option<usize>, Refusal> {
    let mut place = None;
    for holder in holders(config, device) {
        match holder {
            Holder::Lan if uses.contains(&Used::Lan) => place = leave_lan(config, facts, device)?,
            Holder::Wan if uses.contains(&Used::Uplink) => leave_wan(config, device)?,
            Holder::Mesh if uses.contains(&Used::Mesh) => unwire(config, device),
            _ => {}
        }
    }
    Ok(place)
}
