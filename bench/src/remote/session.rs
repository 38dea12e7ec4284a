//! Receiver's side of a connection: the proof, then trial after trial.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use super::code::{Code, Side, random};
use super::collect::{Collection, while_running};
use super::control::{Control, ControlError};
use super::device::Device;
use super::message::{Message, Refusal, Trial, TrialResult};
use super::{SCHEMA, sockets};
use crate::machine::{Machine, processors};

/// Longest wait for the proof.
const PROOF: Duration = Duration::from_secs(10);
/// Delay before the refusal of a wrong code.
const DELAY: Duration = Duration::from_secs(1);
/// Longest silence between trials: after it the sender counts as gone.
const IDLE: Duration = Duration::from_secs(30);
/// Grace after the announced time, for greetings of flows and the delay of the way.
const GRACE: Duration = Duration::from_secs(10);
/// Silence after which no more stragglers are expected.
const QUIET: Duration = Duration::from_millis(300);
/// Longest wait for stragglers: the two seconds of RFC 2544 section 26.1.
const STRAGGLERS: Duration = Duration::from_secs(2);
/// Most sockets.
const MOST_SOCKETS: usize = 8;

/// Reason for the end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The sender is done.
    Done,
    /// The sender had another code.
    WrongCode,
    /// The peer is a sender of another version, or not a sender at all.
    Stranger,
    /// Another sender measured at the time.
    Busy,
    /// The sender went away in the middle.
    Vanished,
    /// The receiver was stopped.
    Stopped,
    /// The sockets could not be opened.
    NoSocket,
}

impl From<ControlError> for SessionEnd {
    fn from(broken: ControlError) -> Self {
        match broken {
            ControlError::Closed | ControlError::Silent | ControlError::Bad(_) => Self::Vanished,
            ControlError::Ended => Self::Stopped,
        }
    }
}

/// Does the greeting. If the sender knows the code, returns the message that accepts it. The caller
/// sends that message, unless another sender measures.
///
/// # Errors
/// Returns the end, or `None` if the peer only probed the port, or random numbers failed.
pub fn greet(
    control: &mut Control,
    code: &Code,
    stop: &dyn Fn() -> bool,
) -> Result<Message, Option<SessionEnd>> {
    let own = random().map_err(|_| None)?;
    let hello = Message::Hello {
        schema: SCHEMA.into(),
        challenge: own,
    };
    let gone = |broken| match broken {
        ControlError::Closed => None,
        ControlError::Ended => Some(SessionEnd::Stopped),
        ControlError::Silent | ControlError::Bad(_) => Some(SessionEnd::Stranger),
    };
    control.say(&hello).map_err(gone)?;
    let begun = Instant::now();
    let challenge = match control.hear(PROOF, stop).map_err(gone)? {
        Message::Hello { schema, challenge } if schema == SCHEMA => challenge,
        _ => return Err(Some(SessionEnd::Stranger)),
    };
    let left = PROOF.saturating_sub(begun.elapsed());
    let Message::Proof { proof } = control.hear(left, stop).map_err(gone)? else {
        return Err(Some(SessionEnd::Stranger));
    };
    if !code.proves(Side::Sender, &challenge, &own, &proof) {
        let begun = Instant::now();
        while begun.elapsed() < DELAY && !stop() {
            std::thread::sleep(Duration::from_millis(20));
        }
        refuse(control, Refusal::WrongCode);
        return Err(Some(SessionEnd::WrongCode));
    }
    let proof = code.prove(Side::Receiver, &challenge, &own);
    let accepted = Message::Accepted {
        proof,
        machine: Machine::this(),
    };
    Ok(accepted)
}

/// Sends a refusal.
pub fn refuse(control: &mut Control, reason: Refusal) {
    // A peer that does not receive the refusal is gone.
    let _ = control.say(&Message::Refused { reason });
}

/// Makes the trials that an accepted sender asks for, and calls `told` with each result.
pub fn serve(
    control: &mut Control,
    told: &dyn Fn(&TrialResult),
    stop: &dyn Fn() -> bool,
) -> Result<(), SessionEnd> {
    let gone = |_| SessionEnd::Vanished;
    let local = sockets::canonical(control.stream().local_addr().map_err(gone)?);
    let peer = sockets::canonical(control.stream().peer_addr().map_err(gone)?);
    // Flows arrive at the address that the sender called. Answers have to come from that address:
    // NAT at the router drops all others.
    let count = processors().clamp(1, MOST_SOCKETS);
    let Ok(sockets) = sockets::receiving(local, count) else {
        refuse(control, Refusal::NoSocket);
        return Err(SessionEnd::NoSocket);
    };
    loop {
        match control.hear(IDLE, stop)? {
            Message::Trial(trial) if trial.makes_sense() => {
                let counted = count_trial(control, &sockets, local, peer.ip(), trial, stop)?;
                told(&counted);
                control.say(&Message::Counted(counted))?;
            }
            Message::Bye => return Ok(()),
            _ => {
                refuse(control, Refusal::Nonsense);
                return Err(SessionEnd::Stranger);
            }
        }
    }
}

fn count_trial(
    control: &mut Control,
    sockets: &[UdpSocket],
    local: SocketAddr,
    peer: IpAddr,
    trial: Trial,
    stop: &dyn Fn() -> bool,
) -> Result<TrialResult, SessionEnd> {
    let device = Device::towards(peer).ok().flatten();
    let facts = || {
        let of = device.as_ref();
        (
            sockets::dropped(sockets),
            of.map_or(0, Device::dropped),
            of.map_or(0, Device::carrier_changes),
        )
    };
    let before = facts();
    let (count, ended) = while_running(sockets, trial, |collection| {
        control.say(&Message::Ready {
            port: local.port(),
            sockets: sockets.len(),
        })?;
        wait_for_the_end(control, collection, trial, stop)
    });
    ended?;
    let after = facts();
    Ok(TrialResult {
        packets: count.packets,
        octets: count.octets,
        reordered: count.reordered,
        duplicates: count.duplicates,
        foreign: count.foreign,
        socket_dropped: after.0.saturating_sub(before.0),
        device_dropped: after.1.saturating_sub(before.1),
        carrier_changes: after.2.saturating_sub(before.2),
        seconds: count.seconds,
    })
}

/// Waits until all is sent and stragglers are in, or the announced time and a grace are over.
fn wait_for_the_end(
    control: &mut Control,
    collection: &Collection<'_>,
    trial: Trial,
    stop: &dyn Fn() -> bool,
) -> Result<(), SessionEnd> {
    let announced = Duration::from_secs_f64(trial.seconds);
    match control.hear(announced + GRACE, stop)? {
        Message::Over => {}
        Message::Bye => return Err(SessionEnd::Done),
        _ => return Err(SessionEnd::Stranger),
    }
    let begun = Instant::now();
    while begun.elapsed() < STRAGGLERS && !stop() {
        let quiet = collection.quiet().min(begun.elapsed());
        if quiet >= QUIET {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
