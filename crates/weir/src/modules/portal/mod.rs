//! The portal: guests get no further before they log in, and no longer than they may.

mod check;
mod command;
pub mod config;
mod door;
mod keeper;
mod names;
mod server;
mod sheet;
mod sockets;
mod store;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::task::Context;
use std::time::Instant;

use answers::{
    FormerVouchers, NewVouchers, NotesHeard, PortalClients, PortalKey, PortalNotes, PortalVoucher,
    PortalVouchers, Status, VoucherDevice, VoucherName,
};
use api::{Asked, Later, Method, Nothing, Problem, Route, Routes, Who};
use kernel::Event;
use portal::journal::Entry;
use portal::rules;
use portal::text;
use portal::voucher::{mac_of, station_of};
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::Error;
use crate::config::Effective;
use crate::daemon::{
    Face, Firewall, Forwarded, Module, Needs, Router, RulesetText, Setup, Work, apart, unix_seconds,
};
use crate::registry::{Command, Entry as ModuleEntry};
use keeper::{Keeper, MOST, Node};
use sockets::Sockets;
use store::Store;

/// The portal.
pub const ENTRY: ModuleEntry = ModuleEntry {
    choice: Some("Guests log in before they get any further"),
    sections: &config::SECTIONS,
    commands: || {
        vec![
            Command::printing("portal", command::run),
            Command::printing(server::NAME, server::run),
        ]
    },
    check: check::check,
    begin: Some(begin),
    ..ModuleEntry::named("portal")
};

/// Bytes of the longest name of a voucher.
const LONGEST_NAME: usize = 200;

/// A portal, if there is one.
struct Portal {
    /// What the page is headed with.
    title: String,
    /// What it says for itself, as HTML.
    text: String,
    /// By it what a former weir left is taken away, where there is no portal now.
    former: RefCell<Firewall>,
    /// What the firewall was told when the ruleset began to be read.
    loads: Cell<u64>,
    open: Option<Open>,
}

/// A portal that there is.
struct Open {
    keeper: Rc<RefCell<Keeper>>,
    sockets: Sockets,
    routes: RefCell<Routes>,
    folder: Vec<std::path::PathBuf>,
}

/// Opens the vouchers, and binds.
///
/// # Errors
/// A portal is configured, and cannot be: nobody would be kept out, or nobody be let in.
pub fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let config = setup.effective.of::<config::Portal>();
    let mut portal = Portal {
        title: config.title.0.clone(),
        text: String::new(),
        former: RefCell::default(),
        loads: Cell::default(),
        open: None,
    };
    if setup.wanted && !config.devices.is_empty() {
        let file = &*config.vouchers;
        let (store, read) = Store::open(file).map_err(|error| {
            let what = format!(
                "the vouchers in {} cannot be read and written",
                file.display()
            );
            Error::because(&what, &error, "see `vouchers` under [portal]")
        })?;
        portal.text = said(config.text.0.as_deref())?;
        let key_file = file.with_extension("key");
        let key = keeper::key(&key_file).map_err(|error| {
            let what = format!("the key in {} cannot be read or made", key_file.display());
            let hint = "see `vouchers` under [portal]; without the file, a new key is made, and what \
                was signed by the old one holds no more";
            Error::because(&what, &error, hint)
        })?;
        let sockets = Sockets::bind().map_err(|error| {
            let hint = format!(
                "ports {} and {} are the portal's: see `ss -tulpn` for who has them",
                sockets::PAGE,
                sockets::NAMES
            );
            Error::because("the portal cannot listen", &error, &hint)
        })?;
        portal.open = Some(Open {
            keeper: Rc::new(RefCell::new(Keeper::new(
                check::rules(config),
                (config.gift(), config.schedule()),
                (store, read),
                Node::new(key, &config.trust.0),
                &config.exempt.0,
            ))),
            sockets,
            routes: RefCell::default(),
            folder: file.parent().map(Into::into).into_iter().collect(),
        });
    }
    Ok(Rc::new(portal))
}

