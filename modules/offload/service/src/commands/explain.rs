//! `weir explain`: why a connection is where it is.

use std::io;

use answers::offload::expression::EXPRESSION_HINT;
use answers::{Explanation, FlowQuery};
use api::with_query;
use clap::Args;

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Output, Tone, sanitize};

/// Explain why weir forwards a connection, or why it does not
///
/// Three sources must agree before weir forwards a packet: the packet was received, conntrack knows
/// the connection, and the kernel was seen to send such a packet.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir explain 192.168.1.2:40000 1.1.1.1:443
  weir explain 'tcp 192.168.1.2:40000 > 1.1.1.1:443'
  weir explain udp '[2001:db8::2]:5000' '[2001:db8::1]:53'
  weir explain 1f00c2aa00000007               an id, from `weir flows`")]
pub struct ExplainArgs {
    /// [tcp|udp] SOURCE:PORT [>] DESTINATION:PORT, or an id from `weir flows`; of either direction,
    /// before or after NAT
    #[arg(required = true, value_name = "FLOW")]
    flow: Vec<String>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &ExplainArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let query: FlowQuery =
        args.flow
            .join(" ")
            .parse()
            .map_err(|error: answers::ExpressionError| {
                Error::usage(error.to_string(), EXPRESSION_HINT)
            })?;
    let path = with_query("/v1/explain", &query);
    let explanation: Explanation = client(&args.connection)?.get(&path)?;
    if args.format.json {
        output.json(&explanation)?
    } else {
        print(&explanation, output)?
    }
    Ok(())
}

fn print(explanation: &Explanation, output: &mut Output<'_>) -> io::Result<()> {
    output.line(&output.toned(Tone::Bold, &sanitize(&explanation.asked)))?;
    output.line(&sanitize(&explanation.verdict))?;
    if !explanation.witnesses.is_empty() {
        output.line("")?;
    }
    for witness in &explanation.witnesses {
        let mark = if witness.ok {
            output.toned(Tone::Good, "yes")
        } else {
            output.toned(Tone::Bad, "no ")
        };
        output.line(&format!(
            "  {mark}  {:<6}  {}",
            witness.name,
            sanitize(&witness.text)
        ))?;
    }
    if !explanation.change.is_empty() {
        output.line("\nTo change this:")?;
    }
    for change in &explanation.change {
        output.line(&format!("  - {}", sanitize(change)))?;
    }
    Ok(())
}
