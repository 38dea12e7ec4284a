//! Telling the firewall something: rulesets, by `nft`.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Maximum run time of `nft`.
const PATIENCE: Duration = Duration::from_secs(10);

/// Loads a ruleset, as a whole or not at all.
///
/// # Errors
/// The output of `nft`.
pub async fn load_rules(rules: &str) -> Result<(), String> {
    nft(&["-f", "-"], rules).await
}

/// Checks that the kernel would accept a ruleset, without a change.
///
/// # Errors
/// The output of `nft`.
pub async fn try_rules(rules: &str) -> Result<(), String> {
    nft(&["--check", "-f", "-"], rules).await
}

async fn nft(arguments: &[&str], rules: &str) -> Result<(), String> {
    let said = |error: std::io::Error| format!("nft: {error}");
    let run = async {
        let mut nft = Command::new("nft")
            .args(arguments)
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
    };
    let run = tokio::time::timeout(PATIENCE, run);
    run.await
        .unwrap_or_else(|_| Err("nft did not answer within 10 seconds".to_owned()))
}
