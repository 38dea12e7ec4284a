//! Signs of Internet access, and the results of a probe.

use detect::{Details, Internet, Suggestion};

use super::{Scene, look};
use crate::{FrameClass, Role, Use};

const NEW: Use = Use::None;

/// Returns the result of a probe with routers of IPv6, but without a default router.
fn no_default_router() -> Suggestion {
    Suggestion {
        details: Details {
            no_default_router: true,
            ..Details::default()
        },
        ..look(Internet::None, false)
    }
}

/// Probes the port, with the result after two and a half seconds.
fn asked(mut scene: Scene, found: &Suggestion) -> Scene {
    assert!(scene.cable.wants_look(scene.now), "no look is wanted");
    scene = scene.passes(2500);
    scene.cable.looked(found, scene.now);
    scene
}

#[test]
fn a_server_that_is_heard_is_asked_at_once_and_is_an_uplink_in_three_seconds() {
    let mut scene = Scene::new(NEW).hear(FrameClass::DhcpServer, 1).passes(400);
    assert!(!scene.cable.wants_look(scene.now));
    scene = scene.passes(100);
    assert!(scene.cable.wants_look(scene.now));
    scene = scene.passes(2400);
    assert_eq!(scene.says().decided, None);
    let said = scene.passes(100).says();
    assert_eq!((said.role, said.decided), (Role::Uplink, Some(3000)));
    assert!(said.confidence < 75, "{said:#?}");
}

#[test]
fn a_server_that_answers_the_question_is_waited_for_no_longer() {
    let mut scene = Scene::new(NEW).hear(FrameClass::Bpdu, 1).passes(500);
    assert!(scene.cable.wants_look(scene.now));
    let said = scene.hear(FrameClass::DhcpServer, 2).passes(500).says();
    assert_eq!((said.role, said.decided), (Role::Uplink, Some(1000)));
    assert_eq!(said.confidence, 75);
}

#[test]
fn a_refusal_of_dhcp_is_no_way_to_the_internet() {
    let refused = || Scene::new(NEW).hear(FrameClass::DhcpServer, 1).passes(500);
    for found in [Internet::None, Internet::Static] {
        let said = asked(refused(), &look(found, false)).says();
        assert_eq!(said.role, Role::Unknown, "{said:#?}");
        assert!(
            said.why.contains("but not that of this router"),
            "{said:#?}"
        );
    }
    let confirmed = asked(refused(), &look(Internet::Dhcp, true)).says();
    assert_eq!((confirmed.role, confirmed.confidence), (Role::Uplink, 85));
    // By IPv6 there is a way all the same.
    let other = asked(refused(), &look(Internet::Ipv6Only, true)).says();
    assert_eq!(other.role, Role::Uplink);
    assert!(other.why.contains("IPv6"), "{other:#?}");
    // The server continues to refuse. A later server was not probed.
    let late = asked(refused(), &look(Internet::None, false)).passes(100);
    let mut late = late.hear(FrameClass::DhcpServer, 1).passes(3000);
    assert_eq!(late.role(), Role::Unknown);
    let said = late.hear(FrameClass::DhcpServer, 2).passes(3000).says();
    assert_eq!((said.role, said.confidence), (Role::Uplink, 60));
    // An earlier decision is dropped at once.
    let mut late = Scene::new(NEW).hear(FrameClass::DhcpServer, 1).passes(2500);
    assert!(late.cable.wants_look(late.now));
    late = late.passes(2000);
    assert_eq!(late.role(), Role::Uplink);
    late.cable.looked(&look(Internet::None, false), late.now);
    assert_eq!(late.role(), Role::Unknown);
}

#[test]
fn a_router_that_is_no_default_router_is_no_way_to_the_internet() {
    let heard = || {
        let scene = Scene::new(NEW).hear(FrameClass::RouterAdvertisement, 1);
        scene.passes(500)
    };
    let said = asked(heard(), &no_default_router()).says();
    assert_ne!(said.role, Role::Uplink, "{said:#?}");
    // A missing answer proves nothing.
    let said = asked(heard(), &look(Internet::None, false)).says();
    assert_eq!((said.role, said.confidence), (Role::Uplink, 60));
    let said = asked(heard(), &look(Internet::Ipv6Only, true)).says();
    assert_eq!((said.role, said.confidence), (Role::Uplink, 80));
    // Nor is it a second sign.
    let both = heard().hear(FrameClass::DhcpServer, 1);
    let mut found = no_default_router();
    found.internet = Internet::Dhcp;
    let said = asked(both, &found).says();
    assert_eq!((said.role, said.confidence), (Role::Uplink, 55));
}

#[test]
fn what_says_itself_what_it_is_does_so_in_three_seconds_and_an_answer_changes_it() {
    let switch = |former| Scene::new(former).hear(FrameClass::Bpdu, 1).passes(500);
    let mut scene = switch(NEW);
    assert!(scene.cable.wants_look(scene.now));
    scene = scene.passes(2500);
    let said = scene.says();
    assert_eq!((said.role, said.decided), (Role::Switch, Some(3000)));
    scene = scene.passes(500);
    scene.cable.looked(&look(Internet::Dhcp, true), scene.now);
    assert_eq!(scene.role(), Role::Uplink);
    // Behind a switch at the uplink there is one, so that its answer is waited for.
    let mut scene = switch(Use::Uplink);
    assert!(scene.cable.wants_look(scene.now));
    scene = scene.passes(4000);
    assert_eq!(scene.says().decided, None);
    scene.cable.looked(&look(Internet::Dhcp, true), scene.now);
    assert_eq!(
        (scene.role(), scene.says().decided),
        (Role::Uplink, Some(4500))
    );
    for (scene, role) in [
        (Scene::new(NEW).announced("x", 8), Role::Radio),
        (
            (1..4).fold(Scene::new(NEW), |scene, from| {
                scene.hear(FrameClass::DhcpClient, from)
            }),
            Role::Switch,
        ),
    ] {
        let mut scene = scene.passes(600);
        assert!(scene.cable.wants_look(scene.now));
        scene = scene.passes(2400);
        let said = scene.says();
        assert_eq!((said.role, said.decided), (role, Some(3000)));
    }
}
