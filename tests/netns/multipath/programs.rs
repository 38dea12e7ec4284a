//! Unmodified programs without special settings use the partner, and their data stays whole.

mod calls;
mod quic;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::counters::Bytes;
use lab::iperf::Iperf;
use lab::namespace::{Process, wait_until};
use lab::random::Random;
use lab::transfer::Transfer;
use lab::uplinks::{Options, PARTNER, SERVER};
use lab::{Error, Namespace};
use testing::Directory;
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::PORT;

/// Size of the files in bytes.
const FILE: usize = 20 << 20;

/// A router, its partner, and a server that counts packets by source; with a folder for the
/// programs' files.
struct Stage {
    pair: Pair,
    folder: Directory,
}

impl Stage {
    fn build(rates: &[u64]) -> Result<Self, Error> {
        let pair = Pair::build(&Options::mbit(rates))?;
        pair.wait_for("the tunnel", |told| told.tunnel)?;
        pair.uplinks.server().nft(&format!(
            "table ip seen {{\n counter partner {{ }}\n counter others {{ }}\n\
             chain in {{\n type filter hook input priority 0\n iifname != eth0 accept\n\
             ip saddr {PARTNER} counter name partner accept\n counter name others\n }}\n }}\n"
        ))?;
        let folder = Directory::new();
        Ok(Self { pair, folder })
    }

    fn client(&self) -> &Namespace {
        self.pair.uplinks.client()
    }

    fn server(&self) -> &Namespace {
        self.pair.uplinks.server()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, octets: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path(name);
        std::fs::write(&path, octets).map_err(Error::system(format!("write {name}")))?;
        Ok(path)
    }

    /// Writes a file that compression cannot shrink.
    fn big(&self, name: &str) -> Result<PathBuf, Error> {
        self.write(name, &Random::new(7).bytes(FILE))
    }

    /// Asserts that two files are equal, byte for byte.
    fn same(&self, one: &str, other: &str) -> Result<(), Error> {
        let read = |name: &str| {
            std::fs::read(self.path(name)).map_err(Error::system(format!("read {name}")))
        };
        let (one_octets, other_octets) = (read(one)?, read(other)?);
        assert_eq!(one_octets.len(), other_octets.len(), "{one} and {other}");
        assert!(one_octets == other_octets, "{one} and {other} differ");
        Ok(())
    }

