//! Login, logout and the password, in the daemon.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use api::Problem;
use tracing::{info, warn};

use super::queue::Queue;
use crate::WebError;
use crate::claim::Claim;
use crate::clock::Clock;
use crate::known_devices::{DeviceId, KnownDevices};
use crate::messages::{
    ClientSession, Device, LoginRequest, NewSession, PasswordChange, SessionTokens,
};
use crate::password::{self, Cost};
use crate::response;
use crate::secret::{FileStamp, SecretError};
use crate::sessions::Sessions;
use crate::throttle::{Client, KeyedThrottle, LOGIN_ALL, LOGIN_EACH, LOGIN_NETWORK, Throttle};
use crate::token::Token;

/// Returns the hardware address for an address at a port of the router.
pub type Neighbours = Box<dyn Fn(IpAddr) -> Option<[u8; 6]>>;

/// Returns true if a client has a connection to the page.
pub type Peers = Box<dyn Fn(IpAddr) -> bool>;

/// Shortest time between checks for a changed password file.
const LOOK: Duration = Duration::from_secs(1);

/// Client that tries a password.
#[derive(Clone, Copy)]
struct LoginClient {
    address: IpAddr,
    /// Number of the device, if it logged in before.
    known: Option<DeviceId>,
}

/// The password, the sessions, and the tries of clients that log in.
pub(super) struct Logins {
    /// The password's file.
    file: PathBuf,
    pub(super) cost: Cost,
    clock: Clock,
    sessions: RefCell<Sessions>,
    unknown: RefCell<Throttle>,
    /// Tries of devices that logged in before.
    known: RefCell<KeyedThrottle<DeviceId>>,
    devices: KnownDevices,
    pub(super) neighbours: Option<Neighbours>,
    pub(super) peers: Option<Peers>,
    /// State of the password's file when sessions were last opened, and the time of the last check.
    stamp: Cell<Option<FileStamp>>,
    /// Code that allows setting the first password from another host.
    claim: RefCell<Claim>,
    looked: Cell<Duration>,
    queue: Queue,
}

impl Logins {
    /// Starts without sessions, of which it allows `most` at once.
    pub(super) fn new(file: PathBuf, most: usize, clock: Clock) -> Result<Self, WebError> {
        Ok(Self {
            cost: Cost::default(),
            sessions: RefCell::new(Sessions::new(most)),
            unknown: RefCell::new(
                Throttle::new(LOGIN_EACH, LOGIN_ALL).with_networks(LOGIN_NETWORK),
            ),
            known: RefCell::new(KeyedThrottle::new(LOGIN_EACH)),
            devices: KnownDevices::with_key_next_to(&file),
            neighbours: None,
            peers: None,
            claim: RefCell::new(Claim::random()?),
            stamp: Cell::new(FileStamp::at(&file)),
            looked: Cell::new(clock()),
            queue: Queue::new(),
            clock,
            file,
        })
    }

    /// Returns the code for setting the first password. `None`: there is a password.
    pub(super) fn claim(&self) -> Option<String> {
        let fresh = FileStamp::at(&self.file).is_none();
        fresh.then(|| self.claim.borrow().shown())
    }

    pub(super) fn session(&self, asked: SessionTokens) -> ClientSession {
        let mut tokens = asked.tokens.into_iter();
        ClientSession {
            token: tokens.find(|token| self.is_open(token)),
            // An unreadable password still counts as set: no client may set another one instead.
            password_set: FileStamp::at(&self.file).is_some(),
        }
    }

    pub(super) fn is_open(&self, token: &Token) -> bool {
        let now = (self.clock)();
        self.check_file(now);
        self.sessions.borrow_mut().touch(&token.id(), now)
    }

    /// Ends all sessions if the password was changed or removed, by `weir passwd` or by hand.
    fn check_file(&self, now: Duration) {
        if now.saturating_sub(self.looked.get()) < LOOK {
            return;
        }
        self.looked.set(now);
        self.know(FileStamp::at(&self.file));
    }

