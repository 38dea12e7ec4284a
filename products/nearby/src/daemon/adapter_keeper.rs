//! Keeps the adapter: reopens a lost adapter and repeats all registrations.

use std::convert::Infallible;
use std::time::Duration;

use tracing::{debug, info, warn};

use super::state::State;
use crate::bluetooth::{Bluetooth, Error};

/// Interval of attempts to open a missing adapter.
const AGAIN: Duration = Duration::from_secs(2);

/// Keeps the adapter open. `open` receives true if it may switch the adapter on, false if the
/// adapter was switched off during the run.
pub async fn keep(
    state: &State,
    open: impl AsyncFn(bool) -> Result<Bluetooth, Error>,
) -> Infallible {
    loop {
        let Some(bluetooth) = state.bluetooth() else {
            // The first one is there before this begins.
            std::future::pending().await
        };
        let mut error = bluetooth.look().await;
        drop(bluetooth);
        warn!(%error, "Bluetooth is gone: waiting for it");
        state.leave().await;
        state.end();
        loop {
            match open(!matches!(error, Error::Off(_))).await {
                Ok(bluetooth) => {
                    state.begin(bluetooth);
                    info!("Bluetooth is there again");
                    break;
                }
                Err(again) => {
                    debug!(error = %again, "Bluetooth is not available yet");
                    // The user may also have ended BlueZ or removed the adapter.
                    if !matches!(error, Error::Off(_)) {
                        error = again;
                    }
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}
