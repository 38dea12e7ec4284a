//! IPsec: the end of a policy for plain packets ends the flow as with the kernel alone. For a
//! policy that appears during a flow see `tunnels/ipsec.rs`.

use std::time::{Duration, Instant};

use lab::gateway::{self, Options};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab};
use weir_tests::scene::{self, WAYS, at_once};
use weir_tests::{LIMIT, Weir};

/// A client, and weir if it runs.
struct Allowed {
    weir: Option<Weir>,
    talk: Datagrams,
    _echo: Echo,
    lab: Lab,
    since: Instant,
}

impl Allowed {
    fn in_lab(by: scene::Forwarder, lab: Lab) -> Result<Self, Error> {
        let weir = scene::weir(by, &lab, "[offload]\nreprove = \"10m\"\n")?;
        let to = (gateway::SERVER, 7).into();
        let echo = Echo::serve(lab.node("server")?, to)?;
        let talk = Datagrams::open(lab.node("client")?, to)?;
        let allowed = Self {
            talk,
            _echo: echo,
            weir,
            since: Instant::now(),
            lab,
        };
        allowed.forwards()?;
        Ok(allowed)
    }

    /// Blocks all traffic without a policy, and adds a policy with this limit.
    fn new(by: scene::Forwarder, limit: &str) -> Result<Self, Error> {
        let mut allowed = Self::in_lab(by, scene::lab(by, &Options::default())?)?;
        let router = allowed.lab.node("router")?;
        router.run(&format!(
            "ip xfrm policy add src 0.0.0.0/0 dst 10.0.0.2/32 dir out action allow limit {limit}"
        ))?;
        allowed.since = Instant::now();
        router.run("ip xfrm policy add src 0.0.0.0/0 dst 10.0.0.0/24 dir out action block")?;
        allowed.forwards()?;
        Ok(allowed)
    }

    fn asked(&self) -> Result<bool, Error> {
        self.talk.ask(b"hello", Duration::from_millis(500))
    }

    fn packets(&self) -> Result<u64, Error> {
        let Some(weir) = &self.weir else { return Ok(0) };
        let flow = weir.flow_at(7)?;
        Ok(flow.map_or(0, |flow| flow.directions.original.packets))
    }

    /// Waits until the flow is answered and a running weir forwards it.
    fn forwards(&self) -> Result<(), Error> {
        let before = self.packets()?;
        wait_until("weir forwards the flow", LIMIT, || {
            let answered = self.asked()?;
            Ok(answered && (self.weir.is_none() || self.packets()? > before + 10))
        })
    }

    /// Asks until this long after the policy's start; returns the questions and answers.
    fn until(&self, seconds: u64) -> Result<(u64, u64), Error> {
        let (mut asked, mut answered) = (0, 0);
        while self.since.elapsed() < Duration::from_secs(seconds) {
            asked += 1;
            answered += u64::from(self.asked()?);
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok((asked, answered))
    }

    fn over(&self, by: scene::Forwarder) -> Result<(), Error> {
        for _ in 0..5 {
            assert!(!self.asked()?, "{by:?}: answered, although it is over");
        }
        Ok(())
    }
}

#[test]
fn a_policy_ends_when_its_time_is_over() {
    at_once(&WAYS, |by| {
        let allowed = Allowed::new(by, "time-hard 12")?;
        let (asked, answered) = allowed.until(10)?;
        assert_eq!(asked, answered, "{by:?}: too soon");
        allowed.until(14)?;
        allowed.over(by)
    });
}

#[test]
fn a_policy_that_lives_by_use_lives_with_the_flow() {
    at_once(&WAYS, |by| {
        let allowed = Allowed::new(by, "time-use-hard 5")?;
        let before = allowed.packets()?;
        let (asked, answered) = allowed.until(12)?;
        assert_eq!(asked, answered, "{by:?}: it was in use");
        let forwarded = allowed.packets()? - before;
        let most = allowed.weir.is_none() || forwarded > asked / 2;
        assert!(most, "{by:?}: {forwarded} of {asked}");
        std::thread::sleep(Duration::from_secs(8));
        allowed.over(by)
    });
}

/// Switches without an event: their effect ends within about a second. All of them allow the flow,
/// and each blocks it once.
#[test]
fn a_switch_that_the_kernel_does_not_tell_of_takes_effect() {
    let switches = [
        ("wan0.disable_xfrm", 1, 0),
        ("all.disable_policy", 1, 0),
        ("lan0.src_valid_mark", 0, 1),
    ]
    .map(|(key, let_pass, cut)| (format!("net.ipv4.conf.{key}"), let_pass, cut));
    at_once(&WAYS, |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        for (key, let_pass, _) in &switches {
            router.sysctl(key, let_pass)?;
        }
        router.sysctl("net.ipv4.conf.lan0.rp_filter", 1)?;
        router.nft(
            "table ip steer { chain pre { type filter hook prerouting priority -150; iifname lan0 \
                meta mark set 1\n}\n}\n",
        )?;
        for line in [
            "ip xfrm policy add src 0.0.0.0/0 dst 10.0.0.2/32 dir out action block",
            "ip xfrm policy add src 0.0.0.0/0 dst 10.0.0.2/32 dir fwd action block",
            "ip route add default via 10.0.0.2 table 100",
            "ip rule add fwmark 1 lookup 100",
        ] {
            router.run(line)?;
        }
        let allowed = Allowed::in_lab(by, lab)?;
        // The proofs of a young exchange end by themselves.
        allowed.until(4)?;
        let router = allowed.lab.node("router")?;
        for (key, let_pass, cut) in &switches {
            router.sysctl(key, cut)?;
            std::thread::sleep(Duration::from_secs(3));
            assert!(!allowed.asked()?, "{by:?}: answered, {key} = {cut}");
            allowed.over(by)?;
            router.sysctl(key, let_pass)?;
            allowed
                .forwards()
                .map_err(|error| Error::Unexpected(format!("{key} = {let_pass} again: {error}")))?;
        }
        Ok(())
    });
}
