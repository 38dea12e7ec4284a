//! Problems of choices: field, cause, and remedy.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A problem of a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Field: `internet.address`, `wifi.networks[0].key`.
    pub field: String,
    /// Kind, as a key for a page's own text: `too-short`.
    pub problem: String,
    /// Values for that text, by name.
    pub values: BTreeMap<String, String>,
    /// Text in English.
    pub says: String,
    /// Remedy.
    pub hint: String,
}

/// Key of the problem [`ProblemKind::NoUplink`].
pub(super) const NO_UPLINK: &str = "no-uplink";

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.field, self.says, self.hint)
    }
}

/// All kinds of problems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A required value is missing.
    Required,
    /// Fewer characters than this.
    TooShort(usize),
    /// Longer than the first number of bytes; the second is its length.
    TooLong(usize, usize),
    /// Not a valid host name.
    NotAName,
    /// Not a valid address with a length, `192.0.2.5/24`, or not one that a router can have.
    NotAnAddress,
    /// Not a valid address.
    NotOneAddress,
    /// Not a valid port, or range of ports.
    NotAPort,
    /// Not a valid lease time.
    NotATime,
    /// Not a valid key of Wi-Fi.
    NotAWifiKey,
    /// Not a valid password of WPA3 (SAE).
    NotAPassword,
    /// Not a valid key of `WireGuard`.
    NotAKey,
    /// Not a valid hash of crypt(3).
    NotAHash,
    /// Not a valid hardware address.
    NotAMac,
    /// No country has this code or name. The code that was probably meant, if any.
    NotACountry(Option<&'static str>),
    /// Not a valid time zone.
    NotATimezone,
    /// Not a valid location on earth.
    NotAPlace,
    /// Not a valid language.
    NotALanguage,
    /// Not a valid network device.
    NotADevice,
    /// Not a valid device of a modem.
    NotAModem,
    /// The router does not have this radio.
    UnknownRadio(String),
    /// A channel needs a single radio.
    OneRadio,
    /// A radio lacks WPA3, which this requires.
    NoWpa3(String),
    /// The radio does not have the channel or band, or may not send there.
    NotOnAir(String, String),
    /// A network of this kind has no key.
    KeyUnused,
    /// More entries than this.
    TooMany(usize),
    /// A network of this kind has a key.
    NeedsKey,
    /// The password is easy to guess.
    WeakPassword,
    /// The password lacks one of the four classes of characters.
    PasswordClasses,
    /// An overlap with another network; and an address without one, if any.
    Overlaps(String, Option<String>),
    /// Outside of this network.
    OutsideNetwork(String),
    /// The forward of this name leads to this address, which would not be inside any more.
    LeavesForward(String, String),
    /// The forward of this name leads to this address, which would be the router itself.
    TakesForward(String, String),
    /// The router's own address instead of another device's.
    RouterItself(String),
    /// The router itself has the only address that it would give to others.
    NoneLeft,
    /// Not between these two numbers.
    OutOfRange(u64, u64),
    /// A duplicate.
    Twice,
    /// A line break or another control character.
    ControlCharacter,
    /// The router's hardware address is unknown, so it cannot derive its own values.
    NoMac,
    /// The router lacks this package.
    NotHere(String),
    /// The router does not have this port, radio or section.
    Lacking(String),
    /// A file of the configuration cannot be changed, for this reason.
    Unwritable(String),
    /// Guests would reach the network inside, by this zone, forwarding or device.
    GuestsInside(String),
    /// The router has no network of this name, so there is no encryption to keep.
    NothingKept(String),
    /// The router has no uplink, which this requires.
    NoUplink,
    /// The text has a quotation mark or a backslash, which fw4 cannot put into a comment.
    Unquotable,
    /// Another forward, of this name, or a tunnel uses the port.
    PortTaken(String),
    /// No device has this address alone.
    NotOneDevice(String),
    /// The port of the Internet is in the bridge of this network.
    PortInside(String, String),
    /// A name server at an address of the router's own.
    AsksItself(String),
}

