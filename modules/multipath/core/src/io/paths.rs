//! The router's uplinks as paths to the partner: their list, and the kernel's configuration for
//! using them all.
//!
//! Each path has a table with nothing but a route to the partner, and a rule that packets to the
//! partner *from this path's address* use it: a connection's subflows differ in their source
//! address only. Each path also has an endpoint, from which the kernel makes a subflow for each
//! connection. No other traffic is touched.

mod routing;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use answers::{Path, Twin};
use kernel::io::Events;
use kernel::mptcp::{Endpoint, EndpointFlags};
use kernel::uplinks::{Change, Uplink, Uplinks};
use kernel::{Event, Source};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, warn};

use super::kernel_settings::KernelSettings;
use crate::hints::{Hints, Use};
use routing::Routing;

/// Time for changes to settle, as changes arrive in groups: a new address, its route, the default
/// route. A lost path counts at once.
const SETTLE: Duration = Duration::from_millis(30);
/// Time for which a new path is a backup, before it is used like the others. If a connection gets a
/// subflow while a thread reads from it, and data arrives on the new subflow before the read is
/// over, Linux 6.18 takes that data for the next in the stream (`__mptcp_flush_join_list` in
/// net/mptcp/protocol.c; docs/limits.md); a backup carries none.
const JOIN: Duration = Duration::from_millis(100);
/// Pause after a failed reading.
const AGAIN: Duration = Duration::from_secs(1);

/// See the module.
pub struct Paths {
    routing: Routing,
    tuned: KernelSettings,
    events: Events,
    uplinks: Uplinks,
    /// Time of the next full reading.
    due: Option<Instant>,
    /// Addresses of paths that are not to carry anything.
    resting: Vec<IpAddr>,
    /// Addresses of paths that are to carry something only while others cannot.
    reserve: Vec<IpAddr>,
    /// True if there may be connections by now.
    opened: bool,
    /// Addresses of new paths that wait, each with the end of its wait.
    joining: Vec<(IpAddr, Instant)>,
    hints: Hints,
    /// Devices that come and go all the time: connections are better off without them.
    damped: Vec<String>,
}

