//! The page by HTTPS, where it has a name and a certificate that devices trust.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use api::server::ResponseBody;
use hyper::{Request, Response};
use tokio::net::TcpStream;
use web::throttle::{Allowance, Client};
use web::tls::{CertificateFiles, TlsServer};
use web::{ClientConnection, HttpService, Limits, PemPair, RequestBody};

use super::config::Portal;
use super::guest_server::GuestServer;
use runtime::Error;

/// Returns the certificate of the page's name from the disk; `None`: the page has no name.
///
/// # Errors
/// The certificate cannot be read, or is unusable.
pub fn certificate(config: &Portal) -> Result<Option<Certificate>, Error> {
    if config.host.0.is_none() {
        return Ok(None);
    }
    let (certificate, key) = (&*config.certificate, &*config.certificate_key);
    let files = CertificateFiles::open(certificate.clone(), key.clone(), Duration::ZERO);
    let files = files.map_err(|error| {
        let hint = format!(
            "{}; or remove `host` from [portal]: the page then uses HTTP only",
            error.hint()
        );
        Error::with_cause("cannot use the portal's certificate", &error, &hint)
    })?;
    Ok(Some(Certificate {
        files,
        began: Instant::now(),
    }))
}

/// Returns the folders of these files: replacements are new files.
pub fn folders(config: &Portal) -> Vec<PathBuf> {
    let files = [&config.certificate, &config.certificate_key];
    let files = files.into_iter().filter(|_| config.host.0.is_some());
    files
        .filter_map(|file| Some(file.parent()?.to_owned()))
        .collect()
}

/// The files of a certificate, read again when they change.
pub struct Certificate {
    files: CertificateFiles,
    began: Instant,
}

impl Certificate {
    /// Returns the current certificate and key.
    pub fn pair(&self) -> PemPair {
        self.files.pair(self.began.elapsed())
    }
}

/// Serves guests who connect by HTTPS.
pub fn secured(door: Rc<GuestServer>) -> Rc<HttpsServer> {
    let speaker = TlsServer::default();
    Rc::new(HttpsServer { door, speaker })
}

/// The guests' server for HTTPS.
pub struct HttpsServer {
    door: Rc<GuestServer>,
    speaker: TlsServer,
}

impl HttpService for HttpsServer {
    fn limits(&self) -> Limits {
        self.door.limits()
    }

    fn connection_limits(&self) -> [Allowance; 2] {
        self.door.connection_limits()
    }

    fn now(&self) -> Duration {
        self.door.now()
    }

    async fn client(&self, address: IpAddr) -> Option<Client> {
        self.door.client(address).await
    }

    async fn respond(
        &self,
        request: Request<RequestBody>,
        peer: ClientConnection,
    ) -> Response<ResponseBody> {
        self.door.respond(request, peer).await
    }

    async fn serve_connection(&self, stream: TcpStream, peer: ClientConnection) -> io::Result<()> {
        let pair = async || self.door.certificate().await;
        self.speaker.converse(stream, peer, self, pair).await
    }
}
