use proptest::prelude::*;

use super::*;
use crate::envelope::{Key, identification};

/// A module at an address, and its messages to libqaul.
struct Place {
    module: Module,
    told: Vec<Kind>,
}

fn address(at: u8) -> Address {
    [0, 0, 0, 0, 0, at]
}

fn id(at: u8) -> Id {
    Id([at; 8])
}

fn octets(kind: Kind) -> Vec<u8> {
    let message = Some(kind);
    Ble { message }.encode_to_vec()
}

fn start(at: u8) -> Vec<u8> {
    octets(Kind::StartRequest(wire::StartRequest {
        qaul_id: vec![at; 8],
        power_setting: 2,
    }))
}

fn sending(number: u8, to: Id, data: Vec<u8>) -> Vec<u8> {
    octets(Kind::DirectSend(wire::DirectSend {
        message_id: vec![number; 16],
        receiver_id: to.0.to_vec(),
        sender_id: Vec::new(),
        data,
    }))
}

impl Place {
    fn new(at: u8) -> Self {
        let device = Device {
            name: "hci0".to_owned(),
            address: address(at),
            on: true,
        };
        Self {
            module: Module::new(device, [Format::V1, Format::V2].into(), 4),
            told: Vec::new(),
        }
    }

    fn started(at: u8) -> Self {
        let mut place = Self::new(at);
        let out = place.module.command(0, &start(at));
        assert_eq!(out, Ok(vec![ModuleAction::Begin(id(at), Power::Fast)]));
        place.module.began(Ok(()));
        place
    }

    fn take(&mut self, out: Vec<ModuleAction>) {
        for out in out {
            if let ModuleAction::Tell(octets) = out {
                let told = Ble::decode(octets.as_slice()).expect("what was encoded");
                self.told.push(told.message.expect("something"));
            }
        }
    }

    fn says(&mut self, octets: &[u8]) {
        let out = self.module.command(0, octets).expect("a command");
        self.take(out);
    }

    fn failures(&self) -> Vec<(Vec<u8>, String)> {
        let failure = |kind: &Kind| match kind {
            Kind::DirectSendResult(it) if !it.success => {
                Some((it.id.clone(), it.error_message.clone()))
            }
            _ => None,
        };
        self.told.iter().filter_map(failure).collect()
    }
}

/// Two that have a connection, by v2.
fn pair() -> [Place; 2] {
    let mut pair = [Place::started(1), Place::started(2)];
    for (at, place) in pair.iter_mut().enumerate() {
        let other = 2 - at as u8;
        let seen = Event::Seen {
            address: address(other),
            format: Format::V2,
            prefix: None,
            signal: Some(-57),
        };
        let opened = Event::Opened {
            link: 1,
            address: address(other),
            format: Format::V2,
            caller: at == 0,
            id: Some(id(other)),
            frame: 20,
        };
        for event in [seen, opened] {
            let out = place.module.event(0, event);
            place.take(out);
        }
    }
    pair
}

fn run(pair: &mut [Place; 2]) {
    for now in 0..2_000 {
        for from in [0, 1] {
            let (frame, out) = pair[from].module.next(now, 1);
            pair[from].take(out);
            if let Some(frame) = frame {
                let out = pair[1 - from].module.event(now, Event::Heard(1, &frame));
                pair[1 - from].take(out);
            }
        }
    }
}

/// Bytes as in protobuf's own documentation, because field numbers alone prove nothing.
#[test]
fn what_libqaul_says_is_read_by_its_octets() {
    let mut place = Place::new(1);
    place.says(&[0x0a, 0x00]);
    let Kind::InfoResponse(info) = &place.told[0] else {
        panic!("{:?}", place.told);
    };
    let device = info.device.clone().expect("for older ones");
    assert_eq!(info.devices, std::slice::from_ref(&device));
    assert_eq!(
        (device.id.as_str(), device.name.as_str()),
        ("00:00:00:00:00:01", "hci0")
    );
    let start = [&[0x1a, 0x0c, 0x0a, 0x08][..], &[7; 8], &[0x10, 0x01]].concat();
    let out = place.module.command(0, &start);
    assert_eq!(out, Ok(vec![ModuleAction::Begin(id(7), Power::Balanced)]));
    let told = place.module.began(Ok(()));
    assert_eq!(told, [ModuleAction::Tell(vec![0x22, 0x02, 0x08, 0x01])]);
    let send = [
        &[0x4a, 0x0f, 0x0a, 0x01, 0x05, 0x12, 0x08][..],
        &[9; 8],
        &[0x22, 0x00],
    ]
    .concat();
    place.says(&send);
    assert_eq!(
        place.failures(),
        [(vec![5], "0909090909090909 is not near".to_owned())]
    );
}

