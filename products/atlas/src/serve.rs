//! The HTTP server: reads, and changes nothing.
//!
//! [`listen`] accepts clients and speaks HTTP, [`route`] resolves addresses, [`app`] answers: from
//! its [`cache`], otherwise by a [`store_query`], through the [`pool`]'s connections to the file
//! ([`connection_pool`]), with [`figures`] shared between forms; a free [`query`] runs in its own
//! process.

mod app;
pub(crate) mod asset;
mod cache;
mod connection_limiter;
mod connection_pool;
mod counts;
mod figures;
mod listen;
mod oembed;
mod pool;
mod query;
mod reply;
mod request;
mod route;
mod store_query;
mod timeout_stream;
mod unsent;

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use socket2::SockRef;

pub(crate) use app::Settings;

use crate::error::Error;

/// A server that has its socket.
pub(crate) struct Server {
    listener: TcpListener,
    app: Arc<app::App>,
}

impl Server {
    /// Opens the store, and binds the address.
    pub fn bind(listen: SocketAddr, settings: Settings) -> Result<Self, Error> {
        let app = Arc::new(app::App::new(settings)?);
        let bound = TcpListener::bind(listen).and_then(|listener| {
            listener.set_nonblocking(true)?;
            SockRef::from(&listener).set_send_buffer_size(listen::SENT)?;
            Ok(listener)
        });
        let listener = bound.map_err(|error| {
            let fix = "choose another one with --listen ADDRESS:PORT";
            Error::Other(format!("cannot listen on {listen}: {error}: {fix}"))
        })?;
        Ok(Self { listener, app })
    }

    /// Returns the address with the port that the system chose, where 0 was requested.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        let address = self.listener.local_addr();
        address.map_err(|error| Error::Other(format!("cannot read the socket's address: {error}")))
    }

    /// Serves until `end`, and then until all requests are answered.
    pub async fn run(self, end: impl Future<Output = ()>) -> Result<(), Error> {
        let listener = tokio::net::TcpListener::from_std(self.listener);
        let listener =
            listener.map_err(|error| Error::Other(format!("cannot use the socket: {error}")))?;
        let watch = tokio::spawn(Arc::clone(&self.app).watch());
        let (tell, ends) = tokio::sync::watch::channel(false);
        let serving = listen::serve(listener, self.app, ends);
        let mut serving = std::pin::pin!(serving);
        tokio::select! {
            () = serving.as_mut() => {}
            () = end => {
                let _ = tell.send(true);
                serving.await;
            }
        }
        watch.abort();
        Ok(())
    }
}
