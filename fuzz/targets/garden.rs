//! DNS in a portal's walled garden: guests' queries, answers of a name server, and configured
//! names.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use portal_core::upstream::{LONGEST, answers, encode, read};
use portal_core::walled_garden::{MOST, Question, WalledGardenEntry, encode_answer, is_public};

/// Bytes before and behind a question's name.
const AROUND: usize = 16;

fuzz_target!(|octets: &[u8]| {
    let addresses = [IpAddr::from([0x20; 16]); MOST];
    if let Some(answer) = encode_answer(octets, 0, &addresses, 300) {
        assert!(answer.len() <= 512 && answer[..2] == octets[..2]);
    }
    let asked = Question::read(octets);
    if let Some(question) = &asked {
        let sent = encode(question, 7);
        assert_eq!(Question::read(&sent).as_ref(), Some(question));
        assert!(!answers(&sent, &sent, question), "a question is no answer");
    }
    // Fuzzing alone would not find this case: the answer begins with its question.
    let question = Question {
        name: "www.example.org".to_owned(),
        ipv6: octets.first().is_some_and(|first| first & 1 == 1),
    };
    let sent = encode(&question, 0x1234);
    let end = AROUND + question.name.len() + 2;
    let mut message = sent[..end].to_vec();
    message[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 9, 0, 0, 0, 0]);
    message.extend(octets);
    let taken = answers(&message, &sent, &question);
    assert_eq!(taken, message.len() <= LONGEST);
    for message in [octets, &message[..]] {
        let Ok(said) = read(message, &question) else {
            continue;
        };
        assert!(said.addresses.len() <= MOST);
        for address in said.addresses {
            assert_eq!(address.is_ipv6(), question.ipv6);
            let _ = is_public(address);
            let own = match address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            assert!(message.windows(own.len()).any(|some| some == own));
        }
    }
    if let Ok(text) = str::from_utf8(octets)
        && let Ok(place) = text.parse::<WalledGardenEntry>()
    {
        assert_eq!(place.to_string().parse(), Ok(place));
    }
});