impl ProblemKind {
    /// Returns the key, the values for its text, that text in English, and the remedy.
    fn describe(&self) -> (&'static str, Vec<(&'static str, String)>, String, String) {
        let plain = |word, says: &str, hint: &str| (word, vec![], says.to_owned(), hint.to_owned());
        match self {
            Self::Required => plain("required", "missing", "fill it in"),
            Self::TooShort(least) => (
                "too-short",
                vec![("least", least.to_string())],
                "too short".to_owned(),
                format!("use {least} characters or more"),
            ),
            Self::TooLong(most, length) => (
                "too-long",
                vec![("most", most.to_string()), ("length", length.to_string())],
                format!("too long: {length} bytes, but at most {most} are allowed"),
                format!("use {most} bytes or less"),
            ),
            Self::NotAName => plain(
                "not-a-name",
                "not a valid name of a router",
                "use letters, digits and hyphens, with a letter or digit first and last",
            ),
            Self::NotAnAddress => plain(
                "not-a-network",
                "not a device's address in a network",
                "write it with the network's length: 192.0.2.5/24",
            ),
            Self::NotOneAddress => plain(
                "not-an-address",
                "not an address",
                "use an address such as 192.0.2.5",
            ),
            Self::NotAPort => plain(
                "not-a-port",
                "not a port",
                "use a number from 1 to 65535, or two with a hyphen between, the smaller first",
            ),
            Self::NotATime => plain(
                "not-a-time",
                "not a time",
                "use a number and s, m, h or d, at least two minutes: 12h",
            ),
            Self::NotAWifiKey => plain(
                "not-a-wifi-key",
                "not a Wi-Fi key",
                "use 8 to 63 ASCII characters, or 64 hexadecimal digits",
            ),
            Self::NotAPassword => plain(
                "not-a-wifi-key",
                "WPA3 does not accept a key of 64 hexadecimal digits",
                "use 8 to 63 ASCII characters, or only WPA2",
            ),
            Self::NotAKey => plain(
                "not-a-key",
                "not a WireGuard key",
                "use the output of `wg genkey` or `wg pubkey`",
            ),
            Self::NotAHash => plain(
                "not-a-hash",
                "not a password hash",
                "use the hash from the shadow file: $6$…",
            ),
            Self::NotAMac => plain(
                "not-a-mac",
                "not a device's hardware address",
                "write it as 02:00:5e:10:00:01",
            ),
            Self::NotACountry(meant) => (
                "not-a-country",
                vec![],
                "not a country of ISO 3166".to_owned(),
                match meant {
                    Some(code) => format!("the code of that country is {code}"),
                    None => "use a code or a name: DE or Germany".to_owned(),
                },
            ),
            Self::NotATimezone => plain(
                "not-a-timezone",
                "not a time zone",
                "use one of IANA's: Europe/Berlin",
            ),
            Self::NotAPlace => plain(
                "not-a-place",
                "not a place on Earth",
                "use degrees: north -90 to 90, east -180 to 180",
            ),
            Self::NotALanguage => plain(
                "not-a-language",
                "not a language",
                "use its letters: en, de, pt_br",
            ),
            Self::NotADevice => plain(
                "not-a-device",
                "not a valid name of a network device",
                "use one that `ip link` lists: eth0",
            ),
            Self::NotAModem => plain(
                "not-a-modem",
                "not a modem",
                "use its device: /dev/cdc-wdm0",
            ),
            Self::UnknownRadio(radio) => (
                "unknown-radio",
                vec![("radio", radio.clone())],
                format!("no radio {radio}"),
                "use a radio of this router".to_owned(),
            ),
            Self::OneRadio => plain(
                "one-radio",
                "radios of several bands share no channel",
                "name one radio, or no channel",
            ),
            Self::NoWpa3(radio) => (
                "no-wpa3",
                vec![("radio", radio.clone())],
                format!("{radio} does not support WPA3"),
                "use the mix of WPA2 and WPA3, or other radios".to_owned(),
            ),
            Self::NotOnAir(radio, channel) => (
                "not-on-air",
                vec![("radio", radio.clone()), ("channel", channel.clone())],
                format!("{radio} cannot use channel {channel}"),
                "use a channel that `iw phy` lists and the country allows, or another radio"
                    .to_owned(),
            ),
            Self::KeyUnused => plain(
                "key-unused",
                "a network of this kind has no key",
                "remove the key, or use another encryption",
            ),
            Self::TooMany(most) => (
                "too-many",
                vec![("most", most.to_string())],
                "too many".to_owned(),
                format!("use at most {most}"),
            ),
            Self::NeedsKey => plain(
                "needs-key",
                "missing key for a network of this kind",
                "set a key, or make the network open",
            ),
            Self::WeakPassword => plain(
                "weak-password",
                "too easy to guess",
                "use several unrelated words",
            ),
            Self::PasswordClasses => plain(
                "password-classes",
                "not all four kinds of characters",
                "use small and large letters, digits and other characters",
            ),
            Self::Overlaps(what, free) => (
                "overlaps",
                vec![("what", what.clone())],
                format!("it overlaps {what}"),
                match free {
                    Some(free) => format!("use a free one, such as {free}"),
                    None => "use a free one".to_owned(),
                },
            ),
            Self::LeavesForward(name, to) => (
                "leaves-forward",
                vec![("name", name.clone()), ("to", to.clone())],
                format!("the forwarded port {name} leads to {to}, which would no longer be inside"),
                "give that device another address in [firewall], too".to_owned(),
            ),
            Self::TakesForward(name, to) => (
                "takes-forward",
                vec![("name", name.clone()), ("to", to.clone())],
                format!(
                    "the forwarded port {name} leads to {to}, which would be the router itself"
                ),
                "use another address, or give that device another in [firewall], too".to_owned(),
            ),
            Self::RouterItself(address) => (
                "router-itself",
                vec![("address", address.clone())],
                format!("{address} is the router itself"),
                "use the address of a device inside".to_owned(),
            ),
            Self::NoneLeft => plain(
                "none-left",
                "the router itself has the only address in the range for devices",
                "use a larger range, or another first address",
            ),
            Self::OutsideNetwork(network) => (
                "outside-network",
                vec![("network", network.clone())],
                format!("not in {network}"),
                "use an address of that network".to_owned(),
            ),
            Self::OutOfRange(least, most) => (
                "out-of-range",
                vec![("least", least.to_string()), ("most", most.to_string())],
                "out of range".to_owned(),
                format!("use a number from {least} to {most}"),
            ),
            Self::Twice => plain("twice", "duplicate", "remove one of them"),
            Self::ControlCharacter => plain(
                "control-character",
                "contains a line break or another control character",
                "remove it",
            ),
            Self::NoMac => plain(
                "no-mac",
                "the router lacks a hardware address to derive its own address from",
                "write the address for this router",
            ),
            Self::NotHere(what) => (
                "not-here",
                vec![("what", what.clone())],
                format!("the router lacks {what}"),
                "install it first".to_owned(),
            ),
            Self::Lacking(what) => (
                "lacking",
                vec![("what", what.clone())],
                format!("missing {what}"),
                "add it to the configuration, or leave this out".to_owned(),
            ),
            Self::Unwritable(why) => (
                "unwritable",
                vec![("why", why.clone())],
                format!("cannot change the configuration: {why}"),
                "fix that file, and try again".to_owned(),
            ),
            Self::GuestsInside(by) => (
                "guests-inside",
                vec![("by", by.clone())],
                format!("{by}: guests would be inside"),
                "give network.guest a device and a firewall zone of its own".to_owned(),
            ),
            Self::NothingKept(ssid) => (
                "nothing-kept",
                vec![("ssid", ssid.clone())],
                format!("the router has no network {ssid} whose encryption could stay"),
                "keep the network's name, or set an encryption, such as mixed or wpa2".to_owned(),
            ),
            Self::NoUplink => plain(
                NO_UPLINK,
                "no effect: no zone of the firewall contains an uplink",
                "set it on the router that leads to the Internet, or put the uplink into a zone",
            ),
            Self::Unquotable => plain(
                "unquotable",
                "contains \" or \\, which OpenWrt's firewall does not accept in a name",
                "remove that character",
            ),
            Self::PortTaken(name) => (
                "port-taken",
                vec![("name", name.clone())],
                format!("{name} already has that port"),
                "use another port, or free that one first".to_owned(),
            ),
            Self::NotOneDevice(address) => (
                "not-one-device",
                vec![("address", address.clone())],
                format!("{address} is not one device's address"),
                "use the address of one device, such as 192.0.2.5".to_owned(),
            ),
            Self::PortInside(port, network) => (
                "port-inside",
                vec![("port", port.clone()), ("network", network.clone())],
                format!(
                    "{port} is a port of network.{network}, which the provider would be in, and \
                     cannot be the Internet's too"
                ),
                format!("remove {port} from network.{network} first, or name another port"),
            ),
            Self::AsksItself(address) => (
                "asks-itself",
                vec![("address", address.clone())],
                format!("{address} is the router itself, which would query itself for names"),
                "use the address of another name server, or the provider's servers".to_owned(),
            ),
        }
    }

    /// Returns this problem of a field.
    pub fn at(&self, field: impl Into<String>) -> Problem {
        let (problem, values, says, hint) = self.describe();
        debug_assert!(super::PROBLEMS.contains(&problem), "{problem}");
        Problem {
            field: field.into(),
            problem: problem.to_owned(),
            values: values
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            says,
            hint,
        }
    }
}
