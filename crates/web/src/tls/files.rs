//! PEM files (RFC 7468).

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::WebError;

/// Most bytes of such a file: a long chain has some 10,000.
const LONGEST: u64 = 256 * 1024;

fn wrong(path: &Path, why: impl Into<String>) -> WebError {
    WebError::Certificate {
        path: path.to_owned(),
        why: why.into(),
    }
}

fn read(path: &Path) -> Result<(Vec<u8>, fs::Metadata), WebError> {
    let io = |error: std::io::Error| wrong(path, error.to_string());
    let file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(wrong(path, "is not a file"));
    }
    let mut octets = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut octets)
        .map_err(io)?;
    if octets.len() as u64 > LONGEST {
        return Err(wrong(path, "is too long"));
    }
    Ok((octets, metadata))
}

/// Text between PEM's ASCII blocks may have any encoding.
fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// Returns the chain of certificates in a file, verbatim.
pub(super) fn certificates(path: &Path) -> Result<String, WebError> {
    let (octets, _) = read(path)?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&octets)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(path, error.to_string()))?;
    match chain.is_empty() {
        true => Err(wrong(path, "contains no certificate")),
        false => Ok(text(&octets)),
    }
}

/// Returns the private key in a file, verbatim. The group may read the file, as clients of
/// certificate authorities set it up, but not all users.
pub(super) fn key(path: &Path) -> Result<String, WebError> {
    let (octets, metadata) = read(path)?;
    if metadata.mode() & 0o007 != 0 {
        return Err(wrong(path, "can be read by all users: run chmod 600"));
    }
    PrivateKeyDer::from_pem_slice(&octets)
        .map_err(|_| wrong(path, "contains no readable private key"))?;
    Ok(text(&octets))
}
