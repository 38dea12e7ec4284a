//! Runs iperf3 in namespaces.

use std::fs;
use std::io::Read;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::namespace::wait_until;
use crate::{Error, Namespace, Process};

/// Longest wait for a program to start, or to end beyond its own running time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A listening iperf3 server. Stopped when dropped.
#[derive(Debug)]
pub struct Iperf {
    process: Process,
    port: u16,
}

/// Options of an iperf3 client.
#[derive(Clone, Debug)]
pub struct Load {
    /// Address of the server.
    pub to: IpAddr,
    /// Duration, seconds.
    pub seconds: u32,
    /// Parallel streams.
    pub streams: u32,
    /// UDP with this many bit/s per stream, 0 for full speed; `None` means TCP.
    pub udp: Option<u64>,
    /// Makes the server send.
    pub reverse: bool,
    /// Bytes per write; for UDP the size of a datagram.
    pub length: Option<u32>,
}

impl Load {
    /// Returns a load of one TCP stream to the server.
    pub fn tcp(to: IpAddr, seconds: u32) -> Self {
        Self {
            to,
            seconds,
            streams: 1,
            udp: None,
            reverse: false,
            length: None,
        }
    }
}

/// Result of an iperf3 run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throughput {
    /// Rate at the receiver, bit/s.
    pub bits_per_second: f64,
    /// Bytes received.
    pub octets: u64,
    /// Datagrams sent (UDP only).
    pub packets: u64,
    /// Lost datagrams.
    pub lost: u64,
    /// Retransmitted segments (TCP only).
    pub retransmits: u64,
    /// Processor time of the client, percent of one processor.
    pub cpu_local: f64,
    /// Processor time of the server, percent of one processor.
    pub cpu_remote: f64,
}

