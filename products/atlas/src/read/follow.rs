//! Follows a directory: polls an address, and adds new snapshots to the store.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderMap, HeaderName, StatusCode, header};

use super::address::ResponseBody;
use super::archive::{self, ArchiveItem, Limits};
use super::import::{Sink, digest};
use super::mapping::Mapping;
use super::request::{Pace, told};
use super::snapshot::snapshot_of;
use super::stored_response::StoredResponse;
use super::{address, redirect};
use crate::error::Error;
use crate::store::Digest;

/// Default interval of requests to a directory.
pub const PERIOD: Duration = Duration::from_secs(3600);
/// Shortest interval.
const LEAST: Duration = Duration::from_secs(300);
/// Longest interval, after failures and if a server asks for a pause.
const MOST: Duration = Duration::from_secs(6 * 3600);
/// Slowest accepted server.
const PACE: Pace = Pace {
    answer: Duration::from_secs(60),
    least: 10 << 10,
    window: Duration::from_secs(30),
    whole: Duration::from_secs(120),
};
/// Bytes that it may have, as it is sent.
const SENT: u64 = 64 << 20;
/// Bytes of a header that is kept.
const HEADER: usize = 1000;

/// A directory that is queried repeatedly.
#[derive(Debug)]
pub struct Follower {
    address: String,
    period: Duration,
    agent: Agent,
    /// Validators of the server's last answer.
    etag: Option<String>,
    modified: Option<String>,
    /// File that stores the validators.
    file: Option<PathBuf>,
    /// State of the last run, until the first request.
    last: Option<StoredResponse>,
    /// Failures since the last answer.
    failures: u32,
    /// Pause that the server requested.
    pause: Duration,
}

/// Result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowResult {
    /// A new snapshot, which is in the store.
    New {
        /// Entries of communities.
        entries: usize,
        /// Lines for the ledger.
        remarks: usize,
    },
    /// No new snapshot.
    Same,
    /// The snapshot could not be fetched or read.
    Failed(String),
}

impl Follower {
    /// Creates a follower of an address, with an interval.
    pub fn new(address: &str, period: Duration) -> Result<Self, Error> {
        if !address::is_address(address) {
            let what = format!("{address:?} is not an address: write http://… or https://…");
            return Err(Error::Asked(what));
        }
        if period < LEAST {
            let what = "use an interval of 5 minutes or more, as a directory has other readers too";
            return Err(Error::Asked(what.to_owned()));
        }
        Ok(Self {
            address: address.to_owned(),
            period,
            agent: address::agent(address, PACE)?,
            etag: None,
            modified: None,
            file: None,
            last: None,
            failures: 0,
            pause: Duration::ZERO,
        })
    }

    /// Stores the validators of the last answer in this file, for the next start.
    #[must_use]
    pub fn remember(mut self, file: &Path) -> Self {
        self.last = StoredResponse::read(file).filter(|last| last.address == self.address);
        self.file = Some(file.to_owned());
        self
    }

    /// Writes the state. Without it, the answer is fetched once more after the next start.
    fn write(&self, digest: Digest) {
        let Some(file) = &self.file else {
            return;
        };
        let last = StoredResponse {
            address: self.address.clone(),
            etag: self.etag.clone(),
            modified: self.modified.clone(),
            digest,
        };
        if let Err(error) = last.write(file) {
            tracing::warn!(%error, "cannot store the directory's validators");
        }
    }

    /// Asks once; `now`: seconds since 1970. The error is one of the store.
    pub fn ask(
        &mut self,
        mapping: &Mapping,
        now: i64,
        sink: &mut dyn Sink,
    ) -> Result<FollowResult, Error> {
        self.pause = Duration::ZERO;
        let renewed = sink.renew()?;
        if let Some(last) = self.last.take()
            && sink.knows(&last.digest)?
        {
            (self.etag, self.modified) = (last.etag, last.modified);
        }
        if renewed {
            // The validators belong to the old store.
            (self.etag, self.modified) = (None, None);
        }
        let told = match self.fetch() {
            Ok(Some((octets, headers))) => {
                // Without the time: identical content an hour later is not new.
                let digest = digest(&octets, None);
                let told = keep(&octets, &digest, &self.address, mapping, now, sink)?;
                if !matches!(told, FollowResult::Failed(_)) {
                    self.etag = text(&headers, header::ETAG);
                    self.modified = text(&headers, header::LAST_MODIFIED);
                    self.write(digest);
                }
                told
            }
            Ok(None) => FollowResult::Same,
            Err(why) => FollowResult::Failed(why),
        };
        self.failures = match told {
            FollowResult::Failed(_) => self.failures.saturating_add(1),
            _ => 0,
        };
        Ok(told)
    }

