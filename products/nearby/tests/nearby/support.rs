//! Runs the command against a simulated daemon: hosts have no Bluetooth, and a test with an adapter
//! could not control what it receives.

pub mod village;

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use api::{
    AccessLevel, ApiRequest, Body, Limits, Listener, Method, Problem, Response, ResponseFuture,
    Route, Routes, StreamSender,
};
use serde_json::{Value, json};
pub use testing::{Directory, Ran, golden, ran, tmux};
use tokio::sync::mpsc;

/// Returns the command, with an empty environment.
pub fn nearby(arguments: &[&str]) -> Command {
    testing::command(env!("CARGO_BIN_EXE_weir-nearby"), arguments)
}

pub fn run(arguments: &[&str]) -> Ran {
    ran(nearby(arguments).output().expect("the command runs"))
}

/// A message, as the daemon receives it.
#[derive(serde::Deserialize)]
struct Say {
    to: String,
    text: String,
}

impl Body for Say {
    const EXPECTED: &'static str = "\"to\" and \"text\"";
}

#[derive(Default)]
struct Inner {
    feeds: Vec<StreamSender>,
    peers: Vec<Value>,
    past: Vec<Value>,
    sent: u64,
    said: Arc<Mutex<Vec<[String; 2]>>>,
}

impl Inner {
    fn tell(&mut self, said: &Value) {
        let line = format!("{said}\n");
        for feed in &mut self.feeds {
            feed.offer(line.as_bytes());
        }
    }

    fn say(&mut self, say: &Say) -> Result<Value, Problem> {
        let near = |id: &str| self.peers.iter().any(|it| it["id"] == id);
        let one = (say.to != "all").then_some(&say.to);
        if one.is_some_and(|id| !near(id)) {
            let detail = format!("{} is not near", say.to);
            return Err(Problem::new(404, "not_near", detail, String::new()));
        }
        let count = if one.is_some() { 1 } else { self.peers.len() };
        self.sent += 1;
        let said = [say.to.clone(), say.text.clone()];
        self.said.lock().expect("no panic").push(said);
        let own = json!({"event": "own", "number": self.sent, "sender": OWN, "text": say.text,
            "time": 1_000 + self.sent, "to": count, "peer": one});
        self.tell(&own);
        Ok(json!({"peers": count}))
    }
}

/// Id of the daemon.
pub const OWN: &str = "c0ffee0000000001";

enum Order {
    Tell(Value),
    Peers(Vec<Value>),
    Stop,
}

/// Stands in for `weir-nearby run`: hosts have no Bluetooth. It ends when dropped.
pub struct Daemon {
    orders: mpsc::UnboundedSender<Order>,
    thread: Option<JoinHandle<()>>,
    said: Arc<Mutex<Vec<[String; 2]>>>,
}

impl Daemon {
    /// Starts a daemon at a socket, with this history.
    pub fn start(socket: &Path, past: Vec<Value>) -> Self {
        let (orders, mut ordered) = mpsc::unbounded_channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let path = socket.to_owned();
        let all = Arc::<Mutex<Vec<[String; 2]>>>::default();
        let said = all.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            let inner = Rc::new(RefCell::new(Inner {
                past,
                said,
                ..Inner::default()
            }));
            runtime.block_on(async {
                let listener = Listener::bind(&path).expect("a socket");
                ready.send(()).expect("the test waits");
                let routes = routes(&inner);
                let orders = async {
                    while let Some(order) = ordered.recv().await {
                        match order {
                            Order::Tell(said) => inner.borrow_mut().tell(&said),
                            Order::Peers(peers) => inner.borrow_mut().peers = peers,
                            Order::Stop => return,
                        }
                    }
                };
                tokio::select! {
                    () = api::serve(Rc::new(listener), &routes, Limits::default()) => {}
                    () = orders => {}
                }
            });
        });
        is_ready.recv().expect("the daemon starts");
        Self {
            orders,
            thread: Some(thread),
            said: all,
        }
    }

    /// Sends an event.
    pub fn tell(&self, said: Value) {
        let _ = self.orders.send(Order::Tell(said));
    }

    /// Delivers a message from a sender.
    pub fn hears(&self, sender: &str, time: u64, text: &str) {
        self.tell(
            json!({"event": "message", "peer": sender, "format": "v2", "sender": sender,
            "text": text, "time": time}),
        );
    }

    /// Returns the messages to send, each with its recipient.
    pub fn said(&self) -> Vec<[String; 2]> {
        self.said.lock().expect("no panic").clone()
    }

    /// Sets the peers nearby.
    pub fn peers(&self, all: &[(&str, i16)]) {
        let peer = |(id, signal): &(&str, i16)| {
            json!({"id": id, "address": "00:00:5E:00:53:01", "formats": ["v1", "v2"],
                "linked": [], "signal": signal, "last_seen": 0, "waiting": 0})
        };
        let _ = self
            .orders
            .send(Order::Peers(all.iter().map(peer).collect()));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn routes(inner: &Rc<RefCell<Inner>>) -> Routes {
    let [peers, past, say, listen] = [(); 4].map(|()| inner.clone());
    Routes::new([
        Route::get("/v1/peers", AccessLevel::Root, move |()| {
            Ok(json!({"peers": peers.borrow().peers}))
        }),
        Route::get("/v1/past", AccessLevel::Root, move |()| {
            Ok(json!({"messages": past.borrow().past}))
        }),
        Route::new(
            Method::POST,
            "/v1/messages",
            AccessLevel::Root,
            move |asked: ApiRequest<(), Say>| say.borrow_mut().say(&asked.body),
        ),
        Route::raw_async(
            Method::GET,
            "/v1/messages",
            AccessLevel::Root,
            move |_: ApiRequest| {
                let (feed, drain) = api::feed(1 << 20);
                listen.borrow_mut().feeds.push(feed);
                let answer =
                    api::server::stream_response("application/x-ndjson", drain, "weir-end");
                let answer: ResponseFuture<Response<_>> = Box::pin(std::future::ready(Ok(answer)));
                answer
            },
        ),
    ])
}
