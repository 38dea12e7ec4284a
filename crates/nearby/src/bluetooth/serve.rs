//! What others find here when they call.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use bluer::Address;
use bluer::gatt::CharacteristicReader;
use bluer::gatt::local::{
    Application, Characteristic, CharacteristicControl, CharacteristicControlEvent,
    CharacteristicNotify, CharacteristicNotifyMethod, CharacteristicRead, CharacteristicWrite,
    CharacteristicWriteMethod, Service, characteristic_control,
};
use futures::StreamExt;
use tokio::sync::mpsc;
use tracing::debug;

use super::call::{octets, read, write};
use super::{
    Numbers, Opened, Told, V1, V1_ID, V1_MESSAGE, V2, V2_CHANNEL, V2_ID, V2_MESSAGE, ahead,
};
use crate::Id;
use crate::room::Format;

/// No channel: a number below zero.
const NO_CHANNEL: [u8; 4] = (-1_i32).to_be_bytes();

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
    tokio::spawn(accept(control, numbers.clone(), told.clone()));
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
                    method: CharacteristicWriteMethod::Io,
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

/// Who calls subscribes and writes: with the first of both there is a connection.
async fn accept(mut control: CharacteristicControl, numbers: Numbers, told: mpsc::Sender<Told>) {
    /// What a connection has not yet.
    struct Half {
        link: u32,
        frames: Option<mpsc::Receiver<Vec<u8>>>,
        reads: bool,
        /// It cannot be had any more where nobody writes to the connection.
        writer: mpsc::WeakSender<Vec<u8>>,
    }
    let mut halves: BTreeMap<Address, Half> = BTreeMap::new();
    while let Some(event) = control.next().await {
        let (address, mtu) = match &event {
            CharacteristicControlEvent::Write(asked) => (asked.device_address(), asked.mtu()),
            CharacteristicControlEvent::Notify(writer) => (writer.device_address(), writer.mtu()),
        };
        let is_write = matches!(event, CharacteristicControlEvent::Write(_));
        // A second one of a kind is of another connection.
        let again = |half: &Half| match is_write {
            true => half.reads,
            false => half.frames.is_none(),
        };
        halves
            .retain(|of, half| half.writer.upgrade().is_some() && !(*of == address && again(half)));
        let half = match halves.entry(address) {
            Entry::Occupied(half) => half.into_mut(),
            Entry::Vacant(place) => {
                let link = numbers.next();
                let (writer, frames) = mpsc::channel(ahead(Format::V2));
                let half = Half {
                    link,
                    writer: writer.downgrade(),
                    frames: Some(frames),
                    reads: false,
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
                let _ = told.send(Told::Opened(opened)).await;
                place.insert(half)
            }
        };
        // Who called said meanwhile how much a frame may have.
        let _ = told.send(Told::Frames(half.link, octets(mtu))).await;
        match event {
            CharacteristicControlEvent::Write(asked) => match asked.accept() {
                Ok(reader) => {
                    half.reads = true;
                    let reader: CharacteristicReader = reader;
                    tokio::spawn(read(half.link, reader, told.clone()));
                }
                Err(error) => debug!(%address, %error, "not accepted"),
            },
            CharacteristicControlEvent::Notify(output) => {
                if let Some(frames) = half.frames.take() {
                    tokio::spawn(write(half.link, output, frames, told.clone()));
                }
            }
        }
    }
}
