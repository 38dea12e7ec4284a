//! Filter of the lists.

use answers::{Conversation, Device};

use crate::commands::conversations::{protocol, remote, socket, station};
use crate::commands::devices::display_name;
use runtime::output::sanitize;

/// Returns true if the name, an address or the port contains this text, in any case.
pub(super) fn device(device: &Device, wanted: &str) -> bool {
    let own = [display_name(device), &device.mac, &device.port];
    let addresses = device.addresses.iter().map(String::as_str);
    wanted.is_empty() || contains(own.into_iter().chain(addresses), wanted)
}

/// Returns true if an end, the device, protocol, application or uplink contains the text.
pub(super) fn conversation(conversation: &Conversation, wanted: &str) -> bool {
    if wanted.is_empty() {
        return true;
    }
    let ends = [
        remote(conversation, usize::MAX),
        socket(&conversation.remote, conversation.remote_port),
        socket(&conversation.station, conversation.station_port),
        protocol(conversation),
    ];
    let words = [&conversation.application, &conversation.uplink]
        .into_iter()
        .flatten();
    let own = [station(conversation), &conversation.mac];
    let texts = ends.iter().chain(words).map(String::as_str);
    contains(own.into_iter().chain(texts), wanted)
}

/// Compares texts as displayed: a match must be visible.
fn contains<'a>(mut texts: impl Iterator<Item = &'a str>, wanted: &str) -> bool {
    let wanted = wanted.to_lowercase();
    texts.any(|text| sanitize(text).to_lowercase().contains(&wanted))
}
