//! What the daemon keeps of the page to itself: the password, the sessions, the certificate's files
//! and the token for figures. The page's server, which strangers speak to, asks for each thing:
//!
//! | request | answer |
//! |---|---|
//! | `POST /page/session` | [`Whose`]: which of [`Tokens`] is a session's |
//! | `POST /page/client` | the [`Device`] that has an address |
//! | `POST /page/login` | [`Opened`], with the password |
//! | `POST /page/logout` | ends the sessions of [`Tokens`] |
//! | `POST /page/password` | [`Opened`], and another password |
//! | `GET /page/certificate` | a [`Pair`], empty where the page is served without TLS |
//! | `POST /page/metrics` | figures, for who has the token where one is needed |
//! | `/v1/…` | the daemon's own, for who has a session, by [`SESSION_HEADER`] |

mod login;

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::server::Answer;
use api::{Asked, Body, Method, Nothing, Problem, Route, Routes, Who};
use hyper::Response;
use hyper::header::{HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

pub(crate) use login::{Login, Opened, Password};

use crate::WebError;
use crate::claim::Claim;
use crate::devices::{DeviceId, Devices};
use crate::guard;
use crate::password::Cost;
use crate::reply;
use crate::secret::{self, Stamp};
use crate::sessions::Sessions;
use crate::settings::{Metrics, Settings};
use crate::throttle::{Client, LOGIN_ALL, LOGIN_EACH, LOGIN_NETWORK, Throttle, Tries};
use crate::token::{Token, same};

/// Tells the time since some beginning; never goes back.
pub type Clock = Rc<dyn Fn() -> Duration>;

/// Writes figures: media type and text.
pub type Figures = Box<dyn Fn() -> (&'static str, String)>;

/// Tells the hardware address of who has an address at a port of the router.
pub type Neighbours = Box<dyn Fn(IpAddr) -> Option<[u8; 6]>>;

/// Reports whether a client has a connection to the page.
pub type Peers = Box<dyn Fn(IpAddr) -> bool>;

/// Header by which the page's server says in whose session it asks.
pub(crate) const SESSION_HEADER: &str = "x-weir-session";

/// How often is looked whether the password's file changed.
const LOOK: Duration = Duration::from_secs(1);

/// What a client's cookies hold.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tokens {
    pub(crate) tokens: Vec<Token>,
}

impl Body for Tokens {
    const EXPECTED: &'static str = "a JSON object with the list `tokens`";
}

/// Who somebody is.
#[derive(Serialize, Deserialize)]
pub(crate) struct Whose {
    /// The token that a session has.
    pub(crate) token: Option<Token>,
    /// There is a password.
    pub(crate) password_set: bool,
}

/// An address whose device is sought.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sought {
    /// The address.
    pub address: IpAddr,
}

impl Body for Sought {
    const EXPECTED: &'static str = "a JSON object with `address`";
}

/// The device that has an address.
#[derive(Serialize, Deserialize)]
pub struct Device {
    /// Its hardware address; `None`: it is not at a port of the router, or not known yet.
    pub mac: Option<[u8; 6]>,
}

impl Device {
    /// The client: this device, or else an address.
    pub fn or(self, address: IpAddr) -> Client {
        self.mac.map_or(Client::Address(address), Client::Device)
    }
}

/// A certificate and its key, as PEM.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Who asks for figures.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bearer {
    /// The token that was sent, if one was.
    pub(crate) token: Option<String>,
}

impl Body for Bearer {
    const EXPECTED: &'static str = "a JSON object with `token`";
}

/// Decides who is who.
pub struct Warden {
    settings: Settings,
    cost: Cost,
    clock: Clock,
    sessions: RefCell<Sessions>,
    logins: RefCell<Throttle>,
    /// Of devices that logged in before.
    known: RefCell<Tries<DeviceId>>,
    devices: Devices,
    neighbours: Option<Neighbours>,
    peers: Option<Peers>,
    /// The password's file as it was when sessions were last opened by it, and when that was looked
    /// at.
    stamp: Cell<Option<Stamp>>,
    /// By which the first password may be set from elsewhere.
    claim: RefCell<Claim>,
    looked: Cell<Duration>,
    /// One password is tried at a time, beside the event loop.
    trying: Arc<Semaphore>,
    waiting: [Cell<usize>; 2],
    figures: Option<Figures>,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::Files>,
}

impl Warden {
    /// Reads the certificate, or makes one: to be called before the daemon gives up writing files.
    /// Later it reads the certificate's and the password's files, and writes the latter where a
    /// password is set or changed.
    pub fn new(settings: Settings) -> Result<Self, WebError> {
        let begin = Instant::now();
        Self::with_clock(settings, Rc::new(move || begin.elapsed()))
    }

