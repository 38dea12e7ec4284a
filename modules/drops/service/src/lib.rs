//! What is dropped early.

mod command;
pub mod config;
mod keeper;
mod permit;
mod show;
mod state;

use std::cell::RefCell;
use std::rc::Rc;

use answers::{Explanation, FlowQuery, Status};
use api::{Route, Who};
use kernel::{Event, SetEvent};

use keeper::{DropSettings, Keeper};
use runtime::Error;
use runtime::config::Effective;
use runtime::daemon::{Face, Module, Router, RulesetText, Setup};
use runtime::registry::{Command, Entry, Group};

/// What is dropped early.
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

/// Makes it: what the configuration says is put into the packet path.
///
/// # Errors
/// None.
pub fn begin(setup: &Setup<'_>, router: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let drops = Drops(RefCell::new(Keeper::default()));
    drops.configure(setup.effective, router);
    Ok(Rc::new(drops))
}

impl Module for Drops {
    fn routes(self: Rc<Self>, face: &Rc<Face>) -> Vec<Route> {
        let face = Rc::clone(face);
        let shown = move |()| Ok(show::shown(&self.0.borrow(), &mut face.router()));
        vec![Route::get("/v1/drops", Who::User, shown)]
    }

    fn configure(&self, effective: &Effective, router: &mut Router) {
        let settings = DropSettings::of(effective.of());
        self.0.borrow_mut().configure(settings, &mut router.path);
    }

    fn heard(&self, event: &Event, router: &mut Router) {
        self.0.borrow_mut().heard(event, &mut router.path);
    }

    fn sets_changed(&self, events: &[SetEvent], router: &mut Router) {
        self.0.borrow_mut().changed(events, &mut router.path);
    }

    fn settled(&self, router: &mut Router) {
        let Router { core, path, .. } = router;
        self.0.borrow_mut().permit(core, path, true);
    }

    fn ruleset_reading(&self) {
        self.0.borrow_mut().rules_reading();
    }

    fn ruleset_read(&self, read: Result<&RulesetText, &str>, router: &mut Router) {
        let legacy = router.core.has_legacy_firewall();
        let rules = read.map(|text| &text.rules);
        (self.0.borrow_mut()).rules(rules, legacy, &mut router.path);
    }

    fn tick(&self, router: &mut Router) {
        let Router { core, path, .. } = router;
        let mut keeper = self.0.borrow_mut();
        if keeper.wanted() {
            keeper.tick(path);
            keeper.permit(core, path, false);
            keeper.ports(core.ports().map(|plan| (plan.link, &*plan.name)), path);
        }
    }

    fn status(&self, router: &mut Router, status: &mut Status) {
        status.drops = show::counts(&self.0.borrow(), router);
    }

    fn explain(&self, asked: &FlowQuery, router: &mut Router) -> Option<Explanation> {
        show::explain(&self.0.borrow(), router, asked)
    }
}
