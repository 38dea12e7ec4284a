//! `weir-atlas serve`: pages, pictures and data over HTTP.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::data::Data;
use super::failure::Failure;
use super::follow::{FollowInterval, follow};
use super::import::MappingOption;
use super::terminal::log;
use crate::client::Proxies;
use crate::error::Error;
use crate::serve::{Server, Settings};
use crate::store::Writer;

/// Threads that wait for files and processors: each has memory of its own, and the pool has at most
/// eight queries.
const BLOCKING: usize = 12;

/// Delay after a failed write to the store.
const AGAIN: Duration = Duration::from_secs(300);

/// Serve pages, pictures, data and free queries over HTTP
///
/// Serves read-only. For the Internet, put a server with TLS in front: see packaging/atlas.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Stops on SIGTERM or Ctrl-C, after running requests are answered.

Examples:
  weir-atlas serve
  weir-atlas serve --listen '[::]:9350'
  weir-atlas serve --public-url https://example.org --trusted-proxy 127.0.0.1")]
pub(super) struct Arguments {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9350",
          value_parser = listen)]
    listen: SocketAddr,
    #[command(flatten)]
    data: Data,
    /// Query this directory regularly, and show what is new
    #[arg(long, value_name = "URL")]
    follow: Option<String>,
    #[command(flatten)]
    every: FollowInterval,
    #[command(flatten)]
    mapping: MappingOption,
    /// Public URL, for embedded content [default: the name that each client uses]
    #[arg(long, value_name = "URL", value_parser = public_url)]
    public_url: Option<String>,
    /// Address of a proxy whose X-Forwarded-For names the client; may be given several times
    #[arg(long, value_name = "ADDRESS", value_parser = proxy)]
    trusted_proxy: Vec<IpAddr>,
    /// Show /metrics to all clients, not only to this machine
    #[arg(long)]
    public_metrics: bool,
    /// Megabytes of memory for cached answers and figures
    #[arg(long, value_name = "MEGABYTES", default_value_t = 32,
          value_parser = clap::value_parser!(u16).range(1..=4096))]
    cache: u16,
}

pub(super) fn run(arguments: Arguments, output: &mut impl Write) -> Result<(), Failure> {
    log();
    if let Some(url) = &arguments.follow {
        follow_beside(url, &arguments)?;
    }
    let settings = Settings {
        data: arguments.data.data,
        public_url: arguments.public_url,
        public_metrics: arguments.public_metrics,
        proxies: Proxies::new(&arguments.trusted_proxy),
        cache: usize::from(arguments.cache) << 20,
    };
    let server = Server::bind(arguments.listen, settings)?;
    writeln!(output, "http://{}/", server.address()?)?;
    output.flush()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING)
        .enable_all()
        .build()
        .map_err(|error| Error::Other(format!("cannot start threads: {error}")))?;
    let served = runtime.block_on(async {
        let failed = |error| Error::Other(format!("cannot catch signals: {error}"));
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let end = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        server.run(end).await
    });
    // Discards computations of disconnected clients.
    runtime.shutdown_background();
    Ok(served?)
}

/// Follows in a thread of its own, which ends with the program: the store then undoes a
/// half-written snapshot. Creates the store if missing.
fn follow_beside(url: &str, arguments: &Arguments) -> Result<(), Error> {
    let mapping = arguments.mapping.read()?;
    let data = arguments.data.data.clone();
    arguments.every.follower(url, &data)?;
    let mut store = Writer::open(&arguments.data.data)?;
    let (url, every) = (url.to_owned(), arguments.every.clone());
    std::thread::spawn(move || {
        let never = AtomicBool::new(false);
        loop {
            let followed = every
                .follower(&url, &data)
                .and_then(|follower| follow(follower, &mapping, &mut store, &never));
            if let Err(error) = followed {
                tracing::warn!(%error, "cannot store a snapshot");
            }
            std::thread::sleep(AGAIN);
        }
    });
    Ok(())
}

/// Parses a root to which paths can be appended.
fn public_url(text: &str) -> Result<String, String> {
    let url = text.trim_end_matches('/');
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-._~:[]/".contains(&octet);
    match rest {
        Some(rest) if !rest.is_empty() && rest.bytes().all(plain) => Ok(url.to_owned()),
        _ => Err("write it as https://example.org or https://example.org/atlas".into()),
    }
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse();
    address.map_err(|_| {
        "write an address and a port, such as 127.0.0.1:9350 or [::1]:9350; names are not allowed".into()
    })
}

fn proxy(text: &str) -> Result<IpAddr, String> {
    let address = text.parse();
    address.map_err(|_| "write an address, such as 127.0.0.1 or 2001:db8::1".into())
}

#[cfg(test)]
mod tests {
    use super::{listen, public_url};

    #[test]
    fn a_root_and_nothing_else() {
        assert_eq!(
            public_url("https://a.example/x/"),
            Ok("https://a.example/x".to_owned())
        );
        for wrong in [
            "a.example",
            "https://",
            "ftp://a",
            "https://a?b",
            "https://a\"b",
            "https://a b",
        ] {
            assert!(public_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_and_a_port() {
        assert!(listen("[::1]:9350").is_ok());
        let error = listen("localhost:9350").unwrap_err();
        assert!(error.contains("such as 127.0.0.1:9350"), "{error}");
    }
}
