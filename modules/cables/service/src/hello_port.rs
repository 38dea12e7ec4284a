//! Sends hellos at each port, and checks received ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use cables_core::hello::{Fault, MeshKey, NONCE, NodeKey, Port, ReceivedHello, State, VXLAN};
use cables_core::{Hello, Proof};
use kernel::Mac;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockFlag, send};
use tracing::{debug, warn};

use super::config::Cables;
use runtime::Error;
use runtime::secret::{first_line, seed};
use runtime::uplink::speaker;

/// Keys of the mesh and of this node, and the address and nonce of each port.
pub struct Keys {
    mesh: MeshKey,
    node: NodeKey,
    said: Said,
}

/// Of each port with a link: its address, and the nonce of its hellos. Ports of one router may
/// share an address; nonces are unlike.
type Said = Rc<RefCell<BTreeMap<String, (Mac, [u8; NONCE])>>>;

impl Keys {
    /// Reads the keys; creates the node's own key if missing. `None`: no mesh configured. Call this
    /// with all privileges.
    ///
    /// # Errors
    /// A key cannot be read or created.
    pub fn open(config: &Cables) -> Result<Option<Self>, Error> {
        let Some(file) = config.mesh.0.as_deref() else {
            return Ok(None);
        };
        let hint = "write at least 16 bytes into the first line of a file, the same on every \
            node, and name the file as `mesh` under [cables]";
        let what = format!("cannot use the mesh's secret in {}", file.display());
        let failed = |error: &dyn std::error::Error| Error::with_cause(&what, error, hint);
        let secret = first_line(file).map_err(|error| failed(&error))?;
        let mesh = MeshKey::from_secret(&secret).map_err(|error| failed(&error))?;
        private(file);
        let own = config.choices.with_added_extension("key");
        let node = node(&own).map_err(|error| {
            let what = format!("cannot read or create the node's key in {}", own.display());
            let hint = "see `choices` under [cables]; without the file, a new key is made";
            Error::with_cause(&what, &error, hint)
        })?;
        let said = Said::default();
        Ok(Some(Self { mesh, node, said }))
    }
}

/// Warns about a secret that other users of this machine can read.
fn private(file: &Path) {
    let others = fs::metadata(file).is_ok_and(|it| it.mode() & 0o077 != 0);
    if others {
        let file = file.display();
        warn!("others can read the mesh's secret: chmod 600 {file}");
    }
}

/// Returns the node's key.
fn node(path: &Path) -> io::Result<NodeKey> {
    let none = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    NodeKey::from_seed(seed(path)?).map_err(none)
}

/// A port that sends and receives hellos.
pub struct HelloPort {
    port: Port,
    mac: Mac,
    device: String,
    said: Said,
    speaker: Option<OwnedFd>,
    /// The last verified hello.
    heard: Vec<u8>,
}

impl HelloPort {
    /// Creates a port without a link. Without keys the port sends no hellos, and no hello proves
    /// anything.
    pub fn new(keys: Option<&Keys>, device: &str, mac: Mac) -> Option<Self> {
        let keys = keys?;
        Some(Self {
            port: Port::new(Some(&keys.mesh), &keys.node, mac, VXLAN),
            mac,
            device: device.to_owned(),
            said: Rc::clone(&keys.said),
            speaker: None,
            heard: Vec::new(),
        })
    }

    /// Handles a link that came or went.
    pub fn link(&mut self, up: bool, now: u64) {
        let mut nonce = [0; 16];
        self.heard.clear();
        // Without a nonce no proof is possible, and a missing hello does no harm.
        match up && getrandom::fill(&mut nonce).is_ok() {
            true => {
                self.port.link(nonce, now);
                let said = (self.mac, nonce);
                self.said.borrow_mut().insert(self.device.clone(), said);
            }
            false => self.unlink(),
        }
    }

    fn unlink(&mut self) {
        self.port.unlink();
        self.said.borrow_mut().remove(&self.device);
    }

    /// Sets the stations that sent anything at the port, without own addresses.
    pub fn stations(&mut self, stations: &[Mac], now: u64) {
        self.port.stations(stations, now);
    }

    /// Returns the VXLAN that the mesh requires at this port.
    pub fn vxlan(&self) -> Option<u32> {
        self.port.vxlan()
    }

