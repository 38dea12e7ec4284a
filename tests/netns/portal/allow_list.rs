//! The walled garden by names: a real dnsmasq on the router and another outside. Of the
//! neighbouring sites only one is in the walled garden.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use lab::namespace::Process;

use super::*;

/// A site in the walled garden, and another site on the same machine.
const SITE: [&str; 2] = ["203.0.113.7", "2001:db8:77::7"];
const OTHER: [&str; 2] = ["203.0.113.8", "2001:db8:77::8"];
const NAMES: &str = "garden = [\"garden.example\", \"*.below.example\", \"near.example\"]\n\
    resolver = \"127.0.0.1\"\n";

/// Returns a dnsmasq that reads no file of the machine. It writes no PID file: servers that start
/// at once would share that file.
fn dnsmasq() -> Command {
    let mut dnsmasq = Command::new("dnsmasq");
    dnsmasq.args([
        "-k",
        "-C",
        "/dev/null",
        "-R",
        "-h",
        "-u",
        "root",
        "--pid-file=",
    ]);
    dnsmasq
}

struct Grounds {
    place: Place,
    log: PathBuf,
    _servers: Vec<Process>,
}

impl Grounds {
    fn open(hook: &str, more: &str) -> Result<Self, Error> {
        let place = Place::open(hook, &format!("{NAMES}{more}"))?;
        let (router, server) = (place.lab.node("router")?, place.lab.node("server")?);
        for (one, other) in SITE.iter().zip(OTHER) {
            for address in [*one, other] {
                let nodad = if address.contains(':') { " nodad" } else { "" };
                server.run(&format!("ip addr add {address} dev lo{nodad}"))?;
                let to: SocketAddr = SocketAddr::new(address.parse().expect("one"), 80);
                let listener = server.enter(|| TcpListener::bind(to))?;
                let listener = listener.map_err(unexpected)?;
                std::thread::spawn(move || {
                    for stream in listener.incoming().flatten() {
                        let _ = serve(stream);
                    }
                });
            }
        }
        router.run(&format!("ip route replace default via {SERVER}"))?;
        router.run(&format!("ip -6 route replace default via {SERVER6}"))?;
        let log = place.folder.join("asked");
        let far = [
            format!("--listen-address={SERVER}"),
            "--bind-interfaces".to_owned(),
            "--local=/example/".to_owned(),
            format!("--host-record=site.cdn.example,{},{}", SITE[0], SITE[1]),
            format!("--host-record=garden.example,{},{}", SITE[0], SITE[1]),
            format!("--host-record=other.example,{},{}", OTHER[0], OTHER[1]),
            format!("--host-record=below.example,{}", OTHER[0]),
            format!("--host-record=x.below.example,{}", SITE[0]),
            "--host-record=printer.near.example,192.168.1.2".to_owned(),
            "--host-record=router.near.example,10.0.0.1,2001:db8:1::1".to_owned(),
            "--host-record=lan.near.example,127.0.0.1,2001:db8:1::2".to_owned(),
            "--cname=www.garden.example,site.cdn.example".to_owned(),
        ];
        let near = [
            format!("--server={SERVER}"),
            "--listen-address=127.0.0.1".to_owned(),
            "--bind-interfaces".to_owned(),
            "--cache-size=0".to_owned(),
            "--log-queries".to_owned(),
            format!("--log-facility={}", log.display()),
        ];
        let mut servers = Vec::new();
        for (node, arguments) in [(server, &far[..]), (router, &near[..])] {
            let mut dnsmasq = self::dnsmasq();
            dnsmasq.args(arguments);
            dnsmasq.stderr(std::process::Stdio::null());
            servers.push(node.start(&mut dnsmasq)?);
        }
        wait_until("name servers", LIMIT, || {
            let asked = router.run("dig +short +time=1 +tries=1 @127.0.0.1 garden.example");
            Ok(asked.is_ok_and(|said| said.trim() == SITE[0]))
        })?;
        Ok(Self {
            place,
            log,
            _servers: servers,
        })
    }

    /// Returns dig's output at the guest.
    fn dig(&self, arguments: &str) -> Result<String, Error> {
        let line = format!("dig +time=6 +tries=1 @192.168.1.1 {arguments}");
        self.place.client()?.run(&line)
    }

    /// Returns curl's output for a name that curl resolved itself.
    fn curl(&self, arguments: &str) -> Result<String, Error> {
        let (told, script) = (
            self.place.folder.join("resolv.conf"),
            self.place.folder.join("by-name"),
        );
        std::fs::write(&told, "nameserver 192.168.1.1\n").map_err(unexpected)?;
        let text = format!(
            "mount --bind {} /etc/resolv.conf && exec curl -s -m 10 -o /dev/null \
             -w '%{{http_code}}>%{{redirect_url}}' {arguments}\n",
            told.display()
        );
        std::fs::write(&script, text).map_err(unexpected)?;
        let line = format!("unshare -m sh {}", script.display());
        self.place.client()?.run(&line)
    }

