//! The process that guests speak to, and its requests to weir: to identify a device by its address,
//! and to admit a guest with a code.

use std::cell::RefCell;
use std::rc::Rc;

use api::{
    AccessLevel, ApiRequest, EmptyBody, Limits, Method, Problem, ResponseFuture, Route, Routes,
};
use clap::Args;
use portal_core::account::{Account, Verdict};
use portal_core::page::GuestProblem;
use portal_core::pass::Pass;
use tracing_subscriber::filter::LevelFilter;
use web::channel::{DaemonEnd, ServerEnd};
use web::{Device, DeviceQuery, PemPair};

use super::guest_server::GuestServer;
use super::guest_service::GuestService;
use super::https::{Certificate, secured};
use super::messages::{
    AccountLogin, CodeLogin, GuestStatus, GuestStatusRequest, LoginResult, OpeningMessage,
};
use super::names;
use super::page_content::PageContent;
use super::radius::Client;
use super::routes;
use super::sockets::Sockets;
use super::walled_garden::{self, WalledGardenClient};
use runtime::Error;
use runtime::daemon::ApiContext;
use runtime::daemon::subprocess::{self, Subprocess};
use runtime::output::Output;

/// Name of the command.
pub const NAME: &str = "portal-server";

/// The process.
const APART: Subprocess = Subprocess {
    command: NAME,
    what: "the portal's process",
    user: subprocess::PORTAL,
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
    keeper: &Rc<RefCell<GuestService>>,
    (welcome, certificate): (&Rc<PageContent>, &Rc<Option<Certificate>>),
    radius: &Option<Rc<Client>>,
    face: &Rc<dyn ApiContext>,
) -> Routes {
    let certificate = Rc::clone(certificate);
    let pair = move |()| -> Result<PemPair, Problem> {
        let none = || Problem::new(404, "no_certificate", "no certificate", "see `host`");
        Ok(certificate.as_ref().as_ref().ok_or_else(none)?.pair())
    };
    let at = || (Rc::clone(keeper), Rc::clone(face));
    let ((visits, visited), (knocks, knocked), (leaves, left)) = (at(), at(), at());
    let ((gives, given), (seeks, sought)) = (at(), at());
    let [shown, told, picture] = [0; 3].map(|_| Rc::clone(welcome));
    let visit = move |asked: ApiRequest<(), GuestStatusRequest>| -> Result<GuestStatus, Problem> {
        let mut keeper = visits.borrow_mut();
        let (address, router) = (asked.body.address, &visited.router());
        let pass = pass_of(asked.body.pass.as_deref());
        if let Some(mac) = keeper.devices.mac(address, router) {
            keeper.compare(mac, pass, false);
        }
        let client = keeper.client_at(address, router);
        let stranger = || Problem::new(404, "stranger", "no such device", "try again");
        Ok(GuestStatus {
            client: client.ok_or_else(stranger)?,
            free: keeper.record_visit(address, router),
            again: pass.is_some_and(|pass| keeper.holds(&pass.voucher)),
            hours: keeper.schedule.shown(),
            welcome: shown.version(),
        })
    };
    let seek = move |asked: ApiRequest<(), DeviceQuery>| -> Result<Device, Problem> {
        let keeper = seeks.borrow();
        let mac = keeper.devices.mac(asked.body.address, &sought.router());
        Ok(Device { mac })
    };
    let knock = move |asked: ApiRequest<(), CodeLogin>| -> ResponseFuture<LoginResult> {
        let Ok(ticket) = asked.body.code.parse() else {
            let came = Some(GuestProblem::NoCode).into();
            return Box::pin(std::future::ready(Ok(came)));
        };
        let mut keeper = knocks.borrow_mut();
        let router = &mut knocked.router();
        let pass = pass_of(asked.body.pass.as_deref());
        let came = keeper.log_in(asked.body.address, (ticket, pass), router);
        answered(came, &mut keeper)
    };
    let give = move |asked: ApiRequest<(), GuestStatusRequest>| -> ResponseFuture<LoginResult> {
        let mut keeper = gives.borrow_mut();
        let GuestStatusRequest {
            address, password, ..
        } = &asked.body;
        let came = keeper.grant_free_access(*address, password, &mut given.router());
        answered(came.map(|()| None), &mut keeper)
    };
    let (radius, (comes, router)) = (radius.clone(), at());
    let name = move |asked: ApiRequest<(), AccountLogin>| -> ResponseFuture<LoginResult> {
        let (radius, comes) = (radius.clone(), Rc::clone(&comes));
        let router = Rc::clone(&router);
        Box::pin(async move { by_account(asked.body, radius, (&comes, &router)).await })
    };
    let leave = move |asked: ApiRequest<(), GuestStatusRequest>| -> Result<(), Problem> {
        leaves
            .borrow_mut()
            .leave(asked.body.address, &mut left.router());
        Ok(())
    };
    let own = [
        Route::new(Method::POST, "/portal/visit", AccessLevel::Guest, visit),
        Route::new(Method::POST, "/portal/device", AccessLevel::Guest, seek),
        Route::new_async(Method::POST, "/portal/login", AccessLevel::Guest, knock),
        Route::new_async(Method::POST, "/portal/free", AccessLevel::Guest, give),
        Route::new_async(Method::POST, "/portal/account", AccessLevel::Guest, name),
        Route::new(Method::POST, "/portal/logout", AccessLevel::Guest, leave),
        Route::get("/portal/certificate", AccessLevel::Guest, pair),
        Route::get("/portal/welcome", AccessLevel::Guest, move |()| {
            Ok(told.snapshot())
        }),
        Route::raw(
            Method::GET,
            "/portal/picture",
            AccessLevel::Guest,
            move |_: ApiRequest<(), EmptyBody>| routes::picture(&picture),
        ),
    ];
    Routes::new(own.into_iter().chain(walled_garden::routes(keeper, face)))
}

