//! Radios: transmit power that follows throughput.

mod check;
mod command;
pub mod config;
pub mod metrics;
mod power;
mod show;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use answers::Status;
use api::metrics::Text;
use api::{Route, Who};
use kernel::Event;

use crate::Error;
use crate::daemon::{Face, Module, Router, Setup, Work};
use crate::registry::{Command, Entry};
use config::Mode;
use power::{Powers, WayBack};

/// Radios.
pub const ENTRY: Entry = Entry {
    choice: Some("Transmit power that follows throughput"),
    sections: &config::SECTIONS,
    commands: || {
        vec![
            Command::printing("radio", command::run),
            Command::printing(power::COMMAND, command::way_back),
        ]
    },
    check: check::check,
    begin: Some(begin),
    ..Entry::named("radio")
};

/// It, as the daemon has it.
struct Running {
    mode: Mode,
    powers: Option<RefCell<Powers>>,
    /// Devices that came or changed since the last second.
    changed: RefCell<BTreeSet<u32>>,
}

/// Makes it: no power is changed yet.
///
/// # Errors
/// None.
pub fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let config = setup.effective.of::<config::Power>();
    let mode = match setup.wanted {
        true => *config.mode,
        false => Mode::Off,
    };
    let back = || match mode {
        Mode::Control => WayBack::start(),
        Mode::Off | Mode::Watch => WayBack::none(),
    };
    let powers = (mode != Mode::Off).then(|| RefCell::new(Powers::new(config, back())));
    let changed = RefCell::new(setup.links.iter().copied().collect());
    Ok(Rc::new(Running {
        mode,
        powers,
        changed,
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

    fn log(&self) -> answers::RadioLog {
        let logs = self
            .powers
            .as_ref()
            .map(|powers| show::logs(&powers.borrow()));
        answers::RadioLog {
            logs: logs.unwrap_or_default(),
        }
    }
}

impl Module for Running {
    fn routes(self: Rc<Self>, _: &Rc<Face>) -> Vec<Route> {
        let log = Rc::clone(&self);
        vec![
            Route::get("/v1/radio", Who::User, move |()| Ok(self.shown())),
            Route::get("/v1/radio/log", Who::User, move |()| Ok(log.log())),
        ]
    }

    fn heard(&self, event: &Event, _: &mut Router) {
        if let Event::Link(link) = event
            && self.powers.is_some()
        {
            self.changed.borrow_mut().insert(link.index);
        }
    }

    /// A device that came is an access point some time later only: whoever makes it one says so to
    /// the kernel, which tells of the device again.
    fn second(&self, router: &mut Router) {
        let Some(powers) = &self.powers else { return };
        let changed = std::mem::take(&mut *self.changed.borrow_mut());
        for link in router.core.links() {
            if link.up && changed.contains(&link.index) {
                powers.borrow_mut().begin(link.index, &link.name);
            }
        }
    }

    fn metrics(&self, _: &mut Router, text: &mut Text) {
        metrics::write(text, &self.shown().radios);
    }

    fn status(&self, _: &mut Router, status: &mut Status) {
        if self.powers.is_some() {
            status.modules.push("radio".to_owned());
        }
    }

    fn stop(&self, _: &mut Router) -> Option<Work> {
        if let Some(powers) = &self.powers {
            powers.borrow_mut().stop();
        }
        None
    }
}
