//! Protocol between libqaul and its Bluetooth module: the protobuf messages of `qaul.sys.ble`
//! (`ble.proto` of qaul's `ble_module`), with the [`room`](crate::room) behind them.
//!
//! Replaces the module in a build of libqaul: requests of libqaul go to [`Module::command`], events
//! of the radio to [`Module::event`]; the results are messages for libqaul or actions for the
//! radio. libqaul passes messages on itself, so the room does not.
//!
//! Differences from the predecessor: a send's result carries the message's id, not the receiver's;
//! success means that the message was acknowledged, not queued; and each message gets one result.

mod wire;

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;

use wire::{Ble, Kind};
pub use wire::{Error, Why};

use crate::Id;
use crate::machine::{Action, Address, Event, Format, Machine, Recipients, Settings};
pub use crate::power::Power;
use crate::v2::LONGEST;

/// Largest number of messages without a result.
const SENDING: usize = 1024;

/// Adapter, as reported to libqaul.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Name: `hci0`.
    pub name: String,
    /// Bluetooth address.
    pub address: Address,
    /// True if the adapter is switched on.
    pub on: bool,
}

/// Action for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleAction {
    /// Send these bytes to libqaul.
    Tell(Vec<u8>),
    /// Start the radio with this id; report the result to [`Module::began`].
    Begin(Id, Power),
    /// Stop the radio.
    End,
    /// Perform this action; never [`Action::Near`], [`Action::Message`] or [`Action::Outcome`].
    Radio(Action),
}

/// A Bluetooth module of libqaul's.
#[derive(Debug)]
pub struct Module {
    device: Device,
    formats: BTreeSet<Format>,
    links: usize,
    room: Option<Machine>,
    /// Peers that libqaul knows.
    told: BTreeSet<Id>,
    /// Messages by number, with the ids that libqaul knows them by.
    sending: BTreeMap<u64, Vec<u8>>,
    number: u64,
}

impl Module {
    /// Creates a stopped module with at most `links` connections.
    pub fn new(device: Device, formats: BTreeSet<Format>, links: usize) -> Self {
        Self {
            device,
            formats,
            links,
            room: None,
            told: BTreeSet::new(),
            sending: BTreeMap::new(),
            number: 0,
        }
    }

    /// Handles a message of libqaul.
    ///
    /// # Errors
    /// The message is not one of `qaul.sys.ble`, or only a module may send it.
    pub fn command(&mut self, now: u64, octets: &[u8]) -> Result<Vec<ModuleAction>, Error> {
        let mut out = Vec::new();
        match wire::read(octets)? {
            Kind::InfoRequest(_) => self.tell(Kind::InfoResponse(self.info()), &mut out),
            Kind::StartRequest(asked) => self.start(&asked, &mut out),
            Kind::StopRequest(_) => self.stop(&mut out),
            Kind::DirectSend(asked) => self.send(now, asked, &mut out),
            _ => return Err(Error::Module),
        }
        Ok(out)
    }

    /// Handles the result of [`ModuleAction::Begin`].
    pub fn began(&mut self, done: Result<(), (Why, String)>) -> Vec<ModuleAction> {
        let mut out = Vec::new();
        if done.is_err() {
            self.room = None;
        }
        self.tell(Kind::StartResult(wire::result(done)), &mut out);
        out
    }

    /// Handles an event of the radio.
    pub fn event(&mut self, now: u64, event: Event<'_>) -> Vec<ModuleAction> {
        let mut out = Vec::new();
        if let Some(room) = &mut self.room {
            let actions = room.handle(now, event);
            self.act(actions, &mut out);
        }
        out
    }

    /// Returns the next frame of a connection that has room for one, and the resulting actions.
    pub fn next(&mut self, now: u64, link: u32) -> (Option<Vec<u8>>, Vec<ModuleAction>) {
        let (mut out, mut actions) = (Vec::new(), Vec::new());
        let room = self.room.as_mut();
        let frame = room.and_then(|room| room.next(now, link, &mut actions));
        self.act(actions, &mut out);
        (frame, out)
    }

    /// Sets the maximum bytes of a connection's frames.
    pub fn frames_of(&mut self, link: u32, octets: usize) {
        if let Some(room) = &mut self.room {
            room.frames_of(link, octets);
        }
    }

    fn tell(&self, kind: Kind, out: &mut Vec<ModuleAction>) {
        let message = Some(kind);
        out.push(ModuleAction::Tell(Ble { message }.encode_to_vec()));
    }

    fn info(&self) -> wire::InfoResponse {
        let device = wire::DeviceInfo {
            ble_support: true,
            id: bluetooth(&self.device.address),
            name: self.device.name.clone(),
            bluetooth_on: self.device.on,
        };
        // Older ones read the one, newer ones the list.
        wire::InfoResponse {
            device: Some(device.clone()),
            devices: vec![device],
        }
    }

