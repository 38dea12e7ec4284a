//! Routes requests to answers.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, ALLOW, HOST, HeaderMap, HeaderValue, IF_NONE_MATCH,
};
use hyper::{Method, Request, Response, StatusCode};

use super::asset;
use super::cache::Cache;
use super::connection_limiter::ConnectionLimiter;
use super::connection_pool::Health;
use super::counts::{Counts, State};
use super::figures::Figures;
use super::pool::Pool;
use super::query::Query;
use super::reply::{CachePolicy, Frame, Reply, takes_gzip};
use super::request::{Refusal, Visit, nothing, preferred, takes_json};
use super::route::{self, Route};
use super::store_query::Question;
use super::unsent::UnsentBytes;
use crate::client::{Client, Proxies};
use crate::error::Error;
use crate::fair_queue::Refused;
use crate::page::Places;
use crate::sql::{self, Queries};
use crate::store;

/// Interval of checks of the store.
const LOOK: Duration = Duration::from_millis(500);

/// Header in which a proxy names its client.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Settings of a server.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The folder with the store.
    pub data: PathBuf,
    /// Public address, if not from the header `Host`: `https://example.org/atlas`.
    pub public_url: Option<String>,
    /// True if the metrics are public.
    pub public_metrics: bool,
    /// Proxies that may report their clients.
    pub proxies: Proxies,
    /// Largest cache of answers and figures, in bytes.
    pub cache: usize,
}

/// The server.
#[derive(Debug)]
pub(crate) struct App {
    pub crowd: Arc<ConnectionLimiter>,
    settings: Settings,
    counts: Counts,
    pool: Arc<Pool>,
    queries: Queries,
    cache: Mutex<Cache<Reply>>,
    figures: Figures,
    sending: Arc<UnsentBytes>,
    /// Version of the store at the last check.
    version: AtomicI64,
    /// True after the warning about an untrusted proxy.
    warned: AtomicBool,
}

