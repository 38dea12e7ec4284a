//! A self-signed certificate: the user compares its fingerprint once on opening the page, or
//! imports it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nix::ifaddrs::getifaddrs;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use tracing::info;

use crate::WebError;
use crate::host::{Authority, Host};
use crate::secret;
use crate::settings::Settings;

/// Line before the certificate in its file, with the configured names.
const NAMES: &str = "names:";

/// Returns the files of the certificate and the key in `directory`. Creates them if they are
/// missing or lack a newly configured name.
pub(super) fn make(directory: &Path, settings: &Settings) -> Result<(PathBuf, PathBuf), WebError> {
    let certificate = directory.join("certificate.pem");
    let key = directory.join("key.pem");
    let names = configured(settings);
    if let (Some((text, _)), Some(_)) = (secret::read(&certificate)?, secret::read(&key)?)
        && names.is_subset(&noted(&text))
    {
        return Ok((certificate, key));
    }
    let wrong = |error: rcgen::Error| WebError::Certificate {
        path: certificate.clone(),
        why: format!("cannot be created: {error}"),
    };
    let pair = KeyPair::generate().map_err(wrong)?;
    let all: Vec<String> = names
        .iter()
        .cloned()
        .chain(found())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut params = CertificateParams::new(all).map_err(wrong)?;
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, "weir");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // A fixed start: many routers have no clock at first boot, and would create a certificate that
    // is valid only later.
    params.not_before = rcgen::date_time_ymd(2024, 1, 1);
    params.not_after = rcgen::date_time_ymd(2049, 12, 31);
    let made = params.self_signed(&pair).map_err(wrong)?;
    let noted: Vec<&str> = names.iter().map(String::as_str).collect();
    // The key first: a certificate without its key would pass as complete.
    secret::write(&key, &pair.serialize_pem())?;
    secret::write(
        &certificate,
        &format!("{NAMES} {}\n{}", noted.join(" "), made.pem()),
    )?;
    info!(certificate = %certificate.display(), "made a certificate for the web page");
    Ok((certificate, key))
}

/// Returns the required names.
fn configured(settings: &Settings) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = ["localhost", "127.0.0.1", "::1"].map(String::from).into();
    for address in &settings.listen {
        if !address.ip().is_unspecified() {
            names.insert(address.ip().to_canonical().to_string());
        }
    }
    for text in &settings.hosts {
        let host = Authority::parse(text).map(|authority| authority.host);
        match host.or_else(|| Host::parse(text)) {
            Some(Host::Name(name)) => drop(names.insert(name)),
            Some(Host::Address(address)) => drop(names.insert(address.to_string())),
            None => {}
        }
    }
    names
}

/// Returns further names that are valid now, but may change: the host name, and the addresses.
fn found() -> Vec<String> {
    let name = nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .filter(|name| matches!(Host::parse(name), Some(Host::Name(_))));
    let addresses = getifaddrs()
        .into_iter()
        .flatten()
        .filter_map(|device| device.address)
        .filter_map(|address| {
            let four = address.as_sockaddr_in().map(|four| four.ip().to_string());
            // Browsers do not accept link-local addresses in the address bar.
            let six = address
                .as_sockaddr_in6()
                .map(|six| six.ip())
                .filter(|six| !six.is_unicast_link_local())
                .map(|six| six.to_string());
            four.or(six)
        })
        .take(64);
    name.into_iter().chain(addresses).collect()
}

fn noted(text: &str) -> BTreeSet<String> {
    text.lines()
        .next()
        .and_then(|line| line.strip_prefix(NAMES))
        .map(|names| names.split_whitespace().map(str::to_owned).collect())
        .unwrap_or_default()
}