    fn start(&mut self, asked: &wire::StartRequest, out: &mut Vec<ModuleAction>) {
        let own = match Id::try_from(asked.qaul_id.as_slice()) {
            Ok(own) => own,
            Err(error) => {
                let failed = Err((Why::Unknown, error.to_string()));
                return self.tell(Kind::StartResult(wire::result(failed)), out);
            }
        };
        // A second start replaces the first.
        if self.room.is_some() {
            self.end(out);
        }
        self.room = Some(Machine::new(Settings {
            own,
            node: None,
            address: self.device.address,
            formats: self.formats.clone(),
            links: self.links,
        }));
        let power = match asked.power_setting {
            0 => Power::Low,
            1 => Power::Balanced,
            _ => Power::Fast,
        };
        out.push(ModuleAction::Begin(own, power));
    }

    fn stop(&mut self, out: &mut Vec<ModuleAction>) {
        if self.room.is_some() {
            self.end(out);
        }
        self.tell(Kind::StopResult(wire::result(Ok(()))), out);
    }

    /// Ends the room: all peers become unavailable, and unfinished messages fail.
    fn end(&mut self, out: &mut Vec<ModuleAction>) {
        self.room = None;
        for message in std::mem::take(&mut self.sending).into_values() {
            self.failed(message, "the module was stopped", out);
        }
        for id in std::mem::take(&mut self.told) {
            self.tell(Kind::DeviceUnavailable(id.into()), out);
        }
        out.push(ModuleAction::End);
    }

    fn send(&mut self, now: u64, asked: wire::DirectSend, out: &mut Vec<ModuleAction>) {
        let to = match Id::try_from(asked.receiver_id.as_slice()) {
            Ok(to) => to,
            Err(error) => return self.failed(asked.message_id, &error.to_string(), out),
        };
        if asked.data.len() > LONGEST {
            let why = format!("a message has at most {LONGEST} octets");
            return self.failed(asked.message_id, &why, out);
        }
        if self.sending.len() >= SENDING {
            return self.failed(asked.message_id, "too many messages are waiting", out);
        }
        let Some(room) = &mut self.room else {
            return self.failed(asked.message_id, "the module was not started", out);
        };
        self.number += 1;
        let (number, mut actions) = (self.number, Vec::new());
        self.sending.insert(number, asked.message_id);
        if room.send(now, Recipients::One(to), number, &asked.data, &mut actions) == 0
            && let Some(message) = self.sending.remove(&number)
        {
            self.failed(message, &format!("{to} is not near"), out);
        }
        self.act(actions, out);
    }

    fn failed(&self, id: Vec<u8>, why: &str, out: &mut Vec<ModuleAction>) {
        let result = wire::DirectSendResult {
            id,
            success: false,
            error_message: why.to_owned(),
        };
        self.tell(Kind::DirectSendResult(result), out);
    }

    fn act(&mut self, actions: Vec<Action>, out: &mut Vec<ModuleAction>) {
        for action in actions {
            match action {
                Action::Near(id, true) => {
                    self.told.insert(id);
                    let found = wire::DeviceDiscovered {
                        qaul_id: id.0.to_vec(),
                        rssi: self.signal(id),
                    };
                    self.tell(Kind::DeviceDiscovered(found), out);
                }
                Action::Near(id, false) => {
                    self.told.remove(&id);
                    self.tell(Kind::DeviceUnavailable(id.into()), out);
                }
                Action::Message { from, octets, .. } => {
                    let received = wire::DirectReceived {
                        from: from.0.to_vec(),
                        data: octets,
                    };
                    self.tell(Kind::DirectReceived(received), out);
                }
                Action::Outcome(number, _, done) => self.settled(number, done, out),
                other => out.push(ModuleAction::Radio(other)),
            }
        }
    }

    fn signal(&self, id: Id) -> i32 {
        let room = self.room.as_ref();
        let peer = room.and_then(|room| room.shown().find(|it| it.id == id));
        let signal = peer.and_then(|it| it.signal);
        signal.map_or(wire::NO_SIGNAL, i32::from)
    }

    fn settled(&mut self, number: u64, done: bool, out: &mut Vec<ModuleAction>) {
        let Some(id) = self.sending.remove(&number) else {
            return;
        };
        if !done {
            return self.failed(id, "the message was not delivered", out);
        }
        let result = wire::DirectSendResult {
            id,
            success: true,
            error_message: String::new(),
        };
        self.tell(Kind::DirectSendResult(result), out);
    }
}

/// Formats a Bluetooth address.
fn bluetooth(address: &Address) -> String {
    let digits: Vec<String> = address.iter().map(|it| format!("{it:02X}")).collect();
    digits.join(":")
}

#[cfg(test)]
mod tests;
