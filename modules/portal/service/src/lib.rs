//! The portal: guests get no further before they log in, and no longer than they may.

mod access;
mod asking;
mod background;
mod beside;
mod check;
mod command;
pub mod config;
mod door;
mod figures;
mod garden;
mod keeper;
mod messages;
mod names;
#[cfg(not(feature = "radius"))]
mod no_radius;
mod passage;
#[cfg(not(feature = "tls"))]
mod plain;
#[cfg(feature = "radius")]
mod radius;
mod resolver;
mod routes;
mod secrets;
#[cfg(feature = "tls")]
mod secure;
mod server;
mod sheet;
mod sockets;
mod store;
mod welcome;

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

use access::{Access, Parts};
use keeper::{Days, Keeper, Node};
#[cfg(not(feature = "radius"))]
use no_radius as radius;
#[cfg(not(feature = "tls"))]
use plain as secure;
use runtime::Error;
use runtime::config::Effective;
use runtime::daemon::{
    Event, Face, Finding, Firewall, Module, Privileges, Report, Router, Setup, Value, Work, apart,
};
use runtime::registry::{Command, Entry as ModuleEntry, Group};
use sockets::Sockets;
use store::Store;
use welcome::{Welcome, Words};

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
    /// Removes the table of a former weir if no portal is configured.
    former: RefCell<Firewall>,
    /// Load counter of the firewall when weir began to read the ruleset.
    loads: Cell<u64>,
    open: Option<Open>,
}

/// A portal that there is.
struct Open {
    parts: Rc<Parts>,
    sockets: Sockets,
    routes: RefCell<Routes>,
    folder: Vec<std::path::PathBuf>,
    /// Folder of the page's certificate, which may change later.
    read: Vec<std::path::PathBuf>,
    /// Name of the page, if there is HTTPS, too, and its certificate.
    host: Option<String>,
    certificate: Rc<Option<secure::Certificate>>,
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
        let (store, read) = Store::open(file).map_err(|error| {
            let what = format!("cannot read and write the vouchers in {}", file.display());
            Error::because(&what, &error, "check `vouchers` under [portal]")
        })?;
        let words = Words {
            title: config.title.0.clone(),
            text: said(config.text.0.as_deref())?,
        };
        let welcome = Welcome::open(file, words, config.venue.0.clone());
        let figures_file = file.with_extension("figures");
        let figures = figures::File::open(&figures_file).map_err(|error| {
            let what = format!("cannot read the figures in {}", figures_file.display());
            let hint = "check `vouchers` under [portal]; without the file, figures start again";
            Error::because(&what, &error, hint)
        })?;
        let password = secrets::password(config)?;
        let key_file = file.with_extension("key");
        let key = keeper::key(&key_file).map_err(|error| {
            let what = format!("cannot read or create the key in {}", key_file.display());
            let hint = "check `vouchers` under [portal]; without the file, a new key is created, \
                and signatures of the old key become invalid";
            Error::because(&what, &error, hint)
        })?;
        let certificate = secure::certificate(config)?;
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
            Error::because("cannot listen on the portal's ports", &error, &hint)
        })?;
        portal.open = Some(Open {
            parts: Rc::new(Parts {
                keeper: Rc::new(RefCell::new(Keeper::new(
                    check::rules(config),
                    (config.gift(password.as_deref()), config.schedule()),
                    (store, read),
                    (Node::new(key, &config.trust.0), Days::new(figures)),
                    &config.exempt.0,
                ))),
                welcome,
                wifi: config.wifi.0.clone(),
            }),
            sockets,
            routes: RefCell::default(),
            host: config.host.0.clone(),
            read: secure::folders(config),
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
        Error::because(&what, error, "check `text` under [portal]")
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
                open.parts.keeper.borrow_mut().create_table();
            }
            (Some(open), Some(false)) => {
                warn!("another program changed the portal's table: restored");
                open.parts.keeper.borrow_mut().create_table();
            }
            (None, Some(_)) => self.former.borrow_mut().tell(rules::remove()),
            _ => {}
        }
    }

    fn loads(&self) -> u64 {
        match &self.open {
            Some(open) => open.parts.keeper.borrow().table.firewall.loads(),
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
                capabilities: apart::CAPABILITIES.to_vec(),
                ..Privileges::default()
            },
        }
    }

    fn routes(self: Rc<Self>, face: &Rc<dyn Face>) -> Vec<Route> {
        if let Some(open) = &self.open {
            let known = (&open.parts.welcome, &open.certificate);
            *open.routes.borrow_mut() =
                server::routes(&open.parts.keeper, known, &open.radius, face);
        }
        let parts = self.open.as_ref().map(|open| Rc::clone(&open.parts));
        routes::all(&Access(parts), face)
    }

    fn configure(&self, effective: &Effective, router: &mut Router) {
        if let Some(open) = &self.open {
            let config = effective.of::<config::Portal>();
            let mut keeper = open.parts.keeper.borrow_mut();
            let known = (&*config.exempt.0, &*config.trust.0);
            let held = (check::rules(config), config.schedule());
            keeper.garden.configure(config);
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
                            .keeper
                            .borrow_mut()
                            .table
                            .firewall
                            .poll_told(context),
                        None => self.former.borrow_mut().poll_told(context),
                    };
                    if let Err(error) = std::future::poll_fn(poll).await {
                        let open = self.open.as_ref();
                        if open.is_some_and(|open| open.parts.keeper.borrow_mut().refused()) {
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
        let keeper = || open.parts.keeper.borrow_mut();
        match event {
            Event::Started(effective) => {
                let mut keeper = keeper();
                keeper.store.start();
                keeper.days.start();
                keeper.create_table();
                keeper.garden.configure(effective.of::<config::Portal>());
                info!(devices = ?keeper.portal.devices, "portal open");
            }
            Event::Kernel(kernel::Event::Neighbour(neighbour)) => keeper().heard(neighbour, router),
            Event::Kernel(kernel::Event::Connection(connection)) => {
                keeper().connected(connection, router);
            }
            Event::Kernel(kernel::Event::ConnectionGone(id)) => keeper().questions.gone(id),
            Event::Kernel(kernel::Event::Link(_) | kernel::Event::LinkGone(_)) => {
                keeper().devices.on_link();
            }
            Event::Forwarded(all) => keeper().forwarded(all),
            Event::Second => {
                keeper().second(router);
            }
            _ => {}
        }
    }

    fn poll_at(&self) -> Option<Instant> {
        Some(self.open.as_ref()?.parts.keeper.borrow().turn_at())
    }

    fn poll(&self, _: Instant, router: &mut Router) {
        if let Some(open) = &self.open {
            open.parts.keeper.borrow_mut().turn(router);
        }
    }

    fn status(&self, _: &mut Router, report: &mut Report) {
        let Some(open) = &self.open else { return };
        report.status.modules.push("portal".to_owned());
        let keeper = open.parts.keeper.borrow();
        for file in [keeper.store.unwritten(), keeper.days.unwritten()] {
            report.findings.extend(file.map(|file| {
                let finding = Finding::new("unwritten", "portal", "vouchers").of(&file);
                finding.with("file", Value::Text(file))
            }));
        }
    }

    /// When weir stops, guests are not blocked.
    fn stop(&self, _: &mut Router) -> Option<Work> {
        let open = self.open.as_ref()?;
        let mut keeper = open.parts.keeper.borrow_mut();
        keeper.note();
        let settled = keeper.settled();
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