impl App {
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let pool = Pool::new(&settings.data, processors.clamp(2, 8))?;
        let version = pool.now(store::version)?;
        Ok(Self {
            crowd: Arc::new(ConnectionLimiter::new(settings.proxies.clone())),
            queries: Queries::new(sql::Settings::of(&settings.data)),
            cache: Mutex::new(Cache::new(settings.cache - settings.cache / 4)),
            figures: Figures::new(settings.cache / 4),
            settings,
            counts: Counts::new(),
            sending: Arc::default(),
            pool: Arc::new(pool),
            version: AtomicI64::new(version),
            warned: AtomicBool::new(false),
        })
    }

    /// Notices changes of the store. Never ends.
    pub async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            let version = self.pool.version().await;
            self.version.store(version, Ordering::Relaxed);
        }
    }

    /// Answers a request.
    pub async fn respond(
        self: &Arc<Self>,
        request: &Request<Incoming>,
        from: IpAddr,
    ) -> Response<Full<Bytes>> {
        let headers = request.headers();
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let gzip = takes_gzip(text(ACCEPT_ENCODING).unwrap_or_default());
        let client = self.client(headers, from);
        let response = match self.visit(request) {
            Some(visit) => {
                let reply = self.reply(request, &visit, from, client).await;
                let response = reply.respond(gzip, text(IF_NONE_MATCH));
                let (head, octets) = response.into_parts();
                match self.sending.count(client, octets) {
                    Ok(octets) => Response::from_parts(head, octets),
                    Err(refused) => visit.refuse(&too_much(refused)).respond(gzip, None),
                }
            }
            None => {
                let text = "invalid Host header\n";
                Reply::plain(StatusCode::BAD_REQUEST, text).respond(gzip, None)
            }
        };
        let mut response = response.map(Full::new);
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
        }
        self.counts.answered(response.status());
        response
    }

    /// Returns the parsed request; `None` without a valid host.
    fn visit<'a>(&self, request: &'a Request<Incoming>) -> Option<Visit<'a>> {
        let headers = request.headers();
        let text = |name| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default()
        };
        Some(Visit {
            path: request.uri().path(),
            query: request.uri().query().unwrap_or_default(),
            places: Arc::new(self.places(headers)?),
            prefers: preferred(text(ACCEPT_LANGUAGE)),
            program: takes_json(text(ACCEPT)),
        })
    }

    async fn reply(
        self: &Arc<Self>,
        request: &Request<Incoming>,
        visit: &Visit<'_>,
        from: IpAddr,
        client: Client,
    ) -> Arc<Reply> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let refusal = Refusal {
                status: StatusCode::METHOD_NOT_ALLOWED,
                error: "this server answers only GET and HEAD".into(),
                hint: String::new(),
            };
            return Arc::new(visit.refuse(&refusal));
        }
        let Some(route) = route::find(visit.path) else {
            return Arc::new(visit.refuse(&nothing(visit.path)));
        };
        match route {
            Route::Asset(name) => asset::find(name, visit.query),
            Route::Health => Arc::new(self.health()),
            Route::Robots => Arc::new(robots()),
            Route::Metrics => Arc::new(self.metrics(request.headers(), from).await),
            Route::Community(key) => Arc::new(visit.community(key)),
            Route::Sql => Arc::new(self.query(visit, client).await),
            other => match Question::read(visit, other) {
                Ok(question) => self.computed(visit, client, question).await,
                Err(refusal) => Arc::new(visit.refuse(&refusal)),
            },
        }
    }

    /// Returns an answer from the store: cached, otherwise computed.
    async fn computed(
        self: &Arc<Self>,
        visit: &Visit<'_>,
        client: Client,
        question: Question,
    ) -> Arc<Reply> {
        let key = question.key(visit);
        let version = self.version.load(Ordering::Relaxed);
        if let Some(reply) = self.known(version, &key) {
            return reply;
        }
        let (app, name) = (Arc::clone(self), key);
        let asked = self.pool.ask(Some(client), move |store| {
            // Another request may have computed the answer meanwhile.
            if let Some(reply) = app.known(version, &name) {
                return Ok(reply);
            }
            let begin = Instant::now();
            let reply = Arc::new(question.answer(store, version, &app.figures)?);
            app.counts.computed(begin.elapsed());
            if let Ok(mut cache) = app.cache.lock() {
                cache.put(version, &name, reply.weight(), Arc::clone(&reply));
            }
            Ok(reply)
        });
        let answered = asked.await;
        answered.unwrap_or_else(|error| Arc::new(visit.refuse(&error.into())))
    }

    /// Answers a free query, or returns its form. Queries have their own cache.
    async fn query(self: &Arc<Self>, visit: &Visit<'_>, client: Client) -> Reply {
        let asked = match Query::read(visit.query) {
            Ok(asked) => asked,
            Err(error) => return visit.refuse(&Refusal::of_query(&error)),
        };
        let answered = match asked.text.as_str() {
            "" => None,
            text => {
                let answered = self.queries.ask_of(Some(client), text, asked.engine);
                Some(answered.await)
            }
        };
        let reader = visit.reader();
        // Answers may be large, and a page with an answer has a picture.
        let written = tokio::task::spawn_blocking(move || asked.write(&reader, answered));
        match written.await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => visit.refuse(&Refusal::of_query(&error)),
            Err(_) => visit.refuse(&Error::Other("cannot render a page".into()).into()),
        }
    }

    fn known(&self, version: i64, key: &str) -> Option<Arc<Reply>> {
        let reply = self.cache.lock().ok()?.get(version, key)?;
        self.counts.hit();
        Some(reply)
    }

    /// Returns the client, possibly behind a proxy.
    fn client(&self, headers: &HeaderMap, from: IpAddr) -> Client {
        let proxies = &self.settings.proxies;
        let lines = headers.get_all(FORWARDED_FOR).iter();
        let near = match from {
            IpAddr::V4(from) => from.is_loopback() || from.is_private(),
            IpAddr::V6(from) => from.is_loopback() || from.is_unique_local(),
        };
        if near
            && !proxies.trust(from)
            && headers.contains_key(FORWARDED_FOR)
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                %from, "all clients of this proxy count as one client: if the proxy sets X-Forwarded-For itself, use --trusted-proxy {from}"
            );
        }
        proxies.client(from, lines.map(|line| line.to_str().unwrap_or_default()))
    }

    /// Returns the public address of this server. `None`: the name is invalid.
    fn places(&self, headers: &HeaderMap) -> Option<Places> {
        if let Some(base) = &self.settings.public_url {
            return Some(Places::server(base));
        }
        let host = match headers.get(HOST) {
            Some(host) => host.to_str().ok()?,
            None => "localhost",
        };
        let plain = |octet: u8| octet.is_ascii_alphanumeric() || b".-:[]_".contains(&octet);
        let fits = !host.is_empty() && host.len() <= 255 && host.bytes().all(plain);
        fits.then(|| Places::server(&format!("http://{host}")))
    }

    /// Returns the health for a balancer: the store at the last check, without further reads.
    fn health(&self) -> Reply {
        match self.pool.health() {
            Health::Good => Reply::plain(StatusCode::OK, "ok\n"),
            Health::Before(why) => {
                let text = format!("ok, with the previous store: {why}\n");
                Reply::plain(StatusCode::OK, text)
            }
            Health::Bad(why) => {
                let text = format!("cannot read the store: {why}\n");
                Reply::plain(StatusCode::SERVICE_UNAVAILABLE, text)
            }
        }
    }

    /// Returns the metrics, by default for this machine alone. A proxy is on this machine too, but
    /// names its client.
    async fn metrics(self: &Arc<Self>, headers: &HeaderMap, from: IpAddr) -> Reply {
        let handed = ["forwarded", FORWARDED_FOR, "x-real-ip", "via"];
        let handed = handed.iter().any(|name| headers.contains_key(*name));
        if !self.settings.public_metrics && (handed || !from.is_loopback()) {
            let text = "metrics are available on this machine only: use --public-metrics\n";
            return Reply::plain(StatusCode::FORBIDDEN, text);
        }
        let latest = self.pool.ask(None, |store| {
            let latest = "SELECT max(hour) FROM hour_totals";
            Ok(store.query_row(latest, [], |row| row.get::<_, Option<i64>>(0))?)
        });
        let state = State {
            connections: self.crowd.count(),
            sending: self.sending.octets(),
            queries: self.queries.counts(),
            health: self.pool.health(),
            latest: latest.await.ok().flatten(),
            cached: self.cache.lock().map_or(0, |cache| cache.held()) + self.figures.held(),
            version: self.version.load(Ordering::Relaxed),
        };
        let text = self.counts.tell(&state).end();
        Reply::new(
            api::metrics::CONTENT_TYPE,
            text,
            CachePolicy::No,
            Frame::Page,
        )
    }
}

/// Returns the refusal of a large answer while others are being sent.
fn too_much(refused: Refused) -> Refusal {
    let error = match refused {
        Refused::Full => Error::Busy("too many large answers are being sent to others".into()),
        Refused::Share => Error::Share("large answers are being sent to your address".into()),
    };
    error.into()
}

/// Pages may be found; answers to free questions are without number.
fn robots() -> Reply {
    let text = "User-agent: *\nDisallow: /sql\nDisallow: /ledger\nDisallow: /*?\nAllow: /*?v=\n";
    Reply::new(
        "text/plain; charset=utf-8",
        text,
        CachePolicy::Hour,
        Frame::Page,
    )
}
