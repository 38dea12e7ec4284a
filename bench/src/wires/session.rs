//! A receiver's side of one connection: the proof, then trial after trial.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use super::code::{Code, Side, random};
use super::collect::{Collection, while_running};
use super::control::{Broken, Control};
use super::device::Device;
use super::message::{Counted, Message, Refusal, Trial};
use super::{SCHEMA, sockets};
use crate::machine::{Machine, processors};

/// For the proof to come.
const PROOF: Duration = Duration::from_secs(10);
/// Before a wrong code is told.
const DELAY: Duration = Duration::from_secs(1);
/// A sender makes one trial after the other: who is silent for so long is gone.
const IDLE: Duration = Duration::from_secs(30);
/// After the announced time: greetings of flows, and what the way takes.
const GRACE: Duration = Duration::from_secs(10);
/// Nothing for so long: no more stragglers come.
const QUIET: Duration = Duration::from_millis(300);
/// RFC 2544 section 26.1 waits two seconds for them.
const STRAGGLERS: Duration = Duration::from_secs(2);
/// Sockets, at most.
const MOST_SOCKETS: usize = 8;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As it should.
    Done,
    /// The sender had another code.
    WrongCode,
    /// The sender is of another version, or no sender at all.
    Stranger,
    /// It came while another one measured.
    Busy,
    /// The sender went away in the middle.
    Vanished,
    /// The receiver was ended.
    Stopped,
    /// The sockets could not be opened.
    NoSocket,
}

impl From<Broken> for Ended {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Closed | Broken::Silent | Broken::Bad(_) => Self::Vanished,
            Broken::Ended => Self::Stopped,
        }
    }
}

/// Speaks the greeting. `Ok`: it knows the code, and is to be told so with this, unless there is
/// another one.
///
/// # Errors
/// How it ended instead. `None`: it only looked whether somebody is there.
pub fn greet(
    control: &mut Control,
    code: &Code,
    stop: &dyn Fn() -> bool,
) -> Result<Message, Option<Ended>> {
    let own = random().map_err(|_| None)?;
    let hello = Message::Hello {
        schema: SCHEMA.into(),
        challenge: own,
    };
    let gone = |broken| match broken {
        Broken::Closed => None,
        Broken::Ended => Some(Ended::Stopped),
        Broken::Silent | Broken::Bad(_) => Some(Ended::Stranger),
    };
    control.say(&hello).map_err(gone)?;
    let begun = Instant::now();
    let challenge = match control.hear(PROOF, stop).map_err(gone)? {
        Message::Hello { schema, challenge } if schema == SCHEMA => challenge,
        _ => return Err(Some(Ended::Stranger)),
    };
    let left = PROOF.saturating_sub(begun.elapsed());
    let Message::Proof { proof } = control.hear(left, stop).map_err(gone)? else {
        return Err(Some(Ended::Stranger));
    };
    if !code.proves(Side::Sender, &challenge, &own, &proof) {
        let begun = Instant::now();
        while begun.elapsed() < DELAY && !stop() {
            std::thread::sleep(Duration::from_millis(20));
        }
        refuse(control, Refusal::WrongCode);
        return Err(Some(Ended::WrongCode));
    }
    let proof = code.prove(Side::Receiver, &challenge, &own);
    let accepted = Message::Accepted {
        proof,
        machine: Machine::this(),
    };
    Ok(accepted)
}

/// Says no.
pub fn refuse(control: &mut Control, reason: Refusal) {
    // Whoever does not hear it is gone.
    let _ = control.say(&Message::Refused { reason });
}

/// Makes the trials that an accepted sender asks for. `told` hears of each what arrived.
pub fn serve(
    control: &mut Control,
    told: &dyn Fn(&Counted),
    stop: &dyn Fn() -> bool,
) -> Result<(), Ended> {
    let gone = |_| Ended::Vanished;
    let local = sockets::canonical(control.stream().local_addr().map_err(gone)?);
    let peer = sockets::canonical(control.stream().peer_addr().map_err(gone)?);
    // Flows come to the address that the sender called, and answers have to come from there: a
    // router's translation knows no other.
    let count = processors().clamp(1, MOST_SOCKETS);
    let Ok(sockets) = sockets::receiving(local, count) else {
        refuse(control, Refusal::NoSocket);
        return Err(Ended::NoSocket);
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
                return Err(Ended::Stranger);
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
) -> Result<Counted, Ended> {
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
    Ok(Counted {
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

/// Until all is sent and nothing more comes, or it takes longer than was announced.
fn wait_for_the_end(
    control: &mut Control,
    collection: &Collection<'_>,
    trial: Trial,
    stop: &dyn Fn() -> bool,
) -> Result<(), Ended> {
    let announced = Duration::from_secs_f64(trial.seconds);
    match control.hear(announced + GRACE, stop)? {
        Message::Over => {}
        Message::Bye => return Err(Ended::Done),
        _ => return Err(Ended::Stranger),
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
