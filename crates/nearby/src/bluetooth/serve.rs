//! What others find here when they call.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bluer::Address;
use bluer::gatt::CharacteristicWriter;
use bluer::gatt::local::{
    Application, Characteristic, CharacteristicControl, CharacteristicControlEvent,
    CharacteristicNotify, CharacteristicNotifyMethod, CharacteristicRead, CharacteristicWrite,
    CharacteristicWriteMethod, Service, characteristic_control,
};
use futures::StreamExt;
use tokio::sync::mpsc;
use tracing::debug;

use super::call::write;
use super::{
    Numbers, Opened, Told, V1, V1_ID, V1_MESSAGE, V2, V2_CHANNEL, V2_ID, V2_MESSAGE, ahead,
};
use crate::Id;
use crate::room::Format;

/// Writes that wait to be looked at.
const AHEAD: usize = 16;
/// Who calls and is not notified for so long has no use of its connection.
const UNHEARD: Duration = Duration::from_secs(2);
/// No channel: a number below zero.
const NO_CHANNEL: [u8; 4] = (-1_i32).to_be_bytes();

/// Octets of a frame that is notified on a link that can so much: where who calls takes several values
/// at once, BlueZ says the length of each, and of what does not fit then it leaves the end away.
fn octets(mtu: usize) -> usize {
    super::call::octets(mtu.saturating_sub(2))
}

/// The services of these formats.
pub fn application(
    own: Id,
    formats: &BTreeSet<Format>,
    numbers: &Numbers,
    told: &mpsc::Sender<Told>,
) -> Application {
    let services = formats.iter().map(|format| match format {
        Format::V1 => v1(own, numbers, told),
        // No adapter speaks the last of these.
        Format::V2 | Format::Ip => v2(own, numbers, told),
    });
    Application {
        services: services.collect(),
        ..Application::default()
    }
}

fn value(uuid: bluer::Uuid, octets: Vec<u8>) -> Characteristic {
    let answer = move |_| {
        let octets = octets.clone();
        Box::pin(async move { Ok(octets) }) as std::pin::Pin<Box<_>>
    };
    Characteristic {
        uuid,
        read: Some(CharacteristicRead {
            read: true,
            fun: Box::new(answer),
            ..CharacteristicRead::default()
        }),
        ..Characteristic::default()
    }
}

fn v1(own: Id, numbers: &Numbers, told: &mpsc::Sender<Told>) -> Service {
    let (calls, taken) = mpsc::channel(1);
    tokio::spawn(take(taken, numbers.clone(), told.clone()));
    let writes = move |octets: Vec<u8>, asked: bluer::gatt::local::CharacteristicWriteRequest| {
        let calls = calls.clone();
        Box::pin(async move {
            let _ = calls.send((asked.device_address, octets)).await;
            Ok(())
        }) as std::pin::Pin<Box<_>>
    };
    Service {
        uuid: V1,
        primary: true,
        characteristics: vec![
            value(V1_ID, own.0.to_vec()),
            Characteristic {
                uuid: V1_MESSAGE,
                write: Some(CharacteristicWrite {
                    write: true,
                    write_without_response: true,
                    method: CharacteristicWriteMethod::Fun(Box::new(writes)),
                    ..CharacteristicWrite::default()
                }),
                ..Characteristic::default()
            },
        ],
        ..Service::default()
    }
}

/// Writes of v1: each address has a connection from its first write on.
async fn take(
    mut writes: mpsc::Receiver<(Address, Vec<u8>)>,
    numbers: Numbers,
    told: mpsc::Sender<Told>,
) {
    // Whether a connection was closed is seen by what it would be written to.
    let mut links: BTreeMap<Address, (u32, mpsc::Receiver<Vec<u8>>)> = BTreeMap::new();
    while let Some((address, octets)) = writes.recv().await {
        links.retain(|_, (_, frames)| !frames.is_closed());
        let link = match links.get(&address) {
            Some((link, _)) => *link,
            None => {
                let link = numbers.next();
                let (writer, frames) = mpsc::channel(1);
                links.insert(address, (link, frames));
                let opened = Opened {
                    link,
                    address,
                    format: Format::V1,
                    caller: false,
                    id: None,
                    frame: crate::v1::WRITE,
                    writer,
                };
                let _ = told.send(Told::Opened(opened)).await;
                link
            }
        };
        let _ = told.send(Told::Heard(link, octets)).await;
    }
}

