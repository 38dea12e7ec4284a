//! Device counters: with and without weir, the same traffic must show equal packets and bytes at
//! each device, also at devices that weir bypasses.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use answers::Traffic;
use lab::arrangement::Wan;
use lab::transfer::{Datagrams, Echo, ask_tcp};
use lab::{Arrangement, Error, Lab, Namespace, Options};
use weir_tests::scene::{self, Forwarder, WAYS, at_once};
use weir_tests::{LIMIT, Weir};

/// Port of echo servers.
const ECHO: u16 = 7;
/// Datagrams each way, for each family and length: many more than prove.
const ROUNDS: usize = 120;
/// After this many datagrams a running weir gets time to take the flow over.
const TAKEN: usize = 5;
/// Bytes of payload, long enough to avoid Ethernet's padding, which a card counts and weir does
/// not.
const LENGTHS: [usize; 2] = [100, 1300];
/// Number of attempts, as other packets may disturb one attempt.
const ATTEMPTS: usize = 3;

type Counted = BTreeMap<String, Traffic>;

/// Returns the kernel's counters.
fn by_kernel(node: &Namespace) -> Result<Counted, Error> {
    let text = node.run("cat /proc/net/dev")?;
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let read = |(name, numbers): (&str, &str)| {
        let n: Vec<u64> = numbers
            .split_whitespace()
            .map_while(|n| n.parse().ok())
            .collect();
        let traffic = Traffic {
            packets_in: n[1],
            bytes_in: n[0],
            packets_out: n[9],
            bytes_out: n[8],
        };
        (name.trim().to_owned(), traffic)
    };
    Ok(lines.map(read).collect())
}

/// Returns the counters of `weir ports`, and weir's forwarded part of them.
fn by_weir(weir: &Weir) -> Result<(Counted, Counted), Error> {
    let failed = |error: api::ClientError| Error::Unexpected(error.to_string());
    let ports = weir.client()?.ports().map_err(failed)?;
    let (mut totals, mut forwarded) = (Counted::new(), Counted::new());
    for port in ports {
        if port.unattributed != 0 {
            let text = format!("{} packets at {}", port.unattributed, port.name);
            return Err(Error::Unexpected(format!("not attributed: {text}")));
        }
        let part = Traffic {
            packets_in: port.packets_in,
            bytes_in: port.bytes_in,
            packets_out: port.packets_out,
            bytes_out: port.bytes_out,
        };
        forwarded.insert(port.name.clone(), part);
        totals.extend(port.total.map(|total| (port.name, total)));
    }
    Ok((totals, forwarded))
}

/// Returns totals as a user sees them, and weir's part.
fn counted(lab: &Lab, weir: Option<&Weir>) -> Result<(Counted, Counted), Error> {
    match weir {
        Some(weir) => by_weir(weir),
        None => Ok((by_kernel(lab.node("router")?)?, Counted::new())),
    }
}

fn grown(before: &Counted, after: &Counted) -> Counted {
    let mut grown = Counted::new();
    for (name, now) in after {
        let then = before.get(name).copied().unwrap_or_default();
        let difference = Traffic {
            packets_in: now.packets_in - then.packets_in,
            bytes_in: now.bytes_in - then.bytes_in,
            packets_out: now.packets_out - then.packets_out,
            bytes_out: now.bytes_out - then.bytes_out,
        };
        grown.insert(name.clone(), difference);
    }
    grown
}

/// Makes known neighbours permanent: no requests for them disturb the counts.
fn remember_neighbours(lab: &Lab) -> Result<(), Error> {
    for node in lab.nodes() {
        let mut lines = String::new();
        for line in node.run("ip neigh show")?.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [to, "dev", device, "lladdr", mac, ..] = words[..] {
                lines += &format!("neigh replace {to} dev {device} lladdr {mac} nud permanent\n");
            }
        }
        node.ip(&lines)?;
    }
    Ok(())
}

/// IPv4 and IPv6, but no IPv6 in a hairpin: there the kernel sends redirects, at most once a second
/// (`ndisc_send_redirect`), and no setting prevents that.
fn families(arrangement: Arrangement) -> &'static [bool] {
    match arrangement.wan {
        Wan::Hairpin => &[false],
        _ => &[false, true],
    }
}

/// A client and a server that send nothing but the test's datagrams.
struct Conversation {
    lab: Lab,
    weir: Option<Weir>,
    _echoes: Vec<Echo>,
}

impl Conversation {
    fn begin(by: Forwarder, options: &Options, sessions: usize) -> Result<Self, Error> {
        let mut lab = scene::lab(by, options)?;
        if sessions > 1 {
            lab.dial_another()?;
        }
        let weir = scene::weir(by, &lab, "[offload]\nreprove = \"10m\"\n")?;
        let server = lab.node("server")?;
        let to = |ipv6| SocketAddr::new(options.arrangement.server(ipv6), ECHO);
        let families = families(options.arrangement);
        let echoes = families.iter().map(|ipv6| Echo::serve(server, to(*ipv6)));
        let talk = Self {
            _echoes: echoes.collect::<Result<_, _>>()?,
            lab,
            weir,
        };
        // Resolves neighbours, with repeated datagrams against losses.
        for ipv6 in families {
            let to = SocketAddr::new(options.arrangement.reached(*ipv6), ECHO);
            ask_tcp(talk.lab.node("client")?, to, b"anybody there?")?;
        }
        remember_neighbours(&talk.lab)?;
        talk.speak(3)?;
        Ok(talk)
    }

