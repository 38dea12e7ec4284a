//! The web page, and figures for Prometheus: the same answers as the API's, over TCP, behind a
//! log-in.

mod command;
pub mod config;
mod running;
mod server;

use std::cell::RefCell;
use std::rc::Rc;

use answers::PageClaim;
use api::{Problem, Route, Routes, Who};
use web::Warden;

use crate::Error;
use crate::daemon::{Face, Module, Needs, Router, Setup, Work, apart};
use crate::registry::{Command, Doubt, Entry};
use config::Web;
use running::{Running, places, refused};

/// The web page.
pub const ENTRY: Entry = Entry {
    sections: &config::SECTIONS,
    commands: || {
        vec![
            Command::printing("passwd", command::run),
            Command::printing(server::NAME, server::run),
        ]
    },
    doubt: |effective| {
        let error = refused(effective.of())?;
        Some(Doubt {
            what: format!("no page will be served: {error}"),
            hint: error.hint().to_owned(),
        })
    },
    begin: Some(begin),
    ..Entry::named("page")
};

/// Where the code for the first password is told.
const CLAIM: &str = "/v1/page/claim";

/// What listens, if it is switched on and can.
struct Page {
    config: Web,
    running: RefCell<Option<Running>>,
    warden: RefCell<Option<Rc<Warden>>>,
}

/// Makes it: what can be asked is not known yet.
///
/// # Errors
/// None.
pub fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    Ok(Rc::new(Page {
        config: setup.effective.of::<Web>().clone(),
        running: RefCell::default(),
        warden: RefCell::default(),
    }))
}

impl Module for Page {
    fn needs(&self) -> Needs {
        let mut needs = Needs {
            write: places(&self.config),
            ..Needs::default()
        };
        if self.running.borrow().is_some() {
            needs.programs.extend(std::env::current_exe());
            needs.capabilities.extend(apart::CAPABILITIES);
        }
        needs
    }

    fn routes(self: Rc<Self>, _: &Rc<Face>) -> Vec<Route> {
        vec![Route::get(CLAIM, Who::Root, move |()| {
            let warden = self.warden.borrow();
            let warden = warden.as_ref().ok_or_else(|| {
                let hint = "`weir check` says why; `weir config` shows [web]";
                Problem::new(404, "no_page", "no page is served", hint)
            })?;
            let code = warden.claim().ok_or_else(|| {
                let hint = "log in; if it is forgotten, `weir passwd` sets another";
                Problem::new(409, "password_set", "the page has a password", hint)
            })?;
            Ok(PageClaim { code })
        })]
    }

    /// Binds, reads or makes the certificate.
    fn serve(&self, face: &Rc<Face>, routes: &Routes) {
        let running = Running::open(&self.config, face, routes);
        *self.warden.borrow_mut() = running.as_ref().map(Running::warden);
        *self.running.borrow_mut() = running;
    }

    fn work(self: Rc<Self>) -> Option<Work> {
        let running = self.running.take()?;
        Some(Box::pin(async move { running.serve().await }))
    }
}
