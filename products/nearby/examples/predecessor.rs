//! Acts as an end of a link as qaul's program for Linux does, rebuilt from its description
//! (`docs/reference/nearby-protocol.md`) for comparison with weir-nearby. Or writes frames at full speed.
//!
//! ```text
//! predecessor ADAPTER hear                                        prints events as lines of JSON
//! predecessor ADAPTER command|request ADDRESS COUNT OCTETS SEED   writes messages
//! predecessor ADAPTER raw ADDRESS COUNT OCTETS SEED               writes unparsed frames
//! ```
//! COUNT and OCTETS describe messages or frames. `command` writes as qaul does, without a response.
//! Each message has its own sender id, which affects the losses.

use std::collections::BTreeMap;
use std::error::Error;
use std::os::fd::AsRawFd;
use std::time::Duration;

use bluer::adv::Advertisement;
use bluer::gatt::local::{
    Application, Characteristic, CharacteristicControlEvent, CharacteristicRead,
    CharacteristicWrite, CharacteristicWriteMethod, Service, characteristic_control,
};
use bluer::gatt::remote::{self, CharacteristicWriteRequest};
use bluer::gatt::{CharacteristicReader, WriteOp};
use bluer::{Adapter, Address, DiscoveryFilter, DiscoveryTransport, Uuid};
use futures::StreamExt;
use nearby::{Id, v1};
use net::hex;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};

const SERVICE: Uuid = Uuid::from_u128(0x99e91399_80ed_4943_9bcb_39c532a76023);
const ID: Uuid = Uuid::from_u128(0x99e91401_80ed_4943_9bcb_39c532a76023);
const MESSAGE: Uuid = Uuid::from_u128(0x99e91402_80ed_4943_9bcb_39c532a76023);
/// Characteristic that the program of qaul names too, without using it.
const RAW: Uuid = Uuid::from_u128(0x99e91403_80ed_4943_9bcb_39c532a76023);
const OWN: Id = Id([0xab, 0x59, 0x7b, 0xa8, 0x80, 0x6c, 0x04, 0x43]);
/// Time from the last write to the exit: BlueZ may still hold frames.
const STAYS: Duration = Duration::from_secs(600);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let session = bluer::Session::new().await?;
    match arguments[..] {
        [adapter, "hear"] => hear(&session.adapter(adapter)?).await,
        [adapter, how, address, count, octets, seed] => {
            let (count, octets) = (count.parse()?, octets.parse()?);
            let messages = messages(count, octets, seed.parse()?);
            let adapter = session.adapter(adapter)?;
            write(&adapter, address.parse()?, how, &messages).await
        }
        _ => Err("see the first lines of examples/predecessor.rs".into()),
    }
}

/// Returns messages of random bytes, equal for equal seeds.
fn messages(count: usize, octets: usize, seed: u32) -> Vec<(Id, Vec<u8>)> {
    let mut dice = seed.max(1);
    let mut octet = move || {
        dice = (u64::from(dice) * 48_271 % 0x7fff_ffff) as u32;
        (dice >> 8) as u8
    };
    let mut one = || {
        let from = Id(std::array::from_fn(|_| octet()));
        (from, (0..octets).map(|_| octet()).collect())
    };
    (0..count).map(|_| one()).collect()
}

fn tell(event: &str, octets: &[u8]) {
    let (sum, octets) = (crc32fast::hash(octets), octets.len());
    println!(
        "{}",
        serde_json::json!({ "event": event, "octets": octets, "sum": sum })
    );
}

