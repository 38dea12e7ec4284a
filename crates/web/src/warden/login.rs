//! Log-in, log-out and the password, where the password is.

use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use api::{Body, Problem};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::{Device, Warden};
use crate::WebError;
use crate::claim::Claim;
use crate::devices::DeviceId;
use crate::password;
use crate::secret::{SecretError, Stamp};
use crate::throttle::Client;
use crate::token::Token;

/// Log-ins that may wait for the one that is being tried: of strangers, and of devices that logged in
/// before.
const QUEUE: usize = 4;

/// Somebody wants in.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// From where.
    pub(crate) address: IpAddr,
    pub(crate) password: String,
    /// Whose sessions end where another begins.
    pub(crate) former: Vec<Token>,
    /// The cookie of a device that logged in before.
    pub(crate) device: Option<Token>,
}

impl Body for Login {
    const EXPECTED: &'static str =
        "a JSON object with `address`, `password`, `former` and `device`";
}

/// Somebody sets a password.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Password {
    /// From where.
    pub(crate) address: IpAddr,
    /// From this machine: the first password may be set.
    pub(crate) local: bool,
    /// The code that only the router's console tells: as good as local.
    pub(crate) claim: Option<String>,
    pub(crate) old: Option<String>,
    pub(crate) new: String,
    /// The session in which that is asked for. With `former`: those that end.
    pub(crate) session: Option<Token>,
    pub(crate) former: Vec<Token>,
    /// As for a [`Login`].
    pub(crate) device: Option<Token>,
}

impl Body for Password {
    const EXPECTED: &'static str = "a JSON object with `address`, `local`, `claim`, `old`, `new`, \
        `session`, `former` and `device`";
}

/// A session that was opened.
#[derive(Serialize, Deserialize)]
pub(crate) struct Opened {
    pub(crate) token: Token,
    /// The cookie of this device; `None`: it has one.
    pub(crate) device: Option<Token>,
}

/// Who tries a password.
#[derive(Clone, Copy)]
struct Trier {
    address: IpAddr,
    /// It logged in before.
    known: Option<DeviceId>,
}

impl Warden {
    pub(super) async fn log_in(&self, asked: Login) -> Result<Opened, Problem> {
        let Some((hash, stamp)) = self.password()? else {
            return Err(Problem::new(
                409,
                "no_password",
                "no password is set yet",
                "set one on the router: `weir passwd`, or this page through `ssh -L`",
            ));
        };
        self.is_there(asked.address)?;
        let trier = self.trier(asked.address, asked.device.as_ref());
        self.take_try(trier)?;
        self.try_password(trier, asked.password, hash).await?;
        if Stamp::at(&self.settings.password_file) != Some(stamp) {
            return Err(Problem::new(
                409,
                "password_changed",
                "the password was changed at this moment",
                "log in again",
            ));
        }
        // Sessions of a former password end before this one begins, and not with it.
        self.know(Some(stamp));
        info!(peer = %asked.address, "somebody logged in to the web page");
        self.open(&asked.former, trier)
    }

