//! Connects to a device that advertises.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bluer::gatt::remote::{Characteristic, CharacteristicWriteRequest, Service};
use bluer::gatt::{CharacteristicReader, WriteOp};
use bluer::{Adapter, Address, Device};
use futures::future::try_join_all;
use futures::try_join;
use tokio::sync::{mpsc, watch};
use tracing::debug;

use super::channel::{self, Transport};
use super::discover::DiscoveryPause;
use super::event::{BluetoothEvent, ConnectionIds, NewConnection};
use super::profile::{
    LONGEST, LocalDevice, V1, V1_ID, V1_MESSAGE, V2, V2_CHANNEL, V2_ID, V2_MESSAGE, ahead,
};
use crate::Id;
use crate::machine::Format;

/// Timeout for a call. Two devices that call each other miss each other's call: both would wait for
/// 20 s without this limit.
const ANSWERS: Duration = Duration::from_secs(5);
/// Timeout for the peer's services and id.
const PATIENCE: Duration = Duration::from_secs(10);
fn error(text: &str) -> bluer::Error {
    bluer::Error {
        kind: bluer::ErrorKind::Failed,
        message: text.to_owned(),
    }
}

/// Calls a device and reports the connection. A failed call leaves the connection open: the device
/// may have called meanwhile, and BlueZ merges both.
pub async fn call(
    adapter: &Adapter,
    address: Address,
    speaks: &LocalDevice,
    numbers: &ConnectionIds,
    told: &mpsc::Sender<BluetoothEvent>,
    quiet: DiscoveryPause,
) -> bluer::Result<()> {
    let device = adapter.device(address)?;
    quiet.begin().await;
    debug!(%address, "calls");
    let reached = tokio::time::timeout(ANSWERS, reach(&device)).await;
    reached.unwrap_or_else(|_| Err(error("no answer")))?;
    drop(quiet);
    debug!(%address, "it answers");
    let chosen = tokio::time::timeout(PATIENCE, choose(&device, &speaks.formats)).await;
    let (format, service) =
        chosen.unwrap_or_else(|_| Err(error("no answer about its services")))?;
    debug!(%address, format = format.name(), "services found");
    let opened = tokio::time::timeout(
        PATIENCE,
        open(
            (adapter, &device),
            speaks,
            (format, &service),
            numbers,
            told,
        ),
    );
    let done = opened.await;
    done.unwrap_or_else(|_| Err(error("no answer about its id")))
}

async fn reach(device: &Device) -> bluer::Result<()> {
    match device.is_connected().await? {
        true => Ok(()),
        false => device.connect().await,
    }
}

