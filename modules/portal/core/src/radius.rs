//! RADIUS requests about an account, and their replies (RFC 2865, RFC 2869).
//!
//! A reply counts only with a Message-Authenticator made with the secret: the older proof, an MD5
//! digest with the secret at its end, can be forged by a machine on the path (CVE-2024-3596).

use std::net::IpAddr;

use hmac::{Hmac, Mac};
use md5::{Digest, Md5};

use crate::account::{Account, LONGEST_NAME, LONGEST_PASSWORD, Terms, Verdict};
use crate::rates::RATES;

/// Bytes of the longest packet (RFC 2865 section 3).
pub const LONGEST: usize = 4096;

const HEADER: usize = 20;
const ACCESS_REQUEST: u8 = 1;
const ACCESS_ACCEPT: u8 = 2;
const ACCESS_REJECT: u8 = 3;
const ACCESS_CHALLENGE: u8 = 11;

const USER_NAME: u8 = 1;
const USER_PASSWORD: u8 = 2;
const SERVICE_TYPE: u8 = 6;
const FRAMED_IP_ADDRESS: u8 = 8;
const REPLY_MESSAGE: u8 = 18;
const VENDOR_SPECIFIC: u8 = 26;
const SESSION_TIMEOUT: u8 = 27;
const CALLING_STATION: u8 = 31;
const NAS_IDENTIFIER: u8 = 32;
const MESSAGE_AUTHENTICATOR: u8 = 80;
/// RFC 6911 section 3.1.
const FRAMED_IPV6_ADDRESS: u8 = 168;
/// Service type: log-in at a host (RFC 2865 section 5.6).
const LOGIN: u32 = 1;

/// Wi-Fi Alliance, WISPr 1.0: bits a second, sent by the guest, and got.
const WISPR: u32 = 14122;
const WISPR_RATES: [u8; 2] = [7, 8];
/// ChilliSpot, as CoovaChilli and others have it: bytes both ways together, and 2^32 of them.
const CHILLI: u32 = 14559;
const CHILLI_BYTES: u8 = 3;
const CHILLI_GIGAWORDS: u8 = 23;

/// Secret shared by the server and weir.
pub struct Secret {
    octets: Vec<u8>,
    keyed: Hmac<Md5>,
}

impl Secret {
    /// Creates a secret from its bytes; `None`: an empty secret would let any host answer.
    pub fn new(octets: &[u8]) -> Option<Self> {
        let keyed = Hmac::new_from_slice(octets).ok()?;
        (!octets.is_empty()).then(|| Self {
            octets: octets.to_owned(),
            keyed,
        })
    }

    /// Computes the proof of a packet in parts.
    fn proof(&self, parts: &[&[u8]]) -> Hmac<Md5> {
        let all = parts.iter();
        all.fold(self.keyed.clone(), |hmac, part| hmac.chain_update(part))
    }
}

/// A request (Access-Request), as it is sent: each time the same.
pub struct AccessRequest(Vec<u8>);

/// Type and value of each attribute.
type Attributes<'a> = Vec<(u8, &'a [u8])>;

/// Reason to reject a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ReplyError {
    /// The reply belongs to another request, or was made with another secret.
    #[error("the reply is from another server, or the server has another secret")]
    Foreign,
    /// The reply has no Message-Authenticator.
    #[error(
        "the reply has no Message-Authenticator, so it could be forged (CVE-2024-3596): update the \
         server"
    )]
    NoProof,
    /// The reply was made with the secret, but is malformed.
    #[error("the reply is malformed")]
    Damaged,
}