    /// Returns the delay before the next request: short after one failure, long after many.
    pub fn wait(&self) -> Duration {
        let after_failures = match self.failures {
            0 => self.period,
            failures => LEAST
                .saturating_mul(1 << (failures - 1).min(10))
                .min(MOST.max(self.period)),
        };
        after_failures.max(self.pause.min(MOST))
    }

    /// Fetches the directory. `None`: unchanged.
    fn fetch(&mut self) -> Result<Option<(Vec<u8>, HeaderMap)>, String> {
        let known = [
            (header::IF_NONE_MATCH, self.etag.as_deref()),
            (header::IF_MODIFIED_SINCE, self.modified.as_deref()),
        ];
        let known = known.into_iter();
        let known: Vec<_> = known
            .filter_map(|(name, text)| Some((name, text?)))
            .collect();
        let answer = redirect::ask(&self.agent, &self.address, &known, PACE)?;
        let status = answer.status();
        if status == StatusCode::NOT_MODIFIED {
            return match known.is_empty() {
                false => Ok(None),
                true => Err(format!(
                    "it answers {status} to an unconditional request: the server, or a cache before it, is faulty"
                )),
            };
        }
        let headers = answer.headers().clone();
        if !status.is_success() {
            let pause = text(&headers, header::RETRY_AFTER).and_then(|s| s.parse().ok());
            self.pause = Duration::from_secs(pause.unwrap_or(0));
            return Err(format!("it answers {status}"));
        }
        let archive = || {
            let place = told(&self.address);
            format!("it answers with an archive: `weir-atlas import {place}` reads all of it")
        };
        let mut file = Err("the answer is empty".to_owned());
        let mut visit = |found: ArchiveItem<'_>| {
            file = match found {
                // Files of an archive have names. All would be of this hour.
                ArchiveItem::File { name, .. } | ArchiveItem::Wrong { name, .. }
                    if !name.is_empty() =>
                {
                    Err(archive())
                }
                ArchiveItem::File { octets, .. } => Ok(octets.to_vec()),
                ArchiveItem::Wrong { what, .. } => Err(what),
            };
            Ok(ControlFlow::Break(()))
        };
        let mut sent = ResponseBody::of(answer, PACE, SENT);
        let _ = archive::open("", &mut sent, &Limits::default(), &mut visit)
            .map_err(|error| error.to_string())?;
        match sent.failed() {
            Some(why) => Err(why),
            None => Ok(Some((file?, headers))),
        }
    }
}

/// Polls until `wait` ends the loop: `wait` receives the last result, and sleeps.
pub fn follow(
    mut follower: Follower,
    mapping: &Mapping,
    sink: &mut dyn Sink,
    wait: &mut dyn FnMut(&FollowResult, Duration) -> ControlFlow<()>,
) -> Result<(), Error> {
    loop {
        let now = jiff::Timestamp::now().as_second();
        let told = follower.ask(mapping, now, sink);
        sink.rest()?;
        let told = told?;
        if wait(&told, follower.wait()).is_break() {
            return Ok(());
        }
    }
}

/// Puts an answer into the store, under the name that the directory would give it now.
fn keep(
    octets: &[u8],
    digest: &Digest,
    place: &str,
    mapping: &Mapping,
    now: i64,
    sink: &mut dyn Sink,
) -> Result<FollowResult, Error> {
    // The answer may have taken a while.
    sink.renew()?;
    if sink.knows(digest)? {
        return Ok(FollowResult::Same);
    }
    let name = mapping
        .name_at(now)
        .unwrap_or_else(|| address::name_of(place).to_owned());
    let snapshot = snapshot_of(&name, Some(now), octets, mapping);
    sink.add(&snapshot, digest)?;
    sink.commit()?;
    Ok(match snapshot.entries.len() {
        0 => {
            let why = snapshot.remarks.first().map(|remark| remark.what.clone());
            FollowResult::Failed(why.unwrap_or_default())
        }
        entries => FollowResult::New {
            entries,
            remarks: snapshot.remarks.len(),
        },
    })
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?;
    (text.len() <= HEADER).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_bounded() {
        assert!(Follower::new("http://127.0.0.1/", Duration::from_secs(299)).is_err());
        assert!(Follower::new("/tmp/dir.json", PERIOD).is_err());
        let mut follower = Follower::new("http://127.0.0.1/", PERIOD).unwrap();
        let waits: Vec<u64> = (0..12)
            .map(|failures| {
                follower.failures = failures;
                follower.wait().as_secs() / 60
            })
            .collect();
        assert_eq!(waits, [60, 5, 10, 20, 40, 80, 160, 320, 360, 360, 360, 360]);
        follower.failures = u32::MAX;
        assert_eq!(follower.wait(), MOST);
        follower.pause = Duration::from_secs(u64::MAX);
        assert_eq!(follower.wait(), MOST);
        follower.failures = 1;
        follower.pause = Duration::from_secs(1800);
        assert_eq!(follower.wait().as_secs(), 1800);
    }
}
