//! Times of first and later decisions.

use detect::Internet;

use super::{Scene, frame, hello, look, port};
use crate::{Cable, FrameClass, Hello, Port, Proof, Role, Use};

#[test]
fn a_sure_sign_settles_for_half_a_second() {
    let mut scene = Scene::new(Use::Uplink)
        .passes(200)
        .hear(FrameClass::Pado, 1);
    assert_eq!(scene.says().decided, None);
    scene = scene.passes(400);
    assert_eq!((scene.role(), scene.says().decided), (Role::Unknown, None));
    scene = scene.passes(100);
    assert_eq!(
        (scene.role(), scene.says().decided),
        (Role::Uplink, Some(700))
    );
    // Asked late, the time is the same.
    let mut late = Scene::new(Use::Uplink)
        .passes(200)
        .hear(FrameClass::Pado, 1);
    late.now += 60_000;
    assert_eq!(late.says().decided, Some(700));
}

#[test]
fn contrary_signs_that_come_together_are_weighed_together() {
    let scene = Scene::new(Use::None).hear(FrameClass::Pado, 1).passes(400);
    let mut scene = scene.hear(FrameClass::Batman, 2).passes(200);
    assert_eq!(scene.role(), Role::Border);
}

#[test]
fn a_weak_sign_takes_three_seconds_and_silence_ten() {
    let mut scene = Scene::new(Use::Lan).hear(FrameClass::Arp, 1).passes(2900);
    assert_eq!(scene.says().decided, None);
    scene = scene.passes(100);
    assert_eq!(
        (scene.role(), scene.says().decided),
        (Role::Client, Some(3000))
    );
    let mut scene = Scene::new(Use::Lan).passes(9900);
    assert_eq!(scene.says().decided, None);
    scene = scene.passes(100);
    assert_eq!(
        (scene.role(), scene.says().decided),
        (Role::Unknown, Some(10_000))
    );
    let mut scene = Scene::new(Use::Lan).looks(Internet::None, false);
    assert_eq!(
        (scene.role(), scene.says().decided),
        (Role::Unknown, Some(4000))
    );
}

#[test]
fn a_look_is_asked_for_once() {
    let mut scene = Scene::new(Use::Lan).passes(1900);
    assert!(!scene.cable.wants_look(scene.now));
    scene = scene.passes(100);
    assert!(scene.cable.wants_look(scene.now));
    for _ in 0..50 {
        scene = scene.passes(1000);
        assert!(!scene.cable.wants_look(scene.now));
    }
    scene.cable.link(false, scene.now);
    assert!(!scene.cable.wants_look(scene.now + 5000));
    scene.cable.link(true, scene.now + 5000);
    assert!(scene.cable.wants_look(scene.now + 7000));
}

#[test]
fn no_look_where_it_is_known() {
    let at = || Scene::new(Use::Lan);
    let held = Port {
        held: Some(Role::Switch),
        ..port(Use::Lan)
    };
    let known = [
        Scene::of(held),
        at().loops(),
        at().greets(true),
        Scene::new(Use::None).hear(FrameClass::Pado, 1),
        at().hear(FrameClass::DhcpClient, 1),
        at().hear(FrameClass::Bpdu, 1),
    ];
    for scene in known {
        let mut scene = scene.passes(8000);
        assert!(!scene.cable.wants_look(scene.now), "{}", scene.says().why);
    }
    // Behind a switch at a new port anything may be.
    let mut scene = Scene::new(Use::None).hear(FrameClass::Bpdu, 1).passes(2000);
    assert!(scene.cable.wants_look(scene.now));
}

#[test]
fn a_decision_stays_until_another_held() {
    let mut scene = Scene::new(Use::None).hear(FrameClass::Arp, 1).passes(4000);
    assert_eq!(scene.role(), Role::Client);
    scene = scene.hear(FrameClass::DhcpServer, 2).passes(1900);
    assert_eq!(scene.role(), Role::Client);
    scene = scene.passes(100);
    assert_eq!(
        (scene.role(), scene.says().decided),
        (Role::Uplink, Some(6000))
    );
    // A client that asks now and then does not disprove an uplink.
    let mut scene = Scene::new(Use::Uplink)
        .hear(FrameClass::DhcpServer, 2)
        .passes(4000);
    scene = scene.hear(FrameClass::DhcpClient, 2).passes(10_000);
    assert_eq!(scene.role(), Role::Uplink);
    // A little more is not enough: 75 for a server, 70 for a station that says that it is one.
    let mut scene = Scene::new(Use::None).announced("x", 128).passes(2000);
    assert!(scene.cable.wants_look(scene.now));
    scene = scene.passes(7000);
    let former = scene.says();
    scene = scene.hear(FrameClass::DhcpServer, 2).passes(10_000);
    assert_eq!((scene.role(), former.confidence), (Role::Client, 70));
    scene = scene.hear(FrameClass::RouterAdvertisement, 2).passes(2100);
    assert_eq!((scene.role(), scene.says().confidence), (Role::Uplink, 85));
}

