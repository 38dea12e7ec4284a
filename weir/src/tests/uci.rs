//! Tests of keys as options in OpenWrt's format.

use super::*;
use runtime::config::lay_uci;

fn read(text: &str) -> Result<Effective, Vec<String>> {
    let mut effective = Effective::defaults(&registry().sections());
    let done = lay_uci(&mut effective, text, "weir");
    let told = |errors: Vec<ConfigError>| errors.iter().map(ToString::to_string).collect();
    done.map(|()| effective).map_err(told)
}

/// Returns the effective value of a key, as JSON.
fn value(effective: &Effective, key: &str) -> String {
    let entries = effective.to_api().entries;
    let entry = entries.into_iter().find(|entry| entry.key == key);
    let entry = entry.expect("a key");
    assert_eq!(entry.origin, "weir");
    entry.value.to_string()
}

#[test]
fn options_are_keys_of_whatever_type() {
    let read = read(
        "config radio_power 'power'\n\toption mode 'control'\n\toption keep '90'\n\
         \tlist devices 'wlan0'\n\tlist devices 'wlan1'\n\toption back_off '10s'\n\
         config radio_peering\n\toption device 'wlan0'\n\toption allow '02:00:00:00:00:01'\n\
         config offload\n\toption tcp '0'\n\toption udp 'on'\n",
    );
    let read = read.expect("it is right");
    assert_eq!(value(&read, "radio.power.mode"), "\"control\"");
    assert_eq!(value(&read, "radio.power.keep"), "90");
    assert_eq!(value(&read, "radio.power.devices"), "[\"wlan0\",\"wlan1\"]");
    assert_eq!(
        value(&read, "radio.peering.allow"),
        "[\"02:00:00:00:00:01\"]"
    );
    assert_eq!(value(&read, "offload.tcp"), "false");
    assert_eq!(value(&read, "offload.udp"), "true");
}

#[test]
fn openwrts_own_options_of_peers_are_understood() {
    let text = "config radio_peering\n\toption apup 'X'\n\
        \toption apup_peer_ifname_prefix 'wlan0_peer'\n";
    for (word, compat) in [("1", "\"apup\""), ("0", "\"off\""), ("true", "\"apup\"")] {
        let read = read(&text.replace('X', word)).expect("it is right");
        assert_eq!(value(&read, "radio.peering.compat"), compat);
        assert_eq!(value(&read, "radio.peering.prefix"), "\"wlan0_peer\"");
    }
}

#[test]
fn what_is_wrong_is_named() {
    for (text, said) in [
        (
            "config radio_power\n\toption mode 'loud'\n",
            "weir: radio_power.mode: cannot be",
        ),
        (
            "config radio_power\n\toption moed 'off'\n",
            "weir: radio_power.moed: ",
        ),
        (
            "config radio_power\n\toption keep '5'\n",
            "radio_power.keep: cannot be",
        ),
        (
            "config radio_power\n\toption keep '090'\n",
            "radio_power.keep: cannot be",
        ),
        (
            "config radio_power\n\tlist mode 'off'\n",
            "radio_power.mode: cannot be",
        ),
        ("config radio\n", "unknown section type radio"),
        (
            "config ports 'wan0'\n\toption hook 'tc'\n",
            "unknown section type ports",
        ),
        ("config radio_power\n\toption 'a\n", "weir:"),
    ] {
        let errors = read(text).expect_err(text);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains(said), "{errors:?}");
    }
}