/// What the page says for the community.
fn said(file: Option<&Path>) -> Result<String, Error> {
    let Some(file) = file else {
        return Ok(String::new());
    };
    let failed = |error: &dyn std::error::Error| {
        let what = format!("what {} says cannot be shown", file.display());
        Error::because(&what, error, "see `text` under [portal]")
    };
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
    text::shown(&text).map_err(|error| failed(&error))
}

impl Portal {
    fn open(&self) -> Result<&Open, Problem> {
        self.open.as_ref().ok_or_else(|| {
            let hint = "write `devices = [\"br-lan\"]` under [portal], and start weir anew";
            Problem::new(409, "no_portal", "there is no portal here", hint)
        })
    }

    fn loads(&self) -> u64 {
        match &self.open {
            Some(open) => open.keeper.borrow().firewall.loads(),
            None => self.former.borrow().loads(),
        }
    }

    fn keeper(&self) -> Result<Rc<RefCell<Keeper>>, Problem> {
        Ok(Rc::clone(&self.open()?.keeper))
    }

    /// What other nodes are to know.
    fn told(&self) -> Later<PortalNotes> {
        let work = self.keeper().map(|keeper| keeper.borrow().told());
        Box::pin(async move {
            let lines = aside(work?).await?;
            Ok(PortalNotes { lines })
        })
    }

    /// What other nodes tell.
    fn hear(&self, lines: Vec<String>, face: Rc<Face>) -> Later<NotesHeard> {
        let keeper = self.keeper();
        Box::pin(async move {
            let keeper = keeper?;
            let work = keeper.borrow().look(lines);
            let looked = aside(work).await?;
            let heard = keeper.borrow_mut().hear(looked, &mut face.router());
            Ok(heard)
        })
    }

    /// Changes a voucher. What is answered is on the disk.
    fn changed(
        &self,
        id: &str,
        change: impl FnOnce(&mut Keeper, &str) -> Result<(), Problem>,
    ) -> Later<PortalVoucher> {
        let changed = self.keeper().and_then(|keeper| {
            let mut keeper = keeper.borrow_mut();
            change(&mut keeper, id)?;
            let shown = keeper.voucher(id).ok_or_else(|| no_voucher(id))?;
            Ok((shown, keeper.store.settled()))
        });
        Box::pin(async move {
            let (shown, settled) = changed?;
            kept(settled).await?;
            Ok(shown)
        })
    }

    /// Makes vouchers. They are there once they are on the disk.
    fn add(&self, asked: NewVouchers) -> Later<PortalVouchers> {
        let made = || {
            allowed(&asked)?;
            let keeper = self.keeper()?;
            let mut made = Vec::new();
            for _ in 0..asked.count {
                made.push(keeper.borrow().make(&asked)?);
            }
            let lines = made
                .iter()
                .map(|v| Entry::Voucher(Box::new(v.clone())).line())
                .collect();
            let written = keeper.borrow().store.write(lines);
            Ok((keeper, made, written))
        };
        let made = made();
        Box::pin(async move {
            let (keeper, made, written) = made?;
            let failed = |why: String| {
                let hint = "make room on the disk; nothing was sold";
                Problem::new(
                    500,
                    "not_written",
                    format!("no voucher was made: {why}"),
                    hint,
                )
            };
            written
                .await
                .map_err(|e| failed(e.to_string()))?
                .map_err(failed)?;
            let mut keeper = keeper.borrow_mut();
            // Of 2^40 codes none is had twice; if one is, there is a voucher less.
            let ids: Vec<String> = made
                .into_iter()
                .filter_map(|voucher| {
                    let id = voucher.id.clone();
                    keeper.guests.add(voucher).then_some(id)
                })
                .collect();
            let vouchers = ids.iter().filter_map(|id| keeper.voucher(id)).collect();
            Ok(PortalVouchers { vouchers })
        })
    }
}

/// Ready when what was done is on the disk.
async fn kept(settled: oneshot::Receiver<Result<(), String>>) -> Result<(), Problem> {
    let failed = |why: String| {
        let detail = format!("it is done, and lost when weir starts anew: {why}");
        let hint = "make room on the disk: until then it is tried again and again";
        Problem::new(500, "not_written", detail, hint)
    };
    let written = settled.await.map_err(|error| failed(error.to_string()))?;
    written.map_err(failed)
}

