//! The web page.

use serde::{Deserialize, Serialize};

/// Code that allows setting the first password from another host than the router itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageClaim {
    /// The code, to be typed into the page: `ABCD-2345`.
    pub code: String,
}
