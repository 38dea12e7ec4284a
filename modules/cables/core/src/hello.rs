//! The hello that a port sends to the other end of its cable, and the evaluation of received
//! hellos: only a neighbour that proves possession of the mesh's key, here and now, makes a port of
//! the mesh. docs/reference/cables-hello.md describes its bytes and the attacks that it prevents.
//!
//! Pure: frames, the time and random bytes come from outside.

mod keys;
mod wire;

use detect::Mac;

pub use keys::{InvalidKey, MeshKey, NodeKey, SHORTEST_SECRET};
use wire::{Answer, Body, Hello};
pub use wire::{
    ETHERTYPE, GROUP, LONGEST, MAGIC, MOST_ANSWERS, NETWORK, NODE, NONCE, PROOF, SHORTEST,
    SIGNATURE, VERSION,
};

/// Capability: batman-adv runs on this port.
pub const BATMAN: u16 = 1;
/// Capability: Babel runs on this port.
pub const BABEL: u16 = 2;
/// Capability: the sender can have the mesh in a VXLAN on this port.
pub const VXLAN: u16 = 4;
/// Capability: it has it there, as others than the two ends of a cable are at this port.
pub const IN_VXLAN: u16 = 8;

/// Number of hellos per link without a new neighbour.
pub const FIRST: u32 = 8;
/// Hellos for a new neighbour: at least as many are sent.
pub const FOR_NEWCOMER: u32 = 3;
/// Neighbours that are kept.
pub const MOST_PEERS: usize = MOST_ANSWERS;
/// Milliseconds between two hellos to a neighbour that does not say yet that it is in the VXLAN: a
/// frame may be lost.
pub const AGAIN: u64 = 4000;
/// Limit of repeated hellos to such a neighbour: two minutes.
pub const AGAIN_AT_MOST: u32 = 30;
/// Stations that are remembered: as many as the classifier of a port notes.
const MOST_STATIONS: usize = 16;
/// Milliseconds between two hellos, at least.
pub const PAUSE: u64 = 1000;
/// Milliseconds for which a neighbour that is not proven keeps its place from others.
pub const PATIENCE: u64 = 60_000;

/// Result of the check of a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// A node of this mesh is at the other end of this link, now.
    Proven,
    /// The hello is of this mesh, but does not answer this link's nonce: the first of a new
    /// neighbour, or a recording.
    NotYet,
    /// The hello is of another mesh, or this node has no mesh. Nothing in the hello was checked.
    OtherMesh,
    /// The hello claims to be of this mesh, but is invalid.
    Forged(Fault),
    /// The hello is this router's own: a loop. [`ReceivedHello::peer`] is the port that sent it.
    Own,
}

/// Fault of a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The frame came from another address than the one in the hello: something forwarded the
    /// hello.
    Source,
    /// The sender does not have the mesh's key, or the hello was changed.
    Proof,
    /// The sender does not have the node's key.
    Signature,
    /// Another node of this mesh sends from one of this router's addresses.
    OwnMac,
    /// The hello is signed with this node's key, from an address that this router does not have: a
    /// copy of this router.
    OwnKey,
    /// The hello is this port's own, from before the link came: a recording.
    Old,
}

/// A received hello. Except for [`State::Proven`] and [`State::Own`] its content is unverified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedHello {
    /// The node's public key.
    pub node: [u8; NODE],
    /// The mesh's id.
    pub mesh: [u8; NETWORK],
    /// The address of the port that says to have sent it.
    pub peer: Mac,
    /// The nonce of that port's link. Of an own hello: whether it is of the link that the port has
    /// now, or was recorded ([`Port::nonce`]).
    pub nonce: [u8; NONCE],
    /// Abilities of the sender; unknown bits are ignored.
    pub capabilities: u16,
    /// Result of the check.
    pub state: State,
}

/// A neighbour that is kept: it has the mesh's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Public key of the neighbour.
    pub node: [u8; NODE],
    /// The address of its port.
    pub mac: Mac,
    /// The nonce of its port's link.
    pub nonce: [u8; NONCE],
    /// Abilities of the neighbour.
    pub capabilities: u16,
    /// True if the neighbour answered this link of this port.
    pub proven: bool,
    /// Time at which the neighbour got its slot.
    pub since: u64,
}

/// A link of a port.
#[derive(Clone, Debug)]
struct Link {
    nonce: [u8; NONCE],
    peers: Vec<Peer>,
    /// Hellos that are left.
    left: u32,
    /// Milliseconds behind the next.
    gap: u64,
    /// Time at which the next hello is due.
    next: u64,
    /// Time of the last hello.
    last: Option<u64>,
    /// Other stations at the port.
    stations: Vec<Mac>,
    /// The mesh is in a VXLAN, as long as the link lasts.
    vxlan: bool,
    /// Hellos left for a neighbour that may not have received the VXLAN's announcement.
    again: u32,
}

