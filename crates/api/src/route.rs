//! Table of routes: one for each method of a path, with the required access and the handler.
//! Modules define their routes; the lookup is pure.

use std::fmt;
use std::pin::Pin;
use std::rc::Rc;

use hyper::{Method, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::{Problem, Refusal, clipped};
use crate::query::{self, Query};
use crate::server::{ResponseBody, json};

/// A result that takes a while: it may come from another thread.
pub type ResponseFuture<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

/// Bytes of the longest body that any route takes ([`Route::with_body`]): a message of nearby,
/// whose bytes take six characters each in JSON.
pub const LONGEST_BODY: usize = 400 * 1024;

/// Access level. Each level includes the levels before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessLevel {
    /// Any client of a server of weir.
    Guest,
    /// A user who is logged in to the page.
    User,
    /// A process that may use the daemon's socket: root, and the user of the daemon.
    Root,
}

/// Content of a request's body, as a type.
pub trait Body: DeserializeOwned {
    /// Description of a valid body, for the error message: `a JSON object with "name"`.
    const EXPECTED: &'static str;
}

/// An empty body: no bytes, or an empty JSON object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmptyBody {}

impl Body for EmptyBody {
    const EXPECTED: &'static str = "no body, or the JSON object {}";
}

/// A parsed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRequest<Q = (), B = EmptyBody> {
    /// Query string.
    pub query: Q,
    /// Body. An empty one counts as `{}`.
    pub body: B,
    /// Parts of the path at the route's `{…}`, from left to right, undecoded.
    pub path_params: Vec<String>,
}

/// A request before parsing.
struct Raw<'a> {
    query: &'a str,
    body: &'a [u8],
    parts: Vec<String>,
}

impl Raw<'_> {
    fn read<Q: Query, B: Body>(self) -> Result<ApiRequest<Q, B>, Problem> {
        Ok(ApiRequest {
            query: query::read(self.query)?,
            body: body(self.body)?,
            path_params: self.parts,
        })
    }
}

/// Parses a JSON object. Rejects a list of the values, which serde would accept.
fn body<B: Body>(octets: &[u8]) -> Result<B, Problem> {
    let wrong = |why: String| {
        Problem::new(
            400,
            "malformed_body",
            format!("invalid request body: {why}"),
            format!("send {}", B::EXPECTED),
        )
    };
    let octets = if octets.is_empty() { b"{}" } else { octets };
    if octets.trim_ascii_start().first() != Some(&b'{') {
        return Err(wrong("not a JSON object".to_owned()));
    }
    serde_json::from_slice(octets).map_err(|error| wrong(error.to_string()))
}

type Handler = Box<dyn Fn(Raw<'_>) -> ResponseFuture<Response<ResponseBody>>>;

/// A route.
pub struct Route {
    method: Method,
    path: &'static str,
    who: AccessLevel,
    listed: bool,
    body: Option<usize>,
    handler: Handler,
}

impl Route {
    /// Returns a route that answers at once, by one JSON document. `path`: a part of it in braces
    /// stands for any text without a slash (`/v1/vouchers/{id}`). A `GET` changes nothing.
    pub fn new<Q: Query, B: Body, T: Serialize>(
        method: Method,
        path: &'static str,
        who: AccessLevel,
        handler: impl Fn(ApiRequest<Q, B>) -> Result<T, Problem> + 'static,
    ) -> Self {
        Self::raw(method, path, who, move |asked| json(&handler(asked)?))
    }

    /// Returns a `GET` route that answers at once, by one JSON document.
    pub fn get<Q: Query, T: Serialize>(
        path: &'static str,
        who: AccessLevel,
        handler: impl Fn(Q) -> Result<T, Problem> + 'static,
    ) -> Self {
        Self::new(Method::GET, path, who, move |asked: ApiRequest<Q>| {
            handler(asked.query)
        })
    }

    /// Returns a route that answers later, by one JSON document.
    pub fn new_async<Q: Query, B: Body, T: Serialize + 'static>(
        method: Method,
        path: &'static str,
        who: AccessLevel,
        handler: impl Fn(ApiRequest<Q, B>) -> ResponseFuture<T> + 'static,
    ) -> Self {
        Self::raw_async(method, path, who, move |asked| {
            let answer = handler(asked);
            Box::pin(async move { json(&answer.await?) })
        })
    }

    /// Returns a route with any kind of answer: a listing in pieces, or a stream.
    pub fn raw<Q: Query, B: Body>(
        method: Method,
        path: &'static str,
        who: AccessLevel,
        handler: impl Fn(ApiRequest<Q, B>) -> Result<Response<ResponseBody>, Problem> + 'static,
    ) -> Self {
        Self::with(method, path, who, move |raw| {
            Box::pin(std::future::ready(raw.read().and_then(&handler)))
        })
    }

    /// Returns a route with any kind of answer, later.
    pub fn raw_async<Q: Query, B: Body>(
        method: Method,
        path: &'static str,
        who: AccessLevel,
        handler: impl Fn(ApiRequest<Q, B>) -> ResponseFuture<Response<ResponseBody>> + 'static,
    ) -> Self {
        Self::with(method, path, who, move |raw| match raw.read() {
            Ok(asked) => handler(asked),
            Err(problem) => Box::pin(std::future::ready(Err(problem))),
        })
    }

    fn with(
        method: Method,
        path: &'static str,
        who: AccessLevel,
        handler: impl Fn(Raw<'_>) -> ResponseFuture<Response<ResponseBody>> + 'static,
    ) -> Self {
        Self {
            method,
            path,
            who,
            listed: true,
            body: None,
            handler: Box::new(handler),
        }
    }

    /// Hides the route from the lists in error answers.
    pub fn unlisted(self) -> Self {
        Self {
            listed: false,
            ..self
        }
    }

    /// Sets the longest body, in bytes: [`LONGEST_BODY`] at most.
    pub fn with_body(self, bytes: usize) -> Self {
        Self {
            body: Some(bytes.min(LONGEST_BODY)),
            ..self
        }
    }

    /// Returns the parts of the path at the route's braces; `None`: the path does not match.
    fn parts(&self, path: &str) -> Option<Vec<String>> {
        let mut parts = Vec::new();
        let (mut own, mut given) = (self.path.split('/'), path.split('/'));
        loop {
            match (own.next(), given.next()) {
                (None, None) => return Some(parts),
                (Some(own), Some(given)) if own.starts_with('{') && !given.is_empty() => {
                    parts.push(given.to_owned());
                }
                (Some(own), Some(given)) if own == given => {}
                _ => return None,
            }
        }
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} for {:?}", self.method, self.path, self.who)
    }
}

