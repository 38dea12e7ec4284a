//! `weir cables`.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use answers::{Cable, CableEvent, CableEvents, CableEventsQuery, CableRole, Cables};
use api::query::with_query;
use api::{Client, Method};
use clap::{Args, Subcommand};
use net::clock::unix_seconds;

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::units::duration;
use runtime::output::{Align, Cell, Output, Table, Tone, WIDTH, sanitize, wrap};

/// Show the far end of each cable, and the purpose of its port
///
/// With mode = "suggest" under [cables] in the configuration, weir listens on each port from the
/// moment a cable is plugged in, and probes once if silence leaves a doubt. It changes nothing.
/// With "auto", a port passes no traffic until its role is known, and weir moves the port between
/// LAN, uplink and mesh.
#[derive(Args, Debug)]
#[command(
    mut_arg("socket", |socket| socket.global(true)),
    mut_arg("json", |json| json.global(true)),
    after_long_help = "\
ROLE: purpose of the port: uplink (leads to the Internet), mesh (a node that proved to belong to \
this mesh), radio (a radio used as a wire), client, border (another network's mesh), switch, loop \
(the cable returns to this router), or unknown. SURE: confidence, 0 to 100. NOW: current use of \
the port: lan, uplink, mesh or none; shut: no traffic passes, because the role is not known yet or \
the port is a loop.

Examples:
  weir cables
  weir cables --long
  weir cables --json | jq '.cables[] | {device, role, why}'
  weir cables set eth1 client
  weir cables auto eth1
  weir cables events --watch --json"
)]
pub struct CablesArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// Also show the reasons, the evidence, and what would change the role
    #[arg(short, long, conflicts_with = "json")]
    long: bool,
    /// Repeat every second, until interrupted
    #[arg(short, long, conflicts_with = "json")]
    watch: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum What {
    Set(SetArgs),
    Auto(AutoArgs),
    Events(EventsArgs),
}

/// Set the role of a port; evidence no longer changes it
#[derive(Args, Debug)]
struct SetArgs {
    /// Device of the port
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Role of the port
    #[arg(value_name = "ROLE", value_parser = ["uplink", "mesh", "radio", "client", "border", "switch"])]
    role: String,
}

/// Let weir determine the role of a port
#[derive(Args, Debug)]
struct AutoArgs {
    /// The port
    #[arg(value_name = "DEVICE")]
    device: String,
}

/// Show events at ports
///
/// Prints the last 256 events, numbered from 1 since weir started. With --watch and --json, each
/// event is one line.
#[derive(Args, Debug)]
struct EventsArgs {
    /// Only events with greater numbers
    #[arg(short, long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// Also print new events, until interrupted
    #[arg(short, long)]
    watch: bool,
}

/// Interval of readings.
const SECOND: Duration = Duration::from_secs(1);

/// Runs the command.
///
/// # Errors
/// The daemon does not answer, or refuses.
pub fn run(args: &CablesArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let Some(what) = &args.what else {
        return show(args, output);
    };
    if args.long || args.watch {
        let what = "--long and --watch are for all ports, not for a change of one";
        return Err(Error::new(what, "omit them"));
    }
    let client = client(&args.connection)?;
    let cable: Cable = match what {
        What::Set(set) => {
            let role = CableRole {
                role: set.role.clone(),
            };
            client.send(Method::POST, &path(&set.device, "set")?, &role)?
        }
        What::Auto(auto) => client.post(&path(&auto.device, "auto")?)?,
        What::Events(events) => return happened(events, &client, args.format.json, output),
    };
    match args.format.json {
        true => Ok(output.json(&cable)?),
        false => Ok(one(&cable, output)?),
    }
}

fn path(device: &str, what: &str) -> Result<String, Error> {
    let plain = |c: char| c.is_ascii_graphic() && !"/?#%".contains(c);
    if device.is_empty() || !device.chars().all(plain) {
        let what = format!("no port is called {}", sanitize(device));
        return Err(Error::new(what, "`weir cables` lists all ports"));
    }
    Ok(format!("/v1/cables/{device}/{what}"))
}

fn happened(
    args: &EventsArgs,
    client: &Client,
    json: bool,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let mut after = args.after;
    loop {
        let path = with_query("/v1/cables/events", &CableEventsQuery { after });
        let told: CableEvents = client.get(&path)?;
        if json && !args.watch {
            return Ok(output.json(&told)?);
        }
        for event in &told.events {
            let line = match json {
                true => cli::text::json(&serde_json::to_string(event).unwrap_or_default()),
                false => said(event),
            };
            output.line(&line)?;
        }
        if !args.watch {
            return Ok(());
        }
        // Numbers restart with weir.
        after = told.last;
        output.flush()?;
        sleep(SECOND);
    }
}

