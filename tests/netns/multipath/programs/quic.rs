//! QUIC, by an implementation that knows nothing of weir.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use lab::Error;
use lab::random::Random;
use lab::uplinks::{PARTNER, SERVER};
use quinn::{ClientConfig, Endpoint, ServerConfig};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use weir_tests::LIMIT;

use super::Stage;
use crate::multipath::at;

const OCTETS: usize = 5 << 20;
const NAME: &str = "server.example";

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Runs the work on the calling thread, whose namespace the sockets use.
fn block<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { tokio::time::timeout(LIMIT, work).await? })
}

/// Echoes one client's data and returns the client's address.
async fn answer(config: ServerConfig, to: SocketAddr) -> Outcome<IpAddr> {
    let endpoint = Endpoint::server(config, to)?;
    let incoming = endpoint.accept().await.ok_or("nobody came")?;
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let octets = receive.read_to_end(OCTETS).await?;
    send.write_all(&octets).await?;
    send.finish()?;
    connection.closed().await;
    Ok(connection.remote_address().ip())
}

/// Sends the bytes and returns the answer.
async fn ask(config: ClientConfig, to: SocketAddr, octets: &[u8]) -> Outcome<Vec<u8>> {
    let mut endpoint = Endpoint::client(([0, 0, 0, 0], 0).into())?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(to, NAME)?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(octets).await?;
    send.finish()?;
    let answer = receive.read_to_end(OCTETS).await?;
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(answer)
}

fn configs() -> Outcome<(ServerConfig, ClientConfig)> {
    let made = rcgen::generate_simple_self_signed(vec![NAME.into()])?;
    let certificate = CertificateDer::from(made.cert);
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    Ok((
        ServerConfig::with_single_cert(vec![certificate], key.into())?,
        ClientConfig::with_root_certificates(Arc::new(roots))?,
    ))
}

#[test]
fn quic_both_ways() -> Result<(), Error> {
    let stage = Stage::build(&[20, 20])?;
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::Unexpected(format!("QUIC: {error}"))
    };
    let (server, client) = configs().map_err(failed)?;
    let serving = stage
        .server()
        .background(move || block(answer(server, at(SERVER))))?;
    // Gives the server time to start.
    std::thread::sleep(Duration::from_millis(100));
    let octets = Random::new(5).bytes(OCTETS);
    let begun = std::time::Instant::now();
    let told = stage
        .client()
        .enter(|| block(ask(client, at(SERVER), &octets)))?;
    let told = told.map_err(failed)?;
    let rate = 2.0 * OCTETS as f64 * 8e-6 / begun.elapsed().as_secs_f64();
    eprintln!("QUIC: {rate:.1} Mbit/s, up and then down");
    // A single path carries 18.
    assert!(rate > 12.0, "{rate} Mbit/s");
    assert!(told == octets, "{} of {OCTETS} bytes", told.len());
    let caller = serving.join().expect("no panic")?.map_err(failed)?;
    assert_eq!(caller, PARTNER);
    stage.by_the_partner()
}