#[test]
fn a_loop_is_at_once_and_lasts() {
    let mut scene = Scene::new(Use::Lan)
        .hear(FrameClass::DhcpClient, 1)
        .passes(4000);
    scene = scene.loops();
    assert_eq!(scene.role(), Role::Loop);
    let few = scene.says().confidence;
    scene = scene
        .passes(10_000)
        .hear(FrameClass::Own, 0)
        .hear(FrameClass::Own, 0);
    assert!(scene.says().confidence > few);
    scene = scene.passes(29_900);
    assert_eq!(scene.role(), Role::Loop);
    scene = scene.passes(100);
    assert_eq!(scene.role(), Role::Client);
    assert_eq!(Scene::new(Use::Lan).loops().role(), Role::Loop);
}

/// A fixed address has no server: the port receives only stations.
#[test]
fn an_uplink_with_a_fixed_address_that_works_is_no_client() {
    for (works, role) in [(true, Role::Uplink), (false, Role::Client)] {
        let mut scene = Scene::of(Port {
            works,
            ..port(Use::Uplink)
        });
        scene = scene
            .hear(FrameClass::Arp, 1)
            .hear(FrameClass::Ip, 1)
            .passes(20_000);
        let said = scene.says();
        assert_eq!(said.role, role, "{said:#?}");
        assert!(
            !works || said.why.contains("its gateway answers"),
            "{}",
            said.why
        );
    }
    // The router decides for a client before it learns that the uplink works.
    let mut scene = Scene::of(port(Use::Uplink))
        .hear(FrameClass::Arp, 1)
        .passes(20_000);
    assert_eq!(scene.role(), Role::Client);
    scene.cable.facts(Port {
        works: true,
        ..port(Use::Uplink)
    });
    scene = scene.passes(100).passes(3000);
    assert_eq!(scene.role(), Role::Uplink);
}

/// Without probes the router does not search for the loop again. A quiet router sends nothing that
/// could come back.
#[test]
fn a_loop_that_nobody_looks_for_lasts_as_long_as_the_link() {
    let mut scene = Scene::of(Port {
        probes: false,
        ..port(Use::Lan)
    });
    scene = scene.loops().passes(24 * 3_600_000);
    assert_eq!(scene.role(), Role::Loop);
    let said = scene.says().change_condition;
    assert_eq!(said, "Unplug the cable from this port.");
    scene.cable.link(false, scene.now);
    assert_ne!(scene.role(), Role::Loop);
    scene.cable.link(true, scene.now);
    assert_ne!(scene.passes(5000).role(), Role::Loop);
}

#[test]
fn what_was_heard_goes_with_the_link() {
    let mut scene = Scene::new(Use::Lan).greets(true).passes(1000);
    assert_eq!(scene.role(), Role::Mesh);
    scene.cable.link(false, scene.now);
    let said = scene.says();
    assert_eq!((said.role, said.decided), (Role::Unknown, None));
    assert_eq!(said.evidence, []);
    scene.cable.link(true, scene.now);
    scene = scene.passes(1000);
    assert_eq!(scene.role(), Role::Unknown);
}

#[test]
fn a_cable_that_comes_and_goes_is_unknown_until_it_held() {
    let mut cable = Cable::new(port(Use::None));
    for time in 0..6 {
        cable.link(true, time * 2000);
        cable.link(false, time * 2000 + 1000);
    }
    cable.link(true, 12_000);
    let mut scene = Scene {
        cable,
        noted: Default::default(),
        now: 12_000,
    };
    scene = scene.hear(FrameClass::Pado, 1).passes(9900);
    let said = scene.says();
    assert_eq!((said.role, said.decided), (Role::Unknown, None));
    assert_eq!(said.why, "The link comes and goes.");
    assert!(!scene.cable.wants_look(scene.now));
    scene = scene.passes(700);
    assert_eq!(scene.role(), Role::Uplink);
    // Without evidence by then, the port is probed, as at any link.
    let mut cable = Cable::new(port(Use::None));
    for time in 0..7 {
        cable.link(false, time * 1000);
        cable.link(true, time * 1000 + 500);
    }
    assert_eq!(cable.decision(17_000).decided, None);
    assert!(!cable.wants_look(18_000) && cable.wants_look(18_600));
    // Six are allowed.
    let mut cable = Cable::new(port(Use::Lan));
    for time in 0..6 {
        cable.link(false, time * 2000);
        cable.link(true, time * 2000 + 1000);
    }
    assert_ne!(cable.decision(11_500).why, "The link comes and goes.");
}

