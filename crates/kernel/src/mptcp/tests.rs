use super::*;
use crate::fixture::datagram;
use crate::message::Messages;

/// Family of the fixtures.
const FAMILY: u16 = 28;

fn all<T>(bytes: &[u8], decode: impl Fn(&Message<'_>) -> T) -> Vec<T> {
    let messages = Messages::new(bytes).map(|message| message.expect("whole"));
    messages.map(|message| decode(&message)).collect()
}

fn endpoints(bytes: &[u8]) -> Vec<Endpoint> {
    let decoded = all(bytes, |message| decode_endpoint(message, FAMILY));
    let decoded = decoded.into_iter().flat_map(|found| found.expect("valid"));
    decoded.collect()
}

fn expected() -> [Endpoint; 2] {
    [
        Endpoint {
            id: 3,
            address: [10, 0, 2, 1].into(),
            port: None,
            link: Some(3),
            flags: EndpointFlags {
                subflow: true,
                backup: true,
                fullmesh: true,
                ..EndpointFlags::default()
            },
        },
        Endpoint {
            id: 9,
            address: "2001:db8::1".parse().expect("an address"),
            port: Some(9347),
            link: None,
            flags: EndpointFlags {
                signal: true,
                ..EndpointFlags::default()
            },
        },
    ]
}

#[test]
fn endpoints_of_a_kernel() {
    let bytes = datagram("mptcp-endpoints");
    assert_eq!(endpoints(&bytes), expected());
    let elsewhere = all(&bytes, |message| decode_endpoint(message, FAMILY + 1));
    assert_eq!(elsewhere, [Ok(None), Ok(None)]);
    let other = all(&bytes, |message| decode_limits(message, FAMILY));
    assert_eq!(other, [Ok(None), Ok(None)]);
}

#[test]
fn limits_of_a_kernel() {
    let limits = Limits {
        subflows: 5,
        accepted: 3,
    };
    let bytes = datagram("mptcp-limits");
    let found = all(&bytes, |message| decode_limits(message, FAMILY));
    assert_eq!(found, [Ok(Some(limits))]);
    // A request has the same attributes as the answer.
    let mut request = set_limits(FAMILY, limits, 1);
    assert_eq!(request[16], CMD_SET_LIMITS);
    request[16] = CMD_GET_LIMITS;
    assert_eq!(all(&request, |m| decode_limits(m, FAMILY)), found);
}

/// A request to add is an answer but for the command.
#[test]
fn what_is_asked_for_is_what_is_told() {
    for endpoint in expected() {
        for (mut request, command) in [
            (add(FAMILY, &endpoint, 7), CMD_ADD_ADDR),
            (set_flags(FAMILY, &endpoint, 7), CMD_SET_FLAGS),
        ] {
            assert_eq!(request[16], command);
            request[16] = CMD_GET_ADDR;
            assert_eq!(endpoints(&request), [endpoint]);
        }
        let mut request = remove(FAMILY, 0, endpoint.address, 7);
        assert_eq!(request[16], CMD_DEL_ADDR);
        request[16] = CMD_GET_ADDR;
        let [told] = endpoints(&request)[..] else {
            panic!("one")
        };
        assert_eq!((told.id, told.address), (0, endpoint.address));
    }
}

#[test]
fn every_flag_has_its_bit() {
    for at in 0..5 {
        assert_eq!(EndpointFlags::from_bits(1 << at).bits(), 1 << at);
    }
    // A flag of a newer kernel.
    assert_eq!(EndpointFlags::from_bits(1 << 5), EndpointFlags::default());
    assert!(EndpointFlags::from_bits(1 << 2).backup);
}

#[test]
fn numbers_are_used_one_after_another() {
    let there = expected();
    assert_eq!(next_id(1, &there), 2);
    assert_eq!(next_id(2, &there), 4, "3 is taken");
    assert_eq!(next_id(8, &there), 10);
    assert_eq!(next_id(u8::MAX, &there), 1, "0 is none");
    let all: Vec<_> = (1..=u8::MAX)
        .map(|id| Endpoint { id, ..there[0] })
        .collect();
    assert_eq!(next_id(7, &all), 0);
    assert_eq!(next_id(7, &all[..254]), 255);
    assert_eq!(next_id(7, &all[1..]), 1);
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = |body: &dyn Fn(&mut Encoder)| {
        let request = request(FAMILY, CMD_GET_ADDR, 0, 1, body);
        let found = all(&request, |message| decode_endpoint(message, FAMILY));
        found[0].expect_err("wrong").to_string()
    };
    assert_eq!(wrong(&|_| {}), "MPTCP_PM_ATTR_ADDR is missing");
    let inside = |kind, value: &'static [u8]| {
        wrong(&move |e| e.nested(ATTR_ADDR, |e| e.attribute(kind, value)))
    };
    let address = "MPTCP_PM_ADDR_ATTR_ADDR4";
    assert_eq!(inside(ADDR_ATTR_ID, &[1]), format!("{address} is missing"));
    let length = format!("{address} has a wrong length");
    assert_eq!(inside(ADDR_ATTR_ADDR4, &[1; 16]), length);
    let length = "MPTCP_PM_ADDR_ATTR_PORT has a wrong length";
    assert_eq!(inside(ADDR_ATTR_PORT, &[1; 4]), length);
    let bare = request(FAMILY, CMD_GET_LIMITS, 0, 1, |e| {
        e.attribute(ATTR_SUBFLOWS, &[0; 4])
    });
    let found = all(&bare, |message| decode_limits(message, FAMILY));
    let error = found[0].expect_err("wrong").to_string();
    assert_eq!(error, "MPTCP_PM_ATTR_RCV_ADD_ADDRS is missing");
}
