//! Checks the requirements of peers in addition to the radio, and their security.

use std::error::Error;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use radio_core::peering::Secret;

use super::config::{Compat, Peering};
use super::{ALLOW_HINT, ANYBODY, SECRET_HINT};
use runtime::check::Feature;
use runtime::secret::first_line;

/// Problem and remedy.
type Wrong = (String, String);

/// Checks the peers; empty if no access point has peers.
pub fn check(config: &Peering) -> Vec<Feature> {
    let Some(device) = config.device.as_ref() else {
        let what = "[radio.peering] has a `secret` and no `device`, so no access point becomes a \
            peer";
        let hint = "name the access point, such as device = \"wlan0\", or remove the section";
        let none = || Feature {
            name: "peers".into(),
            why_needed: "Links access points without cables.".into(),
            ..told(Err((what.into(), hint.into())))
        };
        return config.secret.0.is_some().then(none).into_iter().collect();
    };
    let clear = *config.compat == Compat::Apup;
    let file = config.secret.0.as_deref();
    let mut all = Vec::new();
    if file.is_some() || !clear {
        all.push(Feature {
            name: "the secret of peers".into(),
            why_needed: "Peers prove that they know it; no other access point becomes a peer."
                .into(),
            ..told(secret(file))
        });
    }
    if file.is_some() {
        all.push(Feature {
            name: "hostapd's control socket".into(),
            why_needed: "Announces this node in the beacon.".into(),
            ..told(hostapd(&config.hostapd.join(&device.0)))
        });
    }
    if clear {
        let hint = match config.allow.0.is_empty() {
            true => ALLOW_HINT,
            false => {
                "any device that uses an address in `allow` becomes a peer: use `secret` \
                where possible"
            }
        };
        all.push(Feature {
            name: "peers in clear".into(),
            why_needed: "Accepts access points without proof.".into(),
            ..told(Ok(Some((ANYBODY.into(), hint.into()))))
        });
    }
    all
}

/// Checks that the secret is valid and that other users cannot read it.
fn secret(file: Option<&Path>) -> Result<Option<Wrong>, Wrong> {
    let hint = || SECRET_HINT.to_owned();
    let file = file.ok_or_else(|| ("no secret configured".to_owned(), hint()))?;
    let failed = |error: &dyn Error| {
        let what = format!("cannot use {}: {error}", file.display());
        (what, hint())
    };
    let line = first_line(file).map_err(|error| failed(&error))?;
    Secret::new(&line).map_err(|error| failed(&error))?;
    let mode = file.metadata().map_err(|error| failed(&error))?.mode();
    let file = file.display();
    let open = || {
        let what = format!("every user can read or write {file}");
        (what, format!("chmod o= {file}"))
    };
    Ok((mode & 0o006 != 0).then(open))
}

/// Checks that the socket exists. The daemon reports whether hostapd answers.
fn hostapd(socket: &Path) -> Result<Option<Wrong>, Wrong> {
    let is_socket = |it: std::fs::Metadata| it.file_type().is_socket();
    match socket.metadata().map(is_socket) {
        Ok(true) => Ok(None),
        _ => Err((
            format!("no {}", socket.display()),
            format!(
                "start hostapd with ctrl_interface={} in hostapd.conf, or name another directory \
                 as `hostapd` under [radio.peering]",
                socket.parent().unwrap_or(socket).display()
            ),
        )),
    }
}

/// Converts a check. `Err`: missing. `Ok` with a problem: present, but faulty.
fn told(found: Result<Option<Wrong>, Wrong>) -> Feature {
    let present = found.is_ok();
    let (detail, hint) = found.unwrap_or_else(Some).unzip();
    Feature {
        name: String::new(),
        min_version: None,
        present,
        required: false,
        why_needed: String::new(),
        detail,
        hint,
    }
}
