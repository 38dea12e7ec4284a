//! The process that strangers speak to. It has the sockets that it was given, no capability, and,
//! as far as the kernel's Landlock goes, no file and no TCP connection of its own. It asks weir by
//! the API.

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use clap::Args;
use nix::sys::signal::Signal;
use nix::unistd::{self, Gid, Uid, User};
use tracing::warn;
use tracing_subscriber::filter::LevelFilter;
use web::channel::Theirs;
use web::{Behind, Door};

use crate::Error;
use crate::daemon::{confine, privileges, syscalls};
use crate::output::Output;

/// Its command.
pub const NAME: &str = "page-server";

/// What it takes over of weir's environment: how the log looks.
pub const ENVIRONMENT: [&str; 2] = ["NO_COLOR", "JOURNAL_STREAM"];

/// Serve the web page, for weir, which starts this
///
/// Standard input is what weir handed over.
#[derive(Args, Debug)]
#[command(hide = true)]
pub struct ServerArgs {
    /// How much is told
    #[arg(long, default_value = "info")]
    log: LevelFilter,
}

/// What the process runs as: who owns nothing.
const NOBODY: &str = "nobody";

/// Of nobody, where the system has no list of users that says.
const NOBODYS: u32 = 65_534;

/// Where weir may not choose users, the process has weir's, which is told.
fn become_nobody() {
    let (user, group) = match User::from_name(NOBODY) {
        Ok(Some(user)) if !user.uid.is_root() => (user.uid, user.gid),
        _ => (Uid::from_raw(NOBODYS), Gid::from_raw(NOBODYS)),
    };
    let changed = unistd::setgroups(&[])
        .and_then(|()| unistd::setgid(group))
        .and_then(|()| unistd::setuid(user));
    if let Err(error) = changed {
        warn!(
            %error,
            hint = "give weir CAP_SETUID and CAP_SETGID",
            "the web page's process has the user that weir has"
        );
    }
}

/// Serves until weir is gone.
///
/// # Errors
/// It was not weir that started it.
pub fn run(args: &ServerArgs, _: &mut Output<'_>) -> Result<(), Error> {
    crate::log::start(args.log);
    // Only for `ps`.
    let _ = nix::sys::prctl::set_name(c"weir-page");
    let stranger = |error| {
        let hint = "start `weir run`, with `enabled = true` under [web]";
        Error::because(
            "the web page's process is started by weir alone",
            &error,
            hint,
        )
    };
    let control: OwnedFd = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(stranger)?;
    // A session of its own: no terminal takes what it would type there.
    let _ = unistd::setsid();
    become_nobody();
    privileges::drop_all();
    // After that: another user's process is not ended with its parent.
    if let Err(error) = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL) {
        warn!(%error, "the web page's process may outlive weir");
    }
    confine::confine_wholly();
    syscalls::refuse();
    crate::event_loop()?.block_on(async {
        let (theirs, front, listeners) = Theirs::open(control).map_err(stranger)?;
        let theirs = Rc::new(theirs);
        let door = Door::new(front, Behind::There(Rc::clone(&theirs)));
        tokio::select! {
            ended = web::serve(listeners, Rc::new(door)) => match ended {
                Err(error) => Err(stranger(error)),
                Ok(never) => match never {},
            },
            () = theirs.closed() => Ok(()),
        }
    })
}