/// Formats an event as a line.
fn said(event: &CableEvent) -> String {
    let ago = duration(unix_seconds().saturating_sub(event.when));
    let (device, kind) = (sanitize(&event.device), sanitize(&event.kind));
    let text = sanitize(&event.text);
    format!(
        "{:>4}  {ago} ago  {device}  {kind} {}: {text}",
        event.number,
        sanitize(&event.value)
    )
}

fn show(args: &CablesArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    let ask = |client: &Client| client.get::<Cables>("/v1/cables");
    if args.format.json {
        return Ok(output.json(&ask(&client)?)?);
    }
    loop {
        let told = ask(&client)?;
        if args.watch && output.is_terminal() {
            // Moves to the upper left corner, and clears the screen.
            output.raw().write_all(b"\x1b[H\x1b[2J")?;
        }
        print(&told, args.long, output)?;
        if !args.watch {
            return Ok(());
        }
        output.flush()?;
        sleep(SECOND);
    }
}

fn print(told: &Cables, long: bool, output: &mut Output<'_>) -> io::Result<()> {
    if told.mode == "off" {
        return output.line(
            "ports are not examined: set mode = \"suggest\" under [cables] of the configuration",
        );
    }
    if told.cables.is_empty() {
        return output.line("no ports: set `ports` under [cables] of the configuration");
    }
    if long {
        for (number, cable) in told.cables.iter().enumerate() {
            if number > 0 {
                output.line("")?;
            }
            one(cable, output)?;
        }
        return Ok(());
    }
    let mut table = Table::new([
        ("PORT", Align::Left),
        ("ROLE", Align::Left),
        ("SURE", Align::Right),
        ("NOW", Align::Left),
        ("HELD BY", Align::Left),
        ("WHY", Align::Left),
    ]);
    for cable in &told.cables {
        let row = [
            Cell::from(cable.device.as_str()),
            role(cable),
            Cell::from(cable.confidence.to_string()),
            now(cable),
            Cell::or_dash(cable.held_by.as_ref()),
            Cell::from(cable.why.as_str()),
        ];
        table.row(row, output)?;
    }
    table.finish(output)?;
    for cable in &told.cables {
        for notice in &cable.notices {
            let line = format!("{}: {}", sanitize(&cable.device), sanitize(notice));
            output.line(&output.toned(Tone::Warn, &line))?;
        }
    }
    Ok(())
}

/// Returns the use of a port, in one word.
fn now(cable: &Cable) -> Cell {
    match cable.shut {
        true => Cell::toned("shut", Tone::Warn),
        false => Cell::from(cable.now.as_str()),
    }
}

/// Returns the role of a port, in one word.
fn role(cable: &Cable) -> Cell {
    if cable.held_by.is_none() && !cable.link {
        return Cell::toned("no link", Tone::Dim);
    }
    if cable.decided.is_none() && cable.held_by.is_none() {
        return Cell::toned("listening", Tone::Dim);
    }
    let tone = match &*cable.role {
        "loop" => Tone::Bad,
        "border" => Tone::Warn,
        "unknown" => Tone::Dim,
        _ => Tone::Good,
    };
    Cell::toned(&cable.role, tone)
}

/// Prints all details of a port.
fn one(cable: &Cable, output: &mut Output<'_>) -> io::Result<()> {
    let role = match (cable.link, cable.decided) {
        (false, _) => "no link".to_owned(),
        (true, None) if cable.held_by.is_none() => "listening".to_owned(),
        _ => format!("{}, {} of 100", cable.role, cable.confidence),
    };
    output.line(&format!("{}: {}", sanitize(&cable.device), sanitize(&role)))?;
    let (shut, none) = ("no traffic passes, in or out".to_owned(), String::new());
    for (name, text) in [
        ("why", &cable.why),
        ("changed by", &cable.change_condition),
        ("now", &cable.now),
        ("shut", if cable.shut { &shut } else { &none }),
        ("moving", cable.moving.as_ref().unwrap_or(&none)),
        ("held by", cable.held_by.as_ref().unwrap_or(&none)),
    ] {
        if !text.is_empty() {
            output.field(name, text)?;
        }
    }
    for heard in &cable.evidence {
        let seconds = heard.after as f64 / 1000.0;
        let line = format!("{seconds:6.2} s  {}", sanitize(&heard.text));
        for line in wrap(&line, WIDTH - 2) {
            output.line(&format!("  {line}"))?;
        }
    }
    // The reason for a move is printed above.
    let notices = cable.notices.iter();
    for notice in notices.filter(|notice| Some(*notice) != cable.moving.as_ref()) {
        output.line(&output.toned(Tone::Warn, &sanitize(notice)))?;
    }
    Ok(())
}
