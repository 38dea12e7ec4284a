//! Content of the guests' page.

use serde::{Deserialize, Serialize};

/// Answer to `GET /v1/portal/page`, and to each request that changes the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalPage {
    /// Heading of the page.
    pub title: String,
    /// Text of the community, in Markdown.
    pub text: String,
    /// True if both were edited; else they are the configuration's.
    pub edited: bool,
    /// Picture of the community, if any.
    pub picture: Option<PortalPicture>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalPicture {
    /// Media type: `GET /v1/portal/page/picture` returns the picture itself.
    pub media: String,
    /// Pixels from side to side.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// Size in bytes.
    pub bytes: usize,
    /// Version that changes with the page: `?version=` makes browsers fetch the new picture instead
    /// of a cached one.
    pub version: u64,
}

/// Body of `POST /v1/portal/page/text`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewText {
    /// Heading of the page; none: unchanged.
    #[serde(default)]
    pub title: Option<String>,
    /// Text, in Markdown.
    pub text: String,
}

impl api::Body for NewText {
    const EXPECTED: &'static str = "a JSON object with `text` in Markdown, and optionally `title`";
}

/// Body of `POST /v1/portal/page/picture`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewPicture {
    /// PNG, JPEG or WebP, in base64.
    pub picture: String,
}

impl api::Body for NewPicture {
    const EXPECTED: &'static str = "a JSON object with `picture`: PNG, JPEG or WebP in base64";
}

/// Body of `POST /v1/portal/page/preview`: content to preview.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preview {
    /// Heading of the page.
    pub title: String,
    /// Text, in Markdown.
    pub text: String,
    /// Languages of the reader, the best first: "de, en".
    #[serde(default)]
    pub languages: String,
}

impl api::Body for Preview {
    const EXPECTED: &'static str = "a JSON object with `title`, `text` in Markdown and `languages`";
}

/// Answer to `POST /v1/portal/page/preview`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewNumber {
    /// Number of the preview at `GET /v1/portal/page/preview/{number}`, valid for a while.
    pub number: u64,
}
