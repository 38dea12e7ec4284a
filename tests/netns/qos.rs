//! Shapers keep their rate and classes get their packets, with weir and without. The test adds a
//! shaper during a transfer that weir forwards, and counts bytes on the wire. Only the enforced
//! rate counts, not any time.

mod classes;
mod hosts;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lab::gateway::{CLIENT, ROUTER_WAN, SERVER};
use lab::topology::{mac, text};
use lab::transfer::Transfer;
use lab::{Error, Lab, Namespace, Options};
use weir_tests::scene::{self, ENOUGH, Forwarder, PORT, WAYS, at_once};
use weir_tests::{LIMIT, Weir};

/// Rate of every shaper here, bytes per second: `2mbit`.
const RATE: f64 = 250e3;
/// Rate of the transfer without a shaper, bytes per second.
const OFFERED: u64 = 4_000_000;
/// Time during which bytes are counted.
const WINDOW: Duration = Duration::from_secs(3);
/// Bytes that a shaper may pass at once: its burst, and its queue.
const BURST: f64 = 65_536.0;
/// Time after which a new shaper has filled its queue, and earlier packets have arrived.
const SETTLED: Duration = Duration::from_secs(1);
/// No proof expires during a test, so events must end it.
const NO_REPROOF: &str = "[offload]\nreprove = \"10m\"\n";
/// A shaped device for redirected packets (`ip link add … type ifb`).
const IFB: [&str; 3] = [
    "ip link add name ifb0 type ifb",
    "ip link set ifb0 up",
    "tc qdisc add dev ifb0 root tbf rate 2mbit burst 16k latency 200ms",
];

/// weir's duty towards a shaped flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// weir forwards the flow through the qdisc.
    Through,
    /// weir leaves the device of the shaper to the kernel, and reports that.
    Off(&'static str),
    /// Either is fine: only the rate counts.
    Any,
}

/// Adds a shaper during a transfer by these commands on the router, and removes it by the last
/// ones. With `up` the transfer goes from client to server, otherwise from server to client.
fn kept(up: bool, duty: Duty, add: &[&str], remove: &[&str]) {
    kept_in(&|by| scene::lab(by, &untranslated()), up, duty, add, remove);
}

fn untranslated() -> Options {
    Options {
        nat: false,
        ..Options::default()
    }
}

fn kept_in(
    build: &(dyn Fn(Forwarder) -> Result<Lab, Error> + Sync),
    up: bool,
    duty: Duty,
    add: &[&str],
    remove: &[&str],
) {
    kept_by(&WAYS, build, up, duty, add, remove);
}

fn kept_by(
    ways: &[Forwarder],
    build: &(dyn Fn(Forwarder) -> Result<Lab, Error> + Sync),
    up: bool,
    duty: Duty,
    add: &[&str],
    remove: &[&str],
) {
    at_once(ways, |by| {
        let lab = build(by)?;
        let weir = scene::weir(by, &lab, NO_REPROOF)?;
        let (client, server) = (lab.node("client")?, lab.node("server")?);
        let (near, far, to) = match up {
            true => (client, server, SERVER),
            false => (server, client, CLIENT),
        };
        let to = SocketAddr::new(to, PORT);
        let transfer = Transfer::start(near, far, to, 1, Some(OFFERED))?;
        lives(&transfer, weir.as_ref())?;

        let router = lab.node("router")?;
        for line in add {
            router.run(line)?;
        }
        std::thread::sleep(SETTLED);
        let forwarded = || weir.as_ref().map_or(Ok(0), Weir::forwarded);
        let before = (received(far)?, forwarded()?);
        let begun = Instant::now();
        std::thread::sleep(WINDOW);
        let after = (received(far)?, forwarded()?);
        let most = begun.elapsed().as_secs_f64() * RATE * 1.1 + BURST;
        let octets = after.0 - before.0;
        if octets as f64 > most {
            return Err(Error::Unexpected(format!(
                "{octets} bytes came through, and {most:.0} are allowed: {}",
                described(weir.as_ref())
            )));
        }
        // The shaper limits the transfer, not the receiver.
        transfer.advance(RATE as u64, LIMIT)?;
        if let Some(weir) = &weir {
            obeys(weir, duty, after.1 - before.1, octets)?;
        }

        for line in remove {
            router.run(line)?;
        }
        lives(&transfer, weir.as_ref())?;
        transfer.stop().map(drop)
    });
}

/// Asserts that the transfer continues, and that a running weir forwards it.
fn lives(transfer: &Transfer, weir: Option<&Weir>) -> Result<(), Error> {
    transfer.advance(ENOUGH, LIMIT)?;
    weir.map_or(Ok(()), |weir| weir.wait_for_forwarding(PORT))
}