impl Paths {
    /// Reads the kernel's tables in this thread's network namespace; removes the remains of a
    /// killed weir. `folder`: see [`KernelSettings::new`]; `hints`: the user's, about paths.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn open(folder: &std::path::Path, hints: Hints) -> io::Result<Self> {
        let events = Events::open(Source::Route)?;
        let mut paths = Self {
            routing: Routing::open()?,
            tuned: KernelSettings::new(folder),
            events,
            uplinks: Uplinks::default(),
            due: None,
            resting: Vec::new(),
            reserve: Vec::new(),
            opened: false,
            joining: Vec::new(),
            hints,
            damped: Vec::new(),
        };
        paths.look();
        paths.opened = true;
        Ok(paths)
    }

    /// Returns the current paths, best first, unused ones too.
    pub fn now(&self) -> Vec<Path> {
        let paths = self.uplinks.now().iter().map(|uplink| Path {
            device: uplink.name.clone(),
            address: uplink.address,
            gateway: uplink.gateway,
            used: used_as(&self.hints, uplink),
            in_use: false,
            answers: None,
            rests: false,
            strips: false,
            subflows: 0,
            fell_back: 0,
            backup: false,
            rtt: None,
            sent: 0,
            received: 0,
            retransmitted: 0,
            tunnel_sent: 0,
            tunnel_received: 0,
        });
        paths.collect()
    }

    fn is_used(&self, uplink: &Uplink) -> bool {
        used_as(&self.hints, uplink) != Use::Never
    }

    /// Applies other hints.
    pub fn hint(&mut self, hints: Hints) {
        if self.hints == hints {
            return;
        }
        let before = std::mem::replace(&mut self.hints, hints);
        for uplink in &self.uplinks.now().to_vec() {
            let was = used_as(&before, uplink) != Use::Never;
            match (was, self.is_used(uplink)) {
                (true, false) => {
                    self.resting.retain(|other| *other != uplink.address);
                    self.end(uplink);
                }
                (false, true) => self.begin(uplink),
                _ => {}
            }
        }
        self.write();
    }

    /// Makes these paths backups, and all others regular paths.
    pub fn keep_in_reserve(&mut self, addresses: Vec<IpAddr>) {
        let known = |list: &[IpAddr], address: &IpAddr| list.contains(address);
        let before = std::mem::replace(&mut self.reserve, addresses);
        let left = before.iter().filter(|was| !known(&self.reserve, was));
        let come = self.reserve.iter().filter(|now| !known(&before, now));
        // First the paths that take over, so that there is one at any time.
        let changes = left.map(|was| (*was, false));
        let changes: Vec<_> = changes.chain(come.map(|now| (*now, true))).collect();
        for (address, backup) in changes {
            // Paths that still join get the flag when their wait ends.
            if !self.joins(address) {
                self.set_backup(address, backup);
            }
        }
    }

    /// Repeats a path's backup flag for all its subflows. Some may have the wrong one: the first
    /// subflow of a connection that began by it, one whose notice was lost, or one that did not
    /// exist yet at the last notice.
    pub fn remind(&mut self, address: IpAddr) {
        let waits = self.reserve.contains(&address);
        let mut own = self.uplinks.now().iter().filter(|own| self.is_used(own));
        if own.any(|own| own.address == address) && !self.joins(address) {
            // The kernel sends only a change to the other side.
            self.set_backup(address, !waits);
            self.set_backup(address, waits);
        }
    }

    fn joins(&self, address: IpAddr) -> bool {
        self.joining.iter().any(|(joins, _)| *joins == address)
    }

    /// Creates a path's new subflows as backups.
    fn join(&mut self, address: IpAddr) {
        self.joining.retain(|(joins, _)| *joins != address);
        self.joining.push((address, Instant::now() + JOIN));
    }

    /// Ends the wait of paths that have waited long enough.
    fn joined(&mut self) {
        let now = Instant::now();
        let waits = |(_, until): &(IpAddr, Instant)| *until > now;
        let (waiting, joined) = std::mem::take(&mut self.joining)
            .into_iter()
            .partition(waits);
        self.joining = waiting;
        let joined: Vec<_> = joined;
        for (address, _) in joined {
            if !self.reserve.contains(&address) {
                self.set_backup(address, false);
            }
        }
    }

    fn set_backup(&mut self, address: IpAddr, backup: bool) {
        let Some(mptcp) = self.tuned.mptcp() else {
            return;
        };
        debug!(%address, backup, "priority of a path's subflows changed");
        if let Err(error) = mptcp.set_backup(address, backup) {
            warn!(%error, %address, "cannot set the priority of a path's subflows");
        }
    }

    /// Returns uplinks that share a path's address, and wait until it fails.
    pub fn twins(&self) -> Vec<Twin> {
        let twins = self.uplinks.twins().iter().filter_map(|twin| {
            let mut paths = self.uplinks.now().iter();
            Some(Twin {
                device: twin.name.clone(),
                address: twin.address,
                of: paths
                    .find(|path| path.address == twin.address)?
                    .name
                    .clone(),
            })
        });
        twins.collect()
    }

    /// Removes a path's subflows, or creates them again.
    pub fn rest(&mut self, address: IpAddr, rests: bool) {
        let Some(uplink) = self
            .uplinks
            .now()
            .iter()
            .find(|uplink| uplink.address == address)
        else {
            return;
        };
        if !self.is_used(uplink) {
            return;
        }
        let change = match (rests, self.resting.contains(&address)) {
            (true, false) => Change::Removed(uplink.clone()),
            (false, true) if !self.damped.contains(&uplink.name) => Change::Added(uplink.clone()),
            _ => return,
        };
        match rests {
            true => self.resting.push(address),
            false => self.resting.retain(|other| *other != address),
        }
        self.follow(&[change]);
    }

    /// Pauses the paths of these devices, unless no other path works; resumes devices that are no
    /// longer listed.
    pub fn damp(&mut self, devices: Vec<String>) {
        let (mut paths, damps) = (self.uplinks.now().iter(), |name| devices.contains(name));
        let devices = match paths.any(|uplink| !damps(&uplink.name)) {
            true => devices,
            false => Vec::new(),
        };
        if self.damped == devices {
            return;
        }
        let before = std::mem::replace(&mut self.damped, devices);
        for uplink in self.uplinks.now().to_vec() {
            let [was, is] = [&before, &self.damped].map(|list| list.contains(&uplink.name));
            if was != is {
                self.rest(uplink.address, is);
            }
        }
    }

    /// Makes the kernel remake a path's subflows, for connections that lack theirs.
    pub fn renew(&mut self, address: IpAddr) {
        if self.resting.contains(&address) {
            return;
        }
        self.set_backup(address, true);
        self.join(address);
        let renewed = self.tuned.mptcp().map(|mptcp| mptcp.renew(address));
        match renewed {
            Some(Ok(true)) | None => {}
            Some(Ok(false)) => {
                self.rest(address, true);
                self.rest(address, false);
            }
            Some(Err(error)) => warn!(%error, %address, "cannot create the subflows again"),
        }
    }

    /// Routes packets marked for the tunnel by this device; `None`: like all other packets.
    pub fn tunnel(&mut self, link: Option<u32>) {
        if self.routing.tunnel(link) {
            self.write();
        }
    }

    /// Drops packets that enter by these devices, unless the lock's rules marked them.
    pub fn lock(&mut self, devices: &[String]) {
        if self.routing.lock(devices) {
            self.write();
        }
    }

    /// Sets the partner's addresses.
    pub fn lead_to(&mut self, partner: &[SocketAddr]) {
        if self.routing.lead_to(partner) {
            self.write();
        }
    }

    fn write(&mut self) {
        let used = self.uplinks.now().iter();
        let used = used.filter(|uplink| used_as(&self.hints, uplink) != Use::Never);
        self.routing.write(used);
    }

    /// Waits until paths have changed. Cancel-safe: pending work stays due.
    ///
    /// # Errors
    /// The kernel's events have ended.
    pub async fn changed(&mut self) -> io::Result<()> {
        let mut found: Vec<Event> = Vec::new();
        loop {
            let (due, joined) = (self.due, self.joining.iter().map(|(_, until)| *until).min());
            tokio::select! {
                heard = self.events.recv(&mut found) => heard?,
                () = until(joined) => {
                    self.joined();
                    continue;
                }
                () = until(due) => return match self.look() {
                    true => Ok(()),
                    false => continue,
                },
            }
            let mut gone = Vec::new();
            for event in found.drain(..) {
                if self.uplinks.event(&event, &mut gone) && self.due.is_none() {
                    self.due = Some(Instant::now() + SETTLE);
                }
            }
            if !gone.is_empty() {
                self.follow(&gone);
                return Ok(());
            }
        }
    }

    /// Reads all tables again. Returns true if anything changed.
    fn look(&mut self) -> bool {
        self.due = None;
        let picture = match self.routing.picture() {
            Ok(picture) => picture,
            Err(error) => {
                warn!(%error, "cannot read routes: retrying");
                self.due = Some(Instant::now() + AGAIN);
                return false;
            }
        };
        let twins = self.uplinks.twins().to_vec();
        let changes = self.uplinks.update(&picture);
        let uplinks = self.uplinks.now();
        self.resting
            .retain(|rests| uplinks.iter().any(|uplink| uplink.address == *rests));
        // Other programs may have removed weir's rules while the paths stayed the same.
        self.write();
        self.follow(&changes);
        !changes.is_empty() || twins != self.uplinks.twins()
    }

    /// Adds and removes endpoints with the paths: connections then use a returned path at once, and
    /// leave a lost one.
    fn follow(&mut self, changes: &[Change]) {
        for change in changes {
            let (gone, come) = match change {
                Change::Removed(gone) => (Some(gone), None),
                Change::Changed { before, now } => (Some(before), Some(now)),
                Change::Added(come) => (None, Some(come)),
            };
            if let Some(gone) = gone.filter(|gone| self.is_used(gone)) {
                self.end(gone);
            }
            if let Some(come) = come.filter(|come| self.is_used(come)) {
                if self.damped.contains(&come.name) {
                    self.resting.push(come.address);
                    continue;
                }
                self.begin(come);
            }
        }
    }

    fn end(&mut self, uplink: &Uplink) {
        let Uplink { address, name, .. } = uplink;
        self.joining.retain(|(joins, _)| joins != address);
        let Some(mptcp) = self.tuned.mptcp() else {
            return;
        };
        debug!(%address, name, "path removed");
        if let Err(error) = mptcp.withdraw(*address) {
            warn!(%error, %address, "cannot end the subflows of a removed path");
        }
    }

    fn begin(&mut self, uplink: &Uplink) {
        let Uplink { address, name, .. } = uplink;
        // At the start, no connections need subflows.
        let joins = self.opened;
        if joins {
            self.join(*address);
        }
        let backup = joins || self.reserve.contains(address);
        let Some(mptcp) = self.tuned.mptcp() else {
            return;
        };
        debug!(%address, name, "path added");
        let endpoint = Endpoint {
            id: 0,
            address: *address,
            port: None,
            link: Some(uplink.link),
            flags: EndpointFlags {
                subflow: true,
                backup,
                ..EndpointFlags::default()
            },
        };
        if let Err(error) = mptcp.add(&endpoint) {
            warn!(%error, %address, name, "cannot add a path for connections");
        }
    }

    /// Restores the kernel's tables.
    pub fn leave(&mut self) {
        self.routing.leave();
        let used = self.uplinks.now().iter();
        let used: Vec<_> = used.filter(|u| self.is_used(u)).cloned().collect();
        let Some(mptcp) = self.tuned.mptcp() else {
            return;
        };
        for uplink in used {
            if let Err(error) = mptcp.withdraw(uplink.address) {
                warn!(%error, address = %uplink.address, "cannot remove an endpoint: see `ip mptcp endpoint`");
            }
        }
    }
}

fn used_as(hints: &Hints, uplink: &Uplink) -> Use {
    hints
        .get(&uplink.name)
        .map_or(Use::default(), |hint| hint.used)
}

/// Waits until that time, or for ever.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
