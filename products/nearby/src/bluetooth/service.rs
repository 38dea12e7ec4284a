//! Checks that BlueZ is still the instance found at the start: a killed BlueZ sends no message, and
//! its successor knows none of the registrations.

use std::sync::Arc;
use std::time::Duration;

use dbus::nonblock::{Proxy, SyncConnection};
use tokio::task::JoinHandle;

const NAME: &str = "org.bluez";
const BUS: &str = "org.freedesktop.DBus";
/// The bus itself answers at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// Instance of BlueZ, identified by its owner name on the bus.
pub struct Service {
    connection: Arc<SyncConnection>,
    /// Task that ends with the bus.
    bus: JoinHandle<()>,
    owner: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.bus.abort();
    }
}

impl Service {
    /// Finds the running instance.
    ///
    /// # Errors
    /// The bus or BlueZ is not available.
    pub async fn find() -> Result<Self, String> {
        let connected = tokio::task::spawn_blocking(dbus_tokio::connection::new_system_sync).await;
        let connected = connected.map_err(|error| error.to_string())?;
        let (resource, connection) = connected.map_err(|error| error.to_string())?;
        let bus = tokio::spawn(async move {
            let _ = resource.await;
        });
        let mut service = Self {
            connection,
            bus,
            owner: String::new(),
        };
        service.owner = service.owner().await?;
        Ok(service)
    }

    /// Checks that the instance still runs.
    ///
    /// # Errors
    /// The instance ended: the reason.
    pub async fn check(&self) -> Result<(), String> {
        match self.owner().await? == self.owner {
            true => Ok(()),
            false => Err("BlueZ has restarted".to_owned()),
        }
    }

    /// Returns the owner of BlueZ's name on the bus, which differs for each start.
    async fn owner(&self) -> Result<String, String> {
        let gone = || Err("the D-Bus system bus has ended".to_owned());
        // A connection that ended answers nothing, not even that it is late.
        if self.bus.is_finished() {
            return gone();
        }
        let proxy = Proxy::new(BUS, "/org/freedesktop/DBus", PATIENCE, &*self.connection);
        let asked = proxy.method_call(BUS, "GetNameOwner", (NAME,));
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(answer) => answer
                .map(|(owner,): (String,)| owner)
                .map_err(|error| format!("BlueZ does not run: {error}")),
            Err(_) => gone(),
        }
    }
}
