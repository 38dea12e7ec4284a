//! A network namespace for one test, and what tests wait with.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use weir_kernel::Event;
use weir_kernel::io::{Events, Requests};

/// A test fails rather than hangs after this. Nothing is measured by it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a test in a network namespace of its own, which ends with the thread. Needs root: without
/// root, the test fails.
pub fn in_namespace<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let body = move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace (these tests need root)");
        run("ip link set lo up");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            tokio::time::timeout(PATIENCE, test())
                .await
                .expect("the test hangs")
        });
    };
    if let Err(panic) = std::thread::spawn(body).join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs a command line in the namespace of this thread; it must succeed. Returns what it prints.
pub fn run(line: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", line])
        .output()
        .expect("a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Reads events until one satisfies `last`; returns all.
pub async fn until(events: &mut Events, last: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut all = Vec::new();
    while !all.iter().any(&last) {
        events.recv(&mut all).await.expect("events");
    }
    all
}

/// Reads a dump to its end.
pub async fn dumped(requests: &mut Requests) -> Vec<Event> {
    let mut all = Vec::new();
    while !all
        .iter()
        .any(|event| matches!(event, Event::DumpEnd(_) | Event::Overrun(_)))
    {
        requests.recv(&mut all).await.expect("a dump");
    }
    all
}

/// Lets the kernel track what this host sends, and makes `count` UDP connections, each of one
/// packet.
pub fn udp_connections(count: usize) {
    track();
    let sink = UdpSocket::bind((Ipv4Addr::LOCALHOST, 9)).expect("a sink");
    for _ in 0..count {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        // Each its own source port, even if the kernel hands out the last one again.
        let to = sink.local_addr().expect("an address");
        socket.send_to(b"x", to).expect("sent");
        SPENT.with_borrow_mut(|spent| spent.push(socket));
    }
    SPENT.with_borrow_mut(Vec::clear);
}

thread_local! {
    static SPENT: std::cell::RefCell<Vec<UdpSocket>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Connections are tracked only where a rule asks for their state.
pub fn track() {
    run(
        "nft 'table inet track { chain output { type filter hook output priority 0; ct state new \
            accept; }; }'",
    );
}
