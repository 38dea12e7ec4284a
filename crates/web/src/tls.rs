//! TLS 1.3 (RFC 8446), which every browser has had since 2020: with a certificate from files, or a
//! self-signed one.

mod files;
mod self_signed;

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{info, warn};

use crate::WebError;
use crate::messages::PemPair;
use crate::request_checks::ClientConnection;
use crate::secret::FileStamp;
use crate::serve::{HttpService, speak};
use crate::settings::{self, Settings};

/// Shortest time between checks for changed files. Checks happen when a client connects.
const LOOK: Duration = Duration::from_secs(2);

/// First byte of a TLS handshake (RFC 8446 section 5.1).
const HANDSHAKE: u8 = 22;

/// Answer to a client that speaks `http://` to an `https://` port.
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; \
    charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n\
Cache-Control: no-store\r\nContent-Length: 62\r\nConnection: close\r\n\r\nThis is HTTPS: put \
https:// before the address, not http://.\n\n";

/// Speaks TLS, with the current certificate.
#[derive(Default)]
pub struct TlsServer {
    /// `None`: not known yet.
    acceptor: RefCell<Option<(PemPair, TlsAcceptor)>>,
    looked: Cell<Option<Duration>>,
}

impl TlsServer {
    /// Does the handshake, then speaks HTTP over TLS. `now`: since some beginning. `pair` returns
    /// the certificate now and then; `None`: it is not available now.
    ///
    /// # Errors
    /// The handshake fails, or exceeds the request time.
    pub async fn converse<S: HttpService>(
        &self,
        stream: TcpStream,
        peer: ClientConnection,
        served: &S,
        pair: impl AsyncFnOnce() -> Option<PemPair>,
    ) -> io::Result<()> {
        let time = served.limits().request_time;
        let shaken = self.accept(stream, served.now(), pair);
        match tokio::time::timeout(time, shaken).await {
            Ok(Ok(Some(stream))) => {
                speak(stream, ClientConnection { tls: true, ..peer }, served).await;
                Ok(())
            }
            Ok(Ok(None)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Does the handshake. `None` if the client speaks plain HTTP: it has received an error.
    async fn accept(
        &self,
        mut stream: TcpStream,
        now: Duration,
        pair: impl AsyncFnOnce() -> Option<PemPair>,
    ) -> io::Result<Option<TlsStream<TcpStream>>> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
            if first[0].is_ascii_uppercase() {
                stream.write_all(PLAIN).await?;
                stream.shutdown().await?;
                // A close with unread bytes would reset the connection, and the client might miss
                // the error.
                let mut rest = [0; 1024];
                let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut rest).await;
            }
            return Ok(None);
        }
        self.refresh(now, pair).await;
        let acceptor = self.acceptor.borrow().as_ref().map(|(_, one)| one.clone());
        let acceptor = acceptor.ok_or(io::ErrorKind::NotConnected)?;
        acceptor.accept(stream).await.map(Some)
    }

    /// Asks the daemon for a changed certificate.
    async fn refresh(&self, now: Duration, pair: impl AsyncFnOnce() -> Option<PemPair>) {
        let rested = |looked: Duration| now.saturating_sub(looked) < LOOK;
        if self.looked.get().is_some_and(rested) && self.acceptor.borrow().is_some() {
            return;
        }
        self.looked.set(Some(now));
        let Some(pair) = pair().await else {
            return;
        };
        if (self.acceptor.borrow().as_ref()).is_some_and(|(former, _)| *former == pair) {
            return;
        }
        // The daemon sends only pairs that fit.
        if let Ok(one) = acceptor(&pair) {
            self.acceptor.replace(Some((pair, one)));
        }
    }
}

/// The daemon's files of a certificate and its key.
pub struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
    pair: RefCell<PemPair>,
    seen: Cell<[Option<FileStamp>; 2]>,
    looked: Cell<Duration>,
}

impl CertificateFiles {
    /// Reads, or creates, the files that the settings name; `None` if the settings disable TLS.
    pub(crate) fn of(settings: &Settings, now: Duration) -> Result<Option<Self>, WebError> {
        let (certificate, key) = match &settings.tls {
            settings::Tls::Off => return Ok(None),
            settings::Tls::Files { certificate, key } => (certificate.clone(), key.clone()),
            settings::Tls::Own { directory } => self_signed::make(directory, settings)?,
        };
        Self::open(certificate, key, now).map(Some)
    }

    /// Reads PEM files. `now`: since some beginning.
    ///
    /// # Errors
    /// The files cannot be read, or do not fit each other.
    pub fn open(certificate: PathBuf, key: PathBuf, now: Duration) -> Result<Self, WebError> {
        let seen = [FileStamp::at(&certificate), FileStamp::at(&key)];
        let pair = RefCell::new(read(&certificate, &key)?);
        Ok(Self {
            certificate,
            key,
            pair,
            seen: Cell::new(seen),
            looked: Cell::new(now),
        })
    }

    /// Returns the content, read again if the files changed. A pair that is not valid, perhaps half
    /// written, is logged once and ignored; the former certificate stays.
    pub fn pair(&self, now: Duration) -> PemPair {
        if now.saturating_sub(self.looked.get()) >= LOOK {
            self.looked.set(now);
            self.refresh();
        }
        self.pair.borrow().clone()
    }

    fn refresh(&self) {
        let seen = [FileStamp::at(&self.certificate), FileStamp::at(&self.key)];
        if seen == self.seen.replace(seen) {
            return;
        }
        match read(&self.certificate, &self.key) {
            Ok(pair) => {
                self.pair.replace(pair);
                info!(certificate = %self.certificate.display(), "loaded a new certificate");
            }
            Err(error) => {
                warn!(
                    %error,
                    hint = error.hint(),
                    "cannot load the new certificate: the previous one stays in use"
                );
            }
        }
    }
}

/// Returns the content of the files, if the pair is valid.
fn read(certificate: &Path, key: &Path) -> Result<PemPair, WebError> {
    let pair = PemPair {
        certificate: files::certificates(certificate)?,
        key: files::key(key)?,
    };
    match acceptor(&pair) {
        Ok(_) => Ok(pair),
        Err(error) => Err(WebError::Certificate {
            path: certificate.to_owned(),
            why: format!("{error} (key: {})", key.display()),
        }),
    }
}

fn acceptor(pair: &PemPair) -> Result<TlsAcceptor, rustls::Error> {
    let unreadable = |error| rustls::Error::General(format!("{error}"));
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pair.certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    let private = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(unreadable)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, private)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Half the default number of sessions that clients may resume.
    config.session_storage = rustls::server::ServerSessionMemoryCache::new(128);
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::PLAIN;

    #[test]
    fn the_length_of_the_hint_is_right() {
        let text = std::str::from_utf8(PLAIN).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("head and body");
        assert!(
            head.contains(&format!("Content-Length: {}\r\n", body.len())),
            "{}",
            body.len()
        );
    }
}
