//! Runs Prometheus' own check of names, units and help texts.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Link rates use bits per second, as is usual.
const LINKS: &str = "use base unit \"bytes\" instead of \"bits\"";

/// Runs promtool on a text in the plain format, for clients that do not request OpenMetrics.
pub fn check(openmetrics: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let tools = target.expect("the target directory").join("tools");
    let mut promtool = Command::new(tools.join("promtool"));
    promtool.args(["check", "metrics"]).stdin(Stdio::piped());
    promtool.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = promtool
        .spawn()
        .expect("promtool: scripts/setup fetches it");
    let mut input = promtool.stdin.take().expect("a pipe");
    let text = api::metrics::to_plain_text(openmetrics);
    input.write_all(text.as_bytes()).expect("written");
    drop(input);
    let said = promtool.wait_with_output().expect("promtool ends");
    let said = [said.stdout, said.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let complaints: Vec<_> = said.lines().filter(|line| !line.ends_with(LINKS)).collect();
    assert!(complaints.is_empty(), "{complaints:?} of {text}");
}
