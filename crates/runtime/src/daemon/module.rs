//! Interface between the daemon and a module.
//!
//! The daemon makes a module by its [`Begin`] or [`Early`] with all rights, asks for its
//! [routes](Module::routes) and [privileges](Module::privileges), drops all others, and sends
//! [`Event::Started`]. Then the module receives [events](Module::on_event), those of the kernel
//! *before* the packet path acts upon them, and may control the [`Router`]. All modules share a
//! thread: no method may wait. Longer work is the module's [`work`](Module::work), or a thread.

use std::cell::{RefCell, RefMut};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Instant;

use answers::Status;
use api::metrics::Exposition;
use api::{Route, Routes};
use caps::Capability;
use datapath::Options;
use kernel::Link;

use super::conditions::Finding;
use super::event::Event;
use super::router::{Listener, Router};
use crate::Error;
use crate::config::Effective;

/// Work of a module alongside the event loop, polled at each iteration of the loop.
pub type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Creates a module, with all rights. A module logs the parts that it cannot create, and runs
/// without them.
///
/// # Errors
/// Weir must not run without the module.
pub type Begin = fn(&Setup<'_>, &mut Router) -> Result<Rc<dyn Module>, Error>;

/// As [`Begin`], but before the packet path is loaded, which takes the kernel seconds: for a module
/// whose [thread](super::CompanionThread) does not need the packet path.
///
/// # Errors
/// Weir must not run without the module.
pub type Early = fn(&Setup<'_>) -> Result<Rc<dyn Module>, Error>;

/// Contribution of a module to the daemon.
#[derive(Clone, Copy)]
pub struct Part {
    /// Name of the module.
    pub name: &'static str,
    /// Tables of nftables that the module owns.
    pub tables: &'static [&'static str],
    /// States the module's requirements for the packet path, before it is loaded.
    pub prepare: fn(&Effective, &mut Options),
    /// Creates the module; `None`: the daemon itself or another module does its work, or it does
    /// not run.
    pub begin: Option<Begin>,
    /// Creates the module early, instead of `begin`.
    pub early: Option<Early>,
}

/// Resources available when a module is made.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The configuration.
    pub effective: &'a Effective,
    /// The API's socket. A module has its own files in the same directory.
    pub socket: &'a Path,
    /// The configuration's file.
    pub config: &'a Path,
    /// True if `--only` includes the module. An excluded module may still clean up.
    pub wanted: bool,
    /// Existing devices, by index.
    pub links: &'a [u32],
    /// Devices with all attributes that the kernel reports; empty if it reports none. A running
    /// daemon reports the devices again: this list is for a module that begins at once.
    pub devices: &'a [Link],
}

/// Privileges that a module keeps when the daemon drops all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privileges {
    /// Files that it reads.
    pub read: Vec<PathBuf>,
    /// Directories in which it writes.
    pub write: Vec<PathBuf>,
    /// Paths that root obeys, or replaces: the directories of these paths are never writable.
    pub sealed: Vec<PathBuf>,
    /// Character devices that it opens and steers.
    pub devices: Vec<PathBuf>,
    /// Programs that it starts, besides those of the system.
    pub programs: Vec<PathBuf>,
    /// Capabilities that the daemon would not keep otherwise, if it has them.
    pub capabilities: Vec<Capability>,
}

/// A module's part of the daemon's status.
#[derive(Default)]
pub struct Report {
    /// Status and problems, as the API shows them.
    pub status: Status,
    /// Conditions that the module sees now. The daemon asks every second.
    pub findings: Vec<Finding>,
}

/// The daemon, as seen by the routes of a module.
pub trait ApiContext {
    /// Lends the router.
    fn router(&self) -> RefMut<'_, Router>;

    /// Returns all routes of the API, once they are registered.
    fn routes(&self) -> Option<&Routes>;

    /// Returns all metrics, for Prometheus.
    fn metrics(&self) -> String;
}

/// A capability of weir. Each method has a default: a module implements those that it needs.
pub trait Module {
    /// Prepares all that needs the rights of root, and returns the rights to keep.
    fn privileges(&self) -> Privileges {
        Privileges::default()
    }

    /// Returns the routes that the module handles. Called before [`Module::privileges`].
    fn routes(self: Rc<Self>, _face: &Rc<dyn ApiContext>) -> Vec<Route> {
        Vec::new()
    }

    /// Returns the module's work alongside the event loop.
    fn work(self: Rc<Self>) -> Option<Work> {
        None
    }

    /// Applies a configuration after a reload.
    fn configure(&self, _effective: &Effective, _router: &mut Router) {}

    /// Receives an event.
    fn on_event(&self, _event: Event<'_>, _router: &mut Router) {}

    /// Returns the time of the next [poll](Module::poll), if the module needs one.
    fn poll_at(&self) -> Option<Instant> {
        None
    }

    /// Handles the module's timers when due.
    fn poll(&self, _now: Instant, _router: &mut Router) {}

    /// Adds status, problems and conditions.
    fn status(&self, _router: &mut Router, _report: &mut Report) {}

    /// Adds samples of the module's metrics.
    fn metrics(&self, _router: &mut Router, _text: &mut Exposition) {}

    /// Removes the module's state from the kernel. The daemon waits for the returned work.
    fn stop(&self, _router: &mut Router) -> Option<Work> {
        None
    }
}

/// All modules, in the order of their creation.
#[derive(Clone)]
pub struct Modules(Rc<[Rc<dyn Module>]>);

impl Modules {
    /// Creates the list of modules.
    pub fn new(all: Vec<Rc<dyn Module>>) -> Self {
        Self(all.into())
    }

    /// Iterates over the modules in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<dyn Module>> {
        self.0.iter()
    }

    /// Returns the privileges of all modules.
    pub fn privileges(&self) -> Privileges {
        let mut all = Privileges::default();
        for privileges in self.iter().map(|module| module.privileges()) {
            // Fields are listed explicitly, so that none is forgotten.
            let Privileges {
                read,
                write,
                sealed,
                devices,
                programs,
                capabilities,
            } = privileges;
            all.read.extend(read);
            all.write.extend(write);
            all.sealed.extend(sealed);
            all.devices.extend(devices);
            all.programs.extend(programs);
            all.capabilities.extend(capabilities);
        }
        all
    }

    /// Returns the earliest time at which a module needs a poll.
    pub fn poll_at(&self) -> Option<Instant> {
        self.iter().filter_map(|module| module.poll_at()).min()
    }

    /// Polls the modules that are due.
    pub fn poll(&self, router: &mut Router) {
        let now = Instant::now();
        let due = |module: &&Rc<dyn Module>| module.poll_at().is_some_and(|at| at <= now);
        self.iter()
            .filter(due)
            .for_each(|module| module.poll(now, router));
    }

    /// Runs the work of all modules alongside the event loop, forever.
    pub fn work(&self) -> impl Future<Output = ()> + use<> {
        let all = self.iter().cloned().filter_map(|module| module.work());
        let mut all: Vec<Work> = all.collect();
        std::future::poll_fn(move |context| {
            all.retain_mut(|work| work.as_mut().poll(context).is_pending());
            std::task::Poll::Pending
        })
    }

    /// Removes the modules' state from the kernel, in reverse order of creation.
    pub async fn stop(&self, router: &RefCell<Router>) {
        for module in self.0.iter().rev() {
            let rest = module.stop(&mut router.borrow_mut());
            if let Some(rest) = rest {
                rest.await;
            }
        }
    }
}

impl Listener for Modules {
    fn on_event(&self, event: Event<'_>, router: &mut Router) {
        for module in self.iter() {
            module.on_event(event, router);
        }
    }
}
