//! What listens for browsers and for Prometheus.

use std::path::PathBuf;
use std::rc::Rc;

use api::Routes;
use tracing::{info, warn};
use web::{Behind, Door, Listeners, Metrics, Settings, Tls};

use super::config::{MetricsFor, Web, WebTls};
use crate::daemon::Face;

/// Where a certificate of weir's own making is kept.
const OWN_TLS: &str = "/var/lib/weir/tls";

/// Bound sockets, and the door behind them.
pub struct Running {
    listeners: Listeners,
    door: Rc<Door>,
}

impl Running {
    /// Binds, reads or makes the certificate. To be called before rights are dropped. `None`:
    /// switched off, or it cannot be, which is told and not fatal: packets are forwarded without
    /// it.
    pub fn open(config: &Web, face: &Rc<Face>, routes: &Routes) -> Option<Self> {
        if !*config.enabled {
            return None;
        }
        // Once confined, weir can write in a directory, but not make one; the first password may be
        // set then.
        if let Some(directory) = config.password.parent()
            && let Err(error) = std::fs::create_dir_all(directory)
        {
            warn!(%error, directory = %directory.display(), "cannot be made: no password can be \
                kept there");
        }
        let settings = settings(config);
        let figures = {
            let face = Rc::clone(face);
            Box::new(move || (api::metrics::CONTENT_TYPE, face.metrics()))
        };
        let behind = Behind::new(routes.clone()).with_metrics(figures);
        let open = || {
            let listeners = Listeners::bind(&settings)?;
            let door = Rc::new(Door::new(settings, behind)?);
            Ok::<_, web::WebError>(Self { listeners, door })
        };
        match open() {
            Ok(page) => {
                let addresses = page.listeners.addresses();
                let tls = *config.tls != WebTls::Off;
                info!(?addresses, tls, "the web page is served");
                Some(page)
            }
            Err(error) => {
                warn!(%error, hint = error.hint(), "no web page");
                None
            }
        }
    }

    /// Serves until dropped.
    pub async fn serve(&self) {
        web::serve(&self.listeners, Rc::clone(&self.door)).await;
    }
}

/// Why there would be no page, as far as the configuration alone tells.
pub fn refused(config: &Web) -> Option<web::WebError> {
    if !*config.enabled {
        return None;
    }
    settings(config).check().err()
}

/// Directories in which the page reads and writes: the password's, and that of TLS.
pub fn places(config: &Web) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = config
        .password
        .parent()
        .map(PathBuf::from)
        .into_iter()
        .collect();
    match &*config.tls {
        WebTls::Off => {}
        WebTls::Own => places.push(OWN_TLS.into()),
        WebTls::Files => {
            let files = [&config.certificate, &config.key];
            places.extend(
                files
                    .iter()
                    .filter_map(|file| Some(file.parent()?.to_owned())),
            );
        }
    }
    if let MetricsFor::Token(file) = &*config.metrics {
        places.extend(file.parent().map(PathBuf::from));
    }
    places
}

fn settings(config: &Web) -> Settings {
    Settings {
        listen: config.listen.value.clone(),
        tls: match &*config.tls {
            WebTls::Off => Tls::Off,
            WebTls::Own => Tls::Own {
                directory: OWN_TLS.into(),
            },
            WebTls::Files => Tls::Files {
                certificate: config.certificate.value.clone(),
                key: config.key.value.clone(),
            },
        },
        hosts: config.hosts.value.clone(),
        password_file: config.password.value.clone(),
        metrics: match &*config.metrics {
            MetricsFor::Off => Metrics::Off,
            MetricsFor::Loopback => Metrics::Loopback,
            MetricsFor::Token(file) => Metrics::Token(file.clone()),
        },
        insecure: *config.insecure,
        ..Settings::default()
    }
}
