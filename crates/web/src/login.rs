//! Log-in, log-out, and the password.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use api::Problem;
use api::server::Answer;
use hyper::Response;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::WebError;
use crate::door::{Door, Visit};
use crate::guard;
use crate::password;
use crate::reply::{self, Refused};
use crate::secret::{SecretError, Stamp};
use crate::token::Token;

/// Log-ins that may wait for the one that is being tried.
const QUEUE: usize = 4;

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
}

impl Door {
    pub(crate) fn state(
        &self,
        visit: &Visit<'_>,
        token: Option<&Token>,
    ) -> Result<Response<Answer>, Refused> {
        Ok(reply::json(&SessionState {
            user: token.is_some(),
            // One that cannot be read is one all the same: it must not be possible to set another
            // instead.
            password_set: Stamp::at(&self.settings.password_file).is_some(),
            csrf: token.map(Token::csrf).unwrap_or_default(),
            local: visit.is_local(),
        }))
    }

    pub(crate) async fn login(
        &self,
        visit: &Visit<'_>,
        body: &[u8],
    ) -> Result<Response<Answer>, Refused> {
        guard::is_json(&visit.parts.headers)?;
        let asked: LoginBody = parse(body)?;
        let Some((hash, stamp)) = self.password()? else {
            return Err(Problem::new(
                409,
                "no_password",
                "no password is set yet",
                "set one on the router: `weir passwd`, or this page through `ssh -L`",
            )
            .into());
        };
        self.take_try(visit)?;
        self.try_password(visit, asked.password, hash).await?;
        if Stamp::at(&self.settings.password_file) != Some(stamp) {
            return Err(Problem::new(
                409,
                "password_changed",
                "the password was changed at this moment",
                "log in again",
            )
            .into());
        }
        info!(peer = %visit.peer.address, "somebody logged in to the web page");
        self.open(visit)
    }

    pub(crate) fn logout(&self, visit: &Visit<'_>) -> Result<Response<Answer>, Refused> {
        self.close(visit);
        let mut response = self.state(visit, None)?;
        let headers = response.headers_mut();
        reply::set_cookie(headers, visit.peer.cookie(), None, visit.is_secure());
        Ok(response)
    }

    /// Sets another password, or the first one. `allowed` tells whether the client has a session,
    /// and its token.
    pub(crate) async fn change_password(
        &self,
        visit: &Visit<'_>,
        body: &[u8],
        allowed: Result<(), Problem>,
    ) -> Result<Response<Answer>, Refused> {
        let file = &self.settings.password_file;
        let current = self.password()?;
        match (&current, visit.is_local()) {
            (Some(_), _) => allowed?,
            (None, true) => {}
            (None, false) => {
                return Err(Problem::new(
                    403,
                    "not_local",
                    "the first password can be set on the router itself only",
                    "run `weir passwd` there, or open the page through `ssh -L` as localhost",
                )
                .into());
            }
        }
        guard::is_json(&visit.parts.headers)?;
        let asked: PasswordBody = parse(body)?;
        password::check(&asked.new).map_err(|weakness| {
            Problem::new(
                422,
                "weak_password",
                weakness.to_string(),
                "take a longer one: some words that nobody would put together",
            )
        })?;
        let before = current.as_ref().map(|(_, stamp)| *stamp);
        self.take_try(visit)?;
        match current {
            Some((hash, _)) => {
                let old = asked.old.unwrap_or_default();
                self.try_password(visit, old, hash).await?;
            }
            None => self.logins.borrow_mut().give_back(visit.peer.address),
        }
        let cost = self.cost;
        let hash = self
            .beside(move || password::hash(&asked.new, cost))
            .await?
            .map_err(random)?;
        // Nothing waits from here to the end of writing, so that two who set the first one cannot
        // both do it.
        if Stamp::at(file) != before {
            return Err(Problem::new(
                409,
                "password_changed",
                "the password was changed at this moment",
                "log in with that one",
            )
            .into());
        }
        password::write(file, &hash).map_err(|error| {
            warn!(%error, "the web page's password cannot be written");
            let hint = "run `weir passwd` as root on the router";
            Problem::new(
                500,
                "not_written",
                "the password's file cannot be written",
                hint,
            )
        })?;
        self.stamp.set(Stamp::at(file));
        self.sessions.borrow_mut().close_all();
        info!(peer = %visit.peer.address, "the web page's password was set");
        self.open(visit)
    }

    /// Opens a session under a token that nobody has seen before, and ends the one that the client
    /// had.
    fn open(&self, visit: &Visit<'_>) -> Result<Response<Answer>, Refused> {
        let token = Token::random().map_err(random)?;
        self.close(visit);
        let now = (self.clock)();
        self.sessions.borrow_mut().open(token.id(), now);
        let mut response = self.state(visit, Some(&token))?;
        let (name, secure) = (visit.peer.cookie(), visit.is_secure());
        reply::set_cookie(response.headers_mut(), name, Some(&token.text()), secure);
        Ok(response)
    }

