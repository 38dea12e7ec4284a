//! `weir bench receive`: counts the packets of `weir bench send` on the other side of a router.

use std::io::Write;
use std::net::{Ipv6Addr, SocketAddr};

use bench::remote::PORT;
use bench::remote::receiver::{Event, Receiver};
use bench::remote::report::thousands;
use bench::remote::session::SessionEnd;
use bench::remote::target::own_addresses;
use clap::Args;

use super::shared::wire_trouble;
use runtime::Error;
use runtime::output::Output;

/// Count packets from `weir bench send` on the far side of a router
///
/// Prints a one-time code and serves senders that know the code, one after another, until Ctrl-C.
/// Needs no root; as root, or with a larger net.core.rmem_max, the sockets buffer more and the
/// receiver counts faster.
#[derive(Args, Debug)]
#[command(after_long_help = "\
The receiver listens on all addresses, so that other machines reach it: on TCP, and on UDP at the \
same port while a sender measures. A sender without the right code is refused; its packets are \
neither counted nor answered.
The code itself is never sent. Nothing else is secret.

Examples:
  weir bench receive
  weir bench receive --once --listen 192.0.2.7:9467")]
pub struct ReceiveArgs {
    /// Address to listen on [default: all addresses, port 9467]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Exit when the first sender is done
    #[arg(long)]
    once: bool,
}

pub(super) fn run(args: &ReceiveArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let receiver = match args.listen {
        Some(address) => Receiver::listen(address),
        // Falls back to IPv4 on a machine without IPv6.
        None => Receiver::listen((Ipv6Addr::UNSPECIFIED, PORT).into())
            .or_else(|_| Receiver::listen(([0, 0, 0, 0], PORT).into())),
    };
    let receiver = receiver.map_err(wire_trouble)?;
    let bound = receiver.address();
    let port = bound.map_or(PORT, |bound| bound.port());
    let addresses = match bound.map(|bound| bound.ip()) {
        Some(ip) if !ip.is_unspecified() => vec![ip],
        _ => own_addresses(),
    };
    for ip in addresses {
        output.field("address", &SocketAddr::from((ip, port)).to_string())?;
    }
    output.field("code", &receiver.code().to_string())?;
    output.line("")?;
    output.line(
        "On the other side of the router, run: weir bench send ADDRESS. Press Ctrl-C to stop.",
    )?;
    output.flush()?;
    bench::end_gently();
    receiver
        .run(args.once, &tell, &bench::asked_to_end)
        .map_err(wire_trouble)
}

/// Reports an event on standard error. The receiver continues if standard error fails.
fn tell(event: Event) {
    let text = match event {
        Event::Began(from) => format!("{from}: measures"),
        Event::Trial(from, counted) => {
            let dropped = counted.socket_dropped + counted.device_dropped;
            let dropped = match dropped {
                0 => String::new(),
                _ => format!("; {} dropped by this machine", thousands(dropped as f64)),
            };
            format!(
                "{from}: {} packets{dropped}",
                thousands(counted.packets as f64)
            )
        }
        Event::Ended(from, how) => {
            let how = match how {
                SessionEnd::Done => "is done",
                SessionEnd::WrongCode => "refused: wrong code",
                SessionEnd::Stranger => "refused: not a sender of this version",
                SessionEnd::Busy => "refused: another sender is measuring",
                SessionEnd::Vanished => "disconnected; waiting for the next sender",
                SessionEnd::Stopped => "was left",
                SessionEnd::NoSocket => {
                    "refused: the UDP port is taken; choose another with --listen"
                }
            };
            format!("{from}: {how}")
        }
    };
    let _ = writeln!(std::io::stderr(), "{text}");
}
