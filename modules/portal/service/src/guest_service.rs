//! The daemon's state of guests, and its transfer to the kernel.

mod account;
mod api_types;
mod browsers;
mod daily_statistics;
mod devices;
mod external_networks;
mod firewall_table;
mod free_access;
mod login_throttle;
mod node;
mod schedule;
mod voucher_issue;
mod walled_garden;

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use answers::{Imported, NotesHeard, PortalClient, PortalVoucher, QrPicture};
use api::Problem;
use datapath::FlowEndpoints;
use kernel::{Connection, ConnectionId, Mac, Neighbour};
use net::clock::unix_seconds;
use net::mac::text as mac_text;
use portal_core::account::Verdict;
use portal_core::attempts::{self, AttemptClass};
use portal_core::form::Password;
use portal_core::guests::{Attempt, Change, Guests, ImportResult, Refusal};
use portal_core::journal::Entry;
use portal_core::keys::TrustedNode;
use portal_core::page::GuestProblem;
use portal_core::pass::Pass;
use portal_core::rules;
use portal_core::schedule::{Mode, Schedule};
use portal_core::signed_voucher::{SignedVoucher, Ticket};
use portal_core::voucher::{Origin, Voucher};
use portal_core::{Millis, journal, pirania};
use tracing::{info, warn};

pub use account::{Accounts, PendingLogin};
pub use api_types::no_voucher;
pub use daily_statistics::DailyStatistics;
pub use free_access::FreeAccessTerms;
pub use node::{Node, VerifiedNotes, key};
pub use voucher_issue::{MOST, sell};

use browsers::{Browsers, number};
use daily_statistics::NOTED;
use devices::{NameQueries, PortalDevices};
use firewall_table::FirewallTable;
use free_access::FreeAccess;
use login_throttle::LoginThrottle;
use schedule::{ScheduleState, seconds};
use voucher_issue::make;
use walled_garden::WalledGarden;

use super::sheet::link;
use super::store::VoucherStore;
use runtime::daemon::{ForwardedFlow, Router};
use runtime::output::qr;

/// The middle of the portal.
pub struct GuestService {
    /// Firewall configuration, without guests.
    pub portal: rules::TableSettings,
    pub guests: Guests,
    pub store: VoucherStore,
    pub table: FirewallTable,
    pub devices: PortalDevices,
    pub node: Node,
    pub statistics: DailyStatistics,
    pub schedule: ScheduleState,
    /// Names that every device may reach.
    pub walled_garden: WalledGarden,
    pub questions: NameQueries,
    browsers: Browsers,
    free: FreeAccess,
    tries: LoginThrottle,
    last_written: Instant,
    /// Changes that are still to be made.
    changes: Vec<Change>,
    /// Time at which the next voucher is over.
    expiry: Option<Instant>,
}

impl GuestService {
    pub fn new(
        portal: rules::TableSettings,
        (gift, schedule): (Option<FreeAccessTerms>, Schedule),
        (store, read): (VoucherStore, journal::JournalContent),
        (node, days): (Node, DailyStatistics),
        exempt: &[Mac],
    ) -> Self {
        let now = Instant::now();
        let mut changes = Vec::new();
        let mut guests = Guests::new(read.vouchers.into_values(), 0, &mut changes);
        guests.exempt(exempt, &mut changes);
        let mut keeper = Self {
            devices: PortalDevices::new(&portal.devices),
            portal,
            guests,
            store,
            table: FirewallTable::new(),
            node,
            statistics: days,
            schedule: ScheduleState::new(schedule, (now, unix_seconds())),
            walled_garden: WalledGarden::default(),
            questions: NameQueries::default(),
            browsers: Browsers::default(),
            free: FreeAccess::new(gift),
            tries: LoginThrottle::default(),
            last_written: now,
            // Pending changes are part of the new table.
            changes: Vec::new(),
            expiry: None,
        };
        keeper.reckon();
        keeper
    }

