//! Log-in, log-out and the password, as the page asks for them; the daemon decides.

use api::Problem;
use api::server::Answer;
use hyper::Response;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::behind::Question;
use crate::door::{Door, Visit};
use crate::guard;
use crate::pool;
use crate::reply::{self, Refused};
use crate::token::Token;
use crate::warden::{Login, Opened, Password, Tokens, Whose};

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

impl Door {
    /// Who the client is, by its cookies.
    pub(crate) async fn whose(&self, visit: &Visit<'_>) -> Result<Whose, Refused> {
        let tokens = visit.tokens();
        self.told("/page/session", &Tokens { tokens }).await
    }

    pub(crate) fn state(&self, visit: &Visit<'_>, whose: &Whose) -> Response<Answer> {
        let token = whose.token.as_ref();
        reply::json(&SessionState {
            user: token.is_some(),
            password_set: whose.password_set,
            csrf: token.map(Token::csrf).unwrap_or_default(),
            local: visit.is_local(),
        })
    }

    pub(crate) async fn login(
        &self,
        visit: &Visit<'_>,
        body: &[u8],
    ) -> Result<Response<Answer>, Refused> {
        guard::is_json(&visit.parts.headers)?;
        let asked: LoginBody = parse(body)?;
        let login = Login {
            address: visit.peer.address,
            password: asked.password,
            former: visit.tokens(),
            device: visit.device(),
        };
        let opened: Opened = self.told("/page/login", &login).await?;
        Ok(self.opened(visit, opened))
    }

    pub(crate) async fn logout(&self, visit: &Visit<'_>) -> Result<Response<Answer>, Refused> {
        let tokens = visit.tokens();
        let _: api::Nothing = self.told("/page/logout", &Tokens { tokens }).await?;
        let mut response = self.state(visit, &self.whose(visit).await?);
        let headers = response.headers_mut();
        reply::set_cookie(headers, visit.peer.cookie(), None, visit.is_secure());
        Ok(response)
    }

    /// Sets another password, or the first one. `session`: the client's, where it said its token.
    pub(crate) async fn change_password(
        &self,
        visit: &Visit<'_>,
        body: &[u8],
        session: Option<&Token>,
    ) -> Result<Response<Answer>, Refused> {
        guard::is_json(&visit.parts.headers)?;
        let asked: PasswordBody = parse(body)?;
        let password = Password {
            address: visit.peer.address,
            local: visit.is_local(),
            claim: asked.claim,
            old: asked.old,
            new: asked.new,
            session: session.cloned(),
            former: visit.tokens(),
            device: visit.device(),
        };
        let opened: Opened = self.told("/page/password", &password).await?;
        Ok(self.opened(visit, opened))
    }

    /// A session is the client's from now on.
    fn opened(&self, visit: &Visit<'_>, Opened { token, device }: Opened) -> Response<Answer> {
        pool::logged_in();
        let text = token.text();
        let whose = Whose {
            token: Some(token),
            password_set: true,
        };
        let mut response = self.state(visit, &whose);
        let (name, secure) = (visit.peer.cookie(), visit.is_secure());
        let headers = response.headers_mut();
        reply::set_cookie(headers, name, Some(&text), secure);
        if let Some(device) = device {
            let name = visit.peer.device_cookie();
            reply::set_lasting_cookie(headers, name, &device.text(), secure);
        }
        response
    }

    /// What the daemon tells; else its answer, which is the client's.
    pub(crate) async fn told<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Refused> {
        let answer = self.passed(path, body).await?;
        match answer.status().is_success() {
            true => Ok(reply::told(answer).await?),
            false => Err(Refused::Told(answer)),
        }
    }

    /// What the daemon answers, as it is.
    pub(crate) async fn passed(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response<Answer>, Refused> {
        let body = serde_json::to_vec(body).unwrap_or_default().into();
        let question = Question {
            body,
            ..Question::new("POST", path)
        };
        Ok(self.behind.ask(question).await)
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
