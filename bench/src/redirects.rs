//! Measures how fast a portal redirects unauthenticated guests, and its cost: weir and openNDS.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::counters::{processor_time, processor_time_with_children};
use lab::namespace::wait_until;
use lab::opennds::OpenNds;
use lab::{Lab, Namespace, Options};
use serde::Serialize;
use socket2::{Domain, Socket, Type};

use crate::Error;
use crate::daemon::Daemon;
use crate::portal::{address, child, hardware, memory, people};
use crate::report::{Table, table};
use crate::rounds::Spread;

/// Destination of the guests' requests.
const WANTED: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 2), 80);
/// Requests at the same time.
const TOGETHER: u32 = 8;
/// Guests, who ask in turn.
const GUESTS: u32 = 200;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Result of the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Redirects {
    /// Redirects a second by weir.
    pub weir: Spread,
    /// Redirects a second by openNDS.
    pub opennds: Spread,
    /// Processor time of a redirect in milliseconds: weir, openNDS.
    pub time: [f64; 2],
    /// Resident memory after that, kB: weir's daemon, its page's process, openNDS.
    pub memory: [u64; 3],
}

/// Measures both in turn, each at its own router.
///
/// # Errors
/// A lab cannot be built, or a guest is not redirected.
pub fn measure(binary: &Path, rounds: u32) -> Result<Redirects, Error> {
    let labs = [
        Lab::gateway(&Options::default())?,
        Lab::gateway(&Options::default())?,
    ];
    for lab in &labs {
        people(lab.node("router")?, lab.node("client")?, GUESTS)?;
    }
    let folder = std::env::temp_dir().join(format!("weir-bench-redirects-{}", std::process::id()));
    let config = format!(
        "[portal]\ndevices = [\"lan0\"]\nvouchers = {:?}\n",
        folder.join("vouchers")
    );
    let weir = Daemon::whole(labs[0].node("router")?, binary, &config, 2)?;
    let leases = (0..GUESTS).map(|number| (hardware(number), IpAddr::V4(address(number))));
    let opennds = OpenNds::start(labs[1].node("router")?, &leases.collect::<Vec<_>>())?;
    // A portal knows each guest after a first page.
    for lab in &labs {
        let client = lab.node("client")?;
        for number in 0..GUESTS {
            wait_until("a redirect", Duration::from_secs(30), || {
                Ok(client.enter(|| redirected(address(number)))?.is_ok())
            })?;
        }
    }
    let page = child(weir.id())?;
    let own = || {
        let all = processor_time(weir.id())? + processor_time(page)?;
        Ok::<_, Error>(all.as_secs_f64())
    };
    // Includes the shells that openNDS starts.
    let theirs = || {
        let all = processor_time_with_children(opennds.id()?)?;
        Ok::<_, Error>(all.as_secs_f64())
    };
    let (mut of_weir, mut of_opennds) = (Vec::new(), Vec::new());
    let mut spent = [0.0; 2];
    for round in 0..rounds {
        let first = (round % 2) as usize;
        // Each portal is first in turn.
        for which in [first, 1 - first] {
            let client = labs[which].node("client")?;
            if which == 0 {
                let before = own()?;
                of_weir.push(rate("weir", client)?);
                spent[0] += own()? - before;
            } else {
                let before = theirs()?;
                of_opennds.push(rate("openNDS", client)?);
                spent[1] += theirs()? - before;
            }
        }
    }
    let memory = [memory(weir.id())?, memory(page)?, memory(opennds.id()?)?];
    drop(weir);
    let _ = std::fs::remove_dir_all(&folder);
    let spread = |all: &[f64]| Spread::of(all).ok_or_else(|| Error::Wrong("no round".to_owned()));
    Ok(Redirects {
        weir: spread(&of_weir)?,
        opennds: spread(&of_opennds)?,
        time: spent.map(|all| all * 1000.0 / f64::from(rounds * GUESTS)),
        memory,
    })
}

/// Lets all guests ask once, and returns redirects a second.
fn rate(portal: &str, client: &Namespace) -> Result<f64, Error> {
    let next = AtomicU32::new(0);
    let began = Instant::now();
    let ask = || -> io::Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= GUESTS {
                return Ok(());
            }
            redirected(address(number))?;
        }
    };
    let asked = client.enter(|| {
        thread::scope(|scope| {
            let all: Vec<_> = (0..TOGETHER).map(|_| scope.spawn(ask)).collect();
            let mut each = all.into_iter().map(|one| match one.join() {
                Ok(ended) => ended,
                Err(_) => Err(io::Error::other("a thread panicked")),
            });
            each.try_for_each(|ended| ended)
        })
    })?;
    asked.map_err(Error::system(format!("ask {portal} for a page")))?;
    Ok(f64::from(GUESTS) / began.elapsed().as_secs_f64())
}

/// Requests a page on a new connection, and checks the redirect to the portal.
fn redirected(from: Ipv4Addr) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    socket.connect_timeout(&SocketAddr::from(WANTED).into(), PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut stream = TcpStream::from(socket);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")?;
    let mut answer = vec![0; 16 * 1024];
    let length = stream.read(&mut answer)?;
    let told = String::from_utf8_lossy(&answer[..length]);
    match told.starts_with("HTTP/1.1 30") && told.contains("ocation: http://192.168.1.1:") {
        true => Ok(()),
        false => Err(io::Error::other(told.into_owned())),
    }
}

/// Formats the results as a table.
pub fn report(found: &Redirects) -> Table {
    let share = |all: &Spread| format!("{:.0} ({:.0} to {:.0})", all.median, all.min, all.max);
    let [daemon, page, opennds] = found.memory;
    let line = |what: &str, weir: String, opennds: String| vec![what.to_owned(), weir, opennds];
    table(
        &["beside openNDS 9", "weir", "openNDS"],
        &[
            line(
                "redirects a second, 8 at a time: median (range)",
                share(&found.weir),
                share(&found.opennds),
            ),
            line(
                "processor time of each",
                format!("{:.2} ms", found.time[0]),
                format!("{:.2} ms", found.time[1]),
            ),
            line(
                "memory then: all of it",
                format!("{} kB", daemon + page),
                format!("{opennds} kB"),
            ),
            line(
                "of it the page's process",
                format!("{page} kB"),
                format!("{opennds} kB"),
            ),
        ],
    )
}
