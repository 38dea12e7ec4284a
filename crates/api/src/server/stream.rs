//! A bounded pipe of bytes from the daemon's loop to one client. If the client is too slow, new
//! data is refused; the daemon never waits.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use hyper::HeaderMap;
use hyper::body::{Bytes, Frame};

/// State shared by both ends.
#[derive(Default)]
struct Shared {
    waiting: Vec<u8>,
    limit: usize,
    /// Trailer of the finished answer.
    trailer: Option<HeaderMap>,
    ended: bool,
    /// True if the client disconnected.
    gone: bool,
    reader: Option<Waker>,
}

impl Shared {
    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// The writing end. Dropping it ends the answer.
pub struct StreamSender(Rc<RefCell<Shared>>);

/// The end that sends to the client. If it is dropped, as when the client disconnects, the
/// [`StreamSender`] notices.
pub struct StreamReceiver(Rc<RefCell<Shared>>);

/// Returns a pipe that holds this many bytes.
pub fn feed(limit: usize) -> (StreamSender, StreamReceiver) {
    let shared = Rc::new(RefCell::new(Shared {
        limit,
        ..Shared::default()
    }));
    (StreamSender(Rc::clone(&shared)), StreamReceiver(shared))
}

impl StreamSender {
    /// Appends all of these bytes, or none if there is no room: `false`.
    pub fn offer(&mut self, octets: &[u8]) -> bool {
        let mut shared = self.0.borrow_mut();
        if shared.gone || shared.waiting.len() + octets.len() > shared.limit {
            return false;
        }
        shared.waiting.extend_from_slice(octets);
        shared.wake();
        true
    }

    /// Returns true if the client disconnected: offered data goes nowhere.
    pub fn is_gone(&self) -> bool {
        self.0.borrow().gone
    }

    /// Returns true if no data waits to be taken.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().waiting.is_empty()
    }

    /// Ends the answer with one trailer. The name must be in the answer's `Trailer` header; a value
    /// that is not ASCII is left out.
    pub fn finish(self, name: &'static str, value: &str) {
        let mut trailers = HeaderMap::new();
        if let Ok(value) = value.parse() {
            trailers.insert(name, value);
        }
        self.0.borrow_mut().trailer = Some(trailers);
    }
}

impl Drop for StreamSender {
    fn drop(&mut self) {
        let mut shared = self.0.borrow_mut();
        shared.ended = true;
        shared.wake();
    }
}

impl StreamReceiver {
    /// Returns the next piece of the answer; `None` at its end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Frame<Bytes>>> {
        let mut shared = self.0.borrow_mut();
        if !shared.waiting.is_empty() {
            return Poll::Ready(Some(Frame::data(
                std::mem::take(&mut shared.waiting).into(),
            )));
        }
        if let Some(trailers) = shared.trailer.take() {
            return Poll::Ready(Some(Frame::trailers(trailers)));
        }
        if shared.ended {
            return Poll::Ready(None);
        }
        shared.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for StreamReceiver {
    fn drop(&mut self) {
        let mut shared = self.0.borrow_mut();
        shared.gone = true;
        shared.waiting = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(drain: &mut StreamReceiver) -> Poll<Option<Frame<Bytes>>> {
        drain.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn data(drain: &mut StreamReceiver) -> Vec<u8> {
        match next(drain) {
            Poll::Ready(Some(frame)) => frame.into_data().expect("data").to_vec(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_whole() {
        let (mut feed, mut drain) = feed(4);
        assert!(feed.offer(b"abc"));
        assert!(!feed.offer(b"de"));
        assert!(feed.offer(b"d"));
        assert_eq!(data(&mut drain), b"abcd");
        assert!(feed.is_empty() && next(&mut drain).is_pending());
        assert!(feed.offer(b"ef"));
        assert_eq!(data(&mut drain), b"ef");
    }

    #[test]
    fn ends_with_a_trailer_and_only_once() {
        let (mut feed, mut drain) = feed(9);
        feed.offer(b"last");
        feed.finish("x-end", "1");
        assert_eq!(data(&mut drain), b"last");
        let Poll::Ready(Some(end)) = next(&mut drain) else {
            panic!("a trailer");
        };
        assert_eq!(end.into_trailers().expect("trailers")["x-end"], "1");
        assert!(matches!(next(&mut drain), Poll::Ready(None)));
        assert!(matches!(next(&mut drain), Poll::Ready(None)));
    }

    #[test]
    fn each_end_sees_that_the_other_went() {
        let (feed_end, mut drain) = feed(9);
        drop(feed_end);
        assert!(matches!(next(&mut drain), Poll::Ready(None)));
        let (mut feed_end, drain) = feed(9);
        assert!(!feed_end.is_gone());
        drop(drain);
        assert!(feed_end.is_gone() && !feed_end.offer(b"x"));
    }
}
