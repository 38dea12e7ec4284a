//! Classifies flows by application: by name if known, otherwise by protocol and port.
//!
//! The result is a guess for people: it orders charts, and decides nothing. The table of host names
//! is `apps/suffixes.txt`, with a name suffix and its application on each line; extend that file.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use crate::names::packet::{TCP, UDP};

/// Applications of flows. Their words are part of the API, and do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Application {
    /// Pages, and other traffic on the web's ports without a better match.
    Web,
    /// Films, television, clips.
    Video,
    /// Music, radio, spoken word.
    Music,
    /// Games, and fetching them.
    Games,
    /// Mail.
    Mail,
    /// Messages between people.
    Chat,
    /// Telephony and meetings.
    Call,
    /// Social networks.
    Social,
    /// Questions to name servers.
    Dns,
    /// Setting clocks.
    Time,
    /// Systems and programs that fetch newer versions and packages.
    Updates,
    /// Files: on servers, in clouds, among peers.
    Files,
    /// Terminals and screens of remote computers.
    Shell,
    /// Tunnels: weir cannot see the traffic inside.
    Vpn,
    /// Backups.
    Backup,
    /// Things in the house: lamps, printers, sensors, and how they find each other.
    Home,
    /// Everything else.
    Other,
}

impl Application {
    /// All applications.
    pub const ALL: [Self; 17] = [
        Self::Web,
        Self::Video,
        Self::Music,
        Self::Games,
        Self::Mail,
        Self::Chat,
        Self::Call,
        Self::Social,
        Self::Dns,
        Self::Time,
        Self::Updates,
        Self::Files,
        Self::Shell,
        Self::Vpn,
        Self::Backup,
        Self::Home,
        Self::Other,
    ];

    /// Returns the application's name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Video => "video",
            Self::Music => "music",
            Self::Games => "games",
            Self::Mail => "mail",
            Self::Chat => "chat",
            Self::Call => "call",
            Self::Social => "social",
            Self::Dns => "dns",
            Self::Time => "time",
            Self::Updates => "updates",
            Self::Files => "files",
            Self::Shell => "shell",
            Self::Vpn => "vpn",
            Self::Backup => "backup",
            Self::Home => "home",
            Self::Other => "other",
        }
    }

    /// Classifies a flow of this IP protocol. `name` is the name of the remote end, as
    /// [`crate::names`] gives it: lower case, no dot at its end. Ports are ignored for protocols
    /// without ports.
    pub fn of(protocol: u8, station_port: u16, remote_port: u16, name: Option<&str>) -> Self {
        if PROTOCOLS_OF_TUNNELS.contains(&protocol) {
            return Self::Vpn;
        }
        // Servers have the lower port, and clients a high one of no meaning.
        let port = |port: u16| Some((port, by_port(protocol, port)?));
        let found = [port(remote_port), port(station_port)]
            .into_iter()
            .flatten();
        match found.min_by_key(|(port, _)| *port).map(|(_, found)| found) {
            Some((application, Port::Decides)) => application,
            Some((application, Port::Suggests)) => {
                name.and_then(Self::by_name).unwrap_or(application)
            }
            None => name.and_then(Self::by_name).unwrap_or(Self::Other),
        }
    }

    /// Classifies a host by its name; `None` if the table does not have the name.
    pub fn by_name(name: &str) -> Option<Self> {
        // The whole name, then each suffix after a dot.
        let ends = name.match_indices('.').map(|(dot, _)| &name[dot + 1..]);
        std::iter::once(name).chain(ends).find_map(|end| {
            let at = SUFFIXES
                .binary_search_by_key(&end, |&(suffix, _)| suffix)
                .ok()?;
            Some(SUFFIXES[at].1)
        })
    }
}

impl fmt::Display for Application {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Application {
    type Err = UnknownApplication;

    fn from_str(word: &str) -> Result<Self, UnknownApplication> {
        let all = Self::ALL.into_iter();
        all.into_iter()
            .find(|application| application.as_str() == word)
            .ok_or(UnknownApplication)
    }
}

/// The text names no [`Application`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownApplication;

impl fmt::Display for UnknownApplication {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Application::ALL.map(Application::as_str).join(", ");
        write!(
            formatter,
            "unknown application; valid applications: {words}"
        )
    }
}

impl std::error::Error for UnknownApplication {}

/// Numbers of IP protocols that carry others: IPv4 and IPv6 in IP, GRE, ESP, AH, EtherIP, L2TP.
const PROTOCOLS_OF_TUNNELS: [u8; 7] = [4, 41, 47, 50, 51, 97, 115];

/// Weight of a port against a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Decides,
    Suggests,
}

const BOTH: u8 = 0;

