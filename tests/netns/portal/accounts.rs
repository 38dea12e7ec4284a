//! Guests with accounts on a real RADIUS server.

use std::fs;
use std::net::UdpSocket;
use std::process::{Command, Stdio};

use lab::Process;
use md5::{Digest, Md5};

use super::*;

/// FreeRADIUS with accounts in a file only. The server requires weir's Message-Authenticator; the
/// one in its answers comes from `post-auth` (since 3.2.5 this is the default).
const SERVER_CONFIG: &str = "prefix = /usr
libdir = /usr/lib/freeradius
raddbdir = FOLDER
logdir = FOLDER
run_dir = FOLDER
name = freeradius
log {
    destination = stdout
    auth = yes
}
security {
    reject_delay = 0
}
client router {
    ipaddr = 0.0.0.0/0
    secret = \"a secret, with blanks\"
    require_message_authenticator = yes
}
client router6 {
    ipv6addr = ::/0
    secret = \"another secret\"
    require_message_authenticator = yes
}
modules {
    files {
        filename = FOLDER/users
    }
    pap {
    }
}
server accounts {
    listen {
        type = auth
        ipaddr = *
        port = 1812
    }
    listen {
        type = auth
        ipv6addr = ::
        port = 1812
    }
    authorize {
        files
        pap
    }
    authenticate {
        Auth-Type PAP {
            pap
        }
    }
    post-auth {
        update reply {
            Message-Authenticator := 0x00
        }
        Post-Auth-Type REJECT {
            update reply {
                Message-Authenticator := 0x00
            }
        }
    }
}
";
/// Accounts of the server.
const USERS: &str =
    "ada Cleartext-Password := \"caf\u{e9} & more\", Calling-Station-Id =~ \"^[0-9A-F-]+$\", \
    NAS-Identifier == \"the roof\"
\tUser-Name := \"Ada Lovelace\", Session-Timeout := 8, WISPr-Bandwidth-Max-Down := 8000000
bytes Cleartext-Password := \"bytes\"
\tChilliSpot-Max-Total-Octets := 300000
over Cleartext-Password := \"over\"
\tSession-Timeout := 0
long Cleartext-Password := \"long\"
";
pub(crate) const SECRET: &str = "a secret, with blanks\n";

/// A running FreeRADIUS.
pub(crate) struct Radius {
    process: Process,
    folder: PathBuf,
}

