//! `[drops]`.

use kernel::SetName;

use runtime::config::{DeviceName, Form, Section, table};

/// Configuration sections of this module.
pub const SECTIONS: [Section; 1] = [Section::of::<Drops>("drops")];

table! {
    /// `[drops]`: early drops of packets that netfilter or a route would drop.
    Drops {
        /// Learn from the kernel which packets netfilter drops, and drop them early for as long as
        /// netfilter does.
        Restart learn: bool = false;
        /// nftables sets of addresses whose packets are dropped early. Changes of the sets take
        /// effect at once.
        Live sets: Vec<SetName> as SETS = Vec::new();
        /// Devices at which the sets apply; empty: all devices at which weir takes packets.
        Live ports: Vec<DeviceName> = Vec::new();
        /// Use a set only if the ruleset drops every packet from its addresses. false: use the set
        /// whatever the rules say.
        Live verify: bool = true;
        /// Drop early what blackhole, unreachable and prohibit routes drop, if only the route can
        /// decide.
        Live routes: bool = false;
    }
}

const SETS: Form<Vec<SetName>> = Form::list(
    "a list of sets, each as FAMILY TABLE NAME in quotes, such as [\"inet fw4 banned4\"]",
);
