//! Quotation.

/// Quotes a value in apostrophes for libuci and any shell: an apostrophe becomes `'\''`.
pub fn quoted(value: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len() + 2);
    text.push(b'\'');
    escaped(&mut text, value);
    text.push(b'\'');
    text
}

/// Adds the value, with each apostrophe as `'\''`.
fn escaped(text: &mut Vec<u8>, value: &[u8]) {
    for &c in value {
        if c == b'\'' {
            text.extend_from_slice(br"'\''")
        } else {
            text.push(c)
        }
    }
}

/// Quotes a type only if libuci would read it differently without apostrophes.
pub(crate) fn written(kind: &str) -> String {
    if kind.contains(['\'', '"', '\\', '#', ';']) {
        quoted(kind.as_bytes())
            .into_iter()
            .map(char::from)
            .collect()
    } else {
        kind.to_owned()
    }
}
