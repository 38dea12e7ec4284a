//! VLAN numbers that providers use. The probes for all of them take less than a second.
//!
//! Sources: providers' pages for customers with their own router, and customers' posts in OpenWrt's
//! wiki and forum (2025). A name is only a hint for people; for a number with several providers,
//! the largest are named.

/// A VLAN number, and the providers that use it.
pub type Number = (u16, &'static str);

/// All numbers, ordered by the approximate number of lines.
pub const NUMBERS: [Number; 34] = [
    // Deutsche Telekom 1TR112, and resellers of its lines.
    (7, "Telekom and its resellers, Germany"),
    (35, "Bell, Canada; Orange, Poland; Türk Telekom, Turkey"),
    (
        10,
        "Open Eir, Ireland; Chorus, New Zealand; Proximus, Belgium; Swisscom, Switzerland",
    ),
    (832, "Orange, France and Spain"),
    (835, "TIM, Italy"),
    (836, "Free, France; Open Fiber's resellers, Italy"),
    (100, "Bouygues, France; Fastweb, Italy; Vodafone, Portugal"),
    (101, "Openreach's resellers, United Kingdom"),
    (201, "CenturyLink and Quantum Fiber, United States"),
    (6, "KPN, Netherlands; Movistar, Spain"),
    (34, "T-Mobile on KPN's lines, Netherlands"),
    (300, "Odido, Netherlands"),
    (848, "CETIN's resellers, Czech Republic"),
    (132, "Vodafone's own DSL lines, Germany"),
    (40, "M-net, Germany"),
    (500, "Unifi, Malaysia"),
    (600, "Vivo, Brazil"),
    (621, "Maxis, Malaysia"),
    (12, "MEO, Portugal"),
    (2, "Google Fiber, United States; A1, Austria"),
    (8, "Telekom, Germany (television)"),
    (20, "Vodafone and Jazztel, Spain"),
    (24, "Masmovil, Spain"),
    (11, ""),
    (102, ""),
    (200, ""),
    (881, ""),
    (911, ""),
    (1036, "Vodafone, Italy"),
    (1074, "Jazztel, Spain"),
    (1103, "M1 and StarHub, Singapore"),
    (2011, ""),
    (3900, ""),
    (4000, ""),
];

/// Returns the providers that use a number.
pub fn provider(number: u16) -> Option<&'static str> {
    let known = NUMBERS
        .iter()
        .find(|(known, name)| *known == number && !name.is_empty());
    known.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_stands_once_and_can_be_one() {
        let mut all = NUMBERS.map(|(number, _)| number);
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(all.iter().all(|number| (1..4095).contains(number)));
    }
}