/// Signatures take their time on a router: the daemon goes on meanwhile.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Problem::new(500, "no_thread", error.to_string(), "try again"))
}

fn allowed(asked: &NewVouchers) -> Result<(), Problem> {
    let wrong = |what: String, hint: &str| Err(Problem::new(400, "wrong_voucher", what, hint));
    if asked.count == 0 || asked.count > MOST {
        let hint = "make more by several calls";
        return wrong(
            format!("{} vouchers at once; 1 to {MOST} are possible", asked.count),
            hint,
        );
    }
    if asked.devices == 0 || asked.devices > 1000 {
        return wrong(
            format!("{} devices; 1 to 1000 are possible", asked.devices),
            "say how many",
        );
    }
    if asked.duration == Some(0) {
        return wrong(
            "a voucher of no time".to_owned(),
            "say how long it is good for",
        );
    }
    let far = u64::from(u32::MAX);
    if asked.duration.is_some_and(|time| time > far) || asked.until.is_some_and(|day| day > far) {
        return wrong(
            "a time beyond the year 2106".to_owned(),
            "make it good for ever, or name no day",
        );
    }
    if asked.until.is_some_and(|day| day <= unix_seconds()) {
        return wrong(
            "a voucher that is to be used first before today".to_owned(),
            "name a day to come",
        );
    }
    if asked.bytes == Some(0) {
        return wrong(
            "a voucher of no bytes".to_owned(),
            "say how many, or none for no end",
        );
    }
    name(&asked.name)
}

fn name(name: &str) -> Result<(), Problem> {
    if name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        let what = format!("a name is one line of at most {LONGEST_NAME} bytes");
        return Err(Problem::new(400, "wrong_name", what, "take a shorter one"));
    }
    Ok(())
}

fn no_mac() -> Problem {
    let hint = "a hardware address is written as 02:00:5e:10:00:01";
    Problem::new(400, "wrong_mac", "this is no hardware address", hint)
}

fn is_over(id: &str) -> Problem {
    let detail = format!("voucher {id} is over: expired, or called back");
    Problem::new(
        409,
        "voucher_over",
        detail,
        "make another one by `weir portal voucher add`",
    )
}

fn no_voucher(id: &str) -> Problem {
    let detail = format!("there is no voucher {}", api::problem::clipped(id));
    Problem::new(
        404,
        "no_voucher",
        detail,
        "`weir portal voucher list` has all of them",
    )
}

impl Module for Portal {
    fn needs(&self) -> Needs {
        match &self.open {
            None => Needs::default(),
            Some(open) => Needs {
                write: open.folder.clone(),
                programs: std::env::current_exe().into_iter().collect(),
                capabilities: apart::CAPABILITIES.to_vec(),
                ..Needs::default()
            },
        }
    }

