//! Beacons of hostapd 2.10, received by a third radio (mac80211_hwsim, kernel 6.12).

use super::super::Beacon;

/// 2.4 GHz, channel 1, with `ieee80211n` and `ieee80211ax`.
const TWO: &str = "\
    80000000ffffffffffff0200000000000200000000000000b3da3fe331610600640011040009776569722d6d65\
    7368010882848b960c1218240301010504010200002a010432053048606cfb30140100000fac040100000fac04\
    0100000fac08cc003b0251002d1a0c001bffff0000000000000000000001000000000000000000003d16010000\
    000000000000000000000000000000000000007f080400400200000040f40120ff16230178c81a400002bfce00\
    00000000000000fafffaffff0724f03f00aafcffdd180050f2020101010003a4000027a4000042435e0062322f\
    00";

/// 5 GHz, channel 36, 40 MHz wide, with `ieee80211n`, `ieee80211ac` and `ieee80211ax`.
const FIVE: &str = "\
    80000000ffffffffffff020000000000020000000000000079ab78e531610600640011000009776569722d6d65\
    736801088c129824b048606c0301240504000200003201fb30140100000fac040100000fac040100000fac08cc\
    003b0274002d1a6e001bffff0000000000000000000001000000000000000000003d1624050000000000000000\
    0000000000000000000000007f080400400200000040bf0c00000000aaaa0000aaaa0000c005000000fcffc303\
    012828f40120ff16230178c81a400004bfce0000000000000000fafffaffff0724f03f00a8fcffdd180050f202\
    0101010003a4000027a4000042435e0062322f00";

/// 6 GHz, channel 5, with `ieee80211ax`.
const SIX: &str = "\
    80000000ffffffffffff0200000000000200000000000000cf9001f331610600640011000009776569722d6d65\
    736801088c129824b048606c0301050504000200003201fb30140100000fac040100000fac040100000fac08cc\
    003b0283007f080400400200000040c3020000f40120ff16230178c81a400004bfce0000000000000000fafffa\
    ffff0c24f03f0292fcff0500050006ff033bbf36dd180050f2020101010003a4000027a4000042435e0062322f\
    00";

fn read(octets: &str) -> Beacon {
    let frame = net::hex::parse(octets).expect("octets");
    let beacon = Beacon::read(&frame).expect("a beacon");
    assert_eq!(beacon.mac, [2, 0, 0, 0, 0, 0]);
    assert_eq!(beacon.ssid, b"weir-mesh");
    assert!(beacon.protected && beacon.abilities.wme && beacon.element.is_none());
    beacon
}

#[test]
fn what_it_can_do_at_2_4_ghz() {
    let able = read(TWO).abilities;
    // 1, 2, 5.5, 11, 6, 9, 12, 18, and the others in the other element. 0xfb is not a rate, but a
    // requirement: SAE with hash-to-element only.
    let rates = [
        0x82, 0x84, 0x8b, 0x96, 0x0c, 0x12, 0x18, 0x24, 0x30, 0x48, 0x60, 0x6c,
    ];
    assert_eq!(able.rates, rates);
    // 20 MHz, MCS 0 to 15.
    assert_eq!(able.ht[..5], [0x0c, 0x00, 0x1b, 0xff, 0xff]);
    assert_eq!(able.ht.len(), 26);
    assert!(able.vht.is_empty() && able.he_6ghz.is_empty());
    // MCS 0 to 11 with each of four streams, both ways.
    assert_eq!(able.he.len(), 21);
    assert_eq!(able.he[17..], [0xfa, 0xff, 0xfa, 0xff]);
}

#[test]
fn what_it_can_do_at_5_ghz() {
    let able = read(FIVE).abilities;
    assert_eq!(able.rates, [0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c]);
    // 40 MHz, short guard intervals.
    assert_eq!(able.ht[..5], [0x6e, 0x00, 0x1b, 0xff, 0xff]);
    assert_eq!(able.vht, [0, 0, 0, 0, 0xaa, 0xaa, 0, 0, 0xaa, 0xaa, 0, 0]);
    assert_eq!(able.he.len(), 21);
    assert!(able.he_6ghz.is_empty());
}

#[test]
fn what_it_can_do_at_6_ghz() {
    let able = read(SIX).abilities;
    assert_eq!(able.rates, [0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c]);
    assert!(able.ht.is_empty() && able.vht.is_empty());
    assert_eq!(able.he.len(), 21);
    // HT's and VHT's capabilities have these fields on other bands: length of A-MPDUs, and so on.
    assert_eq!(able.he_6ghz, [0xbf, 0x36]);
}
