//! Duplicated packets, whose copy may arrive first: the copy must not prove the path of the
//! original.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use lab::gateway::SERVER;
use lab::transfer::{Datagrams, Echo};
use lab::view::View;
use lab::{Error, Namespace, Options, Tap};
use weir_tests::Weir;
use weir_tests::scene::{self, Forwarder, WAYS};

/// Port of echo servers.
const ECHO: u16 = 7;
/// Number of questions, each with an answer.
const ROUNDS: usize = 300;
/// Pause between questions: all questions take longer than weir needs to learn and forward the
/// connection.
const PAUSE: Duration = Duration::from_millis(10);
/// Time limit of an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asserts that all answers arrive, and that the monitor behind the second wire gets its copies.
/// `off` is a port without weir. `more` precedes the rest of the configuration.
fn all_arrive(
    off: Option<&str>,
    more: &str,
    set_up: impl Fn(&Namespace) -> Result<(), Error> + Sync,
) {
    scene::at_once(&WAYS, |by| {
        let options = Options {
            second_path: true,
            ..Options::default()
        };
        let lab = scene::lab(by, &options)?;
        set_up(lab.node("router")?)?;
        let mut ports = options.arrangement.ports();
        ports.retain(|port| Some(*port) != off);
        let weir = match by {
            Forwarder::Kernel => None,
            Forwarder::Weir(hook) => {
                let mut config = more.to_owned() + &weir_tests::hooked_at(hook, &ports);
                config += "[ports.wan1]\nhook = \"tc\"\n";
                if let Some(off) = off {
                    config += &format!("[ports.{off}]\nhook = \"off\"\n");
                }
                let weir = Weir::start(lab.node("router")?, &config, &[])?;
                weir.wait_for_ports(ports.len() + 1)?;
                Some(weir)
            }
        };
        let server = lab.node("server")?;
        let to = SocketAddr::new(SERVER, ECHO);
        let _echo = Echo::serve(server, to)?;
        let mut monitor = Tap::open(server, "eth1")?;
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        for round in 0..ROUNDS {
            let answered = datagrams.ask(b"again and again", PATIENCE)?;
            let flow = || weir.as_ref().map(|weir| weir.flow_at(ECHO));
            assert!(answered, "{by:?}: round {round}: {:#?}", flow());
            thread::sleep(PAUSE);
        }
        let mut copies = monitor.drain(Duration::from_millis(200))?;
        copies.retain(|frame| {
            let ports = View::of(frame).and_then(|view| view.ports);
            ports.is_some_and(|(from, to)| from == ECHO || to == ECHO)
        });
        assert!(copies.len() >= ROUNDS, "{by:?}: {} copies", copies.len());
        Ok(())
    });
}

/// A rule copies the answers to the second wire, and the configuration lets weir take over
/// connections with such rules.
#[test]
fn what_a_rule_duplicates_arrives_though_it_is_ignored() {
    let ignored = "[offload]\neach_packet = \"ignore\"\n";
    all_arrive(None, ignored, |router| {
        let rule = format!("udp sport {ECHO} dup to 10.0.1.2 device wan1");
        let chain = format!("type filter hook forward priority 0; policy accept;\n{rule}\n");
        let table = format!("table ip copies {{\nchain forward {{ {chain} }}\n}}\n");
        router.nft(&table).map(drop)
    });
}

/// The packets leave at a port without weir: weir sees only the copies.
#[test]
fn what_a_chain_duplicates_where_weir_is_off_arrives() {
    all_arrive(Some("lan0"), "", |router| {
        let rule = format!("udp sport {ECHO} dup to wan1");
        let hook = "type filter hook egress device lan0 priority 0; policy accept;";
        let table = format!("table netdev copies {{\nchain out {{ {hook}\n{rule}\n }}\n}}\n");
        router.nft(&table).map(drop)
    });
}

#[test]
fn what_tc_mirrors_at_the_way_out_arrives() {
    all_arrive(None, "", |router| {
        router.run("tc qdisc add dev lan0 clsact")?;
        let copy = "u32 match u32 0 0 action mirred egress mirror dev wan1";
        let added = router.run(&format!("tc filter add dev lan0 egress protocol ip {copy}"));
        added.map(drop)
    });
}
