//! From the name of a host to a receiver that was proven to, with one clear line for each thing on
//! the way that is not as it should be.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::code::{Challenge, Code, Side, random};
use super::control::{Broken, Control};
use super::device::{Device, spare_ssh};
use super::message::{Message, Refusal};
use super::{PORT, SCHEMA, Trouble, frame, sockets};
use crate::machine::Machine;

/// For a connection to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// For each line of the greeting; a wrong code is told late.
const GREETING: Duration = Duration::from_secs(15);

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the receiver is: a name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Flows.
    pub flows: u32,
    /// Of the frames, bytes without checksum; else the shortest.
    pub length: Option<u16>,
    /// Packets a second; else searched for.
    pub rate: Option<f64>,
    /// Of each trial.
    pub seconds: f64,
    /// Share of the packets that may be lost.
    pub loss: f64,
    /// That send.
    pub threads: usize,
    /// By which to send, whatever the routes say.
    pub device: Option<String>,
    /// Mbit/s of its link, if the driver does not know.
    pub link: Option<f64>,
    /// Whether a device that carries the person's own session is good enough.
    pub force: bool,
}

/// A receiver that is there.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Its address.
    pub address: SocketAddr,
    /// By which device.
    pub device: Device,
    /// Of the frames, bytes without checksum.
    pub length: u16,
}

