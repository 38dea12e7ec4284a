//! A table of the firewall that is to be there, and that others may take away: with `nft flush
//! ruleset`, most likely.

use std::future::pending;

use kernel::event::{Event, Source};
use kernel::io::{Events, read_tables};
use tracing::{debug, warn};

/// Hears of the firewall's changes.
pub struct Changes {
    table: &'static str,
    events: Option<Events>,
    told: Vec<Event>,
}

impl Changes {
    /// Those of this table. From within an event loop.
    pub fn of(table: &'static str) -> Self {
        let events = Events::open(Source::Firewall);
        let failed = |error: &_| warn!(%error, "rules that others take away are not put back");
        Self {
            table,
            events: events.inspect_err(failed).ok(),
            told: Vec::new(),
        }
    }

    /// Waits until somebody took the table away.
    pub async fn gone(&mut self) {
        loop {
            let Some(events) = &mut self.events else {
                return pending().await;
            };
            self.told.clear();
            if let Err(error) = events.recv(&mut self.told).await {
                warn!(%error, "rules that others take away are not put back any more");
                self.events = None;
                continue;
            }
            match read_tables() {
                Ok(tables) if tables.iter().all(|table| table.name != self.table) => return,
                Ok(_) => {}
                Err(error) => debug!(%error, "the firewall's tables"),
            }
        }
    }
}