/// A port that sends and receives hellos.
#[derive(Clone, Debug)]
pub struct Port {
    mesh: Option<MeshKey>,
    key: NodeKey,
    node: [u8; NODE],
    mac: Mac,
    capabilities: u16,
    link: Option<Link>,
}

impl Port {
    /// Creates a port without a link. Without a mesh it sends no hello, and all hellos are foreign.
    pub fn new(mesh: Option<&MeshKey>, key: &NodeKey, mac: Mac, capabilities: u16) -> Self {
        Self {
            mesh: mesh.cloned(),
            key: key.clone(),
            node: key.public(),
            mac,
            // The VXLAN bit follows from the state of the link.
            capabilities: capabilities & !IN_VXLAN,
            link: None,
        }
    }

    /// Starts a new link and forgets all neighbours. The nonce is random and never used before.
    pub fn link(&mut self, nonce: [u8; NONCE], now: u64) {
        self.link = Some(Link {
            nonce,
            peers: Vec::new(),
            left: FIRST,
            gap: PAUSE,
            next: now,
            last: None,
            stations: Vec::new(),
            vxlan: false,
            again: AGAIN_AT_MOST,
        });
    }

    /// Ends the link: sends no more hellos, and removes the neighbours.
    pub fn unlink(&mut self) {
        self.link = None;
    }

    /// Returns the nonce of this link.
    pub fn nonce(&self) -> Option<[u8; NONCE]> {
        self.link.as_ref().map(|link| link.nonce)
    }

    /// Handles a received frame, from the Ethernet header on. `own`: addresses of this router's
    /// ports; this port's need not be among them. `None`: not a hello of this version.
    pub fn heard(&mut self, frame: &[u8], own: &[Mac], now: u64) -> Option<ReceivedHello> {
        let hello = Hello::read(frame)?;
        let state = self.state(&hello, own);
        let body = &hello.body;
        if let (Some(link), State::Proven | State::NotYet) = (&mut self.link, state) {
            link.keep(Peer {
                node: body.node,
                mac: body.mac,
                nonce: body.nonce,
                capabilities: body.capabilities,
                proven: state == State::Proven,
                since: now,
            });
            self.part(now);
        }
        Some(ReceivedHello {
            node: body.node,
            mesh: body.network,
            peer: body.mac,
            nonce: body.nonce,
            capabilities: body.capabilities,
            state,
        })
    }

    /// Sets the stations that sent anything at this port since its link came, with or without own
    /// ones.
    pub fn stations(&mut self, stations: &[Mac], now: u64) {
        let own = self.mac;
        if let Some(link) = &mut self.link {
            let others = stations.iter().filter(|mac| **mac != own);
            link.stations = others.take(MOST_STATIONS).copied().collect();
            self.part(now);
        }
    }

    /// Returns the VXLAN that the mesh requires at this port; `None`: the mesh needs no VXLAN.
    pub fn vxlan(&self) -> Option<u32> {
        let parted = self.link.as_ref().is_some_and(|link| link.vxlan);
        let mesh = self.mesh.as_ref().filter(|_| parted)?;
        Some(mesh.vxlan())
    }

    /// Puts the mesh into a VXLAN if more than two nodes are at this port, or if a neighbour
    /// announces that: it may receive a station that this port does not. Informs the neighbours.
    fn part(&mut self, now: u64) {
        let Some(link) = self.link.as_mut().filter(|link| !link.vxlan) else {
            return;
        };
        let proven = || link.peers.iter().filter(|peer| peer.proven);
        let can = |capabilities: u16| capabilities & VXLAN != 0;
        let Some(first) = proven().next() else { return };
        // A neighbour without VXLAN would be cut off.
        if !can(self.capabilities) || !proven().all(|peer| can(peer.capabilities)) {
            return;
        }
        let told = |peer: &Peer| peer.capabilities & IN_VXLAN != 0;
        if proven().nth(1).is_some()
            || told(first)
            || link.stations.iter().any(|mac| *mac != first.mac)
        {
            link.vxlan = true;
            link.soon(now);
        }
    }

    /// Cheap checks come first: a signature is verified only if its sender has the mesh's key.
    fn state(&self, hello: &Hello, own: &[Mac]) -> State {
        let body = &hello.body;
        let of_mesh = |mesh: &&MeshKey| mesh.network() == body.network;
        let Some(mesh) = self.mesh.as_ref().filter(of_mesh) else {
            return State::OtherMesh;
        };
        if hello.from != body.mac {
            return State::Forged(Fault::Source);
        }
        if !mesh.proves(hello.proven, hello.proof) {
            return State::Forged(Fault::Proof);
        }
        if !keys::signed(&body.node, hello.signed, hello.signature) {
            return State::Forged(Fault::Signature);
        }
        let of_port = body.mac == self.mac;
        match (body.node == self.node, of_port || own.contains(&body.mac)) {
            (true, true) if of_port && self.nonce() != Some(body.nonce) => {
                State::Forged(Fault::Old)
            }
            (true, true) => State::Own,
            (true, false) => State::Forged(Fault::OwnKey),
            (false, true) => State::Forged(Fault::OwnMac),
            (false, false) if self.answered(&body.answers) => State::Proven,
            (false, false) => State::NotYet,
        }
    }

