//! Effects on the machine that runs a partner.

use lab::Error;
use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER, Uplinks};
use nix::sys::signal::Signal;
use weir_tests::LIMIT;
use weir_tests::partner::{Pair, Partner};

use crate::multipath::at;

/// Address beyond the partner, from a neighbour's view.
const BEYOND: &str = "192.0.2.77";

/// Returns the packets that the partner forwards to an address that only its neighbour uses.
fn forwarded(pair: &Pair) -> Result<u64, Error> {
    let ping = format!("ping -c 3 -i 0.2 -W 1 {BEYOND}");
    // The ping gets no answer.
    let _ = pair.uplinks.lab().node("internet")?.run(&ping);
    let rules = pair.uplinks.partner().run("nft list table ip watch")?;
    let counter = rules.split("counter packets ").nth(1).unwrap_or_default();
    let count = counter.split(' ').next().unwrap_or_default();
    count
        .parse()
        .map_err(|_| Error::Unexpected(format!("no count: {rules}")))
}

/// A machine without forwarding forwards only its routers' packets; a forwarding one continues.
#[test]
fn a_partner_becomes_no_router_for_its_neighbours() -> Result<(), Error> {
    for before in ["0", "1"] {
        let uplinks = Uplinks::build(&Options::mbit(&[20]))?;
        let set = format!("sysctl -qw net.ipv4.ip_forward={before}");
        uplinks.partner().run(&set)?;
        uplinks.partner().nft(&format!(
            "table ip watch {{\n chain c {{\n type filter hook postrouting priority 300\n ip daddr \
                {BEYOND} counter\n }}\n }}\n"
        ))?;
        let internet = uplinks.lab().node("internet")?;
        internet.ip(&format!("route add {BEYOND}/32 via {PARTNER}"))?;
        let partner = Partner::start(uplinks.partner(), &[])?;
        let line = partner.pair(&PARTNER.to_string())?;
        let pair = Pair::join(uplinks, partner, &line, "")?;
        pair.wait_for("the tunnel", |told| told.tunnel)?;
        assert_eq!(forwarded(&pair)? > 0, before == "1", "before: {before}");
        let ping = format!("ping -c 2 -i 0.2 -W 5 {SERVER}");
        let told = pair.uplinks.client().run(&ping)?;
        assert!(told.contains("2 received"), "{told}");
    }
    Ok(())
}

/// Forwarded ports never replace a port that the partner listens on, of which there may be several.
#[test]
fn the_ports_that_routers_come_to_lead_to_none_of_them() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[20]))?;
    let _echo = Echo::serve(uplinks.server(), at(SERVER))?;
    let partner = Partner::start(uplinks.partner(), &["--listen", "[::]:5555,0.0.0.0:443"])?;
    let ports = [
        "tcp/5500-5600",
        "udp/5500-5600",
        "tcp/440-449",
        "udp/440-449",
    ];
    let ports: Vec<_> = ports.iter().flat_map(|it| ["--forward", it]).collect();
    let line = partner.pair_with(&format!("{PARTNER}:5555"), &ports)?;
    wait_until("the ports", LIMIT, || {
        let rules = uplinks.partner().run("nft list table inet weir_partner")?;
        Ok(rules.contains("5500-5600") && rules.contains("440-449"))
    })?;
    let mut pair = Pair::join(uplinks, partner, &line, "")?;
    let works = |pair: &Pair| {
        pair.wait_for("the partner", |told| told.redirects && told.tunnel)?;
        let client = pair.uplinks.client();
        assert_eq!(ask_tcp(client, at(SERVER), b"hello")?, b"hello");
        let told = client.run(&format!("ping -c 2 -i 0.2 -W 5 {SERVER}"))?;
        assert!(told.contains("2 received"), "{told}");
        Ok::<_, Error>(())
    };
    works(&pair)?;
    let line = pair
        .partner
        .tell(&["rotate", "home", &format!("{PARTNER}:443")])?;
    pair.weir.end(Signal::SIGTERM)?;
    let config = format!("[multipath]\npartner = \"{line}\"\n");
    std::fs::write(pair.weir.config_file(), config).map_err(Error::system("write it"))?;
    pair.weir.restart(pair.uplinks.router())?;
    works(&pair)?;
    assert_eq!(pair.paths()?.partner, Some(format!("{PARTNER}:443")));
    Ok(())
}

/// A partner without root and with one capability reads files that root writes.
#[test]
fn a_partner_needs_not_be_root() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[20]))?;
    let _echo = Echo::serve(uplinks.server(), at(SERVER))?;
    let partner = Partner::unprivileged(uplinks.partner())?;
    let line = partner.pair_with(&PARTNER.to_string(), &["--forward", "tcp/8022"])?;
    let mut pair = Pair::join(uplinks, partner, &line, "")?;
    for round in 0..2 {
        pair.wait_for("the partner", |told| told.redirects && told.tunnel)?;
        let about = std::fs::read_to_string(format!("/proc/{}/status", pair.partner.id()))
            .map_err(Error::system("look at the partner"))?;
        let is = |name: &str, value: &str| {
            let line = about.lines().find_map(|line| line.strip_prefix(name));
            line.is_some_and(|line| line.split_whitespace().all(|word| word == value))
        };
        assert!(
            is("Uid:", "65534") && is("CapEff:", "0000000000001000"),
            "{about}"
        );
        let client = pair.uplinks.client();
        assert_eq!(ask_tcp(client, at(SERVER), b"hello")?, b"hello");
        let told = client.run(&format!("ping -c 2 -i 0.2 -W 5 {SERVER}"))?;
        assert!(told.contains("2 received"), "{told}");
        // The partner owns its rules; root's command changes the list.
        wait_until("the ports", LIMIT, || {
            let rules = pair
                .uplinks
                .partner()
                .run("nft list table inet weir_partner")?;
            Ok(rules.contains("tcp dport 8022"))
        })?;
        let list = pair.partner.tell(&["list", "--json"])?;
        assert!(list.contains("\"paired\""), "{list}");
        if round == 0 {
            pair.partner.restart(pair.uplinks.partner())?;
        }
    }
    Ok(())
}
