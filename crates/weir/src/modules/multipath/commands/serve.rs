//! `weir multipath`: the partner's side, and what pairs the two.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use kernel::Prefix;
use multipath::io::{DEFAULT_STATE, Partner, PartnerSettings, Store, StoreError};
use multipath::net::TunnelNet;
use multipath::{Key, KeyId, PORT, Pairing, Ports, Public};
use tokio::signal::unix::{SignalKind, signal};

use super::lock::{self, LockArgs, UnlockArgs};
use super::routers::{self, ListArgs, RevokeArgs, RotateArgs};
use crate::Error;
use crate::config::LogLevel;
use crate::daemon::{confine, privileges};
use crate::log;
use crate::modules::multipath::tun;
use crate::output::{Output, qr};
use crate::registry::Context;

/// Serve routers that have several uplinks, and pair with them
///
/// A router with several uplinks gives its clients the sum of all of them, by way of a partner that
/// it reaches by each: a rented server, or the gateway of a community. Here is the partner's side;
/// the router's is `weir run`, with the line that `pair` prints in its configuration.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir multipath serve                       at the partner
  weir multipath pair partner.example.net    at the partner: prints a line for the router
  weir multipath list                        at the partner: who is there
  printf '[multipath]\\npartner = \"%s\"\\n' LINE >> /etc/weir/weir.toml && weir reload    at the \
  router")]
pub struct MultipathArgs {
    #[command(subcommand)]
    command: Side,
}

#[derive(Debug, Subcommand)]
enum Side {
    Serve(ServeArgs),
    Pair(PairArgs),
    Forward(ForwardArgs),
    List(ListArgs),
    Revoke(RevokeArgs),
    Rotate(RotateArgs),
    Lock(LockArgs),
    Unlock(UnlockArgs),
}

/// Where a partner keeps its key.
#[derive(Args, Debug)]
pub(super) struct State {
    /// Folder of the key and of the list of routers
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_STATE)]
    pub(super) state: PathBuf,
}

/// Serve routers, until told to stop
///
/// Needs no configuration: the key is made at the first start. Routers that `weir multipath pair`
/// was run for may connect, and reach the Internet from here, but neither this machine nor private
/// networks.
#[derive(Args, Debug)]
struct ServeArgs {
    #[command(flatten)]
    state: State,
    /// Address and port to listen on, TCP and UDP; several with commas between them, such as
    /// [::]:9349,[::]:443 for routers in networks that let little else out
    #[arg(long, value_name = "ADDRESS:PORT", value_delimiter = ',', default_values_t = [everywhere()])]
    listen: Vec<SocketAddr>,
    /// Private network that routers may reach, such as 10.0.0.0/8; of this machine's own addresses
    /// those alone that are named by themselves
    #[arg(long, value_name = "NETWORK", value_delimiter = ',', value_parser = network)]
    allow: Vec<Prefix>,
    /// Let routers' clients send mail straight to mail servers, at TCP port 25, in this machine's
    /// name. Mail programs need it not: they use other ports
    #[arg(long)]
    smtp: bool,
    /// Network of the tunnel: one that neither this machine nor its routers use
    #[arg(long, value_name = "NETWORK", default_value = "10.93.0.0/16", value_parser = network)]
    tunnel: Prefix,
    /// The same of IPv6, where this machine forwards IPv6
    #[arg(long, value_name = "NETWORK", default_value = "fd93:7765:6972::/64", value_parser = network)]
    tunnel6: Prefix,
    /// Encrypt with ChaCha20-Poly1305 always: for comparing the two
    #[arg(long, hide = true)]
    no_aes: bool,
    /// Tell more; twice: still more
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// Pair with one more router: prints the line for its configuration
///
/// The router that comes first with the line has it for good: give it to the router only, by a way
/// that nobody else can read. `weir multipath list` shows whether it came.
#[derive(Args, Debug)]
struct PairArgs {
    #[command(flatten)]
    state: State,
    /// Name or address by which the router reaches this machine; with a port, where it is another
    /// one
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// What the router is called, in the log
    #[arg(long, value_name = "NAME", default_value = "")]
    name: String,
    /// Port of this machine that leads to the router, such as tcp/8022 or udp/8000-8099; may be
    /// given several times
    #[arg(long, value_name = "PORT", value_parser = ports)]
    forward: Vec<Ports>,
    /// Print it as a QR code too, for a camera: in a window of 70 columns at least
    #[arg(long)]
    qr: bool,
}

/// Choose which ports of this machine lead to a router
///
/// The router's configuration says where they go from there: `forward` under [multipath]. Ports
/// that it had before and that are not named are taken from it. Works at once; the router is told
/// of it with its next session.
#[derive(Args, Debug)]
struct ForwardArgs {
    #[command(flatten)]
    state: State,
    /// Name of the router, or its key's id
    #[arg(value_name = "ROUTER")]
    router: String,
    /// Ports, such as tcp/8022 or udp/8000-8099; none: nothing leads to it any more
    #[arg(value_name = "PORT", value_parser = ports)]
    ports: Vec<Ports>,
}

/// Of the partner's end of the tunnel.
const DEVICE: &str = "weir-partner";

/// What listens on this machine.
mod listening {
    use std::fs;

