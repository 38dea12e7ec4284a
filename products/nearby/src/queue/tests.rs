use std::cell::Cell;
use std::rc::Rc;

use proptest::prelude::*;
use testing::Directory;

use super::*;
use crate::v2::outbox::Priority;

/// A disk that performs a number of operations and then none, with half of the last one.
#[derive(Clone, Default)]
struct Dying {
    left: Rc<Cell<Option<usize>>>,
    done: Rc<Cell<usize>>,
}

impl Dying {
    fn step(&self) -> io::Result<()> {
        self.done.set(self.done.get() + 1);
        match self.left.get() {
            Some(0) => Err(io::Error::from(io::ErrorKind::StorageFull)),
            left => {
                self.left.set(left.map(|it| it - 1));
                Ok(())
            }
        }
    }
}

impl Disk for Dying {
    fn write(&self, path: &Path, octets: &[u8]) -> io::Result<()> {
        let died = self.step();
        let size = if died.is_ok() {
            octets.len()
        } else {
            octets.len() / 2
        };
        Files.write(path, &octets[..size])?;
        died
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        Files.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        Files.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        Files.remove(path)
    }

    fn folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        Files.folder(path)
    }

    fn sync(&self, folder: &Path) -> io::Result<()> {
        self.step()?;
        Files.sync(folder)
    }
}

/// A temporary folder.
struct Folder(Directory);

impl Folder {
    fn open(&self) -> Queue<Dying> {
        self.open_with(1 << 24, &Dying::default())
    }

    fn open_with(&self, limit: u64, disk: &Dying) -> Queue<Dying> {
        Queue::open(self.0.path().to_owned(), limit, disk.clone())
    }
}

const A: Id = Id([0xa; 8]);
const B: Id = Id([0xb; 8]);

fn message(sequence: u64, peers: &[Id], size: usize) -> StoreRequest {
    StoreRequest {
        sequence,
        peers: peers.to_vec(),
        message: Message {
            number: Some(sequence),
            since: 0,
            priority: Priority::Usual,
            octets: vec![sequence as u8; size],
        },
    }
}

fn places<D: Disk>(queue: &mut Queue<D>, id: Id) -> Vec<u64> {
    let (messages, all, _) = queue.load(id, 0, 1 << 30);
    assert!(all);
    messages.into_iter().map(|(place, _)| place).collect()
}

#[test]
fn what_is_kept_is_there_after_a_restart_once_for_each_in_order() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open();
    queue.saw(5000, 1_785_000_000_000, A);
    for sequence in [1, 2, 3] {
        assert_eq!(
            queue.keep(0, &message(sequence, &[A, B], 100)),
            (true, vec![])
        );
    }
    queue.done(A, 2);
    queue.end(7000);
    let mut queue = folder.open();
    assert_eq!(places(&mut queue, A), [1, 3]);
    assert_eq!(places(&mut queue, B), [1, 2, 3]);
    assert_eq!(queue.load(B, 1, 1).0, [(2, message(2, &[], 100).message)]);
    assert_eq!((queue.clock(), queue.last()), (7000, 3));
    assert_eq!(queue.known(), [(A, 5000), (B, 7000)]);
    assert_eq!(queue.last_seen(A), 1_785_000_000_000);
    assert_eq!(queue.next_number(7000), 4);
    assert_eq!(queue.index.total(), 3 * 4096, "one file for both");
}

/// After each step everything ends.
#[test]
fn a_message_is_kept_wholly_or_not_wherever_it_ends() {
    let mut ended = 0;
    for steps in 0.. {
        let folder = Folder(Directory::new());
        let disk = Dying::default();
        let mut queue = folder.open_with(1 << 24, &disk);
        assert!(queue.keep(0, &message(1, &[A, B], 9000)).0);
        let before = disk.done.get();
        disk.left.set(Some(steps));
        let (is, _) = queue.keep(0, &message(2, &[A, B], 9000));
        let all = disk.done.get() - before;
        drop(queue);
        let mut queue = folder.open();
        for id in [A, B] {
            let there = places(&mut queue, id);
            assert_eq!(there[0], 1, "{steps}");
            assert!(!is || there == [1, 2], "{steps}: taken in, and lost");
            let (messages, _, lost) = queue.load(id, 0, 1 << 30);
            assert!(lost.is_empty(), "{steps}: half a message");
            let whole = |(place, it): &(u64, Message)| it.octets == vec![*place as u8; 9000];
            assert!(messages.iter().all(whole), "{steps}");
        }
        // Files of an interrupted write do no harm.
        assert!(queue.keep(0, &message(3, &[A], 10)).0);
        assert!(!folder.0.join("new").exists());
        assert_eq!(fs::metadata(queue.path(A, 1)).expect("there").len(), 9036);
        if is {
            break;
        }
        ended += 1;
        assert!(all >= steps);
    }
    assert!(ended >= 6, "{ended}");
}

