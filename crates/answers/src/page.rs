//! The web page.

use serde::{Deserialize, Serialize};

/// By what the first password may be set from elsewhere than the router itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageClaim {
    /// A code, to be typed into the page: `ABCD-2345`.
    pub code: String,
}
