//! Announces an access point's element through hostapd, and denies clients that use the address of
//! an access point that proved the secret.

use std::io;
use std::time::{Duration, Instant};

use radio_core::peering::Machine;
use tracing::{debug, warn};

use crate::backoff::Backoff;
use crate::peering::hostapd::Hostapd;

/// Interval of repeated announcements: a hostapd that read its file again forgot the element.
const SAY: Duration = Duration::from_secs(10);

/// See the module.
pub struct Announcer {
    /// `None`: this node has nothing to announce in the beacon.
    hostapd: Option<Hostapd>,
    said: Instant,
    /// Schedule of tries after hostapd did not answer.
    tells: Backoff,
    /// Reason why a client could use a peer's address.
    open: Option<String>,
}

impl Announcer {
    /// Begins to announce this node.
    ///
    /// # Errors
    /// hostapd refuses.
    pub fn open(mut hostapd: Option<Hostapd>, machine: &Machine) -> io::Result<Self> {
        let element = machine.element().octets();
        hostapd.as_mut().map_or(Ok(()), |it| it.say(&element))?;
        let mut announcer = Self {
            hostapd,
            said: Instant::now(),
            tells: Backoff::new(),
            open: None,
        };
        announcer.deny(machine, true);
        Ok(announcer)
    }

    /// Returns the reason why a client could use a peer's address.
    pub fn problem(&self) -> Option<&String> {
        self.open.as_ref()
    }

    /// Returns true if everything must be announced again.
    pub fn is_due(&self) -> bool {
        let is_new = self.hostapd.as_ref().is_some_and(Hostapd::is_new);
        is_new && self.tells.may(Instant::now()) || self.said.elapsed() >= SAY
    }

    /// Says all again.
    pub fn say(&mut self, machine: &Machine) {
        self.said = Instant::now();
        let Some(hostapd) = &mut self.hostapd else {
            return;
        };
        match hostapd.say(&machine.element().octets()) {
            Ok(()) => {
                self.tells.done(self.said);
                self.deny(machine, true);
            }
            Err(error) => {
                self.tells.failed(self.said);
                debug!(%error, "cannot announce this node through hostapd");
            }
        }
    }

    /// Makes hostapd deny new clients; `again`: all clients once more.
    pub fn deny(&mut self, machine: &Machine, again: bool) {
        let Some(hostapd) = &mut self.hostapd else {
            return;
        };
        match hostapd.deny(machine.proven(), again) {
            Ok(()) if again => self.open = None,
            Ok(()) => {}
            Err(error) => {
                let why =
                    format!("a client can use a peer's address while the peer is away: {error}");
                if self.open.as_ref() != Some(&why) {
                    warn!(why, "cannot deny clients the addresses of peers");
                }
                self.open = Some(why);
            }
        }
    }
}
