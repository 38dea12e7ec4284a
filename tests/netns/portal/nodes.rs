//! Nodes without contact: one sells vouchers, another accepts them; and both exchange notes later.

use super::*;
use answers::NotesHeard;

/// Longer than the tolerated difference of two clocks.
const BOTH: Duration = Duration::from_secs(7);

impl Place {
    fn key(&self) -> Result<String, Error> {
        Ok(self.weir("key")?.trim().to_owned())
    }

    fn trust(&self, node: &str) -> Result<(), Error> {
        let config = configuration("tc", &self.folder, &format!("trust = [\"{node}\"]\n"));
        std::fs::write(self.weir.config_file(), config).map_err(unexpected)?;
        self.weir.client()?.reload().map_err(unexpected)?;
        Ok(())
    }

    fn show(&self, voucher: &str) -> Result<PortalVoucher, Error> {
        let told = self.weir(&format!("voucher show {voucher} --json"))?;
        let mut shown: PortalVouchers = serde_json::from_str(&told).map_err(unexpected)?;
        shown.vouchers.pop().ok_or_else(|| unexpected("no voucher"))
    }

    fn export(&self) -> Result<PathBuf, Error> {
        let file = self.folder.join("notes.txt");
        let told = self.weir("notes export")?;
        std::fs::write(&file, told).map_err(unexpected)?;
        Ok(file)
    }

    fn import(&self, file: &Path) -> Result<NotesHeard, Error> {
        let told = self.weir(&format!("notes import {} --json", file.display()))?;
        serde_json::from_str(&told).map_err(unexpected)
    }
}

/// A node accepts an unknown voucher that a trusted node signed, once. Two nodes that accepted the
/// same voucher detect that by their notes; a revocation at one node reaches the other.
#[test]
fn a_voucher_signed_elsewhere_holds_and_a_double_use_is_found() -> Result<(), Error> {
    let (seller, other) = (Place::open("tc", "")?, Place::open("tc", "")?);
    other
        .client()?
        .run("ip link set eth0 address 02:00:00:00:77:01")?;
    let voucher = seller.sell("--name fair --duration 1h")?;
    let signed = seller.show(&voucher.id)?.signed.expect("signed");
    let sheet = seller.weir("voucher print --signed")?;
    assert!(sheet.contains(&voucher.code) && sheet.contains("<svg"));
    let came = |code: &str| other.curl(&format!("-d code={code} {PAGE}login"));
    assert_eq!(came(&signed)?, "403>", "nobody trusts the seller");
    other.trust(&format!("{} the square", seller.key()?))?;
    // Forges a single letter of the voucher's time.
    let mut forged = signed.clone().into_bytes();
    forged[24] = if forged[24] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).map_err(unexpected)?;
    assert_eq!(came(&forged)?, "403>");
    // Uses the voucher from a QR code and as typed text.
    let page = format!("{PAGE}?code={signed}");
    let shown = other.client()?.run(&format!("curl -s -m 10 {page}"))?;
    assert!(shown.contains(&format!("value=\"{signed}\"")), "{shown}");
    assert!(came(&signed.to_lowercase())?.starts_with("303>"));
    let to = SocketAddr::new(SERVER, ECHO);
    let _echo = Echo::serve(other.lab.node("server")?, to)?;
    assert_eq!(ask_tcp(other.client()?, to, b"in")?, b"in");
    let there = other.show(&voucher.id)?;
    assert_eq!(there.sold_by.as_deref(), Some("the square"));
    assert!(there.seconds_remaining.is_some_and(|left| left <= 3600));
    // Another guest uses the voucher at the seller.
    seller.log_in(&voucher.code)?;
    std::thread::sleep(BOTH);
    let told = other.export()?;
    // A timer sees the error.
    let stranger = seller.import(&told).expect_err("refused").to_string();
    assert!(
        stranger.contains("not all notes were imported"),
        "{stranger}"
    );
    seller.trust(&format!("{} the hill", other.key()?))?;
    let heard = seller.import(&told)?;
    assert_eq!(
        (heard.new, &heard.double_use),
        (1, &vec![voucher.id.clone()])
    );
    assert_eq!(seller.import(&told)?.new, 0, "told twice");
    let double = seller.show(&voucher.id)?.double_use.expect("found");
    assert_eq!(double.how, "together");
    let mut nodes = double.nodes;
    nodes.sort();
    assert_eq!(nodes, ["the hill", "this node"]);
    other.import(&seller.export()?)?;
    let double = other.show(&voucher.id)?.double_use.expect("found");
    assert!(
        double.nodes.contains(&"the square".to_owned()),
        "{double:?}"
    );
    // The seller revokes the voucher.
    let stream = Stream::start(&other, 4000)?;
    other.weir.wait_for_forwarding(4000)?;
    seller.weir(&format!("voucher revoke {}", voucher.id))?;
    let told = seller.export()?;
    let imported = Instant::now();
    other.import(&told)?;
    std::thread::sleep(AT_ONCE);
    for end in 0..2 {
        let late = stream.last(end).saturating_duration_since(imported);
        assert!(late < AT_ONCE / 2, "{end} went on for {late:?}");
    }
    assert_eq!(other.show(&voucher.id)?.state, "revoked");
    assert_eq!(came(&signed)?, "403>");
    // A file that is not a file of notes, and a truncated file.
    let text = std::fs::read_to_string(&told).map_err(unexpected)?;
    let wrong = other.folder.join("wrong.txt");
    for (text, says) in [
        ("hello\n".to_owned(), "its first line"),
        (text.replace("weir notes 1\n", "weir notes 1\n\n"), "line 2"),
    ] {
        std::fs::write(&wrong, text).map_err(unexpected)?;
        let refused = other.import(&wrong).expect_err("refused").to_string();
        assert!(refused.contains(says), "{refused}");
    }
    let cut = &text[..text.len() - 20];
    std::fs::write(&wrong, cut).map_err(unexpected)?;
    assert!(other.import(&wrong).is_err());
    Ok(())
}