async fn by_account(
    named: AccountLogin,
    radius: Option<Rc<Client>>,
    (keeper, face): (&RefCell<GuestService>, &Rc<dyn ApiContext>),
) -> Result<LoginResult, Problem> {
    let Some(radius) = radius else {
        return Ok(Some(GuestProblem::NotTheAccount).into());
    };
    let AccountLogin {
        address,
        name,
        password,
    } = named;
    let name = name.trim();
    let comes = keeper
        .borrow_mut()
        .start_account_login(address, name.to_owned(), &face.router());
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

fn answered(
    came: Result<Option<Pass>, GuestProblem>,
    keeper: &mut GuestService,
) -> ResponseFuture<LoginResult> {
    let let_in = keeper.table.let_in();
    Box::pin(async move {
        if let Some(let_in) = let_in {
            let _ = let_in.await;
        }
        let (pass, trouble) = match came {
            Ok(pass) => (pass.map(|pass| pass.to_string()), None),
            Err(trouble) => (None, Some(trouble)),
        };
        Ok(LoginResult { trouble, pass })
    })
}

/// Keeps the process going, for ever.
pub async fn keep((host, accounts): (Option<&str>, bool), sockets: &Sockets, routes: &Routes) {
    let mut secret = [0; 32];
    // Without random numbers no form is accepted; other code reports the failure.
    let _ = getrandom::fill(&mut secret);
    let begin = |ours: DaemonEnd| {
        let opening = OpeningMessage {
            accounts,
            host: host.map(str::to_owned),
            secret,
        };
        ours.send_opening(&opening, &sockets.descriptors())?;
        ours.into_requests(|_| AccessLevel::Guest)
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
        Error::with_cause("only weir starts the portal's process", &error, hint)
    };
    let control = APART.enter(c"weir-portal").map_err(stranger)?;
    runtime::event_loop()?.block_on(async {
        let (theirs, opening, handed) =
            ServerEnd::accept_opening::<OpeningMessage>(control).map_err(stranger)?;
        let theirs = Rc::new(theirs);
        let mut sockets = Sockets::of(handed, opening.host.is_some());
        let secure = sockets.secure();
        let (page, tcp, udp) = sockets.parts();
        let guide = Rc::new(WalledGardenClient::new(Rc::clone(&theirs)));
        let door = Rc::new(GuestServer::new(opening, Rc::clone(&theirs)));
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
