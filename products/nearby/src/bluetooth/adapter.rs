//! Adapters of BlueZ, and their devices.

use std::time::Duration;

use bluer::{Adapter, Address};
use tracing::warn;

/// Delay before repeating a request that BlueZ refused.
pub const AGAIN: Duration = Duration::from_secs(2);

/// Error of an adapter.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// BlueZ does not run.
    #[error("no Bluetooth service on this machine: {0}")]
    Service(String),
    /// BlueZ has no adapter of this name.
    #[error("no Bluetooth adapter {0}{1}")]
    Adapter(String, String),
    /// The adapter is switched off.
    #[error("the Bluetooth adapter {0} is off")]
    Off(String),
    /// BlueZ refused a request.
    #[error("the Bluetooth adapter {0} does not {1}: {2}")]
    Refused(String, &'static str, bluer::Error),
}

impl Error {
    pub fn service(error: bluer::Error) -> Self {
        Self::Service(error.to_string())
    }
}

/// Returns the adapter with that name or address.
pub async fn find(session: &bluer::Session, name: &str) -> Result<Adapter, Error> {
    let refused = |error| Error::Refused(name.to_owned(), "open", error);
    let mut others = Vec::new();
    for one in session.adapter_names().await.map_err(Error::service)? {
        let adapter = session.adapter(&one).map_err(refused)?;
        let address = adapter.address().await.map_err(refused)?.to_string();
        if one == name || address.eq_ignore_ascii_case(name) {
            return Ok(adapter);
        }
        others.push(format!("{one} ({address})"));
    }
    let others = match others.is_empty() {
        true => ", and no other adapter".to_owned(),
        false => format!("; there is {}", others.join(", ")),
    };
    Err(Error::Adapter(name.to_owned(), others))
}

/// Disconnects a device and removes it from BlueZ, which would otherwise remember every device for
/// ever, with outdated capabilities.
pub async fn part(adapter: &Adapter, address: Address) -> bluer::Result<()> {
    let device = adapter.device(address)?;
    // Paired or trusted devices stay.
    match device.is_paired().await? || device.is_trusted().await? {
        true => device.disconnect().await,
        false => adapter.remove_device(address).await,
    }
}

/// Switches an adapter on, which BlueZ may not do at once.
pub async fn switch_on(adapter: &Adapter) -> bluer::Result<()> {
    let mut tries = 0;
    loop {
        match adapter.set_powered(true).await {
            Err(error) if tries < 5 => {
                warn!(%error, adapter = adapter.name(), "cannot switch on the adapter; retrying");
                tries += 1;
                tokio::time::sleep(AGAIN).await;
            }
            done => return done,
        }
    }
}
