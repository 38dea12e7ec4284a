//! `weir capture`: writes forwarded packets into a file.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use answers::capture::{DEFAULT_OCTETS, DEFAULT_RATE, SUMMARY_TRAILER};
use answers::offload::expression::EXPRESSION_HINT;
use answers::{AddressFilter, CaptureQuery, CaptureSide, CaptureSummary, FlowFilter, Protocol};
use api::with_query;
use clap::{Args, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use crate::blocks::BlockSplitter;
use runtime::Error;
use runtime::command::{Connection, client};
use runtime::output::Output;

/// Capture packets that weir forwards, for Wireshark or tcpdump
///
/// tcpdump on this machine does not see the packets that weir forwards. This command writes them as
/// pcapng: each packet as received and as sent, with the names of the devices. Use tcpdump for
/// packets that the kernel forwards.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Ends after --count or --duration, or on Ctrl-C, and then reports how many packets were captured \
and missed.
While a capture runs, every packet costs a little more, and a captured packet more than that; \
--rate limits the cost.

Examples:
  weir capture | tcpdump -n -r -
  weir capture -w packets.pcapng --address 192.168.1.7 --port 443 --duration 60
  weir capture -w - --device wan0 --side out --snaplen 128 | wireshark -k -i -
  weir capture -w one.pcapng 'tcp 192.168.1.2:40000 > 1.1.1.1:443'
  ssh router weir capture | wireshark -k -i -")]
pub struct CaptureArgs {
    /// Only this connection: [tcp|udp] SOURCE:PORT [>] DESTINATION:PORT, or an id from `weir
    /// flows`; before or after NAT
    #[arg(value_name = "FLOW", conflicts_with_all = ["address", "port", "protocol"])]
    flow: Vec<String>,
    /// File to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    write: PathBuf,
    /// Only packets with this address on either side, before or after NAT; or with a prefix such as
    /// 192.168.1.0/24
    #[arg(long, value_name = "ADDRESS[/LENGTH]")]
    address: Option<AddressFilter>,
    /// Only packets with this port on either side, before or after NAT
    #[arg(long)]
    port: Option<u16>,
    /// Only packets of this protocol
    #[arg(long)]
    protocol: Option<ProtocolArg>,
    /// Only packets that arrive at or leave by this port of weir
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Record packets as received (in), as sent (out), or both
    #[arg(long, default_value = "both")]
    side: SideArg,
    /// Bytes of each packet to keep
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_OCTETS,
        value_parser = clap::value_parser!(u32).range(i64::from(*answers::capture::OCTETS.start())..=i64::from(*answers::capture::OCTETS.end())))]
    snaplen: u32,
    /// Packets to record per second, at most; further packets are counted, and forwarded all the
    /// same
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_RATE,
        value_parser = clap::value_parser!(u32).range(i64::from(*answers::capture::RATE.start())..=i64::from(*answers::capture::RATE.end())))]
    rate: u32,
    /// Stop after this many records; a packet captured on both sides has two
    #[arg(short, long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=i64::from(answers::capture::LONGEST)))]
    duration: Option<u32>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtocolArg {
    Tcp,
    Udp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SideArg {
    In,
    Out,
    Both,
}

impl CaptureArgs {
    fn query(&self) -> Result<CaptureQuery, Error> {
        let flow = self.flow.join(" ");
        let flow = (!flow.is_empty()).then(|| flow.parse()).transpose();
        Ok(CaptureQuery {
            flow: flow.map_err(|error: answers::ExpressionError| {
                Error::usage(error.to_string(), EXPRESSION_HINT)
            })?,
            filter: FlowFilter {
                port: self.port,
                address: self.address,
                protocol: self.protocol.map(|protocol| match protocol {
                    ProtocolArg::Tcp => Protocol::Tcp,
                    ProtocolArg::Udp => Protocol::Udp,
                }),
                device: self.device.clone(),
                ..FlowFilter::default()
            },
            side: match self.side {
                SideArg::In => Some(CaptureSide::In),
                SideArg::Out => Some(CaptureSide::Out),
                SideArg::Both => None,
            },
            snaplen: self.snaplen,
            rate: self.rate,
            count: self.count,
            seconds: self.duration,
        })
    }
}

pub fn run(args: &CaptureArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let query = args.query()?;
    let to_output = args.write == Path::new("-");
    if to_output && io::stdout().is_terminal() {
        return Err(Error::usage(
            "cannot write packets to a terminal",
            "name a file with -w FILE, or use a pipe: weir capture | tcpdump -n -r -",
        ));
    }
    let client = client(&args.connection)?;
    let mut target = Target::new((!to_output).then_some(args.write.as_path()), output);
    let begin = with_query("/v1/capture", &query);
    let told = client.follow(
        [&begin, "/v1/capture/stop"],
        SUMMARY_TRAILER,
        interrupted,
        &mut |octets| target.take(octets),
    );
    if let Some(error) = target.failed {
        return Err(error);
    }
    // Not in the output, which is for packets.
    let summary: Option<CaptureSummary> = told?.and_then(|text| serde_json::from_slice(&text).ok());
    let mut errors = io::stderr().lock();
    match summary {
        Some(summary) => writeln!(errors, "{}", tell(&summary, args.rate))?,
        None => writeln!(
            errors,
            "interrupted: the number of missed packets is unknown"
        )?,
    }
    Ok(())
}

/// Returns when a signal asks for the end.
async fn interrupted() {
    async fn comes(kind: SignalKind) {
        match signal(kind) {
            Ok(mut signal) => drop(signal.recv().await),
            // The signal then has its default effect.
            Err(_) => std::future::pending().await,
        }
    }
    tokio::select! {
        () = comes(SignalKind::interrupt()) => {}
        () = comes(SignalKind::terminate()) => {}
        () = comes(SignalKind::hangup()) => {}
    }
}

/// Destination of packets: accepts only complete blocks.
struct Target<'a, 'b> {
    path: Option<&'a Path>,
    file: Option<File>,
    output: &'a mut Output<'b>,
    blocks: BlockSplitter,
    /// An error that explains more than a failure to write.
    failed: Option<Error>,
}

impl<'a, 'b> Target<'a, 'b> {
    fn new(path: Option<&'a Path>, output: &'a mut Output<'b>) -> Self {
        Self {
            path,
            file: None,
            output,
            blocks: BlockSplitter::default(),
            failed: None,
        }
    }

    fn take(&mut self, octets: &[u8]) -> io::Result<()> {
        let whole = self.blocks.take(octets).map_err(|error| {
            self.failed = Some(Error::new(
                error.to_string(),
                "use the `weir` command of the running version: compare `weir --version` with \
                    `weir status`",
            ));
            io::ErrorKind::InvalidData
        })?;
        let Some(path) = self.path else {
            self.output.raw().write_all(&whole)?;
            return self.output.flush();
        };
        if self.file.is_none() {
            // Created only after the daemon has agreed, so that an older capture of this name is
            // not lost for nothing. Packets are private.
            let made = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(path);
            let file = made.inspect_err(|error| {
                self.failed = Some(Error::with_cause(
                    format!("cannot write {}", path.display()),
                    error,
                    "name another file with -w FILE",
                ));
            })?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(&whole),
            None => Ok(()),
        }
    }
}

/// Describes the captured and the missed packets, a line each.
fn tell(summary: &CaptureSummary, rate: u32) -> String {
    let CaptureSummary {
        captured,
        ring_lost,
        client_lost,
        over_rate,
    } = summary;
    format!(
        "{captured} captured (a packet in and out counts twice)\n\
         {ring_lost} lost because weir was too busy\n\
         {client_lost} lost because they were not written fast enough\n\
         {over_rate} packets not captured because there were more than {rate} a second"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcapng;

    fn section() -> Vec<u8> {
        let mut out = Vec::new();
        pcapng::section(&mut out, &pcapng::Origin::default());
        out
    }

    #[test]
    fn only_whole_blocks_are_written() {
        let mut written = Vec::new();
        {
            let mut output = Output::to(&mut written, false);
            let mut target = Target::new(None, &mut output);
            let block = section();
            target.take(&block).expect("written");
            target.take(&block[..7]).expect("kept");
        }
        assert_eq!(written, section());
    }

    #[test]
    fn what_is_not_pcapng_is_told() {
        let mut written = Vec::new();
        let mut output = Output::to(&mut written, false);
        let mut target = Target::new(None, &mut output);
        target.take(b"<html></html>").expect_err("refused");
        let told = target.failed.expect("told").to_string();
        assert!(told.contains("invalid pcapng"), "{told}");
    }

    #[test]
    fn a_file_that_cannot_be_made_is_told() {
        let mut written = Vec::new();
        let mut output = Output::to(&mut written, false);
        let path = Path::new("/nonexistent/packets.pcapng");
        let mut target = Target::new(Some(path), &mut output);
        target.take(&section()).expect_err("refused");
        let told = target.failed.expect("told").to_string();
        assert!(
            told.contains("cannot write /nonexistent/packets.pcapng"),
            "{told}"
        );
    }
}
