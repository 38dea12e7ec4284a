//! Sends commands to hostapd by its control socket: our element for its beacon, and the clients to
//! deny. Works with hostapd as distributions have it (`SET vendor_elements` and `UPDATE_BEACON` are
//! in 2.0 and later, `DENY_ACL` in 2.7).

use std::collections::BTreeSet;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kernel::Mac;
use net::mac::text;

/// hostapd answers at once, or is not there: the daemon's loop must not wait long.
const PATIENCE: Duration = Duration::from_millis(200);

/// Access points that proved the secret; no client may use their addresses. hostapd takes any
/// device that authenticates with one for a restarted client, and removes the kernel's state of
/// that address: the peer (`hostapd_drv_sta_remove` in `handle_auth`, src/ap/ieee802_11.c).
pub type Denied = Arc<Mutex<BTreeSet<Mac>>>;

/// The control socket of one access point.
#[derive(Debug)]
pub struct Hostapd {
    path: PathBuf,
    /// Socket of the last command.
    told: Option<Socket>,
    denied: Denied,
}

/// Identity of a socket, unlike its name unique: its number, and its creation time.
type Socket = (u64, i64, i64);

impl Hostapd {
    /// Creates the client for a device's socket in this directory, with the clients to deny.
    pub fn of(directory: &Path, device: &str, denied: Denied) -> Self {
        Self {
            path: directory.join(device),
            told: None,
            denied,
        }
    }

    /// Puts an element into the beacon, replacing those in `vendor_elements` of hostapd.conf;
    /// `None` removes them.
    ///
    /// # Errors
    /// hostapd is not running, or refused.
    pub fn say(&mut self, element: &[u8]) -> io::Result<()> {
        let there = self.there();
        self.told = None;
        let digits = net::hex::text(element);
        let socket = self.open()?;
        ask(&socket, &format!("SET vendor_elements {digits}"))?;
        ask(&socket, "UPDATE_BEACON")?;
        self.told = there;
        Ok(())
    }

    /// Denies these clients; `again`: also those denied already, which a restarted or reloaded
    /// hostapd forgot.
    ///
    /// # Errors
    /// hostapd is not running, or refused. The next call sends new ones again with all others.
    pub fn deny(&mut self, all: &BTreeSet<Mac>, again: bool) -> io::Result<()> {
        let about: Vec<Mac> = {
            let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
            let new = all.iter().filter(|mac| denied.insert(**mac));
            let new: Vec<Mac> = new.copied().collect();
            match again {
                true => denied.iter().copied().collect(),
                false => new,
            }
        };
        self.tell("DENY_ACL ADD_MAC", &about)
    }

    /// Denies no client any more.
    ///
    /// # Errors
    /// hostapd is not there, or refused.
    pub fn deny_nobody(&mut self) -> io::Result<()> {
        let all = std::mem::take(&mut *self.denied.lock().unwrap_or_else(PoisonError::into_inner));
        self.tell("DENY_ACL DEL_MAC", &Vec::from_iter(all))
    }

    fn tell(&self, order: &str, about: &[Mac]) -> io::Result<()> {
        if about.is_empty() {
            return Ok(());
        }
        let socket = self.open()?;
        let mut told = about.iter();
        told.try_for_each(|mac| ask(&socket, &format!("{order} {}", text(mac))))
    }

    /// Returns true if there is a hostapd that has not received a command yet: a restarted one.
    pub fn is_new(&self) -> bool {
        let there = self.there();
        there.is_some() && there != self.told
    }

    fn there(&self) -> Option<Socket> {
        let about = std::fs::metadata(&self.path).ok()?;
        Some((about.ino(), about.ctime(), about.ctime_nsec()))
    }

    fn open(&self) -> io::Result<UnixDatagram> {
        // hostapd answers to a name; an abstract name leaves no file behind.
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
                "hostapd answers {verb} with {said:?}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::JoinHandle;

    use testing::Directory;

    use super::*;

    /// Serves a hostapd with these answers, in turn. Returns the commands it received.
    fn serve(
        folder: &Path,
        answers: &'static [&str],
    ) -> io::Result<JoinHandle<io::Result<Vec<String>>>> {
        let there = UnixDatagram::bind(folder.join("wlan0"))?;
        Ok(std::thread::spawn(move || {
            let mut said = Vec::new();
            for answer in answers {
                let mut line = [0; 256];
                let (length, from) = there.recv_from(&mut line)?;
                said.push(String::from_utf8_lossy(&line[..length]).into_owned());
                there.send_to_addr(answer.as_bytes(), &from)?;
            }
            Ok(said)
        }))
    }

    #[test]
    fn an_element_is_set_and_the_beacon_made_anew() -> io::Result<()> {
        let folder = Directory::new();
        let served = serve(&folder, &["OK\n", "OK\n", "FAIL\n"])?;
        let mut hostapd = Hostapd::of(&folder, "wlan0", Denied::default());
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
        // A hostapd that refused receives the command again.
        assert!(hostapd.is_new());
        std::fs::remove_file(folder.join("wlan0"))?;
        assert!(hostapd.say(&[]).is_err());
        assert!(!hostapd.is_new());
        Ok(())
    }

    #[test]
    fn who_is_denied_is_told_once_and_to_one_that_forgot() -> io::Result<()> {
        let folder = Directory::new();
        let served = serve(
            &folder,
            &["OK\n", "OK\n", "UNKNOWN COMMAND\n", "OK\n", "OK\n"],
        )?;
        let mut hostapd = Hostapd::of(&folder, "wlan0", Denied::default());
        let mut all = BTreeSet::from([[2, 0, 0, 0, 0, 1]]);
        hostapd.deny(&all, false)?;
        hostapd.deny(&all, false)?;
        hostapd.deny(&all, true)?;
        all.insert([2, 0, 0, 0, 0, 2]);
        let refused = hostapd.deny(&all, false).expect_err("it fails").to_string();
        assert!(refused.contains("DENY_ACL"), "{refused}");
        hostapd.deny_nobody()?;
        hostapd.deny_nobody()?;
        let said = served.join().expect("it ended")?;
        let orders = ["ADD_MAC 02:00:00:00:00:01"; 2].into_iter();
        let orders = orders.chain([
            "ADD_MAC 02:00:00:00:00:02",
            "DEL_MAC 02:00:00:00:00:01",
            "DEL_MAC 02:00:00:00:00:02",
        ]);
        let orders: Vec<String> = orders.map(|order| format!("DENY_ACL {order}")).collect();
        assert_eq!(said, orders);
        Ok(())
    }

    #[test]
    fn one_that_began_anew_is_known_by_its_socket() -> io::Result<()> {
        let folder = Directory::new();
        let mut hostapd = Hostapd::of(&folder, "wlan0", Denied::default());
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
        Ok(())
    }
}
