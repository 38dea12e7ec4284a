//! What of clients others than the partner may see, and why. Pure.

use answers::Exposure;
use multipath::io::{Conduct, Connection, State};
use multipath::{Choice, Encrypt};

/// As it is now, for what begins.
pub fn exposed(state: &State, conduct: &Conduct) -> Vec<Exposure> {
    let mut all = Vec::new();
    // Where nothing goes directly, what the partner does not take is refused.
    if conduct.fall_back {
        let [_, tunnel6] = state.carries;
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
    let Choice {
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
    use super::*;

    #[test]
    fn what_is_seen_on_the_way_is_told() {
        let conduct = Conduct {
            fall_back: true,
            returns: true,
            encrypt: Encrypt::All,
            choice: Choice::default(),
        };
        let there = |ipv6| State {
            connection: Connection::Connected {
                version: "1".into(),
                ipv4: true,
                ipv6,
            },
            redirects: true,
            tunnel: true,
            carries: [true, ipv6],
            ..State::default()
        };
        let gone = State::default();
        assert_eq!(exposed(&there(true), &conduct), []);
        let without = [Exposure::TcpIpv6, Exposure::OthersIpv6];
        assert_eq!(exposed(&there(false), &conduct), without);
        let directly = [Exposure::Tcp, Exposure::Others];
        assert_eq!(exposed(&gone, &conduct), directly);
        let stops = Conduct {
            fall_back: false,
            encrypt: Encrypt::Auto,
            ..conduct.clone()
        };
        assert_eq!(exposed(&gone, &stops), [Exposure::TlsNames]);
        let ports = Choice {
            ports: vec!["tcp/25".parse().expect("ports")],
            ..Choice::default()
        };
        let chosen = Conduct {
            encrypt: Encrypt::None,
            choice: ports,
            ..stops
        };
        let both = [Exposure::Chosen, Exposure::Clear];
        assert_eq!(exposed(&there(false), &chosen), both);
    }
}
