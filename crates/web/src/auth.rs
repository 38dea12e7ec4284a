//! Parts of the page that only the daemon holds: the password, the sessions, the certificate's
//! files and the token for metrics. The page's server asks for each of them by a message.

mod login;
mod queue;

use std::rc::Rc;

use api::server::ResponseBody;
use api::{AccessLevel, ApiRequest, Body, EmptyBody, Method, Problem, Route, Routes};
use hyper::Response;
use hyper::header::{HeaderMap, HeaderName};
use serde::Serialize;

use login::{Logins, Neighbours, Peers};

use crate::WebError;
use crate::clock::{self, Clock};
use crate::messages::{DeviceQuery, MetricsRequest, PemPair, SESSION_HEADER, SessionTokens};
use crate::password::Cost;
use crate::request_checks;
use crate::response;
use crate::secret;
use crate::settings::{Metrics, Settings};
use crate::token::{Token, same};

/// Returns metrics: media type and text.
pub type MetricsSource = Box<dyn Fn() -> (&'static str, String)>;

/// Authentication of the page's users.
pub struct Authenticator {
    logins: Logins,
    metrics: Metrics,
    figures: Option<MetricsSource>,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::CertificateFiles>,
    #[cfg(feature = "tls")]
    clock: Clock,
}

impl Authenticator {
    /// Reads the certificate, or creates one. Must be called before the daemon gives up writing
    /// files. Later the authenticator reads the certificate's and the password's files, and writes
    /// the password's file when a password is set or changed.
    pub fn new(settings: Settings) -> Result<Self, WebError> {
        Self::with_clock(settings, clock::start())
    }

    /// Uses another clock.
    pub fn with_clock(settings: Settings, clock: Clock) -> Result<Self, WebError> {
        settings.check()?;
        // Reports an error now, rather than at the first login.
        secret::read(&settings.password_file)?;
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: crate::tls::CertificateFiles::of(&settings, clock())?,
            #[cfg(feature = "tls")]
            clock: Rc::clone(&clock),
            logins: Logins::new(settings.password_file, settings.limits.sessions, clock)?,
            metrics: settings.metrics,
            figures: None,
        })
    }

    /// Returns the code for setting the first password from another host, for the router's console.
    /// `None`: there is a password.
    pub fn claim(&self) -> Option<String> {
        self.logins.claim()
    }

    /// Returns the reason why no client gets metrics, if any.
    pub fn metrics_error(&self) -> Option<secret::SecretError> {
        match &self.metrics {
            Metrics::Token(file) => secret::token(file).err(),
            Metrics::Off | Metrics::Loopback => None,
        }
    }

    /// Looks hardware addresses up by these neighbours.
    pub fn with_neighbours(mut self, neighbours: Neighbours) -> Self {
        self.logins.neighbours = Some(neighbours);
        self
    }

    /// Takes passwords from these clients alone, whatever the page's process reports: a compromised
    /// process could invent any number of clients.
    pub fn with_peers(mut self, peers: Peers) -> Self {
        self.logins.peers = Some(peers);
        self
    }

    /// Serves these metrics.
    pub fn with_metrics(mut self, figures: MetricsSource) -> Self {
        self.figures = Some(figures);
        self
    }

    /// Makes logins cheap. For tests only: such a hash can be guessed quickly.
    #[doc(hidden)]
    pub fn with_cost(mut self, cost: Cost) -> Self {
        self.logins.cost = cost;
        self
    }

    /// Returns the routes for the page's server: its own, before those of the daemon.
    pub fn routes(self: &Rc<Self>, daemon: &Routes) -> Routes {
        let [pair, figures] = [(); 2].map(|()| Rc::clone(self));
        let rows = [
            self.row("/page/session", async |logins, asked| {
                Ok(logins.session(asked))
            }),
            self.row("/page/client", async |logins, asked: DeviceQuery| {
                Ok(logins.device(asked.address))
            }),
            self.row("/page/login", async |logins, asked| {
                logins.log_in(asked).await
            }),
            self.row("/page/logout", async |logins, asked: SessionTokens| {
                logins.close(&asked.tokens);
                Ok(EmptyBody {})
            }),
            self.row("/page/password", async |logins, asked| {
                logins.change_password(asked).await
            }),
            Route::get("/page/certificate", AccessLevel::Guest, move |()| {
                Ok(pair.pair())
            }),
            Route::raw(
                Method::POST,
                "/page/metrics",
                AccessLevel::Guest,
                move |asked: ApiRequest<(), MetricsRequest>| figures.metrics(&asked.body),
            ),
        ];
        daemon.after(rows.map(Route::unlisted))
    }

    /// Returns a route that takes a message.
    fn row<M: Body + 'static, T: Serialize + 'static>(
        self: &Rc<Self>,
        path: &'static str,
        answer: impl AsyncFn(&Logins, M) -> Result<T, Problem> + 'static,
    ) -> Route {
        let shared = Rc::new((Rc::clone(self), answer));
        Route::new_async(
            Method::POST,
            path,
            AccessLevel::Guest,
            move |asked: ApiRequest<(), M>| {
                let shared = Rc::clone(&shared);
                Box::pin(async move { shared.1(&shared.0.logins, asked.body).await })
            },
        )
    }

    /// Returns the access of a request, by the header of the page's server.
    pub fn who(&self, headers: &HeaderMap) -> AccessLevel {
        let session = request_checks::only(headers, HeaderName::from_static(SESSION_HEADER));
        let token = session.and_then(Token::parse);
        match token.is_some_and(|token| self.logins.is_open(&token)) {
            true => AccessLevel::User,
            false => AccessLevel::Guest,
        }
    }

    #[cfg(feature = "tls")]
    fn pair(&self) -> PemPair {
        let tls = self.tls.as_ref();
        tls.map(|tls| tls.pair((self.clock)())).unwrap_or_default()
    }

    #[cfg(not(feature = "tls"))]
    fn pair(&self) -> PemPair {
        PemPair::default()
    }

    fn metrics(&self, asked: &MetricsRequest) -> Result<Response<ResponseBody>, Problem> {
        if let Metrics::Token(file) = &self.metrics {
            let wanted = secret::token(file)
                .map_err(|error| Problem::new(500, "no_token", error.to_string(), error.hint()))?;
            let given = asked.token.as_deref();
            if !given.is_some_and(|given| same(given.as_bytes(), wanted.as_bytes())) {
                let detail = "metrics require the token from the configuration";
                let hint = "send the header `Authorization: Bearer TOKEN`";
                return Err(Problem::new(401, "no_token", detail, hint));
            }
        }
        let figures = match self.metrics {
            Metrics::Off => None,
            Metrics::Loopback | Metrics::Token(_) => self.figures.as_ref(),
        };
        let (media, text) = figures.ok_or_else(response::no_file)?();
        Ok(response::body(media, text.into()))
    }
}