/// Protocol, first and last port, and application. The first match counts. Numbers by IANA, and by
/// public documentation for other common uses.
#[rustfmt::skip]
static PORTS: [(u8, u16, u16, Application, Port); 79] = {
    use Application::*;
    use Port::{Decides, Suggests};
    [
        (BOTH, 53, 53, Dns, Decides),
        (BOTH, 853, 853, Dns, Decides),
        (UDP, 5355, 5355, Dns, Decides),          // LLMNR
        (UDP, 137, 137, Dns, Decides),            // NetBIOS names
        (UDP, 123, 123, Time, Decides),
        (TCP, 4460, 4460, Time, Decides),         // NTS key establishment
        (UDP, 319, 320, Time, Decides),           // PTP
        (TCP, 22, 23, Shell, Decides),
        (BOTH, 3389, 3389, Shell, Decides),       // RDP
        (TCP, 5900, 5909, Shell, Decides),        // VNC
        (TCP, 5938, 5938, Shell, Decides),        // TeamViewer
        (UDP, 60000, 60999, Shell, Suggests),     // mosh
        (TCP, 25, 25, Mail, Decides),
        (TCP, 465, 465, Mail, Decides),
        (TCP, 587, 587, Mail, Decides),
        (TCP, 110, 110, Mail, Decides),
        (TCP, 995, 995, Mail, Decides),
        (TCP, 143, 143, Mail, Decides),
        (TCP, 993, 993, Mail, Decides),
        (TCP, 4190, 4190, Mail, Decides),         // ManageSieve
        (UDP, 500, 500, Vpn, Decides),            // IKE
        (UDP, 4500, 4500, Vpn, Decides),          // IPsec behind NAT
        (BOTH, 1194, 1194, Vpn, Decides),         // OpenVPN
        (UDP, 51820, 51821, Vpn, Decides),        // WireGuard
        (UDP, 41641, 41641, Vpn, Decides),        // Tailscale
        (UDP, 9993, 9993, Vpn, Decides),          // ZeroTier
        (UDP, 1701, 1701, Vpn, Decides),          // L2TP
        (TCP, 1723, 1723, Vpn, Decides),          // PPTP
        (UDP, 5353, 5353, Home, Decides),         // mDNS
        (UDP, 1900, 1900, Home, Decides),         // SSDP
        (UDP, 3702, 3702, Home, Decides),         // WS-Discovery
        (TCP, 1883, 1883, Home, Decides),         // MQTT
        (TCP, 8883, 8883, Home, Decides),
        (UDP, 5683, 5684, Home, Decides),         // CoAP
        (BOTH, 5540, 5540, Home, Decides),        // Matter
        (BOTH, 6666, 6668, Home, Suggests),       // Tuya
        (TCP, 8008, 8009, Home, Suggests),        // Cast
        (TCP, 631, 631, Home, Decides),           // IPP
        (TCP, 9100, 9100, Home, Decides),         // printers
        (TCP, 8123, 8123, Home, Suggests),        // Home Assistant
        (TCP, 6053, 6053, Home, Suggests),        // ESPHome
        (TCP, 20, 21, Files, Decides),
        (TCP, 990, 990, Files, Decides),          // FTP over TLS
        (UDP, 69, 69, Files, Decides),
        (TCP, 139, 139, Files, Decides),
        (TCP, 445, 445, Files, Decides),
        (TCP, 548, 548, Files, Decides),          // AFP
        (BOTH, 2049, 2049, Files, Decides),       // NFS
        (TCP, 873, 873, Files, Decides),          // rsync
        (BOTH, 22000, 22000, Files, Decides),     // Syncthing
        (BOTH, 6881, 6999, Files, Suggests),      // BitTorrent
        (BOTH, 51413, 51413, Files, Suggests),
        (TCP, 8007, 8007, Backup, Suggests),      // Proxmox Backup Server
        (TCP, 9101, 9103, Backup, Suggests),      // Bacula
        (TCP, 7680, 7680, Updates, Decides),      // Windows, among peers
        (TCP, 5222, 5223, Chat, Suggests),        // XMPP; Apple's messages
        (TCP, 5228, 5230, Chat, Suggests),        // Google's messages
        (TCP, 6697, 6697, Chat, Decides),         // IRC over TLS
        (TCP, 8448, 8448, Chat, Suggests),        // Matrix
        (BOTH, 5060, 5061, Call, Decides),        // SIP
        (BOTH, 3478, 3481, Call, Suggests),       // STUN, TURN
        (BOTH, 5349, 5349, Call, Suggests),
        (UDP, 19302, 19309, Call, Suggests),      // STUN of Google
        (UDP, 8801, 8810, Call, Suggests),        // Zoom
        (UDP, 9000, 9000, Call, Suggests),        // Webex
        (UDP, 16384, 16403, Call, Suggests),      // FaceTime
        (UDP, 5004, 5004, Call, Suggests),        // RTP, Webex
        (TCP, 4070, 4070, Music, Suggests),       // Spotify
        (BOTH, 554, 554, Video, Suggests),        // RTSP
        (TCP, 1935, 1935, Video, Suggests),       // RTMP
        (TCP, 32400, 32400, Video, Suggests),     // Plex
        (UDP, 3074, 3074, Games, Suggests),       // Xbox
        (BOTH, 25565, 25565, Games, Suggests),    // Minecraft
        (UDP, 19132, 19133, Games, Suggests),
        (BOTH, 27000, 27100, Games, Suggests),    // Steam
        (BOTH, 80, 80, Web, Suggests),
        (BOTH, 443, 443, Web, Suggests),
        (TCP, 8080, 8081, Web, Suggests),
        (TCP, 8443, 8443, Web, Suggests),
    ]
};

