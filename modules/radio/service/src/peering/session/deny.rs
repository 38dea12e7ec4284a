//! Nobody is a client by the address of an access point that proved the secret.

use tracing::warn;

use super::Session;

impl Session {
    /// Has hostapd deny those who are new; `again`: all of them once more.
    pub(super) fn deny(&mut self, again: bool) {
        let Some(hostapd) = &mut self.hostapd else {
            return;
        };
        match hostapd.deny(self.machine.proven(), again) {
            Ok(()) if again => self.open = None,
            Ok(()) => {}
            Err(error) => {
                let why = format!(
                    "somebody may become a client by a peer's address, and the peer is gone \
                     meanwhile: {error}"
                );
                if self.open.as_ref() != Some(&why) {
                    warn!(why, "hostapd denies nobody");
                }
                self.open = Some(why);
            }
        }
    }
}
