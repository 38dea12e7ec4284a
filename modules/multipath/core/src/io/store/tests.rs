use testing::Directory;

use super::*;

fn store() -> (Directory, Store) {
    let folder = Directory::new();
    let store = Store::open(&folder).expect("a folder");
    (folder, store)
}

fn ports(text: &str) -> Vec<Ports> {
    let each = text.split_whitespace();
    each.map(|one| one.parse().expect("ports")).collect()
}

fn paired(store: &Store) -> Vec<RouterEntry> {
    store.roll().expect("read").paired().cloned().collect()
}

#[test]
fn old_lists_are_read_and_kept() {
    let (_folder, store) = store();
    let old = "# mine\n0011223344556677 home\n8899aabbccddeeff\n";
    fs::write(store.routers(), old).expect("written");
    let read = paired(&store);
    assert_eq!(read.len(), 2);
    assert_eq!((&*read[0].name, &*read[1].name), ("home", ""));
    assert!(read.iter().all(|router| router.forwards.is_empty()));

    let wanted = ports("tcp/8022 udp/8000-8099");
    store.forward("8899aabbccddeeff", &wanted).expect("free");
    assert_eq!(paired(&store)[1].forwards, wanted);
    let text = || fs::read_to_string(store.routers()).expect("read");
    let kept = "# mine\n0011223344556677 home\t\t#0\n";
    assert!(text().starts_with(kept), "{}", text());
    store.forward("8899aabbccddeeff", &[]).expect("free");
    assert_eq!(text(), format!("{kept}8899aabbccddeeff \t\t#1\n"));
}

#[test]
fn places_are_written_once() {
    let (_folder, store) = store();
    store.settle().expect("nothing to do");
    assert!(!store.routers().exists());
    let old = "0011223344556677 home\n8899aabbccddeeff away\n";
    fs::write(store.routers(), old).expect("written");
    let before = store.stamp();
    store.settle().expect("written");
    let after = store.stamp();
    assert_ne!(before, after);
    store.settle().expect("nothing to do");
    assert_eq!(store.stamp(), after, "it was not written again");
    store.revoke("home").expect("revoked");
    let left = paired(&store);
    assert_eq!((left.len(), left[0].address_index), (1, Some(1)));
    let told = store.revoke("home").expect_err("it is").to_string();
    assert!(told.contains("no router home"), "{told}");
}

#[test]
fn a_port_belongs_to_one_router() {
    let (_folder, store) = store();
    store.pair("home", &ports("tcp/8000-8099")).expect("free");
    store.pair("twin", &[]).expect("free");
    store.pair("twin", &ports("udp/8000")).expect("free");
    let told = |error: Result<(), StoreError>| error.expect_err("not free").to_string();
    let other = store.pair("other", &ports("tcp/8050"));
    assert_eq!(
        told(other.map(drop)),
        "tcp/8050 already forwarded to router home: use another port, or remove it there by `weir \
            multipath forward home`"
    );
    assert_eq!(paired(&store).len(), 3, "and it is not paired");
    let own = store.forward("home", &ports("tcp/9000-9400"));
    assert!(told(own).contains("routers connect to"));
    assert!(told(store.forward("nobody", &[])).contains("no router nobody"));
    let several = told(store.forward("twin", &[]));
    assert!(
        several.contains("several routers") && several.contains(&paired(&store)[1].id.to_string())
    );
    let many = vec![ports("tcp/1")[0].clone(); MOST_FORWARDS + 1];
    assert!(told(store.forward("home", &many)).contains("32"));
}

#[test]
fn one_partner_serves_of_a_folder() {
    let (_folder, store) = store();
    assert!(!store.is_served());
    let serves = store.serve().expect("the first");
    assert!(store.is_served() && store.is_served());
    let told = store.serve().expect_err("the second").to_string();
    assert!(told.contains("another partner uses the folder"), "{told}");
    drop(serves);
    assert!(!store.is_served());
    store.serve().expect("the first is gone");
}

#[test]
fn what_would_be_taken_for_something_else_is_no_name() {
    let (_folder, store) = store();
    let long = "x".repeat(65);
    for name in ["a\u{1b}[2J", "a\tb", "key:abc", "0011223344556677", &long] {
        let told = store.pair(name, &[]).map(drop).expect_err(name).to_string();
        assert!(told.contains("of a router: use up to 64"), "{told}");
    }
    for name in ["", "home", "home #5", "café", "revoked", &long[1..]] {
        store.pair(name, &[]).expect(name);
    }
    let names: Vec<_> = paired(&store).into_iter().map(|it| it.name).collect();
    assert_eq!(
        names,
        ["", "home", "home #5", "café", "revoked", &long[1..]]
    );
}

#[test]
fn a_pipe_in_place_of_a_file_stops_nobody() {
    let (_folder, store) = store();
    let mode = nix::sys::stat::Mode::from_bits_truncate(0o600);
    nix::unistd::mkfifo(&store.routers(), mode).expect("a pipe");
    let told = store
        .pair("home", &[])
        .map(drop)
        .expect_err("a pipe")
        .to_string();
    assert!(told.ends_with("routers: not a regular file"), "{told}");
}

#[test]
fn a_key_that_is_gone_is_not_made_anew_under_routers() {
    let (_folder, store) = store();
    store.pair("home", &[]).expect("the first");
    fs::remove_file(store.folder.join("key")).expect("there");
    let told = store
        .pair("other", &[])
        .map(drop)
        .expect_err("gone")
        .to_string();
    assert!(told.contains("key is missing, but routers"), "{told}");
    assert!(store.rotate("home").is_err() && store.master().is_err());
    store.revoke("home").expect("that takes no key");
    store.master().expect("nobody has a line of the former one");
}

#[test]
fn a_line_that_is_broken_breaks_no_other() {
    let (_folder, store) = store();
    let list = b"0011223344556677 home\n\xff\xfe\n0011223344556677 twice\n8899aabbccddeeff away\n";
    fs::write(store.routers(), list).expect("written");
    let names: Vec<_> = paired(&store).into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["home", "away"]);
    store.forward("home", &[]).expect("one");
    let text = fs::read_to_string(store.routers()).expect("read");
    assert_eq!(text.lines().count(), 4, "{text}");
}