    /// Creates the firewall's table, with all guests.
    pub fn create_table(&mut self) {
        let all = self.guests.kernel_state(self.schedule.now()).into_iter();
        let admitted: Vec<_> = all.filter_map(|change| self.within(change)).collect();
        let open = (self.schedule.mode == Mode::Open).then(|| {
            let lasts = self.schedule.lasts();
            lasts.map_or(Millis::MAX, |lasts| lasts.as_millis() as Millis)
        });
        self.walled_garden.doubt();
        let guests = (&*admitted, self.guests.rate_limits());
        self.table.create(&self.portal, guests, open);
    }

    /// Handles a command that the firewall refused. Returns true if another command follows.
    pub fn refused(&mut self) -> bool {
        let again = self.table.refused();
        if again {
            self.create_table();
        }
        again
    }

    /// Limits a change to the present hours; `None`: the kernel needs no update.
    fn within(&self, change: Change) -> Option<Change> {
        let bound = |mac: &Mac, left| {
            let guest = self.guests.guest(mac);
            match guest.is_some_and(|guest| guest.voucher.is_none()) {
                true => Some(left),
                false => self.schedule.bound(left),
            }
        };
        Some(match change {
            Change::Admit(mac, left) => Change::Admit(mac, bound(&mac, left)?),
            Change::AddAddress(mac, address, left) => {
                Change::AddAddress(mac, address, bound(&mac, left)?)
            }
            other => other,
        })
    }

    fn other_hours(&mut self, router: &mut Router) {
        self.create_table();
        self.reckon();
        if self.schedule.mode == Mode::Closed {
            let guests = self.guests.guests();
            let gone = guests.filter(|(_, guest)| guest.voucher.is_some());
            let gone = gone.flat_map(|(_, guest)| guest.addresses.iter().copied());
            end_connections(&gone.collect(), router);
        }
    }

    /// Computes when the next voucher is over.
    fn reckon(&mut self) {
        let now = self.schedule.now();
        let next = self.guests.next(now).filter(|_| self.schedule.runs());
        self.expiry = next.map(|at| Instant::now() + Duration::from_millis(at.saturating_sub(now)));
    }

    /// Applies a new configuration.
    pub fn configure(
        &mut self,
        (portal, schedule): (rules::TableSettings, Schedule),
        (exempt, trust): (&[Mac], &[TrustedNode]),
        router: &mut Router,
    ) {
        self.node.trust(trust);
        self.devices.configure(&portal.devices);
        let same = std::mem::replace(&mut self.portal, portal) == self.portal;
        self.guests.exempt(exempt, &mut self.changes);
        let known: Vec<_> = router.core.neighbours().collect();
        for neighbour in known {
            self.notice(&neighbour, router);
        }
        self.apply_changes(router);
        if self.schedule.configure(schedule, unix_seconds()) {
            self.other_hours(router);
        } else if !same && !self.table.change_rules(&self.portal) {
            // Admissions are still queued: only the last queued command reaches the firewall.
            self.create_table();
        }
    }

    /// Logs in a guest with a code or a signed voucher. `pass`: stored pass of the browser. Returns
    /// the new pass.
    pub fn log_in(
        &mut self,
        address: IpAddr,
        (ticket, pass): (Ticket, Option<Pass>),
        router: &mut Router,
    ) -> Result<Option<Pass>, GuestProblem> {
        let mac = self.devices.mac(address, router);
        let mac = mac.ok_or(GuestProblem::Stranger)?;
        self.schedule.check_open()?;
        let is_signed = |voucher: &SignedVoucher| self.node.is_signed(voucher);
        let pool = attempts::pool(&ticket, pass.as_ref(), is_signed);
        self.take_attempt(pool, &mac)?;
        let token = pass.map_or_else(number, |pass| Some(pass.token));
        self.compare(mac, pass, true);
        if matches!(ticket, Ticket::Signed(_)) && pool != AttemptClass::Proven {
            return Err(GuestProblem::Foreign);
        }
        let addresses = [vec![address], self.devices.addresses(mac, router)].concat();
        let attempt = Attempt {
            ticket,
            mac,
            addresses: &addresses,
            token,
        };
        let (key, changes) = (&self.node.key, &mut self.changes);
        let pass = self
            .guests
            .redeem(&attempt, key, self.schedule.when(), changes)?;
        self.tries.refund(pool, &mac);
        self.statistics.logged_in(&mac);
        let mac = mac_text(&mac);
        info!(mac, %address, "guest logged in by a voucher");
        self.apply_changes(router);
        Ok(pass)
    }

