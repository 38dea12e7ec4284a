//! The lab with several uplinks provides the requested rates, delays, middleboxes and cuts. These
//! tests use the kernel alone, as the reference for weir.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::counters::{Bytes, Counters};
use lab::goodput::{Demand, Goodput, Transport};
use lab::namespace::wait_until;
use lab::relay::Impairment;
use lab::transfer::{Datagrams, Echo};
use lab::uplinks::{Cut, Options, PARTNER, PARTNER6, Path, SERVER, SERVER6};
use lab::{Error, Namespace, Uplinks};
use weir_tests::LIMIT;

const PORT: u16 = 5000;
const SECOND: Duration = Duration::from_secs(1);
const MBIT: f64 = 1e6;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A busy machine gets another try: a rate that a shaper does not give fails in all tries.
const TRIES: usize = 3;

/// Measures for 4 s. Expects at least this rate of payload once it runs, Mbit/s, and at most that
/// rate in total: a delayed receiver reads more later.
fn keeps(
    (client, server): (&Namespace, &Namespace),
    demand: &Demand,
    least: f64,
    most: f64,
) -> Result<(), Error> {
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let series = Goodput::measure(client, server, demand, 4 * SECOND)?;
        let running = series.rate(SECOND..4 * SECOND) / MBIT;
        let whole = series.rate(Duration::ZERO..4 * SECOND) / MBIT;
        seen.push((running, whole));
        if whole > most {
            break;
        }
        if running >= least {
            return Ok(());
        }
    }
    Err(Error::Unexpected(format!(
        "{demand:?}: not {least} to {most} Mbit/s, but (after a second, in all) {seen:?}"
    )))
}

/// Sets up both ends for the kernel's own MPTCP.
fn mptcp(uplinks: &Uplinks) -> Result<(), Error> {
    uplinks.source_rules()?;
    for end in [uplinks.router(), uplinks.partner()] {
        end.run("ip mptcp limits set subflows 4 add_addr_accepted 4")?;
    }
    for path in 1..uplinks.paths() {
        uplinks.router().run(&format!(
            "ip mptcp endpoint add {} dev {} subflow",
            uplinks.address(path),
            uplinks.device(path)
        ))?;
    }
    Ok(())
}

#[test]
fn mptcp_of_the_kernel_sums_two_paths() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[20, 20]))?;
    mptcp(&uplinks)?;
    let (router, partner) = (uplinks.router(), uplinks.partner());
    let to = SocketAddr::new(PARTNER, PORT);
    for demand in [
        Demand::up(Transport::Mptcp, to),
        Demand::down(Transport::Mptcp, to),
    ] {
        let octets = || -> Result<Vec<u64>, Error> {
            let of = |path| Bytes::of(router, &uplinks.device(path));
            (0..2)
                .map(|path| of(path).map(|octets| octets.sent + octets.received))
                .collect()
        };
        let (before, joins) = (octets()?, Counters::of(router)?);
        keeps((router, partner), &demand, 36.0, 40.0)?;
        let change = Counters::of(router)?.since(&joins);
        assert!(change.get("MPTcpExtMPJoinSynAckRx")? >= 1, "{change:?}");
        let carried: Vec<_> = octets()?
            .iter()
            .zip(&before)
            .map(|(after, before)| after - before)
            .collect();
        assert!(
            carried.iter().all(|octets| *octets > 6_000_000),
            "{carried:?}"
        );
    }
    Ok(())
}

/// Returns the shortest round trip of some small datagrams.
fn round_trip(from: &Namespace, to: SocketAddr) -> Result<Duration, Error> {
    let talk = Datagrams::open(from, to)?;
    let mut shortest = LIMIT;
    for _ in 0..10 {
        let asked = Instant::now();
        if talk.ask(b"how far?", SECOND)? {
            shortest = shortest.min(asked.elapsed());
        }
    }
    Ok(shortest)
}

#[test]
fn a_relay_delays_loses_and_keeps_the_order() -> Result<(), Error> {
    let delay = Impairment::delay(ms(40));
    let uplinks = Uplinks::build(&Options {
        paths: vec![Path::mbit(20).with_relay(delay)],
        ipv6: false,
    })?;
    let (client, server) = (uplinks.client(), uplinks.server());
    let echo = Echo::serve(server, (SERVER, 7).into())?;
    let time = round_trip(client, (SERVER, 7).into())?;
    // Not earlier, on any machine; not delayed twice, on a busy one.
    assert!((ms(80)..ms(160)).contains(&time), "{time:?} with 2 × 40 ms");
    drop(echo);

    // 1042 datagrams a second. The delay ends during the transfer: later datagrams may not overtake
    // delayed ones.
    let demand = Demand::up(Transport::Udp, (SERVER, PORT).into()).with_rate(10_000_000);
    let goodput = Goodput::start(client, server, &demand)?;
    sleep(SECOND);
    uplinks.treat(0, Impairment::default())?;
    sleep(SECOND);
    let series = goodput.stop()?;
    let order = series.order();
    assert!(order.received > 1500, "{}", order.received);
    assert_eq!((order.late, order.twice, order.lost()), (0, 0, 0));

    let loss = Impairment {
        loss: 0.1,
        ..Impairment::default()
    };
    uplinks.treat(0, loss)?;
    for demand in [
        demand,
        Demand {
            down: true,
            ..demand
        },
    ] {
        let series = Goodput::measure(client, server, &demand, 2 * SECOND)?;
        let order = series.order();
        let share = order.lost() as f64 / (order.lost() + order.received) as f64;
        assert!(order.received > 1000, "{}", order.received);
        assert!((0.06..0.14).contains(&share), "{share} of 0.1 lost");
        assert_eq!((order.late, order.twice), (0, 0));
    }
    let counts = uplinks.relay(0)?.counts();
    assert!(counts.lost > 200 && counts.overrun == 0, "{counts:?}");
    Ok(())
}

