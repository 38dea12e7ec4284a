//! Log-in, log-out and the password, as the page asks for them; the daemon decides.

use api::Problem;
use api::server::Answer;
use hyper::http::request::Parts;
use hyper::{Response, Version};
use serde::{Deserialize, Serialize};

use crate::behind::Behind;
use crate::guard::{self, Peer};
use crate::host::Authority;
use crate::messages::{Login, Opened, Password, Tokens, Whose};
use crate::pool;
use crate::reply::{self, Refused};
use crate::token::Token;

/// What `GET /api/session` answers, and whatever changes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// Somebody is logged in here.
    pub user: bool,
    /// There is a password. Without one the page can do nothing but set one.
    pub password_set: bool,
    /// The session's token, for the header `X-Weir-Csrf`; empty where nobody is logged in.
    pub csrf: String,
    /// The client is on the router itself, or comes through `ssh -L`: it may set the first
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

/// A request that has passed the first questions.
pub(crate) struct Visit<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) peer: Peer,
    pub(crate) own: Authority,
    pub(crate) behind: &'a Behind,
}

impl Visit<'_> {
    /// Whether the client is on this machine. A proxy that says nothing of itself speaks HTTP/1.0,
    /// as nginx does unless told otherwise.
    fn is_local(&self) -> bool {
        self.parts.version >= Version::HTTP_11
            && guard::is_local(&self.parts.headers, &self.own, &self.peer)
    }

    /// What the client's cookies hold.
    fn tokens(&self) -> Vec<Token> {
        guard::tokens(&self.parts.headers, self.peer.cookie())
    }

    /// What the client's cookie of a device that logged in before holds.
    fn device(&self) -> Option<Token> {
        guard::tokens(&self.parts.headers, self.peer.device_cookie()).pop()
    }

    /// Whether the browser speaks TLS, with this server or with the proxy before it. Who claims
    /// that wrongly loses a cookie.
    fn is_secure(&self) -> bool {
        self.peer.tls
            || guard::only(
                &self.parts.headers,
                hyper::header::HeaderName::from_static("x-forwarded-proto"),
            ) == Some("https")
    }

    /// Who the client is, by its cookies.
    pub(crate) async fn whose(&self) -> Result<Whose, Refused> {
        let tokens = self.tokens();
        self.behind.told("/page/session", &Tokens { tokens }).await
    }

    pub(crate) fn state(&self, whose: &Whose) -> Response<Answer> {
        let token = whose.token.as_ref();
        reply::json(&SessionState {
            user: token.is_some(),
            password_set: whose.password_set,
            csrf: token.map(Token::csrf).unwrap_or_default(),
            local: self.is_local(),
        })
    }

    pub(crate) async fn login(&self, body: &[u8]) -> Result<Response<Answer>, Refused> {
        guard::is_json(&self.parts.headers)?;
        let asked: LoginBody = parse(body)?;
        let login = Login {
            address: self.peer.address,
            password: asked.password,
            former: self.tokens(),
            device: self.device(),
        };
        let opened: Opened = self.behind.told("/page/login", &login).await?;
        Ok(self.opened(opened))
    }

    pub(crate) async fn logout(&self) -> Result<Response<Answer>, Refused> {
        let tokens = self.tokens();
        let _: api::Nothing = self.behind.told("/page/logout", &Tokens { tokens }).await?;
        let mut response = self.state(&self.whose().await?);
        let headers = response.headers_mut();
        reply::set_cookie(headers, self.peer.cookie(), None, self.is_secure());
        Ok(response)
    }

    /// Sets another password, or the first one. `session`: the client's, where it said its token.
    pub(crate) async fn change_password(
        &self,
        body: &[u8],
        session: Option<&Token>,
    ) -> Result<Response<Answer>, Refused> {
        guard::is_json(&self.parts.headers)?;
        let asked: PasswordBody = parse(body)?;
        let password = Password {
            address: self.peer.address,
            local: self.is_local(),
            claim: asked.claim,
            old: asked.old,
            new: asked.new,
            session: session.cloned(),
            former: self.tokens(),
            device: self.device(),
        };
        let opened: Opened = self.behind.told("/page/password", &password).await?;
        Ok(self.opened(opened))
    }

    /// A session is the client's from now on.
    fn opened(&self, Opened { token, device }: Opened) -> Response<Answer> {
        pool::logged_in();
        let text = token.text();
        let whose = Whose {
            token: Some(token),
            password_set: true,
        };
        let mut response = self.state(&whose);
        let (name, secure) = (self.peer.cookie(), self.is_secure());
        let headers = response.headers_mut();
        reply::set_cookie(headers, name, Some(&text), secure);
        if let Some(device) = device {
            let name = self.peer.device_cookie();
            reply::set_lasting_cookie(headers, name, &device.text(), secure);
        }
        response
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    // What serde says of a body may hold a piece of it, and with that of a password.
    serde_json::from_slice(body).map_err(|_| {
        Problem::new(
            400,
            "malformed_body",
            "the request's body is not what is expected",
            "send a JSON object with the fields that the path takes, and no others",
        )
    })
}
