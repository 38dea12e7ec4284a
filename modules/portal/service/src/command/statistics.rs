//! `weir portal figures`: the number of guests per day.

use answers::PortalFigures;
use clap::Args;

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Align, Output, Table, units};

/// Show guests per day, with their time and traffic
///
/// Days are in the router's time zone. The identities of devices are deleted at the end of each
/// day.
#[derive(Args, Debug)]
pub struct FiguresArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &FiguresArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let figures: PortalFigures = client(&args.connection)?.get("/v1/portal/figures")?;
    if args.format.json {
        return Ok(output.json(&figures)?);
    }
    if figures.days.is_empty() {
        return Ok(output.line("No days yet: the router's clock is not set.")?);
    }
    let mut table = Table::new([
        ("DAY", Align::Left),
        ("GUESTS", Align::Right),
        ("LOG-INS", Align::Right),
        ("ON-LINE", Align::Right),
        ("BYTES", Align::Right),
        ("SOLD", Align::Right),
    ]);
    for day in &figures.days {
        table.row(
            [
                day.day.as_str().into(),
                day.guests.to_string().as_str().into(),
                day.log_ins.to_string().as_str().into(),
                units::duration(day.seconds).as_str().into(),
                units::bytes(day.bytes).as_str().into(),
                day.sold.to_string().as_str().into(),
            ],
            output,
        )?;
    }
    Ok(table.finish(output)?)
}
