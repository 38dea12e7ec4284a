//! `weir multipath`: the partner's side, and pairing.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use clap::{Args, Subcommand};
use kernel::Prefix;
use multipath_core::PORT;
use multipath_core::io::{Partner, PartnerSettings, ServeError, Store, StoreError};
use multipath_core::net::TunnelNet;
use tokio::signal::unix::{SignalKind, signal};

use super::lock::{self, LockArgs, UnlockArgs};
use super::pair::{self, ForwardArgs, PairArgs, State, kept};
use super::routers::{self, LimitArgs, ListArgs, RevokeArgs, RotateArgs};
use crate::tun;
use runtime::Error;
use runtime::config::LogLevel;
use runtime::daemon::{confine, privileges};
use runtime::log;
use runtime::registry::Context;

/// Serve routers with several uplinks, and pair with them
///
/// A router with several uplinks gives its clients the sum of all of them, through a partner that
/// the router reaches over each uplink: a rented server, or the gateway of a community. This
/// command is the partner's side; the router's side is `weir run`, with the line from `pair` in its
/// configuration.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir multipath serve                     at the partner
  weir multipath pair partner.example.net  at the partner: prints a line
  weir multipath list                      at the partner: lists routers
  weir reload                              at the router; in weir.toml:
    [multipath]
    partner = \"LINE\"")]
pub struct MultipathArgs {
    #[command(subcommand)]
    command: Side,
}

#[derive(Debug, Subcommand)]
enum Side {
    Serve(ServeArgs),
    Pair(PairArgs),
    Forward(ForwardArgs),
    Limit(LimitArgs),
    List(ListArgs),
    Revoke(RevokeArgs),
    Rotate(RotateArgs),
    Lock(LockArgs),
    Unlock(UnlockArgs),
}

/// Serve routers until stopped
///
/// Needs no configuration: the first start creates the key. Routers that were paired with `weir
/// multipath pair` may connect, and reach the Internet from here, but neither this machine nor
/// private networks.
#[derive(Args, Debug)]
struct ServeArgs {
    #[command(flatten)]
    state: State,
    /// Address and port to listen on, TCP and UDP; several separated by commas, such as
    /// [::]:9349,[::]:443 for routers in restrictive networks
    #[arg(long, value_name = "ADDRESS:PORT", value_delimiter = ',', value_parser = door,
        default_values_t = [everywhere()])]
    listen: Vec<SocketAddr>,
    /// Private network that routers may reach, such as 10.0.0.0/8; an address of this machine must
    /// be named individually
    #[arg(long, value_name = "NETWORK", value_delimiter = ',', value_parser = network)]
    allow: Vec<Prefix>,
    /// Let routers' clients send mail directly to mail servers, on TCP port 25, from this machine's
    /// address. Mail programs do not need this: they use other ports
    #[arg(long)]
    smtp: bool,
    /// Network of the tunnel, unused by this machine and its routers
    #[arg(long, value_name = "NETWORK", default_value = "10.93.0.0/16", value_parser = tunnel)]
    tunnel: Prefix,
    /// IPv6 network of the tunnel, if this machine forwards IPv6
    #[arg(long, value_name = "NETWORK", default_value = "fd93:7765:6972::/64", value_parser = tunnel6)]
    tunnel6: Prefix,
    /// Encrypt with ChaCha20-Poly1305 always: for comparing the two
    #[arg(long, hide = true)]
    no_aes: bool,
    /// Log more; twice for still more
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// Name of the partner's end of the tunnel.
const DEVICE: &str = "weir-partner";

fn everywhere() -> SocketAddr {
    SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT)
}

/// Parses an address to listen on. Port 0 would be a random one.
fn door(text: &str) -> Result<SocketAddr, String> {
    let door: SocketAddr = text
        .parse()
        .map_err(|_| "give an address and a port, such as 0.0.0.0:9349 or [::]:443".to_owned())?;
    match door.port() {
        0 => Err("ports are 1 to 65535".to_owned()),
        _ => Ok(door),
    }
}

fn network(text: &str) -> Result<Prefix, kernel::PrefixError> {
    text.parse()
}

fn tunnel(text: &str) -> Result<Prefix, String> {
    let net = network(text).map_err(|error| error.to_string())?;
    match net.address.is_ipv4() && net.length <= 30 {
        true => Ok(net),
        false => Err("give an IPv4 network with room for two, such as 10.93.0.0/16".to_owned()),
    }
}

fn tunnel6(text: &str) -> Result<Prefix, String> {
    let net = network(text).map_err(|error| error.to_string())?;
    match net.address.is_ipv6() && net.length <= 126 {
        true => Ok(net),
        false => Err("give an IPv6 network with room for two, such as fd93:7765::/64".to_owned()),
    }
}

pub fn run(args: &MultipathArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    let output = &mut *context.output;
    match &args.command {
        Side::Serve(args) => serve(args),
        Side::Pair(args) => pair::pair(args, output),
        Side::Forward(args) => pair::forward(args),
        Side::Limit(args) => routers::limit(args),
        Side::List(args) => routers::list(args, output),
        Side::Revoke(args) => routers::revoke(args),
        Side::Rotate(args) => routers::rotate(args, output),
        Side::Lock(args) => lock::lock(args, context),
        Side::Unlock(args) => lock::unlock(args, output),
    }
}

/// Drops privileges that a partner does not need from here on: unauthenticated clients connect to
/// it.
fn confine(args: &ServeArgs) -> Result<(), StoreError> {
    let state = &args.state.state;
    // Made while that is still permitted, in whichever folder.
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
        |error: std::io::Error| Error::with_cause("cannot catch signals", &error, "report this");
    runtime::event_loop()?.block_on(async {
        // First of all: the next steps would disturb another partner.
        let store = Store::open(&args.state.state).map_err(|error| kept(&error))?;
        let serves = store.serve().map_err(|error| kept(&error))?;
        let device = tun::open(DEVICE)
            .inspect_err(|error| {
                let hint = tun::hint(error);
                tracing::warn!(%error, hint, "no tunnel: routers send everything except TCP directly");
            })
            .ok();
        confine(args).map_err(|error| kept(&error))?;
        let partner = Partner::start(settings, serves, device)
            .await
            .map_err(|error| {
                let hint = match &error {
                    ServeError::Store(error) => return kept(error),
                    ServeError::Listen { source, .. } if source.kind() == ErrorKind::AddrInUse => {
                        "another program listens there already: see `ss -lntup`; [::] includes IPv4"
                    }
                    ServeError::Net { .. } => "give another with --tunnel or --tunnel6",
                    _ => {
                        "see --listen and --state in `weir multipath serve --help`; ports below \
                        1024 and /var need root"
                    }
                };
                Error::with_cause("cannot start the partner", &error, hint)
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
