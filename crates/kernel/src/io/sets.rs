//! Reads sets, and listens to their changes.

use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::io;

use nix::errno::Errno;

use super::RequestError;
use super::request_socket::{End, RequestSocket, unless};
use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::element_statements::{
    ElementStatements, decode_element_statements, decode_open_set, dump_sets,
};
use crate::elements::{ElementCount, decode_counts};
use crate::members::{Member, decode_members};
use crate::message::{DecodeError, Message, Messages};
use crate::sets::{
    SetContent, SetEvent, SetHeader, SetName, decode_elements, decode_event, decode_set,
    dump_elements, get_set,
};

/// NFNLGRP_NFTABLES.
const GROUP: u32 = 1 << 6;
/// Room for the events of one large transaction, bytes.
const RECEIVE_BUFFER: usize = 1 << 20;
/// Datagrams read by one [`SetEvents::recv`].
const MOST: usize = 512;
/// Number of times that a set is read again because of changes during the read.
const RETRIES: u32 = 4;

/// Reason why a set was not read.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// No such set.
    #[error("there is no such set")]
    Unknown,
    /// More elements than the maximum.
    #[error("it has more than {0} elements")]
    TooLarge(usize),
    /// The set changed each time it was read.
    #[error("it changes constantly")]
    Unsteady,
    /// The kernel does not answer as it should.
    #[error(transparent)]
    Request(#[from] RequestError),
}

fn unknown(error: RequestError) -> SetError {
    match error {
        RequestError::Refused {
            errno: Errno::ENOENT,
            ..
        } => SetError::Unknown,
        other => SetError::Request(other),
    }
}

/// Reads a set of at most `most` elements, of the network namespace of the calling thread. Does not
/// wait; takes some 20 ms for 50,000 ranges.
///
/// # Errors
/// See [`SetError`].
pub fn read_set(name: &SetName, most: usize) -> Result<SetContent, SetError> {
    let mut kernel = RequestSocket::open(Netlink::Netfilter, "a set")?;
    let mut header = None;
    let question = |sequence| get_set(name, sequence);
    kernel
        .ask("a set", question, |message| {
            if let Some(found) = decode_set(message)? {
                header = Some(found);
            }
            Ok(true)
        })
        .map_err(unknown)?;
    let header: SetHeader = header.ok_or(SetError::Unknown)?;
    let elements = read_elements(&mut kernel, name, most, decode_elements)?;
    Ok(SetContent { header, elements })
}

/// Collects the results of `decode` in a dump of the elements, of at most `most`.
fn read_elements<T>(
    kernel: &mut RequestSocket,
    name: &SetName,
    most: usize,
    decode: impl Fn(&Message<'_>, &mut Vec<T>) -> Result<(), DecodeError>,
) -> Result<Vec<T>, SetError> {
    let question = |sequence| dump_elements(name, sequence);
    for _ in 0..=RETRIES {
        let mut found = Vec::new();
        let end = kernel
            .ask("the elements of a set", question, |message| {
                decode(message, &mut found)?;
                Ok(found.len() <= most)
            })
            .map_err(unknown)?;
        match end {
            End::Whole => return Ok(found),
            End::Enough => return Err(SetError::TooLarge(most)),
            End::Torn => {}
        }
    }
    Err(SetError::Unsteady)
}

/// Reads the elements of a set or map with any keys, at most `most`. Does not wait; takes some 20
/// ms for 50,000.
///
/// # Errors
/// See [`SetError`].
pub fn read_members(
    name: &SetName,
    most: usize,
    hasher: &impl BuildHasher,
) -> Result<Vec<Member>, SetError> {
    let mut kernel = RequestSocket::open(Netlink::Netfilter, "a set")?;
    read_elements(&mut kernel, name, most, |message, found| {
        decode_members(message, hasher, found)
    })
}

/// Reads the counters of a set's elements, of at most `most`. Does not wait; takes some 20 ms for
/// 50,000.
///
/// # Errors
/// See [`SetError`].
pub fn read_counts(name: &SetName, most: usize) -> Result<Vec<ElementCount>, SetError> {
    let mut kernel = RequestSocket::open(Netlink::Netfilter, "a set")?;
    read_elements(&mut kernel, name, most, decode_counts)
}

/// Reads the statements that elements of sets keep beyond the declaration of their set, in all sets
/// where `nft` allows that: of at most `most` elements of a set, and `all` together. Elements
/// beyond that are left out. Does not wait; takes some 20 ms for 50,000 elements.
///
/// # Errors
/// The kernel does not answer as it should.
pub fn read_element_statements(
    most: usize,
    all: usize,
) -> Result<Vec<ElementStatements>, RequestError> {
    let mut kernel = RequestSocket::open(Netlink::Netfilter, "sets")?;
    let mut sets = Vec::new();
    kernel.append("sets", dump_sets, decode_open_set, &mut sets)?;
    let mut found = Vec::new();
    let mut room = all;
    for set in sets {
        let mut statements = BTreeSet::new();
        let (mut count, most) = (0, most.min(room));
        let question = |sequence| dump_elements(&set, sequence);
        let read = kernel.ask("the elements of a set", question, |message| {
            count += decode_element_statements(message, &mut statements)?;
            Ok(count < most)
        });
        // The set went meanwhile.
        if unless(read, &[Errno::ENOENT])?.is_none() {
            continue;
        }
        room = room.saturating_sub(count);
        if !statements.is_empty() {
            found.push(ElementStatements { set, statements });
        }
    }
    Ok(found)
}

/// Changes of sets and rules, in the network namespace of the thread that opened this.
#[derive(Debug)]
pub struct SetEvents {
    events: Socket,
    buffer: Vec<u8>,
}

impl SetEvents {
    /// Begins to listen.
    ///
    /// # Errors
    /// The kernel lacks nf_tables, or there are too many open files.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            events: Socket::open(Netlink::Netfilter, GROUP, RECEIVE_BUFFER)?,
            buffer: vec![0; BUFFER],
        })
    }

    /// Waits until something happened, and appends it: each set once, however often it changed.
    /// Cancelling loses nothing.
    ///
    /// # Errors
    /// The socket is broken.
    pub async fn recv(&mut self, out: &mut Vec<SetEvent>) -> io::Result<()> {
        let Self { events, buffer } = self;
        let mut add = |event: SetEvent| {
            if !out.contains(&event) {
                out.push(event);
            }
        };
        events
            .drain(buffer, MOST, |received, datagram| {
                if !matches!(received, Received::Datagram(_)) {
                    add(SetEvent::Lost);
                    return true;
                }
                for message in Messages::new(datagram) {
                    match message.and_then(|message| decode_event(&message)) {
                        Ok(Some(event)) => add(event),
                        Ok(None) => {}
                        Err(_) => add(SetEvent::Lost),
                    }
                }
                true
            })
            .await
    }
}
