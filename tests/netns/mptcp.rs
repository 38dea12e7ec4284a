//! Multipath's requirements on the running kernel: endpoints and subflows, rules and routes,
//! uplinks, settings.

mod policy;
mod settings;
mod uplinks;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kernel::Prefix;
use kernel::io::{Mptcp, Policy, RequestError, Subflows};
use kernel::mptcp::{Endpoint, EndpointFlags, Limits};
use kernel::policy::{Hop, Route, Rule};
use kernel::subflows::{Sockets, Subflow, SubflowKind, TcpState};
use lab::namespace::wait_until;
use lab::{Error, Lab, Namespace, Offloads};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::runtime::Runtime;
use weir_tests::LIMIT;

const PORT: u16 = 9347;
const CLIENT: [&str; 2] = ["10.0.1.1", "10.0.2.1"];
const SERVER: &str = "10.0.1.2";
/// Routing table of the second path.
const TABLE: u32 = 1002;

fn told(error: impl std::fmt::Display) -> Error {
    Error::Unexpected(error.to_string())
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').expect("a slash");
    Prefix::truncated(ip(address), length.parse().expect("a length"))
}

fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::system("start a runtime"))
}

/// Opens a kernel socket in a namespace, where the socket stays.
fn opened<T: Send, E: std::fmt::Display + Send>(
    node: &Namespace,
    runtime: &Runtime,
    open: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, Error> {
    node.enter(|| {
        let _guard = runtime.enter();
        open()
    })?
    .map_err(told)
}

fn path_manager(node: &Namespace, runtime: &Runtime) -> Result<Mptcp, Error> {
    opened(node, runtime, Mptcp::open)?.ok_or_else(|| told("the kernel has no MPTCP"))
}

/// Builds a client and a server with two wires; the client's rate is 40 Mbit/s, so that one wire is
/// not enough.
fn two_wires() -> Result<Lab, Error> {
    let mut lab = Lab::new();
    lab.host("client")?;
    lab.host("server")?;
    for (wire, device) in ["eth0", "eth1"].into_iter().enumerate() {
        lab.wire(("client", device), ("server", device), Offloads::Default)?;
        let (number, role) = (wire + 1, ["client", "server"]);
        for (host, role) in role.into_iter().enumerate() {
            lab.address(role, device, &format!("10.0.{number}.{}/24", host + 1))?;
        }
        lab.node("client")?.run(&format!(
            "tc qdisc add dev {device} root tbf rate 40mbit burst 32kb latency 50ms"
        ))?;
    }
    Ok(lab)
}

fn socket() -> std::io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP))
}

/// A saturated connection from the client to the server, until dropped.
struct Bulk {
    stop: Arc<AtomicBool>,
    ends: Vec<thread::JoinHandle<Result<std::io::Result<()>, Error>>>,
}

