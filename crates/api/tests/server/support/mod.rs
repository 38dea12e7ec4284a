//! A fake daemon: invented flows, served from a thread of its own.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

use answers::{
    Config, ConfigChange, ConfigEntry, Conversations, ConversationsQuery, Devices, Direction,
    Directions, Endpoints, Explanation, Flow, FlowFilter, FlowId, FlowQuery, FlowState, History,
    HistoryQuery, Hook, Hop, Port, Protocol, Reason, Reloaded, Selection, Status, Translation,
    TtlRange,
};
pub use testing::Directory;
use tokio::sync::oneshot;
use weir_api::{
    AccessLevel, ApiRequest, Body, Limits, Listener, Method, Problem, ResponseFuture, Route,
    Routes, serve,
};

/// State of the fake daemon.
pub struct Paper {
    pub flows: u64,
    reloads: Cell<u64>,
}

pub fn flow(number: u64) -> Flow {
    let host = u32::try_from(number).expect("a test has fewer flows");
    let original = Endpoints {
        source: std::net::Ipv4Addr::from(0x0a00_0000 + host).into(),
        source_port: 40000,
        destination: "198.51.100.1".parse().expect("an address"),
        destination_port: 443,
    };
    let way = Direction {
        packets: number,
        bytes: number * 1000,
        proven: true,
        encapsulation_in: None,
        port_in: Some("lan0".into()),
        port_out: Some("wan0".into()),
        hop: Some(1),
        hook: Some(Hook::Xdp),
        ttl: Some(TtlRange {
            lowest: 64,
            highest: 64,
        }),
        longest: Some(1500),
    };
    Flow {
        id: FlowId(number),
        protocol: if number.is_multiple_of(2) {
            Protocol::Tcp
        } else {
            Protocol::Udp
        },
        original,
        reply: Endpoints {
            source: original.destination,
            source_port: 443,
            destination: original.source,
            destination_port: 40000,
        },
        translated: Translation::default(),
        state: FlowState::Forwarded,
        reason: Some(Reason {
            code: "length".into(),
            text: "Longer than proven.".into(),
            hint: None,
        }),
        directions: Directions {
            original: way,
            reply: Direction::default(),
        },
        mark: 0,
        zone: 0,
        age_seconds: number,
    }
}

impl Paper {
    fn status(&self) -> Status {
        Status {
            version: "paper".into(),
            ..Status::default()
        }
    }
    fn select(&self, filter: &FlowFilter) -> Selection {
        filter.select((0..self.flows).map(flow))
    }
    fn flow(&self, id: FlowId) -> Option<Flow> {
        // Every flow whose number ends in 7 ends while it is listed.
        (id.0 % 10 != 7).then(|| flow(id.0))
    }
    fn explain(&self, asked: &FlowQuery) -> Result<Explanation, Problem> {
        Ok(Explanation {
            asked: asked.to_string(),
            verdict: "The kernel forwards it.".into(),
            witnesses: Vec::new(),
            change: Vec::new(),
            flow: None,
        })
    }
    fn config(&self) -> Config {
        let entry = ConfigEntry {
            key: "reloads".into(),
            value: self.reloads.get().into(),
            origin: "default".into(),
        };
        Config {
            entries: vec![entry],
        }
    }
    fn reload(&self) -> Result<Reloaded, Problem> {
        let before = self.reloads.replace(self.reloads.get() + 1);
        if before == 0 {
            let change = ConfigChange {
                key: "reloads".into(),
                from: 0.into(),
                to: 1.into(),
                after_restart: false,
            };
            return Ok(Reloaded {
                changed: vec![change],
            });
        }
        let mut problem = Problem::new(422, "configuration", "the file has errors", "correct it");
        problem.errors.push("weir.toml:1:1: no".into());
        Err(problem)
    }
}

/// Content of a body.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Named {
    pub name: String,
}

impl Body for Named {
    const EXPECTED: &'static str = "a JSON object with `name`";
}

impl Paper {
    fn routes(self) -> Routes {
        let paper = Rc::new(self);
        let paper = || Rc::clone(&paper);
        let (status, listed, explains, shows, reloads) =
            (paper(), paper(), paper(), paper(), paper());
        Routes::new([
            Route::get("/v1/status", AccessLevel::User, move |()| {
                Ok(status.status())
            }),
            Route::raw(
                Method::GET,
                "/v1/flows",
                AccessLevel::User,
                move |asked: ApiRequest<FlowFilter>| {
                    let selection = listed.select(&asked.query);
                    let paper = Rc::clone(&listed);
                    Ok(selection.answer(&[], move |id| paper.flow(id)))
                },
            ),
            Route::get("/v1/hops", AccessLevel::User, |()| Ok(Vec::<Hop>::new())),
            Route::get("/v1/ports", AccessLevel::User, |()| Ok(Vec::<Port>::new())),
            Route::get("/v1/devices", AccessLevel::User, |()| {
                Err::<Devices, _>(answers::monitor::is_off())
            }),
            Route::get(
                "/v1/conversations",
                AccessLevel::User,
                |_: ConversationsQuery| Err::<Conversations, _>(answers::monitor::is_off()),
            ),
            Route::new_async(
                Method::GET,
                "/v1/history",
                AccessLevel::User,
                |_: ApiRequest<HistoryQuery>| {
                    let answer: ResponseFuture<History> =
                        Box::pin(async { Err(answers::monitor::is_off()) });
                    answer
                },
            ),
            Route::get("/v1/explain", AccessLevel::User, move |asked: FlowQuery| {
                explains.explain(&asked)
            }),
            Route::new(
                Method::PUT,
                "/v1/names/{number}",
                AccessLevel::Root,
                |asked: ApiRequest<(), Named>| Ok((asked.path_params, asked.body)),
            ),
            Route::get(
                "/v1/config",
                AccessLevel::User,
                move |()| Ok(shows.config()),
            ),
            Route::new(
                Method::POST,
                "/v1/reload",
                AccessLevel::User,
                move |_: ApiRequest| reloads.reload(),
            ),
        ])
    }
}

/// A running server; stops when dropped.
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    socket: PathBuf,
    pub directory: Directory,
}

impl Server {
    pub fn start(flows: u64, limits: Limits) -> Self {
        let directory = Directory::new();
        let socket = directory.path().join("weir.sock");
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let path = socket.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let listener = Listener::bind(&path).expect("a socket");
                ready.send(()).expect("the test waits");
                let routes = Paper { flows, reloads: Cell::new(0) }.routes();
                tokio::select! {
                    () = serve(std::rc::Rc::new(listener), &routes, limits) => panic!("the server ended by itself"),
                    _ = stopped => {}
                }
            });
        });
        is_ready.recv().expect("the server starts");
        Self {
            stop: Some(stop),
            thread: Some(thread),
            socket,
            directory,
        }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).expect("the server listens");
        // Keeps a broken server from hanging the test for ever; not a timing check.
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a time-out");
        stream
    }

    /// Sends bytes, and returns everything received until the server closes.
    pub fn exchange(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may have refused already and closed: its answer counts.
        let _ = stream.write_all(request);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).expect("HTTP and JSON are text")
    }

    pub fn request(&self, method: &str, target: &str) -> String {
        self.exchange(
            format!("{method} {target} HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        )
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
        assert!(
            !self.socket.exists() || std::thread::panicking(),
            "the socket file is removed"
        );
    }
}

/// Returns the JSON body of an answer with a length.
pub fn body(answer: &str) -> serde_json::Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    serde_json::from_str(body).expect("JSON")
}
