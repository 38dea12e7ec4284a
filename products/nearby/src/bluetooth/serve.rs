//! GATT services that other devices find here.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bluer::Address;
use bluer::gatt::CharacteristicWriter;
use bluer::gatt::local::{
    Application, Characteristic, CharacteristicControl, CharacteristicControlEvent,
    CharacteristicNotify, CharacteristicNotifyMethod, CharacteristicRead, CharacteristicWrite,
    CharacteristicWriteMethod, Service, characteristic_control,
};
use bluer::l2cap::Stream;
use futures::StreamExt;
use tokio::sync::{mpsc, watch};
use tracing::debug;

use super::channel::{Listener, OpenChannel, Transport, UNHEARD};
use super::event::{BluetoothEvent, ConnectionIds, NewConnection};
use super::notification_pause::NotificationPause;
use super::profile::{
    LocalDevice, V1, V1_ID, V1_MESSAGE, V2, V2_CHANNEL, V2_ID, V2_MESSAGE, ahead,
};
use crate::Id;
use crate::machine::Format;

/// Capacity of the queue of writes.
const AHEAD: usize = 16;
/// No channel: a number below zero.
const NO_CHANNEL: i32 = -1;
/// Largest number of channels without a write so far: each is kept for [`UNHEARD`].
const STRANGERS: usize = 4;

/// Returns the frame size of notifications for an MTU: if the caller accepts several values at
/// once, BlueZ adds a length to each and truncates longer frames.
fn octets(mtu: usize) -> usize {
    super::call::octets(mtu.saturating_sub(2))
}

