//! A module with every interface: key, command, reading route, writing route, metric, lines in
//! `weir status` and `weir check`, events, a tick and its own work. The module greets, and counts
//! new devices.

mod command;
mod config;
mod messages;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use api::metrics::{Exposition, Kind, Metric};
use api::{AccessLevel, ApiRequest, Method, Problem, Route};
use runtime::Error;
use runtime::check::Feature;
use runtime::config::Effective;
use runtime::daemon::{ApiContext, Event, Module, Report, Router, Setup, Work};
use runtime::registry::{Command, Group, ModuleEntry};

use config::Greeting;
pub use messages::{Greet, Shown};

/// The sample module's entry in weir.
pub const ENTRY: ModuleEntry = ModuleEntry {
    choice: Some("Greets, and counts devices that come"),
    sections: &config::SECTIONS,
    commands: || vec![Command::printing(Group::See, "greet", command::run)],
    status: |status, output| match status.more.get("sample") {
        Some(sample) => output.field("sample", &format!("{} greeted", sample["greeted"])),
        None => Ok(()),
    },
    check: |effective, _| {
        Ok(vec![Feature {
            name: "sample".into(),
            present: true,
            why_needed: format!("Greets {}.", effective.of::<Greeting>().whom.0),
            ..Feature::default()
        }])
    },
    begin: Some(begin),
    ..ModuleEntry::named("sample")
};

const GREETED: Metric = Metric {
    name: "weir_sample_greeted_total",
    kind: Kind::Counter,
    labels: &["whom"],
    help: "How often somebody was greeted.",
};

/// Interval between turns.
const EVERY: Duration = Duration::from_millis(100);

struct Sample {
    shown: RefCell<Shown>,
    next: Cell<Instant>,
}

fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let sample = Sample {
        shown: RefCell::default(),
        next: Cell::new(Instant::now()),
    };
    sample.take(setup.effective);
    Ok(Rc::new(sample))
}

impl Sample {
    fn take(&self, effective: &Effective) {
        self.shown.borrow_mut().whom = effective.of::<Greeting>().whom.0.clone();
    }

    fn greet(&self, times: u64) -> Result<Shown, Problem> {
        let mut shown = self.shown.borrow_mut();
        let sum = shown.greeted.checked_add(times);
        let too_many = || Problem::new(422, "too_many", "too many greetings", "greet less");
        shown.greeted = sum.ok_or_else(too_many)?;
        Ok(shown.clone())
    }
}

impl Module for Sample {
    fn routes(self: Rc<Self>, _: &Rc<dyn ApiContext>) -> Vec<Route> {
        let (read, write) = (Rc::clone(&self), self);
        let greet = move |asked: ApiRequest<(), Greet>| write.greet(asked.body.times);
        vec![
            Route::get("/v1/greeting", AccessLevel::Guest, move |()| {
                Ok(read.shown.borrow().clone())
            }),
            Route::new(Method::POST, "/v1/greeting", AccessLevel::User, greet),
        ]
    }

    fn work(self: Rc<Self>) -> Option<Work> {
        Some(Box::pin(
            async move { self.shown.borrow_mut().works = true },
        ))
    }

    fn configure(&self, effective: &Effective, _: &mut Router) {
        self.take(effective);
    }

    fn on_event(&self, event: Event<'_>, _: &mut Router) {
        let mut shown = self.shown.borrow_mut();
        match event {
            Event::Kernel(kernel::Event::Link(_)) => shown.devices += 1,
            Event::Second => shown.seconds += 1,
            _ => {}
        }
    }

    fn poll_at(&self) -> Option<Instant> {
        Some(self.next.get())
    }

    fn poll(&self, now: Instant, _: &mut Router) {
        self.shown.borrow_mut().turns += 1;
        self.next.set(now + EVERY);
    }

    fn status(&self, _: &mut Router, report: &mut Report) {
        let status = &mut report.status;
        status.modules.push("sample".to_owned());
        let greeted = serde_json::json!({ "greeted": self.shown.borrow().greeted });
        status.more.insert("sample".to_owned(), greeted);
    }

    fn metrics(&self, _: &mut Router, text: &mut Exposition) {
        let shown = self.shown.borrow();
        text.family(GREETED);
        text.sample(GREETED, &[&shown.whom], shown.greeted);
    }
}
