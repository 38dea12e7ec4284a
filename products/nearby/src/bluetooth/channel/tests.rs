use tokio::io::DuplexStream;

use super::*;

const OWN: Id = Id([1; 8]);
const OTHER: Id = Id([2; 8]);

/// GATT that accepts all frames, if present.
struct Taken(mpsc::Sender<Vec<u8>>, bool);

impl Gatt for Taken {
    fn is_there(&self) -> bool {
        self.1
    }

    fn put(&self, frame: &[u8]) -> impl Future<Output = io::Result<()>> + Send {
        let sent = self.0.send(frame.to_vec());
        async move { sent.await.map_err(|_| io::ErrorKind::BrokenPipe.into()) }
    }
}

/// A connection, and the peer's end of its channels.
struct Lab {
    frames: mpsc::Sender<Vec<u8>>,
    make: mpsc::Sender<OpenChannel<DuplexStream>>,
    gatt: mpsc::Receiver<Vec<u8>>,
    told: mpsc::Receiver<BluetoothEvent>,
    carried: Arc<AtomicBool>,
    hushed: watch::Sender<bool>,
}

impl Lab {
    fn new() -> Self {
        Self::with(true)
    }

    fn with(gatt_is_there: bool) -> Self {
        let (frames, writes) = mpsc::channel(4);
        let (make, made) = mpsc::channel(1);
        let (put, gatt) = mpsc::channel(16);
        let (tell, told) = mpsc::channel(64);
        let carried = Arc::default();
        let hushed = watch::Sender::new(false);
        let line = Transport {
            link: 7,
            own: OWN,
            gatt: Taken(put, gatt_is_there),
            frame: Arc::new(20.into()),
            carried: Arc::clone(&carried),
            hushed: hushed.subscribe(),
            frames: writes,
            made,
            told: tell,
        };
        tokio::spawn(line.run());
        Self {
            frames,
            make,
            gatt,
            told,
            carried,
            hushed,
        }
    }

    /// Opens a channel that accepts so many bytes without being read.
    async fn channel(&self, caller: bool, takes: usize) -> DuplexStream {
        let (stream, other) = tokio::io::duplex(takes);
        let made = self.make.send(OpenChannel { stream, caller }).await;
        assert!(made.is_ok());
        other
    }

    async fn say(&self, frame: &[u8]) {
        assert!(self.frames.send(frame.to_vec()).await.is_ok());
    }

    /// Returns the next event other than a completed write.
    async fn told(&mut self) -> BluetoothEvent {
        loop {
            match self.told.recv().await.expect("something is told") {
                BluetoothEvent::Written(7) => {}
                told => return told,
            }
        }
    }

    async fn carries(&mut self, wanted: bool) {
        match self.told().await {
            BluetoothEvent::Channel(7, is) => assert_eq!(is, wanted),
            _ => panic!("something else than a channel"),
        }
    }

    async fn heard(&mut self, wanted: &[u8]) {
        match self.told().await {
            BluetoothEvent::Heard(7, frame) => assert_eq!(frame, wanted),
            _ => panic!("something else than a frame"),
        }
    }

    /// Opens a channel with introductions by both sides.
    async fn greeted(&mut self, takes: usize) -> DuplexStream {
        let mut other = self.channel(true, takes).await;
        assert_eq!(next(&mut other).await, id(OWN));
        put_all(&mut other, &channel::written(&id(OTHER))).await;
        self.heard_and_carries().await;
        other
    }

    /// The two may happen in any order.
    async fn heard_and_carries(&mut self) {
        let (mut heard, mut carries) = (false, false);
        while !(heard && carries) {
            match self.told().await {
                BluetoothEvent::Heard(7, frame) => heard = frame == id(OTHER),
                BluetoothEvent::Channel(7, is) => carries = is,
                _ => panic!("something else"),
            }
        }
    }
}

fn id(id: Id) -> Vec<u8> {
    Frame::Control(Control::Id(id)).octets()
}

async fn put_all(stream: &mut DuplexStream, octets: &[u8]) {
    stream.write_all(octets).await.expect("written");
}

async fn next(stream: &mut DuplexStream) -> Vec<u8> {
    let length = stream.read_u32().await.expect("a length");
    let mut frame = vec![0; length as usize];
    stream.read_exact(&mut frame).await.expect("a frame");
    frame
}

/// Runs it.
fn run(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    runtime.block_on(test);
}

#[test]
fn a_channel_carries_frames_when_both_said_who_they_are() {
    run(async {
        let mut lab = Lab::new();
        let mut other = lab.channel(true, 65_536).await;
        assert_eq!(next(&mut other).await, id(OWN));
        // A silent peer, as qaul's: all frames go by GATT.
        lab.say(&[8, 1, 2]).await;
        assert_eq!(lab.gatt.recv().await, Some(vec![8, 1, 2]));
        put_all(&mut other, &channel::written(&vec![9; 20_000])).await;
        assert!(
            matches!(lab.told().await, BluetoothEvent::Whole(7, octets) if octets == [9; 20_000])
        );
        put_all(&mut other, &channel::written(&id(OTHER))).await;
        lab.heard_and_carries().await;
        let long = vec![8; FRAME];
        lab.say(&long).await;
        assert_eq!(next(&mut other).await, long);
        put_all(&mut other, &channel::written(&[8; 2_000])).await;
        lab.heard(&[8; 2_000]).await;
        assert!(lab.gatt.try_recv().is_err());
    });
}

#[test]
fn who_is_called_says_nothing_before_the_caller() {
    run(async {
        let mut lab = Lab::new();
        let mut other = lab.channel(false, 65_536).await;
        let silent = tokio::time::timeout(Duration::from_millis(50), other.read_u8()).await;
        assert!(silent.is_err());
        put_all(&mut other, &channel::written(&id(OTHER))).await;
        assert_eq!(next(&mut other).await, id(OWN));
        lab.heard_and_carries().await;
    });
}

