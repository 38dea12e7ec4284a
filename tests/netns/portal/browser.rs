//! A guest's browser: redirected from any page to the portal's, and back after a log-in by code.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::thread;

use super::*;

#[test]
fn a_browser_logs_in_at_the_portal() -> Result<(), Error> {
    let place = accounts::open("\"10.0.0.2\"", accounts::SECRET, "")?;
    let _radius = accounts::Radius::start(&place)?;
    let listener = place
        .lab
        .node("server")?
        .enter(|| TcpListener::bind((SERVER, 80)))?;
    let listener = listener.map_err(unexpected)?;
    // The thread ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream);
        }
    });
    let voucher = place.sell("--name guest --duration 1h")?;
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web");
    let mut browser = place.client()?.command("node");
    let browser = browser
        .arg(web.join("test/browser/guest.mjs"))
        .current_dir(&web)
        .env("WEIR_GUEST_PAGE", format!("http://{SERVER}/"))
        .env("WEIR_GUEST_CODE", &voucher.code)
        .env("WEIR_GUEST_ACCOUNT", "long:long")
        .stdin(Stdio::null());
    let outcome = browser.output().map_err(unexpected)?;
    let said = String::from_utf8_lossy(&outcome.stdout);
    println!("{said}");
    assert!(outcome.status.success(), "{said}\n{}", place.weir.log());
    assert!(said.contains("# skipped 0") && !said.contains("# pass 0"));
    Ok(())
}

/// Sends the same short page to every request.
fn answer(mut stream: std::net::TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(LIMIT))?;
    let _ = stream.read(&mut [0; 4096])?;
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 41\r\nConnection: close\r\n\r\n\
          <!doctype html><title>-</title>outside\r\n\r\n",
    )
}
