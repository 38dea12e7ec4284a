//! Moves ports between LAN, uplink and mesh through the process that may write the configuration
//! (`weir setup serve`), and confirms a change once it works. A change that does not work in time
//! is reverted, like every unconfirmed change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use api::{Client, ClientError, Method};
use cables_core::{Offer, Use};
use setup_core::messages::{
    SetupConfirm, SetupOutcome, SetupPortRequest, SetupPortUplink, SetupPorts, SetupPortsRequest,
    SetupRevert, SetupUplinkKind, SetupUse,
};

/// Seconds in which a change has to work: PPPoE and DHCP take a while.
const WITHIN: u64 = 60;
/// Delay before the next request after a failed one, in milliseconds.
const LATER: u64 = 10_000;
/// Interval at which the uses of ports are read again, as people change them too.
const FRESH: u64 = 10_000;
/// Interval of checking that a change on trial is still in place.
const CHECKS: u64 = 3_000;

/// Use of a port in the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredUse {
    pub now: Use,
    /// By an earlier decision, and no person's.
    pub by_itself: bool,
}

/// Requested use of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveRequest {
    pub device: String,
    /// Time at which its link came: another cable needs another decision.
    pub since: u64,
    pub to: Use,
    /// In a mesh: the number of its VXLAN.
    pub vxlan: Option<u32>,
    pub offer: Option<Offer>,
}

/// Result of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveResult {
    /// The configuration is changed, and services know. It has to work yet.
    Made,
    /// The change works, and stays.
    Kept,
    /// No change was made, and the move is not tried again.
    Refused(String),
    /// No change was made, and the move is tried again.
    Later(String),
    /// The change did not work in time: the old use is restored.
    TakenBack,
    /// Another user reverted the change.
    Undone,
}

/// State of a requested use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveCheck {
    Yes,
    NotYet,
    /// The cable that it was for is gone.
    Moot,
}

/// Pending answer to a request that runs in a thread of its own.
type Answer<T> = Receiver<Result<T, ClientError>>;

enum State {
    Rests,
    Reads(Answer<SetupPorts>),
    Asks(Answer<SetupOutcome>, MoveRequest),
    Waits(Waiting),
    Checks(Answer<SetupPorts>, Waiting),
    Confirms(Answer<SetupOutcome>, MoveRequest),
    TakesBack(Answer<SetupOutcome>, MoveRequest),
}

/// A change that has to work yet.
struct Waiting {
    confirm: SetupConfirm,
    wanted: MoveRequest,
    until: u64,
    check_at: u64,
}

/// Moves one port at a time.
pub struct Mover {
    socket: PathBuf,
    state: State,
    uses: BTreeMap<String, ConfiguredUse>,
    /// Time of the next read, and of the next request.
    read_at: u64,
    ask_at: u64,
}

impl Mover {
    /// Creates a mover that sends requests to this socket.
    pub fn new(socket: &Path) -> Self {
        Self {
            socket: socket.to_owned(),
            state: State::Rests,
            uses: BTreeMap::new(),
            read_at: 0,
            ask_at: 0,
        }
    }

    /// Returns the use of a port in the configuration, if known.
    pub fn used(&self, device: &str) -> Option<ConfiguredUse> {
        self.uses.get(device).copied()
    }

    /// Schedules a new read, as the uses may have changed.
    pub fn refresh(&mut self) {
        self.read_at = 0;
    }

