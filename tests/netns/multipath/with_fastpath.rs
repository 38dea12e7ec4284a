//! Multipath and the fast path run on one router: each handles its own traffic through all changes,
//! and no byte changes.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use answers::FlowState;
use lab::namespace::wait_until;
use lab::uplinks::{CLIENT, Options, PARTNER, Path, SERVER};
use lab::{Error, UdpPair, Uplinks};
use weir_tests::partner::Partner;
use weir_tests::{LIMIT, Weir};

use crate::multipath::lock::tell;
use crate::multipath::{ms, octets};

/// Counts packets that must not reach a provider: those of the tunnel's network and of the LAN.
const WATCH: &str = "table inet watch {\n\tchain c {\n\t\ttype filter hook prerouting priority \
    raw; policy accept;\n\t\tiifname home ip saddr { 10.93.0.0/16, 192.168.77.0/24 } \
    counter\n\t}\n}\n";
/// Bytes that are sent at once and echoed.
const PIECE: usize = 50_000;

fn failed() -> impl FnOnce(std::io::Error) -> Error {
    Error::system("talk to the server")
}

/// A router with multipath and the fast path, and its partner.
struct Scene {
    weir: Weir,
    partner: Partner,
    uplinks: Uplinks,
}

impl Scene {
    /// Builds the router without a running partner.
    fn build(hook: &str, more: &str) -> Result<Self, Error> {
        let options = Options {
            paths: vec![Path::default(); 2],
            ipv6: false,
        };
        let uplinks = Uplinks::build(&options)?;
        if hook == "xdp" {
            plain(&uplinks)?;
        }
        for path in 0..2 {
            uplinks.provider(path).nft(WATCH)?;
        }
        let mut partner = Partner::start(uplinks.partner(), &[])?;
        let line = partner.pair(&PARTNER.to_string())?;
        partner.stop();
        let config = format!(
            "[offload]\nhook = \"{hook}\"\n[multipath]\npartner = \"{line}\"\ndirect_ports = \
                [\"tcp/5002\"]\n{more}"
        );
        let weir = Weir::start(uplinks.router(), &config, &["-v"])?;
        weir.wait_for_ports(3)?;
        Ok(Self {
            weir,
            partner,
            uplinks,
        })
    }

    fn wait_for(&self, what: &str, so: impl Fn(&answers::Paths) -> bool) -> Result<(), Error> {
        wait_until(what, LIMIT, || {
            let told = self.weir.client()?.paths();
            Ok(so(&told.map_err(|e| Error::Unexpected(e.to_string()))?))
        })
    }

    /// Returns state and weir's packet count of the client's flows to a port of the server.
    fn flows(&self, port: u16) -> Result<Vec<(FlowState, u64)>, Error> {
        let flows = self.weir.flows()?.into_iter();
        let flows = flows.filter(|flow| {
            (flow.original.source, flow.original.destination_port) == (CLIENT, port)
        });
        Ok(flows.map(|flow| (flow.state, flow.packets())).collect())
    }

    fn own(&self) -> IpAddr {
        self.uplinks.address(0)
    }
}

/// Makes the devices act like simple network cards, so that XDP receives the packets.
fn plain(uplinks: &Uplinks) -> Result<(), Error> {
    let mut ends = vec![
        (uplinks.client(), "eth0".to_owned()),
        (uplinks.router(), "lan0".to_owned()),
    ];
    for path in 0..uplinks.paths() {
        ends.push((uplinks.router(), uplinks.device(path)));
        ends.push((uplinks.provider(path), "home".to_owned()));
    }
    for (node, device) in ends {
        node.run(&format!(
            "ethtool -K {device} rx off tx off tso off gso off gro on"
        ))?;
        node.run(&format!("ip link set {device} gro_max_size 1"))?;
    }
    Ok(())
}

/// A connection to a server that echoes its input.
struct Stream {
    near: TcpStream,
    source: IpAddr,
    seed: u64,
}

impl Stream {
    fn open(scene: &Scene, port: u16) -> Result<Self, Error> {
        let to = SocketAddr::new(SERVER, port);
        let listener = scene.uplinks.server().enter(|| TcpListener::bind(to))?;
        let listener = listener.map_err(failed())?;
        let client = scene.uplinks.client();
        let near = client.enter(|| TcpStream::connect_timeout(&to, LIMIT))?;
        let near = near.map_err(failed())?;
        near.set_read_timeout(Some(LIMIT)).map_err(failed())?;
        let (far, source) = listener.accept().map_err(failed())?;
        thread::spawn(move || std::io::copy(&mut &far, &mut &far));
        Ok(Self {
            near,
            source: source.ip(),
            seed: u64::from(port) << 32,
        })
    }

    /// Sends bytes and compares each byte of the echo.
    fn exchange(&mut self) {
        self.seed += 1;
        let sent = octets(self.seed, PIECE);
        let mut writer = self.near.try_clone().expect("a descriptor");
        let mut back = vec![0; PIECE];
        thread::scope(|scope| {
            scope.spawn(|| writer.write_all(&sent).expect("written"));
            self.near.read_exact(&mut back).expect("it comes back");
        });
        assert!(back == sent, "what came back is what was sent");
    }

    /// Exchanges data until weir forwards the flow and its packet count has grown.
    fn until_offloaded(&mut self, scene: &Scene, port: u16) -> Result<(), Error> {
        let now = |scene: &Scene| -> Result<u64, Error> {
            let flows = scene.flows(port)?;
            Ok(flows.iter().map(|(_, packets)| packets).sum())
        };
        let before = now(scene)?;
        wait_until("weir forwards it", LIMIT, || {
            self.exchange();
            Ok(now(scene)? > before + 100)
        })
    }
}

