//! The network-facing process. The process has only inherited sockets, no capability, and, as far
//! as the kernel's Landlock allows, no access to files and no TCP connection of its own. Its
//! requests to weir go through the API.

use std::rc::Rc;

use clap::Args;
use tracing_subscriber::filter::LevelFilter;
use web::channel::ServerEnd;
use web::{Backend, Listeners, PageServer};

use runtime::Error;
use runtime::daemon::subprocess::{self, Subprocess};
use runtime::output::Output;

/// Name of its command.
pub const NAME: &str = "page-server";

/// Description of the process.
pub const APART: Subprocess = Subprocess {
    command: NAME,
    what: "the web page's process",
    user: subprocess::PAGE,
};

/// Serve the web page; started by weir
///
/// Reads from standard input the data that weir hands over.
#[derive(Args, Debug)]
pub struct ServerArgs {
    /// Log level
    #[arg(long, default_value = "info")]
    log: LevelFilter,
}

/// Serves until weir is gone.
///
/// # Errors
/// The caller is not weir.
pub fn run(args: &ServerArgs, _: &mut Output<'_>) -> Result<(), Error> {
    runtime::log::start(args.log);
    let stranger = |error| {
        let hint = "start `weir run`, with `enabled = true` under [web]";
        Error::with_cause("only weir starts the web page's process", &error, hint)
    };
    let control = APART.enter(c"weir-page").map_err(stranger)?;
    runtime::event_loop()?.block_on(async {
        let (theirs, front, sockets) = ServerEnd::accept_opening(control).map_err(stranger)?;
        let theirs = Rc::new(theirs);
        let door = PageServer::new(front, Backend::Remote(Rc::clone(&theirs)));
        tokio::select! {
            ended = web::serve(Listeners::from_sockets(sockets), Rc::new(door)) => match ended {
                Err(error) => Err(stranger(error)),
                Ok(never) => match never {},
            },
            () = theirs.closed() => Ok(()),
        }
    })
}
