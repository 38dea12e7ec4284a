//! The kernel's own fast path on a gateway: an nftables flowtable in software at the router's
//! lowest devices.

use crate::{Error, Lab};

impl Lab {
    /// Adds table `inet fast` to the router: every established connection is handed to a flowtable,
    /// and what comes through the rules all the same is counted. Connections that exist are handed
    /// over with their next packet. Needs `CONFIG_NF_FLOW_TABLE`.
    pub fn flowtable(&self) -> Result<(), Error> {
        let router = self.node("router")?;
        let devices = self.arrangement().ports().join(", ");
        router.nft(&format!(
            "table inet fast {{\n\
             counter slow {{ }}\n\
             flowtable ft {{ hook ingress priority filter; devices = {{ {devices} }}; }}\n\
             chain forward {{ type filter hook forward priority filter; policy accept;\n\
             counter name slow\n\
             ct state established meta l4proto {{ tcp, udp }} flow add @ft\n\
             }}\n}}\n"
        ))?;
        Ok(())
    }

    /// Takes the table away: its connections are the rules' again.
    pub fn without_flowtable(&self) -> Result<(), Error> {
        let router = self.node("router")?;
        router.nft("delete table inet fast").map(drop)
    }

    /// Packets that the flowtable left to the rules so far.
    pub fn left_by_flowtable(&self) -> Result<u64, Error> {
        let router = self.node("router")?;
        let shown = router.run("nft list counter inet fast slow")?;
        let mut words = shown
            .split_whitespace()
            .skip_while(|word| *word != "packets");
        words
            .nth(1)
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| Error::Unexpected(format!("a counter that nft does not show: {shown}")))
    }
}
