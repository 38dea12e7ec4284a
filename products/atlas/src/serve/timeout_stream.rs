//! Ends connections whose client reads nothing, or too slowly.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream whose writes fail when its peer reads nothing for so long, or less than the minimum.
pub(crate) struct TimeoutStream<S> {
    stream: S,
    patience: Duration,
    /// Bytes a second.
    least: u32,
    /// Remaining patience: bytes taken add to it, up to the limit.
    left: Duration,
    /// Start of the current wait and its timer, while a write waits.
    waits: Option<(Instant, Pin<Box<Sleep>>)>,
    unsent: Arc<AtomicBool>,
}

impl<S> TimeoutStream<S> {
    pub fn new(stream: S, patience: Duration, least: u32) -> Self {
        Self {
            stream,
            patience,
            least,
            left: patience,
            waits: None,
            unsent: Arc::default(),
        }
    }

    /// Returns a flag that is true during an answer.
    pub fn unsent(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.unsent)
    }

    fn watch(
        &mut self,
        polled: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.unsent.store(true, Ordering::Relaxed);
        if let Poll::Ready(Ok(taken)) = polled {
            if let Some((since, _)) = self.waits.take() {
                self.left = self.left.saturating_sub(since.elapsed());
            }
            let taken = u32::try_from(taken).unwrap_or(u32::MAX);
            let earned = Duration::from_secs(1) * taken / self.least;
            self.left = (self.left + earned).min(self.patience);
        }
        if polled.is_ready() {
            return polled;
        }
        let left = self.left;
        let begin = || (Instant::now(), Box::pin(sleep(left)));
        let (_, waits) = self.waits.get_or_insert_with(begin);
        match waits.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, octets);
        self.watch(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // All bytes seem to be sent: the next answer starts with the full time limit.
        self.left = self.patience;
        self.unsent.store(false, Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(future)
    }

    #[test]
    fn one_who_takes_nothing_is_left() {
        run(async {
            let (own, _other) = duplex(1000);
            let mut stream = TimeoutStream::new(own, Duration::from_millis(20), 1000);
            let written = stream.write_all(&[0; 5000]).await;
            assert_eq!(
                written.map_err(|error| error.kind()),
                Err(io::ErrorKind::TimedOut)
            );
        });
    }

    #[test]
    fn one_who_takes_less_than_it_has_to_is_left() {
        run(async {
            let (own, mut other) = duplex(1000);
            let mut stream = TimeoutStream::new(own, Duration::from_millis(500), 100_000);
            let reading = async {
                // Never nothing for as long as the patience is.
                while other.read_u8().await.is_ok() {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            let (written, ()) = tokio::join!(
                async {
                    let written = stream.write_all(&[0; 5000]).await;
                    drop(stream);
                    written
                },
                reading
            );
            assert_eq!(
                written.map_err(|error| error.kind()),
                Err(io::ErrorKind::TimedOut)
            );
        });
    }

    #[test]
    fn one_who_takes_a_little_at_a_time_is_served() {
        run(async {
            let (own, mut other) = duplex(1000);
            let mut stream = TimeoutStream::new(own, Duration::from_secs(2), 100);
            let reading = async {
                let mut all = 0;
                let mut buffer = [0; 700];
                while all < 5000 {
                    all += other.read(&mut buffer).await.expect("read");
                    // Together longer than the patience, which is with each.
                    sleep(Duration::from_millis(500)).await;
                }
                all
            };
            let reading = async { io::Result::Ok(reading.await) };
            let both = tokio::try_join!(stream.write_all(&[0; 5000]), reading);
            let read = both.map(|((), read)| read);
            assert_eq!(read.map_err(|error| error.kind()), Ok(5000));
        });
    }
}
