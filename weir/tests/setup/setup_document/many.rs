//! Tests of one document for many nodes, each with its own name and address.

use serde_json::json;

use crate::setup_document::router::Router;

const MANY: &str =
    "format = 1\n[router]\nname = \"roof-{mac}\"\n[lan]\naddress = \"10.23.{mac}/16\"\n";

/// Returns a node whose board has this hardware address.
fn node(mac: &str) -> Router {
    let node = Router::new("24.10");
    let board = json!({"model": {"name": "Roof Box 3"}, "system": {"label_macaddr": mac}});
    node.write("etc/board.json", &board.to_string());
    node
}

#[test]
fn each_node_has_a_name_and_an_address_of_its_own() {
    let imported = |mac: &str| {
        let node = node(mac);
        let said = node.import(MANY);
        node.done(&["confirm"]);
        assert!(node.import(MANY).contains("no changes: the router matches"));
        said
    };
    let one = imported("02:00:5e:10:00:07");
    assert!(one.contains("The router is called roof-100007."), "{one}");
    assert!(one.contains("The router is 10.23."), "{one}");
    let two = imported("02:00:5e:10:00:08");
    assert!(two.contains("The router is called roof-100008."), "{two}");
    let address = |said: &str| said.split("The router is 10.").nth(1).map(str::to_owned);
    assert_ne!(address(&one), address(&two));
}

#[test]
fn a_router_without_a_hardware_address_is_told_so() {
    for mac in [
        "",
        "00:00:00:00:00:00",
        "02:00:5e:10:00",
        "02:00:5e:10:00:07:08",
        "roof",
    ] {
        let node = node(mac);
        node.write("many.toml", MANY);
        let path = node.path("many.toml");
        let refused = node.refused(&["import", path.to_str().expect("a path")]);
        assert!(
            refused.contains("router.name: the router lacks a hardware address"),
            "{refused}"
        );
    }
}
