//! `weir cables`.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use answers::{Cable, CableRole, Cables};
use api::{Client, Method};
use clap::{Args, Subcommand};

use crate::Error;
use crate::command::{Connection, Format, client};
use crate::output::{Align, Cell, Output, Table, Tone, WIDTH, harmless, wrap};

/// Show what is at the other end of each cable, and what its port is for
///
/// Where mode = "suggest" stands under [cables] in the configuration, weir listens at each port from
/// when a cable is plugged in, and asks once where silence leaves a doubt. It changes nothing.
#[derive(Args, Debug)]
#[command(
    mut_arg("socket", |socket| socket.global(true)),
    mut_arg("json", |json| json.global(true)),
    after_long_help = "\
ROLE is what the port is for: uplink (the way to the Internet), mesh (another node that proved to be
of this mesh), radio (a radio used as a wire), client, border (another network's mesh), switch, loop
(the cable comes back to this router), or unknown. SURE is of 100. NOW is what the port is used for
at present.
Examples:
  weir cables
  weir cables --long
  weir cables --json | jq '.cables[] | {device, role, why}'
  weir cables set eth1 client
  weir cables auto eth1"
)]
pub struct CablesArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// Why, what was heard, and what would change it, too
    #[arg(short, long, conflicts_with = "json")]
    long: bool,
    /// Again each second, until stopped
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
}

/// Say what a port is for: that holds, whatever is heard
#[derive(Args, Debug)]
struct SetArgs {
    /// The port
    #[arg(value_name = "DEVICE")]
    device: String,
    /// What it is for
    #[arg(value_name = "ROLE", value_parser = ["uplink", "mesh", "radio", "client", "border", "switch"])]
    role: String,
}

/// Let weir find out what a port is for
#[derive(Args, Debug)]
struct AutoArgs {
    /// The port
    #[arg(value_name = "DEVICE")]
    device: String,
}

/// Between two looks.
const SECOND: Duration = Duration::from_secs(1);

/// Does what was asked for.
///
/// # Errors
/// The daemon does not answer, or refuses.
pub fn run(args: &CablesArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let Some(what) = &args.what else {
        return show(args, output);
    };
    if args.long || args.watch {
        let what = "--long and --watch are for all ports, not for a change of one";
        return Err(Error::new(what, "leave them out"));
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
    };
    match args.format.json {
        true => Ok(output.json(&cable)?),
        false => Ok(one(&cable, output)?),
    }
}

fn path(device: &str, what: &str) -> Result<String, Error> {
    let plain = |c: char| c.is_ascii_graphic() && !"/?#%".contains(c);
    if device.is_empty() || !device.chars().all(plain) {
        let what = format!("no port is called {}", harmless(device));
        return Err(Error::new(what, "`weir cables` has all of them"));
    }
    Ok(format!("/v1/cables/{device}/{what}"))
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
            // To the upper left corner, and nothing below.
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
            "ports are not looked at: mode = \"suggest\" under [cables] of the configuration has it",
        );
    }
    if told.cables.is_empty() {
        return output
            .line("there is no port: `ports` under [cables] of the configuration names some");
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
            Cell::from(cable.now.as_str()),
            Cell::or_dash(cable.held_by.as_ref()),
            Cell::from(cable.why.as_str()),
        ];
        table.row(row, output)?;
    }
    table.finish(output)?;
    for cable in &told.cables {
        for notice in &cable.notices {
            let line = format!("{}: {}", harmless(&cable.device), harmless(notice));
            output.line(&output.toned(Tone::Warn, &line))?;
        }
    }
    Ok(())
}

/// What a port is for, in one word.
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

/// A port with all that is known of it.
fn one(cable: &Cable, output: &mut Output<'_>) -> io::Result<()> {
    let role = match (cable.link, cable.decided) {
        (false, _) => "no link".to_owned(),
        (true, None) if cable.held_by.is_none() => "listening".to_owned(),
        _ => format!("{}, {} of 100", cable.role, cable.confidence),
    };
    output.line(&format!("{}: {}", harmless(&cable.device), harmless(&role)))?;
    for (name, text) in [
        ("why", &cable.why),
        ("changed by", &cable.would_change),
        ("now", &cable.now),
        ("held by", cable.held_by.as_ref().unwrap_or(&String::new())),
    ] {
        if !text.is_empty() {
            output.field(name, text)?;
        }
    }
    for heard in &cable.evidence {
        let seconds = heard.after as f64 / 1000.0;
        let line = format!("{seconds:6.2} s  {}", harmless(&heard.text));
        for line in wrap(&line, WIDTH - 2) {
            output.line(&format!("  {line}"))?;
        }
    }
    for notice in &cable.notices {
        output.line(&output.toned(Tone::Warn, &harmless(notice)))?;
    }
    Ok(())
}
