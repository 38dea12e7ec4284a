//! What is said to hostapd, by its control socket: an element of ours for its beacon. hostapd is as
//! distributions have it (`SET vendor_elements` and `UPDATE_BEACON` are in 2.0 and later).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// hostapd answers at once, or is not there: the daemon's loop must not wait long.
const PATIENCE: Duration = Duration::from_millis(200);

/// The control socket of one access point.
#[derive(Debug)]
pub struct Hostapd {
    path: PathBuf,
    /// Which socket was told last.
    told: Option<Socket>,
}

/// One socket, and no other of the same name: its number, and when it was made.
type Socket = (u64, i64, i64);

impl Hostapd {
    /// That of a device, in the directory of such sockets.
    pub fn of(directory: &Path, device: &str) -> Self {
        let path = directory.join(device);
        Self { path, told: None }
    }

    /// Puts an element into the beacon, in place of those that `vendor_elements` of hostapd.conf
    /// has; none takes them away.
    ///
    /// # Errors
    /// hostapd is not there, or refused.
    pub fn say(&mut self, element: &[u8]) -> io::Result<()> {
        let there = self.there();
        self.told = None;
        let digits = element.iter().map(|octet| format!("{octet:02x}"));
        let digits: String = digits.collect();
        let socket = self.open()?;
        ask(&socket, &format!("SET vendor_elements {digits}"))?;
        ask(&socket, "UPDATE_BEACON")?;
        self.told = there;
        Ok(())
    }

    /// Whether a hostapd is there that was told nothing yet: one that began anew.
    pub fn is_new(&self) -> bool {
        let there = self.there();
        there.is_some() && there != self.told
    }

    fn there(&self) -> Option<Socket> {
        let about = std::fs::metadata(&self.path).ok()?;
        Some((about.ino(), about.ctime(), about.ctime_nsec()))
    }

    fn open(&self) -> io::Result<UnixDatagram> {
        // It answers to a name; one that is in no file leaves nothing behind.
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(io::Error::other)?;
        let name = format!("weir-radio-{:016x}", u64::from_ne_bytes(number));
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.connect(&self.path)?;
        Ok(socket)
    }
}

fn ask(socket: &UnixDatagram, line: &str) -> io::Result<()> {
    socket.send(line.as_bytes())?;
    let mut answer = [0; 64];
    let length = socket.recv(&mut answer)?;
    match answer[..length].trim_ascii() {
        b"OK" => Ok(()),
        other => {
            let verb = line.split(' ').next().unwrap_or_default();
            let said = String::from_utf8_lossy(other).into_owned();
            Err(io::Error::other(format!(
                "hostapd answers {verb} by {said:?}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_set_and_the_beacon_made_anew() -> io::Result<()> {
        let folder = std::env::temp_dir().join(format!("weir-hostapd-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let there = UnixDatagram::bind(folder.join("wlan0"))?;
        let served = std::thread::spawn(move || -> io::Result<Vec<String>> {
            let mut said = Vec::new();
            for answer in ["OK\n", "OK\n", "FAIL\n"] {
                let mut line = [0; 256];
                let (length, from) = there.recv_from(&mut line)?;
                said.push(String::from_utf8_lossy(&line[..length]).into_owned());
                there.send_to_addr(answer.as_bytes(), &from)?;
            }
            Ok(said)
        });
        let mut hostapd = Hostapd::of(&folder, "wlan0");
        assert!(hostapd.is_new());
        hostapd.say(&[0xdd, 1, 2])?;
        assert!(!hostapd.is_new());
        let refused = hostapd.say(&[]).expect_err("it fails").to_string();
        assert!(
            refused.contains("SET") && refused.contains("FAIL"),
            "{refused}"
        );
        let said = served.join().expect("it ended")?;
        assert_eq!(
            said,
            [
                "SET vendor_elements dd0102",
                "UPDATE_BEACON",
                "SET vendor_elements "
            ]
        );
        // One that refused is told again.
        assert!(hostapd.is_new());
        std::fs::remove_file(folder.join("wlan0"))?;
        assert!(hostapd.say(&[]).is_err());
        assert!(!hostapd.is_new());
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    }

    #[test]
    fn one_that_began_anew_is_known_by_its_socket() -> io::Result<()> {
        let folder = std::env::temp_dir().join(format!("weir-anew-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let mut hostapd = Hostapd::of(&folder, "wlan0");
        for _ in 0..2 {
            let there = UnixDatagram::bind(folder.join("wlan0"))?;
            assert!(hostapd.is_new());
            hostapd.told = hostapd.there();
            assert!(!hostapd.is_new());
            drop(there);
            // A socket stays where its program died.
            assert!(!hostapd.is_new());
            std::fs::remove_file(folder.join("wlan0"))?;
            assert!(!hostapd.is_new());
        }
        std::fs::remove_dir_all(&folder)
    }
}
