//! `weir top`: who uses the network, live.

use std::io::IsTerminal;

use clap::Args;

use crate::top as screen;
use runtime::Error;
use runtime::command::{Connection, socket};
use runtime::output::CharsetArg;

/// Watch who uses the network, live
#[derive(Args, Debug)]
#[command(after_long_help = "\
Shows devices, what they send and receive now and did in the last minute, and, by Enter, their \
conversations. Asks the daemon once a second, and goes on when it was restarted.

  arrows, j, k     choose a row
  Enter, Esc       go in, and back
  /                only rows that contain a text
  s, 1 to 8        sort by the next column, or by this one; r: reverse
  c, u             all conversations; uplinks too
  p, ?, q          pause, help, quit

Colour is not used where NO_COLOR is set, and says nothing that is not said by words too. \
Scripts are better served by `weir devices --json` and `weir talks --json`.")]
pub struct TopArgs {
    #[command(flatten)]
    charset: CharsetArg,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: &TopArgs) -> Result<(), Error> {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    if dumb || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let what = "`weir top` needs a terminal that can be drawn on";
        return Err(Error::new(
            what,
            "use `weir devices` and `weir talks`, with --json for scripts",
        ));
    }
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let socket = socket(&args.connection);
    screen::run(socket, args.charset.charset(), colour).map_err(|error| {
        let hint = "see whether the terminal is still there";
        Error::because("the terminal cannot be drawn on", &error, hint)
    })
}
