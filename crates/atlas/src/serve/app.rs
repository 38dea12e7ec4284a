//! What is answered to whom.

use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, ACCEPT_LANGUAGE, ALLOW, HOST, HeaderMap, HeaderValue, IF_NONE_MATCH,
};
use hyper::{Method, Request, Response, StatusCode};
use rusqlite::Connection;

use super::cache::Cache;
use super::counts::{Counts, State};
use super::listen::Crowd;
use super::pool::Pool;
use super::reply::{Frame, Kept, Reply, takes_gzip};
use super::route::{self, Route};
use super::{Settings, asset, oembed};
use crate::asked::{Asked, Theme};
use crate::error::Error;
use crate::page::{self, Places, Reader, Shape, To};
use crate::text::Language;
use crate::{answer, store};

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

/// How often the store is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// The server.
#[derive(Debug)]
pub(crate) struct App {
    pub crowd: Arc<Crowd>,
    settings: Settings,
    counts: Counts,
    pool: Arc<Pool>,
    cache: Mutex<Cache>,
    /// Of the store, as it was last seen.
    version: AtomicI64,
}

/// A request, as far as it matters.
struct Visit<'a> {
    path: &'a str,
    query: &'a str,
    places: Places,
    /// What the browser prefers.
    prefers: Language,
}

/// What is not answered as was asked.
struct Refusal {
    status: StatusCode,
    error: String,
    hint: String,
}

impl App {
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let pool = Pool::new(&settings.data, processors.clamp(2, 8))?;
        let version = pool.now(store::version)?;
        Ok(Self {
            crowd: Arc::default(),
            cache: Mutex::new(Cache::new(settings.cache)),
            settings,
            counts: Counts::new(),
            pool: Arc::new(pool),
            version: AtomicI64::new(version),
        })
    }

    /// Notices changes of the store. Never ends.
    pub async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Some(Ok(version)) = self.pool.ask(store::version).await {
                self.version.store(version, Ordering::Relaxed);
            }
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
        let reply = self.reply(request, from).await;
        let gzip = takes_gzip(text(ACCEPT_ENCODING).unwrap_or_default());
        let mut response = reply.respond(gzip, text(IF_NONE_MATCH));
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
        }
        self.counts.answered(response.status());
        response
    }

    async fn reply(self: &Arc<Self>, request: &Request<Incoming>, from: IpAddr) -> Arc<Reply> {
        let headers = request.headers();
        let Some(places) = self.places(headers) else {
            let text = "the header Host names no host\n";
            return Arc::new(Reply::plain(StatusCode::BAD_REQUEST, text));
        };
        let prefers = headers
            .get(ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok());
        let visit = Visit {
            path: request.uri().path(),
            query: request.uri().query().unwrap_or_default(),
            places,
            prefers: preferred(prefers.unwrap_or_default()),
        };
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let refusal = Refusal {
                status: StatusCode::METHOD_NOT_ALLOWED,
                error: "this server answers GET and HEAD alone".into(),
                hint: String::new(),
            };
            return Arc::new(visit.refuse(&refusal));
        }
        let Some(route) = route::find(visit.path) else {
            return Arc::new(visit.refuse(&nothing(visit.path)));
        };
        match route {
            Route::Asset(name) => asset::find(name, visit.query),
            Route::Health => Arc::new(Reply::plain(StatusCode::OK, "ok\n")),
            Route::Robots => Arc::new(robots()),
            Route::Metrics => Arc::new(self.metrics(headers, from).await),
            Route::Community(key) => Arc::new(visit.community(key)),
            Route::Oembed => Arc::new(visit.oembed()),
            other => self.computed(&visit, other).await,
        }
    }

    /// What follows from the store: from memory, else computed.
    async fn computed(self: &Arc<Self>, visit: &Visit<'_>, route: Route<'_>) -> Arc<Reply> {
        let question = match Question::read(visit, route) {
            Ok(question) => question,
            Err(error) => return Arc::new(visit.refuse(&error.into())),
        };
        let key = question.key(visit);
        let version = self.version.load(Ordering::Relaxed);
        if let Some(reply) = self.known(version, &key) {
            return reply;
        }
        let (app, name) = (Arc::clone(self), key);
        let asked = self.pool.ask(move |store| {
            // Somebody else may have asked the same, and been before.
            if let Some(reply) = app.known(version, &name) {
                return Ok(reply);
            }
            let begin = Instant::now();
            let reply = Arc::new(question.answer(store)?);
            app.counts.computed(begin.elapsed());
            if let Ok(mut cache) = app.cache.lock() {
                cache.put(version, &name, Arc::clone(&reply));
            }
            Ok(reply)
        });
        match asked.await {
            Some(Ok(reply)) => reply,
            Some(Err(error)) => Arc::new(visit.refuse(&error.into())),
            None => Arc::new(visit.refuse(&Refusal {
                status: StatusCode::SERVICE_UNAVAILABLE,
                error: "too many questions wait for an answer".into(),
                hint: "try again in some seconds".into(),
            })),
        }
    }

    fn known(&self, version: i64, key: &str) -> Option<Arc<Reply>> {
        let reply = self.cache.lock().ok()?.get(version, key)?;
        self.counts.hit();
        Some(reply)
    }

    /// How the world calls this server. `None`: by no name.
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

    /// For this machine alone, unless the settings say otherwise. A proxy is on this machine too,
    /// but says for whom it asks.
    async fn metrics(self: &Arc<Self>, headers: &HeaderMap, from: IpAddr) -> Reply {
        let handed = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];
        let handed = handed.iter().any(|name| headers.contains_key(*name));
        if !self.settings.public_metrics && (handed || !from.is_loopback()) {
            let text = "metrics are for this machine alone: serve --public-metrics\n";
            return Reply::plain(StatusCode::FORBIDDEN, text);
        }
        let latest = self.pool.ask(|store| {
            let latest = "SELECT max(hour) FROM hour_totals";
            Ok(store.query_row(latest, [], |row| row.get::<_, Option<i64>>(0))?)
        });
        let state = State {
            connections: self.crowd.count(),
            latest: latest.await.and_then(Result::ok).flatten(),
            cached: self.cache.lock().map_or(0, |cache| cache.held()),
            version: self.version.load(Ordering::Relaxed),
        };
        let text = self.counts.tell(&state).end();
        Reply::new(api::metrics::CONTENT_TYPE, text, Kept::No, Frame::Page)
    }
}

