//! `[portal]` and `[portal.radius]`.

mod radius;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use kernel::Prefix;
use portal_core::form::Password;
use portal_core::keys::TrustedNode;
use portal_core::schedule::{Schedule, WeeklySpan};
use portal_core::walled_garden::{NamePattern, WalledGardenEntry};
use serde_json::Value;
use toml::de::DeValue;

use super::guest_service::FreeAccessTerms;
pub use radius::Radius;

use runtime::config::{
    DeviceName, FileValue, Macs, OptionalPath, Rate, Section, ValueError, list, table, words,
};

/// Sections of this module in the configuration file.
pub const SECTIONS: [Section; 2] = [
    Section::of::<Portal>("portal"),
    Section::of::<Radius>("portal.radius"),
];

/// Bytes of the longest title.
pub const LONGEST_TITLE: usize = 200;

table! {
    /// `[portal]`: who may use the network.
    Portal {
        /// Devices at which guests are: guests reach nothing else before they log in. Empty: no
        /// portal.
        Restart devices: Vec<DeviceName> = Vec::new();
        /// Heading of the page, such as the operator of the network.
        Restart title: Title = Title::default();
        /// Name of the guests' open Wi-Fi: sheets of vouchers show it, with a QR code to join it.
        Restart wifi: Title = Title::default();
        /// File with the community's text for the page, such as terms of use, in Markdown.
        Restart text: OptionalPath = OptionalPath::default();
        /// Web page about this place: the portal links to it, and announces it to devices that ask
        /// (RFC 8908).
        Restart venue: Venue = Venue::default();
        /// Networks and names that are open to everyone. A name includes all names below it;
        /// "*.example.net" is only the names below.
        Live garden: WalledGarden = WalledGarden::default();
        /// Time for which an address of a name in the garden is open.
        Live garden_time: Duration = Duration::from_secs(1200),
            Duration::from_secs(10) => Duration::from_secs(86_400);
        /// Name server for names of the garden. "": the first one in /etc/resolv.conf.
        Live resolver: Resolver = Resolver::default();
        /// Hardware addresses of devices that need no voucher.
        Live exempt: Macs = Macs::default();
        /// Access without a voucher: "off"; "click"; "read", after 15 seconds on the page;
        /// "password", with one password for all guests.
        Restart free: FreeAccessMode = FreeAccessMode::Off;
        /// File with the password of free access, in its first line.
        Restart free_password: OptionalPath = OptionalPath::default();
        /// Duration of free access.
        Restart free_time: Duration = Duration::from_secs(900),
            Duration::from_secs(10) => Duration::from_secs(86_400);
        /// Time after the end of free access before the device may have it again.
        Restart free_pause: Duration = Duration::ZERO,
            Duration::ZERO => Duration::from_secs(604_800);
        /// Rate limit of each device with free access, in each direction; the kernel forwards the
        /// packets of such a device.
        Restart free_rate: Option<Rate> = None;
        /// Name of the page over HTTPS, on port 2443. Guests' devices query their access there (RFC
        /// 8908), if DHCP announces it (RFC 8910).
        Restart host: Host = Host::default();
        /// With `host`: a certificate of that name that devices trust, with its intermediate
        /// certificates.
        Restart certificate: PathBuf = "/etc/weir/portal/fullchain.pem".into();
        /// With `host`: the private key of the certificate.
        Restart certificate_key: PathBuf = "/etc/weir/portal/privkey.pem".into();
        /// Hours in which only devices that need no voucher get in, by the router's clock and time
        /// zone. The time of vouchers stops meanwhile.
        Live closed: WeeklySpans = WeeklySpans::default();
        /// Hours in which every device gets in.
        Live open: WeeklySpans = WeeklySpans::default();
        /// Nodes whose vouchers are valid here, and whose notes of usage count: each a key, a space
        /// and the name of the node.
        Live trust: TrustedNodes = TrustedNodes::default();
        /// File of the vouchers; the node's key is stored next to it.
        Restart vouchers: PathBuf = "/var/lib/weir/vouchers".into();
    }
}

impl Portal {
    /// Returns the hours of access per group of devices.
    pub fn schedule(&self) -> Schedule {
        Schedule {
            closed: self.closed.0.clone(),
            open: self.open.0.clone(),
        }
    }

    /// Returns the configuration of free access, and its password.
    pub fn gift(&self, password: Option<&str>) -> Option<FreeAccessTerms> {
        (*self.free != FreeAccessMode::Off).then(|| FreeAccessTerms {
            password: password.map(Password::new),
            time: *self.free_time,
            pause: *self.free_pause,
            rate: self.free_rate.map(|rate| rate.0),
            read: *self.free == FreeAccessMode::Read,
        })
    }
}

/// Lists of values that are written as text.
macro_rules! lists {
    ($name:ident, $allowed:literal) => {
        impl FileValue for $name {
            const ALLOWED: &'static str = $allowed;

            fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
                list(value, Self::ALLOWED, |text| text.parse().ok()).map(Self)
            }

            fn show(&self) -> Value {
                self.0.iter().map(ToString::to_string).collect()
            }
        }
    };
}

/// Networks and names that every device may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalledGarden(pub Vec<WalledGardenEntry>);

impl WalledGarden {
    /// Returns the networks in the walled garden.
    pub fn networks(&self) -> Vec<Prefix> {
        let all = self.0.iter().filter_map(|place| match place {
            WalledGardenEntry::Network(network) => Some(*network),
            WalledGardenEntry::Name(_) => None,
        });
        all.collect()
    }