/// `HOST`, `HOST:PORT`, `[ADDRESS]:PORT` or an address of IPv6.
///
/// # Errors
/// Says which part is none.
pub fn target(text: &str) -> Result<(String, u16), String> {
    let port = |text: &str| match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!("{text:?} is no port: 1 to 65535")),
    };
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        match rest.split_once(']') {
            Some((host, "")) => (host, PORT),
            Some((host, rest)) => match rest.strip_prefix(':') {
                Some(number) => (host, port(number)?),
                None => return Err("after the bracket comes a colon and a port".into()),
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

/// Looks whether the receiver is there, by a device that may be flooded, and of this version.
/// Nothing is sent but a greeting.
///
/// # Errors
/// What is not as it should be.
pub fn reach(settings: &Settings) -> Result<Reached, Trouble> {
    let host = &settings.host;
    let found = (host.as_str(), settings.port).to_socket_addrs();
    let hint = "see whether the name is right; an address does as well";
    let addresses: Vec<_> = found
        .map_err(|_| Trouble::new(format!("the host {host} is not found"), hint))?
        .map(sockets::canonical)
        .collect();
    let mut failed = Trouble::new(format!("the host {host} has no address"), hint);
    for address in addresses {
        let reached = match look(settings, address) {
            Ok(reached) => reached,
            // Another address may do: of a host with both families, only one may lead there.
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

/// Which device, and whether it may be used.
fn look(settings: &Settings, address: SocketAddr) -> Result<Reached, Trouble> {
    let ip = address.ip();
    let device = match &settings.device {
        Some(name) => Device::named(name)?,
        None => by_scope(address)
            .map_or_else(|| Device::towards(ip), |device| Ok(Some(device)))?
            .ok_or_else(|| {
                Trouble::new(
                    format!("there is no way to {ip}"),
                    "see `ip route`, or name the device: --device",
                )
            })?,
    };
    if ip.is_loopback() || Device::towards(ip)?.is_some_and(|device| device.is_loopback()) {
        return Err(Trouble::new(
            format!(
                "{ip} is this machine itself: no packet would leave it, and nothing would be \
                    measured"
            ),
            "start `weir bench receive` on the other side of the router",
        ));
    }
    if !settings.force {
        spare_ssh(&device, std::env::var_os("SSH_CONNECTION"))?;
    }
    let ipv6 = address.is_ipv6();
    let length = settings.length.unwrap_or(frame::shortest(ipv6));
    frame::payload(length, ipv6).map_err(|error| {
        Trouble::new(
            error.to_string(),
            format!("--length {} or more", error.least),
        )
    })?;
    if let Some(mtu) = device.mtu()
        && u64::from(frame::ip(length)) > mtu
    {
        return Err(Trouble::new(
            format!(
                "frames of {length} bytes do not fit {}, whose MTU is {mtu}",
                device.name
            ),
            format!("--length {} or less", mtu + 14),
        ));
    }
    Ok(Reached {
        address,
        device,
        length,
    })
}

/// A link-local address says itself by which device.
fn by_scope(address: SocketAddr) -> Option<Device> {
    let SocketAddr::V6(address) = address else {
        return None;
    };
    Device::numbered(address.scope_id())
}

/// What the receiver said first.
pub fn hello(control: &mut Control, reached: &Reached) -> Result<Challenge, Trouble> {
    match control.hear(GREETING, &|| false) {
        Ok(Message::Hello { schema, challenge }) if schema == SCHEMA => Ok(challenge),
        Ok(Message::Hello { schema, .. }) => Err(Trouble::new(
            format!(
                "the receiver at {} speaks {:.40}, and this weir {SCHEMA}",
                reached.address, schema
            ),
            "use the same version of weir on both machines",
        )),
        Ok(_) | Err(Broken::Bad(_)) => Err(reached.stranger()),
        Err(broken) => Err(gone(reached, &broken)),
    }
}

/// Proves to the receiver, and has it prove too. What it is.
///
/// # Errors
/// It does not know the code, or has no time.
pub fn prove(
    control: &mut Control,
    reached: &Reached,
    code: &Code,
    stop: &dyn Fn() -> bool,
) -> Result<Machine, Trouble> {
    let theirs = hello(control, reached)?;
    let own: Challenge = random()
        .map_err(|error| Trouble::new(error.to_string(), "wait a moment and begin anew"))?;
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
                false => Err(Trouble::new(
                    format!("who answers at {} does not know the code", reached.address),
                    "see whether that is the address of the receiver",
                )),
            }
        }
        Ok(Message::Refused { reason }) => Err(reached.refused(reason)),
        Ok(_) | Err(Broken::Bad(_)) => Err(reached.stranger()),
        Err(broken) => Err(gone(reached, &broken)),
    }
}

/// The receiver is not there any more.
pub fn gone(reached: &Reached, broken: &Broken) -> Trouble {
    let address = reached.address;
    match broken {
        Broken::Silent => Trouble::new(
            format!("the receiver at {address} does not answer any more"),
            "see whether the way to it is there, and whether it still runs",
        ),
        Broken::Ended => Trouble::new("it was ended", "nothing was measured"),
        Broken::Bad(_) => reached.stranger(),
        Broken::Closed => Trouble::new(
            format!("the receiver at {address} went away"),
            "start `weir bench receive` there again",
        ),
    }
}

impl Reached {
    /// Another connection to it.
    ///
    /// # Errors
    /// It is not there.
    pub fn connect(&self, settings: &Settings) -> Result<Control, Trouble> {
        let address = self.address;
        connect(address, settings.device.as_deref())
            .and_then(Control::new)
            .map_err(|error| match error.kind() {
                ErrorKind::ConnectionRefused => Trouble::new(
                    format!("nobody listens at {address}"),
                    "start `weir bench receive` there first; see whether the port is the same",
                ),
                ErrorKind::TimedOut | ErrorKind::WouldBlock => Trouble::new(
                    format!("nothing answers at {address}"),
                    "see whether the machine is on, and whether a firewall lets TCP and UDP \
                        through to this port",
                ),
                _ => Trouble::system(
                    format!("{address} cannot be reached"),
                    "see `ip route get`, and whether the router is on",
                )(error),
            })
    }

    /// Whoever is there, it is no receiver.
    pub fn stranger(&self) -> Trouble {
        Trouble::new(
            format!(
                "what answers at {} is no `weir bench receive`",
                self.address
            ),
            "see whether address and port are right",
        )
    }

    /// What a refusal means.
    pub fn refused(&self, reason: Refusal) -> Trouble {
        let address = self.address;
        match reason {
            Refusal::WrongCode => Trouble::new(
                format!("the receiver at {address} shows another code"),
                "type the one that it shows now: each start has its own",
            ),
            Refusal::Busy => Trouble::new(
                format!("the receiver at {address} measures with another sender"),
                "wait until that one is done",
            ),
            Refusal::NoSocket => Trouble::new(
                format!("the receiver cannot open its UDP sockets at {address}"),
                "let it listen at another port: weir bench receive --listen",
            ),
            Refusal::Nonsense => Trouble::new(
                format!("the receiver at {address} does not make such a trial"),
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

/// Those addresses of this machine at which others may reach it: for the receiver to show.
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
