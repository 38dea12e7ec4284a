//! Devices that the packet path is attached to.

use std::collections::HashSet;

use datapath::Datapath;
use offload_core::PortPlan;
use tracing::{info, warn};

use crate::daemon::account::Account;
use crate::daemon::system_state;

/// Devices with a hook.
#[derive(Default)]
pub(super) struct Ports {
    attached: HashSet<u32>,
}

impl Ports {
    /// Indexes of the devices, in no order.
    pub fn links(&self) -> impl Iterator<Item = u32> {
        self.attached.iter().copied()
    }

    /// Attaches to a device, changes its settings, or detaches from it.
    ///
    /// # Errors
    /// The hook that was refused.
    pub fn attach(
        &mut self,
        plan: &PortPlan,
        path: &mut Datapath,
        account: &mut Account,
    ) -> Result<(), datapath::Hook> {
        let hook = match plan.hook {
            offload_core::Hook::Xdp => datapath::Hook::Xdp,
            offload_core::Hook::Tc => datapath::Hook::Tc,
            offload_core::Hook::Watch => datapath::Hook::Watch,
            offload_core::Hook::Off | offload_core::Hook::Auto => {
                if self.attached.remove(&plan.link) {
                    info!(
                        device = plan.name,
                        reason = plan.reason.explain(),
                        "device is no longer a port"
                    );
                    if let Err(error) = path.detach(plan.link) {
                        warn!(device = plan.name, %error, "cannot detach");
                    }
                }
                return Ok(());
            }
        };
        match path.attach(
            &datapath::Port {
                link: plan.link,
                mac: plan.mac,
                vlan_macs: plan.vlan_macs.clone(),
                ingress: plan.ingress,
                egress: plan.egress,
                transmit: plan.xdp_transmit,
                direct: plan.direct,
                floods: plan.floods,
                ppp_ingress: plan.ppp_ingress,
                ppp_egress: plan.ppp_egress,
                bridges: plan.bridges,
                sees_tags: plan.sees_tags,
                tagger: plan.tagging.as_deref().and_then(datapath::Tagger::named),
            },
            &plan.name,
            hook,
        ) {
            Ok(()) => {
                match plan.forwards() {
                    true => {
                        info!(
                            device = plan.name,
                            hook = system_state::hook(plan.hook).map(tracing::field::display),
                            reason = plan.reason.explain(),
                            "device is a port"
                        )
                    }
                    false => info!(
                        device = plan.name,
                        reason = plan.reason.explain(),
                        "device is not a port; weir watches frames that its bridge sends there"
                    ),
                }
                account.port(path.slot(plan.link), plan.link);
                self.attached.insert(plan.link);
                Ok(())
            }
            Err(error) => {
                warn!(device = plan.name, %error, "cannot attach the port with this hook");
                self.attached.remove(&plan.link);
                Err(hook)
            }
        }
    }
}
