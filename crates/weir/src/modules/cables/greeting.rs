//! Hellos: what is said at each port, and what those that are heard prove.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ::cables::hello::{Heard, MeshKey, NodeKey, Port, State};
use ::cables::{Hello, Proof};
use kernel::Mac;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockFlag, send};
use tracing::{debug, warn};

use super::config::Cables;
use crate::Error;
use crate::secret::{first_line, seed};
use crate::uplink::speaker;

/// By what this node is known, and by what it knows others of its mesh.
pub struct Keys {
    mesh: MeshKey,
    node: NodeKey,
}

impl Keys {
    /// Reads them; the node's own is made where there is none. `None`: there is no mesh. To be
    /// called with all rights.
    ///
    /// # Errors
    /// One of them cannot be read or made.
    pub fn open(config: &Cables) -> Result<Option<Self>, Error> {
        let Some(file) = config.mesh.0.as_deref() else {
            return Ok(None);
        };
        let hint = "write 16 octets or more into the first line of a file, the same at every node, \
            and name that as `mesh` under [cables]";
        let what = format!("the mesh's secret in {} cannot be used", file.display());
        let failed = |error: &dyn std::error::Error| Error::because(&what, error, hint);
        let secret = first_line(file).map_err(|error| failed(&error))?;
        let mesh = MeshKey::from_secret(&secret).map_err(|error| failed(&error))?;
        private(file);
        let mut own = config.choices.as_os_str().to_owned();
        own.push(".key");
        let own = PathBuf::from(own);
        let node = node(&own).map_err(|error| {
            let what = format!("the node's key in {} cannot be read or made", own.display());
            let hint = "see `choices` under [cables]; without the file, a new key is made";
            Error::because(&what, &error, hint)
        })?;
        Ok(Some(Self { mesh, node }))
    }
}

/// Tells of a secret that others on this machine can read.
fn private(file: &Path) {
    let others = fs::metadata(file).is_ok_and(|it| it.mode() & 0o077 != 0);
    if others {
        let file = file.display();
        warn!("others can read the mesh's secret: chmod 600 {file}");
    }
}

/// The node's key.
fn node(path: &Path) -> io::Result<NodeKey> {
    let none = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    NodeKey::from_seed(seed(path)?).map_err(none)
}

/// A port that says hello and hears it.
pub struct Greeter {
    port: Port,
    device: String,
    speaker: Option<OwnedFd>,
    /// The last hello that was looked at.
    heard: Vec<u8>,
}

impl Greeter {
    /// A port without a link. Without keys it says nothing, and no hello proves anything.
    pub fn new(keys: Option<&Keys>, device: &str, mac: Mac) -> Option<Self> {
        let keys = keys?;
        Some(Self {
            port: Port::new(Some(&keys.mesh), &keys.node, mac, 0),
            device: device.to_owned(),
            speaker: None,
            heard: Vec::new(),
        })
    }

    /// The link came, or went.
    pub fn link(&mut self, up: bool, now: u64) {
        let mut nonce = [0; 16];
        self.heard.clear();
        // Without a nonce nothing can be proven, and a hello that is not said harms nobody.
        match up && getrandom::fill(&mut nonce).is_ok() {
            true => self.port.link(nonce, now),
            false => self.port.unlink(),
        }
    }

    /// A hello came in, or the last one is still there.
    pub fn hear(&mut self, frame: &[u8], own: &[Mac], now: u64) -> Option<Hello> {
        if frame.is_empty() || frame == self.heard {
            return None;
        }
        frame.clone_into(&mut self.heard);
        let heard = self.port.heard(frame, own, now)?;
        debug!(port = self.device, state = ?heard.state, "a hello");
        told(&heard)
    }

    /// Says what is due.
    pub fn speak(&mut self, now: u64) {
        let Some(frame) = self.port.due(now) else {
            return;
        };
        let said = self.speaker().and_then(|speaker| {
            send(speaker.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT).map(drop)
        });
        if let Err(error) = said {
            // The device may have come anew: the next hello has another socket.
            self.speaker = None;
            debug!(port = self.device, %error, "a hello was not sent");
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

/// As the core has it. This router's own is told by its address.
fn told(heard: &Heard) -> Option<Hello> {
    let proof = match heard.state {
        State::Proven => Proof::Proven,
        State::NotYet => Proof::Awaited,
        State::OtherMesh | State::Forged(_) => Proof::None,
        State::Own => return None,
    };
    let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect();
    Some(Hello {
        node: hex(&heard.node[..4]),
        mesh: hex(&heard.mesh),
        proof,
        port: crate::output::mac(&heard.peer),
    })
}