    /// Uses an attempt of a device, if there is one.
    fn take_attempt(&mut self, pool: AttemptClass, mac: &Mac) -> Result<(), GuestProblem> {
        let waits = self.tries.take(pool, mac, self.schedule.elapsed());
        waits.map_err(|wait| GuestProblem::Wait(seconds(wait)))
    }

    /// Returns true if a signed voucher admits a device now.
    pub fn holds(&self, signed: &SignedVoucher) -> bool {
        let (key, when) = (self.node.key.public(), self.schedule.when());
        self.guests.admits(signed, &key, when) && self.node.is_signed(signed)
    }

    /// Compares the browser of a request from a device's address with the recorded browser.
    pub fn compare(&mut self, mac: Mac, pass: Option<Pass>, logs_in: bool) {
        if let Some(known) = self.guests.token(&mac) {
            self.browsers.compare(mac, known, pass, logs_in);
        }
    }

    /// Starts a voucher for a device, wherever the device is. `None`: no voucher has this id.
    pub fn activate(
        &mut self,
        id: &str,
        mac: Mac,
        router: &mut Router,
    ) -> Option<Result<(), GuestProblem>> {
        let (when, addresses) = (self.schedule.when(), self.devices.addresses(mac, router));
        self.guests.voucher(id, when.0)?;
        let (device, changes) = ((mac, &*addresses), &mut self.changes);
        let admitted = self.guests.admit(device, id, when, changes);
        Some(self.admitted(admitted, mac, router))
    }

    /// Admits a device by a voucher that was not sold. `devices`: maximum number for its account.
    fn grant(
        &mut self,
        voucher: Voucher,
        devices: Option<usize>,
        mac: Mac,
        router: &mut Router,
    ) -> Result<(), GuestProblem> {
        let (when, addresses) = (self.schedule.when(), self.devices.addresses(mac, router));
        let (device, changes) = ((mac, &*addresses), &mut self.changes);
        let admitted = self.guests.grant(voucher, devices, device, when, changes);
        self.admitted(admitted, mac, router)
    }

    fn admitted(
        &mut self,
        admitted: Result<(), Refusal>,
        mac: Mac,
        router: &mut Router,
    ) -> Result<(), GuestProblem> {
        if admitted.is_ok() {
            self.statistics.logged_in(&mac);
        }
        self.apply_changes(router);
        Ok(admitted?)
    }

    /// Starts a log-in with an account; `None`: the device is in already.
    pub fn start_account_login(
        &mut self,
        address: IpAddr,
        name: String,
        router: &Router,
    ) -> Result<Option<PendingLogin>, GuestProblem> {
        self.schedule.check_open()?;
        let mac = self.devices.mac(address, router);
        let mac = mac.ok_or(GuestProblem::Stranger)?;
        if self.guests.is_entitled(&mac) {
            return Ok(None);
        }
        self.take_attempt(AttemptClass::Accounts, &mac)?;
        Ok(Some(PendingLogin { mac, address, name }))
    }

