//! `[drops]`.

use kernel::SetName;

use runtime::config::{DeviceName, Form, Section, table};

/// Configuration sections of this module.
pub const SECTIONS: [Section; 1] = [Section::of::<Drops>("drops")];

table! {
    /// `[drops]`: what is dropped early, as netfilter or a route would drop it.
    Drops {
        /// Learn from the kernel what netfilter drops, and drop it early for as long as netfilter
        /// does.
        Restart learn: bool = false;
        /// nftables sets of addresses: packets from them are dropped early. Followed live.
        Live sets: Vec<SetName> as SETS = Vec::new();
        /// Devices at which the sets count; none: all that weir takes packets from.
        Live ports: Vec<DeviceName> = Vec::new();
        /// Go by a set only where the ruleset is seen to drop every packet from it. false: whatever
        /// the rules say.
        Live verify: bool = true;
        /// Drop early what blackhole, unreachable and prohibit routes drop, where nothing but the
        /// route can decide.
        Live routes: bool = false;
    }
}

const SETS: Form<Vec<SetName>> = Form::list(
    "a list of sets, each as FAMILY TABLE NAME in quotes, such as [\"inet fw4 banned4\"]",
);
