//! Each request, from its head to its answer. Sockets are elsewhere: this can be asked without any.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::server::{Answer, read_body};
use api::{Problem, Who};
use hyper::body::Body;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, IF_NONE_MATCH};
use hyper::http::request::Parts;
use hyper::{Request, Response, Version};
use tokio::sync::Semaphore;

use crate::WebError;
use crate::accept::Encoding;
use crate::assets;
use crate::behind::Behind;
use crate::guard::{self, CSRF_HEADER, Peer};
use crate::host::{Authority, Hosts};
use crate::password::Cost;
use crate::reply::{self, Refused};
use crate::route::Route;
use crate::secret::{self, Stamp};
use crate::sessions::Sessions;
use crate::settings::{Metrics, Settings, is_loopback};
use crate::throttle::{LOGIN_ALL, LOGIN_EACH, Throttle};
use crate::token::{Token, same};

/// Tells the time since some beginning; never goes back.
pub type Clock = Rc<dyn Fn() -> Duration>;

/// How often is looked whether the password's file changed.
const LOOK: Duration = Duration::from_secs(1);

/// Characters of the token for figures, at least.
const SHORTEST_BEARER: usize = 16;

/// Decides who gets what.
pub struct Door {
    pub(crate) settings: Settings,
    pub(crate) cost: Cost,
    pub(crate) clock: Clock,
    pub(crate) sessions: RefCell<Sessions>,
    pub(crate) logins: RefCell<Throttle>,
    /// The password's file as it was when sessions were last opened by it, and when that was looked
    /// at.
    pub(crate) stamp: Cell<Option<Stamp>>,
    pub(crate) looked: Cell<Duration>,
    /// One password is tried at a time, beside the event loop.
    pub(crate) trying: Arc<Semaphore>,
    pub(crate) waiting: Cell<usize>,
    hosts: Hosts,
    behind: Behind,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<crate::tls::Tls>,
}

/// A request that has passed the first questions.
pub(crate) struct Visit<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) peer: Peer,
    pub(crate) own: Authority,
    pub(crate) now: Duration,
}

impl Visit<'_> {
    /// Whether the client is on this machine. A proxy that says nothing of itself speaks HTTP/1.0,
    /// as nginx does unless told otherwise.
    pub(crate) fn is_local(&self) -> bool {
        self.parts.version >= Version::HTTP_11
            && guard::is_local(&self.parts.headers, &self.own, &self.peer)
    }

    /// Whether the browser speaks TLS, with this server or with the proxy before it. Who claims
    /// that wrongly loses a cookie.
    pub(crate) fn is_secure(&self) -> bool {
        self.peer.tls
            || guard::only(
                &self.parts.headers,
                hyper::header::HeaderName::from_static("x-forwarded-proto"),
            ) == Some("https")
    }
}

impl Door {
    /// A door to what is behind it. Reads the certificate, or makes one: to be called before the
    /// daemon gives up writing files. Later it reads the certificate's and the password's files,
    /// and writes the latter where a password is set or changed.
    pub fn new(settings: Settings, behind: Behind) -> Result<Self, WebError> {
        let begin = Instant::now();
        Self::with_clock(settings, behind, Rc::new(move || begin.elapsed()))
    }

