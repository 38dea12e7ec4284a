//! Notes below the tables.

use std::io;

use answers::Port;
use runtime::output::{Output, WIDTH, sanitize, wrap};

/// Groups devices by equal notes, in the order of the first of each.
pub(super) fn alike<'a, T: PartialEq>(
    all: impl Iterator<Item = (&'a Port, T)>,
) -> Vec<(T, Vec<String>)> {
    let mut groups: Vec<(T, Vec<String>)> = Vec::new();
    for (port, said) in all {
        match groups.iter_mut().find(|(same, _)| *same == said) {
            Some((_, names)) => names.push(port.name.clone()),
            None => groups.push((said, vec![port.name.clone()])),
        }
    }
    groups
}

/// Prints a sentence, with its second and later lines indented.
pub(super) fn said(text: &str, output: &mut Output<'_>) -> io::Result<()> {
    for (number, line) in wrap(&sanitize(text), WIDTH - 2).into_iter().enumerate() {
        let indent = if number == 0 { "" } else { "  " };
        output.line(&format!("{indent}{line}"))?;
    }
    Ok(())
}
