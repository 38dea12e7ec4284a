//! The socket: who may connect, and for how long.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tracing::debug;

use super::app::App;
use super::stalled::Impatient;
use crate::client::{Client, Proxies};

/// Connections at once, and of one client; this machine's own, and those of proxies, are not
/// counted by client, as there are many behind them.
const MOST: usize = 256;
const MOST_EACH: usize = 32;
/// Header lines of a request, and octets of all of them with the first line.
const HEADERS: usize = 64;
const HEAD: usize = 32 * 1024;
/// How long a request may take to come, or the next one to begin.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// How long a client may take nothing of its answer.
const STALL_TIME: Duration = Duration::from_secs(20);
/// Octets a second that it has to take, so that little at a time does not last either.
const LEAST: u32 = 8 << 10;
/// Octets that the kernel keeps of an answer, for each connection: it would keep megabytes.
pub(super) const SENT: usize = 128 << 10;
/// How long those who wait for nothing, or are half through a request, may stay when it is crowded.
const CROWDED: Duration = Duration::from_secs(1);
/// How long a connection may last, so that the slow ones end too.
const LIFE: Duration = Duration::from_secs(300);
/// How long answers may still be sent after the end was asked for.
const FAREWELL: Duration = Duration::from_secs(5);

/// Who is connected.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    proxies: Proxies,
    all: AtomicUsize,
    each: Mutex<HashMap<Client, usize>>,
    /// Those who wait for nothing go when this is told.
    crowded: Notify,
    left: Notify,
}

impl Crowd {
    pub fn new(proxies: Proxies) -> Self {
        Self {
            proxies,
            ..Self::default()
        }
    }

    pub fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Lets one in, or does not.
    fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Guest> {
        let many = address.is_loopback() || self.proxies.trust(address);
        let client = (!many).then(|| Client::of(address));
        if let Some(client) = client {
            let mut each = self.each.lock().ok()?;
            let own = each.entry(client).or_default();
            if *own >= MOST_EACH {
                return None;
            }
            *own += 1;
        }
        self.all.fetch_add(1, Ordering::Relaxed);
        Some(Guest(Arc::clone(self), client))
    }
}

/// A connection's place, given back however it ends.
struct Guest(Arc<Crowd>, Option<Client>);

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.all.fetch_sub(1, Ordering::Relaxed);
        self.0.left.notify_one();
        if let Some(client) = &self.1
            && let Ok(mut each) = self.0.each.lock()
            && let Some(own) = each.get_mut(client)
        {
            *own -= 1;
            if *own == 0 {
                each.remove(client);
            }
        }
    }
}

/// Serves until `ends` is told, and then until all has been answered, but not for long.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>, mut ends: watch::Receiver<bool>) {
    let crowd = Arc::clone(&app.crowd);
    loop {
        while crowd.count() >= MOST {
            crowd.crowded.notify_waiters();
            tokio::select! {
                () = crowd.left.notified() => {}
                // Those who were busy may have come to rest without leaving.
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

/// Speaks HTTP until either side has said all.
async fn speak(
    stream: TcpStream,
    from: SocketAddr,
    app: &Arc<App>,
    mut ends: watch::Receiver<bool>,
    guest: &Guest,
) {
    // Answers are written whole: to wait for more would only delay them.
    let _ = stream.set_nodelay(true);
    let stream = Impatient::new(stream, STALL_TIME, LEAST);
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
        // A client that goes takes its query with it. One that only ends its own side cannot be told
        // from it, and goes without an answer.
        .half_close(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut life = pin!(tokio::time::sleep(LIFE));
    let (mut leaving, mut last) = (false, false);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(%from, %error, "a client went away, or was too slow");
                }
                return;
            }
            () = life.as_mut() => {
                // Of those who were to go, one may have said the rest of its request.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// A network of IPv6 is one client; what many are behind is none.
    #[test]
    fn one_client_has_so_many_connections() {
        let crowd = Arc::new(Crowd::new(Proxies::new(&[at("192.0.2.80")])));
        for (address, same, most) in [
            ("192.0.2.1", "192.0.2.1", MOST_EACH),
            ("2001:db8::1", "2001:db8::2", MOST_EACH),
            ("192.0.2.80", "192.0.2.80", MOST),
            ("::1", "::1", MOST),
        ] {
            let guests = [address, same].map(at).into_iter().cycle().take(MOST);
            let guests: Vec<_> = guests.map_while(|from| crowd.enter(from)).collect();
            assert_eq!(guests.len(), most, "{address}");
            assert!(crowd.enter(at("198.51.100.1")).is_some(), "another");
            drop(guests);
            assert_eq!(crowd.count(), 0);
            assert!(crowd.each.lock().expect("whole").is_empty());
        }
    }
}
