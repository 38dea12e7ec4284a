//! Early drops.

mod command;
pub mod config;
mod lists;
mod permit;
mod show;
mod state;

use std::cell::RefCell;
use std::rc::Rc;

use api::{AccessLevel, Route};

use lists::{DropLists, DropSettings};
use runtime::Error;
use runtime::config::Effective;
use runtime::daemon::{ApiContext, Event, Module, Report, Router, Setup};
use runtime::registry::{Command, Group, ModuleEntry};

/// Entry of the module.
pub const ENTRY: ModuleEntry = ModuleEntry {
    sections: &config::SECTIONS,
    commands: || vec![Command::printing(Group::Diagnose, "drops", command::run)],
    status: |status, output| match &status.drops {
        Some(drops) => command::status(drops, output),
        None => Ok(()),
    },
    prepare: |effective, options| {
        options.learn_drops = *effective.of::<config::Drops>().learn && !options.shadow;
    },
    begin: Some(begin),
    ..ModuleEntry::named("drops")
};

/// Lists of the packet path, kept in step with the kernel.
struct Drops(RefCell<DropLists>);

/// Creates the module, and applies the configuration to the packet path.
///
/// # Errors
/// None.
pub fn begin(setup: &Setup<'_>, router: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let drops = Drops(RefCell::new(DropLists::default()));
    drops.configure(setup.effective, router);
    Ok(Rc::new(drops))
}

impl Module for Drops {
    fn routes(self: Rc<Self>, face: &Rc<dyn ApiContext>) -> Vec<Route> {
        let face = Rc::clone(face);
        let shown = move |()| Ok(show::shown(&self.0.borrow(), &mut face.router()));
        vec![Route::get("/v1/drops", AccessLevel::User, shown)]
    }

    fn configure(&self, effective: &Effective, router: &mut Router) {
        let settings = DropSettings::of(effective.of());
        self.0.borrow_mut().configure(settings, &mut router.path);
    }

    fn on_event(&self, event: Event<'_>, router: &mut Router) {
        // Borrowed only for this module's events: others may come while a module steers the router.
        let keeper = || self.0.borrow_mut();
        let legacy = router.core.has_legacy_firewall();
        let Router { core, path, .. } = router;
        match event {
            Event::Kernel(event) => keeper().on_event(event, path),
            Event::Settled => keeper().permit(core, path, true),
            Event::Sets(events) => keeper().on_set_events(events, path),
            Event::RulesetReading => keeper().rules_reading(),
            Event::Ruleset(read) => keeper().rules(read.map(|text| &text.rules), legacy, path),
            Event::Tick => {
                let mut keeper = keeper();
                if !keeper.is_enabled() {
                    return;
                }
                keeper.tick(path);
                keeper.permit(core, path, false);
                keeper.ports(core.ports().map(|plan| (plan.link, &*plan.name)), path);
            }
            Event::Explain(asked, answer) => answer.set(show::explain(&keeper(), router, asked)),
            _ => {}
        }
    }

    fn status(&self, router: &mut Router, report: &mut Report) {
        report.status.drops = show::counts(&self.0.borrow(), router);
    }
}
