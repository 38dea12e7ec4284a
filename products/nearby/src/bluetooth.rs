//! Adapter of BlueZ, in both roles: reports devices nearby, opens and accepts connections, and
//! reads and writes their frames.

mod adapter;
mod call;
mod channel;
mod discover;
pub mod event;
mod notification_pause;
mod profile;
mod serve;
mod service;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use bluer::adv::{Advertisement, AdvertisementHandle};
use bluer::gatt::local::ApplicationHandle;
use bluer::{Adapter, Address};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tracing::debug;

pub use self::adapter::Error;
use self::adapter::{find, part, switch_on};
use self::discover::Discovery;
pub use self::event::{BluetoothEvent, ConnectionIds};
pub use self::profile::LocalDevice;
use self::profile::{COMPANY, NAME, V1, V2};
use self::service::Service;
use crate::machine::Format;
use crate::power::Needs;

/// Duration of each format's advertisement in turn: Bluetooth 4 adapters advertise one at a time.
const TURN: Duration = Duration::from_secs(1);
/// Timeout for answers of BlueZ about its state.
const PATIENCE: Duration = Duration::from_secs(10);
/// Timeout for closing connections: BlueZ itself takes 2 s for one.
const LEAVES: Duration = Duration::from_secs(5);
/// Interval of the check that BlueZ and the adapter still exist.
const LOOK: Duration = Duration::from_secs(2);

/// An adapter that advertises, and scans for others. Dropping it ends both.
pub struct Bluetooth {
    adapter: Adapter,
    address: Address,
    speaks: LocalDevice,
    told: mpsc::Sender<BluetoothEvent>,
    numbers: ConnectionIds,
    service: Service,
    discovery: Discovery,
    /// Calls end with it.
    calls: RefCell<JoinSet<()>>,
    /// Call in progress.
    called: RefCell<Option<(Address, AbortHandle)>>,
    _served: ApplicationHandle,
    _said: Vec<AdvertisementHandle>,
}

impl Bluetooth {
    /// Advertises, and discovers others. `name`: name or address of an adapter; `may_switch` allows
    /// to switch it on.
    ///
    /// # Errors
    /// The adapter is missing, or refuses a request.
    pub async fn open(
        name: &str,
        may_switch: bool,
        speaks: LocalDevice,
        numbers: ConnectionIds,
        told: mpsc::Sender<BluetoothEvent>,
    ) -> Result<Self, Error> {
        // A restart of BlueZ in the meantime must be noticed.
        let service = Service::find().await.map_err(Error::Service)?;
        let session = bluer::Session::new().await.map_err(Error::service)?;
        let refused = |what| move |error| Error::Refused(name.to_owned(), what, error);
        let adapter = find(&session, name).await?;
        if !adapter.is_powered().await.map_err(refused("open"))? {
            if !may_switch {
                return Err(Error::Off(name.to_owned()));
            }
            switch_on(&adapter).await.map_err(refused("switch on"))?;
        }
        let address = adapter
            .address()
            .await
            .map_err(refused("report its address"))?;
        let kind = adapter.address_type().await;
        let kind = kind.map_err(refused("report its address"))?;
        let listener = speaks
            .channels
            .then(|| channel::listen(address, kind))
            .flatten();
        let application = serve::application(&speaks, &numbers, &told, listener);
        let served = adapter.serve_gatt_application(application).await;
        let served = served.map_err(refused("serve"))?;
        let discovery = Discovery::new(adapter.clone(), &speaks, told.clone());
        // Devices that start at the same moment are found too.
        discovery.begin().await;
        let mut said = Vec::new();
        // BlueZ sends the first advertisement first: v2 has the id, which known peers need to call.
        for format in speaks.formats.iter().rev() {
            let handle = adapter.advertise(advertisement(&speaks, *format)).await;
            said.push(handle.map_err(refused("advertise"))?);
        }
        let bluetooth = Self {
            address,
            discovery,
            adapter,
            speaks,
            told,
            numbers,
            service,
            calls: RefCell::default(),
            called: RefCell::default(),
            _served: served,
            _said: said,
        };
        Ok(bluetooth)
    }

