//! What the guests' page says.

use serde::{Deserialize, Serialize};

/// `GET /v1/portal/page`, and what is answered to whatever changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalPage {
    /// What the page is headed with.
    pub title: String,
    /// What it says for the community, in Markdown.
    pub text: String,
    /// Whether both were edited; else they are the configuration's.
    pub edited: bool,
    /// The community's picture, if there is one.
    pub picture: Option<PortalPicture>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalPicture {
    /// Its media type: `GET /v1/portal/picture` has the picture itself.
    pub media: String,
    /// Pixels from side to side.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// Bytes.
    pub bytes: usize,
    /// Another one each time that the page changes: `?version=` is for browsers, which show what they
    /// had before at the same address.
    pub version: u64,
}

/// What `POST /v1/portal/page/text` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewText {
    /// What the page is headed with; none: as it is.
    #[serde(default)]
    pub title: Option<String>,
    /// What it says, in Markdown.
    pub text: String,
}

impl api::Body for NewText {
    const EXPECTED: &'static str = "a JSON object with `text` in Markdown, and perhaps `title`";
}

/// What `POST /v1/portal/page/picture` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewPicture {
    /// PNG, JPEG or WebP, in base64.
    pub picture: String,
}

impl api::Body for NewPicture {
    const EXPECTED: &'static str = "a JSON object with `picture`: PNG, JPEG or WebP in base64";
}

/// What `POST /v1/portal/page/preview` takes: what the page would say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preview {
    /// What it is headed with.
    pub title: String,
    /// What it says, in Markdown.
    pub text: String,
    /// Languages of whoever sees it, the best first: "de, en".
    #[serde(default)]
    pub languages: String,
}

impl api::Body for Preview {
    const EXPECTED: &'static str = "a JSON object with `title`, `text` in Markdown and `languages`";
}

/// What is answered to that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewNumber {
    /// The page is at `GET /v1/portal/page/preview/{number}` for a while.
    pub number: u64,
}
