//! Uplinks with leased addresses: dnsmasq at the providers, BusyBox's udhcpc at the router with a
//! script like OpenWrt's.

use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use lab::counters::Bytes;
use lab::goodput::{Demand, Goodput, Transport};
use lab::namespace::{Process, wait_until};
use lab::uplinks::{Cut, Options, SERVER};
use lab::{Error, Uplinks};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testing::Directory;
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::{MBIT, SECOND, at, ms};

/// Script of udhcpc (BusyBox's networking/udhcp): removes addresses when their lease ends, and adds
/// them with a default route.
const SCRIPT: &str = "#!/bin/sh
case $1 in
deconfig) ip -4 addr flush dev $interface ;;
bound | renew)
    ip addr replace $ip/$mask dev $interface
    ip route replace default via ${router%% *} dev $interface src $ip proto dhcp metric $METRIC ;;
esac
";

/// A path's DHCP server and client. Stopped when dropped.
struct Lease<'a> {
    uplinks: &'a Uplinks,
    path: usize,
    // The order matters: both programs end before their folder is removed.
    client: Option<Process>,
    server: Option<Process>,
    folder: Directory,
}

impl<'a> Lease<'a> {
    /// Replaces the address that the lab gave the path.
    fn begin(uplinks: &'a Uplinks, path: usize) -> Result<Self, Error> {
        let folder = Directory::new();
        let script = folder.join("script");
        std::fs::write(&script, SCRIPT).map_err(Error::system("write udhcpc's script"))?;
        uplinks
            .router()
            .run(&format!("chmod +x {}", script.display()))?;
        uplinks.cut(path, Cut::Address)?;
        let mut lease = Self {
            uplinks,
            path,
            folder,
            client: None,
            server: None,
        };
        lease.offer()?;
        lease.ask()?;
        lease.wait()?;
        Ok(lease)
    }

    fn offer(&mut self) -> Result<(), Error> {
        let leases = self.folder.join("leases");
        let network = format!("10.64.{}", self.path);
        let mut dnsmasq = Command::new("dnsmasq");
        // Servers that start at once would share a file.
        dnsmasq.arg("--pid-file=");
        dnsmasq.args([
            "--no-daemon",
            "--conf-file=/dev/null",
            "--port=0",
            "--user=root",
        ]);
        dnsmasq.args(["--interface=home", "--dhcp-authoritative", "--no-ping"]);
        dnsmasq.arg(format!(
            "--dhcp-range={network}.100,{network}.109,255.255.255.0,2m"
        ));
        dnsmasq.arg(format!("--dhcp-leasefile={}", leases.display()));
        dnsmasq.stdin(Stdio::null()).stdout(Stdio::null());
        let provider = self.uplinks.provider(self.path);
        let server = provider.start(dnsmasq.stderr(Stdio::null()))?;
        wait_until("dnsmasq to listen", LIMIT, || {
            if let Some(status) = server.ended()? {
                return Err(Error::Unexpected(format!("{dnsmasq:?}: {status}")));
            }
            Ok(!provider.run("ss -Hlnu sport = :67")?.is_empty())
        })?;
        self.server = Some(server);
        Ok(())
    }

    fn ask(&mut self) -> Result<(), Error> {
        let mut udhcpc = Command::new("busybox");
        udhcpc.args(["udhcpc", "-f", "-t", "30", "-T", "1", "-A", "1", "-i"]);
        udhcpc.arg(self.uplinks.device(self.path));
        udhcpc.arg("-s").arg(self.folder.join("script"));
        udhcpc.env("METRIC", (100 * (self.path + 1)).to_string());
        udhcpc.stdin(Stdio::null()).stdout(Stdio::null());
        let udhcpc = udhcpc.stderr(Stdio::null());
        self.client = Some(self.uplinks.router().start(udhcpc)?);
        Ok(())
    }

    /// Signals the client: USR1 renews, USR2 releases.
    fn tell(&self, signal: Signal) -> Result<(), Error> {
        let id = self.client.as_ref().map_or(0, Process::id);
        let id = i32::try_from(id).unwrap_or_default();
        assert_ne!(id, 0, "no client runs");
        kill(Pid::from_raw(id), signal).map_err(Error::system(format!("send {signal}")))
    }

