//! The portal: guests get no further before they log in, and no longer than they may.

mod access;
mod background;
mod check;
mod command;
pub mod config;
mod daemon_client;
mod foreign_rules;
mod guest_server;
mod guest_service;
#[cfg(feature = "tls")]
mod https;
mod messages;
mod names;
#[cfg(not(feature = "radius"))]
mod no_radius;
#[cfg(not(feature = "tls"))]
mod no_tls;
mod page_content;
#[cfg(feature = "radius")]
mod radius;
mod resolver;
mod routes;
mod rule_trace;
mod secrets;
mod server;
mod sheet;
mod sockets;
mod statistics_file;
mod store;
mod walled_garden;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::task::Context;
use std::time::{Duration, Instant};

use api::{Route, Routes};
use portal_core::rules;
use portal_core::text;
use tokio::time::timeout;
use tracing::{error, info, warn};

use access::{PortalAccess, PortalParts};
use guest_service::{DailyStatistics, GuestService, Node};
#[cfg(not(feature = "radius"))]
use no_radius as radius;
#[cfg(not(feature = "tls"))]
use no_tls as https;
use page_content::{PageContent, PageText};
use runtime::Error;
use runtime::config::Effective;
use runtime::daemon::{
    ApiContext, Event, Finding, Firewall, Module, Privileges, Report, Router, Setup, Value, Work,
    subprocess,
};
use runtime::registry::{Command, Group, ModuleEntry};
use sockets::Sockets;
use store::VoucherStore;

/// Longest wait for the disk when weir stops.
const WRITTEN: Duration = Duration::from_secs(3);

/// The portal.
pub const ENTRY: ModuleEntry = ModuleEntry {
    choice: Some("Login of guests before they reach the network"),
    sections: &config::SECTIONS,
    tables: &[rules::TABLE],
    commands: || {
        vec![
            Command::printing(Group::Change, "portal", command::run),
            Command::printing(Group::Internal, server::NAME, server::run),
        ]
    },
    check: check::check,
    begin: Some(begin),
    ..ModuleEntry::named("portal")
};

/// A portal, if there is one.
struct CaptivePortal {
    /// Removes the table of an earlier weir if no portal is configured.
    former: RefCell<Firewall>,
    /// Load counter of the firewall when weir began to read the ruleset.
    loads: Cell<u64>,
    open: Option<Open>,
}

/// A portal that there is.
struct Open {
    parts: Rc<PortalParts>,
    sockets: Sockets,
    routes: RefCell<Routes>,
    folder: Vec<std::path::PathBuf>,
    /// Folder of the page's certificate, which may change later.
    read: Vec<std::path::PathBuf>,
    /// Name of the page, if there is HTTPS, too, and its certificate.
    host: Option<String>,
    certificate: Rc<Option<https::Certificate>>,
    /// Client of the RADIUS servers.
    radius: Option<Rc<radius::Client>>,
}

