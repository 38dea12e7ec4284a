//! Decides which paths wait: those that the user wants kept in reserve, and those that slow the
//! others down.

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use answers::Path;
use kernel::subflows::{Subflow, SubflowKind, TcpState};
use tracing::{debug, info};

use crate::backup_reminders::BackupReminders;
use crate::goodput::{Action, GoodputMonitor, Sample};
use crate::hints::{self, PathStatus, Use};
use crate::io::paths::Paths;
use crate::io::proxy_state::{Health, ProxyState};

/// See the module.
pub struct Reserve {
    share: Arc<ProxyState>,
    /// Addresses of paths with subflows that may have the wrong backup flag.
    stray: RefCell<Vec<IpAddr>>,
}

impl Reserve {
    /// Creates the state, without waiting paths.
    pub fn new(share: Arc<ProxyState>) -> Self {
        Self {
            share,
            stray: RefCell::default(),
        }
    }

    /// Fills in whether a path is in use, answers and is paused.
    pub fn describe(&self, path: &mut Path) {
        let health = self.share.health(path.address);
        path.rests = self.share.rests(path.address);
        path.answers = health.map(|it| it == Health::Up);
        let waits = self.share.in_reserve(path.address) && !path.rests;
        path.in_use = path.used != Use::Never && health != Some(Health::Down) && !waits;
    }

    /// Makes paths wait that are not needed now.
    pub fn keep(&self, paths: &mut Paths) {
        let seen = paths.now().into_iter();
        let seen = seen.filter(|path| path.used != Use::Never);
        let seen: Vec<_> = seen
            .map(|path| PathStatus {
                address: path.address,
                used: path.used,
                down: self.share.health(path.address) == Some(Health::Down),
                paused: self.share.rests(path.address),
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

    /// Pauses paths that slow the others down, and resumes them.
    pub fn guard(&self, guard: &mut GoodputMonitor, paths: &[Path], now: Duration) {
        let used = paths.iter().filter(|path| path.in_use);
        let samples: Vec<_> = used
            .map(|path| Sample {
                address: path.address,
                sent: path.sent,
                received: path.received,
                rtt: path.rtt,
            })
            .collect();
        let counted = self.share.counts.read();
        let mbit = |octets: f64| (octets * 8.0 / 1e5).round() / 10.0;
        for action in guard.update([counted.sent, counted.received], &samples, now) {
            match action {
                Action::Try {
                    address,
                    together,
                    best,
                } => {
                    let (together, best) = (mbit(together), mbit(best));
                    debug!(%address, together, best, "path pauses for a moment, to measure whether \
                        it slows down the others");
                }
                Action::Rest {
                    address,
                    together,
                    without,
                    rest,
                } => {
                    let (together, without) = (mbit(together), mbit(without));
                    let seconds = rest.as_secs();
                    info!(%address, together, without, seconds, "path pauses for TCP: it slowed \
                        down the others (rates are Mbit/s)");
                }
                Action::Use { address, tried } => match tried {
                    true => debug!(%address, "path does not slow down the others: used again"),
                    false => info!(%address, "path used again after a pause"),
                },
            }
        }
        let resting = samples.iter().map(|sample| sample.address);
        let resting = resting.filter(|address| guard.is_paused(*address));
        self.share.set_resting(resting.collect());
    }

    /// Requests another notice to the subflows of these paths whether they wait.
    fn remind(&self, paths: Vec<IpAddr>) {
        if !paths.is_empty() {
            self.stray.borrow_mut().extend(paths);
            self.share.ailing.notify_one();
        }
    }

    /// Finds backup paths by which the partner keeps sending, although they should wait.
    pub fn unheard(&self, unheard: &mut BackupReminders, found: &[Subflow]) {
        let again = unheard.update(found, &self.share.reserve());
        for address in &again {
            debug!(%address, "the partner still sends on a path in reserve: repeating the request \
                to stop");
        }
        self.remind(again);
    }

    /// Finds paths in reserve with subflows that do not wait, and others with some that do; reminds
    /// those that the last check found too ([`Paths::remind`]). Returns the paths found now.
    pub fn strays(&self, found: &[Subflow], before: &[IpAddr]) -> Vec<IpAddr> {
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
