//! Files for browsers, in the binary.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::svg;

/// A file.
pub(crate) struct Asset {
    pub name: &'static str,
    pub media: &'static str,
    pub octets: Cow<'static, [u8]>,
}

macro_rules! built {
    ($name:literal, $media:literal) => {
        Asset {
            name: $name,
            media: $media,
            octets: Cow::Borrowed(include_bytes!(concat!(env!("OUT_DIR"), "/", $name))),
        }
    };
}

/// All assets; unbuilt ones are empty.
pub(crate) static ASSETS: LazyLock<[Asset; 4]> = LazyLock::new(|| {
    let mut style = built!("atlas.css", "text/css; charset=utf-8");
    // Pictures in pages have no style sheet of their own: the pages' policy forbids inline styles.
    style
        .octets
        .to_mut()
        .extend_from_slice(svg::sheet().as_bytes());
    [
        built!("weir-chart.js", "text/javascript; charset=utf-8"),
        built!("page.js", "text/javascript; charset=utf-8"),
        style,
        Asset {
            name: "icon.svg",
            media: "image/svg+xml",
            octets: Cow::Borrowed(include_bytes!("../../../../web/src/icon.svg")),
        },
    ]
});

static TAGS: LazyLock<Vec<String>> =
    LazyLock::new(|| ASSETS.iter().map(|asset| tag(&asset.octets)).collect());

/// Returns the version in a file's address, which changes with the content, so that a browser need
/// not request the file again.
pub(crate) fn version(name: &str) -> Option<&'static str> {
    let at = ASSETS.iter().position(|asset| asset.name == name)?;
    TAGS.get(at).map(String::as_str)
}

/// Returns sixteen hexadecimal digits that identify the content.
pub(crate) fn tag(octets: &[u8]) -> String {
    let mut digits = blake3::hash(octets).to_hex().to_string();
    digits.truncate(16);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_in_pages_turn_dark() {
        let style = ASSETS.iter().find(|asset| asset.name == "atlas.css");
        let style = String::from_utf8_lossy(&style.expect("there").octets);
        assert!(style.ends_with(&svg::sheet()), "{style}");
    }
}
