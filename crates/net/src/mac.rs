//! Hardware addresses: EUI-48 (IEEE 802, 8).

/// A hardware address, in the order of transmission.
pub type Mac = [u8; 6];

/// Writes an address in lower case with colons: `02:00:5e:10:00:01`.
pub fn text(mac: &Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Reads an address in either case, with colons or hyphens between its bytes; `None` for any other text.
pub fn parse(text: &str) -> Option<Mac> {
    read(text, |digits| digits == 2)
}

/// Reads an address as `ether_aton(3)` does, which takes bytes without leading zeros.
pub fn parse_short(text: &str) -> Option<Mac> {
    read(text, |digits| digits == 1 || digits == 2)
}

/// Reads the address of a single device: neither a group's, nor all zeros.
pub fn parse_station(text: &str) -> Option<Mac> {
    parse(text).filter(is_station)
}

/// Returns true if an address names a single device: neither a group, nor all zeros.
pub fn is_station(mac: &Mac) -> bool {
    mac[0] & 1 == 0 && *mac != [0; 6]
}

fn read(text: &str, fits: impl Fn(usize) -> bool) -> Option<Mac> {
    let mut mac = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut mac {
        let part = parts.next().filter(|part| fits(part.len()))?;
        *byte = u8::try_from(crate::digits::hexadecimal(part)?).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_an_address_is_one() {
        let address = [2, 0, 0x5e, 0x10, 0, 1];
        for text in [
            "02:00:5e:10:00:01",
            "02-00-5E-10-00-01",
            "02:00-5e:10:00:01",
        ] {
            assert_eq!(parse(text), Some(address), "{text}");
        }
        for text in [
            "2:0:5e:10:0:1",
            "02:00:5e:10:00",
            "02:00:5e:10:00:01:02",
            "02:00:5e:10:00:+1",
            "02:00:5e:10:00:0g",
            "",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse_short("2:0:5e:10:0:1"), Some(address));
        assert_eq!(parse_short("02:00:5E-10-00-01"), Some(address));
        for text in [
            "2:0:5e:10:0:",
            "2:0:5e:10::1",
            "2:0:5e:10:0:001",
            "2:0:5e:10:0:+1",
            "x",
        ] {
            assert_eq!(parse_short(text), None, "{text}");
        }
    }

    #[test]
    fn groups_and_zeros_are_no_station() {
        assert!(parse_station("02:00:5e:10:00:01").is_some());
        for text in [
            "01:00:5e:00:00:01",
            "ff:ff:ff:ff:ff:ff",
            "00:00:00:00:00:00",
        ] {
            assert_eq!(parse_station(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn written_text_is_read(mac: Mac) {
            prop_assert_eq!(parse(&text(&mac)), Some(mac));
            prop_assert_eq!(parse_short(&text(&mac)), Some(mac));
        }
    }
}
