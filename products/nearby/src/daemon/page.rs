//! The page, and figures for Prometheus: HTTP/1.1 over TCP.
//!
//! | request | answer |
//! |---|---|
//! | `GET /`, `/page.js`, `/page.css`, `/icon.svg` | the page, without any secret |
//! | `GET /api/peers`, `GET /api/past`, `GET` and `POST /api/messages` | as the socket at `/v1/…` |
//! | `POST /api/login` | `{"token": …}`: a cookie, if a token is required |
//! | `GET /metrics` | figures |
//!
//! Refuses requests with an unknown host name (DNS rebinding) or from other sites, which could
//! otherwise read or write in the user's name. Accepts only JSON, which a form cannot send. The
//! server of the router's page bounds the connections.

mod auth;
mod files;
mod server;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use web::Listeners;
use web::secret::{self, SecretError};

use super::error_chain::whole;
use super::settings::PageSettings;
use super::state::State;
use auth::TokenAuth;
use server::PageServer;

/// Interval of a heartbeat to listeners, so that a lost connection is noticed.
const BEAT: Duration = Duration::from_secs(5);

/// A page that has its socket.
pub struct Page {
    listeners: Listeners,
    entry: Option<TokenAuth>,
}

impl Page {
    /// Reads the token, and binds the address.
    ///
    /// # Errors
    /// In a sentence: an open address without a token, a file without a token, or an address in
    /// use.
    pub fn open(settings: &PageSettings) -> Result<Self, String> {
        let address = settings.listen;
        let entry = match &settings.token {
            Some(file) => Some(TokenAuth::new(
                &secret::token(file).map_err(|it| wrong(&it))?,
            )),
            None if address.ip().to_canonical().is_loopback() => None,
            None => {
                return Err(format!(
                    "anyone who reaches {address} could read and speak in your name: name a file \
                     with a token by --page-token, or use an address of this machine only, such as \
                     127.0.0.1"
                ));
            }
        };
        let listeners = Listeners::bind_addresses(&[address]).map_err(|error| {
            let why = whole(&error);
            format!("cannot serve the page: {why}: choose another --page ADDRESS:PORT")
        })?;
        Ok(Self { listeners, entry })
    }

    /// Returns the address with the port that the system chose, where 0 was requested.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listeners.addresses().first().copied()
    }

    /// Serves until dropped.
    ///
    /// # Errors
    /// The socket cannot be used.
    pub async fn serve(self, state: &State) -> std::io::Result<Infallible> {
        self.serve_with(state, server::limits()).await
    }

    async fn serve_with(self, state: &State, limits: web::Limits) -> std::io::Result<Infallible> {
        let door = Rc::new(PageServer::new(state.clone(), self.entry, limits));
        let beat = async {
            let mut clock = tokio::time::interval(BEAT);
            loop {
                clock.tick().await;
                state.beat();
            }
        };
        tokio::select! {
            ended = web::serve(self.listeners, door) => ended,
            never = beat => never,
        }
    }
}

/// Serves the page, if configured; otherwise waits for ever.
pub async fn serve(page: Option<Page>, state: &State) -> std::io::Result<Infallible> {
    match page {
        Some(page) => page.serve(state).await,
        None => std::future::pending().await,
    }
}

fn wrong(error: &SecretError) -> String {
    let fix = match error {
        SecretError::Content { path, .. } => {
            format!("create one by `openssl rand -hex 16 > {}`", path.display())
        }
        other => other.hint(),
    };
    format!("--page-token: {error}: {fix}")
}

#[cfg(test)]
mod tests;