    /// Returns the names in the walled garden.
    pub fn names(&self) -> Vec<NamePattern> {
        let all = self.0.iter().filter_map(|place| match place {
            WalledGardenEntry::Network(_) => None,
            WalledGardenEntry::Name(name) => Some(name.clone()),
        });
        all.collect()
    }
}

lists!(
    WalledGarden,
    "a list of networks and of names of two labels or more, each in \
        quotes, such as [\"198.51.100.0/24\", \"2001:db8::/32\", \"example.org\", \
        \"*.example.net\"]"
);

/// A name server, or the system's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolver(pub Option<IpAddr>);

impl FileValue for Resolver {
    const ALLOWED: &'static str = "an address in quotes, or \"\" for the system's";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        match value.as_str().ok_or(None)? {
            "" => Ok(Self(None)),
            text => text
                .parse()
                .map(|address| Self(Some(address)))
                .map_err(|_| None),
        }
    }

    fn show(&self) -> Value {
        self.0
            .map_or_else(String::new, |address| address.to_string())
            .into()
    }
}

/// Times of the week.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WeeklySpans(pub Vec<WeeklySpan>);

lists!(
    WeeklySpans,
    "a list of times, each in quotes, such as \
        [\"Mon-Fri 22:00-06:00\", \"Sat,Sun\", \"12:00-13:00\"]"
);

/// Ways to get in without a voucher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FreeAccessMode {
    /// Not at all.
    #[default]
    Off,
    /// By a click.
    Click,
    /// By a click, when they could have read the page.
    Read,
    /// By a password.
    Password,
}

words!(FreeAccessMode, "\"off\", \"click\", \"read\" or \"password\"",
    "off" => Self::Off, "click" => Self::Click, "read" => Self::Read, "password" => Self::Password);

/// Returns true if the text can be the title of the page.
pub fn is_title(text: &str) -> bool {
    text.len() <= LONGEST_TITLE && !text.chars().any(char::is_control)
}

/// Single line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Title(pub String);

impl FileValue for Title {
    const ALLOWED: &'static str = "one line of text in quotes, of 200 bytes at most";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        let text = value.as_str().ok_or(None)?;
        is_title(text).then(|| Self(text.to_owned())).ok_or(None)
    }

    fn show(&self) -> Value {
        self.0.as_str().into()
    }
}

/// Name of a host, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host(pub Option<String>);

impl FileValue for Host {
    const ALLOWED: &'static str = "the name of a host, in quotes, such as \"portal.example.net\", or \
        \"\" for none";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        let text = value.as_str().ok_or(None)?.to_ascii_lowercase();
        if text.is_empty() {
            return Ok(Self(None));
        }
        // An address is not a name: no CA that devices trust signs a certificate for an address in
        // a LAN.
        let name = text.parse::<NamePattern>().ok();
        let itself = name.is_some_and(|name| name.host() == text && name.holds(&text));
        itself.then_some(Self(Some(text))).ok_or(None)
    }

    fn show(&self) -> Value {
        self.0.as_deref().unwrap_or_default().into()
    }
}

/// An address on the web, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Venue(pub Option<String>);

impl FileValue for Venue {
    const ALLOWED: &'static str =
        "an address on the web, in quotes, such as \"https://example.org/\", or \"\" for none";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        match value.as_str().ok_or(None)? {
            "" => Ok(Self(None)),
            url if is_web(url) => Ok(Self(Some(url.to_owned()))),
            _ => Err(None),
        }
    }

    fn show(&self) -> Value {
        self.0.as_deref().unwrap_or_default().into()
    }
}

/// Returns true for an absolute URL with a host (RFC 3986): devices get the URL unchanged.
fn is_web(url: &str) -> bool {
    let plain = url.bytes().all(|octet| octet.is_ascii_graphic()) && url.len() <= 2048;
    let rest = ["https://", "http://"];
    let rest = rest.iter().find_map(|scheme| url.strip_prefix(scheme));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    // No user part before the host: a reader must see where the link leads.
    let is_host = |host: &str| !host.is_empty() && !host.contains('@');
    plain && host.is_some_and(is_host) && !url.contains(['"', '<', '>', '\\', '`'])
}

/// Nodes with their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedNodes(pub Vec<TrustedNode>);

lists!(
    TrustedNodes,
    "a list of keys, each in quotes with the name of its node behind \
        it, such as [\"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= roof\"]"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_an_address_on_the_web() {
        for (url, is) in [
            ("https://example.org/", true),
            ("http://192.0.2.1:8080/a?b=c#d", true),
            ("https://[2001:db8::1]", true),
            ("https://", false),
            ("https:///path", false),
            ("javascript:alert(1)", false),
            ("//example.org/", false),
            ("https://example.org/ x", false),
            ("https://good.example@evil.example/", false),
            ("https://example.org/\"", false),
            ("https://example.org/\u{e4}", false),
        ] {
            assert_eq!(is_web(url), is, "{url}");
        }
    }

    #[test]
    fn a_page_may_have_to_be_read_first() {
        let read = |free: &str| {
            let text = format!("[portal]\ndevices = [\"br-lan\"]\n{free}");
            let effective = runtime::config::parse(&SECTIONS, &text, "weir.toml").expect("good");
            let portal: &Portal = effective.of();
            portal.gift(None).map(|gift| gift.read)
        };
        assert_eq!(read(""), None);
        assert_eq!(read("free = \"click\"\n"), Some(false));
        assert_eq!(read("free = \"read\"\n"), Some(true));
    }
}
