//! A web page's server in a thread of its own, with a clock that tests set, and raw clients.
#![allow(
    dead_code,
    reason = "each test program uses its part of the support module"
)]

pub mod filled;

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use answers::{CaptureQuery, Config, ConfigEntry, FlowFilter, Reloaded, Status};
use api::{AccessLevel, ApiRequest, Method, Route, Routes};
pub use testing::Directory;
use tokio::sync::oneshot;
use weir_web::channel::{self, ServerEnd};
use weir_web::password::{Cost, hash};
use weir_web::{
    Authenticator, Backend, Listeners, MetricsSource, PageServer, Settings, secret, serve,
};

/// Smallest valid hash cost.
pub const CHEAP: Cost = Cost {
    memory: 8,
    passes: 1,
};

pub const PASSWORD: &str = "correct horse";

/// Creates a file in a folder, with the password's hash.
pub fn password_in(folder: &Directory) -> PathBuf {
    let file = folder.path().join("password");
    secret::write(&file, &hash(PASSWORD, CHEAP).expect("hashed")).expect("written");
    file
}

/// Returns a single figure.
pub fn figures() -> MetricsSource {
    Box::new(|| ("text/plain; version=0.0.4", "weir_up 1\n".to_owned()))
}

/// Returns routes of a daemon that only counts reloads.
pub fn daemon() -> Routes {
    let reloads = Rc::new(Cell::new(0));
    let counted = Rc::clone(&reloads);
    let status = || {
        Ok(Status {
            version: "paper".into(),
            ..Status::default()
        })
    };
    let config = move || {
        let entry = ConfigEntry {
            key: "reloads".into(),
            value: counted.get().into(),
            origin: "default".into(),
        };
        Ok(Config {
            entries: vec![entry],
        })
    };
    let reload = move |_: ApiRequest| {
        reloads.set(reloads.get() + 1);
        Ok(Reloaded {
            changed: Vec::new(),
        })
    };
    let flows = |asked: ApiRequest<FlowFilter>| {
        Ok(asked.query.select(std::iter::empty()).answer(&[], |_| None))
    };
    let capture = |_: ApiRequest<CaptureQuery>| Ok("packets");
    Routes::new([
        Route::get("/v1/status", AccessLevel::User, move |()| status()),
        Route::get("/v1/config", AccessLevel::User, move |()| config()),
        Route::raw(Method::GET, "/v1/flows", AccessLevel::User, flows),
        Route::new(Method::POST, "/v1/reload", AccessLevel::User, reload),
        Route::new(Method::POST, "/v1/capture", AccessLevel::Root, capture),
    ])
}

/// The devices of the network: each has all addresses `fd00::NUMBER:…`.
fn neighbour(address: IpAddr) -> Option<[u8; 6]> {
    match address {
        IpAddr::V6(address) if address.segments()[0] == 0xfd00 => {
            let [high, low] = address.segments()[6].to_be_bytes();
            Some([2, 0, 0, 0, high, low])
        }
        _ => None,
    }
}

/// A running server; stops when dropped.
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    clock: Arc<AtomicU64>,
    pub address: SocketAddr,
    /// Code from the router's console for setting the first password.
    pub claim: Option<String>,
    pub directory: Directory,
}

impl Server {
    /// Starts a server with a password, on a port of its own.
    pub fn start() -> Self {
        let directory = Directory::new();
        password_in(&directory);
        Self::with(directory, |_| {})
    }