/// Finds and connects the device, and returns the characteristic to write to.
async fn reach(
    adapter: &Adapter,
    address: Address,
    wanted: Uuid,
) -> Result<remote::Characteristic> {
    let filter = DiscoveryFilter {
        uuids: [SERVICE].into(),
        transport: DiscoveryTransport::Le,
        ..DiscoveryFilter::default()
    };
    adapter.set_discovery_filter(filter).await?;
    let device = adapter.device(address)?;
    {
        let events = adapter.discover_devices_with_changes().await?;
        let mut events = std::pin::pin!(events);
        // A cached device without a signal strength is not near.
        while !matches!(device.rssi().await, Ok(Some(_))) {
            events.next().await;
        }
    }
    device.connect().await?;
    while !device.is_services_resolved().await? {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    find(&device, wanted).await
}

async fn write(
    adapter: &Adapter,
    address: Address,
    how: &str,
    all: &[(Id, Vec<u8>)],
) -> Result<()> {
    let wanted = if how == "raw" { RAW } else { MESSAGE };
    let found = loop {
        match reach(adapter, address, wanted).await {
            Ok(found) => break found,
            Err(error) => eprintln!("{error}"),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    let op_type = match how {
        "raw" => {
            raw(&found, all).await?;
            tokio::time::sleep(STAYS).await;
            return Ok(());
        }
        "request" => WriteOp::Request,
        _ => WriteOp::Command,
    };
    let asked = CharacteristicWriteRequest {
        op_type,
        ..CharacteristicWriteRequest::default()
    };
    tell("begin", &[]);
    for (from, message) in all {
        for octets in v1::frame(*from, message).chunks(v1::WRITE) {
            found.write_ext(octets, &asked).await?;
        }
        tell("written", message);
    }
    tokio::time::sleep(STAYS).await;
    Ok(())
}

async fn find(device: &bluer::Device, wanted: Uuid) -> Result<remote::Characteristic> {
    for service in device.services().await? {
        for one in service.characteristics().await? {
            if one.uuid().await? == wanted {
                return Ok(one);
            }
        }
    }
    Err("it has no such characteristic".into())
}

/// Writes frames, as fast as the peer accepts them.
async fn raw(found: &remote::Characteristic, all: &[(Id, Vec<u8>)]) -> Result<()> {
    let output = found.write_io().await?;
    tell("begin", &[]);
    for (_, frame) in all {
        loop {
            output.sendable().await?;
            match send(
                output.as_raw_fd(),
                frame,
                MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL,
            ) {
                Ok(_) => break,
                Err(Errno::EAGAIN | Errno::ENOBUFS) => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

async fn hear(adapter: &Adapter) -> Result<()> {
    let (messages, messages_handle) = characteristic_control();
    let (frames, frames_handle) = characteristic_control();
    let written = |uuid, control_handle| Characteristic {
        uuid,
        write: Some(CharacteristicWrite {
            write: true,
            write_without_response: true,
            method: CharacteristicWriteMethod::Io,
            ..CharacteristicWrite::default()
        }),
        control_handle,
        ..Characteristic::default()
    };
    let id = Characteristic {
        uuid: ID,
        read: Some(CharacteristicRead {
            read: true,
            fun: Box::new(|_| Box::pin(async { Ok(OWN.0.to_vec()) })),
            ..CharacteristicRead::default()
        }),
        ..Characteristic::default()
    };
    let service = Service {
        uuid: SERVICE,
        primary: true,
        characteristics: vec![
            id,
            written(MESSAGE, messages_handle),
            written(RAW, frames_handle),
        ],
        ..Service::default()
    };
    let application = Application {
        services: vec![service],
        ..Application::default()
    };
    let _served = adapter.serve_gatt_application(application).await?;
    let said = Advertisement {
        service_uuids: [SERVICE].into(),
        local_name: Some("qaulp".to_owned()),
        discoverable: Some(true),
        ..Advertisement::default()
    };
    let _said = adapter.advertise(said).await?;
    tell("ready", &[]);
    let mut readers: BTreeMap<bool, CharacteristicReader> = BTreeMap::new();
    let (mut messages, mut frames) = (std::pin::pin!(messages), std::pin::pin!(frames));
    let mut heard = Heard::default();
    let mut frames_heard = 0_u32;
    loop {
        let (one, other) = (readers.get(&false), readers.get(&true));
        tokio::select! {
            Some(event) = messages.next() => accept(&mut readers, false, event)?,
            Some(event) = frames.next() => accept(&mut readers, true, event)?,
            octets = next(one) => match octets {
                Some(octets) => heard.write(&octets),
                None => drop(readers.remove(&false)),
            },
            octets = next(other) => match octets {
                Some(octets) => {
                    frames_heard += 1;
                    // Reporting each frame would take longer than the link.
                    if frames_heard.is_multiple_of(50) {
                        tell("frames", &octets);
                    }
                }
                None => drop(readers.remove(&true)),
            },
        }
    }
}

fn accept(
    readers: &mut BTreeMap<bool, CharacteristicReader>,
    which: bool,
    event: CharacteristicControlEvent,
) -> Result<()> {
    if let CharacteristicControlEvent::Write(asked) = event {
        readers.insert(which, asked.accept()?);
    }
    Ok(())
}

async fn next(reader: Option<&CharacteristicReader>) -> Option<Vec<u8>> {
    match reader {
        Some(reader) => reader.recv().await.ok().filter(|it| !it.is_empty()),
        None => std::future::pending().await,
    }
}

/// Part of a message that the receiver has, in hexadecimal digits.
#[derive(Default)]
struct Heard(String);

impl Heard {
    /// Appends a write, padded to twenty bytes with zeros; after a `$` the zeros at the end are
    /// removed, also that of a `0`, which is 30.
    fn write(&mut self, octets: &[u8]) {
        let mut twenty = octets.to_vec();
        twenty.resize(v1::WRITE, 0);
        let digits = hex::text(&twenty);
        self.0 += match digits.contains("24") {
            true => digits.trim_end_matches('0'),
            false => &digits,
        };
        if self.0.len() <= 8 || !self.0.ends_with("2424") {
            return;
        }
        let digits = std::mem::take(&mut self.0);
        let octets = hex::parse(&digits);
        let mut reader = v1::Reader::default();
        let told = octets.map(|it| reader.write(&it)).unwrap_or_default();
        match told.first() {
            Some(Ok((_, message))) => tell("message", message),
            _ => tell("lost", digits.as_bytes()),
        }
    }
}
