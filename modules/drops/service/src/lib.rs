//! Early drops.

mod command;
pub mod config;
mod keeper;
mod permit;
mod show;
mod state;

use std::cell::RefCell;
use std::rc::Rc;

use api::{Route, Who};

use keeper::{DropSettings, Keeper};
use runtime::Error;
use runtime::config::Effective;
use runtime::daemon::{Event, Face, Module, Report, Router, Setup};
use runtime::registry::{Command, Entry, Group};

/// Entry of the module.
pub const ENTRY: Entry = Entry {
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
    ..Entry::named("drops")
};

/// Lists of the packet path, kept in step with the kernel.
struct Drops(RefCell<Keeper>);

/// Creates the module, and applies the configuration to the packet path.
///
/// # Errors
/// None.
pub fn begin(setup: &Setup<'_>, router: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let drops = Drops(RefCell::new(Keeper::default()));
    drops.configure(setup.effective, router);
    Ok(Rc::new(drops))
}

impl Module for Drops {
    fn routes(self: Rc<Self>, face: &Rc<dyn Face>) -> Vec<Route> {
        let face = Rc::clone(face);
        let shown = move |()| Ok(show::shown(&self.0.borrow(), &mut face.router()));
        vec![Route::get("/v1/drops", Who::User, shown)]
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
            Event::Kernel(event) => keeper().heard(event, path),
            Event::Settled => keeper().permit(core, path, true),
            Event::Sets(events) => keeper().changed(events, path),
            Event::RulesetReading => keeper().rules_reading(),
            Event::Ruleset(read) => keeper().rules(read.map(|text| &text.rules), legacy, path),
            Event::Tick => {
                let mut keeper = keeper();
                if !keeper.wanted() {
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
