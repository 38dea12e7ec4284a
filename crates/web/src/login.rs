//! Login, logout and password requests of the page; the daemon decides.

use api::Problem;
use api::server::ResponseBody;
use hyper::http::request::Parts;
use hyper::{Response, Version};
use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::host::Authority;
use crate::messages::{ClientSession, LoginRequest, NewSession, PasswordChange, SessionTokens};
use crate::pool;
use crate::request_checks::{self, ClientConnection};
use crate::response::{self, Rejection};
use crate::token::Token;

/// Answer to `GET /api/session`, and to each request that changes the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// True if the client is logged in.
    pub user: bool,
    /// True if a password is set. Without one the page can only set one.
    pub password_set: bool,
    /// Token of the session, for the header `X-Weir-Csrf`; empty if the client is not logged in.
    pub csrf: String,
    /// True if the client is on the router itself, or comes through `ssh -L`: it may set the first
    /// password.
    pub local: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    password: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PasswordBody {
    #[serde(default)]
    old: Option<String>,
    new: String,
    #[serde(default)]
    claim: Option<String>,
}

/// A request that has passed the first checks.
pub(crate) struct CheckedRequest<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) peer: ClientConnection,
    pub(crate) own: Authority,
    pub(crate) backend: &'a Backend,
}

impl CheckedRequest<'_> {
    /// Returns true if the client is on this machine. A proxy without headers of its own speaks
    /// HTTP/1.0, as nginx does by default.
    fn is_local(&self) -> bool {
        self.parts.version >= Version::HTTP_11
            && request_checks::is_local(&self.parts.headers, &self.own, &self.peer)
    }

    /// Returns the tokens in the client's session cookies.
    fn tokens(&self) -> Vec<Token> {
        request_checks::tokens(&self.parts.headers, self.peer.cookie())
    }

    /// Returns the token of a device that logged in before.
    fn device(&self) -> Option<Token> {
        request_checks::tokens(&self.parts.headers, self.peer.device_cookie()).pop()
    }

    /// Returns true if the browser speaks TLS, with this server or with a proxy before it. A client
    /// that claims TLS wrongly only loses its cookie.
    fn is_secure(&self) -> bool {
        self.peer.tls
            || request_checks::only(
                &self.parts.headers,
                hyper::header::HeaderName::from_static("x-forwarded-proto"),
            ) == Some("https")
    }

    /// Asks the daemon for the client's session, by its cookies.
    pub(crate) async fn session(&self) -> Result<ClientSession, Rejection> {
        let tokens = self.tokens();
        self.backend
            .request("/page/session", &SessionTokens { tokens })
            .await
    }

    pub(crate) fn state(&self, whose: &ClientSession) -> Response<ResponseBody> {
        let token = whose.token.as_ref();
        response::json(&SessionState {
            user: token.is_some(),
            password_set: whose.password_set,
            csrf: token.map(Token::csrf).unwrap_or_default(),
            local: self.is_local(),
        })
    }

    pub(crate) async fn login(&self, body: &[u8]) -> Result<Response<ResponseBody>, Rejection> {
        request_checks::is_json(&self.parts.headers)?;
        let asked: LoginBody = parse(body)?;
        let login = LoginRequest {
            address: self.peer.address,
            password: asked.password,
            former: self.tokens(),
            device: self.device(),
        };
        let opened: NewSession = self.backend.request("/page/login", &login).await?;
        Ok(self.opened(opened))
    }

    pub(crate) async fn logout(&self) -> Result<Response<ResponseBody>, Rejection> {
        let tokens = self.tokens();
        let _: api::EmptyBody = self
            .backend
            .request("/page/logout", &SessionTokens { tokens })
            .await?;
        let mut response = self.state(&self.session().await?);
        let headers = response.headers_mut();
        response::set_cookie(headers, self.peer.cookie(), None, self.is_secure());
        Ok(response)
    }

    /// Sets another password, or the first one. `session`: the client's, if it sent its CSRF token.
    pub(crate) async fn change_password(
        &self,
        body: &[u8],
        session: Option<&Token>,
    ) -> Result<Response<ResponseBody>, Rejection> {
        request_checks::is_json(&self.parts.headers)?;
        let asked: PasswordBody = parse(body)?;
        let password = PasswordChange {
            address: self.peer.address,
            local: self.is_local(),
            claim: asked.claim,
            old: asked.old,
            new: asked.new,
            session: session.cloned(),
            former: self.tokens(),
            device: self.device(),
        };
        let opened: NewSession = self.backend.request("/page/password", &password).await?;
        Ok(self.opened(opened))
    }

    /// Answers with the cookies of a new session.
    fn opened(&self, NewSession { token, device }: NewSession) -> Response<ResponseBody> {
        pool::logged_in();
        let text = token.text();
        let whose = ClientSession {
            token: Some(token),
            password_set: true,
        };
        let mut response = self.state(&whose);
        let (name, secure) = (self.peer.cookie(), self.is_secure());
        let headers = response.headers_mut();
        response::set_cookie(headers, name, Some(&text), secure);
        if let Some(device) = device {
            let name = self.peer.device_cookie();
            response::set_lasting_cookie(headers, name, &device.text(), secure);
        }
        response
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    // An error of serde may quote a piece of the body, and thus of a password.
    serde_json::from_slice(body).map_err(|_| {
        Problem::new(
            400,
            "malformed_body",
            "invalid request body",
            "send a JSON object with exactly the fields of this path",
        )
    })
}
