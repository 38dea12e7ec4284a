//! Handling of each request, from its head to its answer, without sockets.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use api::server::{ResponseBody, read_body};
use api::{LONGEST_BODY, Problem};
use hyper::body::Body;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, IF_NONE_MATCH};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use tokio::net::TcpStream;

use crate::accept::Encoding;
use crate::assets;
use crate::backend::Backend;
use crate::clock::{self, Clock};
use crate::host::AcceptedHosts;
use crate::login::CheckedRequest;
use crate::messages::{Device, DeviceQuery, MetricsRequest};
use crate::pool::{self, RequestBody};
use crate::request_checks::{self, CSRF_HEADER, ClientConnection};
use crate::response::{self, Rejection};
use crate::route::Route;
use crate::serve::{HttpService, speak};
use crate::settings::{FrontendSettings, Limits, MetricsAccess, is_loopback};
use crate::throttle::Client;
use crate::token::{Token, same};

/// HTTP front end of the page: routes requests and checks access.
pub struct PageServer {
    front: FrontendSettings,
    clock: Clock,
    behind: Backend,
    hosts: AcceptedHosts,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::TlsServer>,
}

impl PageServer {
    /// Returns a server in front of this daemon.
    pub fn new(front: FrontendSettings, behind: Backend) -> Self {
        Self::with_clock(front, behind, clock::start())
    }

    /// Returns a server with another clock.
    pub fn with_clock(front: FrontendSettings, behind: Backend, clock: Clock) -> Self {
        Self {
            #[cfg(feature = "tls")]
            tls: front.tls.then(crate::tls::TlsServer::default),
            hosts: AcceptedHosts::new(front.hosts.iter().map(String::as_str)),
            clock,
            behind,
            front,
        }
    }

    /// Answers a request.
    pub async fn answer<B>(
        &self,
        request: Request<B>,
        peer: ClientConnection,
    ) -> Response<ResponseBody>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        let route = Route::of(&path);
        let mut response = match self.decide(&parts, body, &route, peer).await {
            Ok(response) => response,
            Err(Rejection::Problem(problem)) => {
                let allow = (problem.status == 405).then(|| route.method()).flatten();
                response::rejection_response(problem, route.is_api(), allow)
            }
            Err(Rejection::Told(answer)) => answer,
        };
        response::protect(response.headers_mut());
        response
    }

    async fn decide<B>(
        &self,
        parts: &Parts,
        body: B,
        route: &Route<'_>,
        peer: ClientConnection,
    ) -> Result<Response<ResponseBody>, Rejection>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let own = request_checks::authority(&parts.headers, &parts.uri, &peer, &self.hosts)?;
        let method = parts.method.as_str();
        if !route.takes(method) {
            return Err(wrong_method(route).into());
        }
        let behind = &self.behind;
        let visit = CheckedRequest {
            parts,
            peer,
            own,
            backend: behind,
        };
        let headers = &parts.headers;
        if let Route::File(name) = route {
            let asset = assets::find(name).ok_or_else(response::no_file)?;
            let wanted = request_checks::only(headers, ACCEPT_ENCODING).unwrap_or_default();
            let known = request_checks::only(headers, IF_NONE_MATCH);
            return Ok(response::file(asset, Encoding::choose(wanted), known));
        }
        if *route == Route::Metrics {
            return self.metrics(&visit).await;
        }

        let changes = method != "GET";
        request_checks::same_site(headers, &visit.own, &peer, changes)?;
        let whose = visit.session().await?;
        let session = whose.token.as_ref();
        if session.is_some() {
            pool::logged_in();
        }
        let allowed = || {
            let token = session.ok_or_else(response::not_logged_in)?;
            match changes {
                true => check_csrf(&visit, token),
                false => Ok(()),
            }
        };
        // Clients without a session can send only a login.
        match route {
            Route::Api(_) => allowed()?,
            Route::Logout | Route::Password if session.is_some() => allowed()?,
            _ => {}
        }
        let body = match changes {
            true => {
                let limits = &self.front.limits;
                // The daemon knows the paths that take a long body.
                let longest = match (route, session) {
                    (Route::Api(_), Some(_)) => limits.body.max(LONGEST_BODY),
                    _ => limits.body,
                };
                read_body(body, longest, limits.request_time).await?
            }
            false => Default::default(),
        };
        match route {
            Route::Session => Ok(visit.state(&whose)),
            Route::Login => visit.login(&body).await,
            Route::Logout => visit.logout().await,
            Route::Password => visit.change_password(&body, session).await,
            Route::Api(path) if !path.starts_with("/v1/") => Err(no_api(path).into()),
            Route::Api(path) => {
                let query = parts.uri.query().filter(|query| !query.is_empty());
                let target = query.map_or((*path).into(), |query| format!("{path}?{query}"));
                Ok(behind.forward(method, &target, session, body).await)
            }
            Route::Metrics | Route::File(_) => Err(response::no_file().into()),
        }
    }

    async fn metrics(
        &self,
        visit: &CheckedRequest<'_>,
    ) -> Result<Response<ResponseBody>, Rejection> {
        let headers = &visit.parts.headers;
        let token = request_checks::only(headers, AUTHORIZATION)
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim().to_owned());
        match self.front.figures {
            MetricsAccess::Nobody => return Err(response::no_file().into()),
            MetricsAccess::Loopback
                if is_loopback(visit.peer.address) && visit.own.host.is_local() =>
            {
                request_checks::same_site(headers, &visit.own, &visit.peer, false)?;
            }
            MetricsAccess::Loopback => {
                let detail = "metrics are available on this machine only";
                let hint = "name a file with a token for metrics in the configuration";
                return Err(Problem::new(403, "not_local", detail, hint).into());
            }
            MetricsAccess::Token => {}
        }
        let answer = self
            .behind
            .send("/page/metrics", &MetricsRequest { token })
            .await;
        if answer.status().is_success() {
            let wanted = request_checks::only(headers, ACCEPT).unwrap_or_default();
            return match wanted.contains("application/openmetrics-text") {
                true => Ok(answer),
                false => response::plain_figures(answer).await.map_err(Into::into),
            };
        }
        // Plain text, for users who open the path in a browser.
        Err(response::problem(answer).await.into())
    }
}