impl Visit<'_> {
    fn reader(&self) -> Reader<'_> {
        let pairs = api::query::decode(self.query).unwrap_or_default();
        let value = |name: &str| {
            let found = pairs.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.trim())
        };
        let told = match value("lang") {
            Some("en") => Some(Language::English),
            Some("de") => Some(Language::German),
            _ => None,
        };
        Reader {
            places: &self.places,
            language: told.unwrap_or(self.prefers),
            told: told.is_some(),
            theme: match value("theme") {
                Some("light") => Theme::Light,
                Some("dark") => Theme::Dark,
                _ => Theme::Auto,
            },
        }
    }

    /// A refusal: a page for people, JSON for programs.
    fn refuse(&self, refusal: &Refusal) -> Reply {
        let Refusal {
            status,
            error,
            hint,
        } = refusal;
        let ends = |ending| self.path.ends_with(ending);
        let program = [".json", ".csv", ".svg", ".js", ".css"]
            .into_iter()
            .any(ends);
        let mut reply = match program {
            true => {
                let told = serde_json::json!({ "error": error, "hint": hint });
                Reply::new(JSON, told.to_string(), Kept::No, Frame::Public)
            }
            false => {
                let html = page::failed::page(&self.reader(), status.as_u16(), error, hint);
                Reply::new(HTML, html, Kept::No, Frame::Page)
            }
        };
        reply.status = *status;
        reply
    }

    /// To the chart of this community.
    fn community(&self, key: &str) -> Reply {
        let decoded = api::query::decode(&format!("key={}", key.replace('+', "%2B")));
        let key = decoded.and_then(|pairs| pairs.into_iter().next());
        match key {
            Some((_, key)) => {
                let reader = self.reader();
                Reply::redirect(self.places.address(&reader, &To::Community(&key)))
            }
            None => self.refuse(&nothing(self.path)),
        }
    }

    fn oembed(&self) -> Reply {
        match oembed::answer(&self.reader(), self.query) {
            Ok((media, text)) => Reply::new(media, text, Kept::Minutes, Frame::Public),
            Err((status, error)) => {
                let told = serde_json::json!({ "error": error });
                let reply = Reply::new(JSON, told.to_string(), Kept::No, Frame::Public);
                Reply { status, ..reply }
            }
        }
    }
}

