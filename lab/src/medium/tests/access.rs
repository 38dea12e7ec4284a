//! Tests of channel access.

use kernel::hwsim::{Rate as Told, USE_RTS};

use super::super::{Counts, Interferer, Position, Scene, Wall};
use super::{CHANNEL, FAST, SECOND, SLOW, World, data, rate};

/// Two pairs of an access point and its station, 5 m from each other: `a` and `b`, `c` and `d`.
/// Radios are numbered in the order of their names.
fn pairs(apart: f64) -> Scene {
    Scene::default()
        .with("a", 0.0, 0.0)
        .with("b", 0.0, 5.0)
        .with("c", apart, 0.0)
        .with("d", apart, 5.0)
}

const BOTH: [(usize, usize); 2] = [(0, 1), (2, 3)];

fn megabits(world: &World, radio: usize) -> f64 {
    world.acknowledged(radio) * 1536.0 * 8.0 / 1e6
}

#[test]
fn a_signal_is_power_less_loss_and_energy_power_by_time() {
    let scene = pairs(30.0);
    let loss = scene.loss(Position::new(0.0, 0.0), Position::new(0.0, 5.0), CHANNEL);
    let mut world = World::new(scene, 1);
    world.air.set_power(0, 17.0);
    world.air.set_power(1, 10.0);
    let cookie = world.send(0, data(0, 1, 1536), rate(FAST, 4, 0));
    world.pass(SECOND);
    assert_eq!(
        world.seen.heard,
        [(1, cookie, (17.0 - loss).round() as i32)]
    );
    let [(radio, told, tried, signal)] = world.seen.told[..] else {
        panic!("{:?}", world.seen);
    };
    assert_eq!((radio, told), (0, cookie));
    assert_eq!(
        (tried[0].index, tried[0].count, tried[1].index),
        (FAST, 1, -1)
    );
    assert_eq!(signal, (10.0 - loss).round() as i32);
    let counts: Vec<_> = world.air.counts().map(|(_, counts)| counts).collect();
    // 248 µs with 50.1 mW; the station's acknowledgement takes 28 µs with 10 mW.
    assert_eq!((counts[0].airtime, counts[1].airtime), (248_000, 28_000));
    assert!((counts[0].energy - 50.12 * 248e-6).abs() < 1e-5);
    assert!((counts[1].energy - 10.0 * 28e-6).abs() < 1e-6);
}

/// IEEE 802.11a with 54 Mbit/s: AIFS of best effort 43 µs, 7.5 slots of backoff, 248 µs of data,
/// SIFS, 28 µs of acknowledgement: 30.5 Mbit/s.
#[test]
fn one_alone_is_as_fast_as_the_standard_allows() {
    let world = World::run(pairs(30.0), &BOTH[..1], rate(FAST, 4, 0));
    let got = megabits(&world, 0);
    assert!((30.2..30.9).contains(&got), "{got}");
    assert_eq!(world.failed(0), 0.0);
}

#[test]
fn two_that_hear_each_other_share_and_two_that_do_not_send_at_once() {
    let mut world = World::new(pairs(40.0), 7);
    let fast = rate(FAST, 7, 0);
    world.saturate(&BOTH, 1536, fast, 2 * SECOND);
    let (one, other) = (megabits(&world, 0) / 2.0, megabits(&world, 2) / 2.0);
    println!("with 20 dBm: {one:.1} and {other:.1} Mbit/s");
    assert!((0.85..1.18).contains(&(one / other)), "{one} and {other}");
    assert!((28.0..37.0).contains(&(one + other)), "{one} and {other}");
    // Collisions take a tenth, with windows of 16 slots.
    let over = |world: &World| {
        let counts: Vec<_> = world.air.counts().map(|(_, counts)| counts).collect();
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>() as f64;
        sum(|counts| counts.over_others) / sum(|counts| counts.airtime)
    };
    let collided = over(&world);
    assert!((0.01..0.15).contains(&collided), "{collided}");
    // The pairs do not detect each other, and each interferes 27 dB below the other's signal.
    for radio in 0..4 {
        world.air.set_power(radio, 0.0);
    }
    world.seen = Default::default();
    world.saturate(&BOTH, 1536, fast, 2 * SECOND);
    let (one, other) = (megabits(&world, 0) / 2.0, megabits(&world, 2) / 2.0);
    println!("with 0 dBm: {one:.1} and {other:.1} Mbit/s");
    assert!(one > 25.0 && other > 25.0, "{one} and {other}");
    assert!(
        over(&world) > 2.0 * collided,
        "{} and {collided}",
        over(&world)
    );
}