/// Opens the vouchers, and binds.
///
/// # Errors
/// The configured portal cannot start: it would admit all guests, or none.
pub fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let config = setup.effective.of::<config::Portal>();
    let mut portal = CaptivePortal {
        former: RefCell::default(),
        loads: Cell::default(),
        open: None,
    };
    if setup.wanted && !config.devices.is_empty() {
        let file = &*config.vouchers;
        let (store, read) = VoucherStore::open(file).map_err(|error| {
            let what = format!("cannot read and write the vouchers in {}", file.display());
            Error::with_cause(&what, &error, "check `vouchers` under [portal]")
        })?;
        let words = PageText {
            title: config.title.0.clone(),
            text: said(config.text.0.as_deref())?,
        };
        let welcome = PageContent::open(file, words, config.venue.0.clone());
        let figures_file = file.with_extension("figures");
        let figures = statistics_file::StatisticsFile::open(&figures_file).map_err(|error| {
            let what = format!("cannot read the figures in {}", figures_file.display());
            let hint = "check `vouchers` under [portal]; without the file, figures start again";
            Error::with_cause(&what, &error, hint)
        })?;
        let password = secrets::password(config)?;
        let key_file = file.with_extension("key");
        let key = guest_service::key(&key_file).map_err(|error| {
            let what = format!("cannot read or create the key in {}", key_file.display());
            let hint = "check `vouchers` under [portal]; without the file, a new key is created, \
                and signatures of the old key become invalid";
            Error::with_cause(&what, &error, hint)
        })?;
        let certificate = https::certificate(config)?;
        let radius = radius::Client::open(setup.effective.of::<config::Radius>());
        // Log-ins with accounts fail then; without a portal all devices would be in.
        let radius = radius.unwrap_or_else(|error| {
            error!(%error, "no log-in with accounts");
            None
        });
        let sockets = Sockets::bind(certificate.is_some()).map_err(|error| {
            let hint = format!(
                "ports {} and {} belong to the portal: see `ss -tulpn` for their users",
                sockets::PAGE,
                sockets::NAMES
            );
            Error::with_cause("cannot listen on the portal's ports", &error, &hint)
        })?;
        portal.open = Some(Open {
            parts: Rc::new(PortalParts {
                guest_service: Rc::new(RefCell::new(GuestService::new(
                    check::rules(config),
                    (config.gift(password.as_deref()), config.schedule()),
                    (store, read),
                    (
                        Node::new(key, &config.trust.0),
                        DailyStatistics::new(figures),
                    ),
                    &config.exempt.0,
                ))),
                content: welcome,
                wifi: config.wifi.0.clone(),
            }),
            sockets,
            routes: RefCell::default(),
            host: config.host.0.clone(),
            read: https::folders(config),
            certificate: Rc::new(certificate),
            radius: radius.map(Rc::new),
            folder: file.parent().map(Into::into).into_iter().collect(),
        });
    }
    Ok(Rc::new(portal))
}

/// Returns the text of the community on the page, in Markdown.
fn said(file: Option<&Path>) -> Result<String, Error> {
    let Some(file) = file else {
        return Ok(String::new());
    };
    let failed = |error: &dyn std::error::Error| {
        let what = format!("cannot show the text in {}", file.display());
        Error::with_cause(&what, error, "check `text` under [portal]")
    };
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
    // The page would not show it.
    text::shown(&text).map_err(|error| failed(&error))?;
    Ok(text)
}

impl CaptivePortal {
    /// Restores the table if another program removed it.
    fn table_seen(&self, ruleset: &str) {
        // Read while it was on its way.
        let loads = self.loads();
        if loads % 2 == 1 || self.loads.get() != loads {
            return;
        }
        match (&self.open, check::is_whole(ruleset)) {
            (Some(open), None) => {
                warn!("another program removed the portal's table: restored");
                open.parts.guest_service.borrow_mut().create_table();
            }
            (Some(open), Some(false)) => {
                warn!("another program changed the portal's table: restored");
                open.parts.guest_service.borrow_mut().create_table();
            }
            (None, Some(_)) => self.former.borrow_mut().load(rules::remove()),
            _ => {}
        }
    }

    fn loads(&self) -> u64 {
        match &self.open {
            Some(open) => open.parts.guest_service.borrow().table.firewall.loads(),
            None => self.former.borrow().loads(),
        }
    }
}

impl Module for CaptivePortal {
    fn privileges(&self) -> Privileges {
        match &self.open {
            None => Privileges::default(),
            Some(open) => Privileges {
                read: open
                    .read
                    .iter()
                    .cloned()
                    .chain(resolver::system_file())
                    .collect(),
                write: open.folder.clone(),
                programs: std::env::current_exe().into_iter().collect(),
                capabilities: subprocess::CAPABILITIES.to_vec(),
                ..Privileges::default()
            },
        }
    }

    fn routes(self: Rc<Self>, face: &Rc<dyn ApiContext>) -> Vec<Route> {
        if let Some(open) = &self.open {
            let known = (&open.parts.content, &open.certificate);
            *open.routes.borrow_mut() =
                server::routes(&open.parts.guest_service, known, &open.radius, face);
        }
        let parts = self.open.as_ref().map(|open| Rc::clone(&open.parts));
        routes::all(&PortalAccess(parts), face)
    }