#[test]
fn a_name_that_could_not_be_taken_away_is_not_written_through() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open();
    assert!(queue.keep(0, &message(1, &[A], 9000)).0);
    // State after a crash behind the last link.
    fs::hard_link(queue.path(A, 1), folder.0.join("new")).expect("a link");
    assert!(queue.keep(0, &message(2, &[A], 20)).0);
    assert_eq!(places(&mut queue, A), [1, 2]);
}

#[test]
fn a_full_disk_is_no_end_and_is_tried_again() {
    let folder = Folder(Directory::new());
    let disk = Dying::default();
    let mut queue = folder.open_with(1 << 24, &disk);
    disk.left.set(Some(0));
    assert_eq!(queue.keep(0, &message(1, &[A], 10)), (false, vec![]));
    disk.left.set(None);
    assert!(!queue.keep(AGAIN - 1, &message(2, &[A], 10)).0);
    assert!(queue.keep(AGAIN, &message(3, &[A], 10)).0);
    assert_eq!(places(&mut queue, A), [3]);
}

#[test]
fn without_a_folder_that_can_be_written_it_begins_all_the_same() {
    let mut queue = Queue::open(PathBuf::from("/dev/null/queue"), 1 << 24, Files);
    assert!(!queue.keep(AGAIN, &message(1, &[A], 10)).0);
    assert_eq!(queue.next_number(AGAIN), 1);
    queue.end(AGAIN);
}

#[test]
fn a_folder_that_went_away_is_made_again() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open();
    assert!(queue.keep(0, &message(1, &[A], 10)).0);
    fs::remove_dir_all(folder.0.path()).expect("gone");
    let (messages, all, lost) = queue.load(A, 0, 100);
    assert_eq!((messages.len(), all, lost.len()), (0, true, 1));
    assert!(queue.keep(0, &message(2, &[A], 10)).0);
    assert_eq!(places(&mut queue, A), [2]);
}

#[test]
fn the_oldest_goes_where_there_is_too_much() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open_with(16 * 4096, &Dying::default());
    let mut went = Vec::new();
    for sequence in 1..=20 {
        // A quarter is for one peer: four of them.
        let (is, lost) = queue.keep(0, &message(sequence, &[A], 100));
        assert!(is);
        went.extend(lost.into_iter().map(|it| (it.id, it.sequence, it.number)));
    }
    assert_eq!(
        went,
        (1..=16).map(|it| (A, it, Some(it))).collect::<Vec<_>>()
    );
    for peer in 1..=9u8 {
        for sequence in 0..2 {
            let keep = message(20 + u64::from(peer) * 2 + sequence, &[Id([peer; 8])], 4000);
            assert!(queue.keep(0, &keep).0);
        }
    }
    assert_eq!(queue.index.total(), 16 * 4096);
    let waiting = |queue: &Queue<_>, id| queue.waiting(id);
    assert_eq!(waiting(&queue, A), 0);
    assert_eq!(waiting(&queue, Id([1; 8])), 0);
    assert_eq!(waiting(&queue, Id([2; 8])), 2);
    assert!(
        !queue.keep(0, &message(99, &[A], 5 * 4096)).0,
        "too large for ever"
    );
    let again = folder.open();
    assert_eq!(again.index.total(), 16 * 4096, "and so it is on the disk");
}

/// A message that is passed on.
fn passed(sequence: u64, peers: &[Id], size: usize) -> StoreRequest {
    let mut keep = message(sequence, peers, size);
    keep.message.number = None;
    keep
}

fn sequences(lost: &[DroppedMessage]) -> Vec<(Id, u64)> {
    lost.iter().map(|it| (it.id, it.sequence)).collect()
}

