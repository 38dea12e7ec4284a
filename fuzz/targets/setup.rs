//! Arbitrary documents, and arbitrary configurations that are read and planned upon.
#![no_main]

use libfuzzer_sys::fuzz_target;
use setup_core::choices::Choices;
use setup_core::plan::{Channel, Config, Facts, Radio, RadioChannels, plan};
use setup_core::{read, shadow};
use uci::{Package, Strictness};

/// A package for each part of the input; 0xff separates parts.
const NAMES: [&str; 6] = [
    "network",
    "wireless",
    "dhcp",
    "firewall",
    "system",
    "https-dns-proxy",
];

fuzz_target!(|octets: &[u8]| {
    let facts = Facts {
        release: Some(24),
        wan: Some("wan".to_owned()),
        radios: vec![Radio {
            name: "radio0".to_owned(),
            bands: vec!["2g".to_owned()],
            wpa3: true,
            mesh: true,
            apup: true,
            air: Some(RadioChannels {
                country: "DE".to_owned(),
                channels: vec![Channel {
                    band: "2g".to_owned(),
                    number: 1,
                    open: true,
                    radar: false,
                }],
            }),
        }],
        ..Facts::default()
    };
    let parts = octets.split(|&octet| octet == 0xff).zip(NAMES);
    let packages =
        parts.filter_map(|(text, name)| Package::read_as(name, text, Strictness::Lenient).ok());
    let config = Config::new(packages);
    let back = plan(&read(&config), &config, &facts);
    if back.problems.is_empty() {
        let again = plan(&read(&back.config), &back.config, &facts);
        let texts =
            |config: &Config| -> Vec<Vec<u8>> { config.packages().map(Package::text).collect() };
        assert_eq!(texts(&back.config), texts(&again.config));
    }
    if let Ok(choices) = str::from_utf8(octets).map(toml::from_str::<Choices>)
        && let Ok(choices) = choices
    {
        let planned = plan(&choices, &config, &facts);
        let _ = plan(&choices, &planned.config, &facts);
    }
    let _ = shadow::password_of(octets, "root");
    let _ = shadow::with_password(octets, "root", "$6$salt$hash", 1);
});