    /// Stores the state of the password's file; if the file is another one, all sessions end.
    fn know(&self, stamp: Option<FileStamp>) {
        if stamp != self.stamp.replace(stamp) {
            self.sessions.borrow_mut().close_all();
        }
    }

    pub(super) fn close(&self, tokens: &[Token]) {
        let mut sessions = self.sessions.borrow_mut();
        for token in tokens {
            sessions.close(&token.id());
        }
    }

    pub(super) async fn log_in(&self, asked: LoginRequest) -> Result<NewSession, Problem> {
        let Some((hash, stamp)) = self.password()? else {
            let hint = "set one on the router: `weir passwd`, or this page through `ssh -L`";
            return Err(Problem::new(
                409,
                "no_password",
                "no password is set yet",
                hint,
            ));
        };
        self.is_there(asked.address)?;
        let trier = self.trier(asked.address, asked.device.as_ref());
        self.take_try(trier)?;
        self.try_password(trier, asked.password, hash).await?;
        if FileStamp::at(&self.file) != Some(stamp) {
            return Err(changed("log in again"));
        }
        // Sessions of a former password end before the new session begins.
        self.know(Some(stamp));
        info!(peer = %asked.address, "a client logged in to the web page");
        self.open(&asked.former, trier)
    }

    /// Sets another password, or the first one.
    pub(super) async fn change_password(
        &self,
        asked: PasswordChange,
    ) -> Result<NewSession, Problem> {
        let file = &self.file;
        let current = self.password()?;
        self.is_there(asked.address)?;
        let trier = self.trier(asked.address, asked.device.as_ref());
        let local = asked.local && asked.address.to_canonical().is_loopback();
        match (&current, local) {
            (None, false) if asked.claim.is_some() => {
                self.take_try(trier)?;
                let typed = asked.claim.as_deref().unwrap_or_default();
                if !self.claim.borrow().is(typed) {
                    warn!(peer = %asked.address, "wrong code for the first password");
                    let hint = "`weir passwd --claim` on the router's console shows the code";
                    return Err(Problem::new(403, "wrong_claim", "wrong code", hint));
                }
                self.give_back(trier);
            }
            (Some(_), _) => {
                let session = asked.session.as_ref();
                if !session.is_some_and(|token| self.is_open(token)) {
                    return Err(response::not_logged_in());
                }
            }
            (None, true) => {}
            (None, false) => {
                return Err(Problem::new(
                    403,
                    "not_local",
                    "setting the first password requires access to the router's console",
                    "type the code that `weir passwd --claim` shows there; or run `weir passwd` \
                     there, or open the page through `ssh -L` as localhost",
                ));
            }
        }
        password::check(&asked.new).map_err(|weakness| {
            Problem::new(
                422,
                "weak_password",
                weakness.to_string(),
                "use a longer one: several unrelated words",
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
            .queue
            .run(true, move || password::hash(&new, cost))
            .await?
            .map_err(random)?;
        // No await from here to the end of writing, so that two clients cannot both set the first
        // password.
        if FileStamp::at(file) != before {
            return Err(changed("log in with that password"));
        }
        password::write(file, &hash).map_err(|error| {
            warn!(%error, "cannot write the web page's password");
            let detail = "cannot write the password's file";
            Problem::new(
                500,
                "not_written",
                detail,
                "run `weir passwd` as root on the router",
            )
        })?;
        // If the password is removed later, the used code is not valid again.
        if let Ok(claim) = Claim::random() {
            self.claim.replace(claim);
        }
        self.stamp.set(FileStamp::at(file));
        self.sessions.borrow_mut().close_all();
        info!(peer = %asked.address, "the web page's password was set");
        self.open(&asked.former, trier)
    }

    /// Opens a session under a fresh token, and ends the client's former sessions.
    fn open(&self, former: &[Token], trier: LoginClient) -> Result<NewSession, Problem> {
        let token = Token::random().map_err(random)?;
        self.close(former);
        let now = (self.clock)();
        self.sessions.borrow_mut().open(token.id(), now);
        let device = match trier.known {
            Some(_) => None,
            None => Some(self.devices.new_one().map_err(random)?),
        };
        Ok(NewSession { token, device })
    }

    fn password(&self) -> Result<Option<(String, FileStamp)>, Problem> {
        password::read(&self.file).map_err(unusable)
    }

    fn trier(&self, address: IpAddr, cookie: Option<&Token>) -> LoginClient {
        let known = cookie.and_then(|cookie| self.devices.known(cookie));
        LoginClient { address, known }
    }

    /// Returns the client by its hardware address at a port of the router, whatever addresses it
    /// has.
    fn client(&self, address: IpAddr) -> Client {
        self.device(address).or(address)
    }

    pub(super) fn device(&self, address: IpAddr) -> Device {
        let neighbours = self.neighbours.as_ref().filter(|_| !address.is_loopback());
        let mac = neighbours.and_then(|neighbours| neighbours(address.to_canonical()));
        Device { mac }
    }

    /// Refuses a client without a connection: the page's process invented it.
    fn is_there(&self, address: IpAddr) -> Result<(), Problem> {
        let peers = self.peers.as_ref();
        if peers.is_none_or(|peers| peers(address.to_canonical())) {
            return Ok(());
        }
        warn!(peer = %address, "log-in attempt for a client that is not connected");
        let detail = "no client with this address is connected";
        Err(Problem::new(
            403,
            "no_client",
            detail,
            "stay connected until the answer arrives",
        ))
    }

    fn give_back(&self, trier: LoginClient) {
        match trier.known {
            Some(id) => self.known.borrow_mut().refund(id),
            None => self.unknown.borrow_mut().refund(self.client(trier.address)),
        }
    }

    /// Takes a try; a device that logged in before has its own.
    fn take_try(&self, trier: LoginClient) -> Result<(), Problem> {
        let now = (self.clock)();
        let taken = match trier.known {
            Some(id) => self.known.borrow_mut().take(id, now),
            None => self
                .unknown
                .borrow_mut()
                .take(self.client(trier.address), now),
        };
        taken.map_err(|wait| {
            let hint = format!("wait {} seconds", wait.as_secs() + 1);
            Problem::new(429, "too_many_tries", "too many log-in attempts", hint)
                .with_retry_after(wait)
        })
    }

    /// Checks a password. The caller must have taken a try.
    async fn try_password(
        &self,
        trier: LoginClient,
        password: String,
        hash: String,
    ) -> Result<(), Problem> {
        let result = self
            .queue
            .run(trier.known.is_some(), move || {
                password::verify(&password, &hash)
            })
            .await?;
        match result {
            Ok(true) => {
                self.give_back(trier);
                Ok(())
            }
            Ok(false) => {
                warn!(peer = %trier.address, "wrong password for the web page");
                let hint = "try again, or set another password with `weir passwd` on the router";
                Err(Problem::new(401, "wrong_password", "wrong password", hint))
            }
            Err(error) => {
                let hint = "run `weir passwd` on the router";
                Err(Problem::new(500, "no_password", error.to_string(), hint))
            }
        }
    }
}

fn changed(hint: &str) -> Problem {
    let detail = "the password was changed during the log-in";
    Problem::new(409, "password_changed", detail, hint)
}

fn unusable(error: SecretError) -> Problem {
    warn!(%error, hint = error.hint(), "cannot use the web page's password");
    let hint = format!("on the router: {}", error.hint());
    Problem::new(500, "no_password", "cannot use the password's file", hint)
}

fn random(error: WebError) -> Problem {
    Problem::new(500, "internal", error.to_string(), error.hint())
}