/// Builds the services of these formats.
pub fn application(
    speaks: &LocalDevice,
    numbers: &ConnectionIds,
    told: &mpsc::Sender<BluetoothEvent>,
    mut channels: Option<Listener>,
) -> Application {
    let own = speaks.own;
    let services = speaks.formats.iter().map(|format| match format {
        Format::V1 => v1(own, numbers, told),
        // No adapter uses the last of these.
        Format::V2 | Format::Ip => v2(own, numbers, told, channels.take()),
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

fn v1(own: Id, numbers: &ConnectionIds, told: &mpsc::Sender<BluetoothEvent>) -> Service {
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
    numbers: ConnectionIds,
    told: mpsc::Sender<BluetoothEvent>,
) {
    // A closed frame queue shows that its connection was closed.
    let mut links: BTreeMap<Address, (u32, mpsc::Receiver<Vec<u8>>)> = BTreeMap::new();
    while let Some((address, octets)) = writes.recv().await {
        links.retain(|_, (_, frames)| !frames.is_closed());
        let link = match links.get(&address) {
            Some((link, _)) => *link,
            None => {
                let link = numbers.next();
                let (writer, frames) = mpsc::channel(1);
                links.insert(address, (link, frames));
                let opened = NewConnection {
                    link,
                    address,
                    format: Format::V1,
                    caller: false,
                    id: None,
                    frame: crate::v1::WRITE,
                    writer,
                };
                let _ = told.send(BluetoothEvent::Opened(opened)).await;
                link
            }
        };
        let _ = told.send(BluetoothEvent::Heard(link, octets)).await;
    }
}

fn v2(
    own: Id,
    numbers: &ConnectionIds,
    told: &mpsc::Sender<BluetoothEvent>,
    channels: Option<Listener>,
) -> Service {
    let (control, control_handle) = characteristic_control();
    let (heard, writes) = mpsc::channel(AHEAD);
    let number = channels.as_ref().map_or(NO_CHANNEL, Listener::number);
    let (make, made) = mpsc::channel(1);
    if let Some(channels) = channels {
        tokio::spawn(channels.run(make));
    }
    let ends = Ends {
        own,
        all: BTreeMap::new(),
        strangers: VecDeque::new(),
        crowd: NotificationPause::default(),
        hushed: watch::Sender::new(false),
        numbers: numbers.clone(),
        told: told.clone(),
    };
    tokio::spawn(accept(control, writes, made, ends));
    // BlueZ has one socket for all writers and hides the writer: so use requests.
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
            value(V2_CHANNEL, number.to_be_bytes().to_vec()),
        ],
        ..Service::default()
    }
}

/// A write: address and MTU of the writer, and the bytes.
type Write = ((Address, usize), Vec<u8>);

/// Connections of v2 that others made.
struct Ends {
    own: Id,
    all: BTreeMap<Address, End>,
    /// Channels without a connection so far: BlueZ reports the connection later.
    strangers: VecDeque<(Instant, Address, Stream)>,
    crowd: NotificationPause,
    /// True while notifications pause.
    hushed: watch::Sender<bool>,
    numbers: ConnectionIds,
    told: mpsc::Sender<BluetoothEvent>,
}

struct End {
    link: u32,
    since: Instant,
    /// Frames to send, until there is a socket or a channel.
    frames: Option<mpsc::Receiver<Vec<u8>>>,
    /// Bytes of a frame.
    frame: Arc<AtomicUsize>,
    /// The socket by which it is notified, when it has one.
    gatt: Arc<OnceLock<CharacteristicWriter>>,
    make: mpsc::Sender<OpenChannel<Stream>>,
    /// Channels that were made, until the first frame is sent.
    made: Option<mpsc::Receiver<OpenChannel<Stream>>>,
    /// Weak, so that the queue closes once no frames can be sent to the connection.
    writer: mpsc::WeakSender<Vec<u8>>,
}

impl End {
    /// Starts the line once there is a socket or a channel.
    fn begin(
        &mut self,
        own: Id,
        hushed: watch::Receiver<bool>,
        told: &mpsc::Sender<BluetoothEvent>,
    ) {
        if let Some((frames, made)) = self.frames.take().zip(self.made.take()) {
            let line = Transport {
                link: self.link,
                own,
                gatt: Arc::clone(&self.gatt),
                frame: Arc::clone(&self.frame),
                carried: Arc::default(),
                hushed,
                frames,
                made,
                told: told.clone(),
            };
            tokio::spawn(line.run());
        }
    }
}

impl Ends {
    /// Returns the connection of an address, creating a missing one.
    async fn of(&mut self, (address, mtu): (Address, usize)) -> &mut End {
        self.all.retain(|_, end| end.writer.upgrade().is_some());
        match self.all.entry(address) {
            Entry::Occupied(end) => end.into_mut(),
            Entry::Vacant(place) => {
                let link = self.numbers.next();
                let (writer, frames) = mpsc::channel(ahead(Format::V2));
                let (make, made) = mpsc::channel(1);
                let known = self.strangers.iter().position(|(_, of, _)| *of == address);
                let known = known.and_then(|it| self.strangers.remove(it));
                let mut end = End {
                    link,
                    gatt: Arc::default(),
                    frame: Arc::new(octets(mtu).into()),
                    make,
                    made: Some(made),
                    since: Instant::now(),
                    writer: writer.downgrade(),
                    frames: Some(frames),
                };
                let opened = NewConnection {
                    link,
                    address,
                    format: Format::V2,
                    caller: false,
                    id: None,
                    frame: octets(mtu),
                    writer,
                };
                let _ = self.told.send(BluetoothEvent::Opened(opened)).await;
                if let Some((_, _, stream)) = known {
                    let caller = false;
                    // The queue has room for the first channel.
                    let _ = end.make.try_send(OpenChannel { stream, caller });
                    end.begin(self.own, self.hushed.subscribe(), &self.told);
                }
                place.insert(end)
            }
        }
    }

    /// Handles a write.
    async fn write(&mut self, (from, value): Write) {
        let end = self.of(from).await;
        let link = end.link;
        // The caller has announced its MTU in the meantime.
        let frame = octets(from.1);
        end.frame.store(frame, Ordering::Relaxed);
        let _ = self.told.send(BluetoothEvent::Frames(link, frame)).await;
        let _ = self.told.send(BluetoothEvent::Heard(link, value)).await;
    }

    /// Handles a subscription to notifications: a second one means a new connection.
    async fn notify(&mut self, output: CharacteristicWriter) {
        let from = (output.device_address(), output.mtu());
        let is_old = |end: &End| end.gatt.get().is_some() && end.writer.upgrade().is_some();
        if let Some(old) = self
            .all
            .get(&from.0)
            .filter(|end| is_old(end))
            .map(|it| it.link)
        {
            self.all.remove(&from.0);
            let _ = self.told.send(BluetoothEvent::Closed(old)).await;
        }
        let (own, hushed, told) = (self.own, self.hushed.subscribe(), self.told.clone());
        let end = self.of(from).await;
        let _ = end.gatt.set(output);
        end.begin(own, hushed, &told);
    }

    /// Handles a new channel, for a connection of now or soon.
    fn channel(&mut self, address: Address, stream: Stream) {
        let end = self.all.get_mut(&address);
        match end.filter(|end| end.writer.upgrade().is_some()) {
            Some(end) => {
                let caller = false;
                // Surplus channels of one device are closed.
                let _ = end.make.try_send(OpenChannel { stream, caller });
                end.begin(self.own, self.hushed.subscribe(), &self.told);
            }
            None => {
                self.strangers.retain(|(_, of, _)| *of != address);
                if self.strangers.len() >= STRANGERS {
                    self.strangers.pop_front();
                }
                let one = (Instant::now(), address, stream);
                self.strangers.push_back(one);
            }
        }
    }

    /// Pauses notifications while an unsubscribed caller would receive those of others.
    fn hush(&mut self) {
        let hears = |end: &End| end.gatt.get().is_none() && end.since.elapsed() < UNHEARD;
        let hushed = self.crowd.is(Instant::now(), self.all.values().any(hears));
        self.hushed
            .send_if_modified(|it| std::mem::replace(it, hushed) != hushed);
    }

    /// Disconnects callers. Older BlueZ (5.66 is one) has one socket for all subscribers, and sends
    /// each notification to all: so only one peer may call, and this side calls the others.
    async fn let_go(&mut self) {
        self.strangers.retain(|(since, address, _)| {
            let stays = since.elapsed() < UNHEARD;
            if !stays {
                debug!(%address, "channel without a connection closed");
            }
            stays
        });
        let waits = |end: &End| end.frames.is_some() && end.since.elapsed() >= UNHEARD;
        let all = self.all.extract_if(.., |_, end| waits(end));
        for (address, end) in all.collect::<Vec<_>>() {
            debug!(%address, "BlueZ notifies another client: calling this peer instead");
            let _ = self.told.send(BluetoothEvent::Closed(end.link)).await;
        }
    }
}

/// Serves callers: a subscription or a write, whichever is first, opens a connection.
async fn accept(
    control: CharacteristicControl,
    mut writes: mpsc::Receiver<Write>,
    mut made: mpsc::Receiver<(Address, Stream)>,
    mut ends: Ends,
) {
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
            Some((address, stream)) = made.recv() => ends.channel(address, stream),
            _ = clock.tick() => ends.let_go().await,
        }
        ends.hush();
    }
}