/// A matched route, with the parts of the path.
pub struct RouteMatch {
    routes: Routes,
    row: usize,
    parts: Vec<String>,
}

impl RouteMatch {
    fn route(&self) -> &Route {
        &self.routes.0[self.row]
    }

    /// Returns the longest body in bytes, `usual` if the route sets none; `None`: the request has
    /// no body.
    pub fn longest_body(&self, usual: usize) -> Option<usize> {
        let route = self.route();
        (route.method != Method::GET).then(|| route.body.unwrap_or(usual))
    }

    /// Answers the request. `query`: without the question mark.
    pub fn respond(self, query: &str, body: &[u8]) -> ResponseFuture<Response<ResponseBody>> {
        let Self { routes, row, parts } = self;
        (routes.0[row].handler)(Raw { query, body, parts })
    }
}

/// All routes. Clones share the table.
#[derive(Clone, Debug, Default)]
pub struct Routes(Rc<Vec<Rc<Route>>>);

impl Routes {
    /// Returns a table of these routes. The first match counts.
    pub fn new(rows: impl IntoIterator<Item = Route>) -> Self {
        Self(Rc::new(rows.into_iter().map(Rc::new).collect()))
    }

    /// Returns a table of these routes, followed by its own.
    pub fn after(&self, rows: impl IntoIterator<Item = Route>) -> Self {
        let rows = rows.into_iter().map(Rc::new);
        Self(Rc::new(rows.chain(self.0.iter().cloned()).collect()))
    }

    /// Finds the route for a request with this access.
    pub fn find(
        &self,
        method: &str,
        path: &str,
        who: AccessLevel,
    ) -> Result<RouteMatch, Box<Refusal>> {
        let fits = self
            .0
            .iter()
            .enumerate()
            .filter_map(|(row, route)| Some((row, route.parts(path)?)));
        let mut allowed: Vec<&str> = Vec::new();
        for (row, parts) in fits {
            let route = &self.0[row];
            if route.method.as_str() != method {
                allowed.push(route.method.as_str());
            } else if route.who > who {
                return Err(Box::new(not_for(who).into()));
            } else {
                return Ok(RouteMatch {
                    routes: self.clone(),
                    row,
                    parts,
                });
            }
        }
        if allowed.is_empty() {
            return Err(Box::new(self.unknown(path).into()));
        }
        Err(Box::new(Refusal {
            problem: Problem::new(
                405,
                "wrong_method",
                format!("{} does not take {}", clipped(path), clipped(method)),
                format!("use {}", allowed.join(" or ")),
            ),
            allow: Some(allowed.join(", ")),
        }))
    }

    fn listed(&self) -> impl Iterator<Item = &Rc<Route>> {
        self.0.iter().filter(|route| route.listed)
    }

    fn unknown(&self, path: &str) -> Problem {
        let mut paths: Vec<&str> = self.listed().map(|route| route.path).collect();
        paths.dedup();
        Problem::new(
            404,
            "unknown_path",
            format!("there is no path {}", clipped(path)),
            format!("valid paths: {}", paths.join(", ")),
        )
    }
}

fn not_for(who: AccessLevel) -> Problem {
    match who {
        AccessLevel::Guest => Problem::new(
            401,
            "not_logged_in",
            "this path requires a log-in",
            "log in first",
        ),
        AccessLevel::User | AccessLevel::Root => Problem::new(
            403,
            "not_here",
            "only root on the router may use this path",
            "use the `weir` command there",
        ),
    }
}

#[cfg(test)]
mod tests;
