//! TLS with a real client: curl, which trusts only the given certificate.

use crate::support;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use support::{Answer, Directory, PASSWORD, Server, password_in};
use weir_web::{Authenticator, Settings, Tls, WebError, assets};

fn curl(server: &Server, trusted: &Path, arguments: &[&str], path: &str) -> Output {
    Command::new("curl")
        .args(["-sS", "-i", "--max-time", "60", "--cacert"])
        .arg(trusted)
        .args(arguments)
        .arg(format!("https://localhost:{}{path}", server.address.port()))
        .output()
        .expect("curl")
}

/// Creates a certificate as an authority or `openssl` does.
fn make(directory: &Path, algorithm: &[&str], subject: &str) {
    let output = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "30", "-newkey"])
        .args(algorithm)
        .args(["-subj", subject, "-addext", "subjectAltName=DNS:localhost"])
        .arg("-keyout")
        .arg(directory.join("key"))
        .arg("-out")
        .arg(directory.join("cert"))
        .output()
        .expect("openssl");
    assert!(output.status.success(), "{output:?}");
    let closed = fs::Permissions::from_mode(0o600);
    fs::set_permissions(directory.join("key"), closed).expect("mode");
}

fn files(directory: &Path) -> Tls {
    Tls::Files {
        certificate: directory.join("cert"),
        key: directory.join("key"),
    }
}

const EC: &[&str] = &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"];

#[test]
fn a_certificate_of_its_own() {
    let directory = Directory::new();
    password_in(&directory);
    let place = directory.path().join("tls");
    let server = Server::with(directory, |settings| {
        settings.tls = Tls::Own {
            directory: settings.password_file.with_file_name("tls"),
        };
    });
    let certificate = place.join("certificate.pem");
    let page = curl(&server, &certificate, &["--http1.1"], "/");
    assert!(page.status.success(), "{page:?}");
    assert_eq!(Answer::read(&page.stdout).status, 200);
    let body = format!(r#"{{"password":"{PASSWORD}"}}"#);
    let login = curl(
        &server,
        &certificate,
        &["-H", "Content-Type: application/json", "--data", &body],
        "/api/login",
    );
    let login = Answer::read(&login.stdout);
    let cookie = login.session();
    assert!(
        cookie.starts_with("__Host-weir=") && cookie.ends_with("; Secure"),
        "{cookie}"
    );
    let cookie = format!("Cookie: {}", login.cookie());
    let status = curl(&server, &certificate, &["-H", &cookie], "/api/v1/status");
    assert_eq!(Answer::read(&status.stdout).status, 200);
    // The certificate also covers the addresses.
    let by_address = Command::new("curl")
        .args(["-sS", "--fail", "--max-time", "60", "--cacert"])
        .arg(&certificate)
        .arg(format!("https://{}/", server.address))
        .output()
        .expect("curl");
    assert!(by_address.status.success(), "{by_address:?}");
    for file in ["certificate.pem", "key.pem"] {
        let mode = fs::metadata(place.join(file)).expect("kept");
        assert_eq!(mode.permissions().mode() & 0o7777, 0o600, "{file}");
    }
    // Another certificate is rejected.
    let others = Directory::new();
    make(others.path(), EC, "/CN=other");
    let refused = curl(&server, &others.path().join("cert"), &[], "/");
    assert!(!refused.status.success());
    let old = curl(&server, &certificate, &["--tls-max", "1.2"], "/");
    assert!(!old.status.success(), "TLS 1.3 only");
}

#[test]
fn a_browser_that_trusts_the_certificate_logs_in() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    assert!(
        web.join("node_modules").is_dir() && assets::is_built(),
        "the page is not built: `make web`, then `make compile`"
    );
    let directory = Directory::new();
    password_in(&directory);
    let server = Server::with(directory, |settings| {
        settings.tls = Tls::Own {
            directory: settings.password_file.with_file_name("tls"),
        };
    });
    let certificate = server.directory.path().join("tls/certificate.pem");
    let browser = Command::new("node")
        .arg(web.join("test/browser/tls.mjs"))
        .current_dir(&web)
        .env("WEIR_WEB_URL", format!("https://{}", server.address))
        .env("WEIR_WEB_PASSWORD", PASSWORD)
        .env("WEIR_WEB_CERTIFICATE", certificate)
        .output()
        .expect("node");
    assert!(browser.status.success(), "{browser:?}");
}

