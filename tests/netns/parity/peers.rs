//! The programs that the tests compare weir with.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use answers::Count;
use lab::namespace::{Process, wait_until};
use lab::{Error, Namespace};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testing::Directory;
use weir_tests::LIMIT;

/// Port of nfcapd: the namespace is the test's own, so the port is free.
pub const COLLECTOR: u16 = 4739;

/// Creates a directory inside another.
pub fn make(folder: &Directory, name: &str) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    std::fs::create_dir(&path).map_err(Error::system("make a directory"))?;
    Ok(path)
}

/// Returns a program's output. The program must succeed.
pub fn output(node: &Namespace, command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null());
    let out = node
        .enter(|| command.output())?
        .map_err(Error::system(format!(
            "run {name} (scripts/setup installs it)"
        )))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(Error::Unexpected(format!("{name}: {}: {said}", out.status)));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// A tcpdump that writes whole packets to a file.
pub struct Capture {
    pub file: PathBuf,
    tcpdump: Process,
}

impl Capture {
    pub fn begin(node: &Namespace, device: &str, file: PathBuf) -> Result<Self, Error> {
        let mut command = Command::new("tcpdump");
        command.args(["-i", device, "-s", "0", "-B", "8192", "-U"]);
        command.args(["--immediate-mode", "-Z", "root", "-w"]);
        command
            .arg(&file)
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        let capture = Self {
            tcpdump: node.start(&mut command)?,
            file,
        };
        wait_until("tcpdump listens", LIMIT, || Ok(capture.octets() > 0))?;
        Ok(capture)
    }

    /// Returns the size of the file.
    pub fn octets(&self) -> u64 {
        std::fs::metadata(&self.file).map_or(0, |file| file.len())
    }

    /// Stops tcpdump; the file is complete afterwards.
    pub fn end(&self) {
        self.tcpdump.stop();
    }
}

/// Packets of one direction: protocol, source, destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub protocol: u8,
    pub from: (IpAddr, u16),
    pub to: (IpAddr, u16),
}

/// Counts by key.
pub type Table = BTreeMap<Key, Count>;

/// Returns the sum of the entries that `wanted` accepts.
pub fn sum(table: &Table, wanted: impl Fn(&Key) -> bool) -> Count {
    let mut all = Count::default();
    for (_, count) in table.iter().filter(|(key, _)| wanted(key)) {
        all.packets += count.packets;
        all.bytes += count.bytes;
    }
    all
}

pub fn add(table: &mut Table, key: Key, count: Count) {
    let sum = table.entry(key).or_default();
    sum.packets += count.packets;
    sum.bytes += count.bytes;
}

/// Returns nfdump's counts of the entries in its files that pass a filter.
pub fn nfdump(node: &Namespace, directory: &Path, filter: &str) -> Result<Table, Error> {
    let mut command = Command::new("nfdump");
    command
        .arg("-R")
        .arg(directory)
        .args(["-q", "-N", "-6", "-o"]);
    command.args(["fmt:%pr,%sa,%sp,%da,%dp,%pkt,%byt", filter]);
    let text = output(node, &mut command)?;
    let mut table = Table::new();
    for line in text.lines().filter(|line| line.contains(',')) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let read = || -> Option<(Key, Count)> {
            let [protocol, from, from_port, to, to_port, packets, bytes] = fields[..] else {
                return None;
            };
            let protocol = protocol.parse().ok()?;
            // For ICMP, type and code replace the port.
            let port = |text: &str| match matches!(protocol, 1 | 58) {
                true => Some(0),
                false => text.parse().ok(),
            };
            let key = Key {
                protocol,
                from: (from.parse().ok()?, port(from_port)?),
                to: (to.parse().ok()?, port(to_port)?),
            };
            let (packets, bytes) = (packets.parse().ok()?, bytes.parse().ok()?);
            Some((key, Count { bytes, packets }))
        };
        let (key, count) =
            read().ok_or_else(|| Error::Unexpected(format!("nfdump says {line:?}")))?;
        add(&mut table, key, count);
    }
    Ok(table)
}

/// An nfcapd that writes received records to a directory.
pub struct Collector {
    process: Process,
    directory: PathBuf,
}

