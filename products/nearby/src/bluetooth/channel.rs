//! Channels in addition to GATT (L2CAP): one side offers a number, the other reads it and calls.
//!
//! After an error the connection continues without the channel. A channel carries frames only after
//! introductions by both sides: qaul sends none there, and would take a frame for a message.

use std::future::Future;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bluer::gatt::CharacteristicWriter;
use bluer::gatt::remote::Characteristic;
use bluer::l2cap::{PSM_LE_DYN_START, PSM_LE_MAX, Socket, SocketAddr, Stream, StreamListener};
use bluer::{Adapter, Address, AddressType, Device};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tracing::{debug, info};

use super::event::BluetoothEvent;
use crate::Id;
use crate::v2::channel::{self, FRAME, Reader};
use crate::v2::frame::{Control, Frame};

/// Receive size of a channel, in bytes: a frame and its length.
const TAKES: u16 = FRAME as u16 + 4;
/// Backlog of connections that wait for accept.
const BACKLOG: u32 = 4;
/// Timeout for reading the number and opening the channel.
const PATIENCE: Duration = Duration::from_secs(10);
/// Timeout for a write to a channel to start or to finish.
const STALLS: Duration = Duration::from_secs(5);
/// Timeout for reaching a caller by GATT or a channel; a caller beyond it is dropped.
pub const UNHEARD: Duration = Duration::from_secs(2);
/// Time until all notifications sent before a channel carried frames have arrived.
const SETTLES: Duration = Duration::from_secs(1);
/// Delay before the next accept after a failed one.
const AGAIN: Duration = Duration::from_secs(1);
/// Delay before the next write when BlueZ's buffer is full.
const FULL: Duration = Duration::from_millis(5);

/// An open channel.
pub struct OpenChannel<S> {
    /// Byte stream of the channel.
    pub stream: S,
    /// True if this side called.
    pub caller: bool,
}

/// Channels with others, and the number by which they are made.
pub struct Listener {
    listener: StreamListener,
    psm: u16,
}

impl Listener {
    /// Returns the PSM that others read to open a channel.
    pub fn number(&self) -> i32 {
        i32::from(self.psm)
    }

    /// Accepts channels and sends them on until the receiver is dropped.
    pub async fn run(self, made: mpsc::Sender<(Address, Stream)>) {
        loop {
            tokio::select! {
                () = made.closed() => return,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, from)) => {
                        let _ = made.send((from.addr, stream)).await;
                    }
                    Err(error) => {
                        debug!(%error, "cannot accept a channel");
                        tokio::time::sleep(AGAIN).await;
                    }
                },
            }
        }
    }
}