#[test]
fn its_own_is_made_once_and_again_for_a_new_name() {
    let directory = Directory::new();
    let place = directory.path().join("tls");
    let open = |hosts: &[&str]| {
        let settings = Settings {
            tls: Tls::Own {
                directory: place.clone(),
            },
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            password_file: directory.path().join("password"),
            ..Settings::default()
        };
        Authenticator::new(settings).expect("opens");
        fs::read_to_string(place.join("certificate.pem")).expect("kept")
    };
    let first = open(&[]);
    assert_eq!(open(&[]), first);
    let second = open(&["router.lan", "192.0.2.1"]);
    assert_ne!(second, first);
    assert_eq!(open(&["192.0.2.1"]), second, "it has that name");
    let output = Command::new("openssl")
        .args(["x509", "-noout", "-text", "-in"])
        .arg(place.join("certificate.pem"))
        .output()
        .expect("openssl");
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "DNS:router.lan",
        "IP Address:192.0.2.1",
        "DNS:localhost",
        "TLS Web Server Authentication",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn new_files_are_taken_up_while_it_runs() {
    let directory = Directory::new();
    password_in(&directory);
    let place = directory.path().to_owned();
    let rsa: &[&str] = &["rsa:2048"];
    make(&place, rsa, "/CN=first");
    let kept = Directory::new();
    let first = kept.path().join("first");
    fs::copy(place.join("cert"), &first).expect("copied");
    let server = Server::with(directory, |settings| {
        settings.tls = files(settings.password_file.parent().expect("a directory"));
    });
    assert!(curl(&server, &first, &[], "/").status.success());
    // With a half-written file, the former certificate stays.
    let key = fs::read(place.join("key")).expect("read");
    fs::write(place.join("key"), &key[..key.len() / 2]).expect("written");
    server.wait(2);
    assert!(curl(&server, &first, &[], "/").status.success());
    fs::remove_file(place.join("key")).expect("removed");
    server.wait(2);
    assert!(curl(&server, &first, &[], "/").status.success());
    make(&place, EC, "/CN=second");
    server.wait(2);
    assert!(
        curl(&server, &place.join("cert"), &[], "/")
            .status
            .success()
    );
    assert!(!curl(&server, &first, &[], "/").status.success());
}

#[test]
fn files_of_no_use_are_told() {
    let directory = Directory::new();
    let place = directory.path();
    let open = || {
        let settings = Settings {
            tls: files(place),
            password_file: place.join("password"),
            ..Settings::default()
        };
        match Authenticator::new(settings) {
            Ok(_) => String::new(),
            Err(error @ WebError::Certificate { .. }) => {
                assert!(!error.hint().is_empty());
                error.to_string()
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert!(open().contains("cert: "), "missing: {}", open());
    make(place, EC, "/CN=one");
    assert_eq!(open(), "");
    fs::set_permissions(place.join("key"), fs::Permissions::from_mode(0o644)).expect("mode");
    assert!(
        open().contains("key: can be read by all users"),
        "{}",
        open()
    );
    fs::set_permissions(place.join("key"), fs::Permissions::from_mode(0o640)).expect("mode");
    assert_eq!(open(), "", "the group may");
    let other = Directory::new();
    make(other.path(), EC, "/CN=two");
    fs::copy(other.path().join("key"), place.join("key")).expect("copied");
    assert!(open().contains("cert: "), "not a pair: {}", open());
    for text in [
        "",
        "x",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        fs::write(place.join("cert"), text).expect("written");
        assert!(open().contains("cert: "), "{text}: {}", open());
    }
}

#[test]
fn plain_http_is_told_what_to_do_and_silence_is_ended() {
    let server = Server::with(Directory::new(), |settings| {
        settings.tls = Tls::Own {
            directory: settings.password_file.with_file_name("tls"),
        };
        settings.limits.request_time = Duration::from_millis(300);
    });
    let answer = Answer::read(&server.exchange(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_eq!(answer.status, 400);
    assert!(String::from_utf8_lossy(&answer.body).contains("https://"));
    for begin in [
        &b""[..],
        b"\x16\x03\x01",
        b"\x16\x03\x01\xff\xff\x01\x00\x00\x00",
        b"\x00\x00",
    ] {
        let mut stream = server.connect();
        stream.write_all(begin).expect("sent");
        let mut rest = Vec::new();
        // The server sends an alert at most, and closes.
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.len() < 16, "{rest:?}");
    }
}
