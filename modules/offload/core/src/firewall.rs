//! Changes of the firewall's rules.

use crate::action::Cause;
use crate::output::Output;
use crate::time::Millis;

/// A firewall that reports no changes: how long a proof may last.
const LEGACY: Millis = 1_000;
/// Time that a flowtable may take to give its connections back after the rules changed: the kernel
/// sends the message long before that (nf_tables_api.c, `nf_tables_trans_destroy_work`).
const GIVEN_BACK: Millis = 1_000;

/// The firewall's changes, as far as they end proofs.
#[derive(Default)]
pub(crate) struct Firewall {
    generation: Option<u32>,
    /// Time of the last change, until a dump shows whether a flowtable went with it.
    changed: Option<Millis>,
    /// Time of the next end of all proofs, if a firewall is in use that reports no changes.
    legacy: Option<Millis>,
}

impl Firewall {
    /// Returns the generation of the nftables ruleset, once known.
    pub(crate) fn generation(&self) -> Option<u32> {
        self.generation
    }

    /// Handles the present generation of the nftables ruleset.
    pub(crate) fn report(&mut self, generation: u32, out: &mut Output) {
        if self.generation != Some(generation) {
            self.generation = Some(generation);
            self.changed = Some(out.now());
            out.bump(Cause::Firewall(generation));
        }
    }

    /// Sets whether a firewall without reports of changes is in use. Returns true if that is new.
    pub(crate) fn set_legacy(&mut self, in_use: bool, out: &mut Output) -> bool {
        if in_use == self.is_legacy() {
            return false;
        }
        out.bump(Cause::Legacy);
        self.legacy = in_use.then_some(out.now() + LEGACY);
        true
    }

    /// Returns true if a firewall without reports of changes is in use.
    pub(crate) fn is_legacy(&self) -> bool {
        self.legacy.is_some()
    }

    /// Ends all proofs each second, if the kernel reports no changes.
    pub(crate) fn tick(&mut self, out: &mut Output) {
        if self.legacy.is_some_and(|due| out.now() >= due) {
            self.legacy = Some(out.now() + LEGACY);
            out.bump(Cause::Legacy);
        }
    }

    /// Returns true once after a change, when flowtables have given their connections back.
    pub(crate) fn settled(&mut self, now: Millis) -> bool {
        let old = |when: &mut Millis| now.saturating_sub(*when) >= GIVEN_BACK;
        self.changed.take_if(old).is_some()
    }
}