    /// Returns the address of the path's device.
    fn address(&self) -> Result<Option<IpAddr>, Error> {
        let device = self.uplinks.device(self.path);
        let told = self
            .uplinks
            .router()
            .run(&format!("ip -4 -o addr show dev {device} scope global"))?;
        let word = told
            .split_whitespace()
            .skip_while(|word| *word != "inet")
            .nth(1);
        Ok(word.and_then(|word| word.split('/').next()?.parse().ok()))
    }

    /// Waits for a leased address.
    fn wait(&self) -> Result<IpAddr, Error> {
        let mut found = None;
        wait_until("a lease", LIMIT, || {
            found = self.address()?;
            Ok(found.is_some())
        })?;
        found.ok_or_else(|| Error::Unexpected("no lease".into()))
    }

    fn link(&self, state: &str) -> Result<(), Error> {
        let device = self.uplinks.device(self.path);
        let line = format!("ip link set {device} {state}");
        self.uplinks.router().run(&line).map(drop)
    }
}

/// Leases both paths, and waits until the router has found them again.
fn leased(pair: &Pair) -> Result<Vec<Lease<'_>>, Error> {
    let uplinks = &pair.uplinks;
    let paths = 0..uplinks.paths();
    let leases = paths.map(|path| Lease::begin(uplinks, path));
    let leases = leases.collect::<Result<Vec<_>, _>>()?;
    for lease in &leases {
        uses(pair, lease.path, lease.wait()?)?;
    }
    Ok(leases)
}

/// Waits until the router uses this address.
fn uses(pair: &Pair, path: usize, address: IpAddr) -> Result<(), Error> {
    let device = pair.uplinks.device(path);
    pair.wait_for(&format!("{device} with {address}"), |told| {
        let mut paths = told.paths.iter();
        paths.any(|path| path.device == device && path.address == address)
    })
}

#[test]
fn a_lease_that_is_lost_and_had_again() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let mut leases = leased(&pair)?;
    let demand = Demand::down(Transport::Tcp, at(SERVER));
    let goodput = Goodput::start(uplinks.client(), uplinks.server(), &demand)?;
    sleep(4 * SECOND);
    let sum = goodput.series().rate(SECOND..4 * SECOND);
    assert!(sum > 32.0 * MBIT, "{sum} bit/s before");
    // As with netifd, the client ends with the link and another starts with the link; or the client
    // stays and gets a signal.
    for (path, away, restarts) in [(1, 3, true), (0, 7, false)] {
        let lease = &mut leases[path];
        let cut = goodput.now();
        match restarts {
            true => lease.client = None,
            false => lease.tell(Signal::SIGUSR2)?,
        }
        uplinks.cut(path, Cut::Address)?;
        lease.link("down")?;
        sleep(away * SECOND);
        assert_eq!(lease.address()?, None, "path {path} has lost its address");
        lease.link("up")?;
        match restarts {
            true => lease.ask()?,
            false => lease.tell(Signal::SIGUSR1)?,
        }
        lease.wait()?;
        let back = goodput.now();
        sleep(6 * SECOND);
        let before = Bytes::of(uplinks.router(), &uplinks.device(path))?;
        sleep(2 * SECOND);
        let after = Bytes::of(uplinks.router(), &uplinks.device(path))?;
        let series = goodput.series();
        let carried = (after.received - before.received) as f64 * 4.0;
        let again = series
            .reaches(sum * 0.75, back)
            .map(|at| at + ms(200) - back);
        let silence = series.silence(cut..back + 6 * SECOND);
        eprintln!(
            "path {path} away for {away} s: three quarters of the sum {again:?} after the \
                address, silence {silence:?}"
        );
        let slots = series.slots();
        assert!(
            again.is_some_and(|again| again < Duration::from_secs(5)),
            "path {path}, {away} s: {again:?}: {slots:?}"
        );
        assert!(silence < 3 * SECOND, "{silence:?}: {slots:?}");
        assert!(
            carried > 10.0 * MBIT,
            "path {path}: {carried} bit/s: {slots:?}"
        );
    }
    goodput.stop()?;
    assert_eq!(pair.paths()?.connections.direct, 0);
    Ok(())
}