/// A conversation by UDP; each datagram has other bytes.
struct Datagrams {
    talk: UdpPair,
    seed: u64,
}

impl Datagrams {
    fn open(scene: &Scene, port: u16) -> Result<Self, Error> {
        let to = SocketAddr::new(SERVER, port);
        let (client, server) = (scene.uplinks.client(), scene.uplinks.server());
        Ok(Self {
            talk: UdpPair::open(client, None, server, to)?,
            seed: u64::from(port) << 32,
        })
    }

    /// Returns the source that the server sees, if the server's answer reaches the client.
    fn ask(&mut self) -> Result<Option<IpAddr>, Error> {
        self.seed += 1;
        self.talk.ask(&octets(self.seed, 1000), ms(300))
    }
}

#[test]
fn each_has_what_is_its_own() -> Result<(), Error> {
    let mut scene = Scene::build("xdp", "")?;
    let own = scene.own();
    let mut first = Stream::open(&scene, 5000)?;
    assert_eq!(first.source, own);
    first.until_offloaded(&scene, 5000)?;

    scene.partner.restart(scene.uplinks.partner())?;
    scene.wait_for("the tunnel", |told| told.redirects && told.tunnel)?;
    first.until_offloaded(&scene, 5000)?;

    // The first uses the partner, the second goes directly, as configured.
    let mut carried = Stream::open(&scene, 5001)?;
    let mut direct = Stream::open(&scene, 5002)?;
    assert_eq!((carried.source, direct.source), (PARTNER, own));
    direct.until_offloaded(&scene, 5002)?;
    // The proof of the flow may just have ended: rules change when the partner comes.
    let hook = scene.weir.way_out("wan0", "xdp")?;
    wait_until(&format!("it is forwarded by {hook}"), LIMIT, || {
        direct.exchange();
        let flows = scene.weir.flows()?.into_iter();
        let hooks = flows
            .filter(|flow| flow.original.destination_port == 5002)
            .filter_map(|flow| flow.directions.original.hook);
        Ok(hooks.map(|used| used.to_string()).collect::<Vec<_>>() == [hook])
    })?;
    for _ in 0..40 {
        carried.exchange();
    }
    let none = |flows: &[(FlowState, u64)]| {
        let forwarded =
            |(state, packets): &(FlowState, u64)| *packets > 0 || *state == FlowState::Forwarded;
        !flows.iter().any(forwarded)
    };
    let flows = scene.flows(5001)?;
    assert!(none(&flows), "a connection that is carried: {flows:?}");
    let mut talk = Datagrams::open(&scene, 5003)?;
    wait_until("the tunnel", LIMIT, || Ok(talk.ask()? == Some(PARTNER)))?;
    let mut answered = 0;
    for _ in 0..200 {
        answered += u32::from(talk.ask()? == Some(PARTNER));
    }
    assert!(answered >= 198, "{answered} of 200");
    let flows = scene.flows(5003)?;
    assert!(none(&flows), "a conversation of the tunnel: {flows:?}");
    // The meter still counts the conversation at the LAN.
    wait_until("the count", LIMIT, || {
        let conversations = scene
            .weir
            .client()?
            .conversations(&answers::ConversationsQuery::default());
        let conversations = conversations
            .map_err(|e| Error::Unexpected(e.to_string()))?
            .conversations;
        let own = |talk: &&answers::Conversation| talk.port == "lan0" && talk.remote_port == 5003;
        Ok(conversations
            .iter()
            .find(own)
            .is_some_and(|talk| talk.sent.packets >= 200 && talk.received.packets >= 198))
    })?;

    // Without the partner, direct flows go on. Other flows become direct, and weir forwards them.
    scene.partner.stop();
    scene.wait_for("the fall back", |told| !told.redirects)?;
    first.until_offloaded(&scene, 5000)?;
    direct.until_offloaded(&scene, 5002)?;
    let mut later = Stream::open(&scene, 5004)?;
    assert_eq!(later.source, own);
    later.until_offloaded(&scene, 5004)?;
    wait_until("the conversation, directly", LIMIT, || {
        Ok(talk.ask()? == Some(own))
    })?;
    wait_until("weir forwards the conversation", LIMIT, || {
        assert_eq!(talk.ask()?, Some(own));
        Ok(scene.flows(5003)?.iter().any(|(_, packets)| *packets > 20))
    })?;
    for path in 0..2 {
        let rules = scene
            .uplinks
            .provider(path)
            .run("nft list table inet watch")?;
        assert!(rules.contains("counter packets 0 "), "{path}: {rules}");
    }
    Ok(())
}

/// The lock checks new flows only, so an established flow is as fast as without the lock.
#[test]
fn what_goes_directly_is_forwarded_under_a_lock() -> Result<(), Error> {
    let mut scene = Scene::build("tc", "fallback = \"stop\"\n")?;
    scene.partner.restart(scene.uplinks.partner())?;
    scene.wait_for("the tunnel", |told| told.redirects && told.tunnel)?;
    tell(scene.uplinks.router(), &scene.weir, &["lock", "lan0"])?;
    scene.wait_for("the lock", |told| told.locked)?;
    let mut direct = Stream::open(&scene, 5002)?;
    assert_eq!(direct.source, scene.own());
    direct.until_offloaded(&scene, 5002)
}