    /// Returns the addresses that names have opened.
    fn opened(&self) -> Result<String, Error> {
        let router = self.place.lab.node("router")?;
        let lists = ["names4", "names6"].map(|set| {
            let told = router.run(&format!("nft list set inet weir_portal {set}"))?;
            let elements = told.split_once("elements = ");
            Ok::<_, Error>(elements.map_or(String::new(), |(_, all)| all.to_owned()))
        });
        let [four, six] = lists;
        Ok(four? + &six?)
    }

    fn reaches(&self, address: &str) -> Result<bool, Error> {
        let to = SocketAddr::new(address.parse().map_err(unexpected)?, 80);
        // An answer of the site, as a redirection to the portal has another status.
        let said = ask_tcp(self.place.client()?, to, b"GET / HTTP/1.0\r\n\r\n");
        Ok(said.is_ok_and(|said| said.starts_with(b"HTTP/1.0 200")))
    }
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut octets = [0; 1000];
    let _ = stream.read(&mut octets)?;
    stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nwell")
}

/// Guests reach sites in the walled garden by name, also through an alias and by both families.
/// Queries for other names do not leave the router.
#[test]
fn names_of_the_garden_lead_there_and_no_others() -> Result<(), Error> {
    let grounds = Grounds::open("xdp", "")?;
    let place = &grounds.place;
    assert!(!grounds.reaches(SITE[0])? && !grounds.reaches(SITE[1])?);
    for family in ["-4", "-6"] {
        for name in ["garden.example", "WWW.garden.example"] {
            let said = grounds.curl(&format!("{family} http://{name}/"))?;
            assert_eq!(said, "200>", "{family} {name}\n{}", place.weir.log());
        }
    }
    assert_eq!(grounds.curl("-4 http://x.below.example/")?, "200>");
    for name in ["other.example", "below.example", "garden.example.other"] {
        let said = grounds.curl(&format!("-4 http://{name}/"))?;
        assert_eq!(said, format!("302>{PAGE}"), "{name}");
    }
    for address in OTHER {
        assert!(!grounds.reaches(address)?, "{address}");
    }
    let short = |arguments: &str| grounds.dig(&format!("+short {arguments}"));
    assert_eq!(short("+tcp www.garden.example")?.trim(), SITE[0]);
    assert_eq!(short("garden.example AAAA")?.trim(), SITE[1]);
    let six = "dig +short +time=6 +tries=1 @2001:db8:1::1 www.garden.example";
    assert_eq!(place.client()?.run(six)?.trim(), SITE[0]);
    for kind in ["HTTPS", "TXT", "ANY"] {
        let said = short(&format!("{kind} garden.example"))?;
        assert_eq!(said, "", "{kind}");
    }
    let missing = grounds.dig("none.garden.example")?;
    assert!(missing.contains("NXDOMAIN"), "{missing}");
    let asked = std::fs::read_to_string(&grounds.log).map_err(unexpected)?;
    assert!(asked.contains("none.garden.example"), "{asked}");
    assert!(!asked.contains("other"), "{asked}");
    // A repeated query finds the address in place: the set does not change.
    std::thread::sleep(2 * AT_ONCE);
    assert_eq!(short("garden.example")?.trim(), SITE[0]);
    let opened = grounds.opened()?;
    assert!(
        opened.contains(SITE[0]) && !opened.contains("19m59s"),
        "{opened}"
    );
    // Forwarding past the kernel opens only this site.
    let server = place.lab.node("server")?;
    let at = |address: &str| SocketAddr::new(address.parse().expect("one"), 5000);
    let transfer = Transfer::start(place.client()?, server, at(SITE[0]), 1, Some(1_000_000))?;
    place.weir.wait_for_forwarding(5000)?;
    let _echo = Echo::serve(server, at(OTHER[0]))?;
    assert!(ask_tcp(place.client()?, at(OTHER[0]), b"in?").is_err());
    transfer.advance(500_000, LIMIT)?;
    // Removed from the list, the name is closed with all its connections.
    let config = configuration("xdp", &place.folder, "");
    std::fs::write(place.weir.config_file(), config).map_err(unexpected)?;
    place.weir.client()?.reload().map_err(unexpected)?;
    wait_until("it is closed", LIMIT, || Ok(grounds.opened()?.is_empty()))?;
    std::thread::sleep(AT_ONCE);
    let carried = transfer.progress();
    std::thread::sleep(AT_ONCE);
    assert_eq!(transfer.progress(), carried);
    wait_until("the name is the portal's", LIMIT, || {
        Ok(short("garden.example")?.trim() == "192.168.1.1")
    })
}