    /// The same with another clock.
    pub fn with_clock(settings: Settings, clock: Clock) -> Result<Self, WebError> {
        settings.check()?;
        // Told now, rather than to the first who logs in.
        secret::read(&settings.password_file)?;
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: crate::tls::Files::of(&settings, clock())?,
            cost: Cost::default(),
            sessions: RefCell::new(Sessions::new(settings.limits.sessions)),
            logins: RefCell::new(Throttle::new(LOGIN_EACH, LOGIN_ALL).with_networks(LOGIN_NETWORK)),
            known: RefCell::new(Tries::new(LOGIN_EACH)),
            devices: Devices::beside(&settings.password_file),
            neighbours: None,
            peers: None,
            claim: RefCell::new(Claim::random()?),
            stamp: Cell::new(Stamp::at(&settings.password_file)),
            looked: Cell::new(clock()),
            trying: Arc::new(Semaphore::new(1)),
            waiting: Default::default(),
            figures: None,
            clock,
            settings,
        })
    }

    /// The code by which the first password may be set from elsewhere than this machine: for its
    /// console. `None`: there is a password.
    pub fn claim(&self) -> Option<String> {
        let fresh = Stamp::at(&self.settings.password_file).is_none();
        fresh.then(|| self.claim.borrow().shown())
    }

    /// Why nobody gets figures, if that is so.
    pub fn figures_fail(&self) -> Option<secret::SecretError> {
        match &self.settings.metrics {
            Metrics::Token(file) => secret::token(file).err(),
            Metrics::Off | Metrics::Loopback => None,
        }
    }

    /// And knows hardware addresses by these neighbours.
    pub fn with_neighbours(self, neighbours: Neighbours) -> Self {
        Self {
            neighbours: Some(neighbours),
            ..self
        }
    }

    /// And takes passwords from these clients alone, whatever the page's process says: it could
    /// have been taken over, and name as many as it likes.
    pub fn with_peers(self, peers: Peers) -> Self {
        Self {
            peers: Some(peers),
            ..self
        }
    }

    /// And gives these figures.
    pub fn with_metrics(self, figures: Figures) -> Self {
        Self {
            figures: Some(figures),
            ..self
        }
    }

    /// Makes log-ins cheap. For tests only: such a hash can be guessed quickly.
    #[doc(hidden)]
    pub fn with_cost(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    /// The rows that the page's server may ask: its own, before those of the daemon.
    pub fn routes(self: &Rc<Self>, daemon: &Routes) -> Routes {
        let [whose, client, login, logout, password, pair, figures] =
            [(); 7].map(|()| Rc::clone(self));
        let guest = Who::Guest;
        let rows = [
            Route::new(
                Method::POST,
                "/page/session",
                guest,
                move |asked: Asked<(), Tokens>| Ok(whose.whose(asked.body)),
            ),
            Route::new(
                Method::POST,
                "/page/client",
                guest,
                move |asked: Asked<(), Sought>| Ok(client.device(asked.body.address)),
            ),
            Route::later(
                Method::POST,
                "/page/login",
                guest,
                move |asked: Asked<(), Login>| {
                    let warden = Rc::clone(&login);
                    Box::pin(async move { warden.log_in(asked.body).await })
                },
            ),
            Route::new(
                Method::POST,
                "/page/logout",
                guest,
                move |asked: Asked<(), Tokens>| {
                    logout.close(&asked.body.tokens);
                    Ok(Nothing {})
                },
            ),
            Route::later(
                Method::POST,
                "/page/password",
                guest,
                move |asked: Asked<(), Password>| {
                    let warden = Rc::clone(&password);
                    Box::pin(async move { warden.change_password(asked.body).await })
                },
            ),
            Route::get("/page/certificate", guest, move |()| Ok(pair.pair())),
            Route::raw(
                Method::POST,
                "/page/metrics",
                guest,
                move |asked: Asked<(), Bearer>| figures.metrics(&asked.body),
            ),
        ];
        daemon.after(rows.map(Route::unlisted))
    }

    /// Who asks, by the header of the page's server.
    pub fn who(&self, headers: &HeaderMap) -> Who {
        let session = guard::only(headers, HeaderName::from_static(SESSION_HEADER));
        let token = session.and_then(Token::parse);
        match token.is_some_and(|token| self.is_open(&token)) {
            true => Who::User,
            false => Who::Guest,
        }
    }

    fn whose(&self, asked: Tokens) -> Whose {
        let mut tokens = asked.tokens.into_iter();
        Whose {
            token: tokens.find(|token| self.is_open(token)),
            // One that cannot be read is one all the same: it must not be possible to set another
            // instead.
            password_set: Stamp::at(&self.settings.password_file).is_some(),
        }
    }

    fn is_open(&self, token: &Token) -> bool {
        let now = (self.clock)();
        self.look(now);
        self.sessions.borrow_mut().touch(&token.id(), now)
    }

    /// Ends all sessions where the password is another one, or was taken away, by `weir passwd` or
    /// by hand.
    fn look(&self, now: Duration) {
        if now.saturating_sub(self.looked.get()) < LOOK {
            return;
        }
        self.looked.set(now);
        self.know(Stamp::at(&self.settings.password_file));
    }

    /// The password's file is this one now: where it was another, its sessions end.
    fn know(&self, stamp: Option<Stamp>) {
        if stamp != self.stamp.replace(stamp) {
            self.sessions.borrow_mut().close_all();
        }
    }

    fn close(&self, tokens: &[Token]) {
        let mut sessions = self.sessions.borrow_mut();
        for token in tokens {
            sessions.close(&token.id());
        }
    }

    #[cfg(feature = "tls")]
    fn pair(&self) -> Pair {
        let tls = self.tls.as_ref();
        tls.map(|tls| tls.pair((self.clock)())).unwrap_or_default()
    }

    #[cfg(not(feature = "tls"))]
    fn pair(&self) -> Pair {
        Pair::default()
    }

    fn metrics(&self, asked: &Bearer) -> Result<Response<Answer>, Problem> {
        if let Metrics::Token(file) = &self.settings.metrics {
            let wanted = secret::token(file)
                .map_err(|error| Problem::new(500, "no_token", error.to_string(), error.hint()))?;
            let given = asked.token.as_deref();
            if !given.is_some_and(|given| same(given.as_bytes(), wanted.as_bytes())) {
                let detail = "figures need the token that the configuration names";
                let hint = "send Authorization: Bearer and the token";
                return Err(Problem::new(401, "no_token", detail, hint));
            }
        }
        let figures = match self.settings.metrics {
            Metrics::Off => None,
            Metrics::Loopback | Metrics::Token(_) => self.figures.as_ref(),
        };
        let (media, text) = figures.ok_or_else(reply::no_file)?();
        Ok(reply::body(media, text.into()))
    }
}
