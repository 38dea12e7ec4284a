//! The web page, and figures for Prometheus: the API's answers over TCP, behind a login.

mod check;
mod command;
pub mod config;
mod peers;
mod running;
mod server;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use answers::{PageClaim, PartProblem};
use api::{AccessLevel, Problem, Route};
use tokio::sync::Notify;
use tracing::warn;
use web::{Authenticator, WebError};

use config::Web;
use running::{PageListener, make_folders, read, refused, write};
use runtime::Error;
use runtime::config::Effective;
use runtime::daemon::{ApiContext, Module, Privileges, Report, Router, Setup, Work, subprocess};
use runtime::registry::{Command, ConfigWarning, Group, ModuleEntry};

/// The web page.
pub const ENTRY: ModuleEntry = ModuleEntry {
    sections: &config::SECTIONS,
    commands: || {
        vec![
            Command::printing(Group::Change, "passwd", command::run),
            Command::printing(Group::Internal, server::NAME, server::run),
        ]
    },
    doubt: |effective| {
        let error = refused(effective.of())?;
        Some(ConfigWarning {
            what: format!("cannot serve the page: {error}"),
            hint: error.hint().to_owned(),
        })
    },
    check: check::check,
    begin: Some(begin),
    ..ModuleEntry::named("page")
};

/// Pause before another attempt to serve.
const AGAIN: Duration = Duration::from_secs(10);

/// The page's server, if enabled and possible.
struct Page {
    config: Web,
    /// Source of the answers; `None`: disabled.
    face: RefCell<Option<Rc<dyn ApiContext>>>,
    running: RefCell<Option<PageListener>>,
    warden: RefCell<Option<Rc<Authenticator>>>,
    /// Reason why the page is not served.
    failed: RefCell<Option<WebError>>,
    opened: Notify,
}

/// Creates the module; routes are not known yet.
///
/// # Errors
/// None.
pub fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    Ok(Rc::new(Page {
        config: setup.effective.of::<Web>().clone(),
        face: RefCell::default(),
        running: RefCell::default(),
        warden: RefCell::default(),
        failed: RefCell::default(),
        opened: Notify::new(),
    }))
}

impl Page {
    /// Starts the server, or stores the error. Each distinct reason is logged once.
    fn open(&self) {
        let face = self.face.borrow();
        let Some(face) = face.as_ref() else { return };
        let Some(routes) = face.routes() else { return };
        let failed = match PageListener::open(&self.config, face, routes) {
            Ok(running) => {
                *self.warden.borrow_mut() = Some(running.authenticator());
                *self.running.borrow_mut() = Some(running);
                None
            }
            Err(error) => Some(error),
        };
        let told = self.failed.replace(None).map(|error| said(&error));
        if let Some(error) = &failed
            && told.as_ref() != Some(&said(error))
        {
            warn!(
                error = said(error),
                hint = error.hint(),
                "cannot start the web page; retrying"
            );
        }
        *self.failed.borrow_mut() = failed;
    }
}

/// Returns an error with its cause.
fn said(error: &WebError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

impl Module for Page {
    /// Rights to bind, and to read or create the certificate.
    fn privileges(&self) -> Privileges {
        let mut privileges = Privileges {
            read: read(&self.config),
            write: write(&self.config),
            ..Privileges::default()
        };
        if *self.config.enabled {
            make_folders(&self.config);
            self.open();
            privileges.programs.extend(std::env::current_exe());
            privileges.capabilities.extend(subprocess::CAPABILITIES);
        }
        privileges
    }

    fn routes(self: Rc<Self>, face: &Rc<dyn ApiContext>) -> Vec<Route> {
        *self.face.borrow_mut() = Some(Rc::clone(face));
        vec![Route::get(command::CLAIM, AccessLevel::Root, move |()| {
            let warden = self.warden.borrow();
            let warden = warden.as_ref().ok_or_else(|| {
                let hint = "see `weir status` for the cause, and `weir config` for [web]";
                Problem::new(404, "no_page", "the page is not served", hint)
            })?;
            let code = warden.claim().ok_or_else(|| {
                let hint = "log in; if you forgot the password, `weir passwd` sets another";
                Problem::new(409, "password_set", "the page has a password", hint)
            })?;
            Ok(PageClaim { code })
        })]
    }

    fn work(self: Rc<Self>) -> Option<Work> {
        if !*self.config.enabled {
            return None;
        }
        Some(Box::pin(async move {
            loop {
                let running = self.running.take();
                if let Some(running) = running {
                    running.serve().await;
                }
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => self.open(),
                    () = self.opened.notified() => {}
                }
            }
        }))
    }

    fn configure(&self, _: &Effective, _: &mut Router) {
        // Changed settings need a restart; other obstacles may have disappeared.
        if self.failed.borrow().is_some() {
            self.open();
            self.opened.notify_one();
        }
    }

    fn status(&self, _: &mut Router, report: &mut Report) {
        let status = &mut report.status;
        if let Some(error) = &*self.failed.borrow() {
            status.problems.push(PartProblem {
                part: "page".to_owned(),
                what: said(error),
                hint: error.hint(),
            });
        }
        let figures = self
            .warden
            .borrow()
            .as_ref()
            .and_then(|warden| warden.metrics_error());
        if let Some(error) = figures {
            status.problems.push(PartProblem {
                part: "metrics".to_owned(),
                what: error.to_string(),
                hint: error.hint(),
            });
        }
    }
}
