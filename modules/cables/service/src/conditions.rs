//! Conditions that the ports show: loops, servers of others in the LAN, ports that are missing.

use cables_core::{Decision, Notice, Role};

use super::watch::Watch;
use runtime::daemon::{Finding, Value};

/// Adds the findings of all ports.
pub fn all(watch: &mut Watch, findings: &mut Vec<Finding>) {
    let of = |key| Finding::new(key, "cables", "cables");
    findings.extend(watch.missing().map(|name| of("port-missing").at(name)));
    for (port, decision) in watch.shown() {
        findings.extend(of_port(&port.device, port.is_served(), &decision));
    }
}

/// Returns the conditions of a port. `served`: this router gives the LAN its addresses. The LAN of
/// an access point has its server and its router elsewhere: neither is foreign there.
fn of_port(device: &str, served: bool, decision: &Decision) -> Vec<Finding> {
    let of = |key| Finding::new(key, "cables", "cables").at(device);
    let looped = decision.role == Role::Loop || decision.looped;
    let foreign = |notice: &Notice| {
        let key = match notice.kind {
            "dhcp-server" => served.then_some("foreign-dhcp"),
            "router-advertisement" => served.then_some("foreign-router"),
            _ => Some("foreign-node"),
        };
        Some(of(key?).with("who", Value::Text(notice.who.clone())))
    };
    let foreign = decision.notices.iter().filter_map(foreign);
    let looped = looped.then(|| of("loop"));
    looped.into_iter().chain(foreign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cables_core::{Cable, ClassSummary, FrameClass, Port, PortSummary, Use};

    /// Returns a port of a LAN that gets its addresses from this router.
    fn port(held: Option<Role>) -> Port {
        Port {
            device: "lan1".into(),
            former: Use::Lan,
            own_dhcp: true,
            held,
            ..Port::default()
        }
    }

    /// Returns keys for frames of this class at a port of the LAN; `held`: role chosen by the
    /// administrator.
    fn keys(sort: FrameClass, held: Option<Role>) -> Vec<&'static str> {
        keys_at(sort, port(held), 20_000)
    }

    fn keys_at(sort: FrameClass, port: Port, now: u64) -> Vec<&'static str> {
        let served = port.own_dhcp;
        let mut cable = Cable::new(port);
        cable.link(true, 0);
        let mut noted = PortSummary::default();
        noted.sorts[sort as usize] = ClassSummary {
            frames: 5,
            last: 100,
            from: [2, 0, 0, 0, 0, 9],
            vlan: None,
        };
        cable.noted(&noted, 200);
        let decision = cable.decision(now);
        let found = of_port("lan1", served, &decision);
        found.iter().map(Finding::key).collect()
    }

    #[test]
    fn what_harms_the_lan_is_a_condition_also_where_the_role_was_chosen() {
        for held in [None, Some(Role::Client)] {
            assert_eq!(keys(FrameClass::Own, held), ["loop"], "{held:?}");
            assert_eq!(keys(FrameClass::DhcpServer, held), ["foreign-dhcp"]);
            assert_eq!(
                keys(FrameClass::RouterAdvertisement, held),
                ["foreign-router"]
            );
            assert_eq!(keys(FrameClass::Pado, held), ["foreign-node"]);
            assert_eq!(keys(FrameClass::Arp, held), [""; 0]);
        }
    }

    #[test]
    fn a_foreign_server_is_forgotten_an_hour_after_its_last_frame() {
        let hour = 3_600_000;
        for sort in [
            FrameClass::DhcpServer,
            FrameClass::RouterAdvertisement,
            FrameClass::Pado,
        ] {
            assert_eq!(keys_at(sort, port(None), hour).len(), 1, "{sort:?}");
            assert_eq!(keys_at(sort, port(None), hour + 100), [""; 0], "{sort:?}");
        }
    }

    #[test]
    fn the_server_and_the_router_of_an_access_points_lan_are_not_foreign() {
        let port = Port {
            own_dhcp: false,
            ..port(None)
        };
        for sort in [FrameClass::DhcpServer, FrameClass::RouterAdvertisement] {
            assert_eq!(keys_at(sort, port.clone(), 20_000), [""; 0], "{sort:?}");
        }
        assert_eq!(keys_at(FrameClass::Own, port.clone(), 20_000), ["loop"]);
        assert_eq!(keys_at(FrameClass::Pado, port, 20_000), ["foreign-node"]);
    }
}
