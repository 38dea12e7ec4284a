//! The process that guests speak to, and its requests to weir: to identify a device by its address,
//! and to admit a guest with a code.

use std::cell::RefCell;
use std::rc::Rc;

use api::{Asked, Later, Limits, Method, Nothing, Problem, Route, Routes, Who};
use clap::Args;
use portal_core::account::{Account, Verdict};
use portal_core::page::Trouble;
use portal_core::pass::Pass;
use tracing_subscriber::filter::LevelFilter;
use web::channel::{Ours, Theirs};
use web::{Device, Pair, Sought};

use super::door::Door;
use super::garden::{self, Guide};
use super::keeper::Keeper;
use super::messages::{Came, Knock, Named, Opening, Visited, Visitor};
use super::names;
use super::radius::Client;
use super::routes;
use super::secure::{Certificate, secured};
use super::sockets::Sockets;
use super::welcome::Welcome;
use runtime::Error;
use runtime::daemon::Face;
use runtime::daemon::apart::{self, Apart};
use runtime::output::Output;

/// Name of the command.
pub const NAME: &str = "portal-server";

/// The process.
const APART: Apart = Apart {
    command: NAME,
    what: "the portal's process",
    user: apart::PORTAL,
};

/// Requests answered at once.
const ANSWERS: usize = 64;

/// Serve the portal; started by weir
///
/// Reads from standard input the data that weir hands over.
#[derive(Args, Debug)]
pub struct ServerArgs {
    /// Log level
    #[arg(long, default_value = "info")]
    log: LevelFilter,
}

/// Returns the routes for the process, and no others.
pub fn routes(
    keeper: &Rc<RefCell<Keeper>>,
    (welcome, certificate): (&Rc<Welcome>, &Rc<Option<Certificate>>),
    radius: &Option<Rc<Client>>,
    face: &Rc<dyn Face>,
) -> Routes {
    let certificate = Rc::clone(certificate);
    let pair = move |()| -> Result<Pair, Problem> {
        let none = || Problem::new(404, "no_certificate", "no certificate", "see `host`");
        Ok(certificate.as_ref().as_ref().ok_or_else(none)?.pair())
    };
    let at = || (Rc::clone(keeper), Rc::clone(face));
    let ((visits, visited), (knocks, knocked), (leaves, left)) = (at(), at(), at());
    let ((gives, given), (seeks, sought)) = (at(), at());
    let [shown, told, picture] = [0; 3].map(|_| Rc::clone(welcome));
    let visit = move |asked: Asked<(), Visitor>| -> Result<Visited, Problem> {
        let mut keeper = visits.borrow_mut();
        let (address, router) = (asked.body.address, &visited.router());
        let pass = pass_of(asked.body.pass.as_deref());
        if let Some(mac) = keeper.devices.mac(address, router) {
            keeper.compare(mac, pass, false);
        }
        let client = keeper.client_at(address, router);
        let stranger = || Problem::new(404, "stranger", "no such device", "try again");
        Ok(Visited {
            client: client.ok_or_else(stranger)?,
            free: keeper.visited(address, router),
            again: pass.is_some_and(|pass| keeper.holds(&pass.voucher)),
            hours: keeper.hours.shown(),
            welcome: shown.version(),
        })
    };
    let seek = move |asked: Asked<(), Sought>| -> Result<Device, Problem> {
        let keeper = seeks.borrow();
        let mac = keeper.devices.mac(asked.body.address, &sought.router());
        Ok(Device { mac })
    };
    let knock = move |asked: Asked<(), Knock>| -> Later<Came> {
        let Ok(ticket) = asked.body.code.parse() else {
            let came = Some(Trouble::NoCode).into();
            return Box::pin(std::future::ready(Ok(came)));
        };
        let mut keeper = knocks.borrow_mut();
        let router = &mut knocked.router();
        let pass = pass_of(asked.body.pass.as_deref());
        let came = keeper.log_in(asked.body.address, (ticket, pass), router);
        answered(came, &mut keeper)
    };
    let give = move |asked: Asked<(), Visitor>| -> Later<Came> {
        let mut keeper = gives.borrow_mut();
        let Visitor {
            address, password, ..
        } = &asked.body;
        let came = keeper.give(*address, password, &mut given.router());
        answered(came.map(|()| None), &mut keeper)
    };
    let (radius, (comes, router)) = (radius.clone(), at());
    let name = move |asked: Asked<(), Named>| -> Later<Came> {
        let (radius, comes) = (radius.clone(), Rc::clone(&comes));
        let router = Rc::clone(&router);
        Box::pin(async move { by_account(asked.body, radius, (&comes, &router)).await })
    };
    let leave = move |asked: Asked<(), Visitor>| -> Result<(), Problem> {
        leaves
            .borrow_mut()
            .leave(asked.body.address, &mut left.router());
        Ok(())
    };
    let own = [
        Route::new(Method::POST, "/portal/visit", Who::Guest, visit),
        Route::new(Method::POST, "/portal/device", Who::Guest, seek),
        Route::later(Method::POST, "/portal/login", Who::Guest, knock),
        Route::later(Method::POST, "/portal/free", Who::Guest, give),
        Route::later(Method::POST, "/portal/account", Who::Guest, name),
        Route::new(Method::POST, "/portal/logout", Who::Guest, leave),
        Route::get("/portal/certificate", Who::Guest, pair),
        Route::get("/portal/welcome", Who::Guest, move |()| Ok(told.told())),
        Route::raw(
            Method::GET,
            "/portal/picture",
            Who::Guest,
            move |_: Asked<(), Nothing>| routes::picture(&picture),
        ),
    ];
    Routes::new(own.into_iter().chain(garden::routes(keeper, face)))
}