    fn routes(self: Rc<Self>, face: &Rc<Face>) -> Vec<Route> {
        if let Some(open) = &self.open {
            *open.routes.borrow_mut() = server::routes(&open.keeper, face);
        }
        let me = || Rc::clone(&self);
        let (clients, vouchers, add, rename) = (me(), me(), me(), me());
        let (activate, invalidate, end) = (me(), me(), me());
        let (one, key, told, heard) = (me(), me(), me(), me());
        let at = || Rc::clone(face);
        let (listed_at, named_at, admitted_at, called_at, ended_at) =
            (at(), at(), at(), at(), at());
        let (heard_at, imported_at, import) = (at(), at(), me());
        vec![
            Route::get("/v1/portal/clients", Who::User, move |()| {
                let keeper = clients.keeper()?;
                let keeper = keeper.borrow();
                let clients = keeper.clients(&listed_at.router());
                let hours = keeper.hours();
                Ok(PortalClients { clients, hours })
            }),
            Route::get("/v1/portal/vouchers", Who::User, move |()| {
                let vouchers = vouchers.keeper()?.borrow().vouchers();
                Ok(PortalVouchers { vouchers })
            }),
            Route::new(
                Method::GET,
                "/v1/portal/vouchers/{id}",
                Who::User,
                move |asked: Asked<(), Nothing>| -> Result<PortalVoucher, Problem> {
                    let id = &asked.parts[0];
                    let keeper = one.keeper()?;
                    let keeper = keeper.borrow();
                    keeper.whole(id).ok_or_else(|| no_voucher(id))
                },
            ),
            Route::later(
                Method::POST,
                "/v1/portal/import",
                Who::User,
                move |asked: Asked<(), FormerVouchers>| {
                    let router = &mut imported_at.router();
                    let made = import.keeper().and_then(|keeper| {
                        let mut keeper = keeper.borrow_mut();
                        let imported = keeper.import(&asked.body.pirania, router)?;
                        Ok((imported, keeper.store.settled()))
                    });
                    Box::pin(async move {
                        let (imported, settled) = made?;
                        kept(settled).await?;
                        Ok(imported)
                    })
                },
            ),
            Route::get("/v1/portal/key", Who::User, move |()| {
                let key = key.keeper()?.borrow().node.key.public().to_string();
                Ok(PortalKey { key })
            }),
            Route::later(
                Method::GET,
                "/v1/portal/notes",
                Who::Root,
                move |_: Asked<(), Nothing>| told.told(),
            ),
            Route::later(
                Method::POST,
                "/v1/portal/notes",
                Who::Root,
                move |asked: Asked<(), PortalNotes>| {
                    heard.hear(asked.body.lines, Rc::clone(&heard_at))
                },
            ),
            Route::later(
                Method::POST,
                "/v1/portal/vouchers",
                Who::User,
                move |asked: Asked<(), NewVouchers>| add.add(asked.body),
            ),
            Route::later(
                Method::POST,
                "/v1/portal/vouchers/{id}/rename",
                Who::User,
                move |asked: Asked<(), VoucherName>| {
                    let router = &mut named_at.router();
                    rename.changed(&asked.parts[0], |keeper, id| {
                        name(&asked.body.name)?;
                        keeper.rename(id, asked.body.name.clone(), router);
                        Ok(())
                    })
                },
            ),
            Route::later(
                Method::POST,
                "/v1/portal/vouchers/{id}/activate",
                Who::User,
                move |asked: Asked<(), VoucherDevice>| {
                    let router = &mut admitted_at.router();
                    activate.changed(&asked.parts[0], |keeper, id| {
                        let mac = station_of(&asked.body.mac).ok_or_else(no_mac)?;
                        match keeper.activate(id, mac, router) {
                            Some(Err(_)) => Err(is_over(id)),
                            Some(Ok(())) | None => Ok(()),
                        }
                    })
                },
            ),
            Route::later(
                Method::POST,
                "/v1/portal/vouchers/{id}/invalidate",
                Who::User,
                move |asked: Asked<(), Nothing>| {
                    let router = &mut called_at.router();
                    invalidate.changed(&asked.parts[0], |keeper, id| {
                        keeper.invalidate(id, router);
                        Ok(())
                    })
                },
            ),
            Route::new(
                Method::POST,
                "/v1/portal/clients/{mac}/end",
                Who::User,
                move |asked: Asked<(), Nothing>| -> Result<PortalClients, Problem> {
                    let keeper = end.keeper()?;
                    let mut keeper = keeper.borrow_mut();
                    let router = &mut ended_at.router();
                    let mac = mac_of(&asked.parts[0]).ok_or_else(no_mac)?;
                    if !keeper.end(mac, router) {
                        let detail = format!(
                            "no device {} is let in",
                            api::problem::clipped(&asked.parts[0])
                        );
                        let hint = "`weir portal clients` has all of them";
                        return Err(Problem::new(404, "no_client", detail, hint));
                    }
                    let clients = keeper.clients(router);
                    let hours = keeper.hours();
                    Ok(PortalClients { clients, hours })
                },
            ),
        ]
    }

    fn start(&self, _: &Effective, router: &mut Router) {
        if let Some(open) = &self.open {
            let mut keeper = open.keeper.borrow_mut();
            keeper.store.start();
            keeper.table();
            keeper.look_for_devices(router);
            info!(devices = ?keeper.portal.devices, "the portal is open");
        }
    }

