use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use api::{AccessLevel, ApiRequest, Limits, Listener, Problem, Route, Routes};
use setup_core::messages::{SetupChange, SetupPortUse};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// Simulates the process that writes the configuration: its answer depends on the device's name.
struct Clerk {
    socket: PathBuf,
    _ends: tokio::sync::oneshot::Sender<()>,
}

impl Clerk {
    fn start(name: &str) -> Self {
        let socket = std::env::temp_dir().join(format!("weir-clerk-{}-{name}", std::process::id()));
        let (ends, ended) = tokio::sync::oneshot::channel::<()>();
        let (ready, is_ready) = channel();
        let at = socket.clone();
        thread::spawn(move || {
            let runtime = runtime::event_loop().expect("a loop");
            runtime.block_on(async {
                let listener = Listener::bind(&at).expect("a socket");
                ready.send(()).expect("somebody waits");
                let routes = routes();
                tokio::select! {
                    () = api::serve(Rc::new(listener), &routes, Limits::default()) => {}
                    _ = ended => {}
                }
            });
        });
        is_ready.recv().expect("it to start");
        Self {
            socket,
            _ends: ends,
        }
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn done() -> SetupOutcome {
    SetupOutcome {
        change: SetupChange {
            number: 7,
            why: String::new(),
            who: "weir cables".into(),
            when: 99,
            left: Some(60),
            files: Vec::new(),
            lines: Vec::new(),
        },
        address: None,
        once: Vec::new(),
    }
}

fn routes() -> Routes {
    let made = Rc::new(Cell::new(false));
    let (seen, sets, ends) = (Rc::clone(&made), Rc::clone(&made), made);
    Routes::new([
        Route::get("/v1/setup/ports", AccessLevel::User, move |()| {
            let eth1 = SetupPortUse {
                device: "eth1".into(),
                used: match seen.get() {
                    true => SetupUse::Uplink,
                    false => SetupUse::None,
                },
                by_weir: seen.get(),
            };
            let ports = vec![eth1];
            let system = "debian".into();
            Ok(SetupPorts { system, ports })
        }),
        Route::new(
            Method::POST,
            "/v1/setup/ports",
            AccessLevel::User,
            move |asked: ApiRequest<(), SetupPortsRequest>| {
                let refused = |code| Err(Problem::new(409, code, "no", "ask again"));
                match &*asked.body.ports[0].device {
                    "so-already" => refused("nothing"),
                    "waits" => refused("waits"),
                    "refused" => refused("setup"),
                    // Another user reverts the change at once.
                    "undone" => Ok(done()),
                    _ => {
                        sets.set(true);
                        Ok(done())
                    }
                }
            },
        ),
        Route::new(
            Method::POST,
            "/v1/setup/confirm",
            AccessLevel::User,
            move |asked: ApiRequest<(), SetupConfirm>| {
                assert_eq!((asked.body.number, asked.body.when), (Some(7), Some(99)));
                Ok(done())
            },
        ),
        Route::new(
            Method::POST,
            "/v1/setup/revert",
            AccessLevel::User,
            move |asked: ApiRequest<(), SetupRevert>| {
                assert_eq!((asked.body.number, asked.body.waiting), (None, Some(7)));
                ends.set(false);
                Ok(done())
            },
        ),
    ])
}

fn to_uplink(device: &str) -> MoveRequest {
    MoveRequest {
        device: device.into(),
        since: 0,
        to: Use::Uplink,
        vxlan: None,
        offer: Some(Offer {
            pppoe: false,
            vlan: Some(7),
        }),
    }
}

/// Steps until the mover reports a result; each step is 100 ms of its time.
fn told(mover: &mut Mover, now: &mut u64, wanted: &MoveRequest, works: MoveCheck) -> MoveResult {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        *now += 100;
        if let Some((one, told)) = mover.step(*now, Some(wanted), |_| works) {
            assert_eq!(&one, wanted);
            return told;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing was told");
}

#[test]
fn what_works_is_kept() {
    let clerk = Clerk::start("kept");
    let mut mover = Mover::new(&clerk.socket);
    let (mut now, wanted) = (1, to_uplink("eth1"));
    assert_eq!(
        told(&mut mover, &mut now, &wanted, MoveCheck::Yes),
        MoveResult::Made
    );
    let before = ConfiguredUse::default();
    assert_eq!(mover.used("eth1"), Some(before), "read before it asks");
    assert_eq!(
        told(&mut mover, &mut now, &wanted, MoveCheck::Yes),
        MoveResult::Kept
    );
    // The uses of ports are read again.
    let begin = Instant::now();
    while mover.used("eth1") == Some(before) && begin.elapsed() < PATIENCE {
        now += 20;
        assert_eq!(mover.step(now, None, |_| MoveCheck::Yes), None);
        thread::sleep(Duration::from_millis(1));
    }
    let after = ConfiguredUse {
        now: Use::Uplink,
        by_itself: true,
    };
    assert_eq!(mover.used("eth1"), Some(after));
}

#[test]
fn what_does_not_work_in_a_minute_is_taken_back() {
    let clerk = Clerk::start("taken-back");
    let mut mover = Mover::new(&clerk.socket);
    let (mut now, wanted) = (1, to_uplink("eth1"));
    let not_yet = MoveCheck::NotYet;
    assert_eq!(
        told(&mut mover, &mut now, &wanted, not_yet),
        MoveResult::Made
    );
    let made = now;
    assert_eq!(
        told(&mut mover, &mut now, &wanted, not_yet),
        MoveResult::TakenBack
    );
    assert!(now - made >= 60_000, "after {}", now - made);
    mover.refresh();
    let begin = Instant::now();
    while mover.used("eth1") != Some(ConfiguredUse::default()) && begin.elapsed() < PATIENCE {
        now += 20;
        mover.step(now, None, |_| not_yet);
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(mover.used("eth1"), Some(ConfiguredUse::default()));
}

#[test]
fn what_is_moot_is_taken_back_at_once_and_what_somebody_undid_is_told() {
    let clerk = Clerk::start("moot");
    let mut mover = Mover::new(&clerk.socket);
    let (mut now, wanted) = (1, to_uplink("eth1"));
    assert_eq!(
        told(&mut mover, &mut now, &wanted, MoveCheck::Yes),
        MoveResult::Made
    );
    let made = now;
    assert_eq!(
        told(&mut mover, &mut now, &wanted, MoveCheck::Moot),
        MoveResult::TakenBack
    );
    assert!(now - made < 50_000, "after {}", now - made);
    let wanted = to_uplink("undone");
    let not_yet = MoveCheck::NotYet;
    assert_eq!(
        told(&mut mover, &mut now, &wanted, not_yet),
        MoveResult::Made
    );
    assert_eq!(
        told(&mut mover, &mut now, &wanted, not_yet),
        MoveResult::Undone
    );
}

#[test]
fn a_refusal_is_told_and_what_can_be_tried_again_is() {
    let clerk = Clerk::start("refused");
    let mut mover = Mover::new(&clerk.socket);
    let mut now = 1;
    let wanted = to_uplink("refused");
    let refused = told(&mut mover, &mut now, &wanted, MoveCheck::Yes);
    assert_eq!(refused, MoveResult::Refused("no".into()));
    let wanted = to_uplink("so-already");
    assert_eq!(
        told(&mut mover, &mut now, &wanted, MoveCheck::Yes),
        MoveResult::Kept
    );
    let wanted = to_uplink("waits");
    let first = told(&mut mover, &mut now, &wanted, MoveCheck::Yes);
    assert!(matches!(first, MoveResult::Later(_)), "{first:?}");
    let before = now;
    let again = told(&mut mover, &mut now, &wanted, MoveCheck::Yes);
    assert!(matches!(again, MoveResult::Later(_)), "{again:?}");
    assert!(now - before >= 10_000, "after {}", now - before);
}

#[test]
fn where_nobody_writes_the_configuration_that_is_said() {
    let mut mover = Mover::new(Path::new("/nowhere/socket"));
    let mut now = 1;
    let MoveResult::Later(why) = told(&mut mover, &mut now, &to_uplink("eth1"), MoveCheck::Yes)
    else {
        panic!("it is to be tried again");
    };
    assert!(why.contains("the setup process does not run"), "{why}");
    assert_eq!(mover.used("eth1"), None);
}
