//! A virtual kernel, for tests: it has devices and stations, and does one thing wrong. While one
//! exists, the sockets of this thread talk to it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use nix::errno::Errno;

use super::protocol::{Netlink, Received};
use crate::encode::Encoder;
use crate::event::Mac;
use crate::message::{Attribute, Attributes, Message, Messages, NLMSG_ERROR};

/// The number of its family `nl80211`.
pub const FAMILY: u16 = 35;
/// The access point's device, and the master of the peers' devices.
pub const ACCESS_POINT: u32 = 3;
pub const MASTER: u32 = 4;

const NEWLINK: u16 = 16;
const IFNAME: u16 = 3;

/// Fault of the simulated kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The kernel refuses the request, with this error.
    Refused(Errno),
    /// The kernel carries out the request, and does not answer.
    Silent,
    /// The kernel carries out the request, and its answer is cut short.
    Cut,
    /// The kernel carries out the request, and its answer is malformed.
    Nonsense,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualDevice {
    pub name: String,
    pub up: bool,
    pub master: Option<u32>,
    below: Option<u32>,
}

/// A station.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualStation {
    pub key: bool,
    pub authorized: bool,
    pub device: Option<u32>,
}

/// A socket: its protocol and its number.
type Line = (Netlink, u32);

/// State of the simulated kernel.
#[derive(Debug, Default)]
pub struct VirtualKernel {
    pub devices: BTreeMap<u32, VirtualDevice>,
    pub stations: BTreeMap<Mac, VirtualStation>,
    /// Requests in order: the protocol, and the kind of request.
    pub calls: Vec<(Netlink, u16)>,
    /// Number of the faulty request, and its fault; `true`: all later ones too, or that one alone.
    pub fault: Option<(usize, Fault, bool)>,
    made: u32,
    answers: Vec<(Line, VecDeque<Vec<u8>>)>,
}

thread_local! {
    static THERE: RefCell<Option<VirtualKernel>> = const { RefCell::new(None) };
}

/// Installs a virtual kernel, with an access point, and the master of its peers' devices.
pub fn begin(fault: Option<(usize, Fault, bool)>) {
    let named = |name: &str| VirtualDevice {
        name: name.to_owned(),
        up: true,
        ..VirtualDevice::default()
    };
    let devices = [(ACCESS_POINT, named("wlan0")), (MASTER, named("bat0"))];
    THERE.set(Some(VirtualKernel {
        devices: devices.into(),
        fault,
        made: MASTER,
        ..VirtualKernel::default()
    }));
}

/// Reads or changes the virtual kernel.
pub fn with<T>(look: impl FnOnce(&mut VirtualKernel) -> T) -> T {
    THERE.with_borrow_mut(|there| look(there.as_mut().expect("a made-up kernel")))
}

/// Takes requests, if a virtual kernel is installed.
pub fn takes(line: Line, requests: &[u8]) -> bool {
    THERE.with_borrow_mut(|there| {
        let Some(kernel) = there else { return false };
        for message in Messages::new(requests) {
            kernel.asked(line, &message.expect("whole"));
        }
        true
    })
}

/// Returns its answers, if a virtual kernel is installed.
pub fn gives(line: Line, buffer: &mut [u8]) -> Option<Received> {
    THERE.with_borrow_mut(|there| {
        let answer = there.as_mut()?.queue(line).pop_front();
        let Some(answer) = answer else {
            return Some(Received::Empty);
        };
        buffer[..answer.len()].copy_from_slice(&answer);
        Some(Received::Datagram(answer.len()))
    })
}

impl VirtualKernel {
    /// The index of a device of this name.
    pub fn index(&self, name: &str) -> Option<u32> {
        let mut all = self.devices.iter();
        all.find_map(|(index, made)| (made.name == name).then_some(*index))
    }

    fn queue(&mut self, line: Line) -> &mut VecDeque<Vec<u8>> {
        let at = self.answers.iter().position(|(other, _)| *other == line);
        let at = at.unwrap_or_else(|| {
            self.answers.push((line, VecDeque::new()));
            self.answers.len() - 1
        });
        &mut self.answers[at].1
    }

    fn asked(&mut self, line: Line, message: &Message<'_>) {
        let (protocol, _) = line;
        let of_radios = protocol == Netlink::Generic && message.kind == FAMILY;
        let kind = match of_radios {
            true => u16::from(message.payload[0]),
            false => message.kind,
        };
        let at = self.calls.len();
        self.calls.push((protocol, kind));
        let wrong = self
            .fault
            .filter(|(first, _, always)| at == *first || *always && at > *first);
        let mut encoder = Encoder::default();
        let sequence = message.sequence;
        let done = match wrong {
            Some((_, Fault::Refused(errno), _)) => Err(errno),
            _ if of_radios => self.of_radios(kind, message, &mut encoder),
            _ if protocol == Netlink::Generic => {
                family(sequence, &mut encoder);
                Ok(())
            }
            _ => self.of_devices(message, &mut encoder),
        };
        let code = -done.err().map_or(0, |errno| errno as i32);
        encoder.message(NLMSG_ERROR, 0, sequence, |e| {
            e.fixed(&code.to_ne_bytes());
            e.fixed(&message.payload[..message.payload.len().min(16)]);
        });
        let mut answer = encoder.finish();
        match wrong.map(|(_, fault, _)| fault) {
            Some(Fault::Silent) => return,
            Some(Fault::Cut) => answer.truncate(answer.len() - 17),
            Some(Fault::Nonsense) => answer.fill(0xff),
            Some(Fault::Refused(_)) | None => {}
        }
        self.queue(line).push_back(answer);
    }

