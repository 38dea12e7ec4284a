use testing::Directory;

use super::*;
use crate::handshake::{self, Initiator, Responder};
use crate::welcome::{LEAST_MTU, Welcome};

struct Scene {
    folder: Directory,
    sessions: Sessions,
}

impl Scene {
    fn new() -> Self {
        let folder = Directory::new();
        let store = Store::open(&folder).expect("a folder");
        let sessions = Sessions::open(store).expect("a key");
        Self { folder, sessions }
    }

    fn pair(&self, name: &str) -> Key {
        self.sessions.store().pair(name, &[]).expect("paired")
    }

    /// Sends a router's handshake, or a recording of it.
    fn handshake(&self, key: &Key, body: &[u8]) -> Option<SessionId> {
        self.sessions.key(key.id())?;
        let id = SessionId::generate().expect("random");
        let welcome = Welcome {
            ipv4: true,
            ipv6: false,
            aes: false,
            tunnel4: None,
            tunnel6: None,
            mtu: LEAST_MTU,
            version: "0".into(),
            forwards: Vec::new(),
            places: None,
        };
        let asked = Responder::read(self.sessions.identity(), key, body).expect("a handshake");
        let (session, _) = asked.welcome(id, &welcome).expect("a welcome");
        let once = handshake::once(body).expect("a key for once");
        let kept = self.sessions.keep(id, key.id(), once, session);
        kept.then_some(id)
    }

    fn begin(&self, key: &Key) -> SessionId {
        let body = body(key);
        self.handshake(key, &body).expect("a session")
    }

    fn opened(&self, id: SessionId) {
        let from = "192.0.2.1:1".parse().expect("an address");
        self.sessions.opened(id, from);
    }

    fn is_known(&self, id: SessionId) -> bool {
        self.sessions.find(id).is_some()
    }
}

fn body(key: &Key) -> Vec<u8> {
    let own = Identity::from([1; 32]);
    let (_, frame) = Initiator::begin(key, &own).expect("random");
    frame[4..].to_vec()
}

#[test]
fn what_nobody_opened_displaces_nothing_that_somebody_did() {
    let scene = Scene::new();
    let key = scene.pair("home");
    let used: Vec<_> = (0..OF_ONE).map(|_| scene.begin(&key)).collect();
    used.iter().for_each(|id| scene.opened(*id));
    let first = scene.begin(&key);
    for _ in 0..PENDING - 1 {
        scene.begin(&key);
    }
    assert!(scene.is_known(first), "there is room for so many");
    let last = scene.begin(&key);
    assert!(!scene.is_known(first) && scene.is_known(last));
    assert!(used.iter().all(|id| scene.is_known(*id)));
    // Of the opened sessions, the least recently used one is removed.
    scene.opened(used[0]);
    scene.opened(last);
    let known: Vec<_> = used.iter().map(|id| scene.is_known(*id)).collect();
    assert_eq!(known, [true, false, true, true]);
    assert!(scene.is_known(last));
    // No other router loses a session.
    let other = scene.pair("other");
    let other = scene.begin(&other);
    for _ in 0..PENDING * 2 {
        scene.begin(&key);
    }
    assert!(scene.is_known(other));
}

#[test]
fn a_handshake_makes_one_session() {
    let scene = Scene::new();
    let key = scene.pair("home");
    let body = body(&key);
    assert!(scene.handshake(&key, &body).is_some());
    assert!(scene.handshake(&key, &body).is_none());
    assert_eq!(scene.sessions.read().sessions.len(), 1);
}

#[tokio::test]
async fn what_a_revoked_router_has_ends() {
    let scene = Scene::new();
    let (home, other) = (scene.pair("home"), scene.pair("other"));
    let (session, kept) = (scene.begin(&home), scene.begin(&other));
    let found = scene.sessions.find(session).expect("a session");
    let stays = scene.sessions.find(kept).expect("a session");
    assert_eq!((found.address_index, stays.address_index), (0, 1));
    let mut changed = scene.sessions.changed();
    let store = scene.sessions.store();
    store.revoke("home").expect("revoked");
    let recorded = body(&home);
    scene.sessions.poll_list();
    found.member.revoked().await;
    changed.changed().await.expect("told");
    assert!(!scene.is_known(session) && scene.sessions.key(home.id()).is_none());
    assert!(scene.handshake(&home, &recorded).is_none());
    // The other router keeps its place, and the place of the first is not reused.
    let limit = Duration::from_millis(50);
    let ended = tokio::time::timeout(limit, stays.member.revoked()).await;
    assert!(ended.is_err() && scene.is_known(kept));
    assert_eq!(
        scene.sessions.find(kept).expect("a session").address_index,
        1
    );
    let third = scene.pair("third");
    let third = scene.begin(&third);
    assert_eq!(
        scene.sessions.find(third).expect("a session").address_index,
        2
    );
    // An editor removes the list, and writes it again.
    let path = scene.folder.join("routers");
    let text = std::fs::read_to_string(&path).expect("read");
    std::fs::remove_file(&path).expect("removed");
    scene.sessions.poll_list();
    assert!(scene.is_known(kept));
    std::fs::write(&path, text).expect("written");
    let later = |passed: u64| {
        let now = Instant::now() + Duration::from_millis(passed);
        scene.sessions.refresh(now).expect("read");
    };
    later(900);
    std::fs::remove_file(&path).expect("removed");
    later(1100);
    assert!(scene.is_known(kept), "it was there meanwhile");
    later(2200);
    assert!(
        !scene.is_known(kept),
        "a list that is gone has nobody in it"
    );
    stays.member.revoked().await;
}

