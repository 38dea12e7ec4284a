//! The page's files, in the binary: looked up by exact name in a table, so that no path leads
//! elsewhere.

use std::io::Read;

use hyper::body::Bytes;

use crate::accept::Encoding;

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Path below the page's root: `assets/index-B3f9.js`.
    pub name: &'static str,
    /// Media type.
    pub media: &'static str,
    /// True if the name changes with the content, so that a browser need never ask again.
    pub hashed: bool,
    /// Hash of the content.
    pub tag: &'static str,
    content: Content,
}

/// Compressed files are not stored plain too: hardly any client asks for that, and the gzip form
/// can be unpacked.
#[derive(Clone, Copy, Debug)]
#[allow(
    dead_code,
    reason = "which of them there are depends on the page that was built"
)]
enum Content {
    Plain(&'static [u8]),
    Packed {
        brotli: &'static [u8],
        gzip: &'static [u8],
        length: usize,
    },
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Placeholder for a page that was not built: plain text.
static MISSING: Asset = Asset {
    name: "index.html",
    media: "text/html; charset=utf-8",
    hashed: false,
    tag: "missing",
    content: Content::Plain(include_bytes!("missing.html")),
};

/// Returns true if the page is in this binary. Otherwise there is only a placeholder text.
pub fn is_built() -> bool {
    !TABLE.is_empty()
}

/// All files of the page.
pub fn all() -> &'static [Asset] {
    match is_built() {
        true => TABLE,
        false => std::slice::from_ref(&MISSING),
    }
}

/// Returns the file of exactly this name; the empty name means `index.html`.
pub fn find(name: &str) -> Option<&'static Asset> {
    let name = match name {
        "" => "index.html",
        // The page has only one path.
        "index.html" => return None,
        other => other,
    };
    all().iter().find(|asset| asset.name == name)
}

impl Asset {
    /// Returns the content for a client that accepts `wanted`, and its encoding.
    pub fn content(&self, wanted: Encoding) -> (Bytes, Encoding) {
        match (self.content, wanted) {
            (Content::Plain(octets), _) => (Bytes::from_static(octets), Encoding::Plain),
            (Content::Packed { brotli, .. }, Encoding::Brotli) => {
                (Bytes::from_static(brotli), Encoding::Brotli)
            }
            (Content::Packed { gzip, .. }, Encoding::Gzip) => {
                (Bytes::from_static(gzip), Encoding::Gzip)
            }
            (Content::Packed { gzip, length, .. }, Encoding::Plain) => {
                let mut octets = Vec::with_capacity(length);
                match flate2::read::GzDecoder::new(gzip).read_to_end(&mut octets) {
                    Ok(_) => (octets.into(), Encoding::Plain),
                    // Cannot happen with the files of build.rs; such a client may know gzip
                    // nevertheless.
                    Err(_) => (Bytes::from_static(gzip), Encoding::Gzip),
                }
            }
        }
    }

    /// Returns true if the file exists in other encodings.
    pub fn varies(&self) -> bool {
        matches!(self.content, Content::Packed { .. })
    }

    /// Returns the bytes to send to a browser that accepts gzip or brotli.
    pub fn smallest(&self) -> usize {
        match self.content {
            Content::Plain(octets) => octets.len(),
            Content::Packed { brotli, gzip, .. } => brotli.len().min(gzip.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_page() {
        let page = find("").expect("a page");
        assert!(page.media.starts_with("text/html"));
        let (octets, encoding) = page.content(Encoding::Plain);
        assert_eq!(encoding, Encoding::Plain);
        let text = std::str::from_utf8(&octets).expect("text");
        assert!(text.contains("<html"), "{text}");
    }

    #[test]
    fn only_exact_names() {
        for name in [
            "index.html",
            "/",
            "../Cargo.toml",
            "assets/../index.html",
            "assets",
            "assets/",
            "%69ndex.html",
            "INDEX.HTML",
            "index.html\0",
        ] {
            assert!(find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn the_page_is_small() {
        // A browser loads only one of the languages.
        let (texts, others): (Vec<&Asset>, Vec<&Asset>) = all()
            .iter()
            .partition(|asset| asset.name.starts_with("assets/text-"));
        let largest = texts
            .iter()
            .map(|asset| asset.smallest())
            .max()
            .unwrap_or(0);
        let octets = largest + others.iter().map(|asset| asset.smallest()).sum::<usize>();
        assert!(octets <= 150 * 1024, "{octets} bytes compressed");
    }

    #[test]
    fn all_encodings_are_of_the_same_length() {
        for asset in all() {
            if let Content::Packed { length, .. } = asset.content {
                assert_eq!(
                    asset.content(Encoding::Plain).0.len(),
                    length,
                    "{}",
                    asset.name
                );
            }
        }
    }

    #[test]
    fn nothing_in_the_page_asks_for_what_is_refused() {
        let (octets, _) = find("").expect("a page").content(Encoding::Plain);
        let text = String::from_utf8_lossy(&octets);
        for forbidden in ["style=", "<style", "onload=", "onclick=", "javascript:"] {
            assert!(!text.contains(forbidden), "{forbidden} in index.html");
        }
        for script in text.split("<script").skip(1) {
            let tag = script.split('>').next().unwrap_or_default();
            assert!(tag.contains("src="), "a script inside index.html: {tag}");
        }
    }
}