impl Radius {
    pub(crate) fn start(place: &Place) -> Result<Self, Error> {
        let folder = place.folder.join("radius");
        fs::create_dir_all(&folder).map_err(unexpected)?;
        let text = SERVER_CONFIG.replace("FOLDER", &folder.display().to_string());
        fs::write(folder.join("freeradius.conf"), text).map_err(unexpected)?;
        fs::write(folder.join("users"), USERS).map_err(unexpected)?;
        let log = fs::File::create(folder.join("log")).map_err(unexpected)?;
        let mut command = Command::new("freeradius");
        command
            .args(["-f", "-l", "stdout", "-n", "freeradius", "-d"])
            .arg(&folder)
            .stdin(Stdio::null())
            .stderr(log.try_clone().map_err(unexpected)?)
            .stdout(log);
        let process = place.lab.node("server")?.start(&mut command)?;
        let radius = Self { process, folder };
        wait_until("a RADIUS server", LIMIT, || {
            if let Some(status) = radius.process.ended()? {
                return Err(unexpected(format!("{status}: {}", radius.log())));
            }
            Ok(radius.log().contains("Ready to process requests"))
        })?;
        Ok(radius)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

/// Opens a portal with these servers and this secret.
pub(crate) fn open(servers: &str, secret: &str, more: &str) -> Result<Place, Error> {
    let more = format!(
        "[portal.radius]\nservers = [{servers}]\nsecret = \"FOLDER/secret\"\nname = \"the roof\"\n{more}"
    );
    Place::open_with("tc", &more, &[("secret", secret)])
}

fn is_in(place: &Place) -> Result<bool, Error> {
    let to = SocketAddr::new(SERVER, 8080);
    Ok(ask_tcp(place.client()?, to, b"in").is_ok_and(|said| said == b"in"))
}

/// Admits a guest for the server's time, name and rate; also after weir was killed.
#[test]
fn who_has_an_account_is_let_in_as_the_server_says() -> Result<(), Error> {
    let mut place = open("\"10.0.0.2\"", SECRET, "")?;
    let radius = Radius::start(&place)?;
    let _echo = Echo::serve(place.lab.node("server")?, SocketAddr::new(SERVER, 8080))?;
    let page = place.browse("jar")?;
    assert!(
        page.contains("action=\"/account\"") && page.contains("type=\"password\""),
        "{page}"
    );
    for wrong in [
        "name=ada&password=cafe",
        "name=ada&password=",
        "name=nobody&password=caf%C3%A9+%26+more",
    ] {
        let said = place.send("jar", "account", wrong)?;
        assert!(said.starts_with("403>"), "{wrong}: {said}");
    }
    assert!(!is_in(&place)?);
    let token = cookies::token(&page)?;
    let known = "name=ada&password=wrong";
    let line = format!("curl -s -m 10 -d token={token} -d {known} {PAGE}account");
    let refused = place.client()?.run(&line)?;
    assert!(
        refused.contains("Wrong name or password") && refused.contains("value=\"ada\""),
        "{refused}"
    );
    assert!(!refused.contains("wrong\""), "{refused}");
    let right = "name=+ada+&password=caf%C3%A9+%26+more";
    let began = Instant::now();
    let said = place.send("jar", "account", right)?;
    assert!(said.starts_with("303>"), "{said}\n{}", radius.log());
    assert!(is_in(&place)?);
    let guest = place.clients()?.clients[0].clone();
    assert_eq!(guest.state, PortalState::Admitted);
    assert_eq!(guest.account.as_deref(), Some("Ada Lovelace"));
    assert_eq!((guest.voucher, guest.bytes_remaining), (None, None));
    assert!(guest.seconds_remaining.is_some_and(|left| left <= 8));
    let router = place.lab.node("router")?;
    let table = router.run("nft list map inet weir_portal up")?;
    assert!(table.contains("_8000000"), "{table}");
    let sold: PortalVouchers =
        serde_json::from_str(&place.weir("voucher list --json")?).map_err(unexpected)?;
    assert!(sold.vouchers.is_empty(), "nobody sold one");
    assert!(!place.browse("jar")?.contains("/account"), "no need of it");
    // The code of the guest's session in the file lets no other device in.
    let code = || -> Result<Option<String>, Error> {
        let stored = place.stored()?;
        let mut codes = stored.iter().filter_map(|e| e["voucher"]["code"].as_str());
        Ok(codes.next().map(str::to_owned))
    };
    wait_until("it is written", LIMIT, || Ok(code()?.is_some()))?;
    let said = place.send(
        "jar",
        "login",
        &format!("code={}", code()?.unwrap_or_default()),
    )?;
    assert!(said.starts_with("403>"), "{said}");
    // The remaining time continues after a power failure.
    place.weir.end(nix::sys::signal::Signal::SIGKILL)?;
    place.weir.restart(place.lab.node("router")?)?;
    wait_until("he is in again", LIMIT, || is_in(&place))?;
    let guest = place.clients()?.clients[0].clone();
    assert_eq!(guest.account.as_deref(), Some("Ada Lovelace"));
    // A query that is cut off waits half a minute: the last answer counts.
    let mut lasted = began.elapsed();
    wait_until("it is over", LIMIT, || {
        let asked = began.elapsed();
        let over = !is_in(&place)?;
        if !over {
            lasted = asked;
        }
        Ok(over)
    })?;
    // weir stores usage each minute, so the 8 seconds may begin again.
    assert!((7..20).contains(&lasted.as_secs()), "in until {lasted:?}");
    // A rate limit delays guesses, and the right password too.
    while !place.send("jar", "account", known)?.starts_with("429>") {
        assert!(began.elapsed() < LIMIT, "guesses do not wait");
    }
    let waits = place.send("jar", "account", right)?;
    assert!(waits.starts_with("429>"), "{waits}");
    // The store forgets the guest's name.
    place.weir.end(nix::sys::signal::Signal::SIGTERM)?;
    place.weir.restart(place.lab.node("router")?)?;
    wait_until("his name is forgotten", LIMIT, || {
        let store = fs::read_to_string(place.folder.join("vouchers")).map_err(unexpected)?;
        Ok(!store.contains("Lovelace"))
    })?;
    let (log, radius) = (place.weir.log(), radius.log());
    assert!(log.contains("guest logged in by an account"), "{log}");
    for clear in [
        "caf\u{e9} & more",
        "with blanks",
        "caf%C3%A9",
        "Lovelace",
        "nobody\"",
    ] {
        assert!(!log.contains(clear), "{log}");
        let store = fs::read_to_string(place.folder.join("vouchers")).map_err(unexpected)?;
        assert!(!store.contains(clear), "{store}");
    }
    assert!(radius.contains("Login OK"), "{radius}");
    Ok(())
}

/// weir asks a silent server last. If no server answers, no account admits a guest, and the page
/// reports this. A byte limit ends a session; a new device replaces an old one.
#[test]
fn an_account_is_good_for_what_the_server_says_that_answers() -> Result<(), Error> {
    // No host has the first address.
    let servers = "\"10.0.0.77:1812\", \"[2001:db8:2::2]:1812\"";
    let more = "devices = 1\ntime = \"2h\"\n";
    let place = open(servers, "another secret\n", more)?;
    let radius = Radius::start(&place)?;
    let server = place.lab.node("server")?;
    let _echo = Echo::serve(server, SocketAddr::new(SERVER, 8080))?;
    let said = place.send("jar", "account", "name=bytes&password=bytes")?;
    assert!(said.starts_with("303>"), "{said}\n{}", radius.log());
    assert!(is_in(&place)?);
    let missing = check::missing(place.lab.node("router")?, &place.weir.config_file())?;
    let missing: Vec<_> = missing
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.contains("RADIUS") || name.contains("accounts go"))
        .collect();
    let wanted = [
        "RADIUS server 10.0.0.77:1812",
        "secret of the RADIUS server is for root alone",
        "names and passwords of accounts go by HTTPS",
    ];
    assert_eq!(missing, wanted, "and the second one is there");
    let to = SocketAddr::new(SERVER, 5000);
    let transfer = Transfer::start(place.client()?, server, to, 1, Some(100_000))?;
    wait_until("its bytes are gone", LIMIT, || Ok(!is_in(&place)?))?;
    drop(transfer);

    let said = place.send("jar", "account", "name=over&password=over")?;
    assert!(said.starts_with("403>"), "{said}");
    let page = place.client()?.run(&format!(
        "curl -s -m 10 -d name=over&password=over {PAGE}account"
    ))?;
    assert!(page.contains("no time or data left"), "{page}");
    let said = place.send("jar", "account", "name=long&password=long")?;
    assert!(said.starts_with("303>"), "{said}");
    let first = place.clients()?.clients[0].clone();
    let left = first.seconds_remaining.unwrap_or_default();
    assert!((7000..=7200).contains(&left), "{left}");
    place.become_one("02:00:00:00:77:02")?;
    wait_until("another device is asked", LIMIT, || {
        Ok(place.browse("other")?.contains("/account"))
    })?;
    assert!(!is_in(&place)?);
    let said = place.send("other", "account", "name=LONG&password=long")?;
    assert!(said.starts_with("403>"), "the server knows no LONG: {said}");
    let said = place.send("other", "account", "name=long&password=long")?;
    assert!(said.starts_with("303>"), "{said}");
    assert!(is_in(&place)?);
    let inside: Vec<String> = place
        .clients()?
        .clients
        .into_iter()
        .filter(|one| one.state == PortalState::Admitted)
        .map(|one| one.mac)
        .collect();
    assert_eq!(inside, ["02:00:00:00:77:02"], "and not {}", first.mac);
    // The guest logs out.
    let said = place.send("other", "logout", "x=1")?;
    assert!(said.starts_with("303>"), "{said}");
    assert!(!is_in(&place)?);

    drop(radius);
    let line = format!("-d name=long&password=long {PAGE}account");
    let said = place.curl(&line)?;
    assert!(said.starts_with("503>"), "{said}");
    assert!(
        place.weir.log().contains("does not answer"),
        "{}",
        place.weir.log()
    );
    assert!(!is_in(&place)?);
    Ok(())
}

/// Without the secret file the portal runs without accounts, and no log-in by account succeeds.
#[test]
fn a_portal_without_the_secret_is_a_portal() -> Result<(), Error> {
    let more = "[portal.radius]\nservers = [\"10.0.0.2\"]\nsecret = \"FOLDER/none\"\n";
    let place = Place::open("off", more)?;
    assert!(!place.browse("jar")?.contains("/account"));
    let said = place.curl(&format!("-d name=long&password=long {PAGE}account"))?;
    assert!(said.starts_with("403>"), "{said}");
    assert!(
        place.weir.log().contains("no log-in with accounts"),
        "{}",
        place.weir.log()
    );
    Ok(())
}

/// A forger sends answers whose older proof is correct (CVE-2024-3596), and other forgeries. weir
/// drops them all and accepts the true answer that follows.
#[test]
fn what_a_forger_says_does_not_count() -> Result<(), Error> {
    let place = open("\"10.0.0.2\"", "known to the forger\n", "")?;
    let at = SocketAddr::new(SERVER, 1812);
    let server = place.lab.node("server")?;
    let socket = server.enter(|| UdpSocket::bind(at))?.map_err(unexpected)?;
    let heard = server.background(move || {
        let mut octets = [0; 4096];
        socket.set_read_timeout(Some(LIMIT)).expect("a time-out");
        let mut asked = 0;
        while let Ok((length, from)) = socket.recv_from(&mut octets) {
            asked += 1;
            let question = octets[..length].to_vec();
            let mut accept = vec![2, question[1], 0, 20];
            accept.extend(&question[4..20]);
            let digest = Md5::new()
                .chain_update(&accept)
                .chain_update("known to the forger")
                .finalize();
            accept[4..20].copy_from_slice(&digest);
            let mut unproven = accept.clone();
            unproven.extend([80, 18]);
            unproven.extend([0; 16]);
            unproven[3] = 38;
            let rest = [&question, &unproven, &vec![], &vec![2], &vec![0xff; 4096]];
            for forged in rest.into_iter().chain([&accept]) {
                socket.send_to(forged, from).expect("sent");
            }
            if asked == 2 {
                break;
            }
        }
        asked
    })?;
    let said = place.curl(&format!("-d name=long&password=long {PAGE}account"))?;
    assert!(said.starts_with("503>"), "{said}");
    let asked = heard.join().expect("no panic")?;
    assert_eq!(asked, 2);
    let log = place.weir.log();
    assert!(
        log.contains("no Message-Authenticator") && log.contains("another secret"),
        "{log}"
    );
    assert_eq!(place.clients()?.clients[0].state, PortalState::Waiting);
    Ok(())
}