fn v2(own: Id, numbers: &Numbers, told: &mpsc::Sender<Told>) -> Service {
    let (control, control_handle) = characteristic_control();
    let (heard, writes) = mpsc::channel(AHEAD);
    let ends = Ends {
        all: BTreeMap::new(),
        numbers: numbers.clone(),
        told: told.clone(),
    };
    tokio::spawn(accept(control, writes, ends));
    // BlueZ has one socket for what all write, and does not say who wrote: so each write is asked for.
    let write = move |octets: Vec<u8>, asked: bluer::gatt::local::CharacteristicWriteRequest| {
        let heard = heard.clone();
        Box::pin(async move {
            let from = (asked.device_address, usize::from(asked.mtu));
            let _ = heard.send((from, octets)).await;
            Ok(())
        }) as std::pin::Pin<Box<_>>
    };
    Service {
        uuid: V2,
        primary: true,
        characteristics: vec![
            value(V2_ID, own.0.to_vec()),
            Characteristic {
                uuid: V2_MESSAGE,
                write: Some(CharacteristicWrite {
                    write: true,
                    write_without_response: true,
                    method: CharacteristicWriteMethod::Fun(Box::new(write)),
                    ..CharacteristicWrite::default()
                }),
                notify: Some(CharacteristicNotify {
                    notify: true,
                    method: CharacteristicNotifyMethod::Io,
                    ..CharacteristicNotify::default()
                }),
                control_handle,
                ..Characteristic::default()
            },
            value(V2_CHANNEL, NO_CHANNEL.to_vec()),
        ],
        ..Service::default()
    }
}

/// Who writes, by a link that can so much; and what.
type Write = ((Address, usize), Vec<u8>);

/// Connections of v2 that others made.
struct Ends {
    all: BTreeMap<Address, End>,
    numbers: Numbers,
    told: mpsc::Sender<Told>,
}

struct End {
    link: u32,
    since: Instant,
    /// What is to be notified, until there is a socket for it.
    frames: Option<mpsc::Receiver<Vec<u8>>>,
    /// It cannot be had any more where nobody writes to the connection.
    writer: mpsc::WeakSender<Vec<u8>>,
}

impl Ends {
    /// The connection with somebody, made where there is none.
    async fn of(&mut self, (address, mtu): (Address, usize)) -> &mut End {
        self.all.retain(|_, end| end.writer.upgrade().is_some());
        match self.all.entry(address) {
            Entry::Occupied(end) => end.into_mut(),
            Entry::Vacant(place) => {
                let link = self.numbers.next();
                let (writer, frames) = mpsc::channel(ahead(Format::V2));
                let end = End {
                    link,
                    since: Instant::now(),
                    writer: writer.downgrade(),
                    frames: Some(frames),
                };
                let opened = Opened {
                    link,
                    address,
                    format: Format::V2,
                    caller: false,
                    id: None,
                    frame: octets(mtu),
                    writer,
                };
                let _ = self.told.send(Told::Opened(opened)).await;
                place.insert(end)
            }
        }
    }

    /// Somebody wrote.
    async fn write(&mut self, (from, value): Write) {
        let link = self.of(from).await.link;
        // Who called said meanwhile how much a frame may have.
        let frame = octets(from.1);
        let _ = self.told.send(Told::Frames(link, frame)).await;
        let _ = self.told.send(Told::Heard(link, value)).await;
    }

    /// Somebody is to be notified: who is already has another connection now.
    async fn notify(&mut self, output: CharacteristicWriter) {
        let from = (output.device_address(), output.mtu());
        let is_old = |end: &End| end.frames.is_none() && end.writer.upgrade().is_some();
        if let Some(old) = self
            .all
            .get(&from.0)
            .filter(|end| is_old(end))
            .map(|it| it.link)
        {
            self.all.remove(&from.0);
            let _ = self.told.send(Told::Closed(old)).await;
        }
        let end = self.of(from).await;
        let (link, frames) = (end.link, end.frames.take());
        if let Some(frames) = frames {
            tokio::spawn(write(link, output, frames, self.told.clone()));
        }
    }

    /// Older ones of BlueZ (5.66 is) have one socket for all who are to be notified, and what goes into it
    /// goes to all of them: so one at a time calls, and the others are called.
    async fn let_go(&mut self) {
        let waits = |end: &End| end.frames.is_some() && end.since.elapsed() >= UNHEARD;
        let all = self.all.extract_if(.., |_, end| waits(end));
        for (address, end) in all.collect::<Vec<_>>() {
            debug!(%address, "BlueZ notifies another one, so this one is to be called");
            let _ = self.told.send(Told::Closed(end.link)).await;
        }
    }
}

/// Who calls is to be notified, and writes: with the first of both there is a connection.
async fn accept(control: CharacteristicControl, mut writes: mpsc::Receiver<Write>, mut ends: Ends) {
    let mut control = std::pin::pin!(control);
    let mut clock = tokio::time::interval(UNHEARD / 4);
    loop {
        tokio::select! {
            event = control.next() => match event {
                Some(CharacteristicControlEvent::Notify(output)) => ends.notify(output).await,
                Some(CharacteristicControlEvent::Write(_)) => {}
                None => return,
            },
            Some(heard) = writes.recv() => ends.write(heard).await,
            _ = clock.tick() => ends.let_go().await,
        }
    }
}
