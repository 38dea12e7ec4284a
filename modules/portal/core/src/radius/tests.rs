use kernel::Mac as HardwareAddress;
use proptest::prelude::*;

use super::*;

const RANDOM: [u8; 16] = [
    0x0f, 0x40, 0x3f, 0x94, 0x73, 0x97, 0x80, 0x57, 0xbd, 0x83, 0xd5, 0xcb, 0x98, 0xf4, 0x22, 0x7a,
];
const MAC: HardwareAddress = [2, 0, 0x5e, 0x10, 0, 0xab];

fn secret() -> Secret {
    Secret::new(b"xyzzy5461").expect("a secret")
}

fn account<'a>(name: &'a str, password: &'a str) -> Account<'a> {
    Account {
        name,
        password,
        mac: MAC,
        address: IpAddr::from([192, 168, 1, 16]),
    }
}

fn question() -> AccessRequest {
    let account = account("nemo", "arctangent");
    AccessRequest::new(&account, "roof", &secret(), (7, RANDOM)).expect("a question")
}

/// Builds a reply made with a secret: with the digest of RFC 2865 section 3, and with the
/// Message-Authenticator of RFC 2869 section 5.14 if `proof` is true.
fn reply(secret: &[u8], code: u8, attributes: &[u8], proof: bool) -> Vec<u8> {
    let mut packet = vec![code, 7, 0, 0];
    packet.extend(RANDOM);
    packet.extend(attributes);
    if proof {
        packet.extend([MESSAGE_AUTHENTICATOR, 18]);
        packet.extend([0; 16]);
    }
    let length = packet.len();
    packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    if proof {
        let hmac = Hmac::<Md5>::new_from_slice(secret).expect("a key");
        let proof = hmac.chain_update(&packet).finalize().into_bytes();
        packet[length - 16..].copy_from_slice(&proof);
    }
    let digest = Md5::new()
        .chain_update(&packet)
        .chain_update(secret)
        .finalize();
    packet[4..20].copy_from_slice(&digest);
    packet
}

fn said(octets: &[u8]) -> Result<Verdict, ReplyError> {
    question().answer(octets, &secret())
}

fn vendor(vendor: u32, kind: u8, value: u32) -> Vec<u8> {
    let mut out = vec![VENDOR_SPECIFIC, 12];
    out.extend(vendor.to_be_bytes());
    out.extend([kind, 6]);
    out.extend(value.to_be_bytes());
    out
}

/// The example of RFC 2865 section 7.1.
#[test]
fn a_password_is_hidden_as_the_standard_has_it() {
    let hidden = hidden(b"arctangent", &secret(), &RANDOM);
    assert_eq!(
        hidden,
        [
            0x0d, 0xbe, 0x70, 0x8d, 0x93, 0xd4, 0x13, 0xce, 0x31, 0x96, 0xe4, 0x3f, 0x78, 0x2a,
            0x0a, 0xee
        ]
    );
}

#[test]
fn a_question_has_its_proof_first() {
    let question = question();
    let octets = question.octets();
    assert_eq!(octets[..2], [1, 7]);
    assert_eq!(octets[2..4], (octets.len() as u16).to_be_bytes());
    let all = attributes_of(&octets[HEADER..]).expect("attributes");
    let kinds: Vec<u8> = all.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [80, 1, 2, 6, 31, 8, 32]);
    assert_eq!(all[4].1, b"02-00-5E-10-00-AB");
    let mut zeroed = octets.to_vec();
    zeroed[22..38].fill(0);
    let hmac = Hmac::<Md5>::new_from_slice(b"xyzzy5461").expect("a key");
    hmac.chain_update(&zeroed)
        .verify_slice(all[0].1)
        .expect("proven");
    let clear = |w: &[u8]| w == b"arctangent";
    assert!(!octets.windows(10).any(clear), "the password is in it");
}

#[test]
fn what_cannot_be_sent_is_not() {
    let ask = |name: &str, password: &str| {
        let account = account(name, password);
        AccessRequest::new(&account, "roof", &secret(), (0, RANDOM))
            .map(|question| question.0.len())
    };
    let (name, password) = ("n".repeat(253), "p".repeat(128));
    assert!(ask(&name, &password).is_some_and(|length| length <= LONGEST));
    assert_eq!(ask(&(name + "n"), "p"), None);
    assert_eq!(ask("n", &(password + "p")), None);
    assert_eq!((ask("", "p"), ask("n", "")), (None, None));
    assert_eq!(ask("n\n", "p"), None);
    assert!(Secret::new(b"").is_none());
}

