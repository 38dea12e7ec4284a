//! `weir capture` writes the packets that tcpdump would see without weir.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use lab::gateway::{self, Options};
use lab::namespace::{Process, wait_until};
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, Namespace};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weir_tests::{LIMIT, Weir, binary, gateway_weir};

const PORT: u16 = 7;

/// A client that asks the server through a router with NAT and weir.
struct Scene {
    lab: Lab,
    weir: Weir,
    talk: Datagrams,
    _echo: Echo,
    folder: PathBuf,
}

impl Scene {
    fn new(hook: &str) -> Result<Self, Error> {
        let lab = Lab::gateway(&Options {
            nat: true,
            plain_offloads: true,
            ..Options::default()
        })?;
        let weir = gateway_weir(&lab, hook)?;
        let echo = Echo::serve(lab.node("server")?, (gateway::SERVER, PORT).into())?;
        let talk = Datagrams::open(lab.node("client")?, (gateway::SERVER, PORT).into())?;
        let folder = weir.config_file().with_file_name("captures");
        fs::create_dir_all(&folder).map_err(Error::system("make a folder"))?;
        let scene = Self {
            lab,
            weir,
            talk,
            _echo: echo,
            folder,
        };
        wait_until("weir forwards the flow", LIMIT, || {
            scene.ask()?;
            Ok(scene.weir.forwarded()? > 20)
        })?;
        Ok(scene)
    }

    fn router(&self) -> Result<&Namespace, Error> {
        self.lab.node("router")
    }

    /// Sends a packet and returns true if an answer comes.
    fn ask(&self) -> Result<bool, Error> {
        self.talk.ask(b"hello", Duration::from_millis(200))
    }

    /// Runs `weir capture`; its standard output and errors go to files.
    fn capture(&self, name: &str, options: &[&str]) -> Result<Capture, Error> {
        let path = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        let file = path("pcapng");
        let create = |path: &Path| fs::File::create(path).map_err(Error::system("make a file"));
        let mut command = Command::new(binary());
        command
            .arg("capture")
            .arg("--socket")
            .arg(self.weir.socket());
        command.arg("-w").arg(&file).args(options);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(create(&path("told"))?);
        let process = self.router()?.start(&mut command)?;
        let capture = Capture {
            process,
            file,
            told: path("told"),
        };
        wait_until("the capture begins", LIMIT, || {
            let ended = capture.process.ended()?.is_some();
            let begun = fs::metadata(&capture.file).is_ok_and(|file| file.len() > 0);
            Ok(ended || begun)
        })?;
        Ok(capture)
    }

    /// Asks until weir has forwarded this many more packets.
    fn forward(&self, packets: u64) -> Result<(), Error> {
        let before = self.weir.forwarded()?;
        wait_until("weir forwards more", LIMIT, || {
            self.ask()?;
            Ok(self.weir.forwarded()? >= before + packets)
        })
    }
}

struct Capture {
    process: Process,
    file: PathBuf,
    told: PathBuf,
}

impl Capture {
    fn signal(&self, signal: Signal) -> Result<(), Error> {
        let id = i32::try_from(self.process.id()).unwrap_or(0);
        kill(Pid::from_raw(id), signal).map_err(Error::system("send a signal"))
    }

    /// Ends the capture by Ctrl-C; returns the errors.
    fn end(&self) -> Result<String, Error> {
        self.signal(Signal::SIGINT)?;
        self.ended()
    }

    /// Waits for a successful end; returns the errors.
    fn ended(&self) -> Result<String, Error> {
        let status: ExitStatus = self.process.wait(LIMIT)?;
        let told = fs::read_to_string(&self.told).unwrap_or_default();
        if status.success() {
            return Ok(told);
        }
        Err(Error::Unexpected(format!("{status}: {told}")))
    }

    /// Returns tcpdump's output for the capture, one packet a line.
    fn lines(&self) -> Vec<String> {
        let read = Command::new("tcpdump")
            .args(["-nn", "-t", "-r"])
            .arg(&self.file)
            .output()
            .expect("tcpdump runs");
        let told = String::from_utf8_lossy(&read.stderr);
        assert!(
            read.status.success() && !told.contains("truncated"),
            "tcpdump cannot read it: {told}"
        );
        let text = String::from_utf8_lossy(&read.stdout);
        text.lines().map(str::to_owned).collect()
    }
}