impl Bulk {
    fn start(lab: &Lab) -> Result<Self, Error> {
        let listener = lab
            .node("server")?
            .enter(|| {
                let listener = socket()?;
                listener.set_reuse_address(true)?;
                listener.bind(&SocketAddr::new(ip("0.0.0.0"), PORT).into())?;
                listener.listen(8)?;
                Ok(listener)
            })?
            .map_err(Error::system::<std::io::Error>("listen"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let sink = lab.node("server")?.background(move || {
            let (mut connection, _) = listener.accept()?;
            let mut buffer = vec![0; 1 << 16];
            while connection.read(&mut buffer)? > 0 {}
            Ok(())
        })?;
        let stopped = stop.clone();
        let source = lab.node("client")?.background(move || {
            let mut connection = socket()?;
            connection.connect(&SocketAddr::new(ip(SERVER), PORT).into())?;
            connection.set_write_timeout(Some(Duration::from_secs(5)))?;
            while !stopped.load(Ordering::Relaxed) {
                connection.write_all(&[0; 1 << 14])?;
            }
            Ok(())
        })?;
        Ok(Self {
            stop,
            ends: vec![source, sink],
        })
    }

    /// Ends the transfer; all sent bytes must have arrived.
    fn finish(mut self) -> Result<(), Error> {
        self.stop.store(true, Ordering::Relaxed);
        for end in self.ends.drain(..) {
            let ended = end.join().map_err(|_| told("a panic"))?;
            ended?.map_err(Error::system("transfer"))?;
        }
        Ok(())
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn read(sockets: &mut Subflows, which: Sockets) -> Result<Vec<Subflow>, Error> {
    let mut found = Vec::new();
    sockets.read(which, &mut found).map_err(told)?;
    found.retain(|subflow| subflow.state == TcpState::Established);
    found.sort_by_key(|subflow| subflow.local_id);
    Ok(found)
}

/// Waits until the subflows satisfy `so`, and returns them.
fn subflows(
    what: &str,
    sockets: &mut Subflows,
    which: Sockets,
    so: impl Fn(&[Subflow]) -> bool,
) -> Result<Vec<Subflow>, Error> {
    subflows_within(LIMIT, what, sockets, which, so)
}

fn subflows_within(
    limit: Duration,
    what: &str,
    sockets: &mut Subflows,
    which: Sockets,
    so: impl Fn(&[Subflow]) -> bool,
) -> Result<Vec<Subflow>, Error> {
    let mut found = Vec::new();
    let result = wait_until(what, limit, || {
        found = read(sockets, which)?;
        Ok(so(&found))
    });
    result
        .map(|()| found.clone())
        .map_err(|error| told(format!("{error}: {found:#?}")))
}

fn both(all: &[Subflow]) -> bool {
    all.len() == 2 && all.iter().all(|subflow| subflow.tcp.bytes_acked > 500_000)
}

/// Adds an endpoint again until there is a second subflow. The peer may refuse or reset the subflow
/// while it clears the last one (6.12 does), and the kernel does not retry.
fn join_again(
    manager: &mut Mptcp,
    endpoint: &Endpoint,
    sockets: &mut Subflows,
) -> Result<Vec<Subflow>, Error> {
    for _ in 0..10 {
        assert!(manager.add(endpoint).map_err(told)?);
        let limit = Duration::from_secs(5);
        let all = subflows_within(limit, "both again", sockets, Sockets::To(PORT), both);
        if all.is_ok() {
            return all;
        }
        manager.withdraw(endpoint.address).map_err(told)?;
        thread::sleep(Duration::from_millis(500));
    }
    Err(told("the second subflow does not come back"))
}

/// Routes packets from the second address by the second wire.
fn second_path(lab: &Lab, runtime: &Runtime) -> Result<(), Error> {
    let mut policy = opened(lab.node("client")?, runtime, Policy::open)?;
    let hop = Hop {
        link: lab.index("client", "eth1")?,
        gateway: Some(ip("10.0.2.2")),
        onlink: false,
    };
    policy
        .set_route(&Route::new(prefix("0.0.0.0/0"), TABLE, hop))
        .map_err(told)?;
    let rule = Rule {
        priority: 1002,
        from: Some(prefix("10.0.2.1/32")),
        table: TABLE,
        ..Rule::default()
    };
    policy.set_rule(&rule).map_err(told).map(drop)
}

#[test]
fn a_second_endpoint_is_a_second_subflow() -> Result<(), Error> {
    let lab = two_wires()?;
    let runtime = runtime()?;
    second_path(&lab, &runtime)?;
    let client = lab.node("client")?;
    let mut manager = path_manager(client, &runtime)?;
    let limits = Limits {
        subflows: 4,
        accepted: 3,
    };
    manager.set_limits(limits).map_err(told)?;
    assert_eq!(manager.limits().map_err(told)?, limits);
    // The server counts a removed subflow until the removal reaches it.
    path_manager(lab.node("server")?, &runtime)?
        .set_limits(limits)
        .map_err(told)?;
    let mut sockets = opened(client, &runtime, Subflows::open)?;
    let mut far = opened(lab.node("server")?, &runtime, Subflows::open)?;
    let (near_side, far_side) = (Sockets::To(PORT), Sockets::At(PORT));

    let bulk = Bulk::start(&lab)?;
    let first = subflows(
        "the first subflow",
        &mut sockets,
        near_side,
        |all| matches!(all, [one] if one.tcp.bytes_acked > 100_000),
    )?;
    assert_eq!(first[0].kind, SubflowKind::First);
    assert_eq!(first[0].local.ip(), ip(CLIENT[0]));
    assert_eq!(first[0].remote, SocketAddr::new(ip(SERVER), PORT));
    assert!(first[0].token != 0 && first[0].tcp.rtt > 0 && first[0].tcp.cwnd > 0);
    assert!(!first[0].congestion.is_empty());
    // Subflows of another port, or of the other side, are not listed.
    for which in [Sockets::To(PORT + 1), Sockets::At(PORT)] {
        assert_eq!(read(&mut sockets, which)?, []);
    }

    let eth1 = lab.index("client", "eth1")?;
    let endpoint = Endpoint {
        id: 0,
        address: ip(CLIENT[1]),
        port: None,
        link: Some(eth1),
        flags: EndpointFlags {
            subflow: true,
            ..EndpointFlags::default()
        },
    };
    assert!(manager.add(&endpoint).map_err(told)?);
    assert!(!manager.add(&endpoint).map_err(told)?, "there is one");
    let [held] = manager.endpoints().map_err(told)?[..] else {
        panic!("one endpoint")
    };
    assert_eq!(Endpoint { id: 0, ..held }, endpoint);
    assert_ne!(held.id, 0);
    let all = subflows("bytes on both", &mut sockets, near_side, both)?;
    assert_eq!(all[1].kind, SubflowKind::Joined);
    assert_eq!(all[1].local.ip(), ip(CLIENT[1]));
    assert_eq!((all[1].link, all[1].local_id), (Some(eth1), held.id));
    assert_eq!((all[1].token, all[1].backup), (all[0].token, false));
    let there = read(&mut far, far_side)?;
    assert!(
        there
            .iter()
            .any(|one| one.kind == SubflowKind::Joined && one.tcp.bytes_received > 100_000)
    );

    for backup in [true, false] {
        assert!(manager.set_backup(ip(CLIENT[1]), backup).map_err(told)?);
        assert_eq!(manager.endpoints().map_err(told)?[0].flags.backup, backup);
        for (sockets, side) in [(&mut sockets, near_side), (&mut far, far_side)] {
            subflows("what is backup", sockets, side, |all| {
                all.len() == 2
                    && all
                        .iter()
                        .all(|one| one.backup == (backup && one.kind == SubflowKind::Joined))
            })?;
        }
    }
    assert!(!manager.set_backup(ip("192.0.2.1"), true).map_err(told)?);

    assert!(manager.remove(&held).map_err(told)?);
    assert!(!manager.remove(&held).map_err(told)?, "there is none");
    let left = subflows("one subflow", &mut sockets, near_side, |all| all.len() == 1)?;
    assert_eq!(left[0].kind, SubflowKind::First);

    let again = join_again(&mut manager, &endpoint, &mut sockets)?;
    assert_ne!(
        again[1].local_id, held.id,
        "the peer may yet hear that this is removed"
    );
    // The first subflow has no endpoint, and is still removed; the connection continues on the
    // other.
    assert!(!manager.withdraw(ip(CLIENT[0])).map_err(told)?);
    let left = subflows("the joined one", &mut sockets, near_side, |all| {
        all.len() == 1
    })?;
    assert_eq!(left[0].kind, SubflowKind::Joined);
    let before = left[0].tcp.bytes_acked;
    subflows(
        "it goes on",
        &mut sockets,
        near_side,
        |all| matches!(all, [one] if one.tcp.bytes_acked > before + 1_000_000),
    )?;
    bulk.finish()
}

#[test]
fn what_the_path_manager_refuses_is_told() -> Result<(), Error> {
    let mut lab = Lab::new();
    let host = lab.host("host")?;
    let runtime = runtime()?;
    let mut manager = path_manager(host, &runtime)?;
    let refused = |answer: Result<(), RequestError>| match answer {
        Err(RequestError::Refused { errno, .. }) => errno.to_string(),
        other => panic!("{other:?}"),
    };
    let limits = Limits {
        subflows: 1_000,
        accepted: 0,
    };
    let answer = manager.set_limits(limits);
    assert!(refused(answer).starts_with("EINVAL"));
    // A port is announced with an announced address.
    let mut endpoint = Endpoint {
        id: 0,
        address: ip("2001:db8::1"),
        port: Some(9347),
        link: None,
        flags: EndpointFlags {
            subflow: true,
            ..EndpointFlags::default()
        },
    };
    assert!(refused(manager.add(&endpoint).map(drop)).starts_with("EINVAL"));
    endpoint.port = None;
    endpoint.id = 7;
    endpoint.flags.fullmesh = true;
    assert!(manager.add(&endpoint).map_err(told)?);
    assert_eq!(manager.endpoints().map_err(told)?, [endpoint]);
    // The endpoint stays a full mesh.
    assert!(manager.set_backup(endpoint.address, true).map_err(told)?);
    endpoint.flags.backup = true;
    assert_eq!(manager.endpoints().map_err(told)?, [endpoint]);
    assert!(manager.withdraw(endpoint.address).map_err(told)?);
    assert_eq!(manager.endpoints().map_err(told)?, []);
    Ok(())
}
