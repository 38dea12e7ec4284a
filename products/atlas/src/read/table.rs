//! A directory that is a table (CSV), a line for each community.

use std::borrow::Cow;

use super::entry::{self, Draft, ENTRIES, EntryReader, TOO_MANY};
use super::mapping::Mapping;
use super::remarks::Remarks;
use super::tree::Field;
use super::utf8::encoding;
use super::value::Value;

/// Reads the lines of a file; the error has the reason.
pub(crate) fn read(
    octets: &[u8],
    delimiter: u8,
    mapping: &Mapping,
    remarks: &mut Remarks,
) -> Result<Vec<Draft>, String> {
    let octets = octets.strip_prefix(b"\xef\xbb\xbf").unwrap_or(octets);
    if octets.trim_ascii().is_empty() {
        return Err("the file is empty".to_owned());
    }
    if let Some(encoding) = encoding(octets) {
        return Err(format!("the file is {encoding}, and has to be UTF-8"));
    }
    let text = String::from_utf8_lossy(octets);
    if let Cow::Owned(_) = text {
        remarks.file("it is not UTF-8", "the file with others in their place");
    }
    let mut table = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .from_reader(text.as_bytes());
    let header = table.headers().map_err(|error| error.to_string())?.clone();
    let tree = &mapping.tree;
    let columns: Vec<Option<usize>> = header
        .iter()
        .map(|name| tree.paths().iter().position(|path| path == name.trim()))
        .collect();
    for field in [Field::Key, Field::Nodes] {
        if !columns
            .iter()
            .flatten()
            .any(|slot| tree.is_of(*slot, field))
        {
            let names: Vec<&str> = tree.names(field).collect();
            return Err(format!("the table has no column {}", names.join(" or ")));
        }
    }
    let mut drafts = Vec::new();
    let mut line = csv::StringRecord::new();
    let mut short = false;
    while table
        .read_record(&mut line)
        .map_err(|error| error.to_string())?
    {
        if drafts.len() >= ENTRIES {
            return Err(TOO_MANY.to_owned());
        }
        let mut slots = tree.slots();
        for (cell, slot) in line.iter().zip(&columns) {
            if let Some(slot) = slot {
                slots.put(*slot, Value::of_cell(cell));
            }
        }
        short = line.len() < header.len();
        let told = match tree.value(&slots, Field::Key) {
            Some((Value::Text(text), _)) => text.clone(),
            Some((Value::Number(number), _)) => Cow::Borrowed(*number),
            _ => Cow::Borrowed(""),
        };
        let Some(key) = entry::key(mapping, &told, false, remarks) else {
            continue;
        };
        if line.len() != header.len() {
            let what = format!("its line has {} cells, not {}", line.len(), header.len());
            remarks.of(&key, what, "the columns that it has");
        }
        let reading = EntryReader {
            mapping,
            slots: &slots,
            remarks,
            key,
        };
        drafts.push(reading.draft());
    }
    if short && !text.ends_with(['\n', '\r']) {
        return Err("the file breaks off in its last line".to_owned());
    }
    Ok(drafts)
}
