//! Helpers of these tests.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::served::Server;

/// Returns a server shared by all concurrent tests that do not change it; the last one ends it.
pub fn server() -> Arc<Server> {
    static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::start(&[]));
        *running = Arc::downgrade(&server);
        server
    })
}

/// The address of a directory with a community `new`, for as long as the test runs.
pub fn directory() -> String {
    let directory = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = directory.local_addr().expect("an address");
    thread::spawn(move || {
        for mut stream in directory.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let text = "{\"new\":{\"name\":\"New\",\"state\":{\"nodes\":7}}}";
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
            let _ = stream.write_all(format!("{head}{text}").as_bytes());
        }
    });
    format!("http://{address}/directory.json")
}

/// Waits until it does.
pub fn shows_what_is_followed(server: &Server) {
    for _ in 0..200 {
        if server.get("/communities").text().contains("key=new") {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("nothing of it is shown");
}
