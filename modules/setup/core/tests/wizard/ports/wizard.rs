//! Choices in the wizard after weir changed ports.

use weir_setup_core::choices::{Choices, Lan, Mesh};
use weir_setup_core::plan::plan;
use weir_setup_core::plan::ports::PortRole;

use crate::ports::{facts, fresh, good, text, used, wish};

#[test]
fn what_a_person_says_in_the_wizard_holds() {
    let facts = facts();
    let meshed = good(&[wish("lan4", PortRole::Mesh)], &fresh("24.10"));
    // No mesh by radio: the mesh by the port stays.
    let none = Choices {
        mesh: Some(Mesh::default()),
        ..Choices::default()
    };
    let after = plan(&none, &meshed, &facts);
    assert_eq!(
        (after.problems, text(&after.config)),
        (Vec::new(), text(&meshed))
    );
    // The LAN's ports are these.
    let ports = ["lan1", "lan4"].map(str::to_owned).into();
    let lan = Choices {
        lan: Some(Lan {
            address: "192.168.1.1/24".to_owned(),
            ports,
            ..Lan::default()
        }),
        ..Choices::default()
    };
    let after = plan(&lan, &meshed, &facts);
    assert_eq!(after.problems, []);
    let one = used(&after.config, "lan4");
    assert_eq!(
        (one.used, one.by_weir),
        (PortRole::Lan, false),
        "it was a person"
    );
    assert!(!text(&after.config).concat().contains("batadv"));
}
