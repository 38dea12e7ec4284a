//! Refusals that depend on the channels that the kernel reports for a radio.

use weir_setup_core::plan::{Channel, Facts, RadioChannels, plan};

use super::{document, facts, fresh, good};

fn air(country: &str, channels: &[(&str, u16, bool, bool)]) -> RadioChannels {
    let channels = channels.iter().map(|&(band, number, open, radar)| Channel {
        band: band.to_owned(),
        number,
        open,
        radar,
    });
    RadioChannels {
        country: country.to_owned(),
        channels: channels.collect(),
    }
}

/// Two radios, the second with channels of 5 GHz.
fn told(country: &str) -> Facts {
    let mut facts = facts(24);
    facts.radios[0].air = Some(air(country, &[("2g", 1, true, false)]));
    let five = [
        ("5g", 36, true, false),
        ("5g", 52, true, true),
        ("5g", 144, false, false),
    ];
    facts.radios[1].air = Some(air(country, &five));
    facts
}

fn mesh(kind: &str, more: &str) -> String {
    format!("[mesh]\nkind = \"{kind}\"\nname = \"m\"\ncountry = \"DE\"\n{more}")
}

/// Returns the problem: field, key, and channel.
fn wrong(text: &str, facts: &Facts) -> Option<(String, String, String)> {
    let plan = plan(&document(text), &fresh("24.10"), facts);
    let problem = plan.problems.into_iter().next()?;
    let channel = problem.values.get("channel").cloned().unwrap_or_default();
    Some((problem.field, problem.problem, channel))
}

fn off(field: &str, channel: &str) -> Option<(String, String, String)> {
    Some((
        field.to_owned(),
        "not-on-air".to_owned(),
        channel.to_owned(),
    ))
}

#[test]
fn a_mesh_is_on_a_channel_that_its_radio_has_and_may_use() {
    let by = |channel: u16| {
        let more = format!("radios = [\"radio1\"]\nchannel = {channel}");
        mesh("batman", &more)
    };
    let facts = told("DE");
    for channel in [1, 40, 52, 144] {
        let expected = off("mesh.channel", &channel.to_string());
        assert_eq!(wrong(&by(channel), &facts), expected);
    }
    assert_eq!(wrong(&by(36), &facts), None);
    // Another country's rules are not known yet; channels that the hardware lacks are.
    let facts = told("00");
    for channel in [36, 52, 144] {
        assert_eq!(wrong(&by(channel), &facts), None);
    }
    assert_eq!(wrong(&by(40), &facts), off("mesh.channel", "40"));
    // Without a report of the kernel, any channel is accepted.
    let nothing = super::facts(24);
    for channel in [1, 40, 52, 144] {
        assert_eq!(wrong(&by(channel), &nothing), None);
    }
}

#[test]
fn the_radio_is_found_that_has_the_channel() {
    let facts = told("DE");
    let plan = good(
        &document(&mesh("batman", "channel = 36")),
        &fresh("24.10"),
        &facts,
    );
    let channel = |radio| plan.config.get("wireless", radio, "channel");
    assert_eq!(channel("radio1").as_deref(), Some("36"));
    assert!(!plan.config.has("wireless", "mesh_radio0"));
    let nowhere = wrong(&mesh("batman", "channel = 40"), &facts);
    assert_eq!(nowhere, off("mesh.channel", "40"));
}

/// Access points detect radar, and peering access points do so too.
#[test]
fn an_access_point_may_be_where_radar_is() {
    let mut facts = told("DE");
    facts.radios[1].apup = true;
    let by = |kind: &str| mesh(kind, "radios = [\"radio1\"]\nchannel = 52");
    assert_eq!(wrong(&by("apup"), &facts), None);
    assert_eq!(wrong(&by("batman"), &facts), off("mesh.channel", "52"));
}

#[test]
fn what_is_there_already_is_not_refused() {
    let text = mesh("batman", "radios = [\"radio1\"]\nchannel = 52");
    let before = good(&document(&text), &fresh("24.10"), &super::facts(24)).config;
    let facts = told("DE");
    assert_eq!(plan(&document(&text), &before, &facts).problems, []);
    let other = mesh("batman", "radios = [\"radio1\"]\nchannel = 144");
    let problems = plan(&document(&other), &before, &facts).problems;
    assert_eq!(problems[0].problem, "not-on-air");
}

#[test]
fn a_radio_without_the_band_of_its_section_gets_no_network() {
    let mut facts = told("DE");
    facts.radios[1].air = Some(air("DE", &[("2g", 1, true, false)]));
    let on = |radio: &str| {
        let key = "key = \"correct horse\"";
        format!("[wifi]\nnetworks = [{{ssid = \"a\", {key}, radios = [\"{radio}\"]}}]")
    };
    let field = "wifi.networks[0].radios";
    assert_eq!(wrong(&on("radio1"), &facts), off(field, "5 GHz"));
    assert_eq!(wrong(&on("radio0"), &facts), None);
    let by = mesh("batman", "radios = [\"radio1\"]");
    assert_eq!(wrong(&by, &facts), off("mesh.channel", "5 GHz"));
    // A radio without reported channels.
    facts.radios[1].air = Some(air("DE", &[]));
    assert_eq!(wrong(&on("radio1"), &facts), None);
    assert_eq!(wrong(&by, &facts), None);
}