/// Takes the first number of an adapter's that is free. Without one nothing is offered.
pub fn listen(address: Address, kind: AddressType) -> Option<Listener> {
    let tried = || -> io::Result<Listener> {
        let socket = Socket::<Stream>::new_stream()?;
        let mut refused = None;
        for psm in PSM_LE_DYN_START..=PSM_LE_MAX {
            match socket.bind(SocketAddr::new(address, kind, psm)) {
                Ok(()) => {
                    socket.set_recv_mtu(TAKES)?;
                    let listener = socket.listen(BACKLOG)?;
                    return Ok(Listener { listener, psm });
                }
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    };
    let listener = tried();
    if let Err(error) = &listener {
        info!(%error, "cannot offer channels (L2CAP)");
    }
    listener.ok()
}

/// Opens a channel if the peer offers one.
pub async fn call(
    adapter: Adapter,
    device: Device,
    number: Characteristic,
    made: mpsc::Sender<OpenChannel<Stream>>,
) {
    let address = device.address();
    let tried = async {
        let number = number.read().await.map_err(io::Error::other)?;
        let Some(psm) = psm(&number) else {
            return Ok(None);
        };
        let kind = device.address_type().await.map_err(io::Error::other)?;
        let own = adapter.address_type().await.map_err(io::Error::other)?;
        let from = adapter.address().await.map_err(io::Error::other)?;
        let socket = Socket::<Stream>::new_stream()?;
        socket.bind(SocketAddr::new(from, own, 0))?;
        socket.set_recv_mtu(TAKES)?;
        socket
            .connect(SocketAddr::new(address, kind, psm))
            .await
            .map(Some)
    };
    let tried = tokio::time::timeout(PATIENCE, tried).await;
    match tried.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(Some(stream)) => {
            let caller = true;
            let _ = made.send(OpenChannel { stream, caller }).await;
        }
        Ok(None) => debug!(%address, "peer offers no channel"),
        Err(error) => debug!(%address, %error, "no channel"),
    }
}

/// Parses the number of a channel: numbers outside this range have other uses.
fn psm(octets: &[u8]) -> Option<u16> {
    let number = i32::from_be_bytes(octets.try_into().ok()?);
    let psm = u16::try_from(number).ok()?;
    (PSM_LE_DYN_START..=PSM_LE_MAX)
        .contains(&psm)
        .then_some(psm)
}

/// GATT side of a connection, used without a channel.
pub trait Gatt: Send + Sync {
    /// Returns true if frames can be written.
    fn is_there(&self) -> bool;

    /// Writes one frame.
    fn put(&self, frame: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
}

impl Gatt for CharacteristicWriter {
    fn is_there(&self) -> bool {
        true
    }

    /// Writes one frame. The writer itself refuses more than the link's initial frame size: a
    /// caller may announce more later, and 20 bytes always fit.
    async fn put(&self, frame: &[u8]) -> io::Result<()> {
        loop {
            self.sendable().await?;
            match send(
                self.as_raw_fd(),
                frame,
                MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL,
            ) {
                Ok(_) => return Ok(()),
                Err(Errno::EAGAIN | Errno::ENOBUFS) => tokio::time::sleep(FULL).await,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A GATT side that may appear later or never: BlueZ may notify another device.
impl<G: Gatt> Gatt for Arc<OnceLock<G>> {
    fn is_there(&self) -> bool {
        self.get().is_some_and(Gatt::is_there)
    }

    async fn put(&self, frame: &[u8]) -> io::Result<()> {
        match self.get() {
            Some(gatt) => gatt.put(frame).await,
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// Connection with its transports.
pub struct Transport<S, G> {
    pub link: u32,
    pub own: Id,
    pub gatt: G,
    /// Size of a frame by GATT, in bytes; it grows when the peer announces more.
    pub frame: Arc<AtomicUsize>,
    /// True while a channel carries the frames: notifications are then for other devices.
    pub carried: Arc<AtomicBool>,
    /// True while no frames may go by GATT.
    pub hushed: watch::Receiver<bool>,
    /// Frames to write.
    pub frames: mpsc::Receiver<Vec<u8>>,
    /// A new channel replaces the previous one.
    pub made: mpsc::Receiver<OpenChannel<S>>,
    pub told: mpsc::Sender<BluetoothEvent>,
}

/// A channel that is there.
struct Channel<S> {
    writer: WriteHalf<S>,
    reader: AbortHandle,
    /// Progress: one message when the other side introduces itself; the sender closes at the end.
    news: mpsc::Receiver<()>,
    introduced: bool,
    /// True after introductions by both sides.
    carries: bool,
    /// Time of the channel's opening.
    since: Instant,
}

impl<S> Drop for Channel<S> {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl<S, G> Transport<S, G>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
    G: Gatt,
{
    /// Writes frames, until the connection ends.
    pub async fn run(mut self) {
        let mut channel: Option<Channel<S>> = None;
        let late = tokio::time::sleep(UNHEARD);
        let mut late = std::pin::pin!(late);
        loop {
            let carries = channel.as_ref().is_some_and(|it| it.carries);
            let goes = carries || self.gatt.is_there();
            let hushed = !carries && *self.hushed.borrow_and_update();
            let since = channel.as_ref().map_or_else(Instant::now, |it| it.since);
            let settles = carries && !self.carried.load(Ordering::Relaxed);
            let news = async {
                match &mut channel {
                    Some(channel) => channel.news.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                frame = self.frames.recv(), if goes && !hushed => {
                    let Some(frame) = frame else { break };
                    if let Err(error) = self.write(&mut channel, &frame).await {
                        debug!(link = self.link, %error, "not written");
                        break;
                    }
                    let _ = self.told.send(BluetoothEvent::Written(self.link)).await;
                }
                news = news => match news {
                    Some(()) => self.greeted(&mut channel).await,
                    None => self.drop(&mut channel).await,
                },
                Some(made) = self.made.recv() => {
                    self.drop(&mut channel).await;
                    channel = Some(self.begin(made.stream));
                    if made.caller {
                        self.introduce(&mut channel).await;
                    }
                }
                () = tokio::time::sleep_until(since + SETTLES), if settles => {
                    self.carried.store(true, Ordering::Relaxed);
                }
                Ok(()) = self.hushed.changed() => {}
                () = &mut late, if !goes => break,
            }
            if channel.is_none() && !self.gatt.is_there() {
                break;
            }
        }
        let _ = self.told.send(BluetoothEvent::Closed(self.link)).await;
    }

    fn begin(&self, stream: S) -> Channel<S> {
        let (reader, writer) = tokio::io::split(stream);
        let (tell, news) = mpsc::channel(1);
        let reader = tokio::spawn(read(self.link, reader, tell, self.told.clone()));
        Channel {
            writer,
            reader: reader.abort_handle(),
            news,
            introduced: false,
            carries: false,
            since: Instant::now(),
        }
    }

    /// Introduces this side on a channel.
    async fn introduce(&mut self, channel: &mut Option<Channel<S>>) {
        let Some(one) = channel else { return };
        one.introduced = true;
        let id = Frame::Control(Control::Id(self.own)).octets();
        if let Err(error) = put(one, &id).await {
            debug!(link = self.link, %error, "cannot write to a channel");
            self.drop(channel).await;
        }
    }

    /// Handles the peer's introduction: the channel may now carry frames.
    async fn greeted(&mut self, channel: &mut Option<Channel<S>>) {
        if channel.as_ref().is_some_and(|it| !it.introduced) {
            self.introduce(channel).await;
        }
        if let Some(channel) = channel {
            (channel.carries, channel.since) = (true, Instant::now());
            let _ = self
                .told
                .send(BluetoothEvent::Channel(self.link, true))
                .await;
        }
    }

    /// Drops an ended channel. Its waiting chunks are discarded, and resent in the size for GATT.
    async fn drop(&mut self, channel: &mut Option<Channel<S>>) {
        let Some(over) = channel.take() else { return };
        self.carried.store(false, Ordering::Relaxed);
        if over.carries {
            debug!(link = self.link, "channel closed");
            let _ = self
                .told
                .send(BluetoothEvent::Channel(self.link, false))
                .await;
            while let Ok(frame) = self.frames.try_recv() {
                // Flow control stays on GATT; only the remaining frames use the channel.
                if is_control(&frame) && self.gatt.put(&frame).await.is_err() {
                    break;
                }
                let _ = self.told.send(BluetoothEvent::Written(self.link)).await;
            }
        }
    }

    /// Writes a frame by the channel, or without.
    async fn write(&mut self, channel: &mut Option<Channel<S>>, frame: &[u8]) -> io::Result<()> {
        if let Some(one) = channel.as_mut().filter(|it| it.carries) {
            match put(one, frame).await {
                Ok(()) => return Ok(()),
                Err(error) => {
                    debug!(link = self.link, %error, "cannot write to a channel any longer");
                    self.drop(channel).await;
                    if !is_control(frame) {
                        return Ok(());
                    }
                }
            }
        }
        // A longer frame was cut for an ended channel and will be resent in GATT size.
        match frame.len() > self.frame.load(Ordering::Relaxed) {
            true => Ok(()),
            false => self.gatt.put(frame).await,
        }
    }
}

/// Returns true if a frame is flow control rather than a chunk.
fn is_control(frame: &[u8]) -> bool {
    matches!(frame, [0..8, ..])
}

async fn put<S: AsyncWrite>(channel: &mut Channel<S>, frame: &[u8]) -> io::Result<()> {
    let octets = channel::written(frame);
    let written = channel.writer.write_all(&octets);
    let written = tokio::time::timeout(STALLS, written).await;
    written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Reports frames of a channel until the channel ends or a frame is malformed.
async fn read<S: AsyncRead + Unpin>(
    link: u32,
    mut stream: S,
    tell: mpsc::Sender<()>,
    told: mpsc::Sender<BluetoothEvent>,
) {
    let (mut reader, mut known) = (Reader::default(), false);
    let mut octets = vec![0; usize::from(TAKES)];
    loop {
        let some = stream.read(&mut octets);
        let some = match reader.waits() {
            false => some.await,
            true => match tokio::time::timeout(STALLS, some).await {
                Ok(some) => some,
                Err(_) => Err(io::ErrorKind::TimedOut.into()),
            },
        };
        let count = match some {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) => return debug!(link, %error, "cannot read from a channel"),
        };
        let mut all = Vec::new();
        let done = reader.read(octets.get(..count).unwrap_or_default(), &mut all);
        for one in all {
            let event = match one {
                channel::ChannelItem::Message(octets) => BluetoothEvent::Whole(link, octets),
                channel::ChannelItem::Frame(frame) => {
                    if !known {
                        if !matches!(Frame::read(&frame), Ok(Frame::Control(Control::Id(_)))) {
                            return debug!(link, "channel closed: its first frame is not an id");
                        }
                        known = true;
                        let _ = tell.send(()).await;
                    }
                    BluetoothEvent::Heard(link, frame)
                }
            };
            let _ = told.send(event).await;
        }
        if let Err(error) = done {
            return debug!(link, %error, "a channel lies");
        }
    }
}

#[cfg(test)]
mod tests;
