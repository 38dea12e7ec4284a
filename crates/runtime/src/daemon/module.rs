//! The seam: what the daemon asks of a module, and when.
//!
//! A module is made by its [`Begin`] or [`Early`] while weir still has all rights, says what it
//! [`needs`](Module::needs) and what can be [asked](Module::routes) of it, and
//! [starts](Module::start) once rights are dropped. From then on it hears what happens in the
//! kernel *before* the packet path acts upon it, and may look at, and steer, what the [`Router`]
//! holds. Everything runs in one thread: nothing here may wait. What takes longer is its own
//! [`work`](Module::work), or a thread.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Instant;

use answers::{Explanation, FlowQuery, Status};
use api::metrics::Text;
use api::{Route, Routes};
use caps::Capability;
use datapath::Options;
use kernel::{Event, Link, SetEvent, Source};

use super::conditions::Finding;
use super::face::Face;
use super::router::{Forwarded, Router};
use super::ruleset::RulesetText;
use crate::Error;
use crate::config::Effective;

/// What a module does by itself, beside the loop. It is looked at whenever the loop goes round.
pub type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Makes a module, with all rights. What it cannot be made with it says in the log, and does
/// without.
///
/// # Errors
/// Weir must not run without it.
pub type Begin = fn(&Setup<'_>, &mut Router) -> Result<Rc<dyn Module>, Error>;

/// The same before the packet path is loaded, which takes the kernel seconds: for a module with a
/// [thread](super::Beside) that does not need that.
///
/// # Errors
/// Weir must not run without it.
pub type Early = fn(&Setup<'_>) -> Result<Rc<dyn Module>, Error>;

/// What a module brings to the daemon.
#[derive(Clone, Copy)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Says what it wants of the packet path, before that is loaded.
    pub prepare: fn(&Effective, &mut Options),
    /// Makes it; `None`: the daemon itself has it, or another module, or it does not run.
    pub begin: Option<Begin>,
    /// Makes it early, in place of `begin`.
    pub early: Option<Early>,
}

/// What there is when a module is made.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The configuration.
    pub effective: &'a Effective,
    /// The API's socket, beside which a module has its own files.
    pub socket: &'a Path,
    /// The configuration's file.
    pub config: &'a Path,
    /// Whether `--only` leaves it in. One that is left out may still clean up.
    pub wanted: bool,
    /// Devices there are, by index.
    pub links: &'a [u32],
    /// The same with all that the kernel tells of them; none where it does not. They are told of
    /// again when weir runs: this is for who begins at once.
    pub devices: &'a [Link],
}

/// What a module comes back to after rights were dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Files that it reads.
    pub read: Vec<PathBuf>,
    /// Directories in which it writes.
    pub write: Vec<PathBuf>,
    /// Paths that root obeys, or puts in place: no directory that holds one of these is written in.
    pub sealed: Vec<PathBuf>,
    /// Character devices that it opens and steers.
    pub devices: Vec<PathBuf>,
    /// Programs that it starts, besides those of the system.
    pub programs: Vec<PathBuf>,
    /// Capabilities that the daemon would not keep otherwise, if it has them.
    pub capabilities: Vec<Capability>,
}

/// One thing that weir does. All has a default: a module says what concerns it.
pub trait Module {
    /// What it comes back to after rights were dropped.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// What can be asked of it, row by row.
    fn routes(self: Rc<Self>, _face: &Rc<Face>) -> Vec<Route> {
        Vec::new()
    }

    /// All that can be asked of weir. The last thing that comes before rights are dropped.
    fn serve(&self, _face: &Rc<Face>, _routes: &Routes) {}

    /// Rights are dropped: threads that begin now have no more of them.
    fn start(&self, _effective: &Effective, _router: &mut Router) {}

    /// What it does beside the loop.
    fn work(self: Rc<Self>) -> Option<Work> {
        None
    }

    /// The configuration was read anew.
    fn configure(&self, _effective: &Effective, _router: &mut Router) {}

    /// Something happened in the kernel; the packet path does not know it yet.
    fn heard(&self, _event: &Event, _router: &mut Router) {}