/// Returns the number at the start of a line of the summary.
fn number(told: &str, what: &str) -> u64 {
    told.lines()
        .find(|line| line.contains(what))
        .and_then(|line| line.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("no `{what}` in: {told}"))
}

/// The capture holds both sides of both directions as on the wire, and matches weir's counters.
#[test]
fn tcpdump_reads_every_forwarded_packet_on_both_sides() -> Result<(), Error> {
    for hook in ["xdp", "tc"] {
        let scene = Scene::new(hook)?;
        let client = gateway::CLIENT;
        let server = gateway::SERVER;
        let before = scene.weir.forwarded()?;
        let capture = scene.capture("all", &["--protocol", "udp"])?;
        // A packet may precede the capture, or prove again and take the kernel's path: the test
        // counts from here.
        let begun = scene.weir.forwarded()?;
        scene.forward(40)?;
        let told = capture.end()?;
        let forwarded = scene.weir.forwarded()?;

        let lines = capture.lines();
        let count = |from: String, to: String| {
            let text = format!("IP {from} > {to}: UDP, length 5");
            lines.iter().filter(|line| line.contains(&text)).count() as u64
        };
        let talker = scene.talk.local()?.port();
        let outside = lines
            .iter()
            .find_map(|line| {
                let rest = line.strip_prefix("IP 10.0.0.1.")?;
                rest.split_once(' ').map(|(port, _)| port.to_owned())
            })
            .unwrap_or_else(|| {
                panic!("{hook}: nothing left with the address of the router: {lines:?}")
            });
        let there_in = count(format!("{client}.{talker}"), format!("{server}.{PORT}"));
        let there_out = count(format!("10.0.0.1.{outside}"), format!("{server}.{PORT}"));
        let back_in = count(format!("{server}.{PORT}"), format!("10.0.0.1.{outside}"));
        let back_out = count(format!("{server}.{PORT}"), format!("{client}.{talker}"));
        assert_eq!(
            (there_in, back_in),
            (there_out, back_out),
            "{hook}: {lines:?}"
        );
        assert_eq!(
            there_in + there_out + back_in + back_out,
            lines.len() as u64,
            "{hook}: nothing else: {lines:?}"
        );
        assert_eq!(number(&told, "captured (a"), lines.len() as u64, "{hook}");
        let packets = there_in + back_in;
        assert!(
            packets >= forwarded - begun && packets <= forwarded - before,
            "{hook}: {packets} captured, {begun} to {forwarded} forwarded"
        );
        for what in ["weir was too busy", "not written fast enough", "more than"] {
            assert_eq!(number(&told, what), 0, "{hook}: {told}");
        }
    }
    Ok(())
}

/// A filter excludes packets; a count ends a capture, and a rate bounds it.
#[test]
fn filters_and_limits() -> Result<(), Error> {
    let scene = Scene::new("tc")?;
    let nothing = scene.capture("nothing", &["--address", "192.0.2.0/24", "--duration", "2"])?;
    scene.forward(20)?;
    let told = nothing.ended()?;
    assert_eq!(
        (number(&told, "captured (a"), nothing.lines().len()),
        (0, 0)
    );

    let five = scene.capture("five", &["--count", "5"])?;
    scene.forward(20)?;
    let told = five.ended()?;
    assert_eq!((number(&told, "captured (a"), five.lines().len()), (5, 5));

    let flow = scene.weir.flow_at(PORT)?.expect("a flow").id.to_string();
    let one = scene.capture("one", &[&flow, "--side", "in", "--count", "2"])?;
    scene.forward(20)?;
    one.ended()?;
    let lines = one.lines();
    // Only outgoing packets are translated.
    let is_translated = |line: &String| line.starts_with("IP 10.0.0.1.");
    assert!(
        lines.len() == 2 && !lines.iter().any(is_translated),
        "{lines:?}"
    );

    // Options: device names, directions, and the stored length of a packet.
    let words = "--side out --device wan0 --snaplen 64 --port 7";
    let capture = scene.capture("out", &words.split(' ').collect::<Vec<_>>())?;
    scene.forward(20)?;
    capture.end()?;
    let octets = fs::read(&capture.file).map_err(Error::system("read a capture"))?;
    for name in ["lan0", "wan0"] {
        let found = octets.windows(4).any(|w| w == name.as_bytes());
        assert!(found, "{name} is named");
    }
    let lines = capture.lines();
    assert!(!lines.is_empty());
    // Both directions pass wan0, one of them on its way in: the option selects the outgoing side.
    for line in lines {
        let to_server = line.starts_with("IP 10.0.0.1.");
        let to_client = line.contains(&format!("> {}.", gateway::CLIENT));
        assert!(to_server || to_client, "{line}");
    }

    // Packets beyond the rate are counted and forwarded.
    let capture = scene.capture("slow", &["--rate", "1"])?;
    let begun = Instant::now();
    scene.forward(200)?;
    let told = capture.end()?;
    // Each packet has two sides.
    let most = 2 * (begun.elapsed().as_secs() + 2);
    let captured = number(&told, "captured (a");
    assert!((1..=most).contains(&captured), "{told}");
    assert!(number(&told, "more than 1 a second") > 0, "{told}");
    Ok(())
}

