//! The files of an OpenVPN server, and of its clients. This module reads and writes no file, and
//! creates no key.
//!
//! OpenWrt's programs put options of UCI on a command line, and each release does so differently: a
//! list of several words is split, and a release that takes `dh none` for a file omits it. So the
//! server's settings are in a file of its own (openvpn(8), 2.5 and newer), which UCI only names.

use std::net::Ipv4Addr;

use net::hex;
use ring::digest::{SHA256, digest};

use crate::plan::{Config, Ipv4Cidr, text, words};

/// Folder of all files.
pub const FOLDER: &str = "/etc/openvpn/weir";
/// The server's own file.
pub const FILE: &str = "/etc/openvpn/weir/server.conf";
/// Device of the server.
pub const DEVICE: &str = "ovpn0";
/// Name in the server's certificate.
pub const SERVER: &str = "weir-server";
/// Sections of the server in UCI: since 25.12 it is netifd's, before it had a package of its own.
/// The last one is OpenWrt's conversion of the second on an upgrade to 25.12.
pub(crate) const SECTIONS: [(&str, &str); 3] = [
    ("network", DEVICE),
    ("openvpn", "weir"),
    ("network", "weir"),
];
/// First line of files that each change rewrites.
const HEAD: &str = "# Made by `weir setup`; what is written here by hand is lost.\n";

/// A client: the name in its certificate, and its name for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The name in its certificate, and of its file on the server.
    pub common_name: String,
    /// Owner of the device.
    pub name: String,
}

impl Client {
    /// Returns the client's entry in UCI.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.common_name, self.name)
    }

    fn read(line: &str) -> Option<Self> {
        let (common_name, name) = line.split_once(' ')?;
        is_common_name(common_name).then(|| Self {
            common_name: common_name.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// A server that the wizard made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The UDP port.
    pub port: u16,
    /// The network of the tunnel.
    pub network: Ipv4Cidr,
    /// Name or address from outside; empty if not set.
    pub endpoint: String,
    /// Permitted clients.
    pub clients: Vec<Client>,
    /// Network behind the server.
    lan: Option<Ipv4Cidr>,
}

/// Keys and certificates of a client's file.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    /// The authority's certificate.
    pub authority: &'a str,
    /// The client's.
    pub certificate: &'a str,
    /// The client's key.
    pub key: &'a str,
    /// Key that encrypts the handshake of server and clients.
    pub tls_crypt: &'a str,
}

/// Returns the sections of the wizard's server: the first one has its settings.
pub(crate) fn places(config: &Config) -> impl Iterator<Item = (&'static str, &'static str)> {
    let ours = |&(package, section): &(&str, &str)| {
        config.get(package, section, "config").as_deref() == Some(FILE)
    };
    SECTIONS.into_iter().filter(ours)
}

impl Server {
    /// Reads the server from the packages.
    pub fn of(config: &Config) -> Option<Self> {
        let (package, section) = places(config).next()?;
        let section = config.section_of(package, section)?;
        let mut clients: Vec<Client> = Vec::new();
        let listed = section.get("weir_client").is_some_and(|found| found.list);
        for line in words(section, "weir_client").iter().filter(|_| listed) {
            let client = Client::read(line);
            let new = |client: &Client| {
                !clients
                    .iter()
                    .any(|other| other.common_name == client.common_name)
            };
            clients.extend(client.filter(new));
        }
        let lan = || {
            let lan = config.section_of("network", "lan")?;
            let address = text(lan, "ipaddr")?;
            Ipv4Cidr::read_network(&address)
                .or_else(|| Ipv4Cidr::of_mask(&address, &text(lan, "netmask")?))
        };
        Some(Self {
            port: text(section, "port")?.parse().ok()?,
            network: Ipv4Cidr::read_network(&text(section, "weir_network")?)?,
            endpoint: text(section, "endpoint").unwrap_or_default(),
            clients,
            lan: lan(),
        })
    }

    /// Returns the server's address in the tunnel.
    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.network.network()).saturating_add(1))
    }

    /// Returns the server's own file.
    pub fn file(&self) -> String {
        let Self { port, network, .. } = self;
        let mut file = format!(
            "{HEAD}port {port}\nproto udp\ndev {DEVICE}\ndev-type tun\ntopology subnet\n\
             server {} {}\n",
            network.network(),
            network.netmask(),
        );
        // Answers leave from the requested address: a router has several.
        file.push_str("multihome\nkeepalive 10 60\ndh none\ntls-version-min 1.2\n");
        for (word, name) in [
            ("ca", "ca.crt"),
            ("cert", "server.crt"),
            ("key", "server.key"),
            ("tls-crypt", "tls-crypt.key"),
            ("client-config-dir", "clients"),
        ] {
            file.push_str(&format!("{word} {FOLDER}/{name}\n"));
        }
        // A certificate alone is not enough: a client that was removed from the list still has it.
        file.push_str("ccd-exclusive\nremote-cert-tls client\n");
        if let Some(lan) = self.lan {
            let (network, mask) = (lan.network(), lan.netmask());
            file.push_str(&format!("push \"route {network} {mask}\"\n"));
        }
        // Not the address inside: the client may be in a network with the same addresses.
        file.push_str(&format!("push \"dhcp-option DNS {}\"\n", self.address()));
        for client in &self.clients {
            file.push_str(&format!("# client {}\n", client.common_name));
        }
        file
    }

    /// Returns a hash of the settings and keys. netifd and procd restart a server only if an option
    /// changes: until then removed clients stay connected, and the old keys in use.
    pub(crate) fn mark(&self, keys: &str) -> String {
        mark_of(&format!("{}{keys}", self.file()))
    }

    /// Returns all files of this configuration, by their names in [`FOLDER`].
    pub fn files(&self) -> Vec<(String, String)> {
        let why = "# Clients with a file here may come in, and nobody else.\n";
        let mut files = vec![
            ("server.conf".to_owned(), self.file()),
            // The server does not start without the folder.
            ("clients/.folder".to_owned(), why.to_owned()),
        ];
        for client in &self.clients {
            let name = format!("clients/{}", client.common_name);
            files.push((name, HEAD.to_owned()));
        }
        files
    }

    /// Returns a client's file, all in one.
    pub fn client(&self, keys: &Keys<'_>) -> String {
        let endpoint = self.endpoint.trim_matches(['[', ']']);
        let mut file = format!(
            "client\ndev tun\nproto udp\nremote {endpoint} {}\nnobind\nresolv-retry infinite\n\
             persist-tun\nremote-cert-tls server\nverify-x509-name {SERVER} name\n\
             tls-version-min 1.2\nredirect-gateway def1 ipv6\n{NO_IPV6}",
            self.port
        );
        for (word, text) in [
            ("ca", keys.authority),
            ("cert", keys.certificate),
            ("key", keys.key),
            ("tls-crypt", keys.tls_crypt),
        ] {
            file.push_str(&format!("<{word}>\n{}\n</{word}>\n", text.trim_end()));
        }
        file
    }
}