    use multipath::choice::{Ports, Transport};

    /// A TCP socket that listens (`TCP_LISTEN`), or a UDP socket that is not connected
    /// (`TCP_CLOSE`).
    fn state(transport: Transport) -> &'static str {
        match transport {
            Transport::Tcp => "0A",
            Transport::Udp => "07",
        }
    }

    /// The first of these ports on which something listens that others reach.
    pub fn within(ports: &Ports) -> Option<u16> {
        let name = ports.transport.name();
        let tables =
            ["", "6"].map(|family| fs::read_to_string(format!("/proc/net/{name}{family}")));
        let tables = tables.map(Result::unwrap_or_default);
        let mut found: Vec<_> = tables
            .iter()
            .flat_map(|table| listed(table, ports.transport))
            .collect();
        found.sort_unstable();
        found.into_iter().find(|port| ports.range.contains(port))
    }

    /// Ports of a table of `/proc/net`, but those of the loopback address.
    fn listed(table: &str, transport: Transport) -> Vec<u16> {
        let lines = table.lines().skip(1).filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (address, port) = words.next()?.split_once(':')?;
            let is_so = words.nth(1)? == state(transport);
            let is_local = address.ends_with("7F") && address.len() == 8
                || address == "00000000000000000000000001000000";
            let port = u16::from_str_radix(port, 16).ok()?;
            (is_so && !is_local).then_some(port)
        });
        lines.collect()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_listens_is_found() {
            let table = "  sl  local_address rem_address   st tx_queue\n   0: 00000000:0016 \
                00000000:0000 0A 0:0\n   1: 0100007F:0019 00000000:0000 0A 0:0\n   2: \
                0A00000A:1F40 0B00000A:0050 01 0:0\n";
            assert_eq!(listed(table, Transport::Tcp), [22]);
            assert!(listed("", Transport::Tcp).is_empty());
        }
    }
}

fn everywhere() -> SocketAddr {
    SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT)
}

fn network(text: &str) -> Result<Prefix, kernel::PrefixError> {
    text.parse()
}

pub fn run(args: &MultipathArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    let output = &mut *context.output;
    match &args.command {
        Side::Serve(args) => serve(args),
        Side::Pair(args) => pair(args, output),
        Side::Forward(args) => forward(args),
        Side::List(args) => routers::list(args, output),
        Side::Revoke(args) => routers::revoke(args),
        Side::Rotate(args) => routers::rotate(args, output),
        Side::Lock(args) => lock::lock(args, context),
        Side::Unlock(args) => lock::unlock(args, output),
    }
}

fn ports(text: &str) -> Result<Ports, multipath::choice::PortsError> {
    text.parse()
}

fn forward(args: &ForwardArgs) -> Result<(), Error> {
    let store = Store::open(&args.state.state).map_err(|error| kept(&error))?;
    let done = store.forward(&args.router, &args.ports);
    done.map_err(|error| kept(&error))?;
    warn_of_others(&args.ports);
    Ok(())
}

