//! Each request of a guest, from its head to its answer.

mod headers;

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use answers::{PortalMode, PortalState};
use api::server::{ResponseBody, read_body};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use net::clock::unix_seconds;
use portal_core::form::{FormTokens, field};
use portal_core::page::{GuestProblem, PageView, html};
use portal_core::pass::Pass;
use portal_core::signed_voucher::Ticket;
use serde::Serialize;
#[cfg(feature = "tls")]
use web::PemPair;
use web::channel::ServerEnd;
use web::rate::CONNECT_EACH;
use web::throttle::{Allowance, Client};
use web::{ClientConnection, HttpService, Limits, RequestBody};

use headers::{header, keep, moved, pass, text};

#[cfg(feature = "tls")]
use super::daemon_client::request_json;
use super::daemon_client::{NoAnswer, answer_to, ask, device};
use super::messages::{
    AccountLogin, CodeLogin, GuestStatus, GuestStatusRequest, LoginResult, OpeningMessage,
};
use super::page_content::PageSnapshot;
use super::sockets::{PAGE, SECURE};

/// Bytes of a form: a code and a token.
const FORM: usize = 4096;

/// Headers that identify browsers: requests of browsers must come from this page.
const BROWSERS: [&str; 4] = ["origin", "referer", "sec-fetch-site", "cookie"];

