//! Probes, from the configuration to the output: the configured probes record, the others report
//! the reason why they cannot, and a reload changes the set.

use std::net::SocketAddr;

use answers::{Probe, ProbeKind};
use lab::frame::{Body, Packet};
use lab::gateway::{CLIENT, SERVER};
use lab::namespace::wait_until;
use lab::topology::{mac, text};
use lab::transfer::Transfer;
use lab::{Error, Lab, Options, Tap, unexpected};
use weir_tests::{LIMIT, Weir, binary};

const FENCE: &str = "table inet fence {
  chain forwarded { type filter hook forward priority 0; policy accept; udp dport 9999 drop; }
}";

fn probe(weir: &Weir, name: &str) -> Result<Probe, Error> {
    let told = weir.client()?.probes().map_err(unexpected)?;
    let found = told.probes.into_iter().find(|probe| probe.name == name);
    found.ok_or_else(|| Error::Unexpected(format!("no probe {name}")))
}

/// A datagram of the client to the server, through the router.
fn frame(port: u16) -> Vec<u8> {
    let ends = (
        (mac("client", "eth0"), CLIENT),
        (mac("router", "lan0"), SERVER),
    );
    Packet::new(ends.0, ends.1, Body::Udp(40000, port, vec![b'w'; 958])).bytes()
}

/// Packets that NETFILTER dropped at the LAN, from the client.
fn dropped(probe: &Probe) -> u64 {
    let client = text(mac("client", "eth0"));
    let of_it = probe.records.iter().filter(|record| {
        record.port.as_deref() == Some("lan0")
            && record.label.as_deref() == Some("NETFILTER_DROP")
            && record.device.as_deref() == Some(&client)
    });
    of_it.map(|record| record.count).sum()
}

#[test]
fn probes_record_what_the_configuration_asks_for() {
    let run = || -> Result<(), Error> {
        let lab = Lab::gateway(&Options {
            raw: true,
            nat: false,
            plain_offloads: true,
            ..Options::default()
        })?;
        let router = lab.node("router")?;
        router.nft(FENCE)?;
        // Each packet has 1000 bytes and waits a tenth of a second longer than the previous one.
        router.run("tc qdisc replace dev wan0 root tbf rate 80kbit burst 1000 limit 100000")?;
        let only = ["--only", "monitor"];
        let weir = Weir::start(router, "[monitor]\nprobes = [\"drops\"]\n", &only)?;
        let lan = Tap::open(lab.node("client")?, "eth0")?;
        for _ in 0..25 {
            lan.send(&frame(9999))?;
        }
        wait_until("drops are recorded", LIMIT, || {
            Ok(dropped(&probe(&weir, "drops")?) >= 25)
        })?;
        let drops = probe(&weir, "drops")?;
        assert_eq!(dropped(&drops), 25, "{drops:#?}");
        assert_eq!(
            (drops.kind, drops.label.as_deref()),
            (ProbeKind::Counter, Some("reason"))
        );
        let delay = probe(&weir, "qdisc-delay")?;
        assert!(!delay.active && delay.records.is_empty(), "{delay:#?}");
        let reason = delay.reason.unwrap_or_default();
        assert!(reason.contains("not enabled"), "{reason}");

        // A reload adds a probe, and the first continues with its records.
        let probes = "[monitor]\nprobes = [\"qdisc-delay\", \"drops\"]\n";
        std::fs::write(weir.config_file(), probes).map_err(Error::system("write"))?;
        weir.client()?.reload().map_err(unexpected)?;
        assert_eq!(dropped(&probe(&weir, "drops")?), 25);
        for _ in 0..5 {
            lan.send(&frame(7))?;
        }
        let server = text(mac("server", "eth0"));
        let mut found = None;
        // The router sends multicast packets now and then, which belong to no client.
        wait_until("delay is recorded", LIMIT, || {
            let mut records = probe(&weir, "qdisc-delay")?.records;
            records.retain(|record| record.device.is_some());
            found = records.pop();
            assert!(records.is_empty(), "{records:#?} besides {found:#?}");
            Ok(found.as_ref().is_some_and(|record| record.count >= 5))
        })?;
        let record = found.expect("waited for");
        assert_eq!(record.port.as_deref(), Some("wan0"));
        assert_eq!(record.device.as_ref(), Some(&server));
        assert_eq!((record.count, record.buckets.iter().sum()), (5, 5));
        assert_eq!(record.buckets.len(), delay.below.len() + 1);

        // The command prints these records.
        let mut command = router.command(&binary().to_string_lossy());
        let printed = command
            .arg("probes")
            .arg("--socket")
            .arg(weir.socket())
            .output();
        let printed = printed.map_err(Error::system("run weir probes"))?;
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        assert!(printed.contains("drops: on"), "{printed}");
        assert!(printed.contains("NETFILTER_DROP"), "{printed}");
        // Other senders may appear as well.
        let mut rows = printed.lines().filter(|line| line.starts_with("wan0 "));
        assert!(rows.any(|row| row.contains(&server)), "{printed}");
        println!("{printed}");

        // An unknown probe: nothing changes, and the error names the known ones.
        std::fs::write(weir.config_file(), "[monitor]\nprobes = [\"drop\"]\n")
            .map_err(Error::system("write"))?;
        let Err(api::ClientError::Problem(problem)) = weir.client()?.reload() else {
            panic!("an unknown probe is taken");
        };
        assert!(
            problem.errors.iter().any(|e| e.contains("qdisc-delay")),
            "{problem:?}"
        );
        assert!(probe(&weir, "drops")?.active);

        // No probes.
        std::fs::write(weir.config_file(), "").map_err(Error::system("write"))?;
        weir.client()?.reload().map_err(unexpected)?;
        assert!(!probe(&weir, "drops")?.active);
        Ok(())
    };
    run().unwrap_or_else(|error| panic!("{error}"));
}

/// Cake splits super-packets, so that output differs from input: weir still knows the segments'
/// delay.
#[test]
#[ignore = "needs sch_cake: run by tests/vm/run"]
fn segments_that_cake_made_are_measured() {
    let run = || -> Result<(), Error> {
        let lab = Lab::gateway(&Options {
            nat: false,
            ..Options::default()
        })?;
        let router = lab.node("router")?;
        router.run("tc qdisc replace dev wan0 root cake bandwidth 20mbit")?;
        let only = ["--only", "monitor"];
        let weir = Weir::start(router, "[monitor]\nprobes = [\"qdisc-delay\"]\n", &only)?;
        let (client, server) = (lab.node("client")?, lab.node("server")?);
        let to = SocketAddr::new(SERVER, 7007);
        let transfer = Transfer::start(client, server, to, 1, None)?;
        transfer.advance(2_000_000, LIMIT)?;
        let delay = probe(&weir, "qdisc-delay")?;
        transfer.stop()?;
        let wan = delay
            .records
            .iter()
            .filter(|record| record.port.as_deref() == Some("wan0"));
        let (values, sum) = wan.fold((0, 0), |(values, sum), record| {
            (values + record.count, sum + record.sum.unwrap_or_default())
        });
        // Segments of 1448 bytes; a super-packet would carry many times that.
        assert!(values > 1_200, "{delay:#?}");
        assert!(delay.not_measured * 20 < values, "{delay:#?}");
        // The segments fill the line, so they wait.
        assert!(sum > values, "{delay:#?}");
        println!(
            "{values} values, mean {} us, {} not measured",
            sum / values,
            delay.not_measured
        );
        Ok(())
    };
    run().unwrap_or_else(|error| panic!("{error}"));
}