async fn by_account(
    named: Named,
    radius: Option<Rc<Client>>,
    (keeper, face): (&RefCell<Keeper>, &Rc<dyn Face>),
) -> Result<Came, Problem> {
    let Some(radius) = radius else {
        return Ok(Some(Trouble::NotTheAccount).into());
    };
    let Named {
        address,
        name,
        password,
    } = named;
    let name = name.trim();
    let comes = keeper
        .borrow_mut()
        .comes(address, name.to_owned(), &face.router());
    let asker = match comes {
        Ok(Some(asker)) => asker,
        Ok(None) => return Ok(None.into()),
        Err(trouble) => return Ok(Some(trouble).into()),
    };
    let account = Account {
        name,
        password: &password,
        mac: asker.mac,
        address,
    };
    // An account that cannot be asked about does not exist.
    let verdict = match account.fits() {
        true => radius.ask(&account).await,
        false => Some(Verdict::Reject(String::new())),
    };
    let let_in = {
        let (mut keeper, router) = (keeper.borrow_mut(), &mut face.router());
        let came = keeper.decide(asker, verdict, (radius.accounts(), router));
        answered(came.map(|()| None), &mut keeper)
    };
    let_in.await
}

fn pass_of(text: Option<&str>) -> Option<Pass> {
    text?.parse().ok()
}

fn answered(came: Result<Option<Pass>, Trouble>, keeper: &mut Keeper) -> Later<Came> {
    let let_in = keeper.table.let_in();
    Box::pin(async move {
        if let Some(let_in) = let_in {
            let _ = let_in.await;
        }
        let (pass, trouble) = match came {
            Ok(pass) => (pass.map(|pass| pass.to_string()), None),
            Err(trouble) => (None, Some(trouble)),
        };
        Ok(Came { trouble, pass })
    })
}

/// Keeps the process going, for ever.
pub async fn keep((host, accounts): (Option<&str>, bool), sockets: &Sockets, routes: &Routes) {
    let mut secret = [0; 32];
    // Without random numbers no form is accepted; other code reports the failure.
    let _ = getrandom::fill(&mut secret);
    let begin = |ours: Ours| {
        let opening = Opening {
            accounts,
            host: host.map(str::to_owned),
            secret,
        };
        ours.begin(&opening, &sockets.descriptors())?;
        ours.questions(|_| Who::Guest)
    };
    let limits = || Limits {
        answers: ANSWERS,
        ..Limits::default()
    };
    APART.keep(begin, routes, limits).await;
}

/// Serves until weir is gone.
///
/// # Errors
/// The process was not started by weir.
pub fn run(args: &ServerArgs, _: &mut Output<'_>) -> Result<(), Error> {
    runtime::log::start(args.log);
    let stranger = |error| {
        let hint = "start `weir run`, with `devices` under [portal]";
        Error::because("only weir starts the portal's process", &error, hint)
    };
    let control = APART.enter(c"weir-portal").map_err(stranger)?;
    runtime::event_loop()?.block_on(async {
        let (theirs, opening, handed) = Theirs::open::<Opening>(control).map_err(stranger)?;
        let theirs = Rc::new(theirs);
        let mut sockets = Sockets::of(handed, opening.host.is_some());
        let secure = sockets.secure();
        let (page, tcp, udp) = sockets.parts();
        let guide = Rc::new(Guide::new(Rc::clone(&theirs)));
        let door = Rc::new(Door::new(opening, Rc::clone(&theirs)));
        let by_https = async {
            match secure {
                Some(secure) => web::serve(secure, secured(Rc::clone(&door))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = by_https => match ended {
                Err(error) => Err(stranger(error)),
                Ok(never) => match never {},
            },
            ended = web::serve(page, Rc::clone(&door)) => match ended {
                Err(error) => Err(stranger(error)),
                Ok(never) => match never {},
            },
            ended = names::serve(tcp, udp, guide) => Err(stranger(ended)),
            () = theirs.closed() => Ok(()),
        }
    })
}
