//! Messages of libbpf and of the verifier about the packet path.

use std::sync::{Mutex, PoisonError};

use libbpf_rs::PrintLevel;

/// Number of kept lines of libbpf and the verifier; the reason comes last.
const LINES: usize = 40;

static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Returns the last lines that libbpf and the verifier printed at the last load; empty if the load
/// succeeded.
pub fn last() -> Vec<String> {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Collects the lines of libbpf for [`last`] from here on, instead of printing them.
pub(crate) fn listen() {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).clear();
    libbpf_rs::set_print(Some((PrintLevel::Warn, hear)));
}

fn hear(_: PrintLevel, text: String) {
    let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
    heard.extend(
        text.lines()
            .filter(|l| !l.trim().is_empty())
            .map(str::to_owned),
    );
    let surplus = heard.len().saturating_sub(LINES);
    heard.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let text: String = (0..LINES + 2).map(|n| format!("line {n}\n\n")).collect();
        hear(PrintLevel::Warn, text);
        let kept = last();
        assert_eq!(kept.len(), LINES);
        assert_eq!(kept.last(), Some(&format!("line {}", LINES + 1)));
    }
}