impl Collector {
    pub fn begin(node: &Namespace, directory: PathBuf) -> Result<Self, Error> {
        let mut command = Command::new("nfcapd");
        command.args(["-b", "127.0.0.1", "-p", &COLLECTOR.to_string(), "-w"]);
        command.arg(&directory);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let collector = Self {
            process: node.start(&mut command)?,
            directory,
        };
        wait_until("nfcapd listens", LIMIT, || {
            Ok(queue(node, COLLECTOR)?.is_some())
        })?;
        Ok(collector)
    }

    /// Ends nfcapd once it has read all records; returns the directory with complete files.
    pub fn end(self, node: &Namespace) -> Result<PathBuf, Error> {
        drained(node, COLLECTOR)?;
        let id = i32::try_from(self.process.id()).unwrap_or(0);
        kill(Pid::from_raw(id), Signal::SIGTERM).map_err(Error::system("end nfcapd"))?;
        self.process.wait(LIMIT)?;
        Ok(self.directory)
    }
}

/// Waits until the collector at this port has read all that was sent to it.
pub fn drained(node: &Namespace, port: u16) -> Result<(), Error> {
    wait_until("a collector has read all", LIMIT, || {
        match queue(node, port)? {
            Some((waiting, 0)) => Ok(waiting == 0),
            queue => Err(Error::Unexpected(format!("too slow at {port}: {queue:?}"))),
        }
    })
}

/// Returns bytes that wait for the collector at this port, and datagrams dropped there; `None`
/// without a listener.
pub fn queue(node: &Namespace, port: u16) -> Result<Option<(u64, u64)>, Error> {
    // /proc/net belongs to the process's first thread, which is in another namespace.
    let table = node
        .enter(|| std::fs::read_to_string("/proc/thread-self/net/udp"))?
        .map_err(Error::system("read /proc/thread-self/net/udp"))?;
    let port = format!(":{port:04X}");
    Ok(table.lines().find_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        fields.get(1)?.ends_with(&port).then_some(())?;
        let (_, waiting) = fields.get(4)?.split_once(':')?;
        let dropped = fields.last()?.parse().ok()?;
        Some((u64::from_str_radix(waiting, 16).ok()?, dropped))
    }))
}

/// Returns softflowd's counts of a capture.
pub fn softflowd(node: &Namespace, capture: &Path, folder: &Directory) -> Result<Table, Error> {
    let collector = Collector::begin(node, make(folder, "softflowd")?)?;
    let mut command = Command::new("softflowd");
    // NetFlow 9: nfdump reads softflowd's IPFIX too, but with a different format of times.
    command.args(["-d", "-v", "9", "-c", "none", "-n"]);
    command.arg(format!("127.0.0.1:{COLLECTOR}"));
    command.arg("-p").arg(folder.join("softflowd.pid"));
    command.arg("-r").arg(capture);
    output(node, &mut command)?;
    nfdump(node, &collector.end(node)?, "any")
}

/// Returns nfpcapd's counts of a capture.
pub fn nfpcapd(node: &Namespace, capture: &Path, folder: &Directory) -> Result<Table, Error> {
    let directory = make(folder, "nfpcapd")?;
    let mut command = Command::new("nfpcapd");
    command.arg("-r").arg(capture).arg("-w").arg(&directory);
    output(node, &mut command)?;
    nfdump(node, &directory, "any")
}

/// Returns tshark's acknowledgement times in order, milliseconds: by the port of the waiting end
/// and of the answering end.
pub fn tshark(node: &Namespace, capture: &Path) -> Result<BTreeMap<(u16, u16), Vec<f64>>, Error> {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(capture)
        .args(["-Y", "tcp.analysis.ack_rtt"]);
    command.args(["-T", "fields", "-e", "tcp.dstport", "-e", "tcp.srcport"]);
    command.args(["-e", "tcp.analysis.ack_rtt"]);
    let mut waits = BTreeMap::<_, Vec<f64>>::new();
    for line in output(node, &mut command)?.lines() {
        let mut fields = line.split('\t');
        let mut port = || fields.next().and_then(|text| text.parse::<u16>().ok());
        let ports = port().zip(port());
        let seconds = fields.next().and_then(|text| text.parse::<f64>().ok());
        let (ports, seconds) = ports
            .zip(seconds)
            .ok_or_else(|| Error::Unexpected(format!("tshark says {line:?}")))?;
        waits.entry(ports).or_default().push(seconds * 1000.0);
    }
    Ok(waits)
}
