//! Prints the report of `weir radio peers`.

use std::io;

use answers::{RadioPeer, RadioPeers};

use runtime::output::{Align, Cell, Output, Table, Tone, sanitize};

/// Returns the state of a peer, and why it waits.
fn state(peer: &RadioPeer) -> String {
    match &peer.waits {
        Some(why) => format!("{} ({why})", peer.state),
        None => peer.state.clone(),
    }
}

/// Prints the report on peers.
///
/// # Errors
/// The output is closed.
pub fn print(told: &RadioPeers, output: &mut Output<'_>) -> io::Result<()> {
    if told.device.is_empty() {
        return output.line(
            "no access point has peers: set `device` under [radio.peering] of the configuration",
        );
    }
    let mut table = Table::new([
        ("ADDRESS", Align::Left),
        ("INTERFACE", Align::Left),
        ("STATE", Align::Left),
        ("KEY", Align::Left),
        ("SIGNAL", Align::Right),
        ("MBIT/S", Align::Right),
    ]);
    for peer in &told.peers {
        let tone = match &*peer.state {
            "alive" => Tone::Good,
            "installed" | "handshake" => Tone::Warn,
            _ => Tone::Dim,
        };
        let row = [
            Cell::from(peer.address.as_str()),
            Cell::from(peer.interface.as_str()),
            Cell::toned(state(peer), tone),
            match (peer.encrypted, peer.clear) {
                (true, _) => Cell::from("yes"),
                (false, true) => Cell::toned("NONE: insecure", Tone::Bad),
                _ => Cell::from("-"),
            },
            Cell::or_dash(peer.signal.map(|dbm| dbm.to_string()).as_ref()),
            Cell::or_dash(peer.expected_mbit.map(|rate| format!("{rate:.1}")).as_ref()),
        ];
        table.row(row, output)?;
    }
    table.finish(output)?;
    for notice in &told.notices {
        output.line(&output.toned(Tone::Warn, &sanitize(notice)))?;
    }
    Ok(())
}
