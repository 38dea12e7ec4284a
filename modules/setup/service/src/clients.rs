//! Clients of tunnels: makes missing keys and names, and the clients' files.

use std::io;
use std::net::Ipv6Addr;
use std::path::Path;

use answers::QrPicture;
use setup_core::choices::{Choices, WireGuardClient};
use setup_core::messages::{SetupClientFile, SetupTunnel};
use setup_core::openvpn::{Keys, Server, common_name};
use setup_core::plan::{Config, Ipv4Cidr, MOST_CLIENTS};
use setup_core::{FileChange, read};

use super::ca::CertificateAuthority;
use super::file;
use super::keys;
use runtime::Error;
use runtime::output::qr;

/// Generated keys and names of clients.
#[derive(Default)]
pub struct GeneratedKeys {
    /// WireGuard clients: index in the list, and private key.
    pub wireguard: Vec<(usize, String)>,
    /// OpenVPN clients: names for their certificates.
    pub openvpn: Vec<String>,
}

/// Makes keys and names that choices lack and the router does not have.
pub fn complete(choices: &mut Choices, config: &Config) -> io::Result<GeneratedKeys> {
    Ok(GeneratedKeys {
        wireguard: wireguard(choices, config)?,
        openvpn: openvpn(choices, config)?,
    })
}

fn wireguard(choices: &mut Choices, config: &Config) -> io::Result<Vec<(usize, String)>> {
    let Some(tunnel) = choices.wireguard.as_mut().filter(|tunnel| tunnel.on) else {
        return Ok(Vec::new());
    };
    let known = read(config).wireguard.unwrap_or_default();
    if tunnel.private_key.is_none() && known.private_key.is_none() {
        tunnel.private_key = Some(keys::pair()?.private);
    }
    let mut made = Vec::new();
    // The plan refuses more clients.
    let wanted = tunnel.clients.as_deref().unwrap_or_default();
    if wanted.len() > MOST_CLIENTS {
        return Ok(made);
    }
    let there = known.clients.unwrap_or_default();
    for (n, client) in tunnel.clients.iter_mut().flatten().enumerate() {
        let same = |other: &WireGuardClient| other.name == client.name;
        if client.public_key.is_none() && !there.iter().any(same) {
            let pair = keys::pair()?;
            client.public_key = Some(pair.public);
            made.push((n, pair.private));
        }
    }
    Ok(made)
}

fn openvpn(choices: &mut Choices, config: &Config) -> io::Result<Vec<String>> {
    let Some(vpn) = choices.openvpn.as_mut().filter(|vpn| vpn.on) else {
        return Ok(Vec::new());
    };
    let known = Server::of(config).map_or_else(Vec::new, |server| server.clients);
    let mut made = Vec::new();
    let wanted = vpn.clients.iter_mut().flatten();
    for client in wanted.take(MOST_CLIENTS) {
        if !known.iter().any(|other| other.name == client.name) {
            let name = common_name(&client.name, keys::random()?);
            client.common_name = Some(name.clone());
            made.push(name);
        }
    }
    Ok(made)
}

/// Returns the files of WireGuard clients with new keys, as wg-quick(8) and the apps read them.
pub fn of_wireguard(
    config: &Config,
    choices: &Choices,
    made: &GeneratedKeys,
) -> Vec<SetupClientFile> {
    let (Some(asked), Some(tunnel)) = (&choices.wireguard, read(config).wireguard) else {
        return Vec::new();
    };
    let file = |(client, private): &(usize, String)| {
        let client = asked.clients.as_ref()?.get(*client)?;
        let whole = tunnel
            .clients
            .iter()
            .flatten()
            .find(|other| other.public_key == client.public_key)?;
        let server = keys::public(tunnel.private_key.as_deref()?)?;
        let inside = Ipv4Cidr::read(&tunnel.address)?;
        let endpoint = match asked.endpoint.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]"),
            Err(_) => asked.endpoint.clone(),
        };
        let preshared = whole.preshared_key.as_ref();
        let preshared = preshared.map_or_else(String::new, |key| format!("PresharedKey = {key}\n"));
        let file = format!(
            "[Interface]\nPrivateKey = {private}\nAddress = {}/32\nDNS = {}\n\n[Peer]\nPublicKey = \
             {server}\n{preshared}AllowedIPs = 0.0.0.0/0, ::/0\nEndpoint = {endpoint}:{}\n\
             PersistentKeepalive = 25\n",
            whole.address.as_ref()?,
            inside.address,
            tunnel.port,
        );
        let (side, path) = qr::path(&file)?;
        Some(SetupClientFile {
            name: client.name.clone(),
            tunnel: SetupTunnel::WireGuard,
            file,
            qr: Some(QrPicture { side, path }),
        })
    };
    made.wireguard.iter().filter_map(file).collect()
}

/// Files of OpenVPN, for the router, and for new clients.
#[derive(Default)]
pub struct OpenVpnFiles {
    pub files: Vec<FileChange>,
    pub once: Vec<SetupClientFile>,
}

/// Makes the files. `folder` is OpenVPN's; nothing in it is written.
pub fn of_openvpn(
    folder: &Path,
    config: &Config,
    made: &GeneratedKeys,
    authority: Option<&CertificateAuthority>,
) -> Result<OpenVpnFiles, Error> {
    let server = Server::of(config);
    let mut all = OpenVpnFiles::default();
    if let (Some(server), Some(authority)) = (&server, authority) {
        all.files.extend(authority.files.iter().cloned());
        // With a new authority, the files of all clients are useless.
        let new = |name: &String| authority.is_new || made.openvpn.contains(name);
        // A file without the router's address is useless.
        let new = |name: &String| !server.endpoint.is_empty() && new(name);
        for client in server.clients.iter().filter(|c| new(&c.common_name)) {
            let own = authority.client(folder, &client.common_name)?;
            all.once.push(SetupClientFile {
                name: client.name.clone(),
                tunnel: SetupTunnel::OpenVpn,
                file: server.client(&Keys {
                    authority: &authority.certificate,
                    certificate: &own.certificate,
                    key: &own.key,
                    tls_crypt: &authority.tls_crypt,
                }),
                // No telephone can read a QR code of that size.
                qr: None,
            });
        }
    }
    all.files.extend(following(folder, server.as_ref())?);
    Ok(all)
}

/// Returns changed files that follow from the configuration: the server's settings, and its
/// permitted clients.
pub fn following(folder: &Path, server: Option<&Server>) -> Result<Vec<FileChange>, Error> {
    let mut files = Vec::new();
    let wanted = server.map_or_else(Vec::new, Server::files);
    let mut paths = vec![folder.join("server.conf")];
    // Each file there permits a client, regardless of its author.
    let entries = std::fs::read_dir(folder.join("clients")).into_iter();
    paths.extend(entries.flatten().flatten().map(|entry| entry.path()));
    paths.retain(|path| path.is_file());
    paths.extend(wanted.iter().map(|(name, _)| folder.join(name)));
    paths.sort();
    paths.dedup();
    for path in paths {
        let named = |(name, _): &&(String, String)| folder.join(name) == path;
        let after = wanted.iter().find(named).map(|(_, text)| text.as_bytes());
        let before = file::read(&path)?;
        if before.as_deref() != after {
            let after = after.map(<[u8]>::to_vec);
            files.push(FileChange {
                path,
                before,
                after,
            });
        }
    }
    Ok(files)
}