    /// Applies the server's verdict on an account; `None`: no server answered.
    pub fn decide(
        &mut self,
        asker: PendingLogin,
        verdict: Option<Verdict>,
        (accounts, router): (Accounts, &mut Router),
    ) -> Result<(), GuestProblem> {
        let terms = verdict.map(|verdict| asker.terms(verdict)).transpose()?;
        let (mac, address) = (asker.mac, asker.address);
        self.tries.refund(AttemptClass::Accounts, &mac);
        let terms = terms.ok_or(GuestProblem::Silent)?;
        // Meanwhile the hours may be others, and the address another's.
        self.schedule.check_open()?;
        if self.devices.mac(address, router) != Some(mac) {
            return Err(GuestProblem::Stranger);
        }
        if self.guests.is_entitled(&mac) {
            return Ok(());
        }
        let voucher = asker.voucher(terms, accounts)?;
        self.grant(voucher, Some(accounts.devices), mac, router)?;
        let mac = mac_text(&mac);
        info!(mac, %address, "guest logged in by an account");
        Ok(())
    }

    /// Records a visit of the page. Returns the seconds of free access, and true if free access
    /// needs a password.
    pub fn record_visit(&mut self, address: IpAddr, router: &Router) -> Option<(u64, bool)> {
        self.free.visit(self.devices.mac(address, router)?)
    }

    /// Starts free access for a device.
    pub fn grant_free_access(
        &mut self,
        address: IpAddr,
        password: &str,
        router: &mut Router,
    ) -> Result<(), GuestProblem> {
        let gift = self.free.terms.ok_or(GuestProblem::Broken)?;
        self.schedule.check_open()?;
        let mac = self.devices.mac(address, router);
        let mac = mac.ok_or(GuestProblem::Stranger)?;
        // A guest who is in already needs no free access.
        if self.guests.guest(&mac).is_some() {
            return Ok(());
        }
        if let Some(wanted) = gift.password {
            self.take_attempt(AttemptClass::Passwords, &mac)?;
            if Password::new(password) != wanted {
                return Err(GuestProblem::NotThePassword);
            }
            self.tries.refund(AttemptClass::Passwords, &mac);
        }
        let voucher = self.free.voucher(&mac, &gift)?;
        self.grant(voucher, None, mac, router)?;
        self.free.given(mac, &gift);
        Ok(())
    }

    /// Logs out the device with this address, at the guest's request.
    pub fn leave(&mut self, address: IpAddr, router: &mut Router) {
        if let Some(mac) = self.devices.mac(address, router) {
            self.end(mac, router);
        }
    }

    /// Logs out a device. Returns true if it was admitted.
    pub fn end(&mut self, mac: Mac, router: &mut Router) -> bool {
        let when = self.schedule.when();
        let ended = self.guests.end(mac, when, &mut self.changes);
        self.apply_changes(router);
        ended
    }

    /// Revokes a voucher.
    pub fn revoke(&mut self, id: &str, router: &mut Router) -> bool {
        let when = self.schedule.when();
        let done = self.guests.revoke(id, when, &mut self.changes);
        if done {
            info!(voucher = id, "voucher revoked");
        }
        self.apply_changes(router);
        done
    }

    /// Renames a voucher.
    pub fn rename(&mut self, id: &str, name: String, router: &mut Router) -> bool {
        let now = self.schedule.now();
        let done = self.guests.rename(id, name, now, &mut self.changes);
        self.apply_changes(router);
        done
    }

    /// Imports vouchers of another portal, each the text of its file.
    pub fn import(&mut self, texts: &[String], router: &mut Router) -> Result<Imported, Problem> {
        let (now, wall) = self.schedule.when();
        let mut imported = Imported::default();
        for (number, text) in texts.iter().enumerate() {
            let code = make()?.code;
            let pirania::PiraniaImport { voucher, lost } = match pirania::read(text, code, wall) {
                Ok(import) => import,
                Err(why) => {
                    imported.refused.push((number, why.to_string()));
                    continue;
                }
            };
            let (id, users) = (voucher.id.clone(), voucher.users.clone());
            match self.guests.import(voucher, now, &mut self.changes) {
                ImportResult::New => {}
                ImportResult::Known => {
                    imported.known += 1;
                    continue;
                }
                ImportResult::CodeTaken => {
                    let why = "another voucher has the same code: issue a new voucher instead";
                    imported.refused.push((number, why.to_owned()));
                    continue;
                }
            }
            let lost = lost.into_iter().map(|what| (number, what));
            imported.lost.extend(lost);
            for user in users {
                for address in self.devices.addresses(user.mac, router) {
                    let out = &mut self.changes;
                    self.guests.assign_address(user.mac, address, now, out);
                }
            }
            imported.vouchers.extend(self.voucher(&id));
        }
        self.apply_changes(router);
        Ok(imported)
    }

