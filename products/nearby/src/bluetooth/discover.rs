//! Discovers devices in rounds that pause during calls.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use bluer::{Adapter, AdapterEvent, Address, DiscoveryFilter, DiscoveryTransport, ErrorKind};
use futures::{Stream, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tracing::{debug, info, warn};

use super::adapter::{AGAIN, part};
use super::event::BluetoothEvent;
use super::profile::{COMPANY, LocalDevice, NAME, V1, V2};
use crate::machine::Format;
use crate::power::{Needs, Power, Rounds};

/// BlueZ ends a round in the background.
const ENDS: Duration = Duration::from_millis(50);
/// Longest wait for the end of a round before a call: another program may discover too.
const QUIET: Duration = Duration::from_secs(1);

/// Largest number of addresses that BlueZ is asked to forget.
const ADDRESSES: usize = 256;

/// Discovery of devices at one adapter.
pub struct Discovery {
    adapter: Adapter,
    formats: BTreeSet<Format>,
    told: mpsc::Sender<BluetoothEvent>,
    power: Power,
    /// Formats and peers to search for.
    needs: watch::Sender<Needs>,
    /// Number of calls that need discovery to pause.
    quiet: watch::Sender<usize>,
    /// Addresses that BlueZ was asked to forget.
    forgotten: RefCell<BTreeSet<Address>>,
    /// The round that was begun first.
    begun: RefCell<Option<Events>>,
}

type Events = Pin<Box<dyn Stream<Item = AdapterEvent>>>;

/// Pauses discovery while it exists: a call waits for an advertisement of the other device, and
/// during discovery the adapter does not report that advertisement again.
pub struct DiscoveryPause {
    adapter: Adapter,
    quiet: watch::Sender<usize>,
}

impl DiscoveryPause {
    /// Waits until the round that was under way is over.
    pub async fn begin(&self) {
        let until = Instant::now() + QUIET;
        while Instant::now() < until && self.adapter.is_discovering().await.unwrap_or(false) {
            sleep(ENDS).await;
        }
    }
}

impl Drop for DiscoveryPause {
    fn drop(&mut self) {
        self.quiet.send_modify(|count| *count -= 1);
    }
}

impl Discovery {
    /// Creates a discovery for an adapter that reports devices with a format of `speaks`.
    pub fn new(adapter: Adapter, speaks: &LocalDevice, told: mpsc::Sender<BluetoothEvent>) -> Self {
        Self {
            adapter,
            formats: speaks.formats.clone(),
            told,
            power: speaks.power,
            needs: watch::Sender::default(),
            quiet: watch::Sender::new(0),
            forgotten: RefCell::default(),
            begun: RefCell::default(),
        }
    }

    /// Begins the first round, if it can. [`run`](Self::run) reports its results.
    pub async fn begin(&self) {
        let begun = self.start().await.ok();
        *self.begun.borrow_mut() = begun;
    }

    /// Sets the formats and peers to search for from now on.
    pub fn need(&self, needs: Needs) {
        self.needs
            .send_if_modified(|it| std::mem::replace(it, needs) != needs);
    }

    /// Pauses discovery until the returned guard is dropped.
    pub fn quiet(&self) -> DiscoveryPause {
        self.quiet.send_modify(|count| *count += 1);
        DiscoveryPause {
            adapter: self.adapter.clone(),
            quiet: self.quiet.clone(),
        }
    }

    /// Runs rounds for ever: another program may end a round or prevent one.
    pub async fn run(&self) -> Infallible {
        let mut quiet = self.quiet.subscribe();
        let mut fails = false;
        let (began, mut rounds) = (Instant::now(), Rounds::new(self.power));
        loop {
            self.rest(began, &mut rounds).await;
            // The sender is here: it does not end.
            let _ = quiet.wait_for(|count| *count == 0).await;
            // Do not cancel a request for a round: BlueZ would keep that round until the program
            // ends, and start no other.
            let (now, needs) = (began.elapsed().as_millis() as u64, *self.needs.borrow());
            let begun = self.begun.borrow_mut().take();
            let round = match begun {
                Some(events) => Ok(events),
                None => self.start().await,
            };
            let round = match round {
                Ok(events) => {
                    if std::mem::take(&mut fails) {
                        info!(adapter = self.adapter.name(), "searching for others again");
                    }
                    tokio::select! {
                        () = self.hear(events) => rounds.done(now, needs),
                        _ = quiet.wait_for(|count| *count > 0) => {}
                    }
                    Ok(())
                }
                Err(error) => Err(error),
            };
            match round {
                Ok(()) => sleep(ENDS).await,
                // The round before is not over yet.
                Err(error) if error.kind == ErrorKind::DiscoveryActive => sleep(ENDS).await,
                Err(error) => {
                    let adapter = self.adapter.name();
                    match std::mem::replace(&mut fails, true) {
                        false => {
                            warn!(%error, adapter, "cannot search for others; retrying");
                        }
                        true => debug!(%error, adapter, "still cannot search for others"),
                    }
                    sleep(AGAIN).await;
                }
            }
        }
    }

    /// Waits until the next round may begin.
    async fn rest(&self, began: Instant, rounds: &mut Rounds) {
        let mut needs = self.needs.subscribe();
        loop {
            let next = rounds.next(*needs.borrow_and_update());
            let due = began + Duration::from_millis(next);
            tokio::select! {
                () = sleep_until(due) => break,
                // The sender is here: it does not end.
                _ = needs.changed() => {}
            }
        }
    }

    async fn start(&self) -> bluer::Result<Events> {
        let filter = DiscoveryFilter {
            uuids: [V1, V2].into_iter().collect(),
            transport: DiscoveryTransport::Le,
            duplicate_data: true,
            ..DiscoveryFilter::default()
        };
        self.adapter.set_discovery_filter(filter).await?;
        let events = self.adapter.discover_devices_with_changes().await?;
        Ok(Box::pin(events))
    }

    /// Reports devices seen, until a round is over.
    async fn hear(&self, mut events: Events) {
        let until = Instant::now() + Duration::from_millis(self.power.round());
        while let Ok(event) = timeout_at(until, events.next()).await {
            match event {
                Some(AdapterEvent::DeviceAdded(address)) => {
                    // The device may have disappeared again.
                    if let Err(error) = self.see(address).await {
                        debug!(%address, %error, "not seen");
                    }
                }
                Some(_) => {}
                // Another program ended the round.
                None => {
                    sleep(AGAIN).await;
                    break;
                }
            }
        }
    }

    async fn see(&self, address: Address) -> bluer::Result<()> {
        let device = self.adapter.device(address)?;
        // A cached device without a signal strength is not near.
        let Some(signal) = device.rssi().await? else {
            return Ok(());
        };
        let services = device.uuids().await?.unwrap_or_default();
        let makers = device.manufacturer_data().await?.unwrap_or_default();
        let begin = makers
            .get(&COMPANY)
            .and_then(|it| <[u8; 5]>::try_from(it.as_slice()).ok());
        // BlueZ caches services of an earlier connection, and the filter passes only devices that
        // advertise one of ours.
        let is_stale = !services.contains(&V1)
            && !services.contains(&V2)
            && (begin.is_some()
                || device
                    .name()
                    .await?
                    .is_some_and(|it| it.len() == NAME.len()));
        if is_stale && !device.is_connected().await? && self.is_first(address) {
            debug!(%address, "removing stale data from BlueZ");
            return part(&self.adapter, address).await;
        }
        for (format, service) in [(Format::V1, V1), (Format::V2, V2)] {
            if services.contains(&service) && self.formats.contains(&format) {
                let seen = BluetoothEvent::Seen {
                    address,
                    format,
                    prefix: begin.filter(|_| format == Format::V2),
                    signal: Some(signal),
                };
                // A closed receiver means that the program is ending.
                let _ = self.told.send(seen).await;
            }
        }
        Ok(())
    }

    /// Returns true the first time for an address, which may belong to another kind of device.
    fn is_first(&self, address: Address) -> bool {
        let mut forgotten = self.forgotten.borrow_mut();
        forgotten.len() < ADDRESSES && forgotten.insert(address)
    }
}
