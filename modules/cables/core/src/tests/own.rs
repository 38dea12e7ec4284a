//! Own hellos that come back, and the VXLAN of a mesh.

use super::{Scene, hello, port};
use crate::{FrameClass, Hello, Port, Proof, Role, Use};

fn comes_back(mut scene: Scene, from: &str) -> Scene {
    let own = Hello {
        proof: Proof::Own,
        port: from.into(),
        ..hello(false)
    };
    scene.cable.hello(&own, scene.now);
    scene
}

#[test]
fn one_own_hello_is_a_loop_and_names_the_other_port() {
    let mut scene = comes_back(Scene::new(Use::Lan).hear(FrameClass::Own, 0), "lan3");
    let said = scene.says();
    assert_eq!((said.role, said.confidence), (Role::Loop, 99));
    assert_eq!(said.why, "Own frames come back: the cable leads to lan3.");
    assert!(said.evidence.iter().any(|clue| clue.kind == "own-hello"));
    assert!(!scene.passes(3000).cable.wants_look(4000));
    let mut scene = comes_back(Scene::new(Use::Lan), "lan1");
    assert!(scene.says().why.ends_with("a loop behind this port."));
    // Also against a proof, and until nothing arrived for half a minute.
    scene = scene.greets(true).passes(29_900);
    assert_eq!(scene.role(), Role::Loop);
    scene = scene.passes(100);
    assert_eq!(scene.role(), Role::Mesh);
    // The hello was of this link: another own frame shows the loop again.
    scene = scene.hear(FrameClass::Own, 0);
    assert_eq!(scene.role(), Role::Loop);
    scene.cable.link(false, scene.now);
    scene.cable.link(true, scene.now);
    assert_ne!(scene.hear(FrameClass::Own, 0).role(), Role::Loop);
}

/// Two lines to one modem or switch are a usual arrangement of several uplinks.
#[test]
fn frames_of_another_uplink_are_no_loop() {
    let beside = |former| Port {
        other_uplinks: vec![("wan1".into(), super::mac(7))],
        ..port(former)
    };
    let from = |scene: Scene, sender| (0..5).fold(scene, |it, _| it.hear(FrameClass::Own, sender));
    for probes in [true, false] {
        let scene = Scene::of(Port {
            probes,
            ..beside(Use::Uplink)
        });
        let mut scene = comes_back(from(scene, 7), "wan1");
        let said = scene.says();
        assert_ne!(said.role, Role::Loop, "{said:#?}");
        assert!(!said.looped);
        // Frames of its own return as well: this is a loop.
        assert_eq!(from(scene, 0).role(), Role::Loop);
    }
    assert_eq!(
        comes_back(Scene::of(beside(Use::Uplink)), "lan3").role(),
        Role::Loop
    );
    // Any other port may become one of the LAN.
    for former in [Use::None, Use::Lan] {
        assert_eq!(from(Scene::of(beside(former)), 7).role(), Role::Loop);
        assert_eq!(
            comes_back(Scene::of(beside(former)), "wan1").role(),
            Role::Loop
        );
    }
}

/// The routes of an uplink may come after its link, and after the first frames.
#[test]
fn a_loop_ends_when_the_port_turns_out_to_be_another_uplink() {
    let scene = (0..5).fold(Scene::new(Use::None), |it, _| it.hear(FrameClass::Own, 7));
    let mut scene = scene.passes(100);
    assert_eq!(scene.role(), Role::Loop);
    scene.cable.facts(Port {
        other_uplinks: vec![("wan1".into(), super::mac(7))],
        probes: false,
        ..port(Use::Uplink)
    });
    assert_ne!(scene.passes(100).role(), Role::Loop);
}

#[test]
fn what_a_port_calls_itself_does_no_harm() {
    let said = comes_back(Scene::new(Use::Lan), "lan\u{1b}[31m\n3").says();
    assert!(!said.why.contains('\u{1b}') && !said.why.contains('\n'));
}

#[test]
fn the_vxlan_of_a_mesh_is_told_of_a_mesh_alone() {
    let mut scene = Scene::new(Use::None);
    scene.cable.vxlan(Some(77));
    assert_eq!(scene.says().vxlan, None);
    scene = scene.greets(true).passes(600);
    let said = scene.says();
    assert_eq!((said.role, said.vxlan), (Role::Mesh, Some(77)));
    assert!(
        said.why.ends_with("so the mesh needs VXLAN 77."),
        "{said:#?}"
    );
    scene.cable.vxlan(None);
    assert_eq!(scene.says().vxlan, None);
    scene.cable.vxlan(Some(77));
    scene.cable.link(false, scene.now);
    scene.cable.link(true, scene.now);
    scene = scene.greets(true).passes(600);
    assert_eq!(scene.says().vxlan, None, "that was another link's");
    let mut scene = Scene::of(Port {
        held: Some(Role::Mesh),
        ..port(Use::None)
    });
    scene.cable.vxlan(Some(77));
    assert_eq!(scene.says().vxlan, Some(77));
}

#[test]
fn hellos_are_said_where_nobody_chose_otherwise() {
    let greets = |held| Port {
        held,
        ..port(Use::None)
    };
    assert!(greets(None).greets() && greets(Some(Role::Mesh)).greets());
    let others = Role::ALL.into_iter().filter(|role| *role != Role::Mesh);
    assert!(others.into_iter().all(|role| !greets(Some(role)).greets()));
}

#[test]
fn more_stations_than_are_noted_are_told_as_that() {
    let mut scene = Scene::new(Use::Lan);
    scene.noted.stations = (1..17).map(super::mac).collect();
    let mut few = scene.hear(FrameClass::Arp, 1).passes(4000);
    assert!(few.says().why.starts_with("16 stations are connected"));
    few.noted.more_stations = true;
    let mut many = few.hear(FrameClass::Arp, 1).passes(100);
    assert_eq!(many.role(), Role::Switch);
    let why = many.says().why;
    assert!(
        why.starts_with("16 or more stations are connected"),
        "{why}"
    );
}