    /// Returns the notes for other nodes as work that may take a while: signed lines.
    pub fn export_notes(&self) -> impl FnOnce() -> Vec<String> + Send + use<> {
        let (now, wall) = self.schedule.when();
        let all = self.guests.vouchers(now);
        let all = all.map(|(voucher, used)| (voucher.clone(), used));
        self.node.export_notes(all.collect(), wall)
    }

    /// Imports notes of other nodes.
    pub fn import_notes(&mut self, looked: VerifiedNotes, router: &mut Router) -> NotesHeard {
        let (now, wall) = self.schedule.when();
        let own = self.node.key.public();
        let mut heard = NotesHeard {
            known: looked.known,
            refused: looked.refused,
            ..NotesHeard::default()
        };
        for (note, line) in &looked.notes {
            let id = note.voucher.id();
            let was = self.is_double(&id);
            let (told, when) = ((note, line.as_str()), (own, now, wall));
            match self.guests.apply_note(told, when, &mut self.changes) {
                true => heard.new += 1,
                false => heard.known += 1,
            }
            if !was && self.is_double(&id) {
                warn!(voucher = id, "voucher used at two nodes beyond its terms");
                heard.double_use.push(id);
            }
        }
        self.guests.expire((now, wall), &mut self.changes);
        self.apply_changes(router);
        info!(new = heard.new, known = heard.known, "notes of other nodes");
        heard
    }

    fn is_double(&self, id: &str) -> bool {
        let voucher = self.guests.voucher(id, 0);
        voucher.is_some_and(|(voucher, _)| voucher.double.is_some())
    }

    /// Handles a report about a neighbour.
    pub fn on_neighbour(&mut self, neighbour: &Neighbour, router: &mut Router) {
        self.notice(neighbour, router);
        self.apply_changes(router);
    }

    fn notice(&mut self, neighbour: &Neighbour, router: &Router) {
        // A neighbour that is silent for a while keeps its address.
        let Some(mac) = neighbour.mac else { return };
        let address = neighbour.address;
        let concerns = self.guests.guest(&mac).is_some() || self.guests.has_address(&address);
        if concerns && self.devices.links(router).contains(&neighbour.link) {
            let (now, changes) = (self.schedule.now(), &mut self.changes);
            self.guests.assign_address(mac, address, now, changes);
        }
    }

    /// Handles a new connection of conntrack.
    pub fn on_connection(&mut self, connection: &Connection, router: &Router) {
        let source = connection.id.original.source;
        if !self.guests.has_address(&source) {
            self.questions.add(connection, self.portal.names);
            self.devices.ask(source, router);
        }
    }

