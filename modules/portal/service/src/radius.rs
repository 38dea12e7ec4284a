//! RADIUS servers, and queries about accounts.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use portal_core::account::{Account, Verdict};
use portal_core::radius::{AccessRequest, LONGEST, ReplyError, Secret};
use tokio::net::UdpSocket;
use tokio::time::timeout;
use tracing::warn;

use super::config::Radius;
use super::guest_service::Accounts;
use super::sockets::asking;
use runtime::Error;
use runtime::secret::first_line;

/// Longest wait for a reply, over all servers: meanwhile a browser shows nothing.
const PATIENCE: Duration = Duration::from_secs(8);
/// Number of attempts for each server.
const TRIES: u32 = 2;
/// Time for which a silent server is asked last.
const REST: Duration = Duration::from_secs(60);
/// Maximum number of concurrent requests: the page itself needs none.
const AT_ONCE: u32 = 16;
/// Possible reasons for a missing reply.
const SILENT: &str = "no reply: the server is down, does not know this router or has another \
    secret, or something drops the packets";
/// Interval at which the same problem is logged again.
const TOLD: Duration = Duration::from_secs(60);

/// Asks them.
pub struct Client {
    servers: Vec<SocketAddr>,
    secret: Secret,
    name: String,
    accounts: Accounts,
    /// Until when those that were silent are asked last.
    resting: RefCell<HashMap<SocketAddr, Instant>>,
    asking: Cell<u32>,
    told: RefCell<HashMap<(SocketAddr, Option<ReplyError>), Instant>>,
}

/// Counts a request while it runs.
struct Asking<'a>(&'a Cell<u32>);

impl Client {
    /// Opens the client; `None`: no server is configured. To be called with all rights.
    ///
    /// # Errors
    /// The secret is missing, or cannot be read.
    pub fn open(config: &Radius) -> Result<Option<Self>, Error> {
        if config.servers.0.is_empty() {
            return Ok(None);
        }
        let hint = "write the secret that the RADIUS server has for this router into the first \
            line of a file, and name that file as `secret` under [portal.radius]";
        let Some(file) = config.secret.0.as_deref() else {
            return Err(Error::new("no secret for the RADIUS server", hint));
        };
        let what = format!("cannot read the secret in {}", file.display());
        let line = first_line(file).map_err(|error| Error::with_cause(&what, &error, hint))?;
        let secret = Secret::new(&line);
        let none = || {
            let what = format!("no secret in the first line of {}", file.display());
            Error::new(what, hint)
        };
        Ok(Some(Self {
            servers: config.servers.0.clone(),
            secret: secret.ok_or_else(none)?,
            name: config.name.0.clone(),
            accounts: Accounts {
                devices: usize::from(*config.devices),
                time: *config.time,
            },
            resting: RefCell::default(),
            asking: Cell::default(),
            told: RefCell::default(),
        }))
    }

    /// Returns the settings for all accounts.
    pub fn accounts(&self) -> Accounts {
        self.accounts
    }

    /// Asks the servers about an account; `None`: no server answered.
    pub async fn ask(&self, account: &Account<'_>) -> Option<Verdict> {
        let _asking = self.begin()?;
        for server in self.in_turn() {
            match self.ask_one(server, account).await {
                Ok(verdict) => {
                    self.resting.borrow_mut().remove(&server);
                    return Some(verdict);
                }
                Err(error) => {
                    let rested = Instant::now() + REST;
                    self.resting.borrow_mut().insert(server, rested);
                    if self.is_news(server, None) {
                        let hint = "check `servers` under [portal.radius]";
                        warn!(%server, %error, hint, "a RADIUS server does not answer");
                    }
                }
            }
        }
        None
    }

    /// Checks that each server sends a valid reply, without using the account of a guest.
    pub async fn try_out(&self) -> Vec<(SocketAddr, Result<(), String>)> {
        let nobody = Account {
            name: "weir-check",
            password: "weir-check",
            mac: [0; 6],
            address: Ipv4Addr::UNSPECIFIED.into(),
        };
        let mut all = Vec::new();
        for server in self.servers.iter().copied() {
            let said = self.ask_one(server, &nobody).await;
            let doubts = self.told.borrow();
            let mut doubts = doubts.keys().filter(|(whose, _)| *whose == server);
            let doubt = doubts.find_map(|(_, doubt)| *doubt);
            let why = |error: io::Error| match (doubt, error.kind()) {
                (Some(doubt), _) => doubt.to_string(),
                (None, io::ErrorKind::TimedOut) => SILENT.to_owned(),
                _ => error.to_string(),
            };
            all.push((server, said.map(drop).map_err(why)));
        }
        all
    }

    fn begin(&self) -> Option<Asking<'_>> {
        let asking = self.asking.get();
        if asking >= AT_ONCE {
            return None;
        }
        self.asking.set(asking + 1);
        Some(Asking(&self.asking))
    }

    /// Returns the servers; those without a recent answer come last.
    fn in_turn(&self) -> Vec<SocketAddr> {
        let (now, resting) = (Instant::now(), self.resting.borrow());
        let mut servers = self.servers.clone();
        servers.sort_by_key(|server| resting.get(server).is_some_and(|end| *end > now));
        servers
    }

    async fn ask_one(&self, server: SocketAddr, account: &Account<'_>) -> io::Result<Verdict> {
        let mut random = [0; 17];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let [number, random @ ..] = random;
        let question = AccessRequest::new(account, &self.name, &self.secret, (number, random));
        let question = question.ok_or(io::ErrorKind::InvalidInput)?;
        let socket = asking(server).await?;
        let patience = PATIENCE / TRIES / self.servers.len().max(1) as u32;
        for _ in 0..TRIES {
            // Retries repeat the request: a server that received it before gives the same reply.
            socket.send(question.octets()).await?;
            if let Ok(said) =
                timeout(patience, self.receive_reply(server, &socket, &question)).await
            {
                return said;
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    async fn receive_reply(
        &self,
        server: SocketAddr,
        socket: &UdpSocket,
        question: &AccessRequest,
    ) -> io::Result<Verdict> {
        let mut octets = vec![0; LONGEST + 1];
        loop {
            let length = socket.recv(&mut octets).await?;
            match question.answer(&octets[..length], &self.secret) {
                Ok(verdict) => return Ok(verdict),
                Err(doubt) => {
                    if self.is_news(server, Some(doubt)) {
                        warn!(%server, why = %doubt, "ignoring a RADIUS server's reply");
                    }
                }
            }
        }
    }

    /// Returns true if a problem was not logged recently.
    fn is_news(&self, server: SocketAddr, doubt: Option<ReplyError>) -> bool {
        let mut told = self.told.borrow_mut();
        let before = told.get(&(server, doubt));
        let news = before.is_none_or(|at| at.elapsed() >= TOLD);
        if news {
            told.insert((server, doubt), Instant::now());
        }
        news
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