/// A question to the store, with all that its answer depends on.
struct Question {
    what: What,
    places: Places,
    language: Language,
    told: bool,
    theme: Theme,
}

enum What {
    Overview,
    Chart(&'static dyn crate::chart::Chart, Shape, Asked),
    Embed(&'static dyn crate::chart::Chart, Asked),
    Communities(String),
    Ledger(page::ledger::Wanted),
    About,
}

impl Question {
    fn read(visit: &Visit<'_>, route: Route<'_>) -> Result<Self, Error> {
        let reader = visit.reader();
        let asked = || -> Result<Asked, Error> {
            let mut asked = Asked::read(visit.query)?;
            asked.language = reader.language;
            Ok(asked)
        };
        let what = match route {
            Route::Chart(chart, shape) => What::Chart(chart, shape, asked()?),
            Route::Embed(chart) => What::Embed(chart, asked()?),
            Route::Communities => {
                let [search] = values(visit.query, ["q"])?;
                What::Communities(search)
            }
            Route::Ledger => {
                let [search, after] = values(visit.query, ["q", "after"])?;
                let after = match after.as_str() {
                    "" => 0,
                    text => api::query::number(text).ok_or_else(|| {
                        let error = "`after` is a number, as the link to further lines has it";
                        Error::Asked(error.into())
                    })?,
                };
                What::Ledger(page::ledger::Wanted { search, after })
            }
            Route::About => {
                let [] = values(visit.query, [])?;
                What::About
            }
            _ => {
                let [] = values(visit.query, [])?;
                What::Overview
            }
        };
        Ok(Self {
            what,
            language: reader.language,
            told: reader.told,
            theme: reader.theme,
            places: visit.places.clone(),
        })
    }

    /// Two that have the same have the same answer.
    fn key(&self, visit: &Visit<'_>) -> String {
        let asked = match &self.what {
            What::Chart(_, _, asked) | What::Embed(_, asked) => asked.query(),
            What::Communities(search) => search.clone(),
            What::Ledger(wanted) => format!("{}\n{}", wanted.after, wanted.search),
            What::Overview | What::About => String::new(),
        };
        // Numbers are the same wherever they are asked for.
        let base = match (&self.what, &self.places) {
            (What::Chart(_, Shape::Json | Shape::Csv, _), _) => "",
            (_, Places::Server { base, .. }) => base,
            _ => "",
        };
        format!(
            "{}\n{base}\n{asked}\n{}\n{}\n{:?}",
            visit.path,
            self.language.word(),
            self.told,
            self.theme
        )
    }

    fn answer(&self, store: &Connection) -> Result<Reply, Error> {
        let reader = Reader {
            places: &self.places,
            language: self.language,
            told: self.told,
            theme: self.theme,
        };
        let html = |text: String| Reply::new(HTML, text, Kept::Minutes, Frame::Page);
        Ok(match &self.what {
            What::Overview => html(page::overview::page(&reader, store)?),
            What::Communities(search) => {
                html(page::communities::page(&reader, store, Some(search))?)
            }
            What::Ledger(wanted) => html(page::ledger::page(&reader, store, wanted)?),
            What::About => html(page::about::page(&reader, store)?),
            What::Embed(chart, asked) => {
                let text = page::chart::embed(&reader, *chart, store, asked)?;
                Reply::new(HTML, text, Kept::Minutes, Frame::Embed)
            }
            What::Chart(chart, Shape::Page, asked) => {
                html(page::chart::page(&reader, *chart, store, asked)?)
            }
            What::Chart(chart, shape, asked) => {
                let figure = chart.figure(store, asked)?;
                let (media, text) = match shape {
                    Shape::Svg => {
                        let picture = page::chart::picture(&reader, *chart, &figure, asked);
                        ("image/svg+xml", picture)
                    }
                    Shape::Csv => ("text/csv; charset=utf-8", answer::csv(&figure)?),
                    _ => (JSON, answer::json(chart.name(), &figure)?),
                };
                Reply::new(media, text, Kept::Minutes, Frame::Public)
            }
        })
    }
}

/// The values of these parameters, beside language and colours; others are errors that name them.
fn values<const N: usize>(query: &str, names: [&str; N]) -> Result<[String; N], Error> {
    let mut values = [const { String::new() }; N];
    let pairs = api::query::decode(query).ok_or_else(|| {
        Error::Asked("what stands behind the question mark is not percent-encoded text".into())
    })?;
    for (name, value) in pairs {
        if name == "lang" || name == "theme" {
            continue;
        }
        let Some(at) = names.iter().position(|known| *known == name) else {
            let name = api::problem::clipped(&name);
            let known = ["lang", "theme"].iter().chain(&names);
            let known: Vec<&str> = known.copied().collect();
            let known = known.join(", ");
            return Err(Error::Asked(format!(
                "`{name}` is not asked here, but {known}"
            )));
        };
        if value.len() > 200 {
            return Err(Error::Asked(format!("`{name}` is longer than 200 octets")));
        }
        values[at] = value;
    }
    Ok(values)
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let timely = |error: &rusqlite::Error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
        };
        let (status, hint) = match &error {
            Error::Asked(_) => (StatusCode::BAD_REQUEST, "/about lists what can be asked"),
            Error::Missing(_) => (StatusCode::NOT_FOUND, "/communities lists all communities"),
            Error::Store(inner) if timely(inner) => {
                let hint = "that took too long: ask for a shorter time, or larger steps";
                (StatusCode::SERVICE_UNAVAILABLE, hint)
            }
            other => {
                tracing::warn!(error = %other, "an answer could not be made");
                return Self {
                    status: StatusCode::INTERNAL_SERVER_ERROR,
                    error: "the answer could not be made".into(),
                    hint: "the server's log says why".into(),
                };
            }
        };
        Self {
            status,
            error: error.to_string(),
            hint: hint.into(),
        }
    }
}

