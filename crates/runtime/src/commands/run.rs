//! `weir run`: the daemon.

use std::path::PathBuf;

use clap::Args;

use crate::Error;
use crate::config::{Api, DEFAULT_FILE, Flag, Log, Source};
use crate::registry::Context;
use crate::{daemon, log};

/// Run the daemon: forward packets until stopped
///
/// Needs no configuration: weir finds the devices that forward. Stops on SIGTERM or SIGINT, reloads
/// the configuration on SIGHUP. When the daemon stops or is killed, the kernel keeps forwarding all
/// connections.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir run                      use /etc/weir/weir.toml, if it exists
  weir run --only monitor       count traffic; only the kernel forwards
  weir run --shadow -v          forward nothing, but log and count decisions
  weir run --config ./weir.toml")]
pub struct RunArgs {
    /// Configuration file; must exist [default: /etc/weir/weir.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Run only these modules
    #[arg(long, value_name = "MODULE", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Decide and count, but leave every packet to the kernel
    #[arg(long)]
    pub shadow: bool,
    /// Socket to serve the API on [default: $WEIR_SOCKET, else the configuration's, else by network
    /// namespace]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Log more; twice for still more
    #[arg(short, long, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Log less; twice for errors only
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub quiet: u8,
}

pub fn run(args: &RunArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    let registry = context.registry;
    let mut flags = Vec::new();
    if args.shadow {
        flags.push(("offload.shadow", Flag::Set));
    }
    if let Some(socket) = &args.socket {
        let socket = std::path::absolute(socket)?;
        flags.push(("api.socket", Flag::Text(socket.to_string_lossy().into())));
    }
    let source = Source {
        file: args.config.clone(),
        flags,
        sections: registry.sections(),
        louder: i32::from(args.verbose) - i32::from(args.quiet),
    };
    datapath::process::close_descriptors_on_exec();
    datapath::process::return_freed_memory();
    let config = source.load()?;
    log::start(*config.of::<Log>().level);
    let socket =
        api::path::socket_path(args.socket.as_deref(), config.of::<Api>().socket.as_deref());
    let file = source.file.clone();
    let options = daemon::RunOptions {
        config: file.unwrap_or_else(|| DEFAULT_FILE.into()),
        source: Box::new(move || source.load()),
        socket,
        shadow: args.shadow,
        only: args.only.clone(),
        modules: registry.parts(),
    };
    daemon::run(config, options)
}
