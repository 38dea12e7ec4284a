//! Reads the ruleset of nftables through `nft`, and analyses it.

use std::time::Duration;

use offload_core::ruleset::{self, Finding, PerPacketRule};
use tracing::debug;

/// Result of a read of the ruleset.
pub struct RulesetText {
    /// Rules that need each packet, and chains at devices.
    pub findings: Vec<Finding>,
    /// Connections that these rules may affect.
    pub per_packet_rules: Vec<PerPacketRule>,
    /// The parsed text, from which lists of early drops are read.
    pub rules: offload_core::drops::rules::Rules,
    /// Rules that change without a message, for [`super::expiry`].
    pub silent: ruleset::UnreportedConditions,
    /// Rules may give entries of conntrack time-outs of their own.
    pub policies: bool,
    /// As `nft --json list ruleset` prints it.
    pub text: String,
}

/// Maximum number of elements of a set that are searched for statements of their own.
const MOST_KEPT: usize = 10_000;

/// Reads the ruleset with `nft`. Without `nft`, no rules are found, and `weir check` reports that.
///
/// Rules of the tables `own` are weir's: they match hardware addresses and sockets for weir's own
/// decisions, and a change of these ends all proofs, too. Rules that limit rates affect the
/// connections of addresses in the core ([`offload_core::Core::set_rate_limited`]).
pub async fn read_ruleset(own: Vec<&'static str>) -> Result<RulesetText, String> {
    let output = tokio::process::Command::new("nft")
        .args(["--json", "--terse", "list", "ruleset"])
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(Duration::from_secs(10), output).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("cannot run nft: {error}")),
        Err(_) => return Err("nft did not answer within 10 seconds".into()),
    };
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut root = ruleset::parse(&text).map_err(|e| e.to_string())?;
    let tables = kernel::io::read_tables();
    ruleset::flag(&mut root, &tables.map_err(|e| e.to_string())?);
    let rules = offload_core::drops::rules::Rules::of(&root).map_err(|e| e.to_string())?;
    if ruleset::has_extensions(&text) {
        match kernel::io::read_extensions() {
            Ok(rules) => ruleset::spell(&mut root, &rules),
            Err(error) => debug!(%error, "cannot read matches of iptables rules"),
        }
    }
    match kernel::io::read_element_statements(MOST_KEPT, 5 * MOST_KEPT) {
        Ok(kept) => ruleset::declare(&mut root, &kept),
        Err(error) => debug!(%error, "cannot read extensions of sets"),
    }
    let examined = ruleset::read(&root).map_err(|e| e.to_string())?;
    let mut concerns = examined.per_packet_rules;
    concerns.retain(|concern| !own.contains(&&*concern.rule.table));
    let mut findings = examined.findings;
    findings.retain(|finding| finding.kind.noted() || !own.contains(&&*finding.table));
    Ok(RulesetText {
        findings,
        per_packet_rules: concerns,
        rules,
        silent: ruleset::silent_in(&root).map_err(|e| e.to_string())?,
        policies: ruleset::has_policies(&text),
        text: text.into_owned(),
    })
}
