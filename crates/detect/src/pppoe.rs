//! PPPoE (RFC 2516): who terminates sessions is asked for (PADI), and answers (PADO). No session is
//! ever asked for.

use net::Cursor;

use crate::octets::text;

/// Most elements that are kept of a list.
const MOST: usize = 16;

const PADI: u8 = 0x09;
const PADO: u8 = 0x07;
const VERSION: u8 = 0x11;

const END: u16 = 0;
const SERVICE: u16 = 0x0101;
const CONCENTRATOR: u16 = 0x0102;
const UNIQUE: u16 = 0x0103;
/// The first of the errors: of a service, of the concentrator, of anything else.
const ERRORS: std::ops::RangeInclusive<u16> = 0x0201..=0x0203;

/// Who terminates sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concentrator {
    /// Its name (AC-Name).
    pub name: String,
    /// Names of its services; an empty one is for everybody.
    pub services: Vec<String>,
    /// What it says it cannot.
    pub errors: Vec<String>,
}

/// A PADI for any service, with a number that is said again in the answer.
pub fn initiation(number: u32) -> Vec<u8> {
    let mut message = vec![VERSION, PADI, 0, 0, 0, 12];
    message.extend(SERVICE.to_be_bytes());
    message.extend([0, 0]);
    message.extend(UNIQUE.to_be_bytes());
    message.extend([0, 4]);
    message.extend(number.to_be_bytes());
    message
}

/// Reads a PADO: the number of the question, where it is said, and who answered.
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