/// Two stations that a wall hides from each other, and an access point that hears both alike.
fn hidden() -> Scene {
    let wall = Wall {
        ends: [Position::new(0.0, 0.5), Position::new(0.0, 50.0)],
        loss: 60.0,
    };
    let mut scene = Scene::default()
        .with("a", -10.0, 5.0)
        .with("b", 10.0, 5.0)
        .with("c", 0.0, -5.0);
    scene.walls.insert("wall".into(), wall);
    scene
}

#[test]
fn hidden_stations_collide_and_asking_first_helps() {
    let towards = [(0, 2), (1, 2)];
    let sum = |scene: Scene, flags: u16| {
        // A slow rate makes long frames.
        let mut world = World::new(scene, 3);
        world.saturate(&towards, 1536, rate(2, 7, flags), SECOND);
        (
            megabits(&world, 0) + megabits(&world, 1),
            world.failed(0) + world.failed(1),
        )
    };
    let open = sum(
        Scene {
            walls: Default::default(),
            ..hidden()
        },
        0,
    );
    let (blind, asked) = (sum(hidden(), 0), sum(hidden(), USE_RTS));
    println!("Mbit/s and frames lost: {open:?} seen, {blind:?} hidden, {asked:?} with RTS");
    assert!(blind.0 < 0.75 * open.0, "{blind:?} of {open:?}");
    assert!(
        asked.0 > 1.15 * blind.0 && asked.1 < blind.1,
        "{asked:?}, {blind:?}"
    );
}

#[test]
fn the_stronger_of_two_gets_through() {
    // `a` is much nearer than `b`.
    let mut scene = hidden().with("a", -2.0, -4.0);
    let wall = scene.walls.get_mut("wall").expect("it is there");
    wall.ends[0] = Position::new(0.0, -4.5);
    let world = World::run(scene, &[(0, 2), (1, 2)], rate(2, 7, 0));
    let (near, far) = (megabits(&world, 0), megabits(&world, 1));
    println!("{near:.1} from near, {far:.1} from far");
    assert!(near > 5.0 * far, "{near} and {far}");
    assert_eq!(world.failed(0), 0.0);
}

#[test]
fn a_frame_is_tried_as_it_was_told_to_be() {
    // 54 Mbit/s do not reach 60 m.
    let scene = Scene::default().with("a", 0.0, 0.0).with("b", 0.0, 60.0);
    let mut world = World::new(scene, 1);
    let mut rates = rate(FAST, 2, 0);
    rates[1] = Told {
        index: FAST - 1,
        count: 3,
        flags: 0,
    };
    let lost = world.send(0, data(0, 1, 1536), rates);
    rates[2] = Told {
        index: SLOW,
        count: 5,
        flags: 0,
    };
    let found = world.send(0, data(0, 1, 1536), rates);
    world.pass(SECOND);
    let tries = |cookie| {
        let told = world.seen.told.iter().find(|told| told.1 == cookie);
        told.expect("it was told")
            .2
            .map(|rate| (rate.index, rate.count))
    };
    assert_eq!(tries(lost), [(FAST, 2), (FAST - 1, 3), (-1, 0), (-1, 0)]);
    assert_eq!(tries(found), [(FAST, 2), (FAST - 1, 3), (SLOW, 1), (-1, 0)]);
    assert_eq!((world.acknowledged(0), world.failed(0)), (1.0, 1.0));
    assert_eq!(world.seen.heard.len(), 1);
}

#[test]
fn less_power_is_never_faster() {
    let mut last = f64::INFINITY;
    for power in [20.0, 19.0, 18.0, 17.0, 16.0, 14.0] {
        let scene = Scene::default().with("a", 0.0, 0.0).with("b", 0.0, 25.0);
        let mut world = World::new(scene, 1);
        world.air.set_power(0, power);
        world.saturate(&[(0, 1)], 1536, rate(FAST, 4, 0), SECOND);
        let got = megabits(&world, 0);
        println!("{power} dBm: {got:.1} Mbit/s");
        assert!(got <= last + 0.5, "{power} dBm: {got} after {last}");
        last = got;
    }
    assert_eq!(last, 0.0);
}

#[test]
fn an_interferer_takes_its_share() {
    let with = |at: Position, duty: f64| {
        let mut scene = pairs(30.0);
        scene.interferers.push(Interferer {
            at,
            power: 20.0,
            duty,
            period: 20.0,
        });
        let world = World::run(scene, &BOTH[..1], rate(FAST, 4, 0));
        megabits(&world, 0)
    };
    let free = with(Position::new(0.0, 0.0), 0.0);
    let (half, far) = (
        with(Position::new(0.0, 2.0), 0.5),
        with(Position::new(2000.0, 0.0), 0.5),
    );
    println!("{free:.1} without, {half:.1} near, {far:.1} far");
    assert!((0.4..0.55).contains(&(half / free)), "{half} of {free}");
    assert!(far > 0.97 * free, "{far} of {free}");
}