    /// Handles a received hello, or the last one if it is still there.
    pub fn hear(&mut self, frame: &[u8], own: &[Mac], now: u64) -> Option<Hello> {
        if frame.is_empty() || frame == self.heard {
            return None;
        }
        frame.clone_into(&mut self.heard);
        let heard = self.port.heard(frame, own, now)?;
        debug!(port = self.device, state = ?heard.state, "a hello");
        let own = matches!(heard.state, State::Own | State::Forged(Fault::Old));
        let from = own.then(|| self.came_from(&heard));
        told(&heard, from)
    }

    /// Returns the port that sent an own hello, if its link is still the same: an older hello is a
    /// recording.
    fn came_from(&self, heard: &ReceivedHello) -> Option<String> {
        let said = self.said.borrow();
        let mut ports = said.iter();
        let from = ports.find(|(_, said)| **said == (heard.peer, heard.nonce));
        from.map(|(device, _)| device.clone())
    }

    /// Sends the hellos that are due.
    pub fn speak(&mut self, now: u64) {
        let Some(frame) = self.port.due(now) else {
            return;
        };
        let said = self.speaker().and_then(|speaker| {
            send(speaker.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT).map(drop)
        });
        if let Err(error) = said {
            // The device may be a new one: the next hello has another socket.
            self.speaker = None;
            debug!(port = self.device, %error, "cannot send a hello");
        }
    }

    fn speaker(&mut self) -> Result<&OwnedFd, Errno> {
        if self.speaker.is_none() {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            self.speaker = Some(speaker(&self.device, flags)?);
        }
        self.speaker.as_ref().ok_or(Errno::EBADF)
    }
}

impl Drop for HelloPort {
    fn drop(&mut self) {
        self.unlink();
    }
}

/// As the core has it. `own`: it is this router's own, from this port.
fn told(heard: &ReceivedHello, own: Option<Option<String>>) -> Option<Hello> {
    let from = || net::mac::text(&heard.peer);
    let (proof, port) = match (heard.state, own) {
        (_, Some(port)) => (Proof::Own, port?),
        (State::Proven, None) => (Proof::Proven, from()),
        (State::NotYet, None) => (Proof::Awaited, from()),
        (State::OtherMesh | State::Forged(_) | State::Own, None) => (Proof::None, from()),
    };
    Some(Hello {
        node: net::hex::text(&heard.node[..4]),
        mesh: net::hex::text(&heard.mesh),
        proof,
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACS: [Mac; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

    fn keys() -> Keys {
        Keys {
            mesh: MeshKey::from_secret(&[7; 16]).expect("long enough"),
            node: NodeKey::from_seed([7; 32]).expect("a key"),
            said: Said::default(),
        }
    }

    fn greeter(keys: &Keys, device: &str, mac: Mac) -> HelloPort {
        let mut greeter = HelloPort::new(Some(keys), device, mac).expect("there is a mesh");
        greeter.link(true, 0);
        greeter
    }

    #[test]
    fn an_own_hello_of_this_link_is_a_loop_and_says_from_where() {
        let keys = keys();
        // Ports of a switch in the router have one address.
        for macs in [MACS, [MACS[0]; 2]] {
            let mut one = greeter(&keys, "lan1", macs[0]);
            let mut three = greeter(&keys, "lan3", macs[1]);
            let frame = three.port.due(0).expect("a hello");
            let told = one.hear(&frame, &MACS, 0).expect("it counts");
            assert_eq!((told.proof, &*told.port), (Proof::Own, "lan3"));
            let told = three.hear(&frame, &MACS, 0).expect("it counts");
            assert_eq!((told.proof, &*told.port), (Proof::Own, "lan3"));
        }
    }

    #[test]
    fn an_own_hello_that_was_recorded_is_no_loop() {
        let keys = keys();
        for macs in [MACS, [MACS[0]; 2]] {
            let mut one = greeter(&keys, "lan1", macs[0]);
            let mut three = greeter(&keys, "lan3", macs[1]);
            let frame = three.port.due(0).expect("a hello");
            three.link(false, 1);
            assert_eq!(one.hear(&frame, &MACS, 1), None);
            one.heard.clear();
            three.link(true, 2);
            assert_eq!(one.hear(&frame, &MACS, 2), None);
            one.heard.clear();
            let frame = three.port.due(2).expect("a hello");
            drop(three);
            assert_eq!(one.hear(&frame, &MACS, 2), None);
        }
    }
}