/// Two lists of equal length, written in quick succession: the file's properties may not differ.
#[test]
fn a_change_that_follows_at_once_is_not_missed() {
    let scene = Scene::new();
    let key = scene.pair("home");
    let stamp = scene.sessions.store().stamp();
    let now = Instant::now();
    scene.sessions.refresh(now).expect("read");
    let read = || scene.sessions.read().read.expect("it was read");
    assert!(read().stamp == stamp && !read().is_settled());
    scene.sessions.refresh(now + GRANULE / 2).expect("read");
    assert!(!read().is_settled(), "it is read again");
    scene.sessions.refresh(now + GRANULE * 2).expect("read");
    assert!(read().is_settled());
    scene.sessions.store().revoke("home").expect("revoked");
    assert_ne!(scene.sessions.store().stamp(), stamp);
    assert!(scene.sessions.key(key.id()).is_none());
    assert!(!read().is_settled());
}

#[test]
fn figures_outlive_the_partner() {
    let scene = Scene::new();
    let key = scene.pair("home");
    let session = scene.begin(&key);
    assert!(
        scene.sessions.figures(0).is_empty(),
        "a handshake is no sign"
    );
    let member = scene.sessions.find(session).expect("a session").member;
    let connection = member.connection();
    member.moved(5, 7);
    let figures = || scene.sessions.figures(1000)[0].1;
    assert_eq!((figures().sent, figures().received), (5, 7));
    assert!(figures().open == 1 && figures().connected);
    drop(connection);
    assert_eq!(figures().open, 0);
    assert!((1001..1060).contains(&figures().last));
    // The next instance continues the counts.
    let counts = Counts::from(figures());
    let seen = counts.figures(Instant::now(), 5000);
    assert_eq!(
        (seen.sent, seen.received, seen.last),
        (5, 7, figures().last)
    );
    assert!(!seen.connected);
}

#[test]
fn a_line_is_kept_for_whoever_came_first_with_it() {
    let scene = Scene::new();
    let key = scene.pair("home");
    let [router, thief] = [1, 2].map(|octet| Identity::from([octet; 32]).public());
    let comes = |key: &Key, who| {
        let (_, paired) = scene.sessions.key(key.id()).expect("paired");
        scene.sessions.admit(&paired, who).expect("written")
    };
    assert!(comes(&key, router));
    assert!(comes(&key, router), "again");
    assert!(!comes(&key, thief));
    // If two connect at once, both see the line as unused.
    let (_, now) = scene.sessions.key(key.id()).expect("paired");
    assert_eq!(now.router, Some(router));
    let before = RouterEntry {
        router: None,
        ..now
    };
    assert!(!scene.sessions.admit(&before, thief).expect("read"));
    assert!(scene.sessions.admit(&before, router).expect("read"));
    // A router without a key of its own shares its line, until a router with a key connects.
    let open = scene.pair("open");
    let of_line = Identity::of_line(&open).public();
    assert!(comes(&open, of_line) && comes(&open, of_line));
    assert!(comes(&open, router));
    assert!(!comes(&open, of_line) && !comes(&open, thief));
    // The owner of a line lasts, and a new line is free again.
    let again = Sessions::open(scene.sessions.store().clone()).expect("a key");
    let (_, paired) = again.key(key.id()).expect("paired");
    assert_eq!(paired.router, Some(router));
    let key = scene.sessions.store().rotate("home").expect("there");
    assert!(comes(&key, thief));
    // An unreadable key in the list matches no router.
    let list = scene.folder.join("routers");
    let text = std::fs::read_to_string(&list).expect("read");
    let text = text.replace(&thief.to_string(), "what");
    std::fs::write(&list, text).expect("written");
    scene.sessions.poll_list();
    assert!(!comes(&key, thief) && !comes(&key, router));
}
