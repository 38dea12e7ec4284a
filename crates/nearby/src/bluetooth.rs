//! One adapter of BlueZ's, in both roles: what is near is told, connections are made and taken, and
//! what is written by one comes out of it.

mod call;
mod serve;

use std::collections::BTreeSet;
use std::time::Duration;

use bluer::adv::{Advertisement, AdvertisementHandle};
use bluer::gatt::local::ApplicationHandle;
use bluer::{Adapter, AdapterEvent, Address, DiscoveryFilter, DiscoveryTransport, Uuid};
use futures::StreamExt;
use tokio::sync::{mpsc, watch};
use tracing::{debug, warn};

use crate::Id;
use crate::room::Format;

/// Services, and their characteristics: what is read to know who it is, what is written and notified,
/// and where there is a channel.
const V1: Uuid = Uuid::from_u128(0x99e91399_80ed_4943_9bcb_39c532a76023);
const V1_ID: Uuid = Uuid::from_u128(0x99e91401_80ed_4943_9bcb_39c532a76023);
const V1_MESSAGE: Uuid = Uuid::from_u128(0x99e91402_80ed_4943_9bcb_39c532a76023);
const V2: Uuid = Uuid::from_u128(0x4db14399_0bd0_4445_9906_47d9c4791cff);
const V2_ID: Uuid = Uuid::from_u128(0x4db14401_0bd0_4445_9906_47d9c4791cff);
const V2_MESSAGE: Uuid = Uuid::from_u128(0x4db14402_0bd0_4445_9906_47d9c4791cff);
const V2_CHANNEL: Uuid = Uuid::from_u128(0x4db14403_0bd0_4445_9906_47d9c4791cff);
/// Nobody's company, under which v2 says how an id begins.
const COMPANY: u16 = 0xffff;
/// Longer values were lost between two BlueZ, without a word.
const LONGEST: usize = 244;
/// Frames that wait to be written to a connection: BlueZ takes some before the air does.
const AHEAD: usize = 4;
/// BlueZ connects to nobody while it looks for others, which it does for ten seconds at a time: nobody is
/// looked for while somebody is called, for so long at most. Others are not gone so soon.
const CALLS: Duration = Duration::from_secs(4);
/// Advertisements take turns, each so long: who looks for one of them waits for the other to end.
const TURN: Duration = Duration::from_secs(1);
/// BlueZ is asked again after so long, when it has something else to do.
const BUSY: Duration = Duration::from_millis(200);
/// BlueZ forgets an advertisement when it begins anew, and an adapter may come later.
const AGAIN: Duration = Duration::from_secs(2);

/// What happens at an adapter.
pub enum Told {
    /// An advertisement was heard.
    Seen {
        address: Address,
        format: Format,
        prefix: Option<[u8; 5]>,
        signal: Option<i16>,
    },
    /// There is a connection.
    Opened(Opened),
    /// Who was called was not reached, and why.
    Refused(Address, String),
    /// A frame came by a connection.
    Heard(u32, Vec<u8>),
    /// Frames of it may have so many octets from now on.
    Frames(u32, usize),
    /// A frame was written to it.
    Written(u32),
    /// It is no longer.
    Closed(u32),
}

/// A connection that was opened.
pub struct Opened {
    pub link: u32,
    pub address: Address,
    pub format: Format,
    pub caller: bool,
    pub id: Option<Id>,
    /// Octets of a frame.
    pub frame: usize,
    /// Where frames are to be put to be written.
    pub writer: mpsc::Sender<Vec<u8>>,
}

/// Why there is no Bluetooth.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// BlueZ does not run.
    #[error("there is no Bluetooth service on this machine: {0}")]
    Service(bluer::Error),
    /// It has no such adapter.
    #[error("there is no Bluetooth adapter {0}{1}")]
    Adapter(String, String),
    /// It refused something.
    #[error("the Bluetooth adapter {0} does not {1}: {2}")]
    Refused(String, &'static str, bluer::Error),
}

/// How many frames may wait to be written.
pub fn ahead(format: Format) -> usize {
    match format {
        // Each write is acknowledged before the next.
        Format::V1 => 1,
        Format::V2 => AHEAD,
    }
}

/// An adapter that advertises, and looks for others. Dropping it ends both.
pub struct Bluetooth {
    adapter: Adapter,
    address: Address,
    formats: BTreeSet<Format>,
    told: mpsc::Sender<Told>,
    numbers: Numbers,
    /// Whether somebody is called.
    calling: watch::Sender<bool>,
    _served: ApplicationHandle,
    _said: Vec<AdvertisementHandle>,
}

/// Numbers of connections.
#[derive(Clone, Default)]
pub struct Numbers(std::sync::Arc<std::sync::atomic::AtomicU32>);

impl Numbers {
    fn next(&self) -> u32 {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}

impl Bluetooth {
    /// Begins to advertise and to look for others.
    ///
    /// # Errors
    /// There is no such adapter, or it does not do it.
    pub async fn open(
        name: &str,
        own: Id,
        formats: &BTreeSet<Format>,
        numbers: Numbers,
        told: mpsc::Sender<Told>,
    ) -> Result<Self, Error> {
        let session = bluer::Session::new().await.map_err(Error::Service)?;
        let names = session.adapter_names().await.map_err(Error::Service)?;
        if !names.iter().any(|it| it == name) {
            let others = match names.is_empty() {
                true => ", and no other one".to_owned(),
                false => format!("; there is {}", names.join(", ")),
            };
            return Err(Error::Adapter(name.to_owned(), others));
        }
        let refused = |what| move |error| Error::Refused(name.to_owned(), what, error);
        let adapter = session.adapter(name).map_err(refused("open"))?;
        if !adapter.is_powered().await.unwrap_or(false) {
            power(&adapter).await.map_err(refused("go on"))?;
        }
        let application = serve::application(own, formats, &numbers, &told);
        let served = adapter.serve_gatt_application(application).await;
        let served = served.map_err(refused("serve"))?;
        let mut said = Vec::new();
        for format in formats {
            let handle = adapter.advertise(advertisement(own, *format)).await;
            said.push(handle.map_err(refused("advertise"))?);
        }
        let bluetooth = Self {
            address: adapter
                .address()
                .await
                .map_err(refused("tell its address"))?,
            adapter,
            formats: formats.clone(),
            told,
            numbers,
            calling: watch::Sender::new(false),
            _served: served,
            _said: said,
        };
        Ok(bluetooth)
    }