#[test]
fn everybody_hears_a_beacon_once_and_nobody_far_away_does() {
    let mut world = World::new(pairs(3000.0), 1);
    let mut beacon = data(0, 1, 200);
    beacon[0] = 0x80;
    beacon[4..10].fill(0xff);
    let cookie = world.send(0, beacon, rate(SLOW, 1, 0));
    world.pass(SECOND);
    let heard: Vec<_> = world
        .seen
        .heard
        .iter()
        .map(|heard| (heard.0, heard.1))
        .collect();
    assert_eq!(heard, [(1, cookie)]);
    assert_eq!(world.seen.told.len(), 1);
    assert_eq!(world.failed(0), 1.0, "nobody acknowledged it");
}

/// The medium drops frames as the kernel does: at 100 unreported frames, all but the newest 24.
#[test]
fn what_the_kernel_gave_up_is_not_sent() {
    let scene = Scene::default().with("a", 0.0, 0.0).with("b", 0.0, 60.0);
    let mut world = World::new(scene, 1);
    for _ in 0..150 {
        world.send(0, data(0, 1, 1536), rate(FAST, 7, 0));
    }
    world.pass(10 * SECOND);
    let counts = world.air.counts().next().expect("a radio").1;
    assert_eq!((counts.frames, counts.given_up), (150, 76));
    assert_eq!(world.seen.told.len(), 74);
    assert_eq!(world.air.next(), None);
}

#[test]
fn the_same_seed_gives_the_same_and_a_fading_signal_is_right_on_average() {
    let run = |seed| {
        let scene = Scene {
            fading: 3.0,
            ..pairs(20.0)
        };
        let mut world = World::new(scene, seed);
        world.saturate(&BOTH, 700, rate(4, 7, 0), SECOND / 4);
        world.seen
    };
    let (one, same, other) = (run(1), run(1), run(2));
    assert_eq!(one.heard, same.heard);
    assert_ne!(one.heard, other.heard);
    let signals: Vec<_> = one.heard.iter().map(|heard| f64::from(heard.2)).collect();
    let mean = signals.iter().sum::<f64>() / signals.len() as f64;
    // Loss over 5 m: 67.3 dB.
    assert!((mean + 47.3).abs() < 0.4, "{mean}");
}

#[test]
fn a_wall_that_appears_is_felt_by_the_next_frame() {
    let mut world = World::new(pairs(30.0), 1);
    let mut heard = Vec::new();
    for there in [false, true, false] {
        world.air.change(|scene| {
            scene.walls.clear();
            let ends = [Position::new(-1.0, 2.0), Position::new(1.0, 2.0)];
            let wall = Wall { ends, loss: 20.0 };
            scene.walls.extend(there.then(|| ("new".to_owned(), wall)));
        });
        world.send(0, data(0, 1, 1536), rate(SLOW, 4, 0));
        world.pass(SECOND / 100);
        heard.extend(world.seen.heard.last().map(|heard| heard.2));
    }
    assert_eq!(heard, [-47, -67, -47]);
}

#[test]
fn strangers_hear_what_is_for_others_where_they_listen() {
    for overhear in [false, true] {
        let scene = Scene {
            overhear,
            ..pairs(30.0)
        };
        let mut world = World::new(scene, 1);
        world.send(0, data(0, 1, 1536), rate(SLOW, 4, 0));
        world.pass(SECOND);
        let hearers: Vec<_> = world.seen.heard.iter().map(|heard| heard.0).collect();
        let expected: &[usize] = if overhear { &[1, 2, 3] } else { &[1] };
        assert_eq!(hearers, expected);
    }
}

/// Voice leaves a radio's queue first, and waits less than other radios' frames.
#[test]
fn voice_goes_before_the_rest() {
    let mut world = World::new(pairs(20.0), 1);
    let mut voice = data(0, 1, 300);
    voice[24] = 6;
    let mut waited = Vec::new();
    for _ in 0..20 {
        for _ in 0..40 {
            world.send(0, data(0, 1, 1536), rate(SLOW, 7, 0));
            world.send(2, data(2, 3, 1536), rate(SLOW, 7, 0));
        }
        let cookie = world.send(0, voice.clone(), rate(SLOW, 7, 0));
        let begun = world.now;
        while world.seen.heard.iter().all(|heard| heard.1 != cookie) {
            world.pass(100_000);
        }
        waited.push((world.now - begun) as f64 / 1e6);
        world.pass(SECOND);
    }
    let mean = waited.iter().sum::<f64>() / waited.len() as f64;
    println!("voice waited {mean:.1} ms");
    // Of 80 frames of 2.1 ms only those on the air precede the voice frame, seldom one more.
    assert!(mean < 5.0, "{waited:?}");
}
