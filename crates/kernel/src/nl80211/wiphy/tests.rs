use super::*;
use crate::fixture::{datagram, first};
use crate::message::Messages;

/// Family of the fixtures.
const FAMILY: u16 = 35;

fn decode(bytes: &[u8]) -> Result<Vec<Wiphy>, DecodeError> {
    let mut radios = Vec::new();
    for message in Messages::new(bytes) {
        decode_wiphy(&message?, FAMILY, &mut radios)?;
    }
    Ok(radios)
}

/// A radio of what `attributes` write.
fn radio(attributes: impl FnOnce(&mut Encoder)) -> Result<Wiphy, DecodeError> {
    let bytes = Encoder::single(FAMILY, 0, 0, |e| {
        e.fixed(&[CMD_NEW_WIPHY, 1, 0, 0]);
        e.attribute(ATTR_WIPHY, &3u32.to_ne_bytes());
        attributes(e);
    });
    decode(&bytes).map(|mut radios| radios.remove(0))
}

#[test]
fn many_messages_are_one_radio() {
    let bytes = datagram("nl80211-wiphy");
    assert!(Messages::new(&bytes).count() > 50);
    let radios = decode(&bytes).expect("understood");
    let [radio] = &radios[..] else {
        panic!("{radios:?}")
    };
    assert_eq!((radio.index, &*radio.name), (0, "phy0"));
    assert!(radio.station && radio.access_point && radio.mesh);
    assert_eq!(radio.protects, Some(true));
    assert!(!radio.admits && !radio.lacks_wpa3());
    assert_eq!(radio.bands(), [Band::Two, Band::Five, Band::Six]);
    let count = |band| radio.channels.iter().filter(|c| c.band == band).count();
    assert_eq!(
        [Band::Two, Band::Five, Band::Six].map(count),
        [14, 40, 59],
        "as `iw phy` lists them"
    );
    let at = |frequency| {
        let mut all = radio.channels.iter();
        let channel = all.find(|c| c.frequency == frequency).expect("a channel");
        let number = channel.number().expect("a number");
        (number, channel.disabled, channel.no_ir, channel.radar)
    };
    assert_eq!(at(2412), (1, false, false, false));
    assert_eq!(at(2472), (13, false, true, false));
    assert_eq!(at(2484), (14, false, true, false));
    assert_eq!(at(5180), (36, false, true, false));
    assert_eq!(at(5260), (52, false, true, true));
    let (number, disabled, ..) = at(5955);
    assert_eq!((number, disabled), (1, true));
    let most = |frequency| {
        let mut all = radio.channels.iter();
        all.find(|c| c.frequency == frequency).and_then(|c| c.most)
    };
    assert_eq!((most(2412), most(5955)), (Some(2000), Some(0)));
}

#[test]
fn whose_rules() {
    let bytes = datagram("nl80211-rules");
    let found: Vec<RegulatoryDomain> = Messages::new(&bytes)
        .filter_map(|message| decode_rules(&message.expect("whole"), FAMILY).expect("understood"))
        .collect();
    let country = "00".to_owned();
    let world = RegulatoryDomain {
        wiphy: None,
        country,
    };
    assert_eq!(found, [world]);
}

#[test]
fn who_does_wpa3() {
    let suites = |suites: &[u32]| -> Vec<u8> {
        let octets = suites.iter().flat_map(|suite| suite.to_ne_bytes());
        octets.collect()
    };
    let ccmp = suites(&[0x000f_ac04]);
    let both = suites(&[0x000f_ac04, 0x000f_ac06]);
    let lacks = |ciphers: &[u8], rest: &dyn Fn(&mut Encoder)| {
        let found = radio(|e| {
            e.attribute(ATTR_CIPHER_SUITES, ciphers);
            rest(e);
        });
        found.expect("understood").lacks_wpa3()
    };
    assert!(lacks(&ccmp, &|_| {}));
    assert!(!lacks(&both, &|_| {}));
    assert!(!radio(|_| {}).expect("understood").lacks_wpa3(), "not told");
    // Firmware that admits stations has to do SAE, or to show authentication frames.
    let firmware = |e: &mut Encoder| e.attribute(ATTR_DEVICE_AP_SME, &[0; 4]);
    assert!(lacks(&both, &firmware));
    assert!(!lacks(&both, &|e| {
        firmware(e);
        e.attribute(ATTR_EXT_FEATURES, &[0, 0, 0, 0, 0, 0, 1 << 3]);
    }));
    let shows = |kind: u16, frame: u16| {
        move |e: &mut Encoder| {
            firmware(e);
            e.nested(ATTR_RX_FRAME_TYPES, |e| {
                e.nested(kind, |e| {
                    e.attribute(ATTR_FRAME_TYPE, &frame.to_ne_bytes());
                });
            });
        }
    };
    assert!(!lacks(&both, &shows(3, 0x00b0)));
    assert!(lacks(&both, &shows(2, 0x00b0)), "of a station");
    assert!(lacks(&both, &shows(3, 0x00d0)), "actions alone");
}

