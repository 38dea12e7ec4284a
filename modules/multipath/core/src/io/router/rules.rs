//! The firewall's rules, and what moves as they change: conversations go by the tunnel, and leave it.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::Prefix;
use kernel::io::{forget_marked, load_rules};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;
use tracing::warn;

use crate::io::changes::Changes;
use crate::io::conduct::Conduct;
use crate::io::proxy;
use crate::io::share::Share;
use crate::io::state::{Connection, SharedState};
use crate::nft::{self, Redirect, STRAY_MARK, TABLE, TUNNEL_MARK};
use crate::reach::{LOCAL, NAT64};

/// How soon the firewall is asked again to take what it did not.
const AGAIN: Duration = Duration::from_secs(5);

/// Ends what goes by the tunnel: its conversations have the tunnel's addresses, under which nobody
/// would answer them elsewhere. What goes on begins anew.
async fn leave_tunnel(before: &Redirect) {
    let closed = Redirect {
        tunnel: None,
        ..before.clone()
    };
    // First nothing goes by it any more, then it is forgotten: in between, nothing leaves.
    if let Err(error) = load_rules(&nft::create(&closed)).await {
        warn!(error, "the firewall does not take the rules of multipath");
    }
    forget_tunnelled();
}

/// Their next packets go where the rules say by now.
pub fn forget_tunnelled() {
    if let Err(error) = forget_marked(TUNNEL_MARK, TUNNEL_MARK) {
        warn!(%error, "conversations that went by the tunnel may be silent until they time out");
    }
}

/// What went directly, as there was no tunnel, goes by it from its next packet on.
fn bring_back() {
    if let Err(error) = forget_marked(STRAY_MARK, STRAY_MARK) {
        warn!(%error, "what went directly while there was no tunnel stays there");
    }
}

/// The firewall's rules of a router.
pub struct Rules {
    /// Device of the tunnel.
    device: Option<String>,
    /// What is not TCP goes by the tunnel.
    leads: Cell<bool>,
    share: Arc<Share>,
    state: Arc<SharedState>,
    changed: Notify,
}

impl Rules {
    /// Nothing is loaded yet. `device`: of the tunnel.
    pub fn new(device: Option<String>, share: Arc<Share>, state: Arc<SharedState>) -> Self {
        Self {
            device,
            leads: Cell::new(false),
            share,
            state,
            changed: Notify::new(),
        }
    }

    /// Whether what is not TCP goes by the tunnel.
    pub fn leads(&self) -> bool {
        self.leads.get()
    }

    /// What is not TCP goes by the tunnel from now on, or does not any more.
    pub fn lead(&self, leads: bool) {
        self.leads.set(leads);
        self.look();
    }

    /// Something that the rules depend on has changed.
    pub fn look(&self) {
        self.changed.notify_one();
    }

    /// Keeps the rules as they should be.
    pub async fn keep(&self, mut conduct: watch::Receiver<Conduct>) {
        let mut loaded: Option<Redirect> = None;
        // What the firewall did not take, and when.
        let mut refused: Option<(Redirect, Instant)> = None;
        let mut changes = Changes::of(TABLE);
        loop {
            let wanted = self.redirect(&conduct.borrow_and_update());
            let rests = refused
                .as_ref()
                .is_some_and(|(what, at)| *what == wanted && at.elapsed() < AGAIN);
            if loaded.as_ref() != Some(&wanted) && !rests {
                let before = loaded.as_ref().filter(|before| before.tunnel.is_some());
                if let (Some(before), None) = (before, &wanted.tunnel) {
                    leave_tunnel(before).await;
                }
                match load_rules(&nft::create(&wanted)).await {
                    Ok(()) => {
                        let state = &mut *self.state.lock();
                        state.redirects = wanted.ipv4.is_some() || wanted.ipv6.is_some();
                        state.tunnel = wanted.tunnel.is_some();
                        state.carries = wanted.carries;
                        if wanted.tunnel.is_some() && before.is_none() {
                            bring_back();
                        }
                        (loaded, refused) = (Some(wanted), None);
                    }
                    Err(error) => {
                        if refused.is_none() {
                            warn!(
                                error,
                                "the firewall does not take the rules of multipath: it is asked again"
                            );
                        }
                        refused = Some((wanted, Instant::now()));
                    }
                }
            }
            tokio::select! {
                () = self.changed.notified() => {}
                Ok(()) = conduct.changed() => {}
                () = sleep(AGAIN), if refused.is_some() => {}
                () = changes.gone() => {
                    warn!("somebody took the rules of multipath away: they are put back");
                    loaded = None;
                }
            }
        }
    }

    /// What is brought here now: no new connection while the partner is not there, if it may go
    /// directly. The rules for those that weir has are there all the time.
    fn redirect(&self, conduct: &Conduct) -> Redirect {
        let state = self.state.lock();
        // What the partner cannot reach, it is not asked for. While it is not there all is held,
        // where nothing may leave but by it.
        let (ipv4, ipv6) = match state.connection {
            Connection::Connected { ipv4, ipv6, .. } => (ipv4, ipv6),
            _ => [!conduct.fall_back; 2].into(),
        };
        let meeting = self.share.meetings().borrow().clone();
        let mut choice = conduct.choice.clone();
        // Not each address that its name has: whoever tells names may tell any.
        let partner = meeting.as_ref().map(|it| Prefix::only(it.partner.ip()));
        let devices = state.paths.iter().map(|path| path.device.clone());
        let mut uplinks: Vec<_> = devices.collect();
        uplinks.sort_unstable();
        uplinks.dedup();
        choice.networks.extend(LOCAL);
        if conduct.fall_back {
            choice.networks.extend(NAT64);
        }
        choice.networks.extend(partner);
        let tunnel = self.device.clone().filter(|_| self.leads());
        let carries = meeting.map_or([false; 2], |meeting| {
            let welcome = &meeting.welcome;
            [welcome.tunnel4.is_some(), welcome.tunnel6.is_some()]
        });
        Redirect {
            device: self.device.clone(),
            carries,
            tunnel,
            ipv4: ipv4.then_some(proxy::ACCEPT[0].port()),
            ipv6: ipv6.then_some(proxy::ACCEPT[1].port()),
            uplinks,
            choice,
            stops: !conduct.fall_back,
            strays: conduct.returns && conduct.fall_back,
        }
    }
}