    /// Starts a server's program and waits until it listens at that port.
    fn serve(&self, command: &mut Command, protocol: &str, port: u16) -> Result<Process, Error> {
        let log = std::fs::File::create(self.path("log")).map_err(Error::system("open a log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let process = self.server().start(command.stderr(log))?;
        wait_until(&format!("{command:?} to listen"), LIMIT, || {
            if let Some(status) = process.ended()? {
                let said = std::fs::read_to_string(self.path("log")).unwrap_or_default();
                return Err(Error::Unexpected(format!("{command:?}: {status}: {said}")));
            }
            let asked = format!("ss -Hln{protocol} sport = :{port}");
            Ok(!self.server().run(&asked)?.is_empty())
        })?;
        Ok(process)
    }

    /// Asserts that all packets at the server came from the partner, and that some came.
    fn by_the_partner(&self) -> Result<(), Error> {
        let packets = |name: &str| -> Result<u64, Error> {
            let told = self
                .server()
                .run(&format!("nft list counter ip seen {name}"))?;
            let number = told.split("packets ").nth(1);
            let number = number.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            number.ok_or(Error::Unexpected(told))
        };
        assert!(packets("partner")? > 0, "nothing came by the partner");
        assert_eq!(packets("others")?, 0, "packets of others came");
        assert_eq!(self.pair.paths()?.connections.direct, 0);
        Ok(())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn curl_nginx_and_ssh() -> Result<(), Error> {
    let stage = Stage::build(&[40, 40])?;
    let certificate = format!(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj \
            /CN=server \
         -addext subjectAltName=IP:{SERVER} -keyout {} -out {}",
        text(&stage.path("key.pem")),
        text(&stage.path("certificate.pem"))
    );
    stage.server().run(&certificate)?;
    let folder = text(&stage.folder).to_owned();
    let scratch: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("{kind}_temp_path {folder}/{kind};\n"))
        .collect();
    let config = format!(
        "daemon off;\nuser root;\npid {folder}/pid;\nerror_log stderr;\nevents {{ }}\n\
         http {{\n access_log {folder}/access;\n {scratch} client_max_body_size 0;\n server {{\n \
         listen 80;\n listen 443 ssl;\n\
         ssl_certificate {folder}/certificate.pem;\n ssl_certificate_key {folder}/key.pem;\n root \
         {folder};\n\
         location / {{ dav_methods PUT; }}\n }}\n }}\n"
    );
    let config = stage.write("nginx.conf", config.as_bytes())?;
    let mut nginx = Command::new("nginx");
    nginx.args(["-e", "stderr", "-c"]).arg(config);
    let _nginx = stage.serve(&mut nginx, "t", 443)?;
    let big = stage.big("big")?;
    for scheme in ["http", "https"] {
        let curl = format!(
            "curl -q --http1.1 --noproxy * --silent --show-error --fail --max-time 90 --cacert \
                {folder}/certificate.pem"
        );
        let (down, up) = (format!("{scheme}-down"), format!("{scheme}-up"));
        let to = text(&stage.path(&down)).to_owned();
        stage
            .client()
            .run(&format!("{curl} --output {to} {scheme}://{SERVER}/big"))?;
        stage.same("big", &down)?;
        stage.client().run(&format!(
            "{curl} --upload-file {} {scheme}://{SERVER}/{up}",
            text(&big)
        ))?;
        stage.same("big", &up)?;
    }
    let access = std::fs::read_to_string(stage.path("access")).unwrap_or_default();
    assert_eq!(access.lines().count(), 4, "{access}");
    let by = format!("{PARTNER} ");
    assert!(access.lines().all(|line| line.starts_with(&by)), "{access}");
    ssh_and_its_copies(&stage)?;
    stage.by_the_partner()
}

fn ssh_and_its_copies(stage: &Stage) -> Result<(), Error> {
    // Debian's sshd needs this folder for its privilege separation.
    std::fs::create_dir_all("/run/sshd").map_err(Error::system("make /run/sshd"))?;
    for key in ["host", "own"] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
        let made = keygen.arg(stage.path(key)).stdin(Stdio::null()).status();
        assert!(made.is_ok_and(|status| status.success()), "{keygen:?}");
    }
    let folder = text(&stage.folder).to_owned();
    let config = format!(
        "Port 22\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/own.pub\nStrictModes \
            no\nUsePAM no\nPidFile none\n\
         PermitRootLogin yes\nPasswordAuthentication no\nSubsystem sftp internal-sftp\n"
    );
    let config = stage.write("sshd.conf", config.as_bytes())?;
    let mut sshd = Command::new("/usr/sbin/sshd");
    let _sshd = stage.serve(sshd.args(["-D", "-e", "-f"]).arg(config), "t", 22)?;
    let options = format!(
        "-F none -i {folder}/own -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o \
            UserKnownHostsFile={folder}/known"
    );
    let told = stage
        .client()
        .run(&format!("ssh {options} root@{SERVER} echo $SSH_CONNECTION"))?;
    assert!(told.starts_with(&format!("{PARTNER} ")), "{told}");
    let scp = format!("scp -q {options}");
    stage
        .client()
        .run(&format!("{scp} {folder}/big root@{SERVER}:{folder}/up"))?;
    stage.same("big", "up")?;
    let batch = format!("get {folder}/big {folder}/down\n");
    stage
        .client()
        .feed(&format!("sftp -q {options} -b - root@{SERVER}"), &batch)?;
    stage.same("big", "down")
}

#[test]
fn iperf3() -> Result<(), Error> {
    let stage = Stage::build(&[20, 20])?;
    let iperf = Iperf::serve(stage.server(), 5201)?;
    // The server identifies the two connections by the order in which they arrive.
    iperf.wait()?;
    let told = stage.client().run(&format!(
        "iperf3 --json --client {SERVER} --time 5 --bidir --connect-timeout 10000"
    ))?;
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let rates = ["sum_received", "sum_received_bidir_reverse"]
        .map(|name| told["end"][name]["bits_per_second"].as_f64().unwrap_or(0.0) / 1e6);
    eprintln!("both ways at once: {rates:.1?} Mbit/s");
    assert!(rates.iter().all(|rate| *rate > 16.0), "{rates:?}");
    stage.by_the_partner()
}

#[test]
fn dig_ping_traceroute_mtr_and_wireguard() -> Result<(), Error> {
    let stage = Stage::build(&[20, 20])?;
    // traceroute expects a closed port 53, so it runs before dnsmasq.
    ping_traceroute_and_mtr(&stage)?;
    let mut dnsmasq = Command::new("dnsmasq");
    // Servers that start at once would share a file.
    dnsmasq.arg("--pid-file=");
    dnsmasq.args([
        "--no-daemon",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
    ]);
    dnsmasq.args(["--user=root", "--address=/www.example.net/192.0.2.77"]);
    let _dnsmasq = stage.serve(&mut dnsmasq, "u", 53)?;
    for way in ["+notcp", "+tcp"] {
        let asked = format!("dig +short +tries=10 +time=3 {way} @{SERVER} www.example.net");
        assert_eq!(stage.client().run(&asked)?.trim(), "192.0.2.77", "{way}");
    }
    wireguard_within(&stage)?;
    stage.by_the_partner()
}

fn ping_traceroute_and_mtr(stage: &Stage) -> Result<(), Error> {
    let router = stage.pair.uplinks.router();
    let sent = || Bytes::of(router, "weir-tunnel").map(|octets| octets.sent);
    let before = sent()?;
    // The second size exceeds the tunnel's MTU: the client gets an error and sends smaller packets
    // or fragments.
    for more in ["", "-s 1472 -M dont "] {
        let told = stage
            .client()
            .run(&format!("ping -c 5 -i 0.2 -W 5 {more}{SERVER}"))?;
        assert!(told.contains("5 received"), "{told}");
    }
    let octets = sent()? - before;
    assert!(octets > 5 * 1500, "{octets} bytes by the tunnel");
    for way in ["-U", "-I"] {
        let told = stage
            .client()
            .run(&format!("traceroute -n {way} -q 1 -w 5 -m 8 {SERVER}"))?;
        eprintln!("{told}");
        let hops: Vec<_> = told.lines().skip(1).collect();
        assert!(
            hops.last()
                .is_some_and(|hop| hop.contains(&SERVER.to_string())),
            "{told}"
        );
        // Providers do not appear as hops: packets pass them sealed.
        assert!(!told.contains("10.64.") && hops.len() == 4, "{told}");
    }
    let told = stage.client().run(&format!(
        "mtr --no-dns --report --report-cycles 3 --interval 0.3 {SERVER}"
    ))?;
    let last = told.lines().last().unwrap_or_default();
    assert!(
        last.contains(&SERVER.to_string()) && last.contains(" 0.0%"),
        "{told}"
    );
    Ok(())
}

/// A tunnel device. Stopped when dropped.
struct WireGuard<'a> {
    namespace: &'a Namespace,
    device: String,
    public: String,
    _process: Process,
}

impl<'a> WireGuard<'a> {
    /// Starts a user-space WireGuard, as the kernel may lack the module.
    fn start(namespace: &'a Namespace, stage: &Stage, own: &str) -> Result<Self, Error> {
        // The control socket is outside the namespace, so the name must be unique.
        let device = format!("wg{}{}", &namespace.role()[..1], std::process::id());
        let mut command = Command::new("wireguard-go");
        command
            .args(["--foreground", &device])
            .env("LOG_LEVEL", "error");
        command.stdin(Stdio::null());
        // wireguard-go prints a long notice that the kernel's would be faster.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = namespace.start(&mut command)?;
        wait_until("wireguard-go", LIMIT, || {
            Ok(namespace.run(&format!("wg show {device}")).is_ok())
        })?;
        let key = namespace.run("wg genkey")?;
        let public = namespace.feed("wg pubkey", &key)?.trim().to_owned();
        let file = stage.write(&device, key.as_bytes())?;
        namespace.run(&format!(
            "wg set {device} listen-port 51820 private-key {}",
            text(&file)
        ))?;
        namespace.run(&format!("ip addr add {own}/24 dev {device}"))?;
        namespace.run(&format!("ip link set {device} up"))?;
        Ok(Self {
            namespace,
            device,
            public,
            _process: process,
        })
    }

    fn meet(&self, other: &Self, address: &str, more: &str) -> Result<(), Error> {
        self.namespace.run(&format!(
            "wg set {} peer {} allowed-ips {address}/32 {more}",
            self.device, other.public
        ))?;
        Ok(())
    }
}

fn wireguard_within(stage: &Stage) -> Result<(), Error> {
    let near = WireGuard::start(stage.client(), stage, "10.99.0.2")?;
    let far = WireGuard::start(stage.server(), stage, "10.99.0.1")?;
    far.meet(&near, "10.99.0.2", "")?;
    near.meet(&far, "10.99.0.1", &format!("endpoint {SERVER}:51820"))?;
    let told = stage.client().run("ping -c 5 -i 0.2 -W 10 10.99.0.1")?;
    assert!(told.contains("5 received"), "{told}");
    let to = SocketAddr::new([10, 99, 0, 1].into(), PORT);
    let transfer = Transfer::start(stage.client(), stage.server(), to, 7, None)?;
    transfer.advance(10_000_000, LIMIT)?;
    transfer.stop()?;
    let told = stage
        .server()
        .run(&format!("wg show {} endpoints", far.device))?;
    assert!(told.contains(&format!("{PARTNER}:")), "{told}");
    Ok(())
}