/// A quarter is for one peer: four of them.
#[test]
fn what_is_said_here_does_not_give_way_to_what_is_passed_on() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open_with(16 * 4096, &Dying::default());
    let keep = |queue: &mut Queue<_>, keep: &StoreRequest| {
        let (is, lost) = queue.keep(0, keep);
        (is, sequences(&lost))
    };
    for sequence in [1, 2] {
        assert!(keep(&mut queue, &message(sequence, &[A], 100)).0);
    }
    for sequence in [3, 4] {
        assert!(keep(&mut queue, &passed(sequence, &[A], 100)).0);
    }
    // Passed-on messages replace only passed-on ones, and give way to own messages.
    assert_eq!(
        keep(&mut queue, &passed(5, &[A], 100)),
        (true, vec![(A, 3)])
    );
    assert_eq!(
        keep(&mut queue, &message(6, &[A], 100)),
        (true, vec![(A, 4)])
    );
    assert_eq!(
        keep(&mut queue, &message(7, &[A], 100)),
        (true, vec![(A, 5)])
    );
    // A passed-on message displaces nothing: the queue stores it for B, and drops it for A.
    assert_eq!(
        keep(&mut queue, &passed(8, &[A, B], 100)),
        (true, vec![(A, 8)])
    );
    assert_eq!(
        keep(&mut queue, &passed(9, &[A], 100)),
        (true, vec![(A, 9)])
    );
    assert_eq!(places(&mut queue, A), [1, 2, 6, 7]);
    assert_eq!(places(&mut queue, B), [8]);
    // Among own messages the oldest is dropped.
    assert_eq!(
        keep(&mut queue, &message(10, &[A], 100)),
        (true, vec![(A, 1)])
    );
    let again = folder.open();
    assert_eq!(again.waiting(A), 4, "and so it is on the disk");
}

/// An own message is refused when the whole queue is full.
#[test]
fn nor_where_all_together_take_too_much() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open_with(16 * 4096, &Dying::default());
    let id = |it: u64| Id([it as u8; 8]);
    for peer in 1..=4 {
        for at in 0..3 {
            assert!(queue.keep(0, &message(peer * 10 + at, &[id(peer)], 100)).0);
        }
        assert!(queue.keep(0, &passed(peer * 10 + 3, &[id(peer)], 100)).0);
    }
    let lost = |queue: &mut Queue<_>, keep: &StoreRequest| {
        let (is, lost) = queue.keep(0, keep);
        (is, sequences(&lost))
    };
    assert_eq!(
        lost(&mut queue, &passed(90, &[A], 100)),
        (true, vec![(id(1), 13)])
    );
    for (sequence, goes) in [(91, (id(2), 23)), (92, (id(3), 33)), (93, (id(4), 43))] {
        assert_eq!(
            lost(&mut queue, &message(sequence, &[B], 100)),
            (true, vec![goes])
        );
    }
    assert_eq!(
        lost(&mut queue, &message(94, &[B], 100)),
        (true, vec![(A, 90)])
    );
    // Now all messages are own ones.
    assert_eq!(lost(&mut queue, &passed(95, &[A], 100)), (false, vec![]));
    assert_eq!(
        lost(&mut queue, &message(96, &[id(9)], 100)),
        (true, vec![(id(1), 10)])
    );
}

/// A peer met while the disk was full is stored once there is room, and after a restart.
#[test]
fn who_came_while_the_disk_was_full_is_written_when_there_is_room() {
    let folder = Folder(Directory::new());
    let disk = Dying::default();
    let mut queue = folder.open_with(1 << 24, &disk);
    disk.left.set(Some(0));
    queue.saw(0, 1_785_000_000_000, A);
    assert!(queue.is_due(SOON));
    queue.tick(SOON);
    queue.saw(SOON + 1, 1_785_000_000_000, B);
    disk.left.set(None);
    // No later than that.
    assert!(queue.is_due(SOON + AGAIN));
    queue.tick(SOON + AGAIN);
    drop(queue);
    let queue = folder.open();
    assert_eq!(queue.known().len(), 2);
    assert_eq!(queue.last_seen(B), 1_785_000_000_000);
}

#[test]
fn age_is_by_how_long_it_ran_and_no_clock_that_jumps_makes_old() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open();
    let mut keep = message(1, &[A], 10);
    // A time of arrival in the future.
    keep.message.since = u64::MAX;
    assert!(queue.keep(0, &keep).0);
    queue.end(1000);
    let mut queue = folder.open();
    assert_eq!(queue.clock(), 1000);
    assert_eq!(queue.tick(1000 + AGE - 1), []);
    queue.saw(1000 + AGE - 1, 0, A);
    let lost = queue.tick(1000 + AGE);
    assert_eq!(lost.len(), 1);
    assert!(places(&mut queue, A).is_empty());
}