    /// Advances the move. Only one port is moved at a time, and `wanted` is ignored meanwhile;
    /// `works` tests the real use of a port.
    pub fn step(
        &mut self,
        now: u64,
        wanted: Option<&MoveRequest>,
        works: impl Fn(&MoveRequest) -> MoveCheck,
    ) -> Option<(MoveRequest, MoveResult)> {
        match (std::mem::replace(&mut self.state, State::Rests), wanted) {
            (State::Rests, _) if now >= self.read_at => {
                self.read_at = now + FRESH;
                self.state = State::Reads(self.ask(|client| client.get("/v1/setup/ports")));
            }
            (State::Rests, Some(wanted)) if now >= self.ask_at => {
                let wish = wish(wanted);
                let path = "/v1/setup/ports";
                let answer = self.ask(move |client| client.send(Method::POST, path, &wish));
                self.state = State::Asks(answer, wanted.clone());
            }
            (State::Rests, _) => {}
            (State::Reads(answer), _) => match answer.try_recv() {
                Err(TryRecvError::Empty) => self.state = State::Reads(answer),
                Ok(Ok(ports)) => self.uses = uses(ports),
                // The request for a move reports the error.
                Ok(Err(_)) | Err(TryRecvError::Disconnected) => {}
            },
            (State::Asks(answer, wanted), _) => match answer.try_recv() {
                Err(TryRecvError::Empty) => self.state = State::Asks(answer, wanted),
                Ok(Ok(done)) => {
                    let confirm = SetupConfirm {
                        number: Some(done.change.number),
                        when: Some(done.change.when),
                    };
                    self.read_at = now;
                    self.state = State::Waits(Waiting {
                        confirm,
                        wanted: wanted.clone(),
                        until: now + WITHIN * 1000,
                        check_at: now,
                    });
                    return Some((wanted, MoveResult::Made));
                }
                Ok(Err(error)) => return Some((wanted, self.refused(&error, now))),
                Err(TryRecvError::Disconnected) => {
                    let told = self.later("the thread of the setup client ended".to_owned(), now);
                    return Some((wanted, told));
                }
            },
            (State::Waits(mut waiting), _) => match works(&waiting.wanted) {
                MoveCheck::Yes => {
                    let (path, confirm) = ("/v1/setup/confirm", waiting.confirm);
                    let answer = self.ask(move |client| client.send(Method::POST, path, &confirm));
                    self.state = State::Confirms(answer, waiting.wanted);
                }
                MoveCheck::NotYet if now < waiting.until && now >= waiting.check_at => {
                    waiting.check_at = now + CHECKS;
                    let answer = self.ask(|client| client.get("/v1/setup/ports"));
                    self.state = State::Checks(answer, waiting);
                }
                MoveCheck::NotYet if now < waiting.until => self.state = State::Waits(waiting),
                MoveCheck::NotYet | MoveCheck::Moot => {
                    let path = "/v1/setup/revert";
                    let revert = SetupRevert {
                        number: None,
                        waiting: waiting.confirm.number,
                    };
                    let answer = self.ask(move |client| client.send(Method::POST, path, &revert));
                    self.state = State::TakesBack(answer, waiting.wanted);
                }
            },
            (State::Checks(answer, waiting), _) => match answer.try_recv() {
                Err(TryRecvError::Empty) => self.state = State::Checks(answer, waiting),
                Ok(Ok(ports)) => {
                    self.uses = uses(ports);
                    let wanted = &waiting.wanted;
                    if self.used(&wanted.device).map(|used| used.now) != Some(wanted.to) {
                        return Some((waiting.wanted, MoveResult::Undone));
                    }
                    self.state = State::Waits(waiting);
                }
                Ok(Err(_)) | Err(TryRecvError::Disconnected) => self.state = State::Waits(waiting),
            },
            (State::TakesBack(answer, wanted), _) => {
                // If the request fails, the journal itself reverts the change.
                if matches!(answer.try_recv(), Err(TryRecvError::Empty)) {
                    self.state = State::TakesBack(answer, wanted);
                    return None;
                }
                self.refresh();
                return Some((wanted, MoveResult::TakenBack));
            }
            (State::Confirms(answer, wanted), _) => {
                let told = match answer.try_recv() {
                    Err(TryRecvError::Empty) => {
                        self.state = State::Confirms(answer, wanted);
                        return None;
                    }
                    Ok(Ok(_)) => MoveResult::Kept,
                    Ok(Err(_)) | Err(TryRecvError::Disconnected) => MoveResult::Undone,
                };
                self.refresh();
                return Some((wanted, told));
            }
        }
        None
    }

    fn refused(&mut self, error: &ClientError, now: u64) -> MoveResult {
        let why = match error {
            ClientError::Problem(problem) if problem.error == "nothing" => {
                self.refresh();
                return MoveResult::Kept;
            }
            ClientError::Problem(problem) if problem.error == "waits" => problem.detail.clone(),
            ClientError::Problem(problem) => {
                let all = [&problem.detail].into_iter().chain(&problem.errors);
                let all: Vec<&str> = all.map(String::as_str).collect();
                return MoveResult::Refused(all.join("; "));
            }
            ClientError::NotRunning(_) | ClientError::NotAllowed(_) => {
                "the setup process does not run: `systemctl enable --now weir-setup`, or \
                 `/etc/init.d/weir-setup start`"
                    .to_owned()
            }
            other => format!("cannot query the setup process: {other}"),
        };
        self.later(why, now)
    }

    fn later(&mut self, why: String, now: u64) -> MoveResult {
        self.ask_at = now + LATER;
        MoveResult::Later(why)
    }

    fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Client) -> Result<T, ClientError> + Send + 'static,
    ) -> Answer<T> {
        let (tell, told) = channel();
        let socket = self.socket.clone();
        thread::spawn(move || {
            // The receiver is gone if weir ends.
            let _ = tell.send(Client::new(&socket).and_then(|client| ask(&client)));
        });
        told
    }
}

fn wish(wanted: &MoveRequest) -> SetupPortsRequest {
    let MoveRequest {
        device, to, vxlan, ..
    } = wanted;
    let offer = wanted.offer.filter(|_| *to == Use::Uplink);
    let uplink = offer.map(|offer| SetupPortUplink {
        kind: match offer.pppoe {
            true => SetupUplinkKind::Pppoe,
            false => SetupUplinkKind::Dhcp,
        },
        vlan: offer.vlan,
    });
    let what = match to {
        Use::Lan => "belongs to the LAN",
        Use::Uplink => "is the uplink",
        Use::Mesh => "belongs to the mesh",
        Use::None => "is unused",
    };
    SetupPortsRequest {
        ports: vec![SetupPortRequest {
            device: device.clone(),
            used: used(*to),
            vxlan: *vxlan,
            uplink,
        }],
        why: format!("{device} {what}"),
        within: Some(WITHIN),
    }
}

fn uses(ports: SetupPorts) -> BTreeMap<String, ConfiguredUse> {
    let one = |port: setup_core::messages::SetupPortUse| {
        let now = match port.used {
            SetupUse::Lan => Use::Lan,
            SetupUse::Uplink => Use::Uplink,
            SetupUse::Mesh => Use::Mesh,
            SetupUse::None => Use::None,
        };
        let by_itself = port.by_weir;
        (port.device, ConfiguredUse { now, by_itself })
    };
    ports.ports.into_iter().map(one).collect()
}

fn used(to: Use) -> SetupUse {
    match to {
        Use::Lan => SetupUse::Lan,
        Use::Uplink => SetupUse::Uplink,
        Use::Mesh => SetupUse::Mesh,
        Use::None => SetupUse::None,
    }
}

#[cfg(test)]
mod tests;