/// Headers of every answer: browsers store nothing and load no other resources.
const SAID: [(&str, &str); 4] = [
    ("cache-control", "no-store"),
    (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; \
            base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
];

/// Answers guests.
pub struct GuestServer {
    /// Name of the page, if there is HTTPS, too.
    host: Option<String>,
    /// True if guests may log in with an account.
    accounts: bool,
    tokens: FormTokens,
    theirs: Rc<ServerEnd>,
    /// Contents of the page, as last read from weir.
    welcome: RefCell<Rc<CachedContent>>,
    began: Instant,
}

/// Contents of the page, with the picture.
#[derive(Default)]
struct CachedContent {
    told: PageSnapshot,
    picture: Bytes,
}

impl GuestServer {
    pub fn new(opening: OpeningMessage, theirs: Rc<ServerEnd>) -> Self {
        Self {
            host: opening.host,
            accounts: opening.accounts,
            tokens: FormTokens::new(&opening.secret),
            theirs,
            welcome: RefCell::default(),
            began: Instant::now(),
        }
    }

    async fn decide(
        &self,
        request: Request<RequestBody>,
        peer: ClientConnection,
    ) -> Response<ResponseBody> {
        let (parts, body) = request.into_parts();
        let own = self.own(peer);
        let host = header(&parts.headers, "host");
        let query = parts.uri.query().unwrap_or_default();
        let code = field(query.as_bytes(), "code").and_then(|code| code.parse().ok());
        // A device that asked for another page is redirected here. Browsers cannot be redirected to
        // a link-local address: the page is shown in place.
        if let Some(own) = &own
            && host != own
        {
            let to = format!("{}{}", self.origin(own), prefilled(code));
            let mut response = moved(StatusCode::FOUND, &to);
            // The connection leads here, whatever happens to its device.
            let close = HeaderValue::from_static("close");
            response
                .headers_mut()
                .insert(hyper::header::CONNECTION, close);
            return response;
        }
        match (parts.method.clone(), parts.uri.path()) {
            (Method::GET | Method::HEAD, "/captive-portal/api") => self.api(&own, peer).await,
            (Method::GET | Method::HEAD, "/login" | "/logout" | "/free" | "/account") => {
                moved(StatusCode::SEE_OTHER, "/")
            }
            (Method::GET | Method::HEAD, "/picture") => self.picture(peer).await,
            (Method::GET | Method::HEAD, "/favicon.ico") => {
                // A missing icon is not an error.
                text(StatusCode::NO_CONTENT, "text/plain", String::new())
            }
            (Method::GET | Method::HEAD, path) => match own.is_some() && path != "/" {
                true => moved(StatusCode::FOUND, &format!("/{}", prefilled(code))),
                false => {
                    let shown = (None, Typed::code(code.map(|code| code.to_string())));
                    self.page(&parts.headers, peer, shown, StatusCode::OK).await
                }
            },
            (Method::POST, path @ ("/login" | "/logout" | "/free" | "/account")) => {
                self.form(path, &parts.headers, body, peer).await
            }
            (Method::POST, _) => text(StatusCode::NOT_FOUND, "text/plain", String::new()),
            _ => text(StatusCode::METHOD_NOT_ALLOWED, "text/plain", String::new()),
        }
    }

    /// Returns the page's host, as browsers name it; `None`: browsers cannot reach the page.
    fn own(&self, peer: ClientConnection) -> Option<String> {
        match (&self.host, peer.tls) {
            (Some(host), true) => Some(format!("{host}:{SECURE}")),
            _ => own_host(peer.local),
        }
    }

    /// Returns the URL of the page, for redirects.
    fn origin(&self, own: &str) -> String {
        match &self.host {
            Some(host) => format!("https://{host}:{SECURE}/"),
            None => format!("http://{own}/"),
        }
    }

    /// Returns the present certificate of the page's name.
    #[cfg(feature = "tls")]
    pub async fn certificate(&self) -> Option<PemPair> {
        let request = Request::get("/portal/certificate").body(Full::default());
        request_json(&self.theirs, request.ok()?).await.ok()
    }

    /// Identifies the visitor, and returns the page's current contents.
    async fn visitor(
        &self,
        peer: ClientConnection,
        pass: Option<Pass>,
    ) -> (Option<GuestStatus>, Rc<CachedContent>) {
        let visitor = GuestStatusRequest {
            pass: pass.map(|pass| pass.to_string()),
            ..visitor(peer.address)
        };
        let visited: Option<GuestStatus> = ask(&self.theirs, "/portal/visit", &visitor).await.ok();
        let known = Rc::clone(&self.welcome.borrow());
        let now = visited.as_ref().map(|visited| visited.welcome);
        if now.is_none_or(|now| now == known.told.version) {
            return (visited, known);
        }
        // If weir does not answer, the last contents are better than nothing.
        let welcome = self.request_json().await.map_or(known, Rc::new);
        self.welcome.replace(Rc::clone(&welcome));
        (visited, welcome)
    }

    async fn request_json(&self) -> Result<CachedContent, NoAnswer> {
        let get = |path: &str| {
            Request::get(path)
                .body(Full::default())
                .map_err(|_| NoAnswer)
        };
        let told = answer_to(&self.theirs, get("/portal/welcome")?).await?;
        let told: PageSnapshot = serde_json::from_slice(&told).map_err(|_| NoAnswer)?;
        let picture = match told.picture {
            Some(_) => answer_to(&self.theirs, get("/portal/picture")?).await?,
            None => Bytes::new(),
        };
        Ok(CachedContent { told, picture })
    }

    /// Returns the community's picture.
    async fn picture(&self, peer: ClientConnection) -> Response<ResponseBody> {
        let (_, welcome) = self.visitor(peer, None).await;
        let media = welcome.told.picture.as_deref().map(HeaderValue::from_str);
        let Some(Ok(media)) = media else {
            return text(StatusCode::NOT_FOUND, "text/plain", String::new());
        };
        let mut response = Response::new(ResponseBody::whole(welcome.picture.clone()));
        response
            .headers_mut()
            .insert(hyper::header::CONTENT_TYPE, media);
        response
    }

    async fn page(
        &self,
        headers: &HeaderMap,
        peer: ClientConnection,
        (trouble, typed): (Option<GuestProblem>, Typed),
        status: StatusCode,
    ) -> Response<ResponseBody> {
        let had = pass(headers);
        let (visitor, welcome) = self.visitor(peer, had).await;
        let holds = visitor.as_ref().is_some_and(|visitor| visitor.again);
        let free = visitor.as_ref().and_then(|visitor| visitor.free);
        let hours = visitor.as_ref().map(|visitor| visitor.hours.clone());
        let hours = hours.unwrap_or_default();
        let free_now = visitor
            .as_ref()
            .is_some_and(|visited| visited.client.state == PortalState::Free);
        let inside = inside(visitor);
        let closed = hours.mode == PortalMode::Closed && inside.is_none();
        let trouble = trouble.or(closed.then_some(GuestProblem::Closed(hours.seconds)));
        let token = self.tokens.token(&peer.address.to_string(), unix_seconds());
        // After a typed code or a refusal, the page does not offer the previous voucher.
        let again = had.filter(|_| trouble.is_none() && typed.code.is_none() && holds);
        let account = self.accounts && (inside.is_none() || free_now);
        let again = again.map(|pass| pass.voucher.to_string());
        let shown = PageView {
            network: &welcome.told.title,
            text: &welcome.told.html,
            picture: welcome.told.picture.as_deref().map(|_| "/picture"),
            venue: welcome.told.venue.as_deref(),
            token: &token,
            inside: inside.map(|inside| inside.seconds),
            free: free.map(|(seconds, _)| seconds),
            password: free.is_some_and(|(_, password)| password),
            again: again.as_deref(),
            closed,
            code: typed.code.as_deref(),
            account: account.then(|| typed.name.as_deref().unwrap_or_default()),
            trouble,
            languages: header(headers, "accept-language"),
        };
        let mut response = text(status, "text/html; charset=utf-8", html(&shown));
        if let Some(GuestProblem::Wait(seconds)) = trouble {
            response
                .headers_mut()
                .insert(hyper::header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    /// Answers a request of the captive portal API (RFC 8908, section 5).
    async fn api(&self, own: &Option<String>, peer: ClientConnection) -> Response<ResponseBody> {
        #[derive(Serialize)]
        #[serde(rename_all = "kebab-case")]
        struct Captive {
            captive: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            user_portal_url: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            venue_info_url: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            seconds_remaining: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            bytes_remaining: Option<u64>,
            can_extend_session: bool,
        }
        let (visitor, welcome) = self.visitor(peer, None).await;
        let extends = visitor.as_ref().is_some_and(extends);
        let inside = inside(visitor);
        let captive = Captive {
            captive: inside.is_none(),
            user_portal_url: own.as_ref().map(|own| self.origin(own)),
            venue_info_url: welcome.told.venue.clone(),
            seconds_remaining: inside.as_ref().and_then(|inside| inside.seconds),
            bytes_remaining: inside.as_ref().and_then(|inside| inside.bytes),
            can_extend_session: extends,
        };
        let body = serde_json::to_string(&captive).unwrap_or_default();
        text(StatusCode::OK, "application/captive+json", body)
    }

    /// Handles a submitted form.
    async fn form(
        &self,
        path: &str,
        headers: &HeaderMap,
        body: RequestBody,
        peer: ClientConnection,
    ) -> Response<ResponseBody> {
        let Ok(body) = read_body(body, FORM, self.limits().request_time).await else {
            return text(StatusCode::PAYLOAD_TOO_LARGE, "text/plain", String::new());
        };
        let sent = |name: &str| field(&body, name).unwrap_or_default();
        let named = BROWSERS.iter().any(|name| headers.contains_key(*name));
        let whose = peer.address.to_string();
        if named && !self.tokens.is_valid(&sent("token"), &whose, unix_seconds()) {
            let forged = (Some(GuestProblem::Forged), Typed::default());
            return self
                .page(headers, peer, forged, StatusCode::FORBIDDEN)
                .await;
        }
        let address = peer.address;
        let typed = Typed {
            code: field(&body, "code"),
            name: field(&body, "name"),
        };
        let came = match path {
            "/logout" => self.leave(peer).await.into(),
            "/free" => {
                let visitor = GuestStatusRequest {
                    password: sent("password"),
                    ..visitor(address)
                };
                self.request_admission("/portal/free", &visitor).await
            }
            "/account" => {
                let named = AccountLogin {
                    address,
                    name: sent("name"),
                    password: sent("password"),
                };
                self.request_admission("/portal/account", &named).await
            }
            _ => {
                let knock = CodeLogin {
                    address,
                    code: sent("code"),
                    pass: pass(headers).map(|pass| pass.to_string()),
                };
                self.request_admission("/portal/login", &knock).await
            }
        };
        let status = match came.trouble {
            None => {
                let mut response = moved(StatusCode::SEE_OTHER, "/");
                if let Some(pass) = &came.pass {
                    keep(&mut response, pass);
                }
                return response;
            }
            Some(GuestProblem::Wait(_)) => StatusCode::TOO_MANY_REQUESTS,
            Some(GuestProblem::Broken | GuestProblem::Silent) => StatusCode::SERVICE_UNAVAILABLE,
            Some(_) => StatusCode::FORBIDDEN,
        };
        self.page(headers, peer, (came.trouble, typed), status)
            .await
    }

    /// Asks weir to admit the guest; returns the result.
    async fn request_admission(&self, path: &str, said: &impl Serialize) -> LoginResult {
        let answered: Result<LoginResult, NoAnswer> = ask(&self.theirs, path, said).await;
        answered.unwrap_or(Some(GuestProblem::Broken).into())
    }

    async fn leave(&self, peer: ClientConnection) -> Option<GuestProblem> {
        let visitor = visitor(peer.address);
        let left: Result<(), NoAnswer> = ask(&self.theirs, "/portal/logout", &visitor).await;
        left.is_err().then_some(GuestProblem::Broken)
    }
}

impl HttpService for GuestServer {
    fn limits(&self) -> Limits {
        Limits {
            connections: 256,
            per_address: 8,
            body: FORM,
            stall_time: Duration::from_secs(20), // RADIUS servers may take 8 s to answer.
            ..Limits::default()
        }
    }

    /// Returns the limits of connections. When a school's break begins, all its telephones connect
    /// at once.
    fn connection_limits(&self) -> [Allowance; 2] {
        let all = Allowance {
            burst: 2000,
            every: Duration::from_millis(2),
        };
        [CONNECT_EACH, all]
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    async fn client(&self, address: IpAddr) -> Option<Client> {
        device(&self.theirs, address).await
    }

    async fn respond(
        &self,
        request: Request<RequestBody>,
        peer: ClientConnection,
    ) -> Response<ResponseBody> {
        let mut response = self.decide(request, peer).await;
        for (name, value) in SAID {
            response.headers_mut().insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        response
    }
}

/// Values prefilled in the forms.
#[derive(Default)]
struct Typed {
    code: Option<String>,
    name: Option<String>,
}

impl Typed {
    fn code(code: Option<String>) -> Self {
        Self { code, name: None }
    }
}

/// Allowance left to an admitted device; `None`: no end.
struct RemainingAllowance {
    seconds: Option<u64>,
    bytes: Option<u64>,
}

/// Returns the allowance if the device is admitted.
fn inside(visitor: Option<GuestStatus>) -> Option<RemainingAllowance> {
    let GuestStatus { client, hours, .. } = visitor?;
    let waits = client.state == PortalState::Waiting;
    let own = RemainingAllowance {
        seconds: client.seconds_remaining,
        bytes: client.bytes_remaining,
    };
    match hours.mode {
        PortalMode::Closed if client.state != PortalState::Exempt => None,
        PortalMode::Open => Some(RemainingAllowance {
            seconds: hours.seconds,
            bytes: None,
        }),
        PortalMode::Closed | PortalMode::Vouchers => (!waits).then_some(own),
    }
}

/// Returns true if another voucher would add anything: not in closed hours, nor without an end.
fn extends(visited: &GuestStatus) -> bool {
    let client = &visited.client;
    let endless = client.seconds_remaining.is_none() && client.bytes_remaining.is_none();
    match client.state {
        _ if visited.hours.mode == PortalMode::Closed => false,
        PortalState::Waiting => true,
        PortalState::Admitted | PortalState::Free => !endless,
        PortalState::Exempt => false,
    }
}

/// Returns the host of the page at a router's address; `None`: browsers cannot reach the address.
fn own_host(local: IpAddr) -> Option<String> {
    match local {
        IpAddr::V6(address) if address.is_unicast_link_local() => None,
        _ => Some(SocketAddr::new(local, PAGE).to_string()),
    }
}

/// Returns the query string of a QR code, which prefills the code.
fn prefilled(code: Option<Ticket>) -> String {
    code.map_or_else(String::new, |code| format!("?code={code}"))
}

/// Builds a request for the state of a device alone.
fn visitor(address: IpAddr) -> GuestStatusRequest {
    GuestStatusRequest {
        address,
        pass: None,
        password: String::new(),
    }
}