    /// Something happened to sets of addresses, or to rules.
    fn sets_changed(&self, _events: &[SetEvent], _router: &mut Router) {}

    /// All that some events said is known, and the proofs have ended that they end.
    fn settled(&self, _router: &mut Router) {}

    /// Everything is asked for again.
    fn asked(&self, _source: Source) {}

    /// The ruleset begins to be read.
    fn ruleset_reading(&self) {}

    /// The ruleset was read, or could not be.
    fn ruleset_read(&self, _read: Result<&RulesetText, &str>, _router: &mut Router) {}

    /// So much was forwarded since this was last told.
    fn forwarded(&self, _all: &[Forwarded<'_>], _core: &offload_core::Core) {}

    /// What was forwarded in this second is told, all of it.
    fn counted(&self, _router: &mut Router) {}

    /// Somebody asks, or what packets are counted by is about to change: what was counted so far is
    /// to be read.
    fn count(&self) {}

    /// Time goes by: four times a second.
    fn tick(&self, _router: &mut Router) {}

    /// A second went by. What was forwarded in it is told after this.
    fn second(&self, _router: &mut Router) {}

    /// When it wants a [`turn`](Module::turn), if it does.
    fn turn_at(&self) -> Option<Instant> {
        None
    }

    /// The time has come.
    fn turn(&self, _router: &mut Router) {}

    /// Adds how it is doing.
    fn status(&self, _router: &mut Router, _status: &mut Status) {}

    /// Adds conditions that it sees now: every second.
    fn conditions(&self, _router: &mut Router, _findings: &mut Vec<Finding>) {}

    /// Adds what it measures.
    fn metrics(&self, _router: &mut Router, _text: &mut Text) {}

    /// What it has to say of packets that belong to no flow the packet path knows.
    fn explain(&self, _asked: &FlowQuery, _router: &mut Router) -> Option<Explanation> {
        None
    }

    /// The end: takes away what it put into the kernel. What comes back is waited for.
    fn stop(&self, _router: &mut Router) -> Option<Work> {
        None
    }
}

/// All modules, in the order in which they were made.
#[derive(Clone, Default)]
pub struct Modules(Rc<[Rc<dyn Module>]>);

impl Modules {
    /// These.
    pub fn new(all: Vec<Rc<dyn Module>>) -> Self {
        Self(all.into())
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<dyn Module>> {
        self.0.iter()
    }

    /// What all of them need.
    pub fn needs(&self) -> Needs {
        let mut all = Needs::default();
        for needs in self.iter().map(|module| module.needs()) {
            // Each of them, so that none is forgotten.
            let Needs {
                read,
                write,
                sealed,
                devices,
                programs,
                capabilities,
            } = needs;
            all.read.extend(read);
            all.write.extend(write);
            all.sealed.extend(sealed);
            all.devices.extend(devices);
            all.programs.extend(programs);
            all.capabilities.extend(capabilities);
        }
        all
    }

    /// The next time at which one of them wants a turn.
    pub fn turn_at(&self) -> Option<Instant> {
        self.iter().filter_map(|module| module.turn_at()).min()
    }

    /// Gives a turn to those whose time has come.
    pub fn turn(&self, router: &mut Router) {
        let now = Instant::now();
        let due = |module: &&Rc<dyn Module>| module.turn_at().is_some_and(|at| at <= now);
        self.iter()
            .filter(due)
            .for_each(|module| module.turn(router));
    }

    /// What they do beside the loop, all of it; for ever.
    pub fn work(&self) -> impl Future<Output = ()> + use<> {
        let all = self.iter().cloned().filter_map(|module| module.work());
        let mut all: Vec<Work> = all.collect();
        std::future::poll_fn(move |context| {
            all.retain_mut(|work| work.as_mut().poll(context).is_pending());
            std::task::Poll::Pending
        })
    }

    /// Takes away what they put into the kernel, the last first.
    pub async fn stop(&self, router: &RefCell<Router>) {
        for module in self.0.iter().rev() {
            let rest = module.stop(&mut router.borrow_mut());
            if let Some(rest) = rest {
                rest.await;
            }
        }
    }
}
