//! The firewall's rules, and moving conversations into and out of the tunnel as they change.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::Prefix;
use kernel::io::{delete_marked, load_rules};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;
use tracing::warn;

use crate::io::changes::Changes;
use crate::io::proxy;
use crate::io::proxy_state::ProxyState;
use crate::io::state::{Connection, SharedState};
use crate::io::traffic_settings::TrafficSettings;
use crate::nft::{self, Redirect, STRAY_MARK, TABLE, TUNNEL_MARK};
use crate::reach::{LOCAL, NAT64};

/// Pause before the firewall gets refused rules again.
const AGAIN: Duration = Duration::from_secs(5);

/// Ends conversations in the tunnel: they have the tunnel's addresses, which no answer would reach
/// elsewhere. Programs have to connect again.
async fn leave_tunnel(before: &Redirect) {
    let closed = Redirect {
        tunnel: None,
        ..before.clone()
    };
    // First rules without the tunnel, then the conversations: in between, no packet leaves.
    if let Err(error) = load_rules(&nft::create(&closed)).await {
        warn!(error, "the firewall refuses the rules of multipath");
    }
    forget_tunnelled();
}

/// Forgets conversations in the tunnel; their next packets follow the present rules.
pub fn forget_tunnelled() {
    if let Err(error) = delete_marked(TUNNEL_MARK, TUNNEL_MARK) {
        warn!(%error, "cannot reset conversations of the tunnel: they may be silent until they time out");
    }
}

/// Moves conversations that went directly, for want of a tunnel, into it.
fn bring_back() {
    if let Err(error) = delete_marked(STRAY_MARK, STRAY_MARK) {
        warn!(%error, "cannot move direct conversations into the tunnel: they stay direct");
    }
}

/// The firewall's rules of a router.
pub struct Rules {
    /// Device of the tunnel.
    device: Option<String>,
    /// True if traffic other than TCP uses the tunnel.
    leads: Cell<bool>,
    share: Arc<ProxyState>,
    state: Arc<SharedState>,
    changed: Notify,
}

impl Rules {
    /// Creates the state, without rules loaded. `device`: of the tunnel.
    pub fn new(device: Option<String>, share: Arc<ProxyState>, state: Arc<SharedState>) -> Self {
        Self {
            device,
            leads: Cell::new(false),
            share,
            state,
            changed: Notify::new(),
        }
    }

    /// Returns true if traffic other than TCP uses the tunnel.
    pub fn leads(&self) -> bool {
        self.leads.get()
    }

    /// Sets whether traffic other than TCP uses the tunnel.
    pub fn lead(&self, leads: bool) {
        self.leads.set(leads);
        self.look();
    }

    /// Recomputes the rules, after a change of something that they depend on.
    pub fn look(&self) {
        self.changed.notify_one();
    }

    /// Keeps the firewall's rules up to date.
    pub async fn keep(&self, mut conduct: watch::Receiver<TrafficSettings>) {
        let mut loaded: Option<Redirect> = None;
        // Rules that the firewall refused, and when.
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
                        state.tunnel_families = wanted.carries;
                        if wanted.tunnel.is_some() && before.is_none() {
                            bring_back();
                        }
                        (loaded, refused) = (Some(wanted), None);
                    }
                    Err(error) => {
                        if refused.is_none() {
                            warn!(
                                error,
                                "the firewall refuses the rules of multipath: retrying"
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
                    warn!("another program removed the rules of multipath: restored");
                    loaded = None;
                }
            }
        }
    }

    /// Computes the rules. While the partner is away, no new connection is redirected, unless it
    /// may not go directly. Rules for existing connections are always there.
    fn redirect(&self, conduct: &TrafficSettings) -> Redirect {
        let state = self.state.lock();
        // Only families that the partner reaches are redirected. While the partner is unreachable,
        // all connections are held if nothing may leave directly.
        let (ipv4, ipv6) = match state.connection {
            Connection::Connected { ipv4, ipv6, .. } => (ipv4, ipv6),
            _ => [!conduct.fall_back; 2].into(),
        };
        let meeting = self.share.meetings().borrow().clone();
        let mut choice = conduct.choice.clone();
        // Only the partner's proven address, not all of its name: any name server can forge those.
        let partner = meeting.as_ref().map(|it| Prefix::host(it.partner.ip()));
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
