//! Several uplinks as one.

mod check;
mod commands;
mod conditions;
pub mod config;
mod exposures;
pub mod metrics;
mod running;
mod tun;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use answers::PartProblem;
use api::metrics::Exposition;
use api::{AccessLevel, Route};

use running::Running;
use runtime::Error;
use runtime::config::Effective;
use runtime::daemon::{ApiContext, Event, Module, Privileges, Report, Router, Setup, Work};
use runtime::registry::{Command, Group, ModuleEntry};

/// Several uplinks as one.
pub const ENTRY: ModuleEntry = ModuleEntry {
    choice: Some("Several uplinks as one, through a partner"),
    sections: &config::SECTIONS,
    tables: &multipath_core::nft::TABLES,
    commands: || {
        vec![
            Command::printing(Group::See, "paths", commands::paths::run),
            Command::new(Group::SetUp, "multipath", commands::serve::run),
        ]
    },
    status: |status, output| match &status.multipath {
        Some(paths) => commands::paths::status(paths, output),
        None => Ok(()),
    },
    check: check::check,
    begin: Some(begin),
    ..ModuleEntry::named("multipath")
};

/// The router's side, if it is to run at all.
struct Service {
    running: Option<RefCell<Running>>,
    folder: PathBuf,
}

/// Makes it: nothing is changed yet.
///
/// # Errors
/// None.
pub fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let folder = running::folder(setup.socket);
    let lock = commands::lock::file(setup.config);
    // While it still may write there.
    let key = setup.config.with_file_name("multipath.key");
    let config = setup.effective.of::<config::Multipath>();
    let paired = config.partner.value.is_some();
    Ok(Rc::new(Service {
        running: setup
            .wanted
            .then(|| RefCell::new(Running::new(folder.clone(), lock, key, paired))),
        folder,
    }))
}

impl Service {
    fn shown(&self) -> answers::Paths {
        let running = self.running.as_ref();
        running.map_or_else(answers::Paths::default, |running| running.borrow().to_api())
    }
}

impl Module for Service {
    fn privileges(&self) -> Privileges {
        match self.running {
            Some(_) => running::privileges(&self.folder),
            None => Privileges::default(),
        }
    }

    fn routes(self: Rc<Self>, _: &Rc<dyn ApiContext>) -> Vec<Route> {
        vec![Route::get("/v1/paths", AccessLevel::User, move |()| {
            Ok(self.shown())
        })]
    }

    fn on_event(&self, event: Event<'_>, router: &mut Router) {
        if let Event::Started(effective) = event {
            self.configure(effective, router);
        }
    }

    fn configure(&self, effective: &Effective, _: &mut Router) {
        if let Some(running) = &self.running {
            running.borrow_mut().configure(effective);
        }
    }

    fn status(&self, _: &mut Router, report: &mut Report) {
        let shown = self.shown();
        report.findings.extend(conditions::of(&shown));
        let status = &mut report.status;
        status.multipath = shown.status();
        if status.multipath.is_some() {
            status.modules.push("multipath".to_owned());
        }
        let failed = self.running.as_ref();
        let failed = failed.and_then(|running| running.borrow().failed());
        status.problems.extend(failed.map(|what| {
            PartProblem {
                part: "multipath".to_owned(),
                what,
                hint: "run `weir check`; until this is fixed, uplinks are used as the routes say"
                    .to_owned(),
            }
        }));
    }

    fn metrics(&self, _: &mut Router, text: &mut Exposition) {
        metrics::write(text, &self.shown());
    }

    fn stop(&self, _: &mut Router) -> Option<Work> {
        if let Some(running) = &self.running {
            running.borrow_mut().stop();
        }
        None
    }
}