#[test]
fn foreign_and_damaged_files_stay_and_are_passed_over() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open();
    for sequence in 1..=4 {
        assert!(queue.keep(0, &message(sequence, &[A], 100)).0);
    }
    let mut octets = fs::read(queue.path(A, 2)).expect("there");
    fs::write(queue.path(A, 3), &octets[..70]).expect("written");
    octets[90] ^= 1;
    fs::write(queue.path(A, 2), &octets).expect("written");
    let of_a = queue.folder_of(A);
    for name in ["readme", "1", "FFFFFFFFFFFFFFFF", "ffffffffffffffff"] {
        fs::write(of_a.join(name), "x").expect("written");
    }
    fs::create_dir(of_a.join(place_name(9))).expect("a folder");
    std::os::unix::fs::symlink("/dev/zero", of_a.join(place_name(10))).expect("a link");
    fs::write(folder.0.join("stray"), "x").expect("written");
    fs::write(folder.0.join("notes"), "clock x\n\u{0}\npeer\nnumber 7").expect("written");
    let mut queue = folder.open();
    let (messages, _, lost) = queue.load(A, 0, 1 << 20);
    let places: Vec<u64> = messages.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, [1, 4]);
    assert_eq!(lost.len(), 1, "which the sum found");
    assert_eq!(queue.next_number(0), 8);
    // None of these blocks the next message.
    let next = queue.last() + 1;
    assert!(queue.keep(0, &message(next, &[A], 10)).0);
    queue.forget(A);
    assert_eq!(fs::read_dir(&of_a).expect("stays").count(), 8);
    assert!(folder.0.join("stray").exists());
}

#[test]
fn what_was_here_is_remembered_and_half_of_it_is_not() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open();
    assert!(queue.remembered().is_empty());
    let sums = [[1; 16], [2; 16]];
    queue.remember(0, sums.into_iter());
    let path = folder.0.join("seen");
    assert_eq!(folder.open().remembered(), sums);
    let octets = fs::read(&path).expect("there");
    fs::write(&path, &octets[..octets.len() - 16]).expect("written");
    assert!(folder.open().remembered().is_empty());
}

#[test]
fn numbers_go_on_after_a_crash_and_after_an_end() {
    let folder = Folder(Directory::new());
    let mut queue = folder.open();
    assert_eq!((queue.next_number(0), queue.next_number(0)), (1, 2));
    queue.end(0);
    let mut queue = folder.open();
    assert_eq!(queue.next_number(0), 3);
    // A restart without a regular end.
    let mut queue = folder.open();
    assert!(queue.next_number(0) > 3);
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(
        number in proptest::option::of(1u64..1 << 62),
        since in any::<u64>(),
        octets in proptest::collection::vec(any::<u8>(), 0..600),
        urgent in any::<bool>(),
        flip in any::<prop::sample::Index>(),
    ) {
        let priority = if urgent { Priority::Urgent } else { Priority::Usual };
        let message = Message { number, since, priority, octets };
        let mut all = file::write(&message);
        prop_assert_eq!(file::read(&all), Ok(message));
        for cut in [0, 1, file::HEAD - 1, all.len() - 1] {
            prop_assert!(file::read(&all[..cut]).is_err());
        }
        let at = flip.index(all.len());
        all[at] ^= 0x10;
        prop_assert!(file::read(&all).is_err());
    }

    #[test]
    fn whatever_is_there_is_read_without_harm(
        octets in proptest::collection::vec(any::<u8>(), 0..100),
        text in ".{0,200}",
        begins in any::<bool>(),
    ) {
        let begin = if begins { &b"weirmsg1"[..] } else { &[] };
        let _ = file::read(&[begin, &octets].concat());
        let _ = QueueState::read(&text);
        let begin = if begins { &b"weirsum1"[..] } else { &[] };
        let _ = digests::read(&[begin, &octets].concat());
    }

    #[test]
    fn what_is_remembered_is_read_as_it_is_written(
        clock in 0u64..1 << 62,
        number in 0u64..1 << 62,
        peers in proptest::collection::btree_map(any::<[u8; 8]>(), 0u64..1 << 62, 0..100),
    ) {
        let seen = |(id, time)| (Id(id), LastContact { clock: clock / 2, time });
        let peers = peers.into_iter().map(seen).collect();
        let notes = QueueState { clock, number, peers };
        prop_assert_eq!(QueueState::read(&notes.text()), (notes, 0));
    }
}