/// Finds the best format that both speak.
async fn choose(device: &Device, formats: &BTreeSet<Format>) -> bluer::Result<(Format, Service)> {
    while !device.is_services_resolved().await? {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Asked for all at once: each answer takes a while.
    let services = device.services().await?;
    let uuids = try_join_all(services.iter().map(Service::uuid)).await?;
    for format in formats.iter().rev() {
        let wanted = match format {
            Format::V1 => V1,
            Format::V2 => V2,
            Format::Ip => continue,
        };
        let found = services.iter().zip(&uuids).find(|(_, it)| **it == wanted);
        if let Some((service, _)) = found {
            return Ok((*format, service.clone()));
        }
    }
    Err(error("it offers none of the services"))
}

/// Finds the characteristics for the id, for the messages and for the channel's number.
async fn find(
    service: &Service,
    format: Format,
) -> bluer::Result<(Characteristic, Characteristic, Option<Characteristic>)> {
    let (id, message) = match format {
        Format::V1 => (V1_ID, V1_MESSAGE),
        Format::V2 | Format::Ip => (V2_ID, V2_MESSAGE),
    };
    let all = service.characteristics().await?;
    let uuids = try_join_all(all.iter().map(Characteristic::uuid)).await?;
    let pick = |wanted| {
        let found = all.iter().zip(&uuids).find(|(_, it)| **it == wanted);
        let found = found.map(|(one, _)| one.clone());
        found.ok_or_else(|| error("missing characteristic"))
    };
    let channel = (format == Format::V2).then(|| pick(V2_CHANNEL).ok());
    Ok((pick(id)?, pick(message)?, channel.flatten()))
}

async fn open(
    (adapter, device): (&Adapter, &Device),
    speaks: &LocalDevice,
    (format, service): (Format, &Service),
    numbers: &ConnectionIds,
    told: &mpsc::Sender<BluetoothEvent>,
) -> bluer::Result<()> {
    let (id, message, channel) = find(service, format).await?;
    let link = numbers.next();
    let (writer, frames) = mpsc::channel(ahead(format));
    let mut frame = crate::v1::WRITE;
    let id = match format {
        Format::V1 => {
            let id = id.read().await?;
            tokio::spawn(write_each(link, message, frames, told.clone()));
            id
        }
        Format::V2 | Format::Ip => {
            let (id, reader, output) =
                try_join!(id.read(), message.notify_io(), message.write_io())?;
            frame = octets(output.mtu());
            let carried = Arc::default();
            tokio::spawn(read(link, reader, Arc::clone(&carried), told.clone()));
            let (make, made) = mpsc::channel(1);
            let line = Transport {
                link,
                own: speaks.own,
                gatt: output,
                frame: Arc::new(frame.into()),
                carried,
                hushed: watch::channel(false).1,
                frames,
                made,
                told: told.clone(),
            };
            tokio::spawn(line.run());
            // The connection is there without it.
            if let Some(number) = channel.filter(|_| speaks.channels) {
                let made = channel::call(adapter.clone(), device.clone(), number, make);
                tokio::spawn(made);
            }
            id
        }
    };
    let id = Id::try_from(&id[..]).map_err(|it| error(&it.to_string()))?;
    let opened = NewConnection {
        link,
        address: device.address(),
        format,
        caller: true,
        id: Some(id),
        frame,
        writer,
    };
    let _ = told.send(BluetoothEvent::Opened(opened)).await;
    Ok(())
}

/// Returns the bytes of a frame for an MTU.
pub fn octets(mtu: usize) -> usize {
    mtu.saturating_sub(3).clamp(crate::v2::FRAME, LONGEST)
}

/// Writes the frames; each write is acknowledged before the next.
async fn write_each(
    link: u32,
    message: Characteristic,
    mut frames: mpsc::Receiver<Vec<u8>>,
    told: mpsc::Sender<BluetoothEvent>,
) {
    let request = CharacteristicWriteRequest {
        op_type: WriteOp::Request,
        ..CharacteristicWriteRequest::default()
    };
    while let Some(frame) = frames.recv().await {
        if let Err(error) = message.write_ext(&frame, &request).await {
            debug!(link, %error, "not written");
            break;
        }
        let _ = told.send(BluetoothEvent::Written(link)).await;
    }
    let _ = told.send(BluetoothEvent::Closed(link)).await;
}

/// Reports received frames until the connection ends. BlueZ (5.66) sends notifications for one
/// device to all devices: with a channel, the frames for this side arrive there.
async fn read(
    link: u32,
    reader: CharacteristicReader,
    carried: Arc<AtomicBool>,
    told: mpsc::Sender<BluetoothEvent>,
) {
    loop {
        match reader.recv().await {
            Ok(frame) if !frame.is_empty() && carried.load(Ordering::Relaxed) => {}
            Ok(frame) if !frame.is_empty() => {
                let _ = told.send(BluetoothEvent::Heard(link, frame)).await;
            }
            Ok(_) => break,
            Err(error) => {
                debug!(link, %error, "not read");
                break;
            }
        }
    }
    let _ = told.send(BluetoothEvent::Closed(link)).await;
}
