//! Stores the validators of the server's last answer in a file: a restarted follower avoids a
//! repeated transfer.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use ureq::http::HeaderValue;

use crate::error::Error;
use crate::store::{Digest, plain_file};

/// Bytes that such a file may have.
const MOST: u64 = 16 << 10;

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredResponse {
    /// Address of the directory.
    pub address: String,
    pub etag: Option<String>,
    pub modified: Option<String>,
    /// Digest of the content: a store without it needs the answer again.
    pub digest: Digest,
}

impl StoredResponse {
    /// Reads the file. `None`: unusable or missing.
    pub fn read(file: &Path) -> Option<Self> {
        plain_file(file).ok()?;
        if fs::metadata(file).ok()?.len() > MOST {
            return None;
        }
        let found: Self = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        let fits = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or_default();
            HeaderValue::from_str(text).is_ok()
        };
        (fits(&found.etag) && fits(&found.modified)).then_some(found)
    }

    /// Replaces the file.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec(self)
            .map_err(|error| Error::Other(format!("writing JSON: {error}")))?;
        let new = file.with_extension("new");
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, file))
            .map_err(Error::file(file))
    }
}