    /// Returns the adapter's address.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Reports all devices in range, until the adapter disappears; returns the reason.
    pub async fn look(&self) -> Error {
        tokio::select! {
            error = self.watch() => error,
            never = self.discovery.run() => match never {},
        }
    }

    /// Returns when the adapter is gone or BlueZ has dropped the registrations.
    async fn watch(&self) -> Error {
        let name = || self.adapter.name().to_owned();
        loop {
            tokio::time::sleep(LOOK).await;
            if let Err(why) = self.service.check().await {
                return Error::Service(why);
            }
            match self.adapter.is_powered().await {
                Ok(true) => {}
                Ok(false) => return Error::Off(name()),
                Err(error) => return Error::Adapter(name(), format!(" any more: {error}")),
            }
            // BlueZ restarted between two checks, or another program removed the advertisements.
            match self.adapter.active_advertising_instances().await {
                Ok(count) if usize::from(count) >= self.speaks.formats.len() => {}
                Ok(_) => {
                    let error = bluer::Error {
                        kind: bluer::ErrorKind::NotRegistered,
                        message: "another program removed the advertisement".to_owned(),
                    };
                    return Error::Refused(name(), "keep advertising", error);
                }
                Err(error) => return Error::Refused(name(), "answer", error),
            }
        }
    }

    /// Sets the formats and peers to search for from now on.
    pub fn need(&self, needs: Needs) {
        self.discovery.need(needs);
    }

    /// Calls a device and reports the result as events.
    pub fn call(&self, address: Address) {
        let (adapter, told) = (self.adapter.clone(), self.told.clone());
        let (speaks, numbers) = (self.speaks.clone(), self.numbers.clone());
        let quiet = self.discovery.quiet();
        let mut calls = self.calls.borrow_mut();
        while calls.try_join_next().is_some() {}
        let handle = calls.spawn(async move {
            let called = call::call(&adapter, address, &speaks, &numbers, &told, quiet);
            if let Err(error) = called.await {
                let _ = told
                    .send(BluetoothEvent::Refused(address, error.to_string()))
                    .await;
            }
        });
        *self.called.borrow_mut() = Some((address, handle));
    }

    /// Cancels a call because the peer's own call came through. Returns true if there was one.
    pub fn give_up(&self, address: Address) -> bool {
        let mut called = self.called.borrow_mut();
        match called.take_if(|(of, handle)| *of == address && !handle.is_finished()) {
            Some((_, handle)) => {
                handle.abort();
                true
            }
            None => false,
        }
    }

    /// Ends a connection.
    pub fn close(&self, address: Address) {
        let adapter = self.adapter.clone();
        tokio::spawn(async move {
            if let Err(error) = part(&adapter, address).await {
                debug!(%address, %error, "not disconnected");
            }
        });
    }

    /// Closes connections before the drop: BlueZ 5.66 may crash when a program ends with open ones.
    pub async fn leave(&self, addresses: impl IntoIterator<Item = Address>) {
        let parts = addresses.into_iter().map(|it| part(&self.adapter, it));
        // A missing BlueZ has nothing to end.
        let _ = tokio::time::timeout(LEAVES, futures::future::join_all(parts)).await;
    }

    /// Returns true if a device is connected.
    pub async fn is_connected(&self, address: Address) -> bool {
        let Ok(device) = self.adapter.device(address) else {
            return false;
        };
        // Without a bus there is no answer at all.
        let asked = tokio::time::timeout(PATIENCE, device.is_connected());
        matches!(asked.await, Ok(Ok(true)))
    }
}

/// Returns the advertisement of one format; each fits into the 31 bytes of any adapter.
fn advertisement(speaks: &LocalDevice, format: Format) -> Advertisement {
    let [least, most] = speaks.power.says().map(Duration::from_millis);
    let mut said = Advertisement {
        service_uuids: BTreeSet::from([V1]),
        local_name: Some(NAME.to_owned()),
        discoverable: Some(true),
        duration: Some(TURN),
        min_interval: Some(least),
        max_interval: Some(most),
        ..Advertisement::default()
    };
    if format == Format::V2 {
        said.service_uuids = BTreeSet::from([V2]);
        said.local_name = None;
        said.manufacturer_data
            .insert(COMPANY, speaks.own.0[..5].to_vec());
    }
    said
}
