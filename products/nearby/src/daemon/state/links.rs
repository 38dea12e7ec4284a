//! Connections, by Bluetooth and by IP: what is told of them, and what is written to them.

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tracing::{debug, info, trace};

use super::Inner;
use crate::bluetooth::Told;
use crate::daemon::village;
use crate::room::{Action, Event, Format, Place};

/// A connection, as it is written to.
pub(super) struct Link {
    pub(super) place: Place,
    pub(super) format: Format,
    pub(super) caller: bool,
    pub(super) writer: mpsc::Sender<Vec<u8>>,
    /// What it does not take yet.
    pub(super) held: Option<Vec<u8>>,
}

impl Link {
    /// With whom, where it is by Bluetooth.
    pub(super) fn address(&self) -> Option<bluer::Address> {
        match self.place {
            Place::Bluetooth(address) => Some(bluer::Address(address)),
            Place::Ip(_) => None,
        }
    }
}

impl Inner {
    pub(super) fn told(&mut self, told: Told) {
        match told {
            Told::Seen {
                address,
                format,
                prefix,
                signal,
            } => {
                trace!(%address, format = format.name(), "heard");
                self.happen(Event::Seen {
                    address: address.0,
                    format,
                    prefix,
                    signal,
                });
            }
            Told::Opened(opened) => {
                let link = Link {
                    place: opened.address.0.into(),
                    format: opened.format,
                    caller: opened.caller,
                    writer: opened.writer,
                    held: None,
                };
                info!(
                    address = %opened.address,
                    format = opened.format.name(),
                    caller = opened.caller,
                    frame = opened.frame,
                    "a connection"
                );
                self.links.insert(opened.link, link);
                // It goes both ways: a call that is under way would wait in vain.
                if !opened.caller
                    && opened.format == Format::V2
                    && let Some(bluetooth) = &self.bluetooth
                    && bluetooth.give_up(opened.address)
                {
                    self.happen(Event::Refused(opened.address.0));
                }
                self.happen(Event::Opened {
                    link: opened.link,
                    address: opened.address.0,
                    format: opened.format,
                    caller: opened.caller,
                    id: opened.id,
                    frame: opened.frame,
                });
            }
            Told::Refused(address, why) => {
                debug!(%address, why, "not reached");
                self.let_go(address);
                self.happen(Event::Refused(address.0));
            }
            Told::Heard(link, octets) => {
                if let Some(from) = self.links.get(&link) {
                    self.counts.read(from.format, octets.len());
                }
                self.happen(Event::Heard(link, &octets));
            }
            Told::Whole(link, octets) => {
                self.counts.read(Format::V2, octets.len());
                self.happen(Event::Whole(link, &octets));
            }
            Told::Channel(link, is) => {
                debug!(link, is, "a channel beside the connection");
                self.room.channel(link, is);
                self.pump(link);
            }
            Told::Frames(link, octets) => self.room.frames_of(link, octets),
            Told::Written(link) => self.pump(link),
            Told::Closed(link) => self.hang_up(link),
        }
    }

    pub(super) fn linked(&mut self, told: village::Told) {
        match told {
            village::Told::Reached(reached) => {
                let (address, caller, id) = (reached.address, reached.caller, reached.id);
                info!(%address, %id, caller, "a link");
                let link = Link {
                    place: Place::Ip(address),
                    format: Format::Ip,
                    caller,
                    writer: reached.writer,
                    held: None,
                };
                self.links.insert(reached.link, link);
                self.happen(Event::Reached {
                    link: reached.link,
                    address,
                    caller,
                    id,
                });
            }
            village::Told::Heard(link, record) => {
                self.counts.read(Format::Ip, record.len());
                self.happen(Event::Heard(link, &record));
            }
            village::Told::Written(link) => self.pump(link),
            village::Told::Closed(link) => self.hang_up(link),
        }
    }

    /// A connection is over.
    pub(super) fn close(&mut self, link: u32) {
        if let Some(closed) = self.links.remove(&link) {
            info!(address = %closed.place, format = closed.format.name(), "a connection no longer");
            self.happen(Event::Closed(link));
        }
    }

    /// A connection is over, and what is below it.
    pub(super) fn hang_up(&mut self, link: u32) {
        let Some(place) = self.links.get(&link).map(|it| it.place) else {
            return;
        };
        self.close(link);
        if let Place::Bluetooth(address) = place {
            self.let_go(bluer::Address(address));
        }
    }

    /// What BlueZ has of an address ends, unless somebody speaks by it.
    pub(super) fn let_go(&self, address: bluer::Address) {
        let place = Place::Bluetooth(address.0);
        if !self.links.values().any(|it| it.place == place)
            && let Some(bluetooth) = &self.bluetooth
        {
            bluetooth.close(address);
        }
    }

    /// A connection takes what there is to be written, as much as it can.
    pub(super) fn pump(&mut self, number: u32) {
        loop {
            let now = self.now();
            let Some(link) = self.links.get_mut(&number) else {
                return;
            };
            let mut out = Vec::new();
            let held = link.held.take();
            let next = held.or_else(|| match link.writer.capacity() {
                0 => None,
                _ => self.room.next(now, number, &mut out),
            });
            let is_done = match next {
                None => true,
                Some(frame) => match (frame.len(), link.writer.try_send(frame)) {
                    (octets, Ok(())) => {
                        self.counts.wrote(link.format, octets);
                        false
                    }
                    (_, Err(TrySendError::Full(frame))) => {
                        link.held = Some(frame);
                        true
                    }
                    // That it is closed is told as well.
                    (_, Err(TrySendError::Closed(_))) => true,
                },
            };
            // What follows from it wakes others, and not this one again.
            out.retain(|it| *it != Action::Wake(number));
            self.act(out);
            if is_done {
                return;
            }
        }
    }
}