    fn of_radios(
        &mut self,
        command: u16,
        message: &Message<'_>,
        out: &mut Encoder,
    ) -> Result<(), Errno> {
        let (_, all) = message.split::<4>("genlmsghdr").expect("whole");
        if command == 85 {
            return Ok(());
        }
        let link = number(&all, 3).ok_or(Errno::EINVAL)?;
        let mac = value(&all, 6).and_then(|value| value.array::<6>("a MAC").ok());
        self.devices.get(&link).ok_or(Errno::ENODEV)?;
        // NL80211_CMD_*.
        match command {
            5 => {
                out.message(FAMILY, 0, message.sequence, |e| {
                    e.fixed(&[7, 0, 0, 0]);
                    for (kind, number) in [(1, 0u32), (3, link), (5, 3), (38, 2412)] {
                        e.attribute(kind, &number.to_ne_bytes());
                    }
                    e.attribute(6, &[2, 0, 0, 0, 0, 0]);
                    e.attribute(52, b"mesh");
                });
                return Ok(());
            }
            7 => {
                let name = value(&all, 4).ok_or(Errno::EINVAL)?.text();
                let index = self.make(name, Some(link))?;
                out.message(FAMILY, 0, message.sequence, |e| {
                    e.fixed(&[7, 0, 0, 0]);
                    e.attribute(3, &index.to_ne_bytes());
                });
                return Ok(());
            }
            8 => {
                self.remove(link);
                return Ok(());
            }
            59 => return Ok(()),
            _ => {}
        }
        let mac = mac.ok_or(Errno::EINVAL)?;
        if command == 19 {
            if self.stations.contains_key(&mac) {
                return Err(Errno::EEXIST);
            }
            self.stations.insert(mac, VirtualStation::default());
            return Ok(());
        }
        let station = self.stations.get_mut(&mac).ok_or(Errno::ENOENT)?;
        match command {
            11 => station.key = true,
            17 => out.message(FAMILY, 0, message.sequence, |e| {
                e.fixed(&[19, 0, 0, 0]);
                e.attribute(3, &link.to_ne_bytes());
                e.attribute(6, &mac);
                e.nested(21, |_| {});
            }),
            18 => {
                if let Some(device) = number(&all, 20) {
                    station.device = Some(device);
                }
                let flags = value(&all, 67).and_then(|flags| flags.array::<8>("flags").ok());
                station.authorized |= flags.is_some_and(|flags| flags[4] & 2 != 0);
            }
            20 => drop(self.stations.remove(&mac)),
            other => panic!("command {other}"),
        }
        Ok(())
    }

    fn of_devices(&mut self, message: &Message<'_>, out: &mut Encoder) -> Result<(), Errno> {
        let (fixed, all) = message.split::<16>("ifinfomsg").expect("whole");
        let name = value(&all, IFNAME).map(|name| name.text());
        let index = u32::from_ne_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
        // NLM_F_CREATE.
        if message.kind == NEWLINK && message.flags & 0x400 != 0 {
            let name = name.ok_or(Errno::EINVAL)?;
            let made = self.make(name, number(&all, 5))?;
            self.devices.entry(made).or_default().master = number(&all, 10);
            return Ok(());
        }
        let index = name.map_or(Some(index), |name| self.index(&name));
        let index = index.filter(|index| self.devices.contains_key(index));
        let index = index.ok_or(Errno::ENODEV)?;
        let made = self.devices.entry(index).or_default();
        match message.kind {
            NEWLINK => {
                made.up |= fixed[8] & 1 != 0;
                made.master = number(&all, 10).or(made.master);
            }
            17 => self.remove(index),
            18 => out.message(NEWLINK, 0, message.sequence, |e| {
                let mut fixed = [0; 16];
                fixed[4..8].copy_from_slice(&index.to_ne_bytes());
                e.fixed(&fixed);
                e.attribute(IFNAME, made.name.as_bytes());
            }),
            other => panic!("request {other}"),
        }
        Ok(())
    }

    fn make(&mut self, name: String, below: Option<u32>) -> Result<u32, Errno> {
        if self.index(&name).is_some() {
            return Err(Errno::EEXIST);
        }
        self.made += 1;
        let made = VirtualDevice {
            name,
            below,
            ..VirtualDevice::default()
        };
        self.devices.insert(self.made, made);
        Ok(self.made)
    }

    /// Removes a device with its upper devices, and the stations behind it.
    fn remove(&mut self, index: u32) {
        self.devices.remove(&index);
        self.stations
            .retain(|_, station| station.device != Some(index));
        let above =
            |(above, made): (&u32, &VirtualDevice)| (made.below == Some(index)).then_some(*above);
        let above: Vec<u32> = self.devices.iter().filter_map(above).collect();
        above.into_iter().for_each(|index| self.remove(index));
    }
}

/// Answers with the number of the requested family.
fn family(sequence: u32, out: &mut Encoder) {
    // GENL_ID_CTRL, CTRL_CMD_NEWFAMILY, CTRL_ATTR_FAMILY_ID.
    out.message(16, 0, sequence, |e| {
        e.fixed(&[1, 2, 0, 0]);
        e.attribute(1, &FAMILY.to_ne_bytes());
    });
}

fn value<'a>(all: &Attributes<'a>, kind: u16) -> Option<Attribute<'a>> {
    all.clone()
        .flatten()
        .find(|attribute| attribute.kind == kind)
}

fn number(all: &Attributes<'_>, kind: u16) -> Option<u32> {
    value(all, kind)?.u32_native("a number").ok()
}
