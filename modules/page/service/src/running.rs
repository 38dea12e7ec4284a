//! The server for browsers and Prometheus: a process of its own, which is restarted when it ends.
//! The daemon answers its requests, with the rights of the logged-in user.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use api::Routes;
use tracing::{info, warn};
use web::channel::DaemonEnd;
use web::password;
use web::{Authenticator, FrontendSettings, Listeners, Metrics, Settings, Tls, WebError};

use super::config::{MetricsAccess, PageTls, Web};
use super::{peers, server};
use runtime::daemon::ApiContext;

/// Directory of a self-signed certificate.
const OWN_TLS: &str = "/var/lib/weir/tls";

/// Waiting requests of the page's process.
const WAITING: usize = 8;

/// Longest wait for the process of an earlier weir to end.
const FORMER: Duration = Duration::from_secs(1);

/// Number of concurrently answered requests: as many as browsers may make. Few more may wait, so
/// that a compromised page process takes few of the daemon's descriptors.
const LIMITS: fn(&FrontendSettings) -> api::Limits = |front| api::Limits {
    answers: front.limits.connections,
    waiting: WAITING,
    stall_time: front.limits.stall_time,
    ..api::Limits::default()
};

/// Bound sockets, and the authentication of requests.
pub struct PageListener {
    listeners: Listeners,
    front: FrontendSettings,
    authenticator: Rc<Authenticator>,
    routes: Routes,
}

impl PageListener {
    /// Binds, and reads or creates the certificate.
    ///
    /// # Errors
    /// The page cannot be served; packets are forwarded without it.
    pub fn open(
        config: &Web,
        face: &Rc<dyn ApiContext>,
        routes: &Routes,
    ) -> Result<Self, WebError> {
        let settings = settings(config);
        let figures = {
            let face = Rc::clone(face);
            Box::new(move || (api::metrics::CONTENT_TYPE, face.metrics()))
        };
        let neighbours = {
            let face = Rc::clone(face);
            let of = move |address| {
                let router = face.router();
                let mut all = router.core.neighbours();
                all.find(|one| one.address == address)
                    .and_then(|one| one.mac)
            };
            Box::new(of)
        };
        let listeners = bind(&settings)?;
        let front = settings.frontend();
        let addresses = listeners.addresses();
        let ports: Vec<u16> = addresses.iter().map(SocketAddr::port).collect();
        let warden = Rc::new(
            Authenticator::new(settings)?
                .with_metrics(figures)
                .with_neighbours(neighbours)
                .with_peers(Box::new(move |client| peers::is_connected(client, &ports))),
        );
        let routes = warden.routes(routes);
        let tls = *config.tls != PageTls::Off;
        info!(?addresses, tls, "web page served");
        Ok(Self {
            listeners,
            front,
            authenticator: warden,
            routes,
        })
    }

    /// Returns the authentication.
    pub fn authenticator(&self) -> Rc<Authenticator> {
        Rc::clone(&self.authenticator)
    }

    /// Serves until dropped.
    pub async fn serve(&self) {
        let begin = |ours: DaemonEnd| {
            ours.send_opening(&self.front, &self.listeners.descriptors())?;
            let warden = Rc::clone(&self.authenticator);
            ours.into_requests(move |headers| warden.who(headers))
        };
        server::APART
            .keep(begin, &self.routes, || LIMITS(&self.front))
            .await;
    }
}

/// Binds, and retries while the process of a just killed weir still holds the address.
fn bind(settings: &Settings) -> Result<Listeners, WebError> {
    let began = Instant::now();
    loop {
        match Listeners::bind(settings) {
            Err(WebError::Listen { source, .. })
                if source.kind() == io::ErrorKind::AddrInUse && began.elapsed() < FORMER =>
            {
                std::thread::sleep(FORMER / 20);
            }
            bound => return bound,
        }
    }
}

/// Creates folders for later files: once confined, weir can write in a folder, but not create one.
/// A password at its old path is moved.
pub fn make_folders(config: &Web) {
    let password = web::password_file(&config.password);
    if let Err(error) = password::move_former(password) {
        let hint = "move it by hand: `mv /etc/weir/password* /etc/weir/page/`";
        warn!(%error, hint, "cannot move the web page's password to its new folder");
    }
    let token = match &*config.metrics {
        MetricsAccess::Token(file) => file.parent(),
        MetricsAccess::Off | MetricsAccess::Loopback => None,
    };
    for folder in password.parent().into_iter().chain(token) {
        if let Err(error) = std::fs::create_dir_all(folder) {
            let folder = folder.display();
            warn!(%error, %folder, "cannot create the folder: no password or token can be kept there");
        }
    }
}

/// Returns the reason why the configuration allows no page, if any.
pub fn refused(config: &Web) -> Option<WebError> {
    if !*config.enabled {
        return None;
    }
    settings(config).check().err()
}

/// Returns the directory that the page writes to: the password's.
pub fn write(config: &Web) -> Vec<PathBuf> {
    let parent = web::password_file(&config.password).parent();
    parent.map(PathBuf::from).into_iter().collect()
}

/// Returns the files that the page reads.
pub fn read(config: &Web) -> Vec<PathBuf> {
    let mut files = match &*config.tls {
        PageTls::Off => Vec::new(),
        PageTls::Own => vec![Path::new(OWN_TLS).join("key.pem")],
        PageTls::Files => vec![config.certificate.value.clone(), config.key.value.clone()],
    };
    if let MetricsAccess::Token(file) = &*config.metrics {
        files.push(file.clone());
    }
    files
}

fn settings(config: &Web) -> Settings {
    Settings {
        listen: config.listen.value.clone(),
        tls: match &*config.tls {
            PageTls::Off => Tls::Off,
            PageTls::Own => Tls::Own {
                directory: OWN_TLS.into(),
            },
            PageTls::Files => Tls::Files {
                certificate: config.certificate.value.clone(),
                key: config.key.value.clone(),
            },
        },
        hosts: config.hosts.value.clone(),
        password_file: web::password_file(&config.password).to_owned(),
        metrics: match &*config.metrics {
            MetricsAccess::Off => Metrics::Off,
            MetricsAccess::Loopback => Metrics::Loopback,
            MetricsAccess::Token(file) => Metrics::Token(file.clone()),
        },
        insecure: *config.insecure,
        ..Settings::default()
    }
}
