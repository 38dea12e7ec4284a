//! Bodies of answers: whole, or written as the client takes them.

use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::vec::IntoIter;

use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::{Drain, Provider};
use crate::filter::Selection;
use crate::types::{Bridged, FlowId};

/// Octets after which a piece of a listing is sent: enough to make the system call worth it.
const PIECE: usize = 32 * 1024;

/// Body of an answer.
pub struct Answer(Kind);

enum Kind {
    /// All there, or taken.
    Whole(Option<Bytes>),
    /// A `FlowList`, piece by piece.
    Flows(FlowPieces),
    /// Octets as they come.
    Feed(Drain),
}

impl Answer {
    /// One that is all there.
    pub fn whole(octets: Bytes) -> Self {
        Self(Kind::Whole(Some(octets)))
    }

    /// One that comes as the daemon writes it.
    pub(super) fn feed(drain: Drain) -> Self {
        Self(Kind::Feed(drain))
    }

    pub(super) fn flows(
        selection: Selection,
        bridged: Vec<Bridged>,
        provider: Rc<dyn Provider>,
    ) -> Self {
        let head = format!(r#"{{"matched":{},"flows":["#, selection.matched).into_bytes();
        Self(Kind::Flows(FlowPieces {
            provider,
            rest: selection.ids.into_iter(),
            begun: head,
            bridged,
            first: true,
            ended: false,
            rested: true,
        }))
    }
}

/// Writes flows as they are asked for, so that a table of any size needs one piece of memory, and the daemon gets a turn
/// between two of them.
struct FlowPieces {
    provider: Rc<dyn Provider>,
    rest: IntoIter<FlowId>,
    /// Written last.
    bridged: Vec<Bridged>,
    /// What is written and not sent yet.
    begun: Vec<u8>,
    /// No flow was written yet.
    first: bool,
    ended: bool,
    /// The event loop had a turn since the last piece.
    rested: bool,
}

impl FlowPieces {
    fn piece(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut octets = std::mem::take(&mut self.begun);
        while octets.len() < PIECE {
            let Some(id) = self.rest.next() else {
                octets.push(b']');
                if !self.bridged.is_empty()
                    && let Ok(bridged) = serde_json::to_vec(&self.bridged)
                {
                    octets.extend_from_slice(b",\"bridged\":");
                    octets.extend_from_slice(&bridged);
                }
                octets.push(b'}');
                self.ended = true;
                break;
            };
            let Some(flow) = self.provider.flow(id) else {
                continue;
            };
            let before = octets.len();
            if !self.first {
                octets.push(b',');
            }
            match serde_json::to_writer(&mut octets, &flow) {
                Ok(()) => self.first = false,
                // Cannot happen with these types; leaves the flow out rather than half of it in.
                Err(_) => octets.truncate(before),
            }
        }
        Some(Bytes::from(octets))
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().0 {
            Kind::Whole(octets) => Poll::Ready(octets.take().map(|octets| Ok(Frame::data(octets)))),
            Kind::Feed(drain) => drain.poll(context).map(|frame| frame.map(Ok)),
            Kind::Flows(pieces) => {
                // A client that reads quickly must not keep the daemon from its own work.
                if !pieces.rested {
                    pieces.rested = true;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                pieces.rested = false;
                Poll::Ready(pieces.piece().map(|octets| Ok(Frame::data(octets))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(octets) => octets.is_none(),
            Kind::Flows(pieces) => pieces.ended,
            Kind::Feed(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(octets) => {
                SizeHint::with_exact(octets.as_ref().map_or(0, |octets| octets.len() as u64))
            }
            Kind::Flows(_) | Kind::Feed(_) => SizeHint::default(),
        }
    }
}