    fn configure(&self, effective: &Effective, router: &mut Router) {
        if let Some(open) = &self.open {
            let config = effective.of::<config::Portal>();
            let mut keeper = open.parts.guest_service.borrow_mut();
            let known = (&*config.exempt.0, &*config.trust.0);
            let held = (check::rules(config), config.schedule());
            keeper.walled_garden.configure(config);
            keeper.configure(held, known, router);
        }
    }

    fn work(self: Rc<Self>) -> Option<Work> {
        Some(Box::pin(async move {
            let told = async {
                loop {
                    let poll = |context: &mut Context<'_>| match &self.open {
                        Some(open) => open
                            .parts
                            .guest_service
                            .borrow_mut()
                            .table
                            .firewall
                            .poll_told(context),
                        None => self.former.borrow_mut().poll_told(context),
                    };
                    if let Err(error) = std::future::poll_fn(poll).await {
                        let open = self.open.as_ref();
                        if open.is_some_and(|open| open.parts.guest_service.borrow_mut().refused())
                        {
                            continue;
                        }
                        let hint = "see `weir check`";
                        warn!(error, hint, "the firewall refuses the portal's rules");
                    }
                }
            };
            let served = async {
                if let Some(open) = &self.open {
                    let routes = open.routes.borrow().clone();
                    let known = (open.host.as_deref(), open.radius.is_some());
                    server::keep(known, &open.sockets, &routes).await;
                }
            };
            tokio::join!(told, served);
        }))
    }

    fn on_event(&self, event: Event<'_>, router: &mut Router) {
        match event {
            Event::RulesetReading => self.loads.set(self.loads()),
            Event::Ruleset(Ok(text)) => self.table_seen(&text.text),
            _ => {}
        }
        let Some(open) = &self.open else { return };
        let keeper = || open.parts.guest_service.borrow_mut();
        match event {
            Event::Started(effective) => {
                let mut keeper = keeper();
                keeper.store.start();
                keeper.statistics.start();
                keeper.create_table();
                keeper
                    .walled_garden
                    .configure(effective.of::<config::Portal>());
                info!(devices = ?keeper.portal.devices, "portal open");
            }
            Event::Kernel(kernel::Event::Neighbour(neighbour)) => {
                keeper().on_neighbour(neighbour, router)
            }
            Event::Kernel(kernel::Event::Connection(connection)) => {
                keeper().on_connection(connection, router);
            }
            Event::Kernel(kernel::Event::ConnectionGone(id)) => keeper().questions.gone(id),
            Event::Kernel(kernel::Event::Link(_) | kernel::Event::LinkGone(_)) => {
                keeper().devices.on_link();
            }
            Event::Forwarded(all) => keeper().on_forwarded(all),
            Event::Second => {
                keeper().tick(router);
            }
            _ => {}
        }
    }

    fn poll_at(&self) -> Option<Instant> {
        Some(self.open.as_ref()?.parts.guest_service.borrow().turn_at())
    }

    fn poll(&self, _: Instant, router: &mut Router) {
        if let Some(open) = &self.open {
            open.parts.guest_service.borrow_mut().expire(router);
        }
    }

    fn status(&self, _: &mut Router, report: &mut Report) {
        let Some(open) = &self.open else { return };
        report.status.modules.push("portal".to_owned());
        let keeper = open.parts.guest_service.borrow();
        for file in [keeper.store.unwritten(), keeper.statistics.unwritten()] {
            report.findings.extend(file.map(|file| {
                let finding = Finding::new("unwritten", "portal", "vouchers").of(&file);
                finding.with("file", Value::Text(file))
            }));
        }
    }

    /// Stops the portal. Without weir, guests are not blocked.
    fn stop(&self, _: &mut Router) -> Option<Work> {
        let open = self.open.as_ref()?;
        let mut keeper = open.parts.guest_service.borrow_mut();
        keeper.persist();
        let settled = keeper.flushed();
        let firewall = std::mem::take(&mut keeper.table.firewall);
        Some(Box::pin(async move {
            if timeout(WRITTEN, settled).await.is_err() {
                warn!("the disk is too slow: usage of vouchers in the last minute is lost");
            }
            if let Err(error) = firewall.finish(rules::remove()).await {
                let table = rules::TABLE;
                warn!(
                    error,
                    "cannot remove the portal's rules: remove them by `nft delete table inet {table}`"
                );
            }
        }))
    }
}