/// The kernel closes an address without queries, but not during a connection, by either forwarder.
/// If weir is dead, the kernel closes such an address too.
#[test]
fn what_is_open_is_closed_by_the_kernel() -> Result<(), Error> {
    const TIME: Duration = Duration::from_secs(10);
    // On the second router the kernel forwards alone.
    let alone = Grounds::open("off", "garden_time = \"10s\"\n")?;
    alone.dig("garden.example")?;
    let by_the_kernel = Transfer::start(
        alone.place.client()?,
        alone.place.lab.node("server")?,
        SocketAddr::new(SITE[0].parse().expect("an address"), 5000),
        1,
        Some(1_000_000),
    )?;
    by_the_kernel.advance(500_000, LIMIT)?;
    let grounds = Grounds::open("xdp", "garden_time = \"10s\"\n")?;
    let told = grounds.dig("garden.example")?;
    assert!(
        told.contains("garden.example.\t\t") && told.contains(SITE[0]),
        "{told}"
    );
    assert!(grounds.reaches(SITE[0])?);
    let place = &grounds.place;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    grounds.dig("garden.example AAAA")?;
    let to = SocketAddr::new(SITE[1].parse().expect("an address"), 5000);
    let transfer = Transfer::start(client, server, to, 1, Some(1_000_000))?;
    place.weir.wait_for_forwarding(5000)?;
    std::thread::sleep(TIME + 2 * AT_ONCE);
    assert!(!grounds.reaches(SITE[0])?, "{}", grounds.opened()?);
    transfer.advance(500_000, LIMIT)?;
    by_the_kernel.advance(500_000, LIMIT)?;
    assert_eq!(grounds.opened()?.matches("expires").count(), 1);
    grounds.dig("garden.example")?;
    assert!(grounds.reaches(SITE[0])?);
    grounds.place.weir.end(nix::sys::signal::Signal::SIGKILL)?;
    std::thread::sleep(TIME + AT_ONCE);
    assert_eq!(grounds.opened()?, "");
    assert!(!grounds.reaches(SITE[0])?);
    let carried = transfer.progress();
    std::thread::sleep(AT_ONCE);
    assert_eq!(transfer.progress(), carried);
    Ok(())
}

/// The router's addresses, a name server of the administrator, and a forger: in this order, as each
/// step leaves addresses open.
#[test]
fn only_answers_of_name_servers_open_anything() -> Result<(), Error> {
    let grounds = Grounds::open("tc", "")?;
    no_name_leads_to_what_is_here(&grounds)?;
    dnsmasq_may_open_addresses_too(&grounds)?;
    forged_answers_open_nothing(&grounds)
}

/// The owner of a name in the walled garden cannot open the router's addresses or the router's
/// networks.
fn no_name_leads_to_what_is_here(grounds: &Grounds) -> Result<(), Error> {
    for name in ["printer", "router", "lan"] {
        for kind in ["A", "AAAA"] {
            let said = grounds.dig(&format!("+short {name}.near.example {kind}"))?;
            assert_eq!(said, "", "{name}");
        }
    }
    assert_eq!(grounds.opened()?, "");
    let log = grounds.place.weir.log();
    assert!(
        log.contains("resolves to an address of this network"),
        "{log}"
    );
    Ok(())
}

/// A dnsmasq built with `nftset` opens addresses itself; a refresh keeps them.
fn dnsmasq_may_open_addresses_too(grounds: &Grounds) -> Result<(), Error> {
    let (place, far) = (&grounds.place, grounds.place.lab.node("server")?);
    let router = place.lab.node("router")?;
    let mut dnsmasq = self::dnsmasq();
    dnsmasq.arg("--bind-interfaces");
    dnsmasq.args(["--listen-address=10.0.0.2", "-p", "54"]);
    dnsmasq.arg(format!(
        "--host-record=www.set.example,{},{}",
        SITE[0], SITE[1]
    ));
    let _far = far.start(&mut dnsmasq)?;
    let mut dnsmasq = self::dnsmasq();
    dnsmasq.arg("--bind-interfaces");
    dnsmasq.args(["--listen-address=127.0.0.3", "--server=10.0.0.2#54"]);
    dnsmasq.arg("--nftset=/set.example/4#inet#weir_portal#names4,6#inet#weir_portal#names6");
    let _near = router.start(&mut dnsmasq)?;
    wait_until("it opens", LIMIT, || {
        for kind in ["A", "AAAA"] {
            let line = format!("dig +time=1 +tries=1 @127.0.0.3 www.set.example {kind}");
            let _ = router.run(&line);
        }
        Ok(grounds.reaches(SITE[0])? && grounds.reaches(SITE[1])?)
    })?;
    let config = configuration("tc", &place.folder, &format!("{NAMES}exempt = []\n"));
    let config = config.replace("\"near.example\"", "\"198.51.100.0/24\"");
    std::fs::write(place.weir.config_file(), config).map_err(unexpected)?;
    place.weir.client()?.reload().map_err(unexpected)?;
    wait_until("the refresh", LIMIT, || {
        let set = router.run("nft list set inet weir_portal garden4")?;
        Ok(set.contains("198.51.100.0/24"))
    })?;
    assert!(grounds.reaches(SITE[0])?, "{}", grounds.opened()?);
    Ok(())
}

