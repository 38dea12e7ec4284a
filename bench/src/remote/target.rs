//! Gets from the name of a host to a receiver that accepts the proof, with a clear line for each
//! obstacle on the way.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::code::{Challenge, Code, Side, random};
use super::control::{Control, ControlError};
use super::device::{Device, spare_ssh};
use super::message::{Message, Refusal};
use super::{PORT, Problem, SCHEMA, frame, sockets};
use crate::machine::Machine;

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest wait for each line of the greeting; a receiver delays its refusal of a wrong code.
const GREETING: Duration = Duration::from_secs(15);

/// Settings of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name or address of the receiver.
    pub host: String,
    /// Port of the receiver.
    pub port: u16,
    /// Number of flows.
    pub flows: u32,
    /// Frame length in bytes, without checksum; the shortest if unset.
    pub length: Option<u16>,
    /// Packets a second; searched for if unset.
    pub rate: Option<f64>,
    /// Seconds of each trial.
    pub seconds: f64,
    /// Share of the packets that may be lost.
    pub loss: f64,
    /// Sending threads.
    pub threads: usize,
    /// Device to send by, whatever the routes say.
    pub device: Option<String>,
    /// Link speed in Mbit/s, if the driver does not know it.
    pub link: Option<f64>,
    /// Set to allow a device that carries the user's own SSH session.
    pub force: bool,
}

/// Receiver that can be connected to.
#[derive(Clone, Debug)]
pub struct Target {
    /// Address of the receiver.
    pub address: SocketAddr,
    /// Device towards the receiver.
    pub device: Device,
    /// Frame length in bytes, without checksum.
    pub length: u16,
}

/// Parses `HOST`, `HOST:PORT`, `[ADDRESS]:PORT` or an IPv6 address.
///
/// # Errors
/// Names the malformed part.
pub fn target(text: &str) -> Result<(String, u16), String> {
    let port = |text: &str| match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!("{text:?} is not a port: 1 to 65535")),
    };
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        match rest.split_once(']') {
            Some((host, "")) => (host, PORT),
            Some((host, rest)) => match rest.strip_prefix(':') {
                Some(number) => (host, port(number)?),
                None => return Err("the bracket must be followed by a colon and a port".into()),
            },
            None => return Err("the bracket is not closed".into()),
        }
    } else {
        match text.split_once(':') {
            Some((_, rest)) if rest.contains(':') => (text, PORT),
            Some((host, number)) => (host, port(number)?),
            None => (text, PORT),
        }
    };
    match host.is_empty() || host.contains(char::is_whitespace) {
        true => Err("HOST, HOST:PORT or [ADDRESS]:PORT".into()),
        false => Ok((host.into(), port)),
    }
}

/// Checks that the receiver is reachable, has this version, and that its device may be flooded.
/// Only connects and reads the receiver's greeting; sends nothing.
///
/// # Errors
/// The first obstacle, or that of the last address.
pub fn reach(settings: &Settings) -> Result<Target, Problem> {
    let host = &settings.host;
    let found = (host.as_str(), settings.port).to_socket_addrs();
    let hint = "check the name, or use an address";
    let addresses: Vec<_> = found
        .map_err(|_| Problem::new(format!("cannot find the host {host}"), hint))?
        .map(sockets::canonical)
        .collect();
    let mut failed = Problem::new(format!("the host {host} has no address"), hint);
    for address in addresses {
        let reached = match look(settings, address) {
            Ok(reached) => reached,
            // Another address may work: with both families, only one may lead to the host.
            Err(trouble) => {
                failed = trouble;
                continue;
            }
        };
        match reached.connect(settings) {
            Ok(mut control) => {
                hello(&mut control, &reached)?;
                return Ok(reached);
            }
            Err(trouble) => failed = trouble,
        }
    }
    Err(failed)
}