    /// The adapter's address.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Tells of all who are seen, until the adapter is gone.
    pub async fn look(&self) -> bluer::Error {
        let mut calling = self.calling.subscribe();
        loop {
            match self.discover(&mut calling).await {
                // It is there, and does something else yet.
                Err(error) if error.kind == bluer::ErrorKind::InProgress => {
                    debug!(%error, "does not look yet");
                    tokio::time::sleep(BUSY).await;
                }
                Err(error) => return error,
                Ok(true) => {
                    let done = calling.wait_for(|calls| !calls);
                    // It may take longer than others stay.
                    let _ = tokio::time::timeout(CALLS, done).await;
                }
                // BlueZ ended it: somebody else may have asked for it.
                Ok(false) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    /// Looks for others until somebody is called, or BlueZ ends it: which of both it was.
    async fn discover(&self, calling: &mut watch::Receiver<bool>) -> bluer::Result<bool> {
        let filter = DiscoveryFilter {
            uuids: [V1, V2].into_iter().collect(),
            transport: DiscoveryTransport::Le,
            duplicate_data: true,
            ..DiscoveryFilter::default()
        };
        self.adapter.set_discovery_filter(filter).await?;
        let events = self.adapter.discover_devices_with_changes().await?;
        let mut events = std::pin::pin!(events);
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                Ok(()) = calling.changed() => match *calling.borrow() {
                    true => return Ok(true),
                    false => continue,
                },
            };
            let address = match event {
                Some(AdapterEvent::DeviceAdded(address)) => address,
                Some(_) => continue,
                None => return Ok(false),
            };
            // It may be gone again.
            if let Err(error) = self.see(address).await {
                debug!(%address, %error, "not seen");
            }
        }
    }

    async fn see(&self, address: Address) -> bluer::Result<()> {
        let device = self.adapter.device(address)?;
        // What BlueZ remembers of before is not near.
        let Some(signal) = device.rssi().await? else {
            return Ok(());
        };
        let services = device.uuids().await?.unwrap_or_default();
        let makers = device.manufacturer_data().await?.unwrap_or_default();
        let begin = makers
            .get(&COMPANY)
            .and_then(|it| <[u8; 5]>::try_from(it.as_slice()).ok());
        for (format, service) in [(Format::V1, V1), (Format::V2, V2)] {
            if services.contains(&service) && self.formats.contains(&format) {
                let seen = Told::Seen {
                    address,
                    format,
                    prefix: begin.filter(|_| format == Format::V2),
                    signal: Some(signal),
                };
                // Whoever does not listen any more ends.
                let _ = self.told.send(seen).await;
            }
        }
        Ok(())
    }

    /// Calls somebody: what comes of it is told.
    pub fn call(&self, address: Address) {
        let (adapter, told) = (self.adapter.clone(), self.told.clone());
        let (formats, numbers) = (self.formats.clone(), self.numbers.clone());
        let calling = self.calling.clone();
        calling.send_replace(true);
        tokio::spawn(async move {
            let called = call::call(&adapter, address, &formats, &numbers, &told).await;
            calling.send_replace(false);
            if let Err(error) = called {
                let _ = told.send(Told::Refused(address, error.to_string())).await;
            }
        });
    }

    /// Ends a connection.
    pub fn close(&self, address: Address) {
        let Ok(device) = self.adapter.device(address) else {
            return;
        };
        tokio::spawn(async move {
            if let Err(error) = device.disconnect().await {
                debug!(%address, %error, "not disconnected");
            }
        });
    }

    /// Whether there is a connection with somebody.
    pub async fn is_connected(&self, address: Address) -> bool {
        let device = self.adapter.device(address);
        match device {
            Ok(device) => device.is_connected().await.unwrap_or(false),
            Err(_) => false,
        }
    }
}

/// An adapter is switched on, which BlueZ may not do at once.
async fn power(adapter: &Adapter) -> bluer::Result<()> {
    let mut tries = 0;
    loop {
        match adapter.set_powered(true).await {
            Err(error) if tries < 5 => {
                warn!(%error, adapter = adapter.name(), "does not go on, which is tried again");
                tries += 1;
                tokio::time::sleep(AGAIN).await;
            }
            done => return done,
        }
    }
}

/// What fits into the 31 octets of any adapter: each format has one of its own.
fn advertisement(own: Id, format: Format) -> Advertisement {
    let mut said = Advertisement {
        service_uuids: BTreeSet::from([V1]),
        // Others of v1 take nobody whose name has another length for one of theirs.
        local_name: Some("qaulw".to_owned()),
        discoverable: Some(true),
        duration: Some(TURN),
        ..Advertisement::default()
    };
    if format == Format::V2 {
        said.service_uuids = BTreeSet::from([V2]);
        said.local_name = None;
        said.manufacturer_data.insert(COMPANY, own.0[..5].to_vec());
    }
    said
}
