//! `weir-atlas follow`: follows a growing directory.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use tracing::{info, warn};

use super::data::Data;
use super::failure::Failure;
use super::import::{MappingOption, on_interrupt};
use super::terminal::log;
use crate::error::Error;
use crate::read::{self, FollowResult, Follower, Mapping};
use crate::store::Writer;

/// Interval at which a sleeping follower checks for the end.
const LOOK: Duration = Duration::from_millis(200);

/// File in the data folder with the server's validators of its last answer.
const REMEMBERED: &str = "follow.json";

/// Query a directory regularly, and store what is new
///
/// Queries once an hour unless --every says otherwise, and less often while the directory fails.
/// Sends the validator of the last answer, so that the server need not send an unchanged answer
/// again.
#[derive(Args, Debug)]
#[command(after_long_help = "\
`weir-atlas serve --follow URL` does the same while serving.

Example:
  weir-atlas follow https://example.org/ffSummarizedDir.json")]
pub(super) struct Arguments {
    /// Address (URL) of the directory
    url: String,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    mapping: MappingOption,
    #[command(flatten)]
    every: FollowInterval,
}

/// Interval of queries.
#[derive(Args, Clone, Debug)]
pub(super) struct FollowInterval {
    /// Minutes between two queries, at least 5
    #[arg(long, value_name = "MINUTES", default_value_t = 60,
          value_parser = clap::value_parser!(u16).range(5..=1440))]
    every: u16,
}

impl FollowInterval {
    pub fn follower(&self, url: &str, data: &Path) -> Result<Follower, Error> {
        let follower = Follower::new(url, Duration::from_secs(u64::from(self.every) * 60))?;
        Ok(follower.remember(&data.join(REMEMBERED)))
    }
}

pub(super) fn run(arguments: &Arguments, _output: &mut impl Write) -> Result<(), Failure> {
    let mapping = arguments.mapping.read()?;
    let follower = arguments
        .every
        .follower(&arguments.url, &arguments.data.data)?;
    let mut store = Writer::open(&arguments.data.data)?;
    log();
    let ends = on_interrupt();
    Ok(follow(follower, &mapping, &mut store, &ends)?)
}

/// Follows until `ends`.
pub(super) fn follow(
    follower: Follower,
    mapping: &Mapping,
    store: &mut Writer,
    ends: &AtomicBool,
) -> Result<(), Error> {
    read::follow(follower, mapping, store, &mut |told, pause| {
        match told {
            FollowResult::New { entries, remarks } => info!(entries, remarks, "new snapshot"),
            FollowResult::Same => info!("no changes"),
            FollowResult::Failed(why) => warn!(%why, "cannot read the directory"),
        }
        let due = Instant::now() + pause;
        while Instant::now() < due {
            if ends.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            std::thread::sleep(LOOK);
        }
        ControlFlow::Continue(())
    })
}
