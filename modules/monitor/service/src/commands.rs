//! Commands of the monitor: a file each, with arguments and code.

pub mod conversations;
pub mod devices;
pub mod probes;
#[cfg(feature = "top")]
pub mod top;

use std::io;

use answers::Status;

use runtime::output::{Output, units};
use runtime::registry::{Command, Group};

/// Prints the monitor's line of `weir status`.
///
/// # Errors
/// Writing to the output failed.
pub fn status(status: &Status, output: &mut Output<'_>) -> io::Result<()> {
    let Some(monitor) = &status.monitor else {
        return Ok(());
    };
    let mut text = format!(
        "{} conversations, {}; room for {}, {}",
        monitor.conversations,
        units::bytes(monitor.memory),
        monitor.capacity,
        units::bytes(monitor.memory_limit)
    );
    if monitor.overflow.packets > 0 {
        let more = units::count(monitor.overflow.packets);
        text += &format!("; {more} packets without a record count only in the ports' sums");
    }
    output.field("remembered", &text)
}

/// Returns all commands.
pub fn all() -> Vec<Command> {
    vec![
        Command::printing(Group::See, "devices", devices::run),
        Command::printing(Group::See, "conversations", conversations::run),
        #[cfg(feature = "top")]
        Command::new(Group::See, "top", |args, _| top::run(args)),
        Command::printing(Group::Diagnose, "probes", probes::run),
    ]
}