impl AccessRequest {
    /// Builds the request for an account. `router`: the name of this router at the server.
    /// `random`: a packet number, and 16 unpredictable bytes. `None`: a name or a password is empty
    /// or too long.
    pub fn new(
        account: &Account<'_>,
        router: &str,
        secret: &Secret,
        (number, random): (u8, [u8; 16]),
    ) -> Option<Self> {
        if !account.fits() {
            return None;
        }
        let (name, password) = (account.name.as_bytes(), account.password.as_bytes());
        let mut packet = vec![ACCESS_REQUEST, number, 0, 0];
        packet.extend(random);
        let mut add = |kind: u8, value: &[u8]| {
            packet.extend([kind, value.len() as u8 + 2]);
            packet.extend(value);
        };
        // First, so that nothing can be put before it.
        add(MESSAGE_AUTHENTICATOR, &[0; 16]);
        add(USER_NAME, name);
        add(USER_PASSWORD, &hidden(password, secret, &random));
        add(SERVICE_TYPE, &LOGIN.to_be_bytes());
        let station = account.mac.map(|octet| format!("{octet:02X}")).join("-");
        add(CALLING_STATION, station.as_bytes());
        match account.address {
            IpAddr::V4(address) => add(FRAMED_IP_ADDRESS, &address.octets()),
            IpAddr::V6(address) => add(FRAMED_IPV6_ADDRESS, &address.octets()),
        }
        let router = router.as_bytes();
        add(NAS_IDENTIFIER, &router[..router.len().min(LONGEST_NAME)]);
        let length = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&length);
        let proof = secret.proof(&[&packet]).finalize().into_bytes();
        packet[HEADER + 2..HEADER + 18].copy_from_slice(&proof);
        Some(Self(packet))
    }

    /// Returns the packet.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// Verifies and parses a datagram that arrived for this request.
    ///
    /// # Errors
    /// The reply does not count.
    pub fn answer(&self, datagram: &[u8], secret: &Secret) -> Result<Verdict, ReplyError> {
        let (code, attributes) = self.proven(datagram, secret)?;
        Ok(match code {
            ACCESS_ACCEPT => Verdict::Accept(terms(attributes).ok_or(ReplyError::Damaged)?),
            ACCESS_REJECT => Verdict::Reject(said(attributes).ok_or(ReplyError::Damaged)?),
            ACCESS_CHALLENGE => Verdict::Challenge,
            _ => return Err(ReplyError::Damaged),
        })
    }

    /// Returns the packet's code and attributes if its sender knows the secret and this request.
    fn proven<'d>(
        &self,
        datagram: &'d [u8],
        secret: &Secret,
    ) -> Result<(u8, &'d [u8]), ReplyError> {
        let length = datagram.get(2..4).ok_or(ReplyError::Foreign)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let whole = HEADER..=LONGEST;
        // Bytes beyond the length are padding.
        let packet = datagram.get(..length).filter(|_| whole.contains(&length));
        let packet = packet.filter(|packet| packet[1] == self.0[1]);
        let packet = packet.ok_or(ReplyError::Foreign)?;
        let asked = &self.0[4..HEADER];
        let digest = Md5::new()
            .chain_update(&packet[..4])
            .chain_update(asked)
            .chain_update(&packet[HEADER..])
            .chain_update(&secret.octets)
            .finalize();
        if digest[..] != packet[4..HEADER] {
            return Err(ReplyError::Foreign);
        }
        let attributes = attributes_of(&packet[HEADER..]).ok_or(ReplyError::Damaged)?;
        let (mut at, mut proofs) = (HEADER, Vec::new());
        for (kind, value) in &attributes {
            if *kind == MESSAGE_AUTHENTICATOR {
                proofs.push(at + 2..at + 2 + value.len());
            }
            at += 2 + value.len();
        }
        let [proof] = proofs.as_slice() else {
            return Err(ReplyError::NoProof);
        };
        if proof.len() != 16 {
            return Err(ReplyError::Damaged);
        }
        let (before, behind) = (&packet[HEADER..proof.start], &packet[proof.end..]);
        let parts = [&packet[..4], asked, before, &[0; 16], behind];
        let proven = secret
            .proof(&parts)
            .verify_slice(&packet[proof.start..proof.end]);
        proven.map_err(|_| ReplyError::Foreign)?;
        Ok((packet[0], &packet[HEADER..]))
    }
}

/// Parses the allowance from the attributes of a packet; `None`: an attribute has a wrong length.
pub fn terms(octets: &[u8]) -> Option<Terms> {
    let mut terms = Terms::default();
    let (mut low, mut high) = (None, None);
    for (kind, value) in attributes_of(octets)? {
        match kind {
            USER_NAME => terms.name = str::from_utf8(value).ok().map(str::to_owned),
            SESSION_TIMEOUT => terms.seconds = lesser(terms.seconds, number(value)?),
            VENDOR_SPECIFIC => {
                let (vendor, rest) = value.split_at_checked(4)?;
                let vendor = number(vendor)?;
                if ![WISPR, CHILLI].contains(&vendor) {
                    continue;
                }
                for (kind, value) in attributes_of(rest)? {
                    match (vendor, kind) {
                        (WISPR, kind) if WISPR_RATES.contains(&kind) => {
                            let rate = u64::from(number(value)?);
                            // `None` means no limit.
                            terms.rate = match rate {
                                0 => terms.rate,
                                _ => lesser(terms.rate, rate),
                            };
                        }
                        (CHILLI, CHILLI_BYTES) => low = lesser(low, number(value)?),
                        (CHILLI, CHILLI_GIGAWORDS) => high = lesser(high, number(value)?),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    if low.is_some() || high.is_some() {
        let words = u64::from(high.unwrap_or(0)) << 32;
        terms.bytes = Some(words | u64::from(low.unwrap_or(0)));
    }
    // Rounded to the kernel's unit.
    terms.rate = terms
        .rate
        .map(|rate| rate.clamp(*RATES.start(), *RATES.end()));
    Some(terms)
}

/// Returns the lesser of the old and the new value.
fn lesser<T: Ord>(before: Option<T>, now: T) -> Option<T> {
    match before {
        Some(before) => Some(before.min(now)),
        None => Some(now),
    }
}

fn number(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

/// Parses type and value of each attribute; `None`: a length is invalid.
fn attributes_of(mut octets: &[u8]) -> Option<Attributes<'_>> {
    let mut all = Vec::new();
    while let [kind, length, ..] = *octets {
        let (one, rest) = octets.split_at_checked(usize::from(length))?;
        all.push((kind, one.get(2..)?));
        octets = rest;
    }
    octets.is_empty().then_some(all)
}

/// Returns the server's message for people, on one line; `None`: the attributes are damaged.
fn said(octets: &[u8]) -> Option<String> {
    let all = attributes_of(octets)?;
    let all = all
        .iter()
        .filter(|(kind, _)| *kind == REPLY_MESSAGE)
        .map(|(_, value)| String::from_utf8_lossy(value));
    let text = all.collect::<Vec<_>>().join(" ");
    let shown = |c: char| match c.is_control() {
        true => ' ',
        false => c,
    };
    Some(text.chars().map(shown).take(200).collect())
}

/// Encrypts a password for the wire (RFC 2865 section 5.2).
fn hidden(password: &[u8], secret: &Secret, random: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(LONGEST_PASSWORD);
    let mut before = *random;
    for block in password.chunks(16) {
        let pad = Md5::new()
            .chain_update(&secret.octets)
            .chain_update(before)
            .finalize();
        let mut hidden: [u8; 16] = pad.into();
        for (out, octet) in hidden.iter_mut().zip(block) {
            *out ^= octet;
        }
        out.extend(hidden);
        before = hidden;
    }
    out
}

#[cfg(test)]
mod tests;