#[test]
fn what_one_sends_the_other_receives_and_success_is_told_by_the_message_s_id() {
    let mut pair = pair();
    assert_eq!(
        pair[0].told,
        [Kind::DeviceDiscovered(wire::DeviceDiscovered {
            qaul_id: vec![2; 8],
            rssi: -57,
        })]
    );
    pair[0].told.clear();
    pair[1].told.clear();
    let all: Vec<Vec<u8>> = (1..4).map(|at| vec![at; 300 * usize::from(at)]).collect();
    for (number, data) in (1..).zip(&all) {
        pair[0].says(&sending(number, id(2), data.clone()));
    }
    assert_eq!(pair[0].told, [], "nothing is known yet");
    run(&mut pair);
    let received = all.iter().map(|data| {
        Kind::DirectReceived(wire::DirectReceived {
            from: vec![1; 8],
            data: data.clone(),
        })
    });
    assert_eq!(pair[1].told, received.collect::<Vec<_>>());
    let results = (1..4).map(|number| {
        Kind::DirectSendResult(wire::DirectSendResult {
            id: vec![number; 16],
            success: true,
            error_message: String::new(),
        })
    });
    assert_eq!(pair[0].told, results.collect::<Vec<_>>());
}

/// libqaul identifies itself, and repeats a message to a neighbour itself.
#[test]
fn whatever_comes_is_given_on_and_nothing_is_answered() {
    let mut pair = pair();
    let asks = identification(&Key::from_seed(&[1; 32]).expect("any seed").node(), true);
    for number in [1, 2] {
        pair[0].says(&sending(number, id(2), asks.clone()));
    }
    run(&mut pair);
    let received = |place: &Place| {
        let is = |it: &&Kind| matches!(it, Kind::DirectReceived(_));
        place.told.iter().filter(is).count()
    };
    assert_eq!([received(&pair[0]), received(&pair[1])], [0, 2]);
}

#[test]
fn what_cannot_be_sent_is_told_with_the_reason() {
    let mut place = Place::new(1);
    place.says(&sending(1, id(2), vec![1]));
    place.says(&start(1));
    place.says(&sending(2, id(2), vec![1]));
    place.says(&sending(3, id(2), vec![1; LONGEST + 1]));
    let short = wire::DirectSend {
        message_id: vec![4],
        receiver_id: vec![1; 17],
        ..wire::DirectSend::default()
    };
    place.says(&octets(Kind::DirectSend(short)));
    let why: Vec<String> = place.failures().into_iter().map(|it| it.1).collect();
    assert_eq!(
        why,
        [
            "the module was not started",
            "0202020202020202 is not near",
            &format!("a message has at most {LONGEST} octets"),
            "an id has 8 bytes, not 17",
        ]
    );
}

#[test]
fn a_start_that_fails_is_told_and_nothing_runs() {
    let mut place = Place::new(1);
    place.says(&octets(Kind::StartRequest(wire::StartRequest::default())));
    assert_eq!(
        place.told,
        [Kind::StartResult(wire::Done {
            success: false,
            error_reason: 0,
            error_message: "an id has 8 bytes, not 0".to_owned(),
        })]
    );
    place.says(&start(1));
    let out = place.module.began(Err((Why::Device, "no hci0".to_owned())));
    assert_eq!(out.len(), 1);
    place.says(&sending(1, id(2), vec![1]));
    assert_eq!(place.failures()[0].1, "the module was not started");
}

/// A stop request is an empty message: libqaul omits the envelope.
#[test]
fn a_stop_tells_what_came_to_nothing_and_that_nobody_is_near() {
    for stop in [octets(Kind::StopRequest(wire::Nothing {})), Vec::new()] {
        let mut pair = pair();
        pair[0].told.clear();
        pair[0].says(&sending(1, id(2), vec![1; 100]));
        let out = pair[0].module.command(0, &stop).expect("a command");
        assert!(out.contains(&ModuleAction::End));
        pair[0].take(out);
        let [
            Kind::DirectSendResult(lost),
            Kind::DeviceUnavailable(gone),
            Kind::StopResult(done),
        ] = pair[0].told.as_slice()
        else {
            panic!("{:?}", pair[0].told);
        };
        assert!(!lost.success && done.success);
        assert_eq!(gone.qaul_id, [2; 8]);
        assert_eq!(pair[0].module.next(1, 1), (None, Vec::new()));
    }
}

#[test]
fn what_only_a_module_says_is_refused() {
    let mut place = Place::new(1);
    let said = octets(Kind::StopResult(wire::result(Ok(()))));
    assert_eq!(place.module.command(0, &said), Err(Error::Module));
    assert!(matches!(
        place.module.command(0, &[0xff]),
        Err(Error::Decode(_))
    ));
    // An unknown field.
    assert!(matches!(
        place.module.command(0, &[0x78, 0x01]),
        Err(Error::Decode(_))
    ));
}

proptest! {
    #[test]
    fn whatever_libqaul_says_is_no_panic(octets in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Place::started(1).module.command(0, &octets);
    }
}
