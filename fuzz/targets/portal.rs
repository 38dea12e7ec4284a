//! Untrusted input to the portal: guests' entries, requests and DNS queries, messages of nodes,
//! damaged files of vouchers and figures, pictures, and answers of RADIUS servers.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use portal_core::account::Account;
use portal_core::code::Code;
use portal_core::notes::Note;
use portal_core::signed_voucher::SignedVoucher;
use portal_core::statistics::Statistics;
use portal_core::{form, journal, names, picture, radius, rates};

fuzz_target!(|octets: &[u8]| {
    let _ = form::field(octets, "code");
    for router in ["192.168.1.1", "2001:db8::1", "fe80::1"] {
        let router: IpAddr = router.parse().expect("an address");
        if let Some(answer) = names::answer(octets, router) {
            assert!(answer.len() <= octets.len() + 28);
            assert_eq!(answer[..2], octets[..2]);
        }
    }
    if let Ok(text) = str::from_utf8(octets)
        && let Ok(code) = text.parse::<Code>()
    {
        assert_eq!(code.to_string().parse(), Ok(code));
    }
    if let Ok(text) = str::from_utf8(octets) {
        if let Ok(signed) = text.parse::<SignedVoucher>() {
            assert_eq!(signed.to_string().parse(), Ok(signed));
        }
        let _ = portal_core::text::shown(text);
        let _ = portal_core::pirania::read(text, Code::new([0; 5]), 1 << 31);
        if let Some(note) = Note::read(text) {
            assert!(!note.is_newer(&note));
        }
    }
    if let Some(terms) = radius::terms(octets) {
        assert!(terms.rate.is_none_or(|rate| rates::RATES.contains(&rate)));
    }
    let account = Account {
        name: "guest",
        password: "secret",
        mac: [2, 0, 0, 0, 0, 1],
        address: IpAddr::from([192, 168, 1, 2]),
    };
    let secret = radius::Secret::new(b"known").expect("a secret");
    let question = radius::AccessRequest::new(&account, "router", &secret, (0, [0; 16]));
    let question = question.expect("a question");
    assert!(question.answer(octets, &secret).is_err(), "forged");
    let _ = picture::inspect(octets);
    let (mut figures, _) = Statistics::read(octets);
    let (again, damaged) = Statistics::read(figures.file().as_bytes());
    assert!(damaged == 0 && again.days().eq(figures.days()));
    let read = journal::read(octets);
    // The intact part reads the same again.
    let again = journal::read(&octets[..read.whole]);
    assert_eq!(read, again);
    let written = journal::write(read.vouchers.values());
    assert_eq!(journal::read(written.as_bytes()).vouchers, read.vouchers);
});
