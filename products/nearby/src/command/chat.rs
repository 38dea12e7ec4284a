//! `weir-nearby chat`: a chat with the peers nearby.

use std::io::{IsTerminal, Write};
use std::path::Path;

use api::Client;
use clap::Args;

use super::failure::Failure;
use crate::chat::{self, Outcome, TerminalStyle};
use crate::daemon::Peers;

/// Chat with peers nearby, in the terminal
///
/// Shows messages at the top, below them the peers nearby with their signal, and at the end a
/// line to type. `/help` lists the commands. All messages are readable by everyone.
///
/// Without a terminal, each line of standard input is sent to all peers nearby, and each message
/// is a line of standard output.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Exit codes: 0 done, 1 failed or a line was not sent.

Examples:
  weir-nearby chat
  uptime | weir-nearby chat
  weir-nearby chat | tee said.txt")]
pub(super) struct Arguments {}

pub(super) fn run(socket: &Path, output: &mut impl Write) -> Result<(), Failure> {
    // A missing daemon is reported at once, with a hint.
    let _: Peers = Client::new(socket)?.get("/v1/peers")?;
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(chat::run(socket, look(|name| std::env::var(name).ok()))?);
    }
    match chat::plain(socket, output)? {
        Outcome::Well => Ok(()),
        Outcome::NotAllSaid => Err(Failure(
            "some lines were not sent".to_owned(),
            "see above for these lines, and send them again".to_owned(),
        )),
    }
}

/// Reads the environment: `NO_COLOR` (no-color.org), and the first locale variable set of three
/// (POSIX, 8.2). The Linux console has UTF-8, but few signs in its font.
fn look(variable: impl Fn(&str) -> Option<String>) -> TerminalStyle {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let term = set("TERM").unwrap_or_default();
    let colour = set("NO_COLOR").is_none() && term != "dumb";
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| set(name));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    let is_utf8 = locale.contains("utf-8") || locale.contains("utf8");
    TerminalStyle {
        colour,
        signs: is_utf8 && colour && term != "linux",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_for_those_who_see_them() {
        let look = |all: &[(&str, &str)]| {
            let look = look(|name| {
                let found = all.iter().find(|(it, _)| *it == name);
                found.map(|(_, value)| (*value).to_owned())
            });
            (look.colour, look.signs)
        };
        assert_eq!(
            look(&[("LANG", "de_DE.UTF-8"), ("TERM", "xterm")]),
            (true, true)
        );
        assert_eq!(
            look(&[("LANG", "C.utf8"), ("NO_COLOR", "1")]),
            (false, false)
        );
        assert_eq!(look(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]), (true, false));
        assert_eq!(
            look(&[("LANG", "C.UTF-8"), ("TERM", "linux")]),
            (true, false)
        );
        assert_eq!(look(&[("TERM", "dumb")]), (false, false));
    }
}
