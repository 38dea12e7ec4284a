//! Clients' traffic that others than the partner may see, and the cause. Pure.

use answers::Exposure;
use multipath_core::io::{Connection, State, TrafficSettings};
use multipath_core::{Encrypt, TrafficPolicy};

/// Returns the exposures of new traffic. `stops`: traffic that bypasses the partner is refused.
pub fn exposures(state: &State, conduct: &TrafficSettings, stops: bool) -> Vec<Exposure> {
    let mut all = Vec::new();
    if !stops {
        let [_, tunnel6] = state.tunnel_families;
        match (&state.connection, state.redirects) {
            (Connection::Connected { ipv6, .. }, true) if !ipv6 => all.push(Exposure::TcpIpv6),
            (_, true) => {}
            (_, false) => all.push(Exposure::Tcp),
        }
        match state.tunnel {
            false => all.push(Exposure::Others),
            true if !tunnel6 => all.push(Exposure::OthersIpv6),
            true => {}
        }
    }
    let TrafficPolicy {
        networks,
        ports,
        clients,
        forwards: _,
    } = &conduct.choice;
    if !(networks.is_empty() && ports.is_empty() && clients.is_empty()) {
        all.push(Exposure::Chosen);
    }
    match conduct.encrypt {
        Encrypt::Auto => all.push(Exposure::TlsNames),
        Encrypt::None => all.push(Exposure::Clear),
        Encrypt::All => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_seen_on_the_way_is_told() {
        let conduct = TrafficSettings {
            fall_back: true,
            returns: true,
            encrypt: Encrypt::All,
            renew: Duration::ZERO,
            choice: TrafficPolicy::default(),
        };
        let there = |ipv6| State {
            connection: Connection::Connected {
                version: "1".into(),
                ipv4: true,
                ipv6,
            },
            redirects: true,
            tunnel: true,
            tunnel_families: [true, ipv6],
            ..State::default()
        };
        let gone = State::default();
        assert_eq!(exposures(&there(true), &conduct, false), []);
        let without = [Exposure::TcpIpv6, Exposure::OthersIpv6];
        assert_eq!(exposures(&there(false), &conduct, false), without);
        let directly = [Exposure::Tcp, Exposure::Others];
        assert_eq!(exposures(&gone, &conduct, false), directly);
        let auto = TrafficSettings {
            encrypt: Encrypt::Auto,
            ..conduct.clone()
        };
        assert_eq!(exposures(&gone, &auto, true), [Exposure::TlsNames]);
        let ports = TrafficPolicy {
            ports: vec!["tcp/25".parse().expect("ports")],
            ..TrafficPolicy::default()
        };
        let chosen = TrafficSettings {
            encrypt: Encrypt::None,
            choice: ports,
            ..conduct
        };
        let both = [Exposure::Chosen, Exposure::Clear];
        assert_eq!(exposures(&there(false), &chosen, true), both);
    }
}
