//! Foreign portals: weir forwards their guests' packets. Sessions that the portal ends are over no
//! later than with the kernel alone; other flows go on.

use std::collections::HashMap;

use lab::opennds::OpenNds;
use lab::topology::{mac, text};
use weir_tests::scene::{self, ENOUGH, Forwarder, WAYS, at_once};

use super::*;

const RATE: u64 = 2_000_000;
/// HTTPS: Pirania checks each packet of this port.
const HTTPS: u16 = 443;
/// Pirania checks only the first packet of other ports.
const OTHER: u16 = 5001;

/// Both portals check each packet's hardware address, which weir does not see. By default weir
/// leaves their guests to the kernel; with this setting weir forwards them.
const IGNORE: &str = "[offload]\neach_packet = \"ignore\"\n";

/// A gateway with a foreign portal, and with weir if weir is to forward.
struct Beside {
    weir: Option<Weir>,
    lab: Lab,
}

impl Beside {
    fn open(by: Forwarder, more: &str) -> Result<Self, Error> {
        let lab = scene::lab(by, &Options::default())?;
        let weir = scene::weir(by, &lab, more)?;
        Ok(Self { weir, lab })
    }

    fn router(&self) -> Result<&Namespace, Error> {
        self.lab.node("router")
    }

    /// Sends to a port of the server, and waits until a running weir forwards the flow.
    fn send_fast(&self, port: u16) -> Result<Transfer, Error> {
        let transfer = self.send(port)?;
        if let Some(weir) = &self.weir {
            weir.wait_for_forwarding(port)?;
        }
        Ok(transfer)
    }

    fn send(&self, port: u16) -> Result<Transfer, Error> {
        let to = SocketAddr::new(SERVER, port);
        let (client, server) = (self.lab.node("client")?, self.lab.node("server")?);
        let transfer = Transfer::start(client, server, to, 1, Some(RATE))?;
        transfer.advance(1, LIMIT)?;
        Ok(transfer)
    }
}

/// The guest's hardware address as in rules.
fn guest() -> String {
    text(mac("client", "eth0"))
}