    /// Starts new flows each time.
    fn speak(&self, rounds: usize) -> Result<(), Error> {
        for ipv6 in families(self.lab.arrangement()) {
            let to = SocketAddr::new(self.lab.arrangement().reached(*ipv6), ECHO);
            let datagrams = Datagrams::open(self.lab.node("client")?, to)?;
            for length in LENGTHS {
                for round in 0..rounds {
                    if round == TAKEN {
                        thread::sleep(Duration::from_millis(200));
                    }
                    let payload = vec![b'w'; length];
                    if !datagrams.ask(&payload, LIMIT)? {
                        let lost = format!("{to}: no answer of {length} bytes in round {round}");
                        return Err(Error::Unexpected(lost));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the devices' counts of the same traffic each time, and weir's part of it.
    fn measure(&self) -> Result<(Counted, Counted), Error> {
        let weir = self.weir.as_ref();
        let mut before = counted(&self.lab, weir)?;
        loop {
            thread::sleep(Duration::from_millis(500));
            let now = counted(&self.lab, weir)?;
            if now == before {
                break;
            }
            before = now;
        }
        self.speak(ROUNDS)?;
        // Ends the flows without an effect on the counters.
        if weir.is_some() {
            self.lab.node("router")?.run("conntrack -F")?;
        }
        let after = counted(&self.lab, weir)?;
        Ok((grown(&before.0, &after.0), grown(&before.1, &after.1)))
    }
}

/// Each forwarder shows the kernel's counts. `sessions`: number of PPPoE sessions, if there are
/// any.
fn same(arrangement: Arrangement, sessions: usize) {
    let options = Options {
        arrangement,
        ..Options::default()
    };
    let kernel = Conversation::begin(Forwarder::Kernel, &options, sessions).and_then(|talk| {
        let mut seen = vec![talk.measure()?.0];
        for _ in 0..ATTEMPTS {
            let again = talk.measure()?.0;
            if seen.contains(&again) {
                return Ok(again);
            }
            seen.push(again);
        }
        Err(Error::Unexpected(format!("never twice the same: {seen:?}")))
    });
    let expected = kernel.unwrap_or_else(|error| panic!("the kernel alone: {error}"));
    at_once(&WAYS[1..], |by| {
        let talk = Conversation::begin(by, &options, sessions)?;
        let mut wrong = String::new();
        for _ in 0..ATTEMPTS {
            let (found, forwarded) = talk.measure()?;
            wrong = differences(&expected, &found, &forwarded, &arrangement);
            if wrong.is_empty() {
                return Ok(());
            }
        }
        Err(Error::Unexpected(wrong))
    });
}

/// Returns the deviations; empty without any.
fn differences(
    expected: &Counted,
    found: &Counted,
    forwarded: &Counted,
    arrangement: &Arrangement,
) -> String {
    let mut wrong = String::new();
    for (name, expected) in expected {
        let found = found.get(name).copied().unwrap_or_default();
        let part = forwarded.get(name).copied().unwrap_or_default();
        let is_port = arrangement.ports().contains(&name.as_str());
        // A veth counts Ethernet headers or not, depending on NAPI, so its bytes are not
        // comparable.
        let octets =
            is_port || (found.bytes_in, found.bytes_out) == (expected.bytes_in, expected.bytes_out);
        let packets =
            (found.packets_in, found.packets_out) == (expected.packets_in, expected.packets_out);
        // Most of the traffic must have gone by weir.
        let mostly = |part: u64, all: u64| part <= all && part * 4 >= all * 3;
        let by_weir = mostly(part.packets_in, found.packets_in)
            && mostly(part.packets_out, found.packets_out);
        if !octets || !packets || !by_weir {
            wrong +=
                &format!("\n{name}: {found:?}\nthe kernel: {expected:?}\nweir's part: {part:?}");
        }
    }
    wrong
}

macro_rules! arrangements {
    ($($(#[$needs:meta])* $name:ident: $arrangement:ident;)*) => {
        $(
            #[test]
            $(#[$needs])*
            fn $name() {
                same(Arrangement::$arrangement, 1);
            }
        )*
    };
}

arrangements! {
    counters_of_a_bridge: BRIDGE;
    counters_of_a_hairpin: HAIRPIN;
    #[ignore = "needs 802.1Q: run by tests/vm/run"]
    counters_of_a_vlan_with_own_mac: VLAN_WITH_OWN_MAC;
    #[ignore = "needs 802.1Q: run by tests/vm/run"]
    counters_of_two_tags: QINQ;
    #[ignore = "needs bridges that filter VLANs: run by tests/vm/run"]
    counters_of_the_trunk_of_a_filtering_bridge: FILTERING_BRIDGE_TRUNK;
    #[ignore = "needs PPPoE and 802.1Q: run by tests/vm/run"]
    counters_of_a_home: HOME;
    #[ignore = "needs VRF: run by tests/vm/run"]
    counters_of_a_vrf: VRF;
}

/// The kernel does not report the owner of a session: weir must see the port of arrival.
#[test]
#[ignore = "needs PPPoE: run by tests/vm/run"]
fn counters_of_one_of_two_sessions() {
    same(Arrangement::PPPOE, 2);
}