#[test]
fn a_proof_that_may_come_is_waited_for_and_counts_at_once() {
    let awaited = |scene: &mut Scene, proof| {
        let hello = Hello {
            proof,
            ..hello(false)
        };
        scene.cable.hello(&hello, scene.now);
    };
    // batman-adv is there before the proof is, as at every node of a mesh.
    let mut scene = Scene::new(Use::None);
    awaited(&mut scene, Proof::Awaited);
    scene = scene.hear(FrameClass::Batman, 1).passes(2000);
    assert_eq!(scene.says().decided, None, "{:#?}", scene.says());
    // A forged hello removes nothing.
    awaited(&mut scene, Proof::None);
    awaited(&mut scene, Proof::Proven);
    scene = scene.passes(600);
    assert_eq!(scene.role(), Role::Mesh);
    // Earlier certainty is not decided while a hello is pending.
    let mut scene = Scene::new(Use::None)
        .hear(FrameClass::Batman, 1)
        .passes(300);
    awaited(&mut scene, Proof::Awaited);
    scene = scene.passes(3000);
    assert_eq!(scene.says().decided, None, "{:#?}", scene.says());
    awaited(&mut scene, Proof::Proven);
    assert_eq!(
        (scene.role(), scene.says().decided),
        (Role::Mesh, Some(3300))
    );
    // Nor does a hello make it wait for ever.
    let mut scene = Scene::new(Use::None).passes(9000);
    awaited(&mut scene, Proof::Awaited);
    assert_eq!(scene.passes(1000).says().decided, Some(10_000));
    // After a decision, too.
    let mut scene = Scene::new(Use::None);
    awaited(&mut scene, Proof::Awaited);
    scene = scene.hear(FrameClass::Batman, 1).passes(8000);
    assert_eq!(
        scene.role(),
        Role::Border,
        "one that was recorded proves nothing"
    );
    awaited(&mut scene, Proof::Proven);
    assert_eq!(scene.passes(100).role(), Role::Mesh);
}

#[test]
fn where_a_hello_may_come_it_is_waited_for_before_a_node_is_a_border() {
    let with = |secret| {
        Scene::of(Port {
            secret,
            ..port(Use::None)
        })
    };
    let heard = |secret| with(secret).hear(FrameClass::Batman, 1);
    assert_eq!(heard(false).passes(600).says().decided, Some(500));
    let mut scene = heard(true).passes(2900);
    assert_eq!(scene.says().decided, None, "{:#?}", scene.says());
    scene.cable.hello(&hello(true), scene.now);
    assert_eq!(scene.passes(600).role(), Role::Mesh);
    // No proof arrives.
    let mut scene = heard(true).passes(4000);
    assert_eq!(
        (scene.role(), scene.says().decided),
        (Role::Border, Some(3000))
    );
    // Nodes that are not of a mesh are decided as usual.
    let mut scene = with(true).hear(FrameClass::Pado, 1).passes(600);
    assert_eq!(scene.says().decided, Some(500));
}

#[test]
fn who_was_asked_is_given_time_to_answer() {
    let mut scene = Scene::new(Use::None);
    scene = scene.hear(FrameClass::RouterSolicitation, 1).passes(2000);
    assert!(scene.cable.wants_look(scene.now));
    scene = scene.passes(4000);
    assert_eq!(scene.says().decided, None, "the look goes on");
    scene.cable.looked(&look(Internet::Dhcp, true), scene.now);
    assert_eq!(scene.role(), Role::Uplink);
    // A failed probe proves nothing.
    let mut scene = Scene::new(Use::None);
    scene = scene.hear(FrameClass::RouterSolicitation, 1).passes(2000);
    assert!(scene.cable.wants_look(scene.now));
    scene = scene.passes(6100);
    assert_eq!(scene.role(), Role::Client);
}

#[test]
fn sentences_begin_as_they_should() {
    let mut scene = Scene::new(Use::None);
    frame(
        &mut scene.noted,
        FrameClass::RouterSolicitation,
        [0xaa; 6],
        scene.now,
        None,
    );
    scene.cable.noted(&scene.noted, scene.now);
    let said = scene.passes(10_000).says();
    assert!(said.why.starts_with("aa:aa:"), "{said:#?}");
    assert!(said.change_condition.starts_with("A DHCP"), "{said:#?}");
}