#[test]
fn a_channel_that_ends_lies_or_says_nothing_known_is_closed_and_gatt_goes_on() {
    let lies: [&[u8]; 4] = [
        &[0, 0, 0, 0],
        &[0xff; 6],
        &[0, 4, 0, 0],
        &[0xff, 0xff, 0xff, 0xff],
    ];
    run(async {
        for lie in lies.iter().chain([&&b""[..]]) {
            let mut lab = Lab::new();
            let mut other = lab.greeted(65_536).await;
            put_all(&mut other, lie).await;
            match lie {
                [] => drop(other),
                _ => assert_eq!(other.read(&mut [0; 9]).await.expect("closed"), 0),
            }
            lab.carries(false).await;
            lab.say(&[8, 1]).await;
            assert_eq!(lab.gatt.recv().await, Some(vec![8, 1]));
            // Frames cut for the ended channel are discarded.
            lab.say(&[8; 300]).await;
            lab.say(&[6]).await;
            assert_eq!(lab.gatt.recv().await, Some(vec![6]));
        }
        // Frames before an introduction are ignored.
        let mut lab = Lab::new();
        let mut other = lab.channel(false, 65_536).await;
        put_all(&mut other, &channel::written(&[8; 9])).await;
        assert_eq!(other.read(&mut [0; 9]).await.expect("closed"), 0);
        lab.say(&[6]).await;
        assert_eq!(lab.gatt.recv().await, Some(vec![6]));
        assert!(matches!(
            lab.told.try_recv(),
            Ok(BluetoothEvent::Written(7))
        ));
        assert!(lab.told.try_recv().is_err());
    });
}

#[test]
fn a_channel_that_takes_nothing_is_given_up() {
    run(async {
        let mut lab = Lab::new();
        let other = lab.greeted(64).await;
        let begun = Instant::now();
        lab.say(&[8; 2_000]).await;
        lab.say(&[3, 1]).await;
        lab.carries(false).await;
        assert!(begun.elapsed() >= STALLS);
        assert_eq!(lab.gatt.recv().await, Some(vec![3, 1]));
        drop(other);
    });
}

#[test]
fn another_channel_takes_the_place_of_the_one_before() {
    run(async {
        let mut lab = Lab::new();
        let mut first = lab.greeted(65_536).await;
        let mut second = lab.channel(false, 65_536).await;
        lab.carries(false).await;
        assert_eq!(first.read(&mut [0; 9]).await.expect("closed"), 0);
        put_all(&mut second, &channel::written(&id(OTHER))).await;
        assert_eq!(next(&mut second).await, id(OWN));
        lab.heard_and_carries().await;
    });
}

#[test]
fn a_number_is_one_that_others_may_have() {
    assert_eq!(psm(&[0, 0, 0, 0x80]), Some(0x80));
    assert_eq!(psm(&[0, 0, 0, 0xff]), Some(0xff));
    for other in [
        &[0xff; 4][..],
        &[0, 0, 0, 0x27],
        &[0, 0, 1, 0x80],
        &[0, 1, 0, 0x80],
        &[0, 0x80],
        &[],
    ] {
        assert_eq!(psm(other), None);
    }
}

/// BlueZ notifies another one.
#[tokio::test]
async fn without_gatt_what_is_said_waits_for_a_channel_and_ends_with_it() {
    let mut lab = Lab::with(false);
    let said = Frame::Control(Control::Ping).octets();
    let mut other = lab.channel(false, 4_096).await;
    lab.say(&said).await;
    put_all(&mut other, &channel::written(&id(OTHER))).await;
    lab.heard_and_carries().await;
    assert_eq!(next(&mut other).await, id(OWN));
    assert_eq!(next(&mut other).await, said);
    drop(other);
    lab.carries(false).await;
    assert!(matches!(lab.told().await, BluetoothEvent::Closed(7)));
    assert!(lab.gatt.recv().await.is_none(), "nothing went there");
}

#[tokio::test]
async fn who_can_be_told_nothing_is_let_go() {
    for says in [false, true] {
        let mut lab = Lab::with(false);
        let began = Instant::now();
        let other = lab.channel(!says, 4_096).await;
        assert!(matches!(lab.told().await, BluetoothEvent::Closed(7)));
        assert!(began.elapsed() >= UNHEARD);
        drop(other);
    }
}

/// Notifications from before the channel are still in flight.
#[tokio::test]
async fn what_is_notified_is_passed_over_a_while_after_a_channel_carries() {
    let mut lab = Lab::new();
    let other = lab.greeted(4_096).await;
    assert!(!lab.carried.load(Ordering::Relaxed));
    tokio::time::sleep(SETTLES + Duration::from_millis(500)).await;
    assert!(lab.carried.load(Ordering::Relaxed));
    drop(other);
    lab.carries(false).await;
    assert!(!lab.carried.load(Ordering::Relaxed));
}

#[tokio::test]
async fn what_others_would_hear_waits_but_not_by_a_channel() {
    let mut lab = Lab::new();
    lab.hushed.send_replace(true);
    lab.say(&[3, 1]).await;
    let early = tokio::time::timeout(Duration::from_millis(50), lab.gatt.recv()).await;
    assert!(early.is_err());
    lab.hushed.send_replace(false);
    assert_eq!(lab.gatt.recv().await, Some(vec![3, 1]));
    lab.hushed.send_replace(true);
    let mut other = lab.greeted(4_096).await;
    lab.say(&[3, 2]).await;
    let soon = tokio::time::timeout(UNHEARD, next(&mut other)).await;
    assert_eq!(soon.expect("it does not wait"), [3, 2]);
}