/// Returns the bytes that arrived at a host's only device.
fn received(host: &Namespace) -> Result<u64, Error> {
    let text = host.run("cat /proc/net/dev")?;
    let line = text.lines().find_map(|l| l.trim().strip_prefix("eth0:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| Error::Unexpected(format!("no eth0 in {text}")))
}

fn ports(weir: &Weir) -> Result<Vec<answers::Port>, Error> {
    let ports = weir.client()?.ports();
    ports.map_err(|error| Error::Unexpected(error.to_string()))
}

/// Returns weir's report on its ports, for the message of a failure.
fn described(weir: Option<&Weir>) -> String {
    let lines = weir.map(ports).unwrap_or(Ok(Vec::new())).map(|ports| {
        let line = |port: answers::Port| {
            let why = port.reason.map_or_else(String::new, |reason| reason.text);
            format!("{} at {:?} ({why})", port.name, port.hook)
        };
        ports.into_iter().map(line).collect::<Vec<_>>().join(", ")
    });
    lines.unwrap_or_else(|error| error.to_string())
}

/// Asserts that weir did its duty during the shaper. `forwarded`: packets, in the same time as the
/// bytes on the wire.
fn obeys(weir: &Weir, duty: Duty, forwarded: u64, octets: u64) -> Result<(), Error> {
    match duty {
        Duty::Any => Ok(()),
        Duty::Through => {
            let flow = weir.flow_at(PORT)?;
            let tc = |f: &answers::Flow| f.directions.original.hook == Some(answers::Hook::Tc);
            // At least half, in packets of full length.
            if forwarded * 1500 > octets / 2 && flow.as_ref().is_some_and(tc) {
                return Ok(());
            }
            Err(Error::Unexpected(format!(
                "{forwarded} packets forwarded of {octets} bytes, {flow:#?}"
            )))
        }
        Duty::Off(device) => {
            let found = ports(weir)?.into_iter().find(|port| port.name == device);
            // Either weir does not use the port, or one of its two directions is forbidden: the
            // other may go on.
            let kept = found.as_ref().is_some_and(|port| {
                port.hook.is_none() && port.reason.as_ref().is_some_and(|r| !r.text.is_empty())
                    || port.stack.limits.iter().any(|l| !l.reason.text.is_empty())
            });
            // The shaper affects neither the return direction nor earlier packets.
            let there = || -> Result<u64, Error> {
                let flow = weir.flow_at(PORT)?;
                Ok(flow.map_or(0, |f| f.directions.original.packets))
            };
            let before = there()?;
            std::thread::sleep(Duration::from_secs(2));
            let shaped = there()? - before;
            if kept && shaped == 0 {
                return Ok(());
            }
            Err(Error::Unexpected(format!(
                "{forwarded} packets forwarded past the shaper of {device}: {found:#?}"
            )))
        }
    }
}

#[test]
fn tbf_keeps_its_rate() {
    kept(
        true,
        Duty::Through,
        &["tc qdisc add dev wan0 root tbf rate 2mbit burst 16k latency 200ms"],
        &["tc qdisc del dev wan0 root"],
    );
}

/// Builds an uplink with two queues each way, like network cards.
fn two_queues(by: Forwarder) -> Result<Lab, Error> {
    let lab = scene::lab(by, &untranslated())?;
    let (router, server) = (lab.node("router")?, lab.node("server")?);
    router.run("ip link del wan0")?;
    router.run(&format!(
        "ip link add name wan0 address {} numtxqueues 2 numrxqueues 2 type veth peer name eth0 \
            netns {} address {} numtxqueues 2 numrxqueues 2",
        text(mac("router", "wan0")),
        server.name(),
        text(mac("server", "eth0")),
    ))?;
    for (node, device) in [(router, "wan0"), (server, "eth0")] {
        if by == Forwarder::Weir("xdp") {
            node.run(&format!(
                "ethtool -K {device} rx off tx off tso off gso off gro on"
            ))?;
            node.run(&format!("ip link set {device} gro_max_size 1"))?;
        }
    }
    for (node, device) in [(router, "wan0"), (server, "eth0")] {
        node.run(&format!("ip link set {device} up"))?;
    }
    lab.address("router", "wan0", &format!("{ROUTER_WAN}/24"))?;
    lab.address("server", "eth0", &format!("{SERVER}/24"))?;
    lab.route("server", "192.168.1.0/24", ROUTER_WAN)?;
    Ok(lab)
}

/// The root qdisc only spreads packets over queues; each queue has its own shaper. A flow stays in
/// one queue.
#[test]
fn a_shaper_below_queues_keeps_its_rate() {
    kept_in(
        &two_queues,
        true,
        Duty::Through,
        &[
            "tc qdisc add dev wan0 root handle 1: mq",
            "tc qdisc replace dev wan0 parent 1:1 tbf rate 2mbit burst 16k latency 200ms",
            "tc qdisc replace dev wan0 parent 1:2 tbf rate 2mbit burst 16k latency 200ms",
        ],
        &["tc qdisc del dev wan0 root"],
    );
}

/// Makes a slot for a filter with `pref 7` at a device's ingress, and removes both. Before 6.6
/// weir's own clsact is there, which excludes another (docs/limits.md).
fn ingress(device: &str) -> [String; 2] {
    match weir_tests::kernel_has([6, 6]) {
        true => [
            format!("tc qdisc add dev {device} handle ffff: ingress"),
            format!("tc qdisc del dev {device} ingress"),
        ],
        false => [
            format!("tc qdisc replace dev {device} clsact"),
            format!("tc filter del dev {device} ingress pref 7"),
        ],
    }
}

/// Shapes incoming packets by an ifb.
#[test]
fn a_shaper_at_ingress_keeps_its_rate() {
    let redirect = "tc filter add dev lan0 ingress pref 7 protocol all u32 match u32 0 0 action \
        mirred egress redirect dev ifb0";
    let [qdisc, end] = ingress("lan0");
    let add = [&IFB[..], &[&qdisc, redirect]].concat();
    kept(true, Duty::Off("lan0"), &add, &[&end]);
}

/// A filter at egress redirects packets to an ifb; the device itself has no qdisc.
#[test]
fn a_filter_at_egress_is_not_passed_by() {
    let redirect = "tc filter add dev wan0 egress pref 7 protocol all u32 match u32 0 0 action \
        mirred egress redirect dev ifb0";
    let add = [&IFB[..], &["tc qdisc replace dev wan0 clsact", redirect]].concat();
    kept(
        true,
        Duty::Any,
        &add,
        &["tc filter del dev wan0 egress pref 7"],
    );
}

#[test]
#[ignore = "needs sch_cake: run by tests/vm/run"]
fn cake_keeps_its_rate() {
    // Other tests cover other shapers with each forwarder.
    kept_by(
        &[Forwarder::Weir("xdp")],
        &|by| scene::lab(by, &untranslated()),
        true,
        Duty::Through,
        &["tc qdisc add dev wan0 root cake bandwidth 2mbit besteffort"],
        &["tc qdisc del dev wan0 root"],
    );
}

/// The setup of SQM: CAKE up at the device, and down at an ifb.
#[test]
#[ignore = "needs sch_cake: run by tests/vm/run"]
fn cake_at_ingress_keeps_its_rate() {
    let [qdisc, end] = ingress("wan0");
    kept(
        false,
        Duty::Off("wan0"),
        &[
            IFB[0],
            IFB[1],
            "tc qdisc add dev wan0 root cake bandwidth 2mbit",
            "tc qdisc add dev ifb0 root cake bandwidth 2mbit ingress",
            &qdisc,
            "tc filter add dev wan0 ingress pref 7 protocol all matchall action mirred egress \
                redirect dev ifb0",
        ],
        &[&end, "tc qdisc del dev wan0 root"],
    );
}

/// `fq` shapes nothing by default.
#[test]
#[ignore = "needs sch_fq: run by tests/vm/run"]
fn fq_with_a_rate_keeps_it() {
    kept(
        true,
        Duty::Through,
        &["tc qdisc add dev wan0 root fq maxrate 2mbit"],
        &["tc qdisc del dev wan0 root"],
    );
}

/// A queue with a custom length neither shapes nor classifies, but its effect needs the packets:
/// XDP sends by TC.
#[test]
fn a_queue_that_somebody_tuned_sees_each_packet() {
    at_once(&WAYS, |by| {
        let lab = scene::lab(by, &untranslated())?;
        let weir = scene::weir(by, &lab, NO_REPROOF)?;
        let (client, server) = (lab.node("client")?, lab.node("server")?);
        let to = SocketAddr::new(SERVER, PORT);
        let transfer = Transfer::start(client, server, to, 1, Some(OFFERED))?;
        lives(&transfer, weir.as_ref())?;
        let router = lab.node("router")?;
        router.run("tc qdisc add dev wan0 root pfifo limit 500")?;
        std::thread::sleep(SETTLED);
        let before = (received(server)?, queued(router)?);
        transfer.advance(ENOUGH, LIMIT)?;
        lives(&transfer, weir.as_ref())?;
        let after = (received(server)?, queued(router)?);
        let (octets, seen) = (after.0 - before.0, after.1 - before.1);
        if seen < octets * 9 / 10 {
            let ports = described(weir.as_ref());
            return Err(Error::Unexpected(format!(
                "the queue saw {seen} of {octets} bytes: {ports}"
            )));
        }
        if by == Forwarder::Weir("xdp") {
            let found = ports(weir.as_ref().expect("weir"))?.into_iter();
            let mut found = found.filter(|port| port.name == "wan0");
            let told = found.any(|port| {
                let limits = &port.stack.limits;
                !port.xdp_transmit && limits.iter().any(|l| l.reason.code == "queue")
            });
            assert!(told, "why XDP does not send there is not told");
        }
        transfer.stop().map(drop)
    });
}

/// Returns the bytes that the root qdisc of wan0 has sent.
fn queued(router: &Namespace) -> Result<u64, Error> {
    let text = router.run("tc -s qdisc show dev wan0")?;
    let sent = text
        .split("root")
        .nth(1)
        .and_then(|part| part.split("Sent ").nth(1));
    sent.and_then(|sent| sent.split(' ').next()?.parse().ok())
        .ok_or_else(|| Error::Unexpected(format!("no root qdisc in {text}")))
}
