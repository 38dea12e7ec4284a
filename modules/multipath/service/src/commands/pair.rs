//! `weir multipath pair` and `forward`: the line for a router, and the ports that lead to it.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use multipath_core::io::{DEFAULT_STATE, SecretError, Store, StoreError};
use multipath_core::{Key, KeyId, Pairing, Ports, PublicKey};

use runtime::Error;
use runtime::output::{Output, qr};

/// Location of a partner's key.
#[derive(Args, Debug)]
pub(super) struct State {
    /// Folder of the key and of the list of routers
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_STATE)]
    pub(super) state: PathBuf,
}

/// Pair with a router, and print the line for its configuration
///
/// The first router that connects with the line keeps it for good: send the line only to that
/// router, over a private channel. `weir multipath list` shows whether the router connected.
#[derive(Args, Debug)]
pub struct PairArgs {
    #[command(flatten)]
    state: State,
    /// Name or address at which the router reaches this machine; add the port unless it is 9349
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// Name of the router in the log
    #[arg(long, value_name = "NAME", default_value = "")]
    name: String,
    /// Port of this machine that leads to the router, such as tcp/8022 or udp/8000-8099; may be
    /// given several times
    #[arg(long, value_name = "PORT", value_parser = ports)]
    forward: Vec<Ports>,
    /// Also print the line as a QR code, in a terminal of at least 70 columns
    #[arg(long)]
    qr: bool,
}

/// Set which ports of this machine lead to a router
///
/// The router's configuration sets where they go from there: `forward` under [multipath]. Ports
/// that are not named are removed. Takes effect at once; the router learns of the change with its
/// next session.
#[derive(Args, Debug)]
pub struct ForwardArgs {
    #[command(flatten)]
    state: State,
    /// Name of the router, or its key's id
    #[arg(value_name = "ROUTER")]
    router: String,
    /// Ports, such as tcp/8022 or udp/8000-8099; without any, all ports are removed
    #[arg(value_name = "PORT", value_parser = ports)]
    ports: Vec<Ports>,
}

/// Sockets that listen on this machine.
mod listening {
    use std::fs;

    use multipath_core::traffic_policy::{Ports, Transport};

    /// Returns the state of a listening TCP socket (`TCP_LISTEN`), or of an unconnected UDP socket
    /// (`TCP_CLOSE`).
    fn state(transport: Transport) -> &'static str {
        match transport {
            Transport::Tcp => "0A",
            Transport::Udp => "07",
        }
    }

    /// Returns the first of these ports with a socket that is open to others.
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

    /// Returns the ports of a table of `/proc/net`, but those of the loopback address.
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

fn ports(text: &str) -> Result<Ports, multipath_core::traffic_policy::PortsError> {
    text.parse()
}

pub fn forward(args: &ForwardArgs) -> Result<(), Error> {
    let store = Store::open(&args.state.state).map_err(|error| kept(&error))?;
    let done = store.forward(&args.router, &args.ports);
    done.map_err(|error| kept(&error))?;
    warn_of_others(&args.ports);
    Ok(())
}

/// Warns of ports that lead to a router, and no longer to a program of this machine.
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

pub fn pair(args: &PairArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let name: String = args.name.split_whitespace().collect::<Vec<_>>().join(" ");
    // Checked before a key is made for it.
    let pairing = address_of(&args.address)?;
    let store = Store::open(&args.state.state).map_err(|error| kept(&error))?;
    let key = store
        .pair(&name, &args.forward)
        .map_err(|error| kept(&error))?;
    let id = key.id();
    let line = pairing(key)?;
    let roll = store.roll().map_err(|error| kept(&error))?;
    if !name.is_empty() && roll.paired().filter(|it| it.name == name).count() > 1 {
        eprintln!(
            "weir: warning: another router is called {name}: this one is also named by its key's id, \
                {id}"
        );
    }
    warn_of_others(&args.forward);
    print_line(&line, args.qr, output)
}

/// Returns a function that makes the line of a key, for a partner at this address.
pub(super) fn address_of(
    address: &str,
) -> Result<impl Fn(Key) -> Result<Pairing, Error> + '_, Error> {
    const HINT: &str = "give a name or an address by which routers reach this machine, such as \
        partner.example.net, 203.0.113.5 or [2001:db8::5]:9349";
    let what = move || format!("`{address}` is no address for a partner");
    let at = move |key| {
        Pairing::at(address, key).map_err(|error| Error::with_cause(what(), &error, HINT))
    };
    let tried = at(Key::new(KeyId([0; 8]), [0; 32], PublicKey([0; 32])))?;
    match tried.host.parse::<IpAddr>() {
        Ok(host) if host.is_unspecified() || host.is_loopback() || host.is_multicast() => {
            let what = format!("{}: no other machine reaches it by that", what());
            Err(Error::new(what, HINT))
        }
        _ => Ok(at),
    }
}

pub(super) fn print_line(line: &Pairing, code: bool, output: &mut Output<'_>) -> Result<(), Error> {
    let line = line.to_string();
    output.line(&line)?;
    if code {
        // A line contains a name of at most 253 letters, which always fits.
        for row in qr::rows(&line, output.has_colour()).unwrap_or_default() {
            output.line(&row)?;
        }
    }
    Ok(())
}

pub(super) fn kept(error: &StoreError) -> Error {
    // These messages contain a hint.
    if !matches!(
        error,
        StoreError::File { .. } | StoreError::Secret(_) | StoreError::Random
    ) {
        let text = error.to_string();
        let (what, hint) = text.split_once(": ").unwrap_or((&text, ""));
        return Error::new(what.to_owned(), hint.to_owned());
    }
    let what = match error {
        StoreError::File { .. } => "the partner's state cannot be used",
        _ => "the partner's key cannot be used",
    };
    let source = match error {
        StoreError::File { source, .. } | StoreError::Secret(SecretError::File { source, .. }) => {
            Some(source.kind())
        }
        _ => None,
    };
    let hint = match source {
        Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            "run this as root, or choose another folder with --state"
        }
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            "make room on that disk, or choose another folder with --state"
        }
        Some(_) => "look at what is there, or choose another folder with --state",
        None => "mend that file, or choose another folder with --state",
    };
    Error::with_cause(what, error, hint)
}
