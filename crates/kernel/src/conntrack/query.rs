//! Queries for a single entry.

use super::*;

/// State of one connection in conntrack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionState {
    /// The entry.
    pub connection: Connection,
    /// TCP: true if data wait for an acknowledgement, in either direction.
    pub unacknowledged: bool,
    /// Labels of the entry, the first 128 bits; all 0 without labels.
    pub labels: [u8; 16],
}

/// Decodes an answer. `None`: not an entry of TCP or UDP.
pub(crate) fn decode(message: &Message<'_>) -> Result<Option<ConnectionState>, DecodeError> {
    let Some(Event::Connection(connection)) = decode_message(message)? else {
        return Ok(None);
    };
    let (_, attributes) = message.split::<4>("nfgenmsg")?;
    Ok(Some(ConnectionState {
        connection,
        labels: labels(attributes.clone())?,
        unacknowledged: unacknowledged(attributes)?,
    }))
}

fn labels(attributes: Attributes<'_>) -> Result<[u8; 16], DecodeError> {
    let mut labels = [0; 16];
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind == CTA_LABELS {
            let known = attribute.value.iter().zip(&mut labels);
            known.for_each(|(octet, label)| *label = *octet);
        }
    }
    Ok(labels)
}

fn unacknowledged(attributes: Attributes<'_>) -> Result<bool, DecodeError> {
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind == CTA_PROTOINFO {
            return Ok(Tcp::read(&attribute)?.unacknowledged());
        }
    }
    Ok(false)
}
