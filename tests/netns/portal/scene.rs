//! A client, a router with a portal, a server, and their commands.

use super::*;

/// Address of the page, as in redirects to it.
pub(crate) const PAGE: &str = "http://192.168.1.1:2080/";
/// Text of the page.
pub(crate) const SAID: &str =
    "# Rules\n\nBe kind; [all of them](https://example.org/).<script>alert(1)</script>\n";
/// Port of echo servers.
pub(crate) const ECHO: u16 = 7;
/// Time within which an end takes effect.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(1);

pub(crate) struct Place {
    pub(crate) weir: Weir,
    pub(crate) lab: Lab,
    pub(crate) folder: Directory,
}

impl Place {
    pub(crate) fn open(hook: &str, more: &str) -> Result<Self, Error> {
        Self::open_with(hook, more, &[])
    }

    /// Opens a place with files in its folder, which `more` names as `FOLDER/name`.
    pub(crate) fn open_with(hook: &str, more: &str, files: &[(&str, &str)]) -> Result<Self, Error> {
        let folder = Directory::new();
        std::fs::write(folder.join("said.md"), SAID).map_err(unexpected)?;
        for (name, text) in files {
            std::fs::write(folder.join(name), text).map_err(unexpected)?;
        }
        let lab = Lab::gateway(&Options::default())?;
        let more = more.replace("FOLDER", &folder.display().to_string());
        let config = configuration(hook, &folder, &more);
        let weir = Weir::start(lab.node("router")?, &config, &[])?;
        if hook != "off" {
            weir.wait_for_ports(2)?;
        }
        let place = Self { weir, lab, folder };
        place.is_closed()?;
        Ok(place)
    }

    pub(crate) fn client(&self) -> Result<&Namespace, Error> {
        self.lab.node("client")
    }

    /// Waits for the portal's table.
    pub(crate) fn is_closed(&self) -> Result<(), Error> {
        let router = self.lab.node("router")?;
        wait_until("the portal's table", LIMIT, || {
            Ok(router.run("nft list table inet weir_portal").is_ok())
        })
    }

    pub(crate) fn weir(&self, arguments: &str) -> Result<String, Error> {
        let binary = weir_tests::binary();
        let (binary, socket) = (binary.display(), self.weir.socket().display().to_string());
        let line = format!("{binary} portal {arguments} --socket {socket}");
        self.lab.node("router")?.run(&line)
    }

    /// Returns the entries of the voucher file.
    pub(crate) fn stored(&self) -> Result<Vec<serde_json::Value>, Error> {
        let text = std::fs::read_to_string(self.folder.join("vouchers")).map_err(unexpected)?;
        let entries = text.lines().map(|line| {
            let (_, entry) = line.split_once(' ').ok_or_else(|| unexpected(line))?;
            serde_json::from_str(entry).map_err(unexpected)
        });
        entries.collect()
    }

    pub(crate) fn sell(&self, what: &str) -> Result<PortalVoucher, Error> {
        let told = self.weir(&format!("voucher add --json {what}"))?;
        let sold: PortalVouchers = serde_json::from_str(&told).map_err(unexpected)?;
        sold.vouchers
            .into_iter()
            .next()
            .ok_or_else(|| unexpected("no voucher"))
    }

    pub(crate) fn clients(&self) -> Result<PortalClients, Error> {
        serde_json::from_str(&self.weir("clients --json")?).map_err(unexpected)
    }

    /// Returns curl's status and redirect target.
    pub(crate) fn curl(&self, arguments: &str) -> Result<String, Error> {
        let line =
            format!("curl -s -m 30 -o /dev/null -w %{{http_code}}>%{{redirect_url}} {arguments}");
        self.client()?.run(&line)
    }

    pub(crate) fn log_in(&self, code: &str) -> Result<(), Error> {
        let said = self.curl(&format!("-d code={code} {PAGE}login"))?;
        match said.starts_with("303>") {
            true => Ok(()),
            false => Err(unexpected(format!(
                "a code is refused: {said}\n{}",
                self.weir.log()
            ))),
        }
    }
}

pub(crate) fn configuration(hook: &str, folder: &Path, more: &str) -> String {
    let (vouchers, said) = (folder.join("vouchers"), folder.join("said.md"));
    format!(
        "{}[portal]\ndevices = [\"lan0\"]\nvouchers = {vouchers:?}\ntext = {said:?}\n\
         title = \"Caf\u{e9} <Weir>\"\n{more}",
        hooked(hook)
    )
}

/// Sends datagrams back and forth all the time; keeps each direction's last arrival.
pub(crate) struct Stream {
    pub(crate) stop: Arc<AtomicBool>,
    /// Arrivals at the server, and back at the client.
    pub(crate) last: Arc<[Mutex<Instant>; 2]>,
}

impl Stream {
    pub(crate) fn start(place: &Place, port: u16) -> Result<Self, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let last: Arc<[Mutex<Instant>; 2]> = Arc::new([0, 1].map(|_| Mutex::new(Instant::now())));
        let to = SocketAddr::new(SERVER, port);
        let bind = |at: SocketAddr| move || UdpSocket::bind(at);
        let server = place.lab.node("server")?.enter(bind(to))?;
        let client = place.client()?.enter(bind(SocketAddr::new(CLIENT, 0)))?;
        let (server, client) = (server.map_err(unexpected)?, client.map_err(unexpected)?);
        for socket in [&server, &client] {
            socket
                .set_read_timeout(Some(Duration::from_millis(5)))
                .map_err(unexpected)?;
        }
        let mark = |last: &Arc<[Mutex<Instant>; 2]>, end: usize| {
            if let Ok(mut last) = last[end].lock() {
                *last = Instant::now();
            }
        };
        let (ended, seen) = (stop.clone(), last.clone());
        std::thread::spawn(move || {
            let mut guest = None;
            while !ended.load(Ordering::Relaxed) {
                if let Ok((_, from)) = server.recv_from(&mut [0; 2000]) {
                    guest = Some(from);
                    mark(&seen, 0);
                }
                // The server also sends unrequested datagrams.
                if let Some(guest) = guest {
                    let _ = server.send_to(&[7; 1200], guest);
                }
            }
        });
        let (ended, seen) = (stop.clone(), last.clone());
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let _ = client.send_to(&[8; 1200], to);
                if client.recv_from(&mut [0; 2000]).is_ok() {
                    mark(&seen, 1);
                }
                // A few hundred a second suffice and do not load the two processors.
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Ok(Self { stop, last })
    }

    pub(crate) fn last(&self, end: usize) -> Instant {
        *self.last[end].lock().expect("no panic")
    }

    pub(crate) fn flows(&self) -> bool {
        (0..2).all(|end| self.last(end).elapsed() < Duration::from_millis(200))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