/// Finds the device towards an address, and checks that it may be used.
fn look(settings: &Settings, address: SocketAddr) -> Result<Target, Problem> {
    let ip = address.ip();
    let device = match &settings.device {
        Some(name) => Device::named(name)?,
        None => by_scope(address)
            .map_or_else(|| Device::towards(ip), |device| Ok(Some(device)))?
            .ok_or_else(|| {
                Problem::new(
                    format!("there is no route to {ip}"),
                    "see `ip route`, or name the device with --device",
                )
            })?,
    };
    if ip.is_loopback() || Device::towards(ip)?.is_some_and(|device| device.is_loopback()) {
        return Err(Problem::new(
            format!("{ip} is this machine itself: no packet would leave the machine"),
            "start `weir bench receive` on the other side of the router",
        ));
    }
    if !settings.force {
        spare_ssh(&device, std::env::var_os("SSH_CONNECTION"))?;
    }
    let ipv6 = address.is_ipv6();
    let length = settings.length.unwrap_or(frame::shortest(ipv6));
    frame::payload(length, ipv6).map_err(|error| {
        Problem::new(
            error.to_string(),
            format!("use --length {} or more", error.least),
        )
    })?;
    if let Some(mtu) = device.mtu()
        && u64::from(frame::ip(length)) > mtu
    {
        return Err(Problem::new(
            format!(
                "frames of {length} bytes do not fit {}, whose MTU is {mtu}",
                device.name
            ),
            format!("use --length {} or less", mtu + 14),
        ));
    }
    Ok(Target {
        address,
        device,
        length,
    })
}

/// Returns the device that the scope of a link-local address names.
fn by_scope(address: SocketAddr) -> Option<Device> {
    let SocketAddr::V6(address) = address else {
        return None;
    };
    Device::numbered(address.scope_id())
}

/// Reads the receiver's greeting, and returns the challenge in it.
pub fn hello(control: &mut Control, reached: &Target) -> Result<Challenge, Problem> {
    match control.hear(GREETING, &|| false) {
        Ok(Message::Hello { schema, challenge }) if schema == SCHEMA => Ok(challenge),
        Ok(Message::Hello { schema, .. }) => Err(Problem::new(
            format!(
                "the receiver at {} uses {:.40}, and this weir uses {SCHEMA}",
                reached.address, schema
            ),
            "use the same version of weir on both machines",
        )),
        Ok(_) | Err(ControlError::Bad(_)) => Err(reached.stranger()),
        Err(broken) => Err(gone(reached, &broken)),
    }
}

/// Proves the code to the receiver, and checks its proof. Returns the receiver's machine.
///
/// # Errors
/// The receiver does not know the code, refuses, or is gone.
pub fn prove(
    control: &mut Control,
    reached: &Target,
    code: &Code,
    stop: &dyn Fn() -> bool,
) -> Result<Machine, Problem> {
    let theirs = hello(control, reached)?;
    let own: Challenge = random()
        .map_err(|error| Problem::new(error.to_string(), "wait a moment and start again"))?;
    let said = [
        Message::Hello {
            schema: SCHEMA.into(),
            challenge: own,
        },
        Message::Proof {
            proof: code.prove(Side::Sender, &own, &theirs),
        },
    ];
    for message in &said {
        control
            .say(message)
            .map_err(|broken| gone(reached, &broken))?;
    }
    match control.hear(GREETING, stop) {
        Ok(Message::Accepted { proof, machine }) => {
            match code.proves(Side::Receiver, &own, &theirs, &proof) {
                true => Ok(machine),
                false => Err(Problem::new(
                    format!("the receiver at {} does not know the code", reached.address),
                    "check whether that is the address of the receiver",
                )),
            }
        }
        Ok(Message::Refused { reason }) => Err(reached.refused(reason)),
        Ok(_) | Err(ControlError::Bad(_)) => Err(reached.stranger()),
        Err(broken) => Err(gone(reached, &broken)),
    }
}