impl Iperf {
    /// Starts a server and waits until it listens on `port`.
    pub fn serve(namespace: &Namespace, port: u16) -> Result<Self, Error> {
        let mut command = Command::new("iperf3");
        command.args(["--server", "--port", &port.to_string()]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = namespace.start(&mut command)?;
        let server = Self { process, port };
        server.wait()?;
        Ok(server)
    }

    /// Waits until the server takes a client. The server listens again only after the last data of
    /// the client before, which may arrive long after that client's end.
    pub fn wait(&self) -> Result<(), Error> {
        let pid = self.process.with(|child| child.id());
        wait_until("iperf3 to listen", PATIENCE, || {
            if let Some(status) = self.process.ended()? {
                return Err(Error::Unexpected(format!(
                    "the iperf3 server has ended: {status}"
                )));
            }
            let mut states = Vec::new();
            for family in ["tcp", "tcp6"] {
                let sockets = format!("/proc/{pid}/net/{family}");
                let sockets = fs::read_to_string(&sockets).map_err(Error::system(&sockets))?;
                states.extend(states_at(self.port, &sockets));
            }
            Ok(states.contains(&LISTEN)
                && !states
                    .iter()
                    .any(|state| [ESTABLISHED, CLOSE_WAIT].contains(state)))
        })
    }

    /// Runs a client in `namespace` against this server and waits for its end.
    pub fn run(&self, namespace: &Namespace, load: &Load) -> Result<Throughput, Error> {
        self.wait()?;
        let mut command = Command::new("iperf3");
        command.args(["--json", "--client", &load.to.to_string()]);
        command.args([
            "--port",
            &self.port.to_string(),
            "--time",
            &load.seconds.to_string(),
        ]);
        command.args(["--parallel", &load.streams.to_string()]);
        if let Some(rate) = load.udp {
            command.args(["--udp", "--bitrate", &rate.to_string()]);
        }
        if load.reverse {
            command.arg("--reverse");
        }
        if let Some(length) = load.length {
            command.args(["--length", &length.to_string()]);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let process = namespace.start(&mut command)?;
        let pipe = process.with(|child| child.stdout.take());
        // Reads during the run: the answer is longer than the pipe.
        let reader = thread::spawn(move || {
            let mut text = String::new();
            pipe.map(|mut pipe| pipe.read_to_string(&mut text));
            text
        });
        let ended = process.wait(Duration::from_secs(load.seconds.into()) + PATIENCE);
        process.stop();
        let text = reader.join().unwrap_or_default();
        ended?;
        parse(&text)
    }
}

// TCP states as shown by /proc (include/net/tcp_states.h).
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;
const LISTEN: u8 = 10;

/// Returns the states of the sockets at a local port, from `/proc/net/tcp` or `tcp6`.
fn states_at(port: u16, sockets: &str) -> Vec<u8> {
    let state = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (_, local) = words.next()?.rsplit_once(':')?;
        let state = words.nth(1)?;
        let here = u16::from_str_radix(local, 16) == Ok(port);
        here.then(|| u8::from_str_radix(state, 16).ok())?
    };
    sockets.lines().filter_map(state).collect()
}

/// Parses the JSON of `iperf3 --json` (3.12).
fn parse(text: &str) -> Result<Throughput, Error> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| Error::Unexpected(format!("iperf3 printed invalid JSON: {error}")))?;
    if let Some(error) = json["error"].as_str() {
        return Err(Error::Unexpected(format!("iperf3: {error}")));
    }
    let end = &json["end"];
    let cpu = &end["cpu_utilization_percent"];
    let udp = end["sum"]["packets"].is_u64();
    let received = if udp {
        &end["sum"]
    } else {
        &end["sum_received"]
    };
    let missing = || Error::Unexpected("iperf3: no result".into());
    let mut throughput = Throughput {
        bits_per_second: received["bits_per_second"].as_f64().ok_or_else(missing)?,
        octets: received["bytes"].as_u64().ok_or_else(missing)?,
        packets: end["sum"]["packets"].as_u64().unwrap_or(0),
        lost: end["sum"]["lost_packets"].as_u64().unwrap_or(0),
        retransmits: end["sum_sent"]["retransmits"].as_u64().unwrap_or(0),
        cpu_local: cpu["host_total"].as_f64().unwrap_or(0.0),
        cpu_remote: cpu["remote_total"].as_f64().unwrap_or(0.0),
    };
    if udp && throughput.packets > 0 {
        // For UDP, `sum` counts sent data.
        let share = 1.0 - throughput.lost as f64 / throughput.packets as f64;
        throughput.bits_per_second *= share;
        throughput.octets = (throughput.octets as f64 * share) as u64;
    }
    Ok(throughput)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_states_of_a_port() {
        let sockets = "  sl  local_address rem_address   st tx_queue rx_queue
   0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000
   1: 146433C6:1451 0A7100CB:8C52 08 00000000:00000000 00:00000000
   2: 146433C6:1452 0A7100CB:1451 01 00000000:00000000 00:00000000
   3: 146433C6:1451";
        assert_eq!(states_at(5201, sockets), [LISTEN, CLOSE_WAIT]);
    }

    #[test]
    fn reads_tcp_udp_and_errors() {
        let tcp = r#"{"end":{"sum_sent":{"bits_per_second":9.0,"retransmits":3,"bytes":90},
            "sum_received":{"bits_per_second":8.0,"bytes":80},"cpu_utilization_percent":{"host_total":1.5,"remote_total":2.5}}}"#;
        let found = parse(tcp).expect("TCP");
        assert_eq!(
            (
                found.bits_per_second,
                found.octets,
                found.retransmits,
                found.cpu_remote
            ),
            (8.0, 80, 3, 2.5)
        );
        let udp = r#"{"end":{"sum":{"bits_per_second":100.0,"bytes":1000,"packets":10,"lost_packets":1}}}"#;
        let found = parse(udp).expect("UDP");
        assert_eq!((found.packets, found.lost, found.octets), (10, 1, 900));
        let error = parse(r#"{"start":{},"error":"unable to connect"}"#).expect_err("an error");
        assert!(error.to_string().contains("unable to connect"));
        assert!(parse("{}").is_err() && parse("").is_err());
    }
}
