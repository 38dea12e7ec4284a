//! Two nodes of a mesh and a cable: the nodes recognise each other by the signed hello alone.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use answers::Cable;
use cables_core::hello::{MeshKey, NodeKey, Port};
use lab::namespace::wait_until;
use lab::{Error, Lab, Offloads, Tap, unexpected};
use testing::Directory;
use weir_tests::Weir;

const PORT: &str = "eth1";
/// Longest time of a decision.
const DECIDED: Duration = Duration::from_secs(20);

/// Two nodes, the cable pulled out, and a host that can listen and send on the cable.
struct Nodes {
    // The order matters: weir ends before its devices go.
    weirs: Vec<Weir>,
    lab: Lab,
    _folder: Directory,
}

impl Nodes {
    /// Builds nodes with these secrets, and a hub between them that forwards everything.
    fn new(secrets: [&str; 2]) -> Result<Self, Error> {
        let mut lab = Lab::new();
        let hub = lab.host("hub")?;
        hub.ip("link add sw type bridge mcast_snooping 0 group_fwd_mask 0x4000\nlink set sw up")?;
        let folder = Directory::new();
        let made = |path: &PathBuf| std::fs::create_dir_all(path);
        let mut weirs = Vec::new();
        for (node, secret) in ["north", "south"].into_iter().zip(secrets) {
            lab.router(node)?;
            lab.wire((node, PORT), ("hub", node), Offloads::Plain)?;
            let hub = lab.node("hub")?;
            hub.ip(&format!("link set {node} master sw\nlink set {node} down"))?;
            let own = folder.join(node);
            made(&own).map_err(Error::system("make a folder"))?;
            let (choices, mesh) = (own.join("cables"), own.join("mesh"));
            std::fs::write(&mesh, secret).map_err(Error::system("write a secret"))?;
            let config = format!(
                "[offload]\nenabled = false\n[web]\nenabled = false\n[cables]\nmode = \"suggest\"\n\
                ports = [\"{PORT}\"]\nchoices = {choices:?}\nmesh = {mesh:?}\n"
            );
            weirs.push(Weir::start(lab.node(node)?, &config, &[])?);
        }
        let nodes = Self {
            weirs,
            lab,
            _folder: folder,
        };
        for weir in &nodes.weirs {
            wait(weir, "the port to be there", |cable| !cable.link)?;
        }
        Ok(nodes)
    }

    /// Plugs both nodes in.
    fn plug(&self) -> Result<(), Error> {
        let hub = self.lab.node("hub")?;
        hub.ip("link set north up\nlink set south up").map(drop)
    }

    fn unplug(&self, node: &str) -> Result<(), Error> {
        let hub = self.lab.node("hub")?;
        hub.ip(&format!("link set {node} down")).map(drop)
    }
}

fn wait(weir: &Weir, what: &str, so: impl Fn(&Cable) -> bool) -> Result<Cable, Error> {
    let mut found = None;
    let waited = wait_until(what, DECIDED, || {
        found = weir.client()?.cables().map_err(unexpected)?.cables.pop();
        Ok(found.as_ref().is_some_and(&so))
    });
    let log = || format!("{found:#?}\n{}", weir.log());
    waited.map_err(|error| Error::Unexpected(format!("{error}: {}", log())))?;
    found.ok_or_else(|| Error::Unexpected("no port".into()))
}

fn decided(weir: &Weir) -> Result<Cable, Error> {
    wait(weir, "a decision", |cable| {
        cable.link && cable.decided.is_some()
    })
}

#[test]
fn a_hello_that_was_recorded_proves_nothing_after_the_cable_came_anew() -> Result<(), Error> {
    let nodes = Nodes::new(["the valley's long secret"; 2])?;
    let mut ear = Tap::open(nodes.lab.node("hub")?, "south")?;
    nodes.plug()?;
    assert_eq!(decided(&nodes.weirs[0])?.role, "mesh");
    // Replays all frames of the other node after its end, to a port with a new link.
    let hello = |frame: &Vec<u8>| frame.get(12..18) == Some(b"\x88\xb5weir");
    let recorded: Vec<Vec<u8>> = ear.drain(Duration::from_millis(300))?;
    let recorded: Vec<Vec<u8>> = recorded.into_iter().filter(hello).collect();
    let sent = lab::topology::mac("south", PORT);
    let recorded: Vec<Vec<u8>> = recorded
        .into_iter()
        .filter(|it| it[6..12] == sent)
        .collect();
    assert!(!recorded.is_empty(), "nothing was recorded");
    nodes.unplug("south")?;
    nodes.unplug("north")?;
    wait(&nodes.weirs[0], "the link to be gone", |cable| !cable.link)?;
    let mouth = Tap::open(nodes.lab.node("hub")?, "north")?;
    let hub = nodes.lab.node("hub")?;
    hub.ip("link set north up")?;
    for _ in 0..40 {
        for frame in &recorded {
            mouth.send(frame)?;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let cable = decided(&nodes.weirs[0])?;
    assert_ne!(cable.role, "mesh", "{cable:#?}");
    assert!(
        cable.evidence.iter().any(|it| it.kind == "hello"),
        "{cable:#?}"
    );
    Ok(())
}

#[test]
fn a_hello_with_a_tag_proves_nothing() -> Result<(), Error> {
    const SECRET: &str = "the valley's long secret";
    let nodes = Nodes::new([SECRET; 2])?;
    let mesh = MeshKey::from_secret(SECRET.as_bytes()).map_err(unexpected)?;
    let node = NodeKey::from_seed([7; 32]).map_err(unexpected)?;
    let own = [2, 0, 0, 0, 0, 7];
    let mut wire = Tap::open(nodes.lab.node("hub")?, "north")?;
    nodes.lab.node("hub")?.ip("link set north up")?;
    let begin = Instant::now();
    // Sends hellos of a node with a tag on all frames, and later without tags.
    for (tag, limit) in [(&[0x81, 0, 0, 7][..], 8), (&[], 16)] {
        let mut port = Port::new(Some(&mesh), &node, own, 0);
        port.link([limit as u8; 16], 0);
        while begin.elapsed() < Duration::from_secs(limit) {
            let now = begin.elapsed().as_millis() as u64;
            if let Some(frame) = wire.receive(Duration::from_millis(50))? {
                port.heard(&frame, &[], now);
            }
            if let Some(mut frame) = port.due(now) {
                frame.splice(12..12, tag.iter().copied());
                wire.send(&frame)?;
            }
        }
        let cable = decided(&nodes.weirs[0])?;
        assert_eq!(cable.role == "mesh", tag.is_empty(), "{cable:#?}");
    }
    Ok(())
}

#[test]
fn a_secret_that_is_none_is_told_at_the_start() -> Result<(), Error> {
    let said = Nodes::new(["short", "short"])
        .err()
        .map(|error| error.to_string());
    let said = said.unwrap_or_default();
    assert!(
        said.contains("the mesh's secret in") && said.contains("16 bytes"),
        "{said}"
    );
    Ok(())
}