    fn configure(&self, effective: &Effective, router: &mut Router) {
        if let Some(open) = &self.open {
            let config = effective.of::<config::Portal>();
            let mut keeper = open.keeper.borrow_mut();
            let known = (&*config.exempt.0, &*config.trust.0);
            let held = (check::rules(config), config.schedule());
            keeper.configure(held, known, router);
        }
    }

    fn work(self: Rc<Self>) -> Option<Work> {
        Some(Box::pin(async move {
            let told = async {
                loop {
                    let poll = |context: &mut Context<'_>| match &self.open {
                        Some(open) => open.keeper.borrow_mut().firewall.poll_told(context),
                        None => self.former.borrow_mut().poll_told(context),
                    };
                    if let Err(error) = std::future::poll_fn(poll).await {
                        let open = self.open.as_ref();
                        if open.is_some_and(|open| open.keeper.borrow_mut().refused()) {
                            continue;
                        }
                        let hint = "see `weir check`";
                        warn!(error, hint, "the firewall does not take the portal's rules");
                    }
                }
            };
            let served = async {
                if let Some(open) = &self.open {
                    let routes = open.routes.borrow().clone();
                    server::keep((&self.title, &self.text), &open.sockets, &routes).await;
                }
            };
            tokio::join!(told, served);
        }))
    }

    fn heard(&self, event: &Event, router: &mut Router) {
        let Some(open) = &self.open else { return };
        match event {
            Event::Neighbour(neighbour) => open.keeper.borrow_mut().heard(neighbour, router),
            Event::Connection(connection) => {
                let mut keeper = open.keeper.borrow_mut();
                keeper.connected(connection);
                keeper.began(connection.id.original.source, router);
            }
            Event::ConnectionGone(id) => open.keeper.borrow_mut().gone(id),
            Event::Link(_) | Event::LinkGone(_) => {
                open.keeper.borrow_mut().look_for_devices(router);
            }
            _ => {}
        }
    }

    fn ruleset_reading(&self) {
        self.loads.set(self.loads());
    }

    /// Whoever took the table away, it comes again.
    fn ruleset_read(&self, read: Result<&RulesetText, &str>, _: &mut Router) {
        let Ok(text) = read else { return };
        // Read while it was on its way.
        let loads = self.loads();
        if loads % 2 == 1 || self.loads.get() != loads {
            return;
        }
        match (&self.open, check::is_whole(&text.text)) {
            (Some(open), None) => {
                warn!("the portal's table is gone; it comes anew");
                open.keeper.borrow_mut().table();
            }
            (Some(open), Some(false)) => {
                warn!("somebody changed rules in the portal's table; it comes anew");
                open.keeper.borrow_mut().table();
            }
            (None, Some(_)) => self.former.borrow_mut().tell(rules::remove()),
            _ => {}
        }
    }

    fn forwarded(&self, all: &[Forwarded<'_>], _: &offload::Core) {
        if let Some(open) = &self.open {
            open.keeper.borrow_mut().forwarded(all);
        }
    }

    fn second(&self, router: &mut Router) {
        if let Some(open) = &self.open {
            open.keeper.borrow_mut().second(router);
        }
    }

    fn turn_at(&self) -> Option<Instant> {
        Some(self.open.as_ref()?.keeper.borrow().turn_at())
    }

    fn turn(&self, router: &mut Router) {
        if let Some(open) = &self.open {
            open.keeper.borrow_mut().turn(router);
        }
    }

    fn status(&self, _: &mut Router, status: &mut Status) {
        if self.open.is_some() {
            status.modules.push("portal".to_owned());
        }
    }

    /// Told to stop, weir stands in nobody's way.
    fn stop(&self, _: &mut Router) -> Option<Work> {
        let open = self.open.as_ref()?;
        let mut keeper = open.keeper.borrow_mut();
        keeper.note();
        let firewall = std::mem::take(&mut keeper.firewall);
        Some(Box::pin(async move {
            if let Err(error) = firewall.finish(rules::remove()).await {
                let table = rules::TABLE;
                warn!(
                    error,
                    "the portal's rules are left: `nft delete table inet {table}`"
                );
            }
        }))
    }
}
