//! PPPoE (RFC 2516): probes for access concentrators (PADI), and their answers (PADO). No session
//! is ever requested.

use net::Cursor;

use crate::untrusted::text;

/// Most stored elements of a list.
const MOST: usize = 16;

const PADI: u8 = 0x09;
const PADO: u8 = 0x07;
const VERSION: u8 = 0x11;

const END: u16 = 0;
const SERVICE: u16 = 0x0101;
const CONCENTRATOR: u16 = 0x0102;
const UNIQUE: u16 = 0x0103;
/// Error tags: of a service, of the concentrator, and generic.
const ERRORS: std::ops::RangeInclusive<u16> = 0x0201..=0x0203;

/// An access concentrator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concentrator {
    /// Name (AC-Name).
    pub name: String,
    /// Names of its services; an empty name is for every client.
    pub services: Vec<String>,
    /// Error messages of the concentrator.
    pub errors: Vec<String>,
}

/// Returns a PADI for any service, with a number that the answer repeats.
pub fn initiation(number: u32) -> Vec<u8> {
    let mut message = vec![VERSION, PADI, 0, 0, 0, 12];
    message.extend(SERVICE.to_be_bytes());
    message.extend([0, 0]);
    message.extend(UNIQUE.to_be_bytes());
    message.extend([0, 4]);
    message.extend(number.to_be_bytes());
    message
}

/// Parses a PADO: the number of the PADI, if repeated, and the concentrator.
pub fn offer(octets: &[u8]) -> Option<(Option<u32>, Concentrator)> {
    let mut cursor = Cursor(octets);
    let (version, code, session) = (cursor.u8()?, cursor.u8()?, cursor.u16()?);
    let length = cursor.u16()?;
    if (version, code, session) != (VERSION, PADO, 0) {
        return None;
    }
    let mut cursor = Cursor(cursor.take(length.into())?);
    let mut heard = Concentrator::default();
    let mut number = None;
    while let (Some(kind), Some(length)) = (cursor.u16(), cursor.u16()) {
        let value = cursor.take(length.into())?;
        match kind {
            END => break,
            SERVICE if heard.services.len() < MOST => {
                let service = text(value);
                if !heard.services.contains(&service) {
                    heard.services.push(service);
                }
            }
            CONCENTRATOR => heard.name = text(value),
            UNIQUE => number = value.try_into().ok().map(u32::from_be_bytes),
            kind if ERRORS.contains(&kind) && heard.errors.len() < MOST => {
                heard.errors.push(text(value));
            }
            _ => {}
        }
    }
    Some((number, heard))
}