/// Removes clients from an old configuration that are not permitted now: a lost device stays locked
/// out. Returns their names.
pub fn keep_out(now: &Config, former: &mut Config, keys: &str) -> Vec<String> {
    let known = Server::of(now).map_or_else(Vec::new, |server| server.clients);
    let Some(server) = Server::of(former) else {
        return Vec::new();
    };
    let is_in = |client: &Client| known.iter().any(|c| c.common_name == client.common_name);
    let (stay, gone): (Vec<_>, Vec<_>) = server.clients.into_iter().partition(is_in);
    let lines: Vec<String> = stay.iter().map(Client::line).collect();
    let all: Vec<_> = places(former).collect();
    for &(package, section) in all.iter().filter(|_| !gone.is_empty()) {
        former.set_list(package, section, "weir_client", &lines);
    }
    // The server keeps its present keys, too.
    if let (Some(server), Some((package, section))) = (Server::of(former), all.first()) {
        former.set(package, section, "echo", &server.mark(keys));
    }
    gone.into_iter().map(|client| client.name).collect()
}

/// Returns a hash of a text, which does not reveal the text.
pub fn mark_of(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    hex::text(&digest.as_ref()[..8])
}

/// Routes IPv6 into the tunnel, which carries no IPv6, so that IPv6 traffic does not leak: the
/// client reports a missing route (openvpn(8), `block-ipv6`). The address is never used.
const NO_IPV6: &str = "ifconfig-ipv6 fd77:6569:7200::2/64 fd77:6569:7200::1\nblock-ipv6\n";

/// Returns true if a text may be the name in a client's certificate, which also names a file.
pub fn is_common_name(text: &str) -> bool {
    let sign = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(sign) && text != SERVER
}

/// Makes a name for a certificate: letters of the client's name, and unique random digits.
pub fn common_name(name: &str, random: [u8; 8]) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 24 {
            break;
        }
    }
    let slug = slug.trim_matches('-');
    let slug = if slug.is_empty() { "client" } else { slug };
    format!("{slug}-{}", hex::text(&random))
}

/// Returns OpenVPN's form of a key that server and clients share (`--genkey tls-crypt`): 2048 bits.
pub fn static_key(random: &[u8; 256]) -> String {
    let mut text = String::from("-----BEGIN OpenVPN Static key V1-----\n");
    for line in random.chunks(16) {
        text.push_str(&hex::text(line));
        text.push('\n');
    }
    text.push_str("-----END OpenVPN Static key V1-----\n");
    text
}

/// Returns true for such a key, even after comments.
pub fn is_static_key(text: &str) -> bool {
    let body = || {
        let (_, rest) = text.split_once("-----BEGIN OpenVPN Static key V1-----")?;
        Some(rest.split_once("-----END OpenVPN Static key V1-----")?.0)
    };
    body().is_some_and(|body| {
        let digits: String = body.split_whitespace().collect();
        digits.len() == 512 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::{common_name, is_common_name, is_static_key, static_key};

    #[test]
    fn names_in_certificates_are_names_of_files() {
        let random = [0, 1, 2, 3, 4, 5, 6, 255];
        for (name, slug) in [
            ("Ana's phone", "ana-s-phone"),
            ("../../etc/passwd", "etc-passwd"),
            ("هاتف", "client"),
            ("", "client"),
            ("weir-server", "weir-server"),
            (
                "a very long name that nobody would type",
                "a-very-long-name-that-no",
            ),
        ] {
            let made = common_name(name, random);
            assert_eq!(made, format!("{slug}-00010203040506ff"));
            assert!(is_common_name(&made), "{made}");
        }
        for wrong in ["", "A", "a b", "..", ".folder", "a/b", "weir-server"] {
            assert!(!is_common_name(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_static_key_has_the_form_of_openvpn() {
        let text = static_key(&[0xab; 256]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 18);
        assert_eq!(lines[0], "-----BEGIN OpenVPN Static key V1-----");
        assert_eq!(lines[17], "-----END OpenVPN Static key V1-----");
        assert!(lines[1..17].iter().all(|line| *line == "ab".repeat(16)));
        assert!(is_static_key(&format!("# 2048 bit\n{text}")));
        assert!(!is_static_key("") && !is_static_key(&text[..300]));
        assert!(!is_static_key(&text.replacen('a', "g", 1)));
    }
}
