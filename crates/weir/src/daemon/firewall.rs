//! Telling the firewall something: rules of weir's own, by `nft`.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tracing::warn;

/// Loads a ruleset, as a whole or not at all. What goes wrong is told.
pub async fn tell(rules: String) {
    if let Err(error) = load(&rules).await {
        warn!(error, "the firewall does not take weir's rules for quotas");
    }
}

async fn load(rules: &str) -> Result<(), String> {
    let said = |error: std::io::Error| format!("nft: {error}");
    let mut nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(said)?;
    if let Some(mut input) = nft.stdin.take() {
        input.write_all(rules.as_bytes()).await.map_err(said)?;
    }
    let outcome = nft.wait_with_output().await.map_err(said)?;
    match outcome.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&outcome.stderr).trim().to_owned()),
    }
}
