//! Files for browsers, as answers.

use std::sync::{Arc, LazyLock};

use hyper::StatusCode;

use super::reply::{CachePolicy, Frame, Reply};
use crate::page::asset::{ASSETS, Asset};

static REPLIES: LazyLock<Vec<Arc<Reply>>> = LazyLock::new(|| {
    let reply = |asset: &Asset| {
        Reply::new(
            asset.media,
            asset.octets.to_vec(),
            CachePolicy::Hour,
            Frame::Public,
        )
    };
    ASSETS.iter().map(|asset| Arc::new(reply(asset))).collect()
});

/// Returns a file by name; cacheable for ever if requested by its version.
pub(crate) fn find(name: &str, query: &str) -> Arc<Reply> {
    let at = ASSETS.iter().position(|asset| asset.name == name);
    let Some(reply) = at.and_then(|at| REPLIES.get(at)) else {
        return Arc::new(Reply::plain(StatusCode::NOT_FOUND, "no such file\n"));
    };
    match query.strip_prefix("v=") {
        Some(version) if version == reply.tag => Arc::new(Reply {
            kept: CachePolicy::Ever,
            ..Reply::clone(reply)
        }),
        _ => Arc::clone(reply),
    }
}