/// Only one capture runs at a time; after any end another can begin. The daemon may end, too.
#[test]
fn a_capture_ends_with_its_client() -> Result<(), Error> {
    let scene = Scene::new("xdp")?;
    let first = scene.capture("first", &[])?;
    let second = scene.capture("second", &[])?;
    let error = second.ended().expect_err("refused").to_string();
    assert!(error.contains("another capture is running"), "{error}");
    assert!(!second.file.exists(), "and nothing is written");

    first.signal(Signal::SIGKILL)?;
    let _ = first.process.wait(LIMIT)?;
    let mut number = 0;
    wait_until("another capture can begin", LIMIT, || {
        number += 1;
        let next = scene.capture(&format!("next{number}"), &["--count", "2"])?;
        scene.forward(10)?;
        match next.ended() {
            Ok(_) => Ok(true),
            Err(error) if error.to_string().contains("another capture is running") => Ok(false),
            Err(error) => Err(error),
        }
    })?;

    // weir is killed: the file ends with a whole packet, and the command reports the reason.
    let capture = scene.capture("crash", &[])?;
    scene.forward(40)?;
    wait_until("some of it is written", LIMIT, || {
        Ok(!capture.lines().is_empty())
    })?;
    scene.weir.end(Signal::SIGKILL)?;
    let error = capture.ended().expect_err("a failure").to_string();
    assert!(error.contains("lost the connection to weir"), "{error}");
    assert!(!capture.lines().is_empty());
    Ok(())
}

/// A client that does not read loses its own packets, and costs the daemon nothing.
#[test]
fn a_slow_reader_loses_packets() -> Result<(), Error> {
    let scene = Scene::new("tc")?;
    let mut command = Command::new(binary());
    command
        .arg("capture")
        .arg("--socket")
        .arg(scene.weir.socket());
    command.args(["--rate", "50000", "--snaplen", "2048"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let process = scene.router()?.start(&mut command)?;
    let pipes = process.with(|child| (child.stdout.take(), child.stderr.take()));
    let (Some(mut out), Some(mut err)) = pipes else {
        return Err(Error::Unexpected("no pipes".into()));
    };
    // The first bytes show that the capture has begun.
    out.read_exact(&mut [0; 12])
        .map_err(Error::system("read"))?;
    // 5 MiB: more than fits into a pipe, the sockets, and the daemon's buffer of 1 MiB.
    let long = vec![b'x'; 1400];
    for number in 0..900 {
        let answered = scene.talk.ask(&long, LIMIT)?;
        assert!(answered, "packet {number} was forwarded both ways");
    }
    scene.weir.status()?;
    let id = i32::try_from(process.id()).unwrap_or(0);
    kill(Pid::from_raw(id), Signal::SIGINT).map_err(Error::system("send a signal"))?;
    let (mut file, mut told) = (Vec::new(), String::new());
    out.read_to_end(&mut file).map_err(Error::system("read"))?;
    err.read_to_string(&mut told)
        .map_err(Error::system("read"))?;
    assert!(process.wait(LIMIT)?.success(), "{told}");
    assert!(number(&told, "not written fast enough") > 0, "{told}");
    assert!(number(&told, "captured (a") > 0, "{told}");
    Ok(())
}
