//! What browsers load, in the binary.

use std::sync::LazyLock;

/// A file.
pub(crate) struct Asset {
    pub name: &'static str,
    pub media: &'static str,
    pub octets: &'static [u8],
}

macro_rules! built {
    ($name:literal, $media:literal) => {
        Asset {
            name: $name,
            media: $media,
            octets: include_bytes!(concat!(env!("OUT_DIR"), "/", $name)),
        }
    };
}

/// All of them; those that were not built are empty.
pub(crate) static ASSETS: [Asset; 4] = [
    built!("weir-chart.js", "text/javascript; charset=utf-8"),
    built!("page.js", "text/javascript; charset=utf-8"),
    built!("atlas.css", "text/css; charset=utf-8"),
    Asset {
        name: "icon.svg",
        media: "image/svg+xml",
        octets: include_bytes!("../../../../web/src/icon.svg"),
    },
];

static TAGS: LazyLock<Vec<String>> =
    LazyLock::new(|| ASSETS.iter().map(|asset| tag(asset.octets)).collect());

/// What pages add to a file's address, so that a browser need not ask for it again: it changes with
/// the content.
pub(crate) fn version(name: &str) -> Option<&'static str> {
    let at = ASSETS.iter().position(|asset| asset.name == name)?;
    TAGS.get(at).map(String::as_str)
}

/// Sixteen hexadecimal digits that no other content has.
pub(crate) fn tag(octets: &[u8]) -> String {
    use blake2::{Blake2s256, Digest};
    let digest = Blake2s256::digest(octets);
    digest
        .iter()
        .take(8)
        .map(|octet| format!("{octet:02x}"))
        .collect()
}