fn by_port(protocol: u8, port: u16) -> Option<(Application, Port)> {
    if !matches!(protocol, TCP | UDP) {
        return None;
    }
    PORTS
        .iter()
        .find(|&&(of, first, last, ..)| {
            (of == BOTH || of == protocol) && (first..=last).contains(&port)
        })
        .map(|&(.., application, port)| (application, port))
}

/// The table, in order.
static SUFFIXES: LazyLock<Vec<(&'static str, Application)>> = LazyLock::new(|| {
    // A test says that each line is right.
    let mut suffixes: Vec<_> = lines()
        .filter_map(|line| {
            let (suffix, word) = line.split_once(' ')?;
            Some((suffix, word.parse().ok()?))
        })
        .collect();
    suffixes.sort_unstable();
    suffixes
});

fn lines() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("apps/suffixes.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::text;

    #[test]
    fn the_table_is_well_formed() {
        assert!(SUFFIXES.len() > 300);
        for line in lines() {
            let (suffix, word) = line
                .split_once(' ')
                .unwrap_or_else(|| panic!("{line}: no word"));
            assert_eq!(
                text::host(suffix.as_bytes()).as_deref(),
                Some(suffix),
                "{line}: no name"
            );
            let application: Application = word
                .parse()
                .unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_ne!(application, Application::Other, "{line}: says nothing");
        }
        for pair in SUFFIXES.windows(2) {
            assert_ne!(pair[0].0, pair[1].0, "twice");
        }
        // Each suffix is found, and no suffix repeats the result of a shorter one.
        for &(suffix, application) in SUFFIXES.iter() {
            assert_eq!(Application::by_name(suffix), Some(application), "{suffix}");
            let shorter = suffix
                .split_once('.')
                .and_then(|(_, end)| Application::by_name(end));
            assert_ne!(
                shorter,
                Some(application),
                "{suffix}: a shorter end says that too"
            );
        }
    }

    #[test]
    fn ports_are_in_order_of_meaning() {
        for (at, &(protocol, first, last, ..)) in PORTS.iter().enumerate() {
            assert!(first <= last, "{first}");
            for &(other, from, to, ..) in &PORTS[..at] {
                let same = protocol == BOTH || other == BOTH || protocol == other;
                assert!(
                    !same || last < from || to < first,
                    "{first} is in {from}-{to}"
                );
            }
        }
    }

    #[test]
    fn words() {
        for application in Application::ALL {
            assert_eq!(application.as_str().parse(), Ok(application));
        }
        assert_eq!(Application::Video.to_string(), "video");
        let error = "Video".parse::<Application>().expect_err("another word");
        assert!(error.to_string().contains("video, music"));
    }

    #[test]
    fn guesses() {
        use Application::*;
        let cases = [
            (TCP, 40000, 443, None, Web),
            (UDP, 40000, 443, None, Web),
            (
                TCP,
                40000,
                443,
                Some("rr3---sn-4g5e6nsz.googlevideo.com"),
                Video,
            ),
            (UDP, 40000, 443, Some("notgooglevideo.com"), Web),
            (UDP, 40000, 443, Some("music.youtube.com"), Music),
            (TCP, 40000, 443, Some("www.youtube.com"), Video),
            (TCP, 40000, 993, Some("imap.example.org"), Mail),
            (TCP, 40000, 853, Some("dns.google"), Dns),
            // The router's own question, seen at the uplink; a client's port is chance.
            (UDP, 53, 60123, None, Dns),
            (UDP, 51820, 443, None, Web),
            (UDP, 60001, 40000, None, Shell),
            (TCP, 40000, 443, Some("dns.google"), Dns),
            (TCP, 40000, 22, Some("github.com"), Shell),
            (TCP, 22, 40000, None, Shell),
            (UDP, 5353, 5353, None, Home),
            (UDP, 40000, 1900, None, Home),
            (UDP, 123, 123, Some("2.debian.pool.ntp.org"), Time),
            (UDP, 40000, 3478, Some("teams.microsoft.com"), Call),
            (UDP, 40000, 50000, Some("media.discord.media"), Call),
            (UDP, 40000, 40001, None, Other),
            (TCP, 40000, 12345, Some("unknown.example"), Other),
            (50, 0, 0, None, Vpn),
            (1, 8, 53, None, Other),
            (TCP, 40000, 443, Some(""), Web),
            (TCP, 40000, 443, Some("..."), Web),
        ];
        for (protocol, station, far, name, application) in cases {
            assert_eq!(
                Application::of(protocol, station, far, name),
                application,
                "{protocol} {station} {far} {name:?}"
            );
        }
    }
}