/// Returns the number of the router's default routes by a path, of both families.
fn routes(uplinks: &Uplinks, path: usize) -> Result<usize, Error> {
    let device = uplinks.device(path);
    let mut count = 0;
    for family in ["-4", "-6"] {
        let shown = uplinks
            .router()
            .run(&format!("ip {family} route show default dev {device}"))?;
        count += shown.lines().count();
    }
    Ok(count)
}

#[test]
fn each_cut_cuts_and_heals() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options {
        ipv6: true,
        ..Options::mbit(&[20])
    })?;
    let (client, server) = (uplinks.client(), uplinks.server());
    let flows = [SERVER, SERVER6]
        .map(|to| Demand::up(Transport::Udp, (to, PORT).into()).with_rate(1_000_000))
        .map(|demand| Goodput::start(client, server, &demand));
    let mut goodputs = Vec::new();
    for flow in flows {
        goodputs.push(flow?);
    }
    // Cut, remaining default routes, carrier.
    for (cut, left, carrier) in [
        (Cut::Link, 0, false),
        (Cut::Hole, 2, true),
        (Cut::Address, 0, true),
    ] {
        assert_eq!(routes(&uplinks, 0)?, 2);
        uplinks.cut(0, cut)?;
        // Queued packets have arrived.
        sleep(ms(300));
        let begun: Vec<_> = goodputs.iter().map(Goodput::now).collect();
        sleep(ms(700));
        for (goodput, begun) in goodputs.iter().zip(&begun) {
            let silence = goodput.series().silence(*begun..goodput.now());
            assert!(silence >= ms(700), "{cut:?}: {silence:?}");
        }
        assert_eq!(routes(&uplinks, 0)?, left, "{cut:?}");
        let shown = uplinks.provider(0).run("ip link show home")?;
        assert_eq!(!shown.contains("NO-CARRIER"), carrier, "{cut:?}: {shown}");
        uplinks.heal(0)?;
        for goodput in &goodputs {
            let before = goodput.series().total();
            wait_until(&format!("{cut:?} healed"), LIMIT, || {
                Ok(goodput.series().total() > before)
            })?;
        }
    }
    Ok(())
}

/// Returns the source that `to` sees for the router's packet from `from`.
fn seen_by(uplinks: &Uplinks, host: &Namespace, to: IpAddr, from: IpAddr) -> Result<IpAddr, Error> {
    let failed = || Error::system(format!("say something from {from} to {to}"));
    let ear = host
        .enter(|| UdpSocket::bind((to, PORT)))?
        .map_err(failed())?;
    ear.set_read_timeout(Some(LIMIT)).map_err(failed())?;
    let mouth = uplinks
        .router()
        .enter(|| UdpSocket::bind((from, 0)))?
        .map_err(failed())?;
    mouth.send_to(b"it is me", (to, PORT)).map_err(failed())?;
    let (_, seen) = lab::uninterrupted(|| ear.recv_from(&mut [0; 16])).map_err(failed())?;
    Ok(seen.ip())
}

#[test]
fn partner_and_server_are_reached_by_each_path() -> Result<(), Error> {
    let translating = Path {
        masquerade: true,
        ..Path::default()
    };
    let uplinks = Uplinks::build(&Options {
        paths: vec![Path::default(), translating],
        ipv6: true,
    })?;
    uplinks.source_rules()?;
    for (host, four, six) in [
        (uplinks.partner(), PARTNER, PARTNER6),
        (uplinks.server(), SERVER, SERVER6),
    ] {
        for path in 0..2 {
            let (from, from6) = (uplinks.address(path), uplinks.address6(path));
            let translated: IpAddr = match path {
                0 => from,
                _ => "198.18.1.2".parse().expect("an address"),
            };
            assert_eq!(seen_by(&uplinks, host, four, from)?, translated);
            assert_eq!(seen_by(&uplinks, host, six, from6)?, from6);
        }
    }
    // Another lease gives another address in the same network.
    let old = uplinks.address(0);
    uplinks.renumber(0, 77)?;
    assert!(seen_by(&uplinks, uplinks.server(), SERVER, old).is_err());
    assert_eq!(routes(&uplinks, 0)?, 2);
    let new = uplinks.address(0);
    assert_ne!(new, old);
    assert_eq!(seen_by(&uplinks, uplinks.server(), SERVER, new)?, new);
    Ok(())
}