#[test]
fn terms_are_read() {
    let accept = |attributes: &[u8]| said(&reply(b"xyzzy5461", 2, attributes, true));
    assert_eq!(accept(&[]), Ok(Verdict::Accept(Terms::default())));
    let mut all = vec![USER_NAME, 6];
    all.extend(b"Nemo");
    all.extend([SESSION_TIMEOUT, 6, 0, 0, 0x0e, 0x10]);
    all.extend([SESSION_TIMEOUT, 6, 0, 0, 0x1c, 0x20]);
    all.extend(vendor(WISPR, 7, 0));
    all.extend(vendor(WISPR, 8, 5_000_000));
    all.extend(vendor(CHILLI, 3, 1));
    all.extend(vendor(CHILLI, 23, 2));
    all.extend(vendor(9, 3, 1));
    let terms = Terms {
        name: Some("Nemo".to_owned()),
        seconds: Some(3600),
        bytes: Some((2 << 32) + 1),
        rate: Some(5_000_000),
    };
    assert_eq!(accept(&all), Ok(Verdict::Accept(terms)));
    let slow = accept(&vendor(WISPR, 7, 1000));
    let least = Terms {
        rate: Some(64_000),
        ..Terms::default()
    };
    assert_eq!(slow, Ok(Verdict::Accept(least)));
    for damaged in [
        &[SESSION_TIMEOUT, 5, 0, 0, 1][..],
        &[VENDOR_SPECIFIC, 5, 0, 0, 0],
        &vendor(WISPR, 7, 1)[..6],
    ] {
        let mut damaged = damaged.to_vec();
        damaged[1] = damaged.len() as u8;
        // A vendor's attribute may have nothing in it.
        let whole = damaged.len() == 6;
        assert_eq!(accept(&damaged).is_ok(), whole, "{damaged:?}");
    }
}

#[test]
fn a_refusal_says_why() {
    let mut why = vec![REPLY_MESSAGE, 12];
    why.extend(b"No.\nNot\x1b[0");
    let refused = said(&reply(b"xyzzy5461", 3, &why, true));
    assert_eq!(refused, Ok(Verdict::Reject("No. Not [0".to_owned())));
    let challenge = said(&reply(b"xyzzy5461", 11, &[], true));
    assert_eq!(challenge, Ok(Verdict::Challenge));
}

/// An attacker on the path can turn a refusal into a reply with a right digest (CVE-2024-3596).
#[test]
fn what_is_not_proven_does_not_count() {
    let good = reply(b"xyzzy5461", 2, &[], true);
    assert!(said(&good).is_ok());
    let bare = reply(b"xyzzy5461", 2, &[], false);
    assert_eq!(said(&bare), Err(ReplyError::NoProof));
    assert_eq!(
        said(&reply(b"other", 2, &[], true)),
        Err(ReplyError::Foreign)
    );
    let mut other = good.clone();
    other[1] = 8;
    assert_eq!(said(&other), Err(ReplyError::Foreign));
    // A right digest with an invalid proof.
    for proof in [[80, 18].to_vec(), [80, 2].to_vec(), [80, 17].to_vec()] {
        let mut proof = proof;
        proof.resize(usize::from(proof[1]), 0);
        let forged = reply(b"xyzzy5461", 2, &proof, false);
        assert!(said(&forged).is_err(), "{proof:?}");
        let twice = reply(b"xyzzy5461", 2, &proof, true);
        assert_eq!(said(&twice), Err(ReplyError::NoProof), "{proof:?}");
    }
    assert_eq!(
        said(&reply(b"xyzzy5461", 5, &[], true)),
        Err(ReplyError::Damaged)
    );
    // A request is not a valid reply to itself.
    assert!(said(question().octets()).is_err());
}

#[test]
fn no_octet_of_an_answer_can_be_another() {
    let attributes = [&[SESSION_TIMEOUT, 6, 0, 0, 0x0e, 0x10][..], b"\x19\x05abc"].concat();
    let good = reply(b"xyzzy5461", 2, &attributes, true);
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut other = good.clone();
            other[at] ^= 1 << bit;
            assert!(said(&other).is_err(), "octet {at}, bit {bit}");
        }
        assert!(said(&good[..at]).is_err(), "{at} octets");
    }
    let mut padded = good;
    padded.extend([0; 9]);
    assert!(said(&padded).is_ok(), "padding is nothing");
}

proptest! {
    #[test]
    fn nothing_panics(code: u8, octets: Vec<u8>) {
        let _ = (said(&octets), terms(&octets));
        if octets.len() < 4000 {
            let _ = said(&reply(b"xyzzy5461", code, &octets, true));
        }
    }
}
