//! `weir top`: who uses the network, live.

use std::io::IsTerminal;

use clap::Args;

use crate::top as screen;
use runtime::Error;
use runtime::command::{Connection, socket};
use runtime::output::CharsetArg;

/// Watch devices and their traffic, live
#[derive(Args, Debug)]
#[command(after_long_help = "\
Shows devices with their current traffic and that of the last minute; Enter opens their \
conversations. Asks the daemon once a second, and continues after a restart of the daemon.

  arrows, j, k     choose a row
  Enter, Esc       open, and go back
  /                show only rows that contain a text
  s, 1 to 8        sort by the next column, or by column 1 to 8; r: reverse
  c, u             show all conversations; show uplinks too
  p, ?, q          pause, help, quit

Colour is not used if NO_COLOR is set, and never is the only sign of anything. For scripts, use \
`weir devices --json` and `weir conversations --json`.")]
pub struct TopArgs {
    #[command(flatten)]
    charset: CharsetArg,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: &TopArgs) -> Result<(), Error> {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    if dumb || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let what = "`weir top` needs an interactive terminal";
        return Err(Error::new(
            what,
            "use `weir devices` and `weir conversations`, with --json for scripts",
        ));
    }
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let socket = socket(&args.connection);
    screen::run(socket, args.charset.charset(), colour).map_err(|error| {
        let hint = "check whether the terminal still exists";
        Error::with_cause("cannot draw on the terminal", &error, hint)
    })
}
