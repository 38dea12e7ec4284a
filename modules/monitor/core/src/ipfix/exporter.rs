//! Converts flows to messages.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use super::encode;
use super::message::{Contents, Draft, Message};
use super::record::{FlowRecord, NatEvent};
use super::template::{FlowShape, Layer4, Shape, Template, View};
use crate::count::Count;

/// Maximum number of queued messages: some 350 KB.
pub const QUEUE_LIMIT: usize = 256;
/// Maximum number of interfaces whose names are exported.
pub const INTERFACE_LIMIT: usize = 1024;
/// Sizes of a message that make sense: a template and a record always fit the least, and UDP
/// carries the most.
pub const MESSAGE_SIZES: std::ops::RangeInclusive<usize> = 512..=65_507;

/// Settings of the export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Distinguishes routers behind one address at a collector (observation domain).
    pub domain: u32,
    /// Bytes of a message at most, without the headers of UDP and IP; brought into
    /// [`MESSAGE_SIZES`].
    pub message_size: usize,
    /// Milliseconds after which templates, names of interfaces and statistics are sent again: a
    /// restarted collector understands nothing until then.
    pub refresh: u64,
    /// Messages after which they are sent again, if that comes first; at least 100, as sending all
    /// of them takes several messages.
    pub refresh_messages: u32,
    /// True to export statistics and names of interfaces. Their records count in the sequence
    /// number (RFC 7011, section 3.1); nfdump 1.7.1 does not count them, and reports a lost message
    /// at each refresh.
    pub options: bool,
    /// Both ways of a flow in one record (RFC 5103). Few collectors read it; without, each way is a
    /// record.
    pub biflow: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            domain: 0,
            message_size: 1400,
            refresh: 60_000,
            refresh_messages: 1000,
            options: true,
            biflow: false,
        }
    }
}

/// Totals of the export since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Messages handed out, less those that were not sent.
    pub messages: u64,
    /// Bytes of these.
    pub octets: u64,
    /// Contents of these messages.
    pub exported: Contents,
    /// Contents of messages that were not sent, or not taken in time.
    pub not_sent: Contents,
    /// Flows left out because their addresses are of two families.
    pub refused: u64,
}

/// First and last time of an event, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    first: u64,
    last: u64,
}

impl Span {
    fn touch(&mut self, now: u64) {
        if self.first == 0 {
            self.first = now;
        }
        self.last = now;
    }
}

/// Turns flows into messages. Pure: the caller passes the time (`now`, milliseconds since 1970) and
/// sends the messages.
///
/// Hand in flows with [`Exporter::flow`], and call [`Exporter::take`] regularly, at least each
/// [`QUEUE_LIMIT`] × 10 flows. Call [`Exporter::tick`] once a second; it returns the remaining
/// messages, and those due again. Report messages that could not be sent with [`Exporter::unsent`].
#[derive(Debug)]
pub struct Exporter {
    settings: Settings,
    templates: Vec<Template>,
    /// State of each shape, by index: ever used, and announced since the last refresh.
    used: Vec<bool>,
    announced: Vec<bool>,
    draft: Draft,
    ready: VecDeque<Message>,
    /// Records in all messages so far (RFC 7011, section 3.1: options are records too).
    sequence: u32,
    refreshed: Option<u64>,
    messages_since: u32,
    interfaces: BTreeMap<u32, Box<str>>,
    statistics: Statistics,
    not_sent: Span,
    ignored: Count,
    ignored_span: Span,
    scratch: Vec<u8>,
    now: u64,
}

impl Exporter {
    /// Creates an exporter. The first message has the templates that it needs.
    pub fn new(settings: Settings) -> Self {
        let templates: Vec<_> = Shape::all().map(Template::new).collect();
        let settings = Settings {
            message_size: settings
                .message_size
                .clamp(*MESSAGE_SIZES.start(), *MESSAGE_SIZES.end()),
            ..settings
        };
        Self {
            settings,
            used: vec![false; templates.len()],
            announced: vec![false; templates.len()],
            templates,
            draft: Draft::default(),
            ready: VecDeque::new(),
            sequence: 0,
            refreshed: None,
            messages_since: 0,
            interfaces: BTreeMap::new(),
            statistics: Statistics::default(),
            not_sent: Span::default(),
            ignored: Count::default(),
            ignored_span: Span::default(),
            scratch: Vec::new(),
            now: 0,
        }
    }