fn nothing(path: &str) -> Refusal {
    Refusal {
        status: StatusCode::NOT_FOUND,
        error: format!("there is nothing at {}", api::problem::clipped(path)),
        hint: "/about lists all addresses".into(),
    }
}

/// Pages may be found; answers to free questions are without number.
fn robots() -> Reply {
    let text = "User-agent: *\nDisallow: /sql\nDisallow: /ledger\nDisallow: /*?\nAllow: /*?v=\n";
    Reply::new("text/plain; charset=utf-8", text, Kept::Hour, Frame::Page)
}

/// The language that a browser would rather read (RFC 9110 section 12.5.4).
fn preferred(header: &str) -> Language {
    let mut best = (Language::English, 0.0);
    for item in header.split(',').take(20) {
        let (tag, rest) = item.split_once(';').unwrap_or((item, ""));
        let weight = rest.trim().strip_prefix("q=");
        let weight: f32 = weight
            .map_or(Some(1.0), |text| text.parse().ok())
            .unwrap_or(0.0);
        let language = match tag
            .trim()
            .split('-')
            .next()
            .map(str::to_ascii_lowercase)
            .as_deref()
        {
            Some("de") => Language::German,
            Some("en") => Language::English,
            _ => continue,
        };
        if weight > best.1 {
            best = (language, weight);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_that_is_preferred() {
        for (header, language) in [
            ("", Language::English),
            ("de", Language::German),
            ("de-AT,de;q=0.9,en;q=0.8", Language::German),
            ("en-GB,de;q=0.9", Language::English),
            ("fr,de;q=0.5,en;q=0.4", Language::German),
            ("de;q=0", Language::English),
            ("de;q=x,*;;,", Language::English),
        ] {
            assert_eq!(preferred(header), language, "{header}");
        }
    }

    #[test]
    fn what_is_not_asked_is_named() {
        assert!(values("q=a&lang=de&theme=dark", ["q"]).is_ok());
        let error = values("lang=de&x=1", ["q"])
            .expect_err("refused")
            .to_string();
        assert!(error.contains("`x`") && error.contains("q"), "{error}");
        assert!(values("q=%zz", ["q"]).is_err());
        assert!(values(&format!("q={}", "a".repeat(201)), ["q"]).is_err());
    }
}
