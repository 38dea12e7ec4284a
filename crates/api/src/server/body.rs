//! Bodies of answers: whole, or written as the client reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use serde::Serialize;

use super::StreamReceiver;

/// Bytes after which a piece of a listing is sent: enough to make the system call worth it.
const PIECE: usize = 32 * 1024;

/// Body of an answer.
pub struct ResponseBody(Kind);

enum Kind {
    /// A whole body; `None` once taken.
    Whole(Option<Bytes>),
    /// A listing, piece by piece.
    List(List),
    /// Bytes in a stream.
    Feed(StreamReceiver),
    /// Body from another server.
    Passed(Incoming),
}

impl ResponseBody {
    /// Returns a whole body.
    pub fn whole(octets: Bytes) -> Self {
        Self(Kind::Whole(Some(octets)))
    }

    /// Returns a body that the daemon writes as a stream.
    pub(super) fn feed(drain: StreamReceiver) -> Self {
        Self(Kind::Feed(drain))
    }

    /// Passes on the body of another server as it arrives. If that body fails, so does this one.
    pub fn passed(body: Incoming) -> Self {
        Self(Kind::Passed(body))
    }

    /// Returns a JSON document with a long list in it: `head`, the items with commas between them,
    /// `tail`. Items are produced as the client reads, some hundred between two turns of the event
    /// loop. An item that cannot be serialized is left out.
    pub fn list<T: Serialize>(
        head: String,
        mut items: impl Iterator<Item = T> + 'static,
        tail: String,
    ) -> Self {
        Self(Kind::List(List {
            next: Box::new(move |octets| {
                items
                    .next()
                    .map(|item| serde_json::to_writer(octets, &item).is_ok())
            }),
            begun: head.into_bytes(),
            tail,
            first: true,
            ended: false,
            rested: true,
        }))
    }
}

/// Appends an item; `false`: the item is incomplete. `None`: the end.
type Append = Box<dyn FnMut(&mut Vec<u8>) -> Option<bool>>;

/// Writes items on demand, so that a table of any size needs one piece of memory, and the daemon
/// gets a turn between two pieces.
struct List {
    next: Append,
    /// End of the document.
    tail: String,
    /// Bytes written and not sent yet.
    begun: Vec<u8>,
    /// True until the first item is written.
    first: bool,
    ended: bool,
    /// True if the event loop had a turn since the last piece.
    rested: bool,
}

impl List {
    fn piece(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut octets = std::mem::take(&mut self.begun);
        while octets.len() < PIECE {
            let before = octets.len();
            if !self.first {
                octets.push(b',');
            }
            match (self.next)(&mut octets) {
                Some(true) => self.first = false,
                Some(false) => octets.truncate(before),
                None => {
                    octets.truncate(before);
                    octets.extend_from_slice(self.tail.as_bytes());
                    self.ended = true;
                    break;
                }
            }
        }
        Some(Bytes::from(octets))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut self.get_mut().0 {
            Kind::Whole(octets) => Poll::Ready(octets.take().map(|octets| Ok(Frame::data(octets)))),
            Kind::Feed(drain) => drain.poll(context).map(|frame| frame.map(Ok)),
            Kind::Passed(body) => Pin::new(body)
                .poll_frame(context)
                .map(|frame| frame.map(|frame| frame.map_err(io::Error::other))),
            Kind::List(list) => {
                // A client that reads quickly must not block the daemon.
                if !list.rested {
                    list.rested = true;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                list.rested = false;
                Poll::Ready(list.piece().map(|octets| Ok(Frame::data(octets))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(octets) => octets.is_none(),
            Kind::List(list) => list.ended,
            Kind::Feed(_) => false,
            Kind::Passed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(octets) => {
                SizeHint::with_exact(octets.as_ref().map_or(0, |octets| octets.len() as u64))
            }
            Kind::List(_) | Kind::Feed(_) => SizeHint::default(),
            Kind::Passed(body) => body.size_hint(),
        }
    }
}
