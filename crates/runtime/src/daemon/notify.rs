//! Notifies the service manager of the daemon's state: sd_notify(3), one datagram.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use tracing::debug;

/// The service manager, if any.
#[derive(Debug)]
pub struct Notify(Option<UnixDatagram>);

impl Notify {
    /// Connects to the socket that NOTIFY_SOCKET names; must come before privileges are dropped.
    pub fn from_environment() -> Self {
        let Some(name) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Self(None);
        };
        match connect(&name) {
            Ok(socket) => Self(Some(socket)),
            Err(error) => {
                debug!(%error, socket = %name.display(), "cannot notify the service manager");
                Self(None)
            }
        }
    }

    /// Reports that the daemon is ready.
    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// Reports that the daemon stops.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, state: &str) {
        if let Some(socket) = &self.0
            && let Err(error) = socket.send(state.as_bytes())
        {
            debug!(%error, state, "cannot notify the service manager");
        }
    }
}

fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    // An @ represents the 0 of an abstract address.
    let address = match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    // A manager that does not read must not block the daemon.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_names_are_reached() {
        let number = std::process::id();
        let path = env::temp_dir().join(format!("weir-notify-{number}"));
        let by_path = UnixDatagram::bind(&path).expect("bound");
        let name = format!("weir-notify-{number}");
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let by_name = UnixDatagram::bind_addr(&address).expect("bound");
        for (socket, name) in [
            (by_path, path.as_os_str()),
            (by_name, format!("@{name}").as_ref()),
        ] {
            Notify(Some(connect(name).expect("connected"))).ready();
            let mut said = [0; 64];
            let length = socket.recv(&mut said).expect("a datagram");
            assert_eq!(&said[..length], b"READY=1");
        }
        std::fs::remove_file(&path).expect("removed");
        assert!(connect(path.as_os_str()).is_err());
        Notify(None).ready();
    }
}
