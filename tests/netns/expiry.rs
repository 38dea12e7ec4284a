//! An end without a message ends a flow that weir forwards when it ends the kernel's flow.

use std::cell::RefCell;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::process::Stdio;
use std::time::{Duration, Instant};

use lab::gateway::{CLIENT, ROUTER_WAN, SERVER, SERVER_INNER6, SERVER6};
use lab::namespace::wait_until;
use lab::topology::{mac, text};
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, Namespace, Options};
use weir_tests::scene::{self, Forwarder, WAYS};
use weir_tests::{LIMIT, Weir};

/// No proof expires during a test.
const NO_REPROOF: &str = "[offload]\nreprove = \"10m\"\n";
/// Port of echo servers.
const ECHO: u16 = 7;
/// Datagrams to this port are a knock without an answer.
const KNOCK: u16 = 9;
/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_millis(500);
/// The kernel's clock ends a flow at once. This time is for a busy machine, which may not run the
/// client just then.
const AT_ONCE: Duration = Duration::from_millis(700);
/// The daemon, if it gets a processor, finds a packet's change within a second.
const FOUND: Duration = Duration::from_secs(4);

/// A client that sends queries repeatedly, through a router with weir or without.
struct Asker {
    weir: Option<Weir>,
    datagrams: Datagrams,
    _echo: Echo,
    lab: Lab,
}

impl Asker {
    /// Builds the scene; `rules` is table `inet gate`, and weir forwards the flow.
    fn new(
        by: Forwarder,
        to: IpAddr,
        prepare: impl Fn(&Namespace) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let lab = scene::lab(by, &Options::default())?;
        let server = lab.node("server")?;
        if to == SERVER_INNER6 {
            server.run(&format!("ip addr add {to}/128 dev lo nodad"))?;
        }
        prepare(lab.node("router")?)?;
        let weir = scene::weir(by, &lab, NO_REPROOF)?;
        let to = SocketAddr::new(to, ECHO);
        let echo = Echo::serve(server, to)?;
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        let asker = Self {
            weir,
            datagrams,
            _echo: echo,
            lab,
        };
        asker.settles()?;
        Ok(asker)
    }

    fn router(&self) -> Result<&Namespace, Error> {
        self.lab.node("router")
    }

    /// Waits for answers, and until a running weir forwards the flow.
    fn settles(&self) -> Result<(), Error> {
        let begin = self.forwarded()?;
        wait_until("answers come, by weir", LIMIT, || {
            let answered = self.answered();
            Ok(answered && (self.weir.is_none() || self.forwarded()? > begin + 10))
        })
    }

    fn forwarded(&self) -> Result<u64, Error> {
        let Some(weir) = &self.weir else { return Ok(0) };
        let flow = weir.flow_at(ECHO)?;
        Ok(flow.map_or(0, |flow| flow.directions.original.packets))
    }

    /// Returns true for an answer; an error is not an answer, as the router may refuse.
    fn answered(&self) -> bool {
        self.datagrams.ask(b"well?", ANSWER).unwrap_or(false)
    }

