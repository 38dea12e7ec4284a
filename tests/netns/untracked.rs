//! Packets that conntrack no longer sees, because nothing needs it or a rule says `notrack`. Their
//! entries end, with weir as with the kernel alone, and do not help past a rule that refuses new
//! connections.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::gateway::SERVER;
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo, Transfer};
use lab::{Error, Options};
use weir_tests::LIMIT;
use weir_tests::conntrack::entry_to;
use weir_tests::scene::{self, Forwarder, PORT, WAYS, at_once};

/// Seconds that a packet gives to an entry of UDP and of TCP.
const STREAM: u64 = 8;
const ESTABLISHED: u64 = 12;
/// Port of the UDP echo.
const ECHO: u16 = 7;
/// Shorter than the entries live.
const REPROOF: &str = "[offload]\nreprove = \"2s\"\n";

/// A ruleset that needs conntrack.
const PLAIN: &str = "table inet rules { chain forward { type filter hook forward priority 0; ct \
    state established accept; }; }";
const UNTRACKED: &str =
    "table inet first { chain in { type filter hook prerouting priority raw; notrack; }; }";
const REFUSE: &str = "table inet last { chain forward { type filter hook forward priority 9; ct \
    state new drop; }; }";
/// The kernel attaches conntrack before the rule that needs conntrack takes effect: a packet in
/// between would create an entry.
const HOLD: &str =
    "table inet hold { chain forward { type filter hook forward priority 8; drop; }; }";
const REFUSE_ALL: [&str; 3] = [HOLD, REFUSE, "delete table inet hold"];

/// Sends a question each 20 ms, and counts the answers.
struct Conversation {
    datagrams: Datagrams,
    over: AtomicBool,
    answers: AtomicU64,
}

impl Conversation {
    fn run(&self) -> Result<(), Error> {
        while !self.over.load(Ordering::Relaxed) {
            // A socket reports an ICMP error as its own error.
            let answered = self.datagrams.ask(b"again", Duration::from_millis(50));
            self.answers
                .fetch_add(u64::from(answered.unwrap_or(false)), Ordering::Relaxed);
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }
}

/// With both flows live, `lose` hides their packets from conntrack, and then `refuse` refuses new
/// flows.
fn ends(
    by: Forwarder,
    nat: bool,
    rules: Option<&str>,
    lose: &[&str],
    refuse: &[&str],
) -> Result<(), Error> {
    let options = Options {
        nat,
        ..Options::default()
    };
    let lab = scene::lab(by, &options)?;
    let (client, router, server) = (
        lab.node("client")?,
        lab.node("router")?,
        lab.node("server")?,
    );
    for (key, seconds) in [
        ("udp_timeout", STREAM - 1),
        ("udp_timeout_stream", STREAM),
        ("tcp_timeout_established", ESTABLISHED),
        ("tcp_timeout_unacknowledged", ESTABLISHED - 2),
    ] {
        router.sysctl(&format!("net.netfilter.nf_conntrack_{key}"), seconds)?;
    }
    if let Some(rules) = rules {
        router.nft(rules)?;
    }
    let weir = scene::weir(by, &lab, REPROOF)?;
    let to = SocketAddr::new(SERVER, ECHO);
    let _echo = Echo::serve(server, to)?;
    let talk = Conversation {
        datagrams: Datagrams::open(client, to)?,
        over: AtomicBool::new(false),
        answers: AtomicU64::new(0),
    };
    let far = SocketAddr::new(SERVER, PORT);
    let transfer = Transfer::start(client, server, far, 1, Some(1 << 20))?;
    transfer.advance(1, LIMIT)?;

    let follow = || -> Result<(), Error> {
        let known = [ECHO, PORT];
        for port in known {
            if let Some(weir) = &weir {
                weir.wait_for_forwarding(port)?;
            }
        }
        // Long enough for the kernel to see a stream, and for weir to renew entries.
        thread::sleep(Duration::from_secs(STREAM));
        for port in known {
            assert!(entry_to(router, port)?.is_some(), "{by:?}: {port} lives");
        }
        for rules in lose {
            router.nft(rules)?;
        }
        let lost = Instant::now();
        for (port, seconds) in [(ECHO, STREAM), (PORT, ESTABLISHED)] {
            // Allows for weir's last report to conntrack, and for the time to detect the loss.
            let limit = Duration::from_secs(seconds + 4).saturating_sub(lost.elapsed());
            wait_until(&format!("the entry of port {port} ends"), limit, || {
                Ok(entry_to(router, port)?.is_none())
            })?;
        }
        // Without translation the packets are fine.
        let (answers, octets) = (talk.answers(), transfer.progress());
        thread::sleep(Duration::from_secs(1));
        let went = talk.answers() > answers && transfer.progress() > octets;
        assert_eq!(went, !nat, "{by:?}: untracked packets are forwarded");
        for rules in refuse {
            router.nft(rules)?;
        }
        thread::sleep(Duration::from_secs(1));
        let (answers, octets) = (talk.answers(), transfer.progress());
        thread::sleep(Duration::from_secs(2));
        let more = (talk.answers() - answers, transfer.progress() - octets);
        assert_eq!(more, (0, 0), "{by:?}: went on");
        Ok(())
    };
    thread::scope(|scope| {
        let asking = scope.spawn(|| talk.run());
        // A panic must not leave the other thread running.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(follow));
        talk.over.store(true, Ordering::Relaxed);
        let _ = asking.join();
        match outcome {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[test]
fn entries_end_behind_a_notrack_rule() {
    at_once(&WAYS, |by| {
        // In the other order a packet might arrive in between.
        let refuse = [REFUSE, "delete table inet first"];
        ends(by, false, Some(PLAIN), &[UNTRACKED], &refuse)
    });
}

/// The last rule that needs conntrack is removed, and with it conntrack's hooks and all
/// translation.
#[test]
fn entries_of_what_is_translated_no_more_end() {
    at_once(&WAYS, |by| {
        ends(by, true, None, &["flush ruleset"], &REFUSE_ALL)
    });
}
