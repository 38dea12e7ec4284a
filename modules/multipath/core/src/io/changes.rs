//! A table of the firewall that must stay, although other programs may remove it: with `nft flush
//! ruleset`, most likely.

use std::future::pending;

use kernel::event::{Event, Source};
use kernel::io::{Events, read_tables};
use tracing::{debug, warn};

/// Watches the firewall's changes.
pub struct Changes {
    table: &'static str,
    events: Option<Events>,
    told: Vec<Event>,
}

impl Changes {
    /// Watches this table. Call it within an event loop.
    pub fn of(table: &'static str) -> Self {
        let events = Events::open(Source::Firewall);
        let failed = |error: &_| warn!(%error, "cannot watch the firewall: rules that other programs remove are not restored");
        Self {
            table,
            events: events.inspect_err(failed).ok(),
            told: Vec::new(),
        }
    }

    /// Waits until another program has removed the table.
    pub async fn gone(&mut self) {
        loop {
            self.any().await;
            if !self.there() {
                return;
            }
        }
    }

    /// Waits until the firewall has changed in any way.
    pub async fn any(&mut self) {
        loop {
            let Some(events) = &mut self.events else {
                return pending().await;
            };
            self.told.clear();
            match events.recv(&mut self.told).await {
                Ok(_) => return,
                Err(error) => {
                    warn!(%error, "cannot watch the firewall any longer: rules that other programs remove are not restored");
                    self.events = None;
                }
            }
        }
    }

    /// Returns true if the table exists, or cannot be read.
    pub fn there(&self) -> bool {
        let tables =
            read_tables().inspect_err(|error| debug!(%error, "cannot read the firewall's tables"));
        tables.map_or(true, |tables| tables.iter().any(|it| it.name == self.table))
    }
}