#[test]
fn who_sends_to_each_station_with_a_power_of_its_own() {
    let can = |features: &[u8]| {
        let found = radio(|e| e.attribute(ATTR_EXT_FEATURES, features));
        found.expect("understood").station_power
    };
    assert!(can(&[0, 0, 0, 0, 1 << 5]));
    assert!(!can(&[0xff, 0xff, 0xff, 0xff, !(1 << 5), 0xff]));
    assert!(!can(&[0xff]), "an older kernel");
}

#[test]
fn bands_that_no_router_has_are_left() {
    let found = radio(|e| {
        e.nested(ATTR_WIPHY_BANDS, |e| {
            for (band, frequency) in [(2u16, 58_320u32), (3, 5935), (4, 900), (0, 2484)] {
                e.nested(band, |e| {
                    e.nested(BAND_ATTR_FREQS, |e| {
                        e.nested(0, |e| e.attribute(1, &frequency.to_ne_bytes()));
                    });
                });
            }
        });
    });
    let found = found.expect("understood");
    assert_eq!(found.bands(), [Band::Two, Band::Six]);
    let numbers: Vec<_> = found.channels.iter().map(Channel::number).collect();
    assert_eq!(numbers, [Some(2), Some(14)]);
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = radio(|e| {
        e.nested(ATTR_WIPHY_BANDS, |e| {
            e.nested(1, |e| {
                e.nested(BAND_ATTR_FREQS, |e| e.nested(0, |_| {}));
            });
        });
    });
    let told = wrong.expect_err("no frequency").to_string();
    assert_eq!(told, "NL80211_FREQUENCY_ATTR_FREQ is missing");
    let bytes = Encoder::single(FAMILY, 0, 0, |e| e.fixed(&[CMD_NEW_WIPHY, 1, 0, 0]));
    let told = decode(&bytes).expect_err("no number");
    assert_eq!(told.to_string(), "NL80211_ATTR_WIPHY is missing");
}

/// The kernel may report any number of them.
#[test]
fn sizes_are_bounded() {
    let mut radios = Vec::new();
    for index in 0..1000u32 {
        let bytes = Encoder::single(FAMILY, 0, 0, |e| {
            e.fixed(&[CMD_NEW_WIPHY, 1, 0, 0]);
            e.attribute(ATTR_WIPHY, &(index / 4).to_ne_bytes());
            e.nested(ATTR_WIPHY_BANDS, |e| {
                e.nested(1, |e| {
                    e.nested(BAND_ATTR_FREQS, |e| {
                        for _ in 0..400 {
                            e.nested(0, |e| e.attribute(1, &5180u32.to_ne_bytes()));
                        }
                    });
                });
            });
        });
        let message = first(&bytes);
        decode_wiphy(&message, FAMILY, &mut radios).expect("understood");
    }
    assert_eq!(radios.len(), MOST_RADIOS);
    assert!(radios.iter().all(|r| r.channels.len() == MOST_CHANNELS));
}

/// Any cut and any changed octet of a whole answer: no panic.
#[test]
fn broken_anywhere() {
    let whole = datagram("nl80211-wiphy");
    for length in (0..whole.len()).step_by(37) {
        let _ = decode(&whole[..length]);
    }
    for at in (0..whole.len()).step_by(61) {
        let mut other = whole.clone();
        other[at] ^= 0xff;
        let _ = decode(&other);
    }
}