/// Returns the time of a transfer's last progress, after a while without any.
fn last(transfer: &Transfer) -> Result<Instant, Error> {
    let mut moved = (transfer.progress(), Instant::now());
    let begun = moved.1;
    while moved.1.elapsed() < 2 * AT_ONCE {
        let progress = transfer.progress();
        if progress != moved.0 {
            moved = (progress, Instant::now());
        }
        if begun.elapsed() > LIMIT {
            return Err(unexpected("the transfer goes on"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(moved.1)
}

/// Returns the tables of Pirania (LibreMesh) with an admitted guest, as its script makes them.
/// `guest` is the element of the set.
fn pirania(flags: &str, guest: &str) -> String {
    format!(
        "table inet pirania {{
            set pirania-catch-ifaces {{ type ifname; elements = {{ \"lan0\" }}; }}
            set pirania-auth-macs {{ type ether_addr; {flags} elements = {{ {guest} }}; }}
            set pirania-allowlist-ipv4 {{ type ipv4_addr; flags interval; }}
            set pirania-allowlist-ipv6 {{ type ipv6_addr; flags interval; }}
            chain pirania_prerouting {{
                ip daddr @pirania-allowlist-ipv4 accept
                ip6 daddr @pirania-allowlist-ipv6 accept
                udp dport {{ 67, 68, 546, 547 }} accept
                ether saddr @pirania-auth-macs accept
                tcp dport 80 redirect to :59080
                udp dport 53 redirect to :59053
                tcp dport 443 return
                drop
            }}
            chain pirania_input {{
                tcp dport 443 ether saddr != @pirania-auth-macs reject with tcp reset
            }}
            chain pirania_forward {{
                ether saddr @pirania-auth-macs return
                udp dport 53 return
                ip daddr @pirania-allowlist-ipv4 return
                ip6 daddr @pirania-allowlist-ipv6 return
                tcp dport 443 ether saddr != @pirania-auth-macs reject with tcp reset
            }}
            chain prerouting {{
                type nat hook prerouting priority -100;
                iifname @pirania-catch-ifaces jump pirania_prerouting
                meta mark 0x9124714 jump pirania_prerouting
            }}
            chain input {{
                type filter hook input priority 0; policy accept;
                iifname @pirania-catch-ifaces jump pirania_input
                meta mark 0x9124714 jump pirania_input
                meta mark 0x9124714 meta mark set 0
            }}
            chain forward {{
                type filter hook forward priority 0; policy accept;
                iifname @pirania-catch-ifaces jump pirania_forward
                meta mark 0x9124714 jump pirania_forward
                meta mark 0x9124714 meta mark set 0
            }}
        }}"
    )
}

/// Compares the end of the running HTTPS for each forwarder: with weir at most a second after the
/// kernel's. Flows that Pirania's rules do not end go on with each forwarder.
fn pirania_ends(run: impl Fn(&Beside) -> Result<Instant, Error> + Sync, flags: &str, set: &str) {
    let ends = Mutex::new(HashMap::new());
    at_once(&WAYS, |by| {
        let beside = Beside::open(by, IGNORE)?;
        let router = beside.router()?;
        router.nft(&pirania(flags, &format!("{}{set}", guest())))?;
        let (https, other) = (beside.send_fast(HTTPS)?, beside.send_fast(OTHER)?);
        let over = run(&beside)?;
        let ended = last(&https)?;
        let early = over.saturating_duration_since(ended);
        assert!(early < AT_ONCE, "{by:?}: it ended {early:?} early");
        let late = ended.saturating_duration_since(over);
        ends.lock()
            .expect("no panic")
            .insert(format!("{by:?}"), late);
        other.advance(ENOUGH / 4, LIMIT)?;
        if let Some(weir) = &beside.weir {
            weir.wait_for_forwarding(OTHER)?;
        }
        // New connections are refused.
        let to = SocketAddr::new(SERVER, ECHO);
        let _echo = Echo::serve(beside.lab.node("server")?, to)?;
        assert!(ask_tcp(beside.lab.node("client")?, to, b"in?").is_err());
        Ok(())
    });
    let ends = ends.into_inner().expect("no panic");
    let kernel = ends[&format!("{:?}", Forwarder::Kernel)];
    for (by, late) in &ends {
        assert!(
            *late < kernel + AT_ONCE,
            "{by}: {late:?}; the kernel: {kernel:?}"
        );
    }
}

/// The kernel removes an expired guest from the set without a notification.
#[test]
fn piranias_guests_are_out_when_their_element_times_out() {
    let time = Duration::from_secs(10);
    let expires = |beside: &Beside| -> Result<Instant, Error> {
        let router = beside.router()?;
        let element = format!("inet pirania pirania-auth-macs {{ {} }}", guest());
        router.nft(&format!(
            "delete element {element}\nadd element {}\n",
            element.replace(" }", " timeout 10s }")
        ))?;
        let over = Instant::now() + time;
        if let Some(weir) = &beside.weir {
            weir.wait_for_forwarding(HTTPS)?;
        }
        std::thread::sleep(over.saturating_duration_since(Instant::now() + AT_ONCE / 2));
        Ok(over)
    };
    pirania_ends(expires, "flags timeout;", " timeout 1h");
}

/// Each minute Pirania's script empties the set and adds the current guests again.
#[test]
fn piranias_guests_are_out_when_it_takes_them_out() {
    let update = |beside: &Beside| -> Result<Instant, Error> {
        let router = beside.router()?;
        router.run("nft flush set inet pirania pirania-auth-macs")?;
        let over = Instant::now();
        router.run("nft add element inet pirania pirania-auth-macs {02:00:00:00:77:01}")?;
        Ok(over)
    };
    pirania_ends(update, "", "");
}

impl Beside {
    /// Starts openNDS and registers the guest there.
    fn opennds(&self) -> Result<OpenNds, Error> {
        let portal = OpenNds::start(self.router()?, &[(guest(), CLIENT)])?;
        self.comes(&portal)?;
        Ok(portal)
    }

    /// Requests a page as the guest, which registers the guest at openNDS.
    fn comes(&self, portal: &OpenNds) -> Result<(), Error> {
        wait_until("openNDS's own page", LIMIT, || {
            let line = format!("curl -s -m 5 -o /dev/null -w %{{redirect_url}} http://{SERVER}/");
            let led = self.lab.node("client")?.run(&line);
            let led = led.is_ok_and(|led| led.starts_with("http://192.168.1.1:2050/"));
            // openNDS answers on its page before its last rules are in place.
            Ok(led
                && portal
                    .tell("json")
                    .is_ok_and(|known| known.contains(&guest())))
        })
    }
}

/// Returns the time at which openNDS removed the guest's rule.
fn ruled_out(router: &Namespace) -> Result<Instant, Error> {
    wait_until("openNDS to end the session", LIMIT, || {
        std::thread::sleep(Duration::from_millis(20));
        let listed = router.run("nft list ruleset")?;
        Ok(!listed.contains(&guest()))
    })?;
    Ok(Instant::now())
}

/// A deauthentication by hand; a timeout in openNDS removes the same rules.
#[test]
fn opennds_guests_are_out_when_it_says_so() {
    at_once(&WAYS, |by| {
        let beside = Beside::open(by, IGNORE)?;
        let router = beside.router()?;
        let portal = beside.opennds()?;
        let to = SocketAddr::new(SERVER, ECHO);
        let _echo = Echo::serve(beside.lab.node("server")?, to)?;
        assert!(ask_tcp(beside.lab.node("client")?, to, b"in?").is_err());
        // The session lasts a minute, openNDS's shortest time.
        portal.tell(&format!("auth {} 1", guest()))?;
        let transfer = beside.send_fast(OTHER)?;
        portal.tell(&format!("deauth {}", guest()))?;
        let over = ruled_out(router)?;
        let ended = last(&transfer)?;
        let late = ended.saturating_duration_since(over);
        assert!(late < AT_ONCE, "{by:?}: it went on for {late:?}");
        let early = over.saturating_duration_since(ended);
        assert!(early < AT_ONCE, "{by:?}: it ended {early:?} early");
        Ok(())
    });
}

/// By default weir leaves guests of a foreign portal to the kernel, which ends their flows.
#[test]
fn the_kernel_forwards_guests_of_others_by_default() -> Result<(), Error> {
    for of in ["Pirania", "openNDS"] {
        let beside = Beside::open(Forwarder::Weir("tc"), "")?;
        let mut daemon = None;
        if of == "Pirania" {
            beside.router()?.nft(&pirania("", &guest()))?;
        } else {
            daemon
                .insert(beside.opennds()?)
                .tell(&format!("auth {} 1", guest()))?;
        }
        let transfer = beside.send(HTTPS)?;
        let weir = beside.weir.as_ref().ok_or_else(|| unexpected("no weir"))?;
        let mut told = None;
        wait_until("the flow is judged", LIMIT, || {
            told = weir.flow_at(HTTPS)?.and_then(|flow| flow.reason);
            Ok(told
                .as_ref()
                .is_some_and(|reason| reason.code == "each-packet"))
        })
        .map_err(|error| unexpected(format!("{of}: {error}: {told:?}")))?;
        transfer.advance(ENOUGH / 4, LIMIT)?;
        let forwarded = weir.flow_at(HTTPS)?.map_or(0, |flow| flow.packets());
        assert_eq!(forwarded, 0, "{of}");
    }
    Ok(())
}