    /// Starts a server with other settings; the directory has no password.
    pub fn with(directory: Directory, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings {
            listen: vec!["127.0.0.1:0".parse().expect("an address")],
            password_file: directory.path().join("password"),
            ..Settings::default()
        };
        change(&mut settings);
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let clock = Arc::new(AtomicU64::new(1_000_000));
        let read = Arc::clone(&clock);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let clock = Rc::new(move || Duration::from_secs(read.load(Ordering::SeqCst)));
                let listeners = Listeners::bind(&settings).expect("an address");
                let address = listeners.addresses()[0];
                let front = settings.frontend();
                let warden = Authenticator::with_clock(settings, clock.clone())
                    .unwrap_or_else(|error| panic!("{error}; {}", error.hint()))
                    .with_metrics(figures())
                    .with_neighbours(Box::new(neighbour))
                    .with_cost(CHEAP);
                let warden = Rc::new(warden);
                let (ours, theirs) = channel::pair().expect("a pair of sockets");
                ours.send_opening(&front, &listeners.descriptors())
                    .expect("the pair holds it");
                drop(listeners);
                let claim = warden.claim();
                let routes = warden.routes(&daemon());
                let questions = ours
                    .into_requests(move |headers| warden.who(headers))
                    .expect("a socket");
                let daemon = api::serve(Rc::new(questions), &routes, api::Limits::default());

                let (theirs, front, sockets) =
                    ServerEnd::accept_opening(theirs).expect("what was said");
                let listeners = Listeners::from_sockets(sockets);
                let door = PageServer::with_clock(front, Backend::Remote(Rc::new(theirs)), clock);
                ready.send((address, claim)).expect("the test waits");
                tokio::select! {
                    ended = serve(listeners, Rc::new(door)) => panic!("it ended: {ended:?}"),
                    () = daemon => panic!("the daemon ended by itself"),
                    _ = stopped => {}
                }
            });
        });
        let (address, claim) = is_ready.recv().expect("the server starts");
        Self {
            stop: Some(stop),
            thread: Some(thread),
            clock,
            address,
            claim,
            directory,
        }
    }

    /// Advances the server's clock.
    pub fn wait(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server listens");
        // Keeps a broken server from hanging the test for ever; not a timing check.
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a time-out");
        stream
    }

    /// Sends bytes, and returns everything received until the server closes.
    pub fn exchange(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The server may have refused already and closed: its answer counts.
        let _ = stream.write_all(request);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Sends a request with a body and these header lines; `Host` is the server's, unless given.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if method == "POST" {
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        Answer::read(&self.exchange(format!("{text}\r\n{body}").as_bytes()))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub fn log_in(&self, password: &str) -> Answer {
        self.post_json(
            "/api/login",
            &[],
            &serde_json::json!({ "password": password }).to_string(),
        )
    }

    pub fn post_json(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend_from_slice(headers);
        self.ask("POST", path, &all, body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server panicked");
        }
    }
}

/// A parsed answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn read(octets: &[u8]) -> Self {
        let end = octets
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(octets)));
        let head = String::from_utf8(octets[..end].to_vec()).expect("a head is text");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("a status");
        Self {
            status,
            head,
            body: octets[end + 4..].to_vec(),
        }
    }

    /// Returns a header's values.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    }

    /// Returns a header's value; the header must occur once.
    pub fn header(&self, name: &str) -> &str {
        let all = self.all(name);
        assert_eq!(all.len(), 1, "{name} in {}", self.head);
        all[0]
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&self.body));
        })
    }

    pub fn error(&self) -> (u16, String) {
        (
            self.status,
            self.json()["error"].as_str().expect("a problem").to_owned(),
        )
    }

    /// Returns the session's `Set-Cookie` value.
    pub fn session(&self) -> &str {
        let session = |line: &&str| line.starts_with("weir=") || line.starts_with("__Host-weir=");
        let found: Vec<&str> = self.all("set-cookie").into_iter().filter(session).collect();
        assert_eq!(found.len(), 1, "{}", self.head);
        found[0]
    }

    /// Returns the session's cookie as a client sends it.
    pub fn cookie(&self) -> String {
        let value = self.session();
        value.split(';').next().expect("a cookie").to_owned()
    }

    pub fn csrf(&self) -> String {
        self.json()["csrf"].as_str().expect("a token").to_owned()
    }
}
