//! Ends stalled connections.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

/// A stream that records the time when bytes last moved.
pub struct ProgressStream<S> {
    stream: S,
    moved: Rc<Cell<Instant>>,
}

/// Time when bytes last moved on a [`ProgressStream`] stream.
pub struct Progress(Rc<Cell<Instant>>);

impl<S> ProgressStream<S> {
    /// Watches a stream.
    pub fn new(stream: S) -> (Self, Progress) {
        let moved = Rc::new(Cell::new(Instant::now()));
        (
            Self {
                stream,
                moved: Rc::clone(&moved),
            },
            Progress(moved),
        )
    }

    fn record(&self, octets: usize) {
        if octets > 0 {
            self.moved.set(Instant::now());
        }
    }
}

impl Progress {
    /// Returns the shared time, for later reading.
    pub(super) fn moved(&self) -> Rc<Cell<Instant>> {
        Rc::clone(&self.0)
    }

    /// Returns when no bytes have moved for this time.
    pub async fn stalls(&self, time: Duration) {
        loop {
            let due = self.0.get() + time;
            if due <= Instant::now() {
                return;
            }
            sleep_until(due).await;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ProgressStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.record(buffer.filled().len() - before);
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ProgressStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, octets);
        if let Poll::Ready(Ok(written)) = result {
            self.record(written);
        }
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        if let Poll::Ready(Ok(written)) = result {
            self.record(written);
        }
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