    /// Asks until `end`; returns the time of the last answered question, and the packets that weir
    /// forwarded.
    fn last_answer(&self, end: Instant) -> Result<(Instant, u64), Error> {
        let begin = self.forwarded()?;
        let mut last = Instant::now();
        while Instant::now() < end {
            let asked = Instant::now();
            if self.answered() {
                last = asked;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok((last, self.forwarded()? - begin))
    }

    /// Asserts that weir forwards until `over`, the exact end in the kernel, and only little
    /// longer.
    fn ends_at(&self, by: Forwarder, over: Instant) -> Result<(), Error> {
        let (last, forwarded) = self.last_answer(over + 2 * AT_ONCE)?;
        assert!(
            by == Forwarder::Kernel || forwarded > 10,
            "{by:?}: it was not forwarded by weir"
        );
        let late = last.saturating_duration_since(over);
        assert!(late < AT_ONCE, "{by:?}: {late:?} late");
        let early = over.saturating_duration_since(last);
        assert!(early < 2 * AT_ONCE, "{by:?}: {early:?} early");
        Ok(())
    }
}

fn gate(router: &Namespace, rules: &str) -> Result<(), Error> {
    router
        .nft(&format!("table inet gate {{\n{rules}\n}}\n"))
        .map(drop)
}

/// Long enough for weir to forward packets on a busy machine.
const LIFE: Duration = Duration::from_secs(6);

#[test]
fn an_element_that_lets_a_flow_through_times_out() {
    scene::at_once(&WAYS, |by| {
        let asker = Asker::new(by, SERVER, |router| {
            gate(
                router,
                &format!(
                    "set guests {{ type ipv4_addr; flags timeout; }}\n\
                     chain fw {{ type filter hook forward priority 10; policy accept;\n\
                     udp dport {ECHO} ip saddr @guests accept\nudp dport {ECHO} drop\n}}"
                ),
            )?;
            let add = format!("add element inet gate guests {{ {CLIENT} }}\n");
            router.nft(&add).map(drop)
        })?;
        let seconds = LIFE.as_secs();
        asker.router()?.nft(&format!(
            "delete element inet gate guests {{ {CLIENT} }}\n\
             add element inet gate guests {{ {CLIENT} timeout {seconds}s }}\n"
        ))?;
        asker.ends_at(by, Instant::now() + LIFE)
    });
}

#[test]
fn a_packet_bans_its_sender_for_a_while() {
    scene::at_once(&WAYS, |by| {
        let asker = Asker::new(by, SERVER, |router| {
            gate(
                router,
                &format!(
                    "set ban {{ type ipv4_addr; flags dynamic,timeout; size 100; }}\n\
                     chain fw {{ type filter hook forward priority 10; policy accept;\n\
                     udp dport {KNOCK} add @ban {{ ip saddr timeout 8s }} drop\n\
                     udp dport {ECHO} ip saddr @ban drop\n}}"
                ),
            )
        })?;
        // weir has read the ruleset with the set by then.
        std::thread::sleep(Duration::from_millis(1500));
        asker.settles()?;
        let to = SocketAddr::new(SERVER, KNOCK);
        let knock = Datagrams::open(asker.lab.node("client")?, to)?;
        let knocked = Instant::now();
        knock.ask(b"knock", Duration::from_millis(1))?;
        let (last, _) = asker.last_answer(knocked + FOUND + Duration::from_secs(1))?;
        let late = last.saturating_duration_since(knocked);
        assert!(late < FOUND, "{by:?}: banned {late:?} late");
        wait_until("the ban is over", LIMIT, || Ok(asker.answered()))?;
        let early = (knocked + Duration::from_secs(8)).saturating_duration_since(Instant::now());
        assert!(
            early.is_zero(),
            "{by:?}: the ban was over {early:?} too soon"
        );
        asker.settles()
    });
}

/// Each packet refreshes the element in the kernel alone: a flow that weir forwards lives as long.
#[test]
fn packets_keep_their_element_alive() {
    scene::at_once(&WAYS, |by| {
        let asker = Asker::new(by, SERVER, |router| {
            gate(
                router,
                &format!(
                    "set active {{ type ipv4_addr; flags dynamic,timeout; size 100; }}\n\
                     chain fw {{ type filter hook forward priority 10; policy accept;\n\
                     udp dport {ECHO} ct state new add @active {{ ip saddr timeout 60s }}\n\
                     udp dport {ECHO} ip saddr @active update @active {{ ip saddr timeout 4s }} \
                     accept\n\
                     udp dport {ECHO} drop\n}}"
                ),
            )
        })?;
        let end = Instant::now() + LIFE + Duration::from_secs(3);
        let (last, forwarded) = asker.last_answer(end)?;
        assert!(
            by == Forwarder::Kernel || forwarded > 100,
            "{by:?}: {forwarded} forwarded"
        );
        let silence = end.saturating_duration_since(last);
        assert!(
            silence < Duration::from_secs(1),
            "{by:?}: cut off {silence:?} before the end"
        );
        // Another change shows that the kernel still passes the flow.
        asker.router()?.nft("add table inet other\n")?;
        asker.settles()
    });
}

#[test]
fn a_route_comes_to_its_end() {
    scene::at_once(&WAYS, |by| {
        let via = format!("2001:db8:99::/48 via {SERVER6}");
        let asker = Asker::new(by, SERVER_INNER6, |router| {
            router.run(&format!("ip -6 route add {via}")).map(drop)
        })?;
        let seconds = LIFE.as_secs();
        asker
            .router()?
            .run(&format!("ip -6 route replace {via} expires {seconds}"))?;
        asker.ends_at(by, Instant::now() + LIFE)
    });
}

/// The owner of a table is killed: the kernel removes the table, and flows that only its rules
/// accepted stop.
#[test]
fn a_table_goes_with_its_owner() {
    scene::at_once(&WAYS, |by| {
        let lets = "table inet lets { flags owner; chain fw { type filter hook forward priority \
            0; meta mark set 1; }; }\n";
        let owner = RefCell::new(None);
        let asker = Asker::new(by, SERVER, |router| {
            gate(
                router,
                &format!(
                    "chain fw {{ type filter hook forward priority 10; policy accept;\nudp dport \
                        {ECHO} meta mark != 1 drop\n}}"
                ),
            )?;
            let mut nft = router.command("nft");
            nft.arg("-i").stdin(Stdio::piped()).stdout(Stdio::null());
            let process = router.start(&mut nft)?;
            let input = process.with(|child| child.stdin.take());
            let mut input = input.expect("a pipe");
            input
                .write_all(lets.as_bytes())
                .map_err(Error::system("say it to nft"))?;
            *owner.borrow_mut() = Some((process, input));
            wait_until("the table", LIMIT, || {
                Ok(router.run("nft list tables")?.contains("inet lets"))
            })
        })?;
        // weir has read the ruleset by then.
        std::thread::sleep(Duration::from_millis(1500));
        asker.settles()?;
        drop(owner.take());
        let gone = Instant::now();
        let (last, _) = asker.last_answer(gone + FOUND + Duration::from_secs(1))?;
        let late = last.saturating_duration_since(gone);
        assert!(late < FOUND, "{by:?}: {late:?} late");
        Ok(())
    });
}

/// The server changes its hardware address silently: the kernel, which probes it while packets go
/// there, finds out.
#[test]
fn a_neighbour_that_changes_without_a_word_is_found() {
    scene::at_once(&WAYS, |by| {
        let asker = Asker::new(by, SERVER, |router| {
            router.sysctl("net.ipv4.neigh.wan0.base_reachable_time_ms", 2000)?;
            router.sysctl("net.ipv4.neigh.wan0.delay_first_probe_time", 1)
        })?;
        let server = asker.lab.node("server")?;
        let router = text(mac("router", "wan0"));
        server.run("ip link set eth0 address 02:00:00:00:77:77")?;
        // The server knows the router's hardware address: an ARP request would be an event.
        server.run(&format!(
            "ip neigh replace {ROUTER_WAN} lladdr {router} dev eth0 nud permanent"
        ))?;
        assert!(!asker.answered(), "{by:?}: it did not change");
        wait_until(&format!("{by:?}: the server is found"), LIMIT, || {
            Ok(asker.answered())
        })?;
        asker.settles()
    });
}
