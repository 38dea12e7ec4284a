//! Costs of a process.

use lab::Error;

fn read(pid: u32, what: &str) -> Result<String, Error> {
    let path = format!("/proc/{pid}/{what}");
    std::fs::read_to_string(&path).map_err(Error::system(format!("read {path}")))
}

/// Returns processor time in ticks and memory in pages (proc(5), `stat` and `statm`).
///
/// # Errors
/// The process is gone.
pub fn taken(pid: u32) -> Result<(u64, u64), Error> {
    let (stat, statm) = (read(pid, "stat")?, read(pid, "statm")?);
    let of = |text: &str, at: usize| {
        let field = text.split_whitespace().nth(at);
        field.and_then(|it| it.parse().ok()).unwrap_or(u64::MAX)
    };
    // The process name, in parentheses, may contain blanks.
    let behind = stat.rsplit(')').next().unwrap_or_default();
    Ok((of(behind, 11) + of(behind, 12), of(&statm, 1)))
}