    /// Handles traffic that weir forwarded, which the kernel's counters do not include.
    pub fn on_forwarded(&mut self, all: &[ForwardedFlow<'_>]) {
        let now = self.schedule.now();
        for forwarded in all {
            let growth = forwarded.growth;
            if let Some((FlowEndpoints::Hosts(comes), FlowEndpoints::Hosts(leaves))) =
                growth.endpoints
            {
                self.moved(&comes.source, growth.bytes, now);
                self.moved(&leaves.destination, growth.bytes, now);
            }
        }
    }

    /// Adds traffic to the guest with this address.
    fn moved(&mut self, address: &IpAddr, bytes: u64, now: Millis) {
        let moved = self
            .guests
            .add_traffic(address, bytes, now, &mut self.changes);
        if let Some(mac) = moved {
            self.statistics.moved(&mac, bytes);
        }
    }

    /// Reads the counters of packets that the kernel forwarded.
    fn read_counters(&mut self) {
        let now = self.schedule.now();
        for (address, bytes) in self.table.read_counters() {
            self.moved(&address, bytes, now);
        }
    }

    /// Each second: reads the counters, pauses silent devices, expires vouchers without bytes.
    pub fn tick(&mut self, router: &mut Router) {
        self.devices.tick(router);
        if self.guests.needs_counters() {
            self.read_counters();
            let when = self.schedule.when();
            self.guests.pause_idle(when.0, &mut self.changes);
            self.guests.expire(when, &mut self.changes);
            self.apply_changes(router);
            let moved = self.guests.moved_much();
            self.note_moved(moved);
        }
        self.walled_garden.hold_open(router);
    }

    /// Stores used bytes, by the ids of their vouchers.
    fn note_moved(&self, moved: BTreeMap<String, u64>) {
        if !moved.is_empty() {
            self.store.note(Entry::Moved(moved).line());
        }
    }

    /// Ends expired vouchers; stores the used time.
    pub fn expire(&mut self, router: &mut Router) {
        if self.schedule.update(unix_seconds()) {
            self.other_hours(router);
        }
        self.walled_garden.settle();
        let when = self.schedule.when();
        self.guests.expire(when, &mut self.changes);
        self.apply_changes(router);
        if self.last_written.elapsed() >= NOTED {
            self.persist();
        }
    }

    /// Stores the used time and bytes, and the online devices.
    pub fn persist(&mut self) {
        self.last_written = Instant::now();
        self.read_counters();
        self.statistics.count_active();
        let used = self.guests.used(self.schedule.now());
        if !used.is_empty() {
            self.store.note(Entry::Used(used).line());
        }
        let moved = self.guests.all_moved();
        self.note_moved(moved);
    }

    /// Completes once all pending lines are on the disk, as far as the disk accepts them.
    pub fn flushed(&self) -> impl Future<Output = ()> + use<> {
        let (vouchers, days) = (self.store.settled(), self.statistics.settled());
        async move {
            // Failed writes were reported already.
            let _ = vouchers.await;
            let _ = days.await;
        }
    }

    /// Returns the time of the next action.
    pub fn turn_at(&self) -> Instant {
        let others = [
            self.expiry,
            self.table.due(),
            self.schedule.next(),
            self.walled_garden.due(),
        ];
        let others = others.into_iter().flatten();
        others.fold(self.last_written + NOTED, Instant::min)
    }

    /// Applies the pending changes.
    fn apply_changes(&mut self, router: &mut Router) {
        let changes = std::mem::take(&mut self.changes);
        let told: Vec<_> = changes
            .iter()
            .filter(|change| !matches!(change, Change::Persist(_)))
            .filter_map(|change| self.within(change.clone()))
            .collect();
        let is_due = self.table.queue(&told);
        // Before the kernel limits these devices: their packets must not go past the limits.
        if !told.is_empty() {
            router.set_rate_limited(self.guests.rate_limits().addresses());
        }
        if is_due {
            self.flush();
        }
        if !changes.is_empty() {
            self.reckon();
        }
        let mut ended = HashSet::new();
        // For a voucher with several changes, only the latest state is written.
        let (mut kept, mut forgets, mut blocked) = (BTreeMap::new(), false, None);
        for change in changes {
            match change {
                Change::AddAddress(_, address, _) => {
                    self.questions.forget(&address);
                }
                Change::Persist(voucher) if voucher.origin == Origin::Free => {}
                Change::Persist(voucher) => {
                    forgets |= voucher.origin == Origin::Account && voucher.over.is_some();
                    kept.insert(voucher.id.clone(), voucher);
                }
                Change::Block(mac) => blocked = Some(mac),
                // The first address, as in the line of the log-in.
                Change::RemoveAddress(mac, address) if blocked.take() == Some(mac) => {
                    let mac = mac_text(&mac);
                    info!(mac, %address, "guest logged out");
                }
                Change::EndConnections(address) => {
                    ended.insert(address);
                }
                _ => {}
            }
        }
        for voucher in kept.into_values() {
            self.store.note(Entry::Voucher(voucher).line());
        }
        if forgets {
            self.store.forget();
        }
        end_connections(&ended, router);
    }

    fn flush(&mut self) {
        let steps = self.table.take();
        if !steps.is_empty() {
            // The counter of a replaced element restarts at 0.
            if self.guests.needs_counters() || self.table.loses_counts(&steps) {
                self.read_counters();
            }
            if !self.table.apply(&steps, self.guests.rate_limits()) {
                self.create_table();
            }
        }
        self.table.taken();
    }

    /// Returns all vouchers for the API.
    pub fn vouchers(&self) -> Vec<PortalVoucher> {
        let (now, wall) = self.schedule.when();
        let mut all: Vec<_> = self
            .guests
            .vouchers(now)
            .map(|(v, used)| api_types::voucher(v, used, wall, &self.node))
            .collect();
        all.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        all
    }

    /// Returns a voucher.
    pub fn voucher(&self, id: &str) -> Option<PortalVoucher> {
        let (now, wall) = self.schedule.when();
        let (voucher, used) = self.guests.voucher(id, now)?;
        Some(api_types::voucher(voucher, used, wall, &self.node))
    }

    /// Returns a voucher with all fields, also those that take a while to compute.
    pub fn voucher_details(&self, id: &str) -> Option<PortalVoucher> {
        let (voucher, _) = self.guests.voucher(id, self.schedule.now())?;
        let signed = voucher.signed;
        let signed = signed.or_else(|| voucher.sign(&self.node.key));
        let qr = qr::path(&link(&voucher.code.to_string()));
        Some(PortalVoucher {
            qr: qr.map(|(side, path)| QrPicture { side, path }),
            signed: signed.map(|signed| signed.to_string()),
            ..self.voucher(id)?
        })
    }

    /// Returns the device with an address, in the form of the API.
    pub fn client_at(&self, address: IpAddr, router: &Router) -> Option<PortalClient> {
        let mac = self.devices.mac(address, router)?;
        Some(self.client(mac, vec![address]))
    }

    /// Returns all devices behind the portal.
    pub fn clients(&self, router: &Router) -> Vec<PortalClient> {
        let mut all = BTreeMap::<Mac, Vec<IpAddr>>::new();
        for (mac, guest) in self.guests.guests() {
            all.insert(*mac, guest.addresses.iter().copied().collect());
        }
        let neighbours = self.devices.neighbours(router);
        for neighbour in neighbours.filter(|n| !n.address.is_multicast()) {
            let Some(mac) = neighbour.mac else { continue };
            let addresses = all.entry(mac).or_default();
            if !addresses.contains(&neighbour.address) {
                addresses.push(neighbour.address);
            }
        }
        all.into_iter()
            .map(|(mac, addresses)| self.client(mac, addresses))
            .collect()
    }

    fn client(&self, mac: Mac, addresses: Vec<IpAddr>) -> PortalClient {
        let other = self.browsers.other(&mac);
        api_types::client(&self.guests, (mac, addresses), other, self.schedule.now())
    }
}

/// Deletes these addresses from conntrack; weir then stops forwarding them, too.
fn end_connections(ended: &HashSet<IpAddr>, router: &Router) {
    if ended.is_empty() {
        return;
    }
    let concerned =
        |tuple: &kernel::Tuple| ended.contains(&tuple.source) || ended.contains(&tuple.destination);
    let flows = router.core.flows();
    let theirs = flows.filter(|(_, flow)| concerned(&flow.original()) || concerned(&flow.reply));
    let ids: Vec<ConnectionId> = theirs.map(|(_, flow)| flow.id).collect();
    if let Err(error) = kernel::io::delete_connections(&ids) {
        warn!(%error, "cannot end connections of guests who were logged out; their packets are \
            refused nevertheless");
    }
}