    fn close(&self, visit: &Visit<'_>) {
        let mut sessions = self.sessions.borrow_mut();
        for token in guard::tokens(&visit.parts.headers, visit.peer.cookie()) {
            sessions.close(&token.id());
        }
    }

    fn password(&self) -> Result<Option<(String, Stamp)>, Refused> {
        password::read(&self.settings.password_file).map_err(unusable)
    }

    fn take_try(&self, visit: &Visit<'_>) -> Result<(), Refused> {
        let taken = self.logins.borrow_mut().take(visit.peer.address, visit.now);
        taken.map_err(|wait| Refused {
            problem: Problem::new(
                429,
                "too_many_tries",
                "too many passwords were tried",
                format!("wait {} seconds", wait.as_secs() + 1),
            ),
            after: Some(wait),
        })
    }

    /// Refuses a password that is not the one. A try must have been taken.
    async fn try_password(
        &self,
        visit: &Visit<'_>,
        password: String,
        hash: String,
    ) -> Result<(), Refused> {
        let result = self
            .beside(move || password::verify(&password, &hash))
            .await?;
        match result {
            Ok(true) => {
                self.logins.borrow_mut().give_back(visit.peer.address);
                Ok(())
            }
            Ok(false) => {
                warn!(peer = %visit.peer.address, "a wrong password for the web page");
                Err(Problem::new(
                    401,
                    "wrong_password",
                    "this is not the password",
                    "try again; `weir passwd` on the router sets another",
                )
                .into())
            }
            Err(error) => {
                let hint = "run `weir passwd` on the router";
                Err(Problem::new(500, "no_password", error.to_string(), hint).into())
            }
        }
    }

    /// Does what takes long on a thread of its own, one at a time: the event loop, and with it the
    /// packet path's heartbeat, goes on. A client that goes away meanwhile does not make room for a
    /// second one.
    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let busy = || Refused {
            problem: Problem::new(
                503,
                "busy",
                "others are logging in at the moment",
                "try again in some seconds",
            ),
            after: Some(Duration::from_secs(2)),
        };
        if self.waiting.get() > QUEUE {
            return Err(busy());
        }
        let _place = Place::take(&self.waiting);
        let turn = Arc::clone(&self.trying)
            .acquire_owned()
            .await
            .map_err(|_| busy())?;
        tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        })
        .await
        .map_err(|_| busy())
    }
}

/// A place in the queue, given back however the request ends.
struct Place<'a>(&'a Cell<usize>);

impl<'a> Place<'a> {
    fn take(waiting: &'a Cell<usize>) -> Self {
        waiting.set(waiting.get() + 1);
        Self(waiting)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
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

fn unusable(error: SecretError) -> Refused {
    warn!(%error, hint = error.hint(), "the web page's password cannot be used");
    Problem::new(
        500,
        "no_password",
        "the password's file cannot be used",
        format!("on the router: {}", error.hint()),
    )
    .into()
}

fn random(error: WebError) -> Refused {
    Problem::new(500, "internal", error.to_string(), error.hint()).into()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::mpsc;

    use tokio::task::LocalSet;

    use super::*;
    use crate::{Behind, Settings};

    /// Works that last until they are told to end: one is done at a time, four wait, and the next
    /// is sent away.
    #[test]
    fn the_queue_is_short() {
        let settings = Settings {
            password_file: "/nonexistent/weir/password".into(),
            ..Settings::default()
        };
        let door = Rc::new(Door::new(settings, Behind::default()).expect("a door"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let (begun, begins) = mpsc::channel();
        let mut ends = Vec::new();
        LocalSet::new().block_on(&runtime, async {
            let mut works = Vec::new();
            for number in 0..5 {
                let (end, ended) = mpsc::channel::<()>();
                ends.push(end);
                let (door, begun) = (Rc::clone(&door), begun.clone());
                works.push(tokio::task::spawn_local(async move {
                    let work = move || {
                        begun.send(number).expect("the test waits");
                        let _ = ended.recv();
                    };
                    door.beside(work).await.is_ok()
                }));
                tokio::task::yield_now().await;
            }
            assert_eq!(begins.recv(), Ok(0));
            let Err(refused) = door.beside(|| ()).await else {
                panic!("there is no room");
            };
            assert_eq!(
                (refused.problem.status, refused.after.is_some()),
                (503, true)
            );
            assert!(begins.try_recv().is_err(), "one at a time");
            drop(ends);
            for work in works {
                assert!(work.await.expect("no panic"));
            }
            assert!(door.beside(|| ()).await.is_ok(), "there is room again");
        });
        assert_eq!(begins.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}
