//! Tests of the metrics of access points that are peers.

use answers::{RadioPeer, RadioPeers};
use api::metrics::Exposition;

use super::exposition::{get, read};

#[test]
fn peers_in_clear_are_counted_apart() {
    let peer = |state: &str, encrypted| RadioPeer {
        address: "02:00:00:00:01:00".to_owned(),
        interface: "wlan0.sta2007".to_owned(),
        state: state.to_owned(),
        waits: None,
        peer_seconds: Some(1),
        encrypted,
        clear: !encrypted,
        signal: None,
        expected_mbit: None,
    };
    let told = RadioPeers {
        device: "wlan0".to_owned(),
        peers: vec![
            peer("alive", true),
            peer("installed", true),
            peer("alive", false),
            peer("waiting", false),
        ],
        notices: Vec::new(),
    };
    let mut text = Exposition::default();
    radio::metrics::write_count(&mut text, &told);
    let text = text.end();
    super::promtool::check(&text);
    let samples = read(&text);
    let count = |key| {
        get(
            &samples,
            "weir_radio_peers",
            &[("device", "wlan0"), ("key", key)],
        )
    };
    assert_eq!((count("yes"), count("none")), (Some(2.0), Some(1.0)));
}

#[test]
fn a_peer_of_which_nothing_is_known_yet_is_left_out() {
    let peer = |at: u8, expected_mbit| RadioPeer {
        address: format!("02:00:00:00:{at:02x}:00"),
        interface: format!("peer-{at}"),
        state: "alive".to_owned(),
        waits: None,
        peer_seconds: Some(1),
        encrypted: true,
        clear: false,
        signal: None,
        expected_mbit,
    };
    let mut told = RadioPeers {
        device: "wlan0".to_owned(),
        peers: vec![peer(1, Some(26.5)), peer(2, None)],
        notices: Vec::new(),
    };
    let mut text = Exposition::default();
    radio::metrics::write_peers(&mut text, &told);
    let samples = read(&text.end());
    let name = "weir_radio_peer_expected_bits_per_second";
    let labels = [
        ("device", "wlan0"),
        ("mac", "02:00:00:00:01:00"),
        ("interface", "peer-1"),
    ];
    assert_eq!(get(&samples, name, &labels), Some(26.5e6));
    assert_eq!(samples.len(), 1);
    told.peers.clear();
    let mut none = Exposition::default();
    radio::metrics::write_peers(&mut none, &told);
    assert!(read(&none.end()).is_empty());
}
