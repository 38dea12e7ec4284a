//! What these tests share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::served::Server;

/// One for all tests that run at a time and leave it as it is: the last of them ends it.
pub fn server() -> Arc<Server> {
    static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::start(&[]));
        *running = Arc::downgrade(&server);
        server
    })
}
