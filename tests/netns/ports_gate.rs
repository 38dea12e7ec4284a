//! A port closes while weir forwards its connections past the kernel: XDP precedes the gate, and
//! old proofs must not let a packet pass.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lab::gateway::SERVER;
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, Options, Tap};
use weir_tests::{LIMIT, Weir, hooked};

const ECHO: u16 = 7;
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer than the detection of the loop, and shorter than the closure.
const SHUT: Duration = Duration::from_secs(2);

/// Own frames return at `wan0`: the port has a loop, and closes. The connection that XDP or TC
/// forwarded through the port pauses, both ways.
fn a_loop_ends_what_is_forwarded(hook: &'static str) -> Result<(), Error> {
    // Makes XDP send by itself, without TC, which the gate precedes.
    let lab = Lab::gateway(&Options {
        plain_offloads: true,
        ..Options::default()
    })?;
    let router = lab.node("router")?;
    let config = format!(
        "{}[cables]\nmode = \"auto\"\nports = [\"wan0\"]\nchoices = \"/run/{}-cables\"\n\
         [setup]\nsocket = \"/run/{}-nobody\"\n",
        hooked(hook),
        router.name(),
        router.name()
    );
    let weir = Weir::start(router, &config, &[])?;
    weir.wait_for_ports(2)?;
    let to = SocketAddr::new(SERVER, ECHO);
    let _echo = Echo::serve(lab.node("server")?, to)?;
    let datagrams = Datagrams::open(lab.node("client")?, to)?;
    wait_until("the flow is forwarded", LIMIT, || {
        let answered = datagrams.ask(b"again", PATIENCE)?;
        let flow = weir.flow_at(ECHO)?;
        Ok(answered && flow.is_some_and(|flow| flow.packets() > 20))
    })?;
    for port in ["lan0", "wan0"] {
        assert_eq!(weir.way_out(port, hook)?, hook, "{port}");
    }
    let mut outside = Tap::open(lab.node("server")?, "eth0")?;
    let own = lab::topology::mac("router", "wan0");
    let mut back = [[0xff; 6], own].concat();
    back.extend([0x99, 0x99]);
    back.resize(60, 0);
    let mut last = Vec::new();
    wait_until("the port is shut", LIMIT, || {
        // Before weir probes the port, it ignores these frames.
        outside.send(&back)?;
        let told = weir.client()?.cables();
        let told = told.map_err(|error| Error::Unexpected(error.to_string()))?;
        last = told.cables;
        Ok(last.iter().any(|it| it.role == "loop" && it.shut))
    })
    .map_err(|error| Error::Unexpected(format!("{error}: {last:#?}\n{}", weir.log())))?;
    let _ = outside.drain(Duration::from_millis(50))?;
    let begin = Instant::now();
    while begin.elapsed() < SHUT {
        assert!(!datagrams.ask(b"again", Duration::from_millis(100))?);
    }
    let leaked = outside.drain(Duration::from_millis(50))?;
    let ours = |frame: &&Vec<u8>| frame[6..12] == own && frame[12..14] == [8, 0];
    let leaked: Vec<_> = leaked.iter().filter(ours).collect();
    assert!(leaked.is_empty(), "{hook}: {leaked:02x?}");
    Ok(())
}

#[test]
fn a_loop_ends_what_xdp_forwards() -> Result<(), Error> {
    a_loop_ends_what_is_forwarded("xdp")
}

#[test]
fn a_loop_ends_what_tc_forwards() -> Result<(), Error> {
    a_loop_ends_what_is_forwarded("tc")
}
