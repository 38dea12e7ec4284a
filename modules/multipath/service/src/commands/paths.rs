//! `weir paths`: uplinks that are used as one.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use answers::{Candidate, Exposure, PartnerState, Path, PathUse, Paths, PathsStatus};
use clap::Args;

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Align, Cell, Output, Table, Tone, sanitize, units};

/// Show the uplinks that are used as one, and the traffic of each
#[derive(Args, Debug)]
#[command(after_long_help = "\
SENT and RECEIVED: traffic of clients' TCP connections to the partner and back since weir started; \
/S: rate of the last second. RTT: shortest TCP round trip to the partner, while data moves. AGAIN: \
share of retransmitted data. NOTE: the partner does not answer in the tunnel on this path, with \
the tunnel's traffic since weir started; the path waits until others fail (metered, backup), or is \
never used, as set by [multipath.paths.NAME]; the path pauses for TCP for a while, because it \
slowed the others down; or MPTCP was removed from connections on the way.

Examples:
  weir paths
  weir paths --watch
  weir paths --json | jq '.paths[] | {device, sent, received}'")]
pub struct PathsArgs {
    /// Repeat every second, until interrupted
    #[arg(short, long, conflicts_with = "json")]
    watch: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// Interval of readings.
const SECOND: Duration = Duration::from_secs(1);

pub fn run(args: &PathsArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    let mut told: Paths = client.get("/v1/paths")?;
    if args.format.json {
        return Ok(output.json(&told)?);
    }
    if !args.watch {
        return Ok(print(&told, None, output)?);
    }
    let mut at = Instant::now();
    loop {
        sleep(SECOND);
        let now: Paths = client.get("/v1/paths")?;
        let took = at.elapsed().as_secs_f64();
        at = Instant::now();
        if output.is_terminal() {
            // Moves to the upper left corner, and clears the screen.
            output.raw().write_all(b"\x1b[H\x1b[2J")?;
        }
        print(&now, Some((&told, took)), output)?;
        output.flush()?;
        told = now;
    }
}

/// Prints the paths. `before`: earlier state, and its age in seconds.
fn print(
    told: &Paths,
    before: Option<(&Paths, f64)>,
    output: &mut Output<'_>,
) -> std::io::Result<()> {
    let Some(partner) = &told.partner else {
        return output.line("no partner: set `partner` under [multipath] of the configuration");
    };
    let (word, tone) = match told.state {
        PartnerState::Connected => ("connected", Tone::Good),
        PartnerState::Connecting => ("connecting", Tone::Warn),
        PartnerState::Off => ("multipath does not run: see the log", Tone::Bad),
        PartnerState::Failed => ("not reached", Tone::Bad),
    };
    let word = output.toned(tone, word);
    let version = told.version.as_ref();
    let version = version.map_or_else(String::new, |v| format!(" (weir {})", sanitize(v)));
    let instead = if told.by_standby() {
        ", instead of the first"
    } else {
        ""
    };
    output.line(&format!(
        "partner {}: {word}{version}{instead}",
        sanitize(partner)
    ))?;
    if let Some(problem) = &told.problem {
        output.line(&format!("  {}", sanitize(problem)))?;
    }
    for other in told.partners.iter().filter(|it| it.partner != *partner) {
        candidate(other, output)?;
    }
    if let Some(why) = &told.keyless {
        let word = output.toned(Tone::Warn, "no key of its own");
        output.line(&format!(
            "{word}: any holder of this router's pairing line can connect as this router"
        ))?;
        output.line(&format!("  {}", sanitize(why)))?;
    }
    let all = &told.connections;
    let mut line = format!(
        "connections: {} open, {} since the start",
        units::count(all.open),
        units::count(all.all)
    );
    for (number, what) in [
        (all.direct, "went directly"),
        (all.clear, "not encrypted by weir"),
        (all.refused, "refused"),
    ] {
        if number > 0 {
            line.push_str(&format!(", {} {what}", units::count(number)));
        }
    }
    output.line(&line)?;
    exposed(told, output)?;
    for forward in &told.forwards {
        let (tone, word) = match forward.granted {
            Some(true) => (Tone::Good, ""),
            Some(false) => (
                Tone::Bad,
                ": not granted; run `weir multipath forward` at the partner",
            ),
            None => (Tone::Dim, ": the partner is not reached"),
        };
        let ports = output.toned(tone, &sanitize(&forward.ports));
        output.line(&format!("in by {ports} to {}{word}", sanitize(&forward.to)))?;
    }
    table(told, before, output)?;
    for name in &told.unmatched {
        let name = sanitize(name);
        output.line(&format!(
            "[multipath.paths.{name}] matches no present uplink"
        ))?;
    }
    for twin in &told.twins {
        output.line(&format!(
            "{} has the address {} of {}, and is used if that fails: give one modem another \
                network",
            sanitize(&twin.device),
            twin.address,
            sanitize(&twin.of)
        ))?;
    }
    Ok(())
}

/// Prints a partner that is not used now.
fn candidate(told: &Candidate, output: &mut Output<'_>) -> std::io::Result<()> {
    let (tone, word) = match told.reached {
        Some(true) => (Tone::Good, "ready"),
        Some(false) => (Tone::Bad, "not reached"),
        None => (Tone::Dim, "not tried yet"),
    };
    let word = output.toned(tone, word);
    output.line(&format!("partner {}: {word}", sanitize(&told.partner)))?;
    match &told.problem {
        Some(problem) => output.line(&format!("  {}", sanitize(problem))),
        None => Ok(()),
    }
}

/// Prints traffic that others than the partner may see, and traffic that waits for it.
fn exposed(told: &Paths, output: &mut Output<'_>) -> std::io::Result<()> {
    if told.locked {
        let word = output.toned(Tone::Good, "locked");
        output.line(&format!(
            "{word}: clients' traffic leaves only through the partner"
        ))?;
    }
    if told.stops && told.state != PartnerState::Connected {
        output.line("new connections of clients are refused until the partner is reached")?;
    }
    if told.stops && !told.tunnel {
        output.line("everything except TCP is refused until the tunnel is up")?;
    }
    for exposure in &told.exposed {
        let (tone, how, what) = match exposure {
            Exposure::Tcp => (
                Tone::Warn,
                DIRECTLY,
                "new TCP connections: the partner is not reached",
            ),
            Exposure::TcpIpv6 => (Tone::Warn, DIRECTLY, "IPv6 TCP: the partner has no IPv6"),
            Exposure::Others => (
                Tone::Warn,
                DIRECTLY,
                "everything except TCP: there is no tunnel",
            ),
            Exposure::OthersIpv6 => {
                let what = "IPv6 except TCP: the tunnel has no IPv6";
                (Tone::Warn, DIRECTLY, what)
            }
            Exposure::Chosen => {
                let what = "exceptions of direct, direct_ports and direct_devices";
                (Tone::Dim, DIRECTLY, what)
            }
            Exposure::TlsNames => {
                let what = "server names in TLS (encrypt = \"all\" hides them)";
                (Tone::Dim, READ, what)
            }
            Exposure::Clear => {
                let what = "TCP that clients do not encrypt (encrypt = \"none\")";
                (Tone::Warn, READ, what)
            }
        };
        output.line(&format!("{}: {what}", output.toned(tone, how)))?;
    }
    Ok(())
}

const DIRECTLY: &str = "goes directly";
const READ: &str = "can be read on the way";

/// Returns the note about a path: problems first.
fn note(path: &Path) -> Cell {
    if path.answers == Some(false) {
        let [sent, heard] = [path.tunnel_sent, path.tunnel_received].map(units::bytes);
        let text = format!("no answer in the tunnel: sent {sent}, received {heard}");
        return Cell::toned(text, Tone::Bad);
    }
    if path.fell_back > 0 {
        return Cell::toned(format!("{} without MPTCP", path.fell_back), Tone::Warn);
    }
    if path.strips {
        return Cell::toned("removes MPTCP", Tone::Warn);
    }
    if path.rests {
        return Cell::toned("paused: it slowed the others down", Tone::Warn);
    }
    let word = match path.used {
        PathUse::Always if path.backup => return Cell::toned("in reserve", Tone::Dim),
        PathUse::Always => return Cell::or_dash(None::<String>),
        PathUse::Never => return Cell::toned("never used", Tone::Dim),
        PathUse::Metered => "metered",
        PathUse::Backup => "backup",
    };
    match path.in_use {
        true => Cell::toned(format!("{word}, in use"), Tone::Warn),
        false => Cell::toned(word, Tone::Dim),
    }
}

fn table(
    told: &Paths,
    before: Option<(&Paths, f64)>,
    output: &mut Output<'_>,
) -> std::io::Result<()> {
    let right = |name| (name, Align::Right);
    let mut table = Table::new([
        ("PATH", Align::Left),
        ("ADDRESS", Align::Left),
        right("SUBFLOWS"),
        right("RTT"),
        right("SENT"),
        right("RECEIVED"),
        right("SENT/S"),
        right("RECEIVED/S"),
        right("AGAIN"),
        ("NOTE", Align::Left),
    ]);
    for path in &told.paths {
        let former = before.and_then(|(before, took)| {
            let same = |p: &&Path| p.device == path.device && p.address == path.address;
            before.paths.iter().find(same).map(|path| (path, took))
        });
        let rate = |of: fn(&Path) -> u64| {
            former.map(|(former, took)| {
                let octets = of(path).saturating_sub(of(former));
                units::rate((octets as f64 * 8.0 / took) as u64)
            })
        };
        let again = (path.sent > 0).then(|| {
            units::percent(path.retransmitted as f64 / (path.sent + path.retransmitted) as f64)
        });
        table.row(
            [
                Cell::from(path.device.as_str()),
                Cell::from(path.address.to_string()),
                Cell::from(path.subflows.to_string()),
                Cell::or_dash(
                    path.rtt
                        .map(|us| units::milliseconds(f64::from(us) / 1000.0)),
                ),
                Cell::from(units::bytes(path.sent)),
                Cell::from(units::bytes(path.received)),
                Cell::or_dash(rate(|path| path.sent)),
                Cell::or_dash(rate(|path| path.received)),
                Cell::or_dash(again),
                note(path),
            ],
            output,
        )?;
    }
    table.finish(output)
}

/// Prints the line in `weir status`.
pub fn status(paths: &PathsStatus, output: &mut Output<'_>) -> io::Result<()> {
    let partner = sanitize(&paths.partner);
    let (tone, words) = match (paths.state, paths.redirects) {
        (PartnerState::Connected, true) => (Tone::Good, format!("through {partner}")),
        (PartnerState::Connected, false) => {
            let words = format!("{partner} is reached, but connections follow the routes");
            (Tone::Warn, words)
        }
        (PartnerState::Connecting, _) => (Tone::Warn, format!("connecting to {partner}")),
        (PartnerState::Failed, _) => (Tone::Bad, format!("{partner} is not reached")),
        (PartnerState::Off, _) => (Tone::Bad, "does not run: see the log".to_owned()),
    };
    let uplinks = match paths.uplinks {
        1 => "1 uplink".to_owned(),
        more => format!("{more} uplinks"),
    };
    let standby = if paths.standby { ", a standby" } else { "" };
    let locked = if paths.locked { "; locked" } else { "" };
    let line = format!(
        "{}{standby}; {uplinks}, {} connections open{locked}",
        output.toned(tone, &words),
        units::count(paths.open)
    );
    output.field("multipath", &line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_path_is_told_first() {
        let path = |more: &str| -> Path {
            let text = format!(
                "{{ \"device\": \"wan1\", \"address\": \"10.64.1.2\", \"subflows\": 1, \
                 \"fell_back\": 0, \"backup\": true, \"sent\": 0, \"received\": 0, \
                 \"retransmitted\": 0, \"rests\": true, \"tunnel_sent\": 1500{more} }}"
            );
            serde_json::from_str(&text).expect("a path")
        };
        let [sent, heard] = [1500, 0].map(units::bytes);
        let silent = format!("no answer in the tunnel: sent {sent}, received {heard}");
        let rests = "paused: it slowed the others down";
        for (more, text, tone) in [
            (", \"answers\": false", &*silent, Tone::Bad),
            (", \"answers\": true", rests, Tone::Warn),
            ("", rests, Tone::Warn),
        ] {
            assert_eq!(note(&path(more)), Cell::toned(text, tone), "{more}");
        }
    }

    #[test]
    fn its_status_is_one_line() {
        let said = |state, redirects, uplinks| {
            let paths = PathsStatus {
                partner: "p\u{1b}.example:9349".into(),
                state,
                redirects,
                uplinks,
                open: 12,
                standby: state == PartnerState::Connected && !redirects,
                locked: state == PartnerState::Failed,
            };
            let mut memory = Vec::new();
            status(&paths, &mut Output::to(&mut memory, false)).expect("memory");
            String::from_utf8(memory).expect("text")
        };
        for (state, redirects, uplinks, line) in [
            (
                PartnerState::Connected,
                true,
                2,
                "through p?.example:9349; 2 uplinks, 12 connections open",
            ),
            (
                PartnerState::Connected,
                false,
                1,
                "p?.example:9349 is reached, but connections follow the routes, a standby; \
                    1 uplink, 12 connections open",
            ),
            (
                PartnerState::Failed,
                false,
                2,
                "p?.example:9349 is not reached; 2 uplinks, 12 connections open; locked",
            ),
            (
                PartnerState::Off,
                false,
                0,
                "does not run: see the log; 0 uplinks, 12 connections open",
            ),
        ] {
            let line = format!("{:<12}  {line}\n", "multipath");
            assert_eq!(said(state, redirects, uplinks), line);
        }
    }
}
