//! Which paths wait: those that the user wants kept in reserve, and those that slow the others
//! down.

use std::future::pending;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use kernel::subflows::{Subflow, SubflowKind, TcpState};
use tokio::time::sleep;
use tracing::{debug, info};

use super::{Connection, Control, PathState};
use crate::guard::{Action, Guard, Sample};
use crate::hints::{self, Seen, Use};
use crate::io::paths::Paths;
use crate::io::share::Health;
use crate::unheard::Unheard;

/// How long another partner may take to take over, before what went by the tunnel goes directly.
const TAKES_OVER: Duration = Duration::from_secs(2);

impl Control {
    /// Whether what is not TCP is to be led into the tunnel: also for a moment when no path `works`, if
    /// there is another partner, so that it goes from one to the next.
    pub(super) fn leads(&self, works: bool) -> bool {
        let connected = matches!(self.told.lock().connection, Connection::Connected { .. });
        let another = connected && self.settings.pairings.len() > 1;
        if works || !another || !self.works.get() {
            self.lost.set(None);
            return works;
        }
        let since = self.lost.get().unwrap_or_else(Instant::now);
        self.lost.set(Some(since));
        since.elapsed() < TAKES_OVER
    }

    /// Waits until that moment is over.
    pub(super) async fn waited(&self) {
        match self.lost.get().filter(|_| self.works.get()) {
            Some(since) => sleep(TAKES_OVER.saturating_sub(since.elapsed())).await,
            None => pending().await,
        }
    }

    pub(super) fn in_use(&self, path: &PathState) -> bool {
        let down = self.share.health(path.address) == Some(Health::Down);
        let waits = self.share.in_reserve(path.address) && !self.share.rests(path.address);
        path.used != Use::Never && !down && !waits
    }

    /// Has those paths wait that are not needed now.
    pub(super) fn keep_reserve(&self, paths: &mut Paths) {
        let seen = paths.now().into_iter();
        let seen = seen.filter(|path| path.used != Use::Never);
        let seen: Vec<_> = seen
            .map(|path| Seen {
                address: path.address,
                used: path.used,
                down: self.share.health(path.address) == Some(Health::Down),
                rests: self.share.rests(path.address),
            })
            .collect();
        let reserve = hints::reserve(&seen);
        self.share.set_reserve(reserve.clone());
        paths.keep_in_reserve(reserve);
        let mut stray = self.stray.take();
        stray.sort_unstable();
        stray.dedup();
        for address in stray {
            paths.remind(address);
        }
    }

    /// Has paths rest that slow the others down, and use them again.
    pub(super) fn guard(&self, guard: &mut Guard, now: Duration) {
        let paths = self.told.lock().paths.clone();
        let used = paths.iter().filter(|path| path.in_use);
        let samples: Vec<_> = used
            .map(|path| Sample {
                address: path.address,
                sent: path.carried.sent,
                received: path.carried.received,
                rtt: path.carried.rtt,
            })
            .collect();
        let counted = self.share.counts.read();
        let mbit = |octets: f64| (octets * 8.0 / 1e5).round() / 10.0;
        for action in guard.look([counted.sent, counted.received], &samples, now) {
            match action {
                Action::Try {
                    address,
                    together,
                    best,
                } => {
                    let (together, best) = (mbit(together), mbit(best));
                    debug!(%address, together, best, "does this path slow the others down? It \
                        rests for a moment");
                }
                Action::Rest {
                    address,
                    together,
                    without,
                    rest,
                } => {
                    let (together, without) = (mbit(together), mbit(without));
                    let seconds = rest.as_secs();
                    info!(%address, together, without, seconds, "a path slowed the others down: \
                        TCP leaves it alone for a while (rates are Mbit/s)");
                }
                Action::Use { address, tried } => match tried {
                    true => debug!(%address, "it did not"),
                    false => info!(%address, "a path that rested is used again"),
                },
            }
        }
        let resting = samples.iter().map(|sample| sample.address);
        let resting = resting.filter(|address| guard.rests(*address));
        self.share.set_resting(resting.collect());
    }

    /// Has subflows of these paths told again whether they wait.
    pub(super) fn remind(&self, paths: Vec<IpAddr>) {
        if !paths.is_empty() {
            self.stray.borrow_mut().extend(paths);
            self.share.ailing.notify_one();
        }
    }

    /// Finds paths that are to wait, and by which the partner goes on sending.
    pub(super) fn unheard(&self, unheard: &mut Unheard, found: &[Subflow]) {
        let again = unheard.look(found, &self.share.reserve());
        for address in &again {
            debug!(%address, "the partner goes on sending by a path that is to wait: it is told \
                again");
        }
        self.remind(again);
    }

    /// Finds paths in reserve with subflows that do not wait, and others with some that do, now and
    /// at the last look ([`Paths::remind`]). Gives those of now.
    pub(super) fn strays(&self, found: &[Subflow], before: &[IpAddr]) -> Vec<IpAddr> {
        let used = found.iter().filter(|subflow| {
            let multipath = matches!(subflow.kind, SubflowKind::First | SubflowKind::Joined);
            multipath && subflow.state == TcpState::Established
        });
        let used = used.map(|subflow| (subflow.local.ip().to_canonical(), subflow.backup));
        let stray = used.filter(|(own, backup)| self.share.in_reserve(*own) != *backup);
        let mut stray: Vec<_> = stray.map(|(own, _)| own).collect();
        stray.sort_unstable();
        stray.dedup();
        let stays = stray.iter().filter(|own| before.contains(own)).copied();
        self.remind(stays.collect());
        stray
    }
}