    /// Sets another password, or the first one.
    pub(super) async fn change_password(&self, asked: Password) -> Result<Opened, Problem> {
        let file = &self.settings.password_file;
        let current = self.password()?;
        self.is_there(asked.address)?;
        let trier = self.trier(asked.address, asked.device.as_ref());
        let local = asked.local && asked.address.to_canonical().is_loopback();
        match (&current, local) {
            (None, false) if asked.claim.is_some() => {
                self.take_try(trier)?;
                let typed = asked.claim.as_deref().unwrap_or_default();
                if !self.claim.borrow().is(typed) {
                    warn!(peer = %asked.address, "a wrong code for the first password");
                    return Err(Problem::new(
                        403,
                        "wrong_claim",
                        "that is not the code",
                        "`weir passwd --claim` on the router's console tells it",
                    ));
                }
                self.give_back(trier);
            }
            (Some(_), _) => {
                let session = asked.session.as_ref();
                if !session.is_some_and(|token| self.is_open(token)) {
                    return Err(crate::door::log_in());
                }
            }
            (None, true) => {}
            (None, false) => {
                return Err(Problem::new(
                    403,
                    "not_local",
                    "whoever sets the first password has to have the router's console",
                    "type the code that `weir passwd --claim` tells there; or run `weir passwd` \
                     there, or open the page through `ssh -L` as localhost",
                ));
            }
        }
        password::check(&asked.new).map_err(|weakness| {
            Problem::new(
                422,
                "weak_password",
                weakness.to_string(),
                "take a longer one: some words that nobody would put together",
            )
        })?;
        let before = current.as_ref().map(|(_, stamp)| *stamp);
        self.take_try(trier)?;
        match current {
            Some((hash, _)) => {
                let old = asked.old.unwrap_or_default();
                self.try_password(trier, old, hash).await?;
            }
            None => self.give_back(trier),
        }
        let cost = self.cost;
        let new = asked.new;
        let hash = self
            .beside(true, move || password::hash(&new, cost))
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
            ));
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
        // Should it be taken away again, what opened the router once does not do so twice.
        if let Ok(claim) = Claim::random() {
            self.claim.replace(claim);
        }
        self.stamp.set(Stamp::at(file));
        self.sessions.borrow_mut().close_all();
        info!(peer = %asked.address, "the web page's password was set");
        self.open(&asked.former, trier)
    }

    /// Opens a session under a token that nobody has seen before, and ends those that the client
    /// had.
    fn open(&self, former: &[Token], trier: Trier) -> Result<Opened, Problem> {
        let token = Token::random().map_err(random)?;
        self.close(former);
        let now = (self.clock)();
        self.sessions.borrow_mut().open(token.id(), now);
        let device = match trier.known {
            Some(_) => None,
            None => Some(self.devices.new_one().map_err(random)?),
        };
        Ok(Opened { token, device })
    }

    fn password(&self) -> Result<Option<(String, Stamp)>, Problem> {
        password::read(&self.settings.password_file).map_err(unusable)
    }

    fn trier(&self, address: IpAddr, cookie: Option<&Token>) -> Trier {
        let known = cookie.and_then(|cookie| self.devices.known(cookie));
        Trier { address, known }
    }

    /// The hardware address of who is at a port of the router, so that it is one whatever addresses
    /// it has.
    fn client(&self, address: IpAddr) -> Client {
        self.device(address).or(address)
    }

    pub(super) fn device(&self, address: IpAddr) -> Device {
        let neighbours = self.neighbours.as_ref().filter(|_| !address.is_loopback());
        let mac = neighbours.and_then(|neighbours| neighbours(address.to_canonical()));
        Device { mac }
    }

    /// Refuses a client that has no connection: the page's process made it up.
    fn is_there(&self, address: IpAddr) -> Result<(), Problem> {
        let peers = self.peers.as_ref();
        if peers.is_none_or(|peers| peers(address.to_canonical())) {
            return Ok(());
        }
        warn!(peer = %address, "a password of a client that is not connected");
        Err(Problem::new(
            403,
            "no_client",
            "no client with this address is connected",
            "stay connected until the answer comes",
        ))
    }

    fn give_back(&self, trier: Trier) {
        match trier.known {
            Some(id) => self.known.borrow_mut().give_back(id),
            None => self
                .logins
                .borrow_mut()
                .give_back(self.client(trier.address)),
        }
    }

    /// A device that logged in before has tries of its own.
    fn take_try(&self, trier: Trier) -> Result<(), Problem> {
        let now = (self.clock)();
        let taken = match trier.known {
            Some(id) => self.known.borrow_mut().take(id, now),
            None => self
                .logins
                .borrow_mut()
                .take(self.client(trier.address), now),
        };
        taken.map_err(|wait| {
            Problem::new(
                429,
                "too_many_tries",
                "too many passwords were tried",
                format!("wait {} seconds", wait.as_secs() + 1),
            )
            .again_after(wait)
        })
    }

    /// Refuses a password that is not the one. A try must have been taken.
    async fn try_password(
        &self,
        trier: Trier,
        password: String,
        hash: String,
    ) -> Result<(), Problem> {
        let result = self
            .beside(trier.known.is_some(), move || {
                password::verify(&password, &hash)
            })
            .await?;
        match result {
            Ok(true) => {
                self.give_back(trier);
                Ok(())
            }
            Ok(false) => {
                warn!(peer = %trier.address, "a wrong password for the web page");
                Err(Problem::new(
                    401,
                    "wrong_password",
                    "this is not the password",
                    "try again; `weir passwd` on the router sets another",
                ))
            }
            Err(error) => {
                let hint = "run `weir passwd` on the router";
                Err(Problem::new(500, "no_password", error.to_string(), hint))
            }
        }
    }

    /// Does what takes long on a thread of its own, one at a time: the event loop, and with it the
    /// packet path's heartbeat, goes on. A client that goes away meanwhile does not make room for a
    /// second one. `known`: for a device that logged in before.
    async fn beside<T: Send + 'static>(
        &self,
        known: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let busy = || {
            Problem::new(
                503,
                "busy",
                "others are logging in at the moment",
                "try again in some seconds",
            )
            .again_after(Duration::from_secs(2))
        };
        let waiting = &self.waiting[usize::from(known)];
        if waiting.get() > QUEUE {
            return Err(busy());
        }
        let _place = Place::take(waiting);
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

fn unusable(error: SecretError) -> Problem {
    warn!(%error, hint = error.hint(), "the web page's password cannot be used");
    Problem::new(
        500,
        "no_password",
        "the password's file cannot be used",
        format!("on the router: {}", error.hint()),
    )
}

fn random(error: WebError) -> Problem {
    Problem::new(500, "internal", error.to_string(), error.hint())
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::mpsc;

    use tokio::task::LocalSet;

    use super::*;
    use crate::Settings;

    /// Works that last until they are told to end: one is done at a time, four wait, and the next
    /// is sent away.
    #[test]
    fn the_queue_is_short() {
        let settings = Settings {
            password_file: "/nonexistent/weir/password".into(),
            ..Settings::default()
        };
        let warden = Rc::new(Warden::new(settings).expect("a warden"));
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
                let (warden, begun) = (Rc::clone(&warden), begun.clone());
                works.push(tokio::task::spawn_local(async move {
                    let work = move || {
                        begun.send(number).expect("the test waits");
                        let _ = ended.recv();
                    };
                    warden.beside(false, work).await.is_ok()
                }));
                tokio::task::yield_now().await;
            }
            assert_eq!(begins.recv(), Ok(0));
            let Err(refused) = warden.beside(false, || ()).await else {
                panic!("there is no room");
            };
            assert_eq!((refused.status, refused.after.is_some()), (503, true));
            assert!(begins.try_recv().is_err(), "one at a time");
            drop(ends);
            for work in works {
                assert!(work.await.expect("no panic"));
            }
            assert!(
                warden.beside(false, || ()).await.is_ok(),
                "there is room again"
            );
        });
        assert_eq!(begins.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}
