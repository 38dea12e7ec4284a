//! Errors of the page's server, with hints.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Reason why the web page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// No address to listen on is configured.
    #[error("the web page has no address to listen on")]
    NoAddress,
    /// Others on the network could read the password.
    #[error(
        "the web page would listen on {0} without TLS: others on the network could read the \
            password"
    )]
    Unprotected(SocketAddr),
    /// This binary cannot do TLS.
    #[error("this weir was built without TLS")]
    NoTls,
    /// The server cannot bind an address.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// A file with a secret is not valid.
    #[error(transparent)]
    Secret(#[from] crate::secret::SecretError),
    /// A certificate or key is not valid.
    #[error("{}: {why}", path.display())]
    Certificate {
        /// File.
        path: PathBuf,
        /// Description of the problem.
        why: String,
    },
    /// The system gave no random numbers.
    #[error("cannot get random numbers: {0}")]
    Random(String),
}

impl WebError {
    /// Returns advice.
    pub fn hint(&self) -> String {
        match self {
            Self::NoAddress => "give one, as 127.0.0.1:9347".to_owned(),
            Self::Unprotected(address) => format!(
                "listen on 127.0.0.1:{} and use `ssh -L`, or give a certificate, or have weir \
                    make one (TLS); `insecure = true` listens without TLS anyway",
                address.port()
            ),
            Self::NoTls => {
                "build it with the feature `tls`, or listen on loopback without".to_owned()
            }
            Self::Listen { address, source } => match source.kind() {
                io::ErrorKind::AddrInUse => {
                    format!(
                        "find the process that listens on port {} with `ss -ltnp`, or give \
                         another port",
                        address.port()
                    )
                }
                io::ErrorKind::PermissionDenied => {
                    "start weir as root, or give a port above 1023".to_owned()
                }
                _ => "give another address".to_owned(),
            },
            Self::Secret(error) => error.hint(),
            Self::Certificate { .. } => "give a certificate and its matching key as PEM; \
                 `openssl x509 -in FILE -noout -text` shows a certificate"
                .to_owned(),
            Self::Random(_) => "restart weir once the system is up".to_owned(),
        }
    }
}