    /// Exports the traffic of a flow since the flow's last export. Directions without packets are
    /// left out; a flow without packets exports nothing.
    pub fn flow(&mut self, flow: &FlowRecord<'_>, now: u64) {
        if flow.source.is_ipv4() != flow.destination.is_ipv4() {
            self.statistics.refused += 1;
            return;
        }
        let translated = flow.translation.is_some_and(|t| {
            same_family(flow.source, t.source) && same_family(flow.source, t.destination)
        });
        let application = flow.application.is_some_and(encode::is_printable);
        let named = flow.remote_name.is_some_and(encode::is_printable);
        let layer4 = match flow.icmp {
            Some(_) => Layer4::Icmp,
            None if flow.tcp.is_some() => Layer4::Tcp,
            None => Layer4::Ports,
        };
        let mut views = [None, None];
        if self.settings.biflow {
            if !(flow.sent.is_empty() && flow.received.is_empty()) {
                views[0] = Some(if translated {
                    View::BothTranslated
                } else {
                    View::Both
                });
            }
        } else {
            if !flow.sent.is_empty() {
                views[0] = Some(if translated {
                    View::SentTranslated
                } else {
                    View::Sent
                });
            }
            if !flow.received.is_empty() {
                views[1] = Some(View::Received);
            }
        }
        for view in views.into_iter().flatten() {
            let shape = Shape::Flow(FlowShape {
                ipv6: flow.source.is_ipv6(),
                layer4,
                application,
                named,
                view,
            });
            let ways = match view {
                View::Sent | View::SentTranslated => [flow.sent, Default::default()],
                View::Received => [flow.received, Default::default()],
                View::Both | View::BothTranslated => [flow.sent, flow.received],
            };
            let contents = Contents {
                flows: 1,
                packets: ways[0].packets.saturating_add(ways[1].packets),
                octets: ways[0].octets.saturating_add(ways[1].octets),
            };
            self.add(shape, contents, now, |out, template| {
                encode::flow(out, template, view, flow);
            });
        }
    }

    /// Exports that a translation began or ended.
    pub fn nat_event(&mut self, event: &NatEvent, now: u64) {
        let contents = Contents {
            flows: 1,
            ..Contents::default()
        };
        self.add(Shape::Nat, contents, now, |out, _| {
            encode::nat_event(out, event);
        });
    }

    /// Sets the name of the interface with this ifIndex. The name is exported at the next refresh,
    /// and at each later refresh.
    pub fn interface(&mut self, index: u32, name: &str) {
        let room = self.interfaces.len() < INTERFACE_LIMIT || self.interfaces.contains_key(&index);
        if room && encode::is_printable(name) {
            self.interfaces.insert(index, name.into());
        }
    }

    /// Removes an interface.
    pub fn interface_gone(&mut self, index: u32) {
        self.interfaces.remove(&index);
    }

    /// Sets the traffic for which no record was free, since the start and at all ports.
    pub fn ignored(&mut self, total: Count, now: u64) {
        if total != self.ignored {
            self.ignored = total;
            self.ignored_span.touch(now);
        }
    }

    /// Counts a message that was not sent, or is lost.
    pub fn unsent(&mut self, contents: Contents, octets: usize, now: u64) {
        let statistics = &mut self.statistics;
        statistics.messages = statistics.messages.saturating_sub(1);
        statistics.octets = statistics.octets.saturating_sub(octets as u64);
        let exported = &mut statistics.exported;
        exported.flows = exported.flows.saturating_sub(contents.flows);
        exported.packets = exported.packets.saturating_sub(contents.packets);
        exported.octets = exported.octets.saturating_sub(contents.octets);
        statistics.not_sent += contents;
        self.not_sent.touch(now);
    }

    /// Returns messages with all templates in use, to be sent before `message`: its collector was
    /// away, and has none.
    pub fn templates_before(&mut self, message: &Message, now: u64) -> Vec<Message> {
        let sequence = message
            .octets
            .get(8..12)
            .and_then(|octets| octets.try_into().ok());
        // Templates hold no records, so the sequence number stays.
        let sequence = u32::from_be_bytes(sequence.unwrap_or_default());
        let mut messages = Vec::new();
        let mut draft = Draft::default();
        let used = self.templates.iter().zip(&self.used);
        for template in used.filter_map(|(template, used)| used.then_some(template)) {
            if draft.length_with(template.id, 0, Some(template)) > self.settings.message_size {
                messages.push(draft.finish(self.settings.domain, sequence, now).0);
            }
            draft.announce(template);
        }
        if !draft.is_empty() {
            messages.push(draft.finish(self.settings.domain, sequence, now).0);
        }
        for message in &messages {
            self.statistics.messages += 1;
            self.statistics.octets += message.octets.len() as u64;
        }
        messages
    }