    fn answered(&self, answers: &[Answer]) -> bool {
        let said = |nonce| Answer {
            mac: self.mac,
            nonce,
        };
        self.nonce()
            .is_some_and(|nonce| answers.contains(&said(nonce)))
    }

    /// Returns the frame to send now, if one is due.
    pub fn due(&mut self, now: u64) -> Option<Vec<u8>> {
        let (mesh, link) = (self.mesh.as_ref()?, self.link.as_mut()?);
        if link.left == 0 || now < link.next {
            return None;
        }
        link.left -= 1;
        link.last = Some(now);
        link.next = now.saturating_add(link.gap);
        link.gap = link.gap.saturating_mul(2);
        if link.left == 0 && link.again > 0 && link.is_alone() {
            (link.left, link.again) = (1, link.again - 1);
            link.next = now.saturating_add(AGAIN);
        }
        let answer = |peer: &Peer| Answer {
            mac: peer.mac,
            nonce: peer.nonce,
        };
        let body = Body {
            capabilities: self.capabilities | if link.vxlan { IN_VXLAN } else { 0 },
            network: mesh.network(),
            node: self.node,
            mac: self.mac,
            nonce: link.nonce,
            answers: link.peers.iter().map(answer).collect(),
        };
        let mut frame = body.begun();
        frame.extend(mesh.prove(&frame));
        frame.extend(self.key.sign(&frame));
        Some(frame)
    }

    /// Returns the time of the next frame; now at the earliest. `None`: no frame is due.
    pub fn wake(&self, now: u64) -> Option<u64> {
        let link = self.link.as_ref().filter(|link| link.left > 0)?;
        self.mesh.as_ref().map(|_| link.next.max(now))
    }

    /// Returns the neighbours: four at most, and only those that have, or once had, the mesh's key.
    pub fn peers(&self) -> &[Peer] {
        self.link.as_ref().map_or(&[], |link| &link.peers)
    }

    /// Returns true if more than one proven neighbour is at this port, so it leads to a switch: a
    /// cable has one remote end.
    pub fn behind_switch(&self) -> bool {
        self.peers().iter().filter(|peer| peer.proven).count() > 1
    }
}

impl Link {
    /// Returns true if the link is in the VXLAN, and a neighbour does not announce that it is too.
    fn is_alone(&self) -> bool {
        let outside = |peer: &Peer| peer.proven && peer.capabilities & IN_VXLAN == 0;
        self.vxlan && self.peers.iter().any(outside)
    }

    /// Keeps a neighbour, if there is a place for it.
    fn keep(&mut self, new: Peer) {
        let same =
            |peer: &Peer| peer.node == new.node && peer.mac == new.mac && peer.nonce == new.nonce;
        if let Some(known) = self.peers.iter_mut().find(|peer| same(peer)) {
            // A hello of this link without a proof may be a recording: the proven state stays.
            if known.proven && !new.proven {
                return;
            }
            known.capabilities = new.capabilities;
            if !new.proven {
                return;
            }
            known.proven = true;
            // Earlier links of the same remote port are over.
            let over = |peer: &Peer| peer.node == new.node && peer.mac == new.mac && !same(peer);
            self.peers.retain(|peer| !over(peer));
            return;
        }
        if new.proven {
            // Proven at once: the neighbour had lost its place before it answered.
            let over = |peer: &Peer| peer.node == new.node && peer.mac == new.mac;
            self.peers.retain(|peer| !over(peer));
        }
        if self.peers.len() >= MOST_PEERS {
            let waited = |peer: &Peer| new.since.saturating_sub(peer.since) >= PATIENCE;
            let gives_way = |peer: &Peer| !peer.proven && (new.proven || waited(peer));
            let Some(place) = self.peers.iter().position(gives_way) else {
                return;
            };
            self.peers.remove(place);
        }
        self.peers.push(new);
        self.soon(new.since);
    }

    /// Schedules changed content as soon as allowed, and once more, as a frame may be lost.
    fn soon(&mut self, now: u64) {
        self.left = self.left.max(FOR_NEWCOMER);
        self.gap = PAUSE;
        let soon = self.last.map_or(now, |last| last.saturating_add(PAUSE));
        self.next = self.next.min(soon.max(now));
    }
}
