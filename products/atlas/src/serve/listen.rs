//! The socket: admission of clients, and timeouts.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tracing::debug;

use super::app::App;
use super::connection_limiter::{ConnectionPermit, MOST};
use super::timeout_stream::TimeoutStream;

/// Header lines of a request, and bytes of all of them with the first line.
const HEADERS: usize = 64;
const HEAD: usize = 32 * 1024;
/// Timeout of a request, and of the wait for the next one.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Timeout for a client that does not read its answer.
const STALL_TIME: Duration = Duration::from_secs(20);
/// Least rate of a client, in bytes a second, against slow reading.
const LEAST: u32 = 8 << 10;
/// Send buffer of each connection, in bytes: the kernel would take megabytes.
pub(super) const SENT: usize = 128 << 10;
/// Timeout of idle connections and partial requests in a crowd.
const CROWDED: Duration = Duration::from_secs(1);
/// Longest life of a connection, so that slow ones end too.
const LIFE: Duration = Duration::from_secs(300);
/// Time for unsent answers after a request to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves until `ends` is true, and then briefly until all requests are answered.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>, mut ends: watch::Receiver<bool>) {
    let crowd = Arc::clone(&app.crowd);
    loop {
        while crowd.count() >= MOST {
            crowd.crowded.notify_waiters();
            tokio::select! {
                () = crowd.left.notified() => {}
                // Busy connections may have become idle without leaving.
                () = tokio::time::sleep(Duration::from_millis(100)) => {}
                _ = ends.wait_for(|ends| *ends) => break,
            }
        }
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ends.wait_for(|ends| *ends) => break,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors: it passes, and trying at once would only spin.
                debug!(%error, "cannot accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        let Some(guest) = crowd.enter(from.ip()) else {
            debug!(%from, "has too many connections");
            continue;
        };
        let (app, ends) = (Arc::clone(&app), ends.clone());
        tokio::spawn(async move {
            speak(stream, from, &app, ends, &guest).await;
            drop(guest);
        });
    }
    drop(listener);
    let empty = async {
        while crowd.count() > 0 {
            crowd.left.notified().await;
        }
    };
    let _ = tokio::time::timeout(FAREWELL, empty).await;
}

/// Speaks HTTP until either side has finished.
async fn speak(
    stream: TcpStream,
    from: SocketAddr,
    app: &Arc<App>,
    mut ends: watch::Receiver<bool>,
    guest: &ConnectionPermit,
) {
    // Answers are written whole: to wait for more would only delay them.
    let _ = stream.set_nodelay(true);
    let stream = TimeoutStream::new(stream, STALL_TIME, LEAST);
    let (busy, unsent) = (AtomicBool::new(false), stream.unsent());
    let at_rest = || !busy.load(Ordering::Relaxed) && !unsent.load(Ordering::Relaxed);
    let service = service_fn(|request: Request<Incoming>| {
        busy.store(true, Ordering::Relaxed);
        let (app, busy) = (Arc::clone(app), &busy);
        async move {
            let response: Response<_> = app.respond(&request, from.ip()).await;
            busy.store(false, Ordering::Relaxed);
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIME)
        .max_buf_size(HEAD)
        .max_headers(HEADERS)
        // A disconnected client cancels its query. A client that only closes its own side looks the
        // same, and gets no answer.
        .half_close(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut life = pin!(tokio::time::sleep(LIFE));
    let (mut leaving, mut last) = (false, false);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(%from, %error, "a client disconnected, or was too slow");
                }
                return;
            }
            () = life.as_mut() => {
                // A connection to close may have completed its request meanwhile.
                if leaving && (last || at_rest()) {
                    return;
                }
                last = leaving;
                leaving = true;
                connection.as_mut().graceful_shutdown();
                life.as_mut().reset(tokio::time::Instant::now() + STALL_TIME);
            }
            _ = ends.wait_for(|ends| *ends), if !leaving => {
                leaving = true;
                connection.as_mut().graceful_shutdown();
                life.as_mut().reset(tokio::time::Instant::now() + FAREWELL);
            }
            () = guest.0.crowded.notified(), if !leaving => {
                if at_rest() {
                    leaving = true;
                    connection.as_mut().graceful_shutdown();
                    life.as_mut().reset(tokio::time::Instant::now() + CROWDED);
                }
            }
        }
    }
}
