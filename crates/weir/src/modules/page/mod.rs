//! The web page, and figures for Prometheus: the same answers as the API's, over TCP, behind a
//! log-in.

mod command;
pub mod config;
mod running;
mod server;

use std::cell::RefCell;
use std::rc::Rc;

use api::Routes;

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

/// What listens, if it is switched on and can.
struct Page {
    config: Web,
    running: RefCell<Option<Running>>,
}

/// Makes it: what can be asked is not known yet.
///
/// # Errors
/// None.
pub fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    Ok(Rc::new(Page {
        config: setup.effective.of::<Web>().clone(),
        running: RefCell::default(),
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

    /// Binds, reads or makes the certificate.
    fn serve(&self, face: &Rc<Face>, routes: &Routes) {
        *self.running.borrow_mut() = Running::open(&self.config, face, routes);
    }

    fn work(self: Rc<Self>) -> Option<Work> {
        let running = self.running.take()?;
        Some(Box::pin(async move { running.serve().await }))
    }
}
