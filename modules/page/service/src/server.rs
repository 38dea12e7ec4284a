//! The network-facing process. The process has only inherited sockets, no capability, and, as far
//! as the kernel's Landlock goes, no access to files and no TCP connection of its own. Its requests
//! to weir go through the API.

use std::rc::Rc;

use clap::Args;
use tracing_subscriber::filter::LevelFilter;
use web::channel::Theirs;
use web::{Behind, Door, Listeners};

use runtime::Error;
use runtime::daemon::apart::{self, Apart};
use runtime::output::Output;

/// Name of its command.
pub const NAME: &str = "page-server";

/// Description of the process.
pub const APART: Apart = Apart {
    command: NAME,
    what: "the web page's process",
    user: apart::PAGE,
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
        Error::because("only weir starts the web page's process", &error, hint)
    };
    let control = APART.enter(c"weir-page").map_err(stranger)?;
    runtime::event_loop()?.block_on(async {
        let (theirs, front, sockets) = Theirs::open(control).map_err(stranger)?;
        let theirs = Rc::new(theirs);
        let door = Door::new(front, Behind::There(Rc::clone(&theirs)));
        tokio::select! {
            ended = web::serve(Listeners::of(sockets), Rc::new(door)) => match ended {
                Err(error) => Err(stranger(error)),
                Ok(never) => match never {},
            },
            () = theirs.closed() => Ok(()),
        }
    })
}
