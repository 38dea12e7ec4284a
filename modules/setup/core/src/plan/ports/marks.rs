//! Marks of the port uses that weir configured.

use super::request::Refusal;
use super::roles::{MARK, PortRole, safe};
use crate::plan::{Config, text};

/// Returns the section that records weir's use of a port.
pub fn mark(config: &Config, device: &str) -> Result<String, Refusal> {
    let mark = format!("cable_{}", safe(device));
    is_free(config, device, &mark, |known| {
        known.kind == MARK && text(known, "device").as_deref() == Some(device)
    })?;
    Ok(mark)
}

/// Records the use that weir gave a port, and the port's position in the LAN.
pub fn note(config: &mut Config, device: &str, used: PortRole, place: Option<usize>) {
    let mark = format!("cable_{}", safe(device));
    config.section("network", &mark, MARK);
    config.set("network", &mark, "device", device);
    config.set("network", &mark, "used", used.word());
    match place {
        Some(place) => config.set("network", &mark, "place", &place.to_string()),
        None if used == PortRole::Lan => config.unset("network", &mark, "place"),
        None => {}
    }
}

/// Refuses a name that is already in use.
pub fn is_free(
    config: &Config,
    device: &str,
    section: &str,
    is_ours: impl Fn(&uci::Section) -> bool,
) -> Result<(), Refusal> {
    let network = config.package("network");
    match network.and_then(|network| network.section(section)) {
        Some(known) if !is_ours(known) => {
            Err(Refusal::Collides(device.to_owned(), section.to_owned()))
        }
        _ => Ok(()),
    }
}
