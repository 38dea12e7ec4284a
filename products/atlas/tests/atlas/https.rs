//! Directories behind TLS, by a server here with a certificate of an authority of the test's own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use testing::Directory;

use crate::served::PROGRAM;

const BODY: &str = r#"{"a":{"name":"A","state":{"nodes":1},"mtime":"2019-10-17 21:30:00"}}"#;

/// A server for one connection after the other, and the file of its authority.
struct Server {
    address: String,
    authority: PathBuf,
    folder: Directory,
}

impl Server {
    /// With a certificate for `name`, until the end of `year`.
    fn start(name: &str, year: i32) -> Self {
        let mut params = CertificateParams::new([]).expect("an authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "an authority of a test");
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        params.not_after = date_time_ymd(year, 12, 31);
        let key = KeyPair::generate().expect("a key");
        let own = params.signed_by(&key, &authority).expect("a certificate");

        let chain = vec![CertificateDer::from(own.der().to_vec())];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(chain, key).expect("a certificate"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let tls = ServerConnection::new(Arc::clone(&config)).expect("TLS");
                let mut stream = StreamOwned::new(tls, stream.expect("a client"));
                // A client that distrusts the certificate leaves.
                let _ = answer(&mut stream);
            }
        });
        let folder = Directory::new();
        let file = folder.path().join("authority.pem");
        fs::write(&file, authority.pem()).expect("written");
        Self {
            address: format!("https://localhost:{port}/20191017-23.00.00-ffSummarizedDir.json"),
            authority: file,
            folder,
        }
    }

    /// `import` of its address, where `authorities` are believed.
    fn import(&self, authorities: Option<&PathBuf>) -> (Output, String) {
        self.import_of(&self.address, authorities)
    }

    fn import_of(&self, address: &str, authorities: Option<&PathBuf>) -> (Output, String) {
        let mut command = Command::new(PROGRAM);
        command.arg("import").arg(address);
        command.arg("--data").arg(self.folder.path().join("data"));
        command.env_remove("SSL_CERT_FILE");
        if let Some(file) = authorities {
            command.env("SSL_CERT_FILE", file);
        }
        let done = command.output().expect("the program");
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        (done, told)
    }
}

fn answer(stream: &mut (impl Read + Write)) -> std::io::Result<()> {
    let mut lines = BufReader::new(&mut *stream).lines();
    let asked = lines.next().transpose()?.unwrap_or_default();
    while lines
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    if let Some((_, to)) = asked.split_once("?to=") {
        let to = to.split(' ').next().unwrap_or_default();
        let head = "HTTP/1.1 302 Found\r\nconnection: close\r\ncontent-length: 0\r\n";
        stream.write_all(format!("{head}location: {to}\r\n\r\n").as_bytes())?;
        return stream.flush();
    }
    let length = BODY.len();
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(BODY.as_bytes())?;
    stream.flush()
}

#[test]
fn who_is_believed() {
    let server = Server::start("localhost", 2199);
    let (done, told) = server.import(None);
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(told.contains("UnknownIssuer"), "{told}");
    assert!(told.contains("SSL_CERT_FILE"), "{told}");

    let (done, told) = server.import(Some(&server.authority));
    assert!(done.status.success(), "{told}");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.starts_with("1 files were read"), "{said}");

    // Instead of the included CAs, not in addition to them.
    let other = Server::start("localhost", 2199);
    let (done, told) = server.import(Some(&other.authority));
    assert_eq!(done.status.code(), Some(1), "{told}");
}

#[test]
fn names_and_times_of_certificates() {
    for (name, year, why) in [
        ("elsewhere.example", 2199, "not valid for name"),
        ("localhost", 2020, "expired"),
    ] {
        let server = Server::start(name, year);
        let (done, told) = server.import(Some(&server.authority));
        assert_eq!(done.status.code(), Some(1), "{told}");
        assert!(
            told.contains(&server.address) && told.contains(why),
            "{told}"
        );
    }
}

#[test]
fn authorities_that_are_none() {
    let server = Server::start("localhost", 2199);
    let none = server.folder.path().join("none.pem");
    let text = server.folder.path().join("text.pem");
    let broken = server.folder.path().join("broken.pem");
    fs::write(&text, "my authority").expect("written");
    let half = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    fs::write(&broken, half).expect("written");
    for file in [none, text, broken, PathBuf::from("/dev/zero")] {
        let (done, told) = server.import(Some(&file));
        assert!(!done.status.success());
        assert!(told.contains(&file.display().to_string()), "{told}");
        assert!(told.contains("SSL_CERT_FILE"), "{told}");
    }
}

/// An answer by TLS cannot be changed on its way; an answer by HTTP could be.
#[test]
fn from_https_to_http_nobody_is_followed() {
    let server = Server::start("localhost", 2199);
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    other.set_nonblocking(true).expect("no waiting");
    let to = format!("http://{}/dir.json", other.local_addr().expect("a port"));
    let address = format!("{}?to={to}", server.address);
    let (done, told) = server.import_of(&address, Some(&server.authority));
    assert_eq!(done.status.code(), Some(1), "{told}");
    let why = format!(
        "{} redirects to {to}: redirects from https to http",
        server.address
    );
    assert!(told.contains(&why), "{told}");
    let came = other.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(came, Err(std::io::ErrorKind::WouldBlock));

    let address = format!("{}?to={}", server.address, server.address);
    let (done, told) = server.import_of(&address, Some(&server.authority));
    assert!(done.status.success(), "{told}");
}

#[test]
fn from_http_to_https_the_same_are_believed() {
    let server = Server::start("localhost", 2199);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = answer(&mut stream.expect("a client"));
        }
    });
    let address = format!("http://127.0.0.1:{port}/?to={}", server.address);
    let (done, told) = server.import_of(&address, None);
    assert_eq!(done.status.code(), Some(1), "{told}");
    let why = format!("redirects to {}: ", server.address);
    assert!(
        told.contains(&why) && told.contains("UnknownIssuer"),
        "{told}"
    );
    let (done, told) = server.import_of(&address, Some(&server.authority));
    assert!(done.status.success(), "{told}");
}

#[test]
fn a_directory_is_followed() {
    let server = Server::start("localhost", 2199);
    let mut child = Command::new(PROGRAM)
        .arg("follow")
        .arg(&server.address)
        .arg("--data")
        .arg(server.folder.path().join("data"))
        .env("SSL_CERT_FILE", &server.authority)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let said = BufReader::new(child.stderr.take().expect("its words"));
    let line = said.lines().map_while(Result::ok).next();
    let _ = child.kill();
    let _ = child.wait();
    let line = line.unwrap_or_default();
    assert!(line.contains("new snapshot"), "{line}");
}
