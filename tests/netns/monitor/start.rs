//! The first counted packet.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::namespace::wait_until;
use lab::{Error, Lab, Options, unexpected};
use weir_tests::{LIMIT, Weir};

use super::ECHO;

/// weir counts as soon as it reports ready; new ports during the start do not disturb the others.
#[test]
fn nothing_passes_uncounted_though_ports_come_while_it_starts() -> Result<(), Error> {
    let lab = Lab::gateway(&Options {
        plain_offloads: true,
        ..Options::default()
    })?;
    let (router, client) = (lab.node("router")?, lab.node("client")?);
    let to = SocketAddr::new(lab.arrangement().server(false), ECHO);
    let socket = client.enter(|| UdpSocket::bind("0.0.0.0:0"))?;
    let socket = socket.map_err(Error::system("open a socket"))?;
    let stop = AtomicBool::new(false);
    let sent = || -> Result<u64, Error> {
        let text = client.run("cat /proc/thread-self/net/dev")?;
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("eth0:"));
        let packets = line.and_then(|line| line.split_whitespace().nth(9)?.parse().ok());
        packets.ok_or_else(|| Error::Unexpected(text.clone()))
    };
    // Packets that the port counted and weir did not: those before weir's start.
    let missed = |weir: &Weir| -> Result<u64, Error> {
        let text = router.run("cat /proc/thread-self/net/dev")?;
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("lan0:"));
        let packets = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        let packets: u64 = packets.ok_or_else(|| Error::Unexpected(text.clone()))?;
        let devices = weir.client()?.devices().map_err(unexpected)?;
        let port = devices.ports.iter().find(|port| port.name == "lan0");
        let counted = port.map_or(0, |port| {
            let way = &port.incoming;
            way.conversations.packets + way.unplaced.packets + way.other.packets
        });
        Ok(packets.saturating_sub(counted))
    };
    thread::scope(|scope| {
        // Bounded, in case all other measures fail.
        scope.spawn(|| {
            for _ in 0..20_000 {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let _ = socket.send_to(b"x", to);
                thread::sleep(Duration::from_millis(1));
            }
        });
        // Devices appear until weir has started.
        scope.spawn(|| {
            for number in (0..30).take_while(|_| !stop.load(Ordering::Relaxed)) {
                let _ = router.run(&format!("ip link add more{number} up type veth"));
                thread::sleep(Duration::from_millis(20));
            }
        });
        let outcome = || {
            let first = sent()?;
            let weir = Weir::start(router, "", &[])?;
            let begun = Instant::now();
            while weir.status()?.starting {
                thread::sleep(Duration::from_millis(2));
            }
            println!("it had answered {:?} before", begun.elapsed());
            let before = sent()?;
            let told = weir.log();
            let told = told
                .lines()
                .filter(|line| line.contains("the device had counted before"));
            assert_eq!(told.filter(|line| line.contains("\"lan0\"")).count(), 1);
            // Most of the start belongs to the packet path: weir counts long before its end.
            let early = before - first;
            let missed = missed(&weir)?.saturating_sub(first);
            println!("{missed} of {early} packets passed uncounted while it started");
            assert!(missed * 2 < early, "{missed} of {early} uncounted");
            wait_until("many more pass", LIMIT, || Ok(sent()? - before > 500))?;
            stop.store(true, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(100));
            let passed = sent()? - before;
            let mut counted = 0;
            wait_until("all is counted", LIMIT, || {
                let devices = weir.client()?.devices().map_err(unexpected)?;
                let port = devices.ports.iter().find(|port| port.name == "lan0");
                counted = port.map_or(0, |port| {
                    let way = &port.incoming;
                    way.conversations.packets + way.unplaced.packets + way.other.packets
                });
                Ok(counted >= passed)
            })
            .map_err(|error| Error::Unexpected(format!("{error}: {counted} of {passed}")))?;
            println!("{counted} counted, {passed} since it had started");
            Ok(())
        };
        let outcome = outcome();
        stop.store(true, Ordering::Relaxed);
        outcome
    })
}
