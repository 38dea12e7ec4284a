//! The portal's rules are rebuilt during a guest's download.

use std::fs;
use std::process::{Command, Stdio};

use lab::Process;

use super::*;

const SIZE: usize = 16 << 20;
/// curl's rate, so low that the download outlasts all refreshes.
const RATE: &str = "1M";
const HTTPS: u16 = 443;

/// Serves a file by TLS: openssl, with a certificate made here.
fn serve(place: &Place) -> Result<Process, Error> {
    let folder = place.folder.path();
    let mut make = Command::new("openssl");
    make.args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"])
        .args(["-subj", "/CN=server", "-addext"])
        .arg(format!("subjectAltName=IP:{SERVER}"))
        .args(["-keyout", "key.pem", "-out", "certificate.pem"]);
    let made = make.current_dir(folder).stderr(Stdio::null()).status();
    if !made.map_err(unexpected)?.success() {
        return Err(unexpected("openssl made no certificate"));
    }
    // All blocks of the file differ.
    let octets =
        (0..SIZE as u64 / 8).flat_map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    fs::write(folder.join("file"), octets.collect::<Vec<_>>()).map_err(unexpected)?;
    let mut server = Command::new("openssl");
    server
        .args([
            "s_server",
            "-WWW",
            "-key",
            "key.pem",
            "-cert",
            "certificate.pem",
            "-accept",
        ])
        .arg(HTTPS.to_string())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let server = place.lab.node("server")?.start(&mut server)?;
    wait_until("the server", LIMIT, || {
        let at = SocketAddr::new(SERVER, HTTPS);
        place
            .lab
            .node("server")?
            .enter(|| std::net::TcpStream::connect(at).is_ok())
    })?;
    Ok(server)
}

fn sum(file: &Path) -> Result<String, Error> {
    let output = Command::new("sha256sum")
        .stdin(fs::File::open(file).map_err(unexpected)?)
        .output();
    let output = output.map_err(unexpected)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A single HTTPS connection survives ten refreshes, and its bytes are right. With Pirania none of
/// three downloads survived one refresh.
#[test]
fn refreshes_disturb_nobody() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let voucher = place.sell("--name guest --duration 1h")?;
    place.log_in(&voucher.code)?;
    let _server = serve(&place)?;
    let fetched = place.folder.join("fetched");
    let mut curl = Command::new("curl");
    curl.args([
        "-sS",
        "--cacert",
        "certificate.pem",
        "--limit-rate",
        RATE,
        "-o",
        "fetched",
    ])
    .args(["-w", "%{http_code} %{num_connects} %{size_download}"])
    .arg(format!("https://{SERVER}/file"))
    .current_dir(place.folder.path())
    .stdin(Stdio::null())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped());
    let download = place.client()?.start(&mut curl)?;
    let so_far = || fs::metadata(&fetched).map_or(0, |file| file.len());
    wait_until("the first bytes", LIMIT, || Ok(so_far() > 0))?;
    place.weir.wait_for_forwarding(HTTPS)?;
    for number in 0..10 {
        let garden = format!("garden = [\"198.51.100.{number}/32\"]\n");
        let config = configuration("tc", &place.folder, &garden);
        fs::write(place.weir.config_file(), config).map_err(unexpected)?;
        place.weir.client()?.reload().map_err(unexpected)?;
        let router = place.lab.node("router")?;
        wait_until("the refresh", LIMIT, || {
            let garden = router.run("nft list set inet weir_portal garden4")?;
            Ok(garden.contains(&format!("198.51.100.{number} ")))
        })?;
        std::thread::sleep(Duration::from_millis(50));
        assert!(
            download.ended()?.is_none(),
            "refresh {number}: {} bytes",
            so_far()
        );
    }
    let before = so_far();
    assert!(
        before < SIZE as u64,
        "it was over before the refreshes were"
    );
    let ended = download.wait(LIMIT)?;
    let said = download.with(|child| -> std::io::Result<String> {
        let mut said = String::new();
        for pipe in [
            child
                .stdout
                .take()
                .map(|pipe| Box::new(pipe) as Box<dyn std::io::Read>),
            child
                .stderr
                .take()
                .map(|pipe| Box::new(pipe) as Box<dyn std::io::Read>),
        ] {
            pipe.map_or(Ok(0), |mut pipe| pipe.read_to_string(&mut said))?;
        }
        Ok(said)
    });
    let said = said.map_err(unexpected)?;
    assert!(ended.success(), "{said}");
    assert_eq!(said, format!("200 1 {SIZE}"));
    assert_eq!(sum(&fetched)?, sum(&place.folder.join("file"))?);
    Ok(())
}