    /// The same with another clock.
    pub fn with_clock(settings: Settings, behind: Behind, clock: Clock) -> Result<Self, WebError> {
        settings.check()?;
        // Told now, rather than to the first who logs in.
        secret::read(&settings.password_file)?;
        if let Metrics::Token(file) = &settings.metrics {
            bearer(file)?;
        }
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: crate::tls::Tls::open(&settings, clock())?,
            cost: Cost::default(),
            sessions: RefCell::new(Sessions::new(settings.limits.sessions)),
            logins: RefCell::new(Throttle::new(LOGIN_EACH, LOGIN_ALL)),
            stamp: Cell::new(Stamp::at(&settings.password_file)),
            looked: Cell::new(clock()),
            trying: Arc::new(Semaphore::new(1)),
            waiting: Cell::new(0),
            hosts: Hosts::new(settings.hosts.iter().map(String::as_str)),
            clock,
            behind,
            settings,
        })
    }

    /// Makes log-ins cheap. For tests only: such a hash can be guessed quickly.
    #[doc(hidden)]
    pub fn with_cost(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    /// Answers a request.
    pub async fn answer<B>(&self, request: Request<B>, peer: Peer) -> Response<Answer>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        let route = Route::of(&path);
        let mut response = match self.decide(&parts, body, &route, peer).await {
            Ok(response) => response,
            Err(refused) => {
                let allow = (refused.problem.status == 405)
                    .then(|| route.method())
                    .flatten();
                reply::refuse(&refused, route.is_api(), allow)
            }
        };
        reply::protect(response.headers_mut());
        response
    }

    async fn decide<B>(
        &self,
        parts: &Parts,
        body: B,
        route: &Route<'_>,
        peer: Peer,
    ) -> Result<Response<Answer>, Refused>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let own = guard::authority(&parts.headers, &parts.uri, &peer, &self.hosts)?;
        let method = parts.method.as_str();
        if !route.takes(method) {
            return Err(wrong_method(route).into());
        }
        let visit = Visit {
            parts,
            peer,
            own,
            now: (self.clock)(),
        };
        let headers = &parts.headers;
        if let Route::File(name) = route {
            let asset = assets::find(name).ok_or_else(no_file)?;
            let wanted = guard::only(headers, ACCEPT_ENCODING).unwrap_or_default();
            let known = guard::only(headers, IF_NONE_MATCH);
            return Ok(reply::file(asset, Encoding::choose(wanted), known));
        }
        if *route == Route::Metrics {
            return self.metrics(&visit);
        }

        let changes = method != "GET";
        guard::same_site(headers, &visit.own, &peer, changes)?;
        self.look(visit.now);
        let session = self.session(&visit);
        let allowed = || {
            let token = session.as_ref().ok_or_else(log_in)?;
            match changes {
                true => check_csrf(&visit, token),
                false => Ok(()),
            }
        };
        // Nobody without a session has anything to send but to log in.
        if matches!(route, Route::Api(_)) {
            allowed()?;
        }
        let body = match changes {
            true => {
                let limits = &self.settings.limits;
                read_body(body, limits.body, limits.request_time).await?
            }
            false => Default::default(),
        };
        match route {
            Route::Session => self.state(&visit, session.as_ref()),
            Route::Login => self.login(&visit, &body).await,
            Route::Logout => {
                if session.is_some() {
                    allowed()?;
                }
                self.logout(&visit)
            }
            Route::Password => self.change_password(&visit, &body, allowed()).await,
            Route::Api(path) => Ok(self
                .behind
                .answer(
                    Who::User,
                    [method, path],
                    parts.uri.query().unwrap_or_default(),
                    &body,
                )
                .await),
            Route::Metrics | Route::File(_) => Err(no_file().into()),
        }
    }

    /// The token of the session that a request belongs to.
    fn session(&self, visit: &Visit<'_>) -> Option<Token> {
        let mut sessions = self.sessions.borrow_mut();
        guard::tokens(&visit.parts.headers, visit.peer.cookie())
            .into_iter()
            .find(|token| sessions.touch(&token.id(), visit.now))
    }

    /// Ends all sessions where the password is another one, or was taken away, by `weir passwd` or
    /// by hand.
    fn look(&self, now: Duration) {
        if now.saturating_sub(self.looked.get()) < LOOK {
            return;
        }
        self.looked.set(now);
        let stamp = Stamp::at(&self.settings.password_file);
        if stamp != self.stamp.replace(stamp) {
            self.sessions.borrow_mut().close_all();
        }
    }

    fn metrics(&self, visit: &Visit<'_>) -> Result<Response<Answer>, Refused> {
        let headers = &visit.parts.headers;
        match &self.settings.metrics {
            Metrics::Off => return Err(no_file().into()),
            Metrics::Loopback if is_loopback(visit.peer.address) && visit.own.host.is_local() => {
                guard::same_site(headers, &visit.own, &visit.peer, false)?;
            }
            Metrics::Loopback => {
                let detail = "figures are for this machine alone";
                let hint = "set a file with a token for them in the configuration";
                return Err(Problem::new(403, "not_local", detail, hint).into());
            }
            Metrics::Token(file) => {
                let wanted = bearer(file).map_err(|error| {
                    Problem::new(500, "no_token", error.to_string(), error.hint())
                })?;
                let given = guard::only(headers, AUTHORIZATION)
                    .and_then(|value| value.split_once(' '))
                    .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
                    .map(|(_, token)| token.trim());
                if !given.is_some_and(|given| same(given.as_bytes(), wanted.as_bytes())) {
                    let detail = "figures need the token that the configuration names";
                    let hint = "send Authorization: Bearer and the token";
                    return Err(Problem::new(401, "no_token", detail, hint).into());
                }
            }
        }
        let (media, text) = self.behind.metrics().ok_or_else(no_file)?;
        Ok(reply::body(media, text.into()))
    }
}

/// The token for figures. A file that is not there is as wrong as one that is empty.
fn bearer(file: &std::path::Path) -> Result<String, secret::SecretError> {
    let text = secret::read(file)?.map(|(text, _)| text.trim().to_owned());
    match text {
        Some(text)
            if text.len() >= SHORTEST_BEARER && text.bytes().all(|b| b.is_ascii_graphic()) =>
        {
            Ok(text)
        }
        _ => Err(secret::SecretError::Content {
            path: file.to_owned(),
            why: "does not hold one line of at least 16 letters and digits",
        }),
    }
}

fn check_csrf(visit: &Visit<'_>, token: &Token) -> Result<(), Problem> {
    let given = guard::only(
        &visit.parts.headers,
        hyper::header::HeaderName::from_static(CSRF_HEADER),
    );
    if given.is_some_and(|given| same(given.as_bytes(), token.csrf().as_bytes())) {
        return Ok(());
    }
    Err(Problem::new(
        403,
        "no_csrf",
        "the request lacks the session's token",
        "send what /api/session tells as `csrf` in the header X-Weir-Csrf",
    ))
}

fn log_in() -> Problem {
    Problem::new(
        401,
        "log_in",
        "nobody is logged in here, or the session has ended",
        "log in",
    )
}

fn no_file() -> Problem {
    Problem::new(
        404,
        "unknown_path",
        "there is nothing here",
        "the page is at /",
    )
}

fn wrong_method(route: &Route<'_>) -> Problem {
    let wanted = route.method().unwrap_or("GET or POST");
    Problem::new(
        405,
        "wrong_method",
        "the path does not take this method",
        format!("use {wanted}"),
    )
}