/// A port that leads to a router does not lead to what listens here.
fn warn_of_others(forwards: &[Ports]) {
    for ports in forwards {
        if let Some(port) = listening::within(ports) {
            let name = ports.transport.name();
            eprintln!(
                "weir: warning: something listens on {name}/{port} of this machine: from \
                    elsewhere it is not reached any more, as the port leads to the router"
            );
        }
    }
}

fn pair(args: &PairArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let name: String = args.name.split_whitespace().collect::<Vec<_>>().join(" ");
    // Looked at before a key is made for it.
    let pairing = address_of(&args.address)?;
    let store = Store::open(&args.state.state).map_err(|error| kept(&error))?;
    let key = store
        .pair(&name, &args.forward)
        .map_err(|error| kept(&error))?;
    let line = pairing(key)?;
    warn_of_others(&args.forward);
    print_line(&line, args.qr, output)
}

/// What makes a line of a key, for a partner at this address.
pub(super) fn address_of(
    address: &str,
) -> Result<impl Fn(Key) -> Result<Pairing, Error> + '_, Error> {
    let at = move |key| {
        Pairing::at(address, key).map_err(|error| {
            Error::because(
                format!("`{address}` is no address for a partner"),
                &error,
                "give a name or an address, such as partner.example.net, 203.0.113.5 or \
                    [2001:db8::5]:9349",
            )
        })
    };
    at(Key::new(KeyId([0; 8]), [0; 32], Public([0; 32])))?;
    Ok(at)
}

pub(super) fn print_line(line: &Pairing, code: bool, output: &mut Output<'_>) -> Result<(), Error> {
    let line = line.to_string();
    output.line(&line)?;
    if code {
        // A line holds a name of at most 253 letters: there is always room for it.
        for row in qr::rows(&line, output.has_colour()).unwrap_or_default() {
            output.line(&row)?;
        }
    }
    Ok(())
}

pub(super) fn kept(error: &StoreError) -> Error {
    // These say what to do.
    if !matches!(
        error,
        StoreError::File { .. } | StoreError::Secret(_) | StoreError::Random
    ) {
        let text = error.to_string();
        let (what, hint) = text.split_once(": ").unwrap_or((&text, ""));
        return Error::new(what.to_owned(), hint.to_owned());
    }
    Error::because(
        "the partner's key cannot be used",
        error,
        "run this as root, or choose another folder with --state",
    )
}

/// Gives up what a partner does not need from here on: strangers talk to it.
fn confine(args: &ServeArgs) -> Result<(), StoreError> {
    let state = &args.state.state;
    // Made while it still may be, wherever it is.
    Store::open(state)?.master()?;
    confine::confine(&confine::Reach {
        config: &state.join("routers"),
        socket: &state.join("routers"),
        read: &[],
        write: &[state.clone(), "/proc/sys/net".into()],
        devices: &[],
        programs: &[],
    });
    let ports: Vec<_> = args.listen.iter().map(SocketAddr::port).collect();
    privileges::drop_to_partner(state, &ports);
    Ok(())
}

fn serve(args: &ServeArgs) -> Result<(), Error> {
    log::start(LogLevel::default().louder(i32::from(args.verbose)));
    let settings = PartnerSettings {
        listen: args.listen.clone(),
        state: args.state.state.clone(),
        allowed: args.allow.clone(),
        smtp: args.smtp,
        aes: !args.no_aes,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        net: TunnelNet {
            ipv4: args.tunnel,
            ipv6: Some(args.tunnel6),
        },
    };
    let failed =
        |error: std::io::Error| Error::because("signals cannot be caught", &error, "report this");
    crate::event_loop()?.block_on(async {
        let device = tun::open(DEVICE)
            .inspect_err(|error| {
                let hint = tun::hint(error);
                tracing::warn!(%error, hint, "no tunnel: routers send all but TCP directly");
            })
            .ok();
        confine(args).map_err(|error| kept(&error))?;
        let partner = Partner::start(settings, device).await.map_err(|error| {
            let hint = "`weir multipath serve --help` tells of --listen and --state; ports below \
                1024 and /var need root";
            Error::because("the partner cannot serve", &error, hint)
        })?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        partner.stop().await;
        Ok(())
    })
}
