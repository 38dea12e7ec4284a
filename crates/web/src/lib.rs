//! The server of weir's web page: HTTP/1.1 over TCP, login, the page's files, and the daemon's API
//! behind the login.
//!
//! Two processes share this crate. Network clients reach the [`PageServer`], in an unprivileged
//! process: HTTP, TLS, the page's files, hosts, origins, CSRF. The daemon has the
//! [`Authenticator`]: the password, sessions, the certificate's files. A [`channel`] connects them.
//! The page server listens on loopback by default and serves:
//!
//! | request | answer |
//! |---|---|
//! | `GET /`, `GET /assets/…` | the page: files that are in the binary, by exact name |
//! | `GET /api/session` | [`SessionState`]: the login state, and the token for changing requests |
//! | `POST /api/login` | `{"password": …}`: a cookie, and [`SessionState`] |
//! | `POST /api/logout` | ends the session |
//! | `POST /api/password` | `{"old": …, "new": …}`: ends other sessions, gives a new cookie |
//! | `/api/v1/…` | the socket's `/v1/…` ([`api`]); needs a session; `POST`: `X-Weir-Csrf` |
//! | `GET /metrics` | metrics for Prometheus, if [`Metrics`] allows |
//!
//! `docs/reference/web.md` describes the protection. The cores are pure, and take the time as an argument:
//! [`sessions`], [`throttle`], [`host`], [`admission`], [`rate`]. Sockets are in `serve`.

pub mod accept;
pub mod admission;
pub mod assets;
mod auth;
mod backend;
pub mod channel;
mod claim;
mod clock;
mod error;
pub mod host;
mod known_devices;
mod login;
mod messages;
mod page_server;
pub mod password;
mod pool;
pub mod rate;
pub mod request_checks;
mod response;
mod route;
pub mod secret;
mod serve;
pub mod sessions;
mod settings;
pub mod throttle;
#[cfg(feature = "tls")]
pub mod tls;
mod token;

pub use auth::{Authenticator, MetricsSource};
pub use backend::Backend;
pub use clock::Clock;
pub use error::WebError;
pub use login::SessionState;
pub use messages::{Device, DeviceQuery, PemPair};
pub use page_server::PageServer;
pub use pool::{ConnectionPool, RequestBody, Slot};
pub use request_checks::ClientConnection;
pub use response::protect;
pub use serve::{HttpService, Listeners, serve};
pub use settings::{
    DEFAULT_LISTEN, DEFAULT_PASSWORD_FILE, FrontendSettings, Limits, Metrics, MetricsAccess,
    Settings, Tls, password_file,
};
