//! One entry, asked for by itself.

use super::*;

/// What conntrack has of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The entry.
    pub connection: Connection,
    /// Of TCP: it waits for data to be acknowledged, in either direction.
    pub unacknowledged: bool,
}

/// Decodes an answer. `None`: not an entry of TCP or UDP.
pub(crate) fn decode(message: &Message<'_>) -> Result<Option<Looked>, DecodeError> {
    let Some(Event::Connection(connection)) = decode_message(message)? else {
        return Ok(None);
    };
    let (_, attributes) = message.split::<4>("nfgenmsg")?;
    Ok(Some(Looked {
        connection,
        unacknowledged: unacknowledged(attributes)?,
    }))
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
