//! Radios: transmit power that follows throughput, and access points that are each other's peers.

mod backoff;
mod check;
mod command;
pub mod config;
pub mod metrics;
pub mod peering;
mod power;
mod show;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use answers::RadioLogQuery;
use api::metrics::Exposition;
use api::{AccessLevel, Route};

use config::Mode;
use peering::Peering;
use power::{PowerControl, PriorStore, Restorer};
use runtime::Error;
use runtime::daemon::{
    ApiContext, Event, Finding, Module, Privileges, Report, Router, Setup, Value, Work,
};
use runtime::registry::{Command, Group, ModuleEntry};

/// Radios.
pub const ENTRY: ModuleEntry = ModuleEntry {
    choice: Some("Transmit power control; peering access points"),
    sections: &config::SECTIONS,
    commands: || {
        vec![
            Command::printing(Group::See, "radio", command::run),
            Command::printing(Group::Internal, power::COMMAND, command::way_back),
        ]
    },
    check: check::check,
    early: Some(begin),
    ..ModuleEntry::named("radio")
};

/// The running module.
struct Running {
    mode: Mode,
    powers: Option<RefCell<PowerControl>>,
    /// Devices that came or changed since the last second.
    changed: RefCell<BTreeSet<u32>>,
    peering: Option<Peering>,
}

/// Creates the module: no power is changed yet, but the search for peers begins. Until new peers
/// are found, peers from before the restart lose their path through this node.
///
/// # Errors
/// The secret of peers cannot be read or is invalid; or the node's key cannot be read or created;
/// or no thread can be started.
pub fn begin(setup: &Setup<'_>) -> Result<Rc<dyn Module>, Error> {
    let config = setup.effective.of::<config::Power>();
    let mode = match setup.wanted {
        true => *config.mode,
        false => Mode::Off,
    };
    let back = || match mode {
        Mode::Control => Restorer::start(),
        Mode::Off | Mode::Watch => Restorer::none(),
    };
    // A module that only watches learns nothing.
    let learned = match mode {
        Mode::Control => config.learned(),
        Mode::Off | Mode::Watch => None,
    };
    let powers = (mode != Mode::Off).then(|| {
        RefCell::new(PowerControl::new(
            config,
            back(),
            PriorStore::open(learned.as_deref()),
        ))
    });
    let changed = RefCell::new(setup.links.iter().copied().collect());
    let config = setup.effective.of::<peering::config::Peering>();
    let device = config.device.as_ref().filter(|_| setup.wanted);
    let peering = match device {
        Some(device) => Some(Peering::begin(&device.0, config)?),
        None => None,
    };
    Ok(Rc::new(Running {
        mode,
        powers,
        changed,
        peering,
    }))
}

impl Running {
    fn shown(&self) -> answers::Radios {
        let radios = self
            .powers
            .as_ref()
            .map(|powers| show::all(&powers.borrow()));
        answers::Radios {
            mode: self.mode.word().to_owned(),
            radios: radios.unwrap_or_default(),
        }
    }

    fn log(&self, asked: &RadioLogQuery) -> answers::RadioLog {
        let logs = self
            .powers
            .as_ref()
            .map(|powers| show::logs(&powers.borrow(), asked));
        answers::RadioLog {
            logs: logs.unwrap_or_default(),
        }
    }
}

impl Module for Running {
    fn privileges(&self) -> Privileges {
        let mut privileges = Privileges::default();
        if let Some(powers) = &self.powers {
            privileges.write.extend(powers.borrow().folder());
        }
        privileges
    }

    fn routes(self: Rc<Self>, _: &Rc<dyn ApiContext>) -> Vec<Route> {
        let (log, peers) = (Rc::clone(&self), Rc::clone(&self));
        let peers = move |()| {
            let shown = peers.peering.as_ref().map(Peering::shown);
            Ok(shown.unwrap_or_default())
        };
        vec![
            Route::get("/v1/radio", AccessLevel::User, move |()| Ok(self.shown())),
            Route::get(
                "/v1/radio/log",
                AccessLevel::User,
                move |asked: RadioLogQuery| Ok(log.log(&asked)),
            ),
            Route::get("/v1/radio/peers", AccessLevel::User, peers),
        ]
    }

    /// Adds new devices: a device may become an access point later, and the kernel reports it then.
    fn on_event(&self, event: Event<'_>, router: &mut Router) {
        let Some(powers) = &self.powers else { return };
        match event {
            Event::Kernel(kernel::Event::Link(link)) => {
                self.changed.borrow_mut().insert(link.index);
            }
            Event::Second => {
                let changed = std::mem::take(&mut *self.changed.borrow_mut());
                for link in router.core.links() {
                    if link.up && changed.contains(&link.index) {
                        powers.borrow_mut().begin(link.index, &link.name);
                    }
                }
            }
            _ => {}
        }
    }

    fn metrics(&self, _: &mut Router, text: &mut Exposition) {
        metrics::write(text, &self.shown().radios);
        if let Some(peering) = &self.peering {
            let told = peering.shown();
            metrics::write_peers(text, &told);
            metrics::write_count(text, &told);
        }
    }

    fn status(&self, _: &mut Router, report: &mut Report) {
        if self.powers.is_some() || self.peering.is_some() {
            report.status.modules.push("radio".to_owned());
        }
        let powers = self.powers.as_ref();
        let file = powers.and_then(|powers| powers.borrow().unwritten());
        report.findings.extend(file.map(|file| {
            let finding = Finding::new("unwritten", "radio", "radio").of(&file);
            finding.with("file", Value::Text(file))
        }));
    }

    fn stop(&self, _: &mut Router) -> Option<Work> {
        if let Some(powers) = &self.powers {
            powers.borrow_mut().stop();
        }
        self.peering.as_ref()?.stop()
    }
}