impl HttpService for PageServer {
    fn limits(&self) -> Limits {
        self.front.limits
    }

    fn now(&self) -> Duration {
        (self.clock)()
    }

    async fn client(&self, address: IpAddr) -> Option<Client> {
        let device: Result<Device, _> = self
            .behind
            .request("/page/client", &DeviceQuery { address })
            .await;
        device.ok().map(|device| device.or(address))
    }

    async fn respond(
        &self,
        request: Request<RequestBody>,
        peer: ClientConnection,
    ) -> Response<ResponseBody> {
        Self::answer(self, request, peer).await
    }

    async fn serve_connection(&self, stream: TcpStream, peer: ClientConnection) -> io::Result<()> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let pair = async || {
                let (path, body) = ("/page/certificate", Default::default());
                let answer = self.behind.forward("GET", path, None, body).await;
                response::parse_response(answer).await.ok()
            };
            return tls.converse(stream, peer, self, pair).await;
        }
        speak(stream, peer, self).await;
        Ok(())
    }
}

fn check_csrf(visit: &CheckedRequest<'_>, token: &Token) -> Result<(), Problem> {
    let given = request_checks::only(
        &visit.parts.headers,
        hyper::header::HeaderName::from_static(CSRF_HEADER),
    );
    if given.is_some_and(|given| same(given.as_bytes(), token.csrf().as_bytes())) {
        return Ok(());
    }
    let hint = "send the `csrf` value of /api/session in the header X-Weir-Csrf";
    let detail = "the request lacks the session's token";
    Err(Problem::new(403, "no_csrf", detail, hint))
}

fn no_api(path: &str) -> Problem {
    let detail = format!("there is no path {}", api::problem::clipped(path));
    Problem::new(404, "unknown_path", detail, "the API is at /api/v1/")
}

fn wrong_method(route: &Route<'_>) -> Problem {
    let wanted = route.method().unwrap_or("GET or POST");
    let detail = "this path does not support this method";
    Problem::new(405, "wrong_method", detail, format!("use {wanted}"))
}
