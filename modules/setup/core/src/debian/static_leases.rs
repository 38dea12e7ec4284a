//! Hosts of the package `dhcp`: leases that do not change, and names.

use super::reader::Reader;
use super::value;

/// Form of `mac`.
const MAC: &str = "a MAC: 02:00:00:00:00:01, or 02:00:00:*:*:* for several";

/// Renders `config host`.
pub fn host(reader: Reader<'_>, text: &mut String) {
    let macs = reader.many("mac", value::macs, MAC);
    let tags = reader.many("tag", value::tag, "a tag: letters, digits, _ -");
    let ignores = |text: &str| match text {
        "ignore" => Some(None),
        _ => value::address4(text).map(Some),
    };
    let address = reader.one("ip", ignores, "an address of IPv4, or ignore");
    let name = reader.one("name", value::domain, "a host name: letters, digits, -");
    let lease = reader.one("leasetime", value::lease, "a time: 12h, or infinite");
    // A host with a name has a DNS record anyway.
    let _ = reader.flag("dns", false);
    if macs.is_empty() {
        if !reader.has("mac") {
            reader.fault("mac", MAC);
        }
        return;
    }
    let mut words = macs;
    words.extend(tags.iter().map(|tag| format!("set:{tag}")));
    match address {
        Some(Some(address)) => words.push(address.to_string()),
        Some(None) => words.push("ignore".into()),
        None => {}
    }
    words.extend(name);
    words.extend(lease);
    line!(text, "dhcp-host={}", words.join(","));
    reader.end();
}

/// Renders `config domain`: a name of an address.
pub fn domain(reader: Reader<'_>, text: &mut String) {
    let name = reader.one("name", value::domain, "a name in the DNS");
    let addresses = reader.many("ip", value::address, "an address");
    if let Some(name) = name {
        for address in addresses {
            line!(text, "host-record={name},{address}");
        }
    }
    reader.end();
}

/// Renders `config cname`: another name of a name.
pub fn alias(reader: Reader<'_>, text: &mut String) {
    let name = reader.one("cname", value::domain, "a name in the DNS");
    let target = reader.one("target", value::domain, "a name in the DNS");
    if let Some((name, target)) = name.zip(target) {
        line!(text, "cname={name},{target}");
    }
    reader.end();
}