/// Forged answers do not count: those with another id, another question, foreign records or private
/// addresses.
fn forged_answers_open_nothing(grounds: &Grounds) -> Result<(), Error> {
    let router = grounds.place.lab.node("router")?;
    let config = configuration(
        "tc",
        &grounds.place.folder,
        &NAMES.replace("0.0.1", "0.0.2"),
    );
    std::fs::write(grounds.place.weir.config_file(), config).map_err(unexpected)?;
    grounds.place.weir.client()?.reload().map_err(unexpected)?;
    let at: SocketAddr = "127.0.0.2:53".parse().expect("an address");
    let socket = router.enter(|| UdpSocket::bind(at))?.map_err(unexpected)?;
    std::thread::spawn(move || {
        let mut asked = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut asked) {
            let name = asked[12..].iter().position(|octet| *octet == 0);
            let end = 12 + name.unwrap_or(0) + 5;
            let answer = |last: u8, owner: &[u8]| {
                let mut said = asked[..end.min(length)].to_vec();
                said[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
                said.extend(owner);
                said.extend([0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 203, 0, 113, last]);
                said
            };
            let (own, other) = (&b"\xc0\x0c"[..], &b"\x05other\x07example\x00"[..]);
            let mut number = answer(66, own);
            number[1] ^= 1;
            let mut question = answer(67, own);
            question[13] ^= 1;
            let mut both = answer(7, own);
            both[7] = 2;
            both.extend(&answer(68, other)[end..]);
            for said in [number, question, asked[..length].to_vec(), vec![7; 3], both] {
                let _ = socket.send_to(&said, from);
            }
        }
    });
    let said = grounds.dig("+short garden.example")?;
    assert_eq!(said.trim(), SITE[0], "{}", grounds.place.weir.log());
    let opened = grounds.opened()?;
    assert!(opened.contains(SITE[0]), "{opened}");
    assert!(!opened.contains("203.0.113.6"), "{opened}");
    Ok(())
}

/// While a name server is silent, the portal still answers the page and all other names. The
/// remaining queries fail with an error.
#[test]
fn a_silent_name_server_is_in_nobodys_way() -> Result<(), Error> {
    let place = Place::open("tc", &NAMES.replace("0.0.1", "0.0.2"))?;
    let (client, router) = (place.client()?, place.lab.node("router")?);
    let at: SocketAddr = "127.0.0.2:53".parse().expect("an address");
    let _silent = router.enter(|| UdpSocket::bind(at))?.map_err(unexpected)?;
    let socket = client.enter(|| UdpSocket::bind("0.0.0.0:0"))?;
    let socket = socket.map_err(unexpected)?;
    for number in 0..400u16 {
        let mut asked = number.to_be_bytes().to_vec();
        asked.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        asked.extend(format!("\x06x{number:05}\x06garden\x07example\0").bytes());
        asked.extend([0, 1, 0, 1]);
        let to = "192.168.1.1:53";
        socket.send_to(&asked, to).map_err(unexpected)?;
    }
    // All queries are pending.
    std::thread::sleep(AT_ONCE);
    let began = Instant::now();
    assert_eq!(place.curl(PAGE)?, "200>");
    let dig = |name: &str| client.run(&format!("dig +time=6 +tries=1 @192.168.1.1 {name}"));
    assert!(dig("other.example")?.contains("192.168.1.1\n"));
    assert!(began.elapsed() < 2 * AT_ONCE, "it waited");
    wait_until("a failure", LIMIT, || {
        Ok(dig("garden.example").is_ok_and(|said| said.contains("SERVFAIL")))
    })?;
    assert!(place.weir.log().contains("no answer from the name server"));
    let check = format!("{} check", weir_tests::binary().display());
    let config = place.weir.config_file().display().to_string();
    let told = router.run(&format!("{check} --verbose --config {config}"));
    let told = told.unwrap_or_else(|error| error.to_string());
    assert!(told.contains("name server 127.0.0.2"), "{told}");
    Ok(())
}
