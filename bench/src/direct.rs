//! Weir's packet path without the daemon: loaded, told the flows, kept alive by a thread. The kernel's own packets prove.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use datapath::{Datapath, Hook, Options, Port, Sizes};
use lab::Lab;
use lab::topology::mac;

use crate::Error;
use crate::traffic::Kind;

type Answer = (u64, String);

/// A packet path attached to the router's ports.
pub struct Direct {
    questions: Option<Sender<Sender<Answer>>>,
    thread: Option<JoinHandle<()>>,
}

impl Direct {
    /// Attaches to `lan0` and `wan0` of `router` and makes the flows of `kind` known.
    pub fn start(lab: &Lab, kind: Kind, hook: Hook) -> Result<Self, Error> {
        let (lan, wan) = (lab.index("router", "lan0")?, lab.index("router", "wan0")?);
        let (questions, asked) = mpsc::channel();
        let (started, outcome) = mpsc::channel();
        let thread =
            lab.node("router")?
                .background(move || match attach(lan, wan, kind, hook) {
                    Ok(path) => {
                        let _ = started.send(Ok(()));
                        tend(path, kind.flows, &asked);
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                    }
                })?;
        outcome
            .recv()
            .map_err(|_| Error::Wrong("the packet path's thread ended".into()))??;
        let thread = std::thread::spawn(move || drop(thread.join()));
        Ok(Self {
            questions: Some(questions),
            thread: Some(thread),
        })
    }

    /// Packets that weir forwarded so far, and in words what it did not.
    pub fn forwarded(&self) -> Result<Answer, Error> {
        let gone = || Error::Wrong("the packet path's thread ended".into());
        let (reply, answer) = mpsc::channel();
        self.questions
            .as_ref()
            .ok_or_else(gone)?
            .send(reply)
            .map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.questions = None;
        self.thread.take().map(JoinHandle::join);
    }
}

fn attach(lan: u32, wan: u32, kind: Kind, hook: Hook) -> Result<Datapath, Error> {
    let mut path = Datapath::load(
        Sizes::new(kind.flows.max(1024), kind.flows.max(1024), &[lan, wan]),
        Options::default(),
    )?;
    for n in 0..kind.flows {
        let (original, reply) = kind.tuples(n);
        path.install(n, &original, &reply)?;
    }
    for (link, name) in [(lan, "lan0"), (wan, "wan0")] {
        path.attach(&Port::new(link, mac("router", name), true), name, hook)?;
    }
    path.arm()?;
    Ok(path)
}

/// Beats, keeps the narrow counters from wrapping, and answers.
fn tend(mut path: Datapath, flows: u32, asked: &Receiver<Sender<Answer>>) {
    loop {
        let question = asked.recv_timeout(Duration::from_millis(400));
        let _ = path.beat();
        let packets = (0..flows)
            .filter_map(|n| path.read(n))
            .map(|[original, _]| original.packets)
            .sum();
        match question {
            Ok(reply) => {
                let passed = path
                    .totals()
                    .map(|totals| totals.passed)
                    .unwrap_or_default();
                let words: Vec<_> = passed
                    .iter()
                    .map(|(reason, n)| format!("{} {n}", reason.code()))
                    .collect();
                let _ = reply.send((packets, words.join(", ")));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
