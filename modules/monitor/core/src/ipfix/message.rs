//! Messages: sets of templates and records after a header (RFC 7011, section 3), none larger than a
//! datagram.

use super::template::{TEMPLATE_SET, Template};

/// Version of IPFIX (RFC 7011, section 3.1).
const VERSION: u16 = 10;
const HEADER: usize = 16;
const SET_HEADER: usize = 4;

/// Contents of a message; lost with the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Records of flows and translations; a flow in two records counts twice.
    pub flows: u64,
    /// Packets of these.
    pub packets: u64,
    /// Bytes of these.
    pub octets: u64,
}

impl std::ops::AddAssign for Contents {
    fn add_assign(&mut self, more: Self) {
        self.flows = self.flows.saturating_add(more.flows);
        self.packets = self.packets.saturating_add(more.packets);
        self.octets = self.octets.saturating_add(more.octets);
    }
}

/// A message, ready to be sent as one datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The datagram.
    pub octets: Vec<u8>,
    /// Contents of the message.
    pub contents: Contents,
}

/// A message in progress. Records of one template are kept together, in any order of arrival: a set
/// has a header.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Sets of templates and of options templates, without their headers.
    announcements: Vec<(u16, Vec<u8>)>,
    sets: Vec<(u16, Vec<u8>)>,
    length: usize,
    records: u32,
    contents: Contents,
}

impl Draft {
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the length of the whole message with a record of `length` of template `id`, and
    /// `announcement` if it comes first.
    pub fn length_with(&self, id: u16, length: usize, announcement: Option<&Template>) -> usize {
        let set = match self.sets.iter().any(|(have, _)| *have == id) {
            _ if length == 0 => 0,
            true => length,
            false => SET_HEADER + length,
        };
        let announcement = announcement.map_or(0, |template| {
            let mut out = Vec::new();
            template.write(&mut out);
            out.len() + SET_HEADER
        });
        HEADER + self.length + set + announcement
    }

    /// Adds a template, which precedes all records.
    pub fn announce(&mut self, template: &Template) {
        let id = template.set();
        // nfacctd 1.7.7 misreads a set of two options templates, and loses the data after it: each
        // template has a set of its own.
        let shared = |have: &(u16, Vec<u8>)| have.0 == id && id == TEMPLATE_SET;
        let index = self.announcements.iter().position(shared);
        let index = index.unwrap_or_else(|| {
            self.announcements.push((id, Vec::new()));
            self.length += SET_HEADER;
            self.announcements.len() - 1
        });
        let body = &mut self.announcements[index].1;
        let before = body.len();
        template.write(body);
        self.length += body.len() - before;
    }

    /// Adds a record.
    pub fn record(&mut self, id: u16, record: &[u8], contents: Contents) {
        match self.sets.iter_mut().find(|(have, _)| *have == id) {
            Some((_, body)) => body.extend(record),
            None => {
                self.sets.push((id, record.to_vec()));
                self.length += SET_HEADER;
            }
        }
        self.length += record.len();
        self.records += 1;
        self.contents += contents;
    }

    /// Returns the message, and its number of records. The draft is empty afterwards.
    pub fn finish(&mut self, domain: u32, sequence: u32, now: u64) -> (Message, u32) {
        let draft = std::mem::take(self);
        let length = HEADER + draft.length;
        let mut octets = Vec::with_capacity(length);
        octets.extend(VERSION.to_be_bytes());
        octets.extend((length as u16).to_be_bytes());
        octets.extend(((now / 1000) as u32).to_be_bytes());
        octets.extend(sequence.to_be_bytes());
        octets.extend(domain.to_be_bytes());
        for (id, body) in draft.announcements.iter().chain(&draft.sets) {
            if !body.is_empty() {
                octets.extend(id.to_be_bytes());
                octets.extend(((SET_HEADER + body.len()) as u16).to_be_bytes());
                octets.extend(body);
            }
        }
        let message = Message {
            octets,
            contents: draft.contents,
        };
        (message, draft.records)
    }
}