/// Describes a receiver that has gone.
pub fn gone(reached: &Target, broken: &ControlError) -> Problem {
    let address = reached.address;
    match broken {
        ControlError::Silent => Problem::new(
            format!("the receiver at {address} no longer answers"),
            "check the route to the receiver, and whether the receiver still runs",
        ),
        ControlError::Ended => Problem::new("interrupted", "nothing was measured"),
        ControlError::Bad(_) => reached.stranger(),
        ControlError::Closed => Problem::new(
            format!("the receiver at {address} closed the connection"),
            "start `weir bench receive` there again",
        ),
    }
}

impl Target {
    /// Opens another connection to the receiver.
    ///
    /// # Errors
    /// The receiver cannot be reached.
    pub fn connect(&self, settings: &Settings) -> Result<Control, Problem> {
        let address = self.address;
        connect(address, settings.device.as_deref())
            .and_then(Control::new)
            .map_err(|error| match error.kind() {
                ErrorKind::ConnectionRefused => Problem::new(
                    format!("no receiver listens at {address}"),
                    "start `weir bench receive` there first, with the same port",
                ),
                ErrorKind::TimedOut | ErrorKind::WouldBlock => Problem::new(
                    format!("no answer from {address}"),
                    "check whether the machine is on, and whether a firewall allows TCP and UDP \
                        to this port",
                ),
                _ => Problem::system(
                    format!("cannot reach {address}"),
                    "check `ip route get`, and whether the router is on",
                )(error),
            })
    }

    /// Describes a peer that is not a receiver.
    pub fn stranger(&self) -> Problem {
        Problem::new(
            format!(
                "the program at {} is not `weir bench receive`",
                self.address
            ),
            "check address and port",
        )
    }

    /// Describes a refusal.
    pub fn refused(&self, reason: Refusal) -> Problem {
        let address = self.address;
        match reason {
            Refusal::WrongCode => Problem::new(
                format!("the receiver at {address} shows another code"),
                "type the code that the receiver shows now: each start has a new code",
            ),
            Refusal::Busy => Problem::new(
                format!("the receiver at {address} is measuring with another sender"),
                "wait until the other measurement ends",
            ),
            Refusal::NoSocket => Problem::new(
                format!("the receiver cannot open its UDP sockets at {address}"),
                "use another port: weir bench receive --listen",
            ),
            Refusal::Nonsense => Problem::new(
                format!("the receiver at {address} does not support such a trial"),
                "use the same version of weir on both machines",
            ),
        }
    }
}

fn connect(address: SocketAddr, device: Option<&str>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.bind_device(device.map(str::as_bytes))?;
    socket.connect_timeout(&address.into(), CONNECT)?;
    Ok(socket.into())
}

/// Returns the addresses of this machine that others may reach, for the receiver to show.
pub fn own_addresses() -> Vec<IpAddr> {
    let Ok(all) = nix::ifaddrs::getifaddrs() else {
        return Vec::new();
    };
    let mut found: Vec<_> = all
        .filter_map(|one| one.address)
        .filter_map(|address| {
            let ipv4 = address.as_sockaddr_in().map(|one| IpAddr::V4(one.ip()));
            ipv4.or_else(|| address.as_sockaddr_in6().map(|one| IpAddr::V6(one.ip())))
        })
        .filter(|ip| match ip {
            IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local(),
            IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local(),
        })
        .collect();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        let of = |text: &str| target(text);
        for (text, host, port) in [
            ("192.0.2.1", "192.0.2.1", PORT),
            ("192.0.2.1:7", "192.0.2.1", 7),
            ("pc.lan", "pc.lan", PORT),
            ("pc.lan:65535", "pc.lan", 65_535),
            ("2001:db8::1", "2001:db8::1", PORT),
            ("[2001:db8::1]", "2001:db8::1", PORT),
            ("[2001:db8::1]:7", "2001:db8::1", 7),
        ] {
            assert_eq!(of(text), Ok((host.into(), port)), "{text}");
        }
        for text in [
            "", ":7", "pc:", "pc:0", "pc:65536", "pc:x", "[::1", "[::1]7", "a b", "[]:7",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
