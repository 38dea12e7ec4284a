//! The daemon behind the page's server: one connection per request, as on the daemon's socket.

use std::rc::Rc;

use api::client::exchange;
use api::server::{ResponseBody, into_response, problem_response};
use api::{Problem, Routes};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    RETRY_AFTER, TE, TRAILER,
};
use hyper::{Request, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::auth::Authenticator;
use crate::channel::ServerEnd;
use crate::messages::SESSION_HEADER;
use crate::response::{self, Rejection};
use crate::token::Token;

/// Headers of the daemon's answer that are passed on; others concern its connection.
const TOLD: [HeaderName; 6] = [
    ALLOW,
    CACHE_CONTROL,
    CONTENT_SECURITY_POLICY,
    CONTENT_TYPE,
    RETRY_AFTER,
    TRAILER,
];

/// Connection of the page's server to the daemon.
pub enum Backend {
    /// The daemon runs in another process.
    Remote(Rc<ServerEnd>),
    /// The daemon runs in this process.
    Local(Rc<Authenticator>, Routes),
}

impl Backend {
    /// Sends a request to the daemon, in a session if there is one. `target`: path and query.
    pub(crate) async fn forward(
        &self,
        method: &str,
        target: &str,
        session: Option<&Token>,
        body: Bytes,
    ) -> Response<ResponseBody> {
        let mut request = Request::builder().method(method).uri(target);
        if let Some(session) = session {
            request = request.header(SESSION_HEADER, session.text());
        }
        let request = request.header(TE, "trailers");
        let Ok(request) = request.body(Full::new(body)) else {
            let hint = "send a valid path";
            return problem_response(
                &Problem::new(400, "malformed", "invalid request", hint).into(),
            );
        };
        match self {
            Self::Remote(theirs) => there(theirs, request).await,
            Self::Local(warden, routes) => here(warden, routes, request).await,
        }
    }

    /// Sends a message. Returns the daemon's answer unchanged.
    pub(crate) async fn send(
        &self,
        path: &str,
        message: &impl Serialize,
    ) -> Response<ResponseBody> {
        let body = serde_json::to_vec(message).unwrap_or_default();
        self.forward("POST", path, None, body.into()).await
    }

    /// Sends a message. Returns the daemon's parsed answer, or its refusal for the client.
    pub(crate) async fn request<T: DeserializeOwned>(
        &self,
        path: &str,
        message: &impl Serialize,
    ) -> Result<T, Rejection> {
        let answer = self.send(path, message).await;
        match answer.status().is_success() {
            true => Ok(response::parse_response(answer).await?),
            false => Err(Rejection::Told(answer)),
        }
    }
}

async fn there(theirs: &ServerEnd, request: Request<Full<Bytes>>) -> Response<ResponseBody> {
    let answer = match theirs.connect() {
        Ok(stream) => exchange(stream, request).await.map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let (parts, body) = match answer {
        Ok(answer) => answer.into_parts(),
        Err(error) => {
            let detail = format!("the daemon does not answer: {error}");
            let problem = Problem::new(503, "no_daemon", detail, "try again in a few seconds");
            return problem_response(&problem.into());
        }
    };
    let mut response = Response::new(ResponseBody::passed(body));
    *response.status_mut() = parts.status;
    for name in TOLD {
        if let Some(value) = parts.headers.get(&name) {
            response
                .headers_mut()
                .insert(name, HeaderValue::clone(value));
        }
    }
    response
}

async fn here(
    warden: &Authenticator,
    routes: &Routes,
    request: Request<Full<Bytes>>,
) -> Response<ResponseBody> {
    use http_body_util::BodyExt;
    let (parts, body) = request.into_parts();
    let who = warden.who(&parts.headers);
    match routes.find(parts.method.as_str(), parts.uri.path(), who) {
        Ok(found) => {
            let body = body.collect().await.unwrap_or_default().to_bytes();
            let query = parts.uri.query().unwrap_or_default();
            into_response(found.respond(query, &body).await)
        }
        Err(refusal) => problem_response(&refusal),
    }
}