    /// Messages that are full. Not those that could take more.
    pub fn take(&mut self) -> Vec<Message> {
        self.ready.drain(..).collect()
    }

    /// Returns all messages, full or not, and those due again.
    pub fn tick(&mut self, now: u64) -> Vec<Message> {
        self.now = now;
        self.refresh_if_due();
        self.finish();
        self.take()
    }

    /// Returns the totals of the export.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn refresh_if_due(&mut self) {
        // A clock that was set back makes it due: better twice than an hour late.
        let due = self
            .refreshed
            .is_none_or(|last| self.now < last || self.now - last >= self.settings.refresh)
            || self.messages_since >= self.settings.refresh_messages.max(100);
        if !due {
            return;
        }
        self.finish();
        self.refreshed = Some(self.now);
        self.messages_since = 0;
        self.announced.fill(false);
        for index in 0..self.templates.len() {
            if self.used[index] {
                self.make_room(index, 0);
            }
        }
        if self.settings.options {
            self.tell_options();
        }
    }

    fn tell_options(&mut self) {
        for (index, name) in std::mem::take(&mut self.interfaces) {
            self.record(Shape::Interface, Contents::default(), |out, _| {
                out.extend(index.to_be_bytes());
                encode::text(out, &name);
            });
            self.interfaces.insert(index, name);
        }
        let domain = self.settings.domain;
        let s = self.statistics;
        self.option(
            Shape::Exported,
            domain,
            &[s.messages, s.exported.flows, s.octets],
        );
        let (ignored, span) = (self.ignored, self.ignored_span);
        if !ignored.is_zero() {
            let values = [ignored.packets, ignored.bytes, span.first, span.last];
            self.option(Shape::Ignored, domain, &values);
        }
        let (lost, span) = (s.not_sent, self.not_sent);
        if lost != Contents::default() {
            let values = [lost.flows, lost.packets, lost.octets, span.first, span.last];
            self.option(Shape::NotSent, domain, &values);
        }
    }

    fn option(&mut self, shape: Shape, scope: u32, values: &[u64]) {
        self.record(shape, Contents::default(), |out, _| {
            encode::option(out, scope, values);
        });
    }

    fn add(
        &mut self,
        shape: Shape,
        contents: Contents,
        now: u64,
        write: impl FnOnce(&mut Vec<u8>, &Template),
    ) {
        self.now = now;
        if self.draft.is_empty() {
            self.refresh_if_due();
        }
        self.record(shape, contents, write);
    }

    fn record(
        &mut self,
        shape: Shape,
        contents: Contents,
        write: impl FnOnce(&mut Vec<u8>, &Template),
    ) {
        let index = shape.index();
        self.used[index] = true;
        let mut record = std::mem::take(&mut self.scratch);
        record.clear();
        write(&mut record, &self.templates[index]);
        self.make_room(index, record.len());
        self.draft
            .record(self.templates[index].id, &record, contents);
        self.scratch = record;
    }

    /// Ensures that a record of this length fits, and that its template precedes it.
    fn make_room(&mut self, index: usize, length: usize) {
        let template = &self.templates[index];
        let announcement = (!self.announced[index]).then_some(template);
        if self.draft.length_with(template.id, length, announcement) > self.settings.message_size {
            self.finish();
        }
        if !self.announced[index] {
            self.draft.announce(&self.templates[index]);
            self.announced[index] = true;
        }
    }

    fn finish(&mut self) {
        if self.draft.is_empty() {
            return;
        }
        let (message, records) = self
            .draft
            .finish(self.settings.domain, self.sequence, self.now);
        self.sequence = self.sequence.wrapping_add(records);
        self.messages_since = self.messages_since.saturating_add(1);
        self.statistics.messages += 1;
        self.statistics.octets += message.octets.len() as u64;
        self.statistics.exported += message.contents;
        if self.ready.len() >= QUEUE_LIMIT
            && let Some(oldest) = self.ready.pop_front()
        {
            self.unsent(oldest.contents, oldest.octets.len(), self.now);
            // The lost message may have had templates.
            self.refreshed = None;
        }
        self.ready.push_back(message);
    }
}

fn same_family(one: IpAddr, other: IpAddr) -> bool {
    one.is_ipv4() == other.is_ipv4()
}
