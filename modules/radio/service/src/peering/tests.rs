use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use answers::{RadioPeer, RadioPeers};
use testing::Directory;

use super::super::config::SECTIONS;
use super::config::Peering;
use super::{Peered, check, show};
use runtime::config::Effective;
use runtime::output::Output;

/// A folder that is removed on drop.
struct Folder(Directory);

impl Folder {
    /// `[radio.peering]` with these lines; `FOLDER` is this one.
    fn read(&self, lines: &str) -> Effective {
        let text = format!("[radio.peering]\ndevice = \"wlan0\"\nkey = \"FOLDER/key\"\n{lines}\n");
        let text = text.replace("FOLDER", &self.0.to_string_lossy());
        runtime::config::parse(&SECTIONS, &text, "weir.toml").expect("it is right")
    }
}

#[test]
fn without_a_secret_there_are_peers_in_clear_or_none() {
    let folder = Folder(Directory::new());
    let open = |lines: &str| {
        let read = folder.read(lines);
        Peered::open("wlan0", read.of::<Peering>())
    };
    let error = open("").err().expect("it takes a secret").to_string();
    assert!(error.contains("without a secret"), "{error}");
    let clear = open("compat = \"apup\"").expect("it does without");
    // The beacon announces nothing, so hostapd's control socket is of no use.
    assert!(clear.hostapd().is_none());
    assert_eq!(clear.clear.as_deref(), Some("wlan0.sta"));
    assert!(
        clear
            .insecure()
            .is_some_and(|why| why.contains("INSECURE") && why.contains("allow"))
    );
    let some = open("compat = \"apup\"\nprefix = \"p\"\nallow = [\"02:00:00:00:00:01\"]");
    let some = some.expect("it does without");
    assert_eq!(some.clear.as_deref(), Some("p"));
    assert!(some.insecure().is_some_and(|why| why.contains("INSECURE")));

    fs::write(folder.0.join("secret"), "sixteen octets, or more\n").expect("a secret");
    let both = open("compat = \"apup\"\nsecret = \"FOLDER/secret\"").expect("both");
    assert!(both.hostapd().is_some() && both.clear.is_some());
    let usual = open("secret = \"FOLDER/secret\"").expect("the usual");
    assert!(usual.hostapd().is_some() && usual.clear.is_none() && usual.insecure().is_none());
}

#[test]
fn a_peer_in_clear_is_called_insecure() {
    let peer = |encrypted, clear| RadioPeer {
        address: "02:00:00:00:01:00".into(),
        interface: "wlan0.sta2007".into(),
        state: "alive".into(),
        encrypted,
        clear,
        waits: None,
        peer_seconds: None,
        signal: Some(-50),
        expected_mbit: None,
    };
    let told = RadioPeers {
        device: "wlan0".into(),
        peers: vec![peer(false, true), peer(true, false), peer(false, false)],
        notices: vec![],
    };
    let mut text = Vec::new();
    show::print(&told, &mut Output::to(&mut text, false)).expect("memory");
    let text = String::from_utf8(text).expect("text");
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert!(lines[0].contains("NONE: insecure"), "{text}");
    assert!(
        lines[1].contains(" yes ") && !lines[2].contains("insecure"),
        "{text}"
    );
}

/// Lists the missing features in `weir check`, by name.
fn missing(read: &Effective) -> Vec<(String, String)> {
    let features = check::check(read.of::<Peering>()).into_iter();
    let said = features.filter(|feature| !feature.present || feature.detail.is_some());
    said.map(|feature| {
        let words = [feature.detail, feature.hint].into_iter().flatten();
        (feature.name, words.collect::<Vec<_>>().join("; "))
    })
    .collect()
}

#[test]
fn a_check_names_what_peers_lack_and_what_is_insecure() {
    let folder = Folder(Directory::new());
    let told = missing(&folder.read("secret = \"FOLDER/secret\"\nhostapd = \"FOLDER\""));
    let names: Vec<_> = told.iter().map(|it| &*it.0).collect();
    assert_eq!(names, ["the secret of peers", "hostapd's control socket"]);
    assert!(
        told[0].1.contains("secret") && told[0].1.contains("16 or more bytes"),
        "{told:?}"
    );
    assert!(
        told[1].1.contains("/wlan0") && told[1].1.contains("ctrl_interface"),
        "{told:?}"
    );

    let text = "[radio.peering]\nsecret = \"/etc/weir/secret\"\n";
    let read = runtime::config::parse(&SECTIONS, text, "weir.toml").expect("it is right");
    let told = missing(&read);
    assert_eq!(told[0].0, "peers");
    assert!(
        told[0].1.contains("no `device`") && told.len() == 1,
        "{told:?}"
    );

    let _socket = std::os::unix::net::UnixDatagram::bind(folder.0.join("wlan0")).expect("a socket");
    let secret = folder.0.join("secret");
    let lines = "secret = \"FOLDER/secret\"\nhostapd = \"FOLDER\"";
    for (text, mode, said) in [
        ("too short\n", 0o600, Some("too short")),
        ("sixteen octets, or more\n", 0o604, Some("chmod o= ")),
        ("sixteen octets, or more\n", 0o600, None),
    ] {
        fs::write(&secret, text).expect("a secret");
        fs::set_permissions(&secret, Permissions::from_mode(mode)).expect("its mode");
        let told = missing(&folder.read(lines));
        assert_eq!(told.len(), said.iter().count(), "{told:?}");
        assert!(said.is_none_or(|said| told[0].1.contains(said)), "{told:?}");
    }

    // Without a secret, and the resulting message.
    let told = missing(&folder.read("hostapd = \"/nowhere\""));
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].0, "the secret of peers");
    let told = missing(&folder.read("hostapd = \"/nowhere\"\ncompat = \"apup\""));
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].0, "peers in clear");
    assert!(
        told[0].1.contains("INSECURE") && told[0].1.contains("`allow`"),
        "{told:?}"
    );
    let listed = "compat = \"apup\"\nallow = [\"02:00:00:00:00:01\"]";
    let told = missing(&folder.read(listed));
    assert!(
        told.len() == 1 && told[0].1.contains("INSECURE"),
        "{told:?}"
    );
}
