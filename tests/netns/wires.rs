//! `weir bench send` and `receive` across a router in namespaces: figures that agree with the
//! router's own counters, and clear errors.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use lab::gateway::{SERVER, SERVER6};
use lab::namespace::Process;
use lab::{Lab, Namespace, Options};
use serde_json::Value;
use testing::Directory;
use weir_tests::{LIMIT, binary};

const PORT: u16 = 9467;

/// A `weir bench receive` at the server.
struct Receiver {
    process: Process,
    folder: Directory,
    code: String,
}

impl Receiver {
    fn start(lab: &Lab, options: &[&str]) -> Self {
        let folder = Directory::new();
        let file = |name: &str| std::fs::File::create(folder.join(name)).expect("a file");
        let server = lab.node("server").expect("there");
        let mut command = server.command(&binary().display().to_string());
        command.args(["bench", "receive"]).args(options);
        command
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"));
        let process = server.start(&mut command).expect("starts");
        let mut receiver = Self {
            process,
            folder,
            code: String::new(),
        };
        let begun = Instant::now();
        while !receiver.read("out").contains("Ctrl-C") {
            assert!(begun.elapsed() < LIMIT, "{}", receiver.read("err"));
            std::thread::sleep(Duration::from_millis(20));
        }
        let out = receiver.read("out");
        let code = out.lines().find_map(|line| line.strip_prefix("code"));
        receiver.code = code.expect("a code").trim().to_owned();
        std::fs::write(receiver.folder.join("code"), &receiver.code).expect("written");
        receiver
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    fn code_file(&self) -> String {
        self.folder.join("code").display().to_string()
    }

    fn wait_for(&self, text: &str) {
        self.wait_for_times(text, 1);
    }

    fn wait_for_times(&self, text: &str, times: usize) {
        let begun = Instant::now();
        while self.read("err").matches(text).count() < times {
            assert!(
                begun.elapsed() < LIMIT,
                "{times} times {text:?} in {:?}",
                self.read("err")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Runs by `ip netns exec`, as a sender reads `/sys/class/net` of its own machine.
fn sender(node: &Namespace, host: &str, arguments: &[&str]) -> Command {
    let mut command = node.command(&binary().display().to_string());
    command.args(["bench", "send", host]).args(arguments);
    command.env_remove("SSH_CONNECTION").stdin(Stdio::null());
    command
}

fn send(lab: &Lab, host: &str, arguments: &[&str]) -> Output {
    let client = lab.node("client").expect("there");
    sender(client, host, arguments).output().expect("weir runs")
}

fn json(ran: &Output) -> Value {
    let text = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{text}");
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the error for a user without the right to measure.
fn refusal(ran: &Output) -> String {
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{text}");
    assert!(
        text.contains("Hint: ") && !text.contains("panicked"),
        "{text}"
    );
    text
}

fn of(value: &Value, name: &str) -> f64 {
    value[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} of {value:#}"))
}

/// Returns the kernel's count of packets that the router sent by a device.
fn forwarded(lab: &Lab) -> f64 {
    let router = lab.node("router").expect("there");
    let text = router.run("ip -s -j link show dev wan0").expect("told");
    let told: Value = serde_json::from_str(&text).expect("JSON");
    of(&told[0]["stats64"]["tx"], "packets")
}

fn gateway() -> Lab {
    Lab::gateway(&Options::default()).expect("a lab")
}

/// Drops UDP beyond this many packets a second at the router.
fn limit(lab: &Lab, rate: u32) {
    drop_udp(
        lab,
        &format!("limit rate over {rate}/second burst 1000 packets drop"),
    );
}

/// Adds a rule of the router for packets to the receiver.
fn drop_udp(lab: &Lab, what: &str) {
    let rules = format!(
        "table inet narrow {{\n chain forward {{\n type filter hook forward priority 0\n udp \
            dport {PORT} {what}\n }}\n}}\n"
    );
    lab.node("router")
        .expect("there")
        .nft(&rules)
        .expect("loaded");
}

#[test]
fn what_arrives_is_what_the_router_forwarded() {
    let lab = gateway();
    let receiver = Receiver::start(&lab, &[]);
    for host in [SERVER.to_string(), format!("[{SERVER6}]:{PORT}")] {
        let before = forwarded(&lab);
        let arguments = [
            "--rate",
            "2000",
            "--seconds",
            "3",
            "--json",
            "--code-file",
            &receiver.code_file(),
        ];
        let told = json(&send(&lab, &host, &arguments));
        let forwarded = forwarded(&lab) - before;
        assert_eq!(told["schema"], "weir-bench-wires/1");
        assert_eq!(told["complete"], true);
        assert_eq!(told["device"], "eth0");
        let trial = &told["trials"][0];
        assert_eq!(
            (of(trial, "lost"), of(trial, "duplicates")),
            (0.0, 0.0),
            "{told:#}"
        );
        assert_eq!(of(trial, "received"), of(trial, "sent"));
        assert_eq!(of(trial, "answered_flows"), 64.0);
        // A busy machine sends less than requested, and reports that.
        let sent = of(trial, "sent");
        assert!(sent <= 6000.0 && sent > 0.0, "{told:#}");
        assert!(
            (trial["judgement"] == "passed") == (sent >= 5700.0),
            "{told:#}"
        );
        // The router also forwards warm-up, greetings with retries, and the messages between both
        // machines.
        assert!(forwarded >= sent, "{forwarded} forwarded of {sent}");
        assert!(
            forwarded <= (sent + 600.0 + 64.0) * 1.05 + 300.0,
            "{forwarded} forwarded of {sent}"
        );
        let seconds = trial["each_second"].as_array().expect("a list");
        let sum: f64 = seconds.iter().filter_map(Value::as_f64).sum();
        assert_eq!(sum, sent);
        let latency = &trial["latency"];
        assert!(of(latency, "answers") > 100.0, "{told:#}");
        let [p50, p99, p999, max] = ["p50", "p99", "p999", "max"].map(|name| of(latency, name));
        assert!(0.0 < p50 && p50 <= p99 && p99 <= p999 && p999 <= max);
        // A wire of the lab reports 10 Gbit/s.
        if let Some(mbit) = told["link_mbit"].as_f64() {
            let length = of(&told, "length");
            let most = mbit * 1e6 / ((length + 24.0) * 8.0);
            assert!(
                (of(&told, "link_pps") / most - 1.0).abs() < 1e-9,
                "{told:#}"
            );
        }
    }
    receiver.wait_for("is done");
}

#[test]
fn a_limit_of_the_router_is_found() {
    let lab = gateway();
    let receiver = Receiver::start(&lab, &[]);
    limit(&lab, 20_000);
    let code = receiver.code_file();
    let arguments = ["--seconds", "1", "--json", "--code-file", &code];
    let told = json(&send(&lab, &SERVER.to_string(), &arguments));
    match told["end"].as_str() {
        Some("found") => {
            let pps = of(&told, "pps");
            // A burst of 1000 packets in a second is 5 %.
            assert!((18_000.0..=22_000.0).contains(&pps), "{told:#}");
        }
        // A machine that cannot send this much reports that, without a figure for the router.
        end => assert_eq!(end, Some("sender-limit"), "{told:#}"),
    }
    let arguments = [
        "--rate",
        "30000",
        "--seconds",
        "2",
        "--json",
        "--code-file",
        &code,
    ];
    let told = json(&send(&lab, &SERVER.to_string(), &arguments));
    let trial = &told["trials"][0];
    if trial["judgement"] != "sender-limit" {
        assert_eq!(trial["judgement"], "lost", "{told:#}");
        let share = of(trial, "lost") / of(trial, "sent");
        assert!((0.2..0.4).contains(&share), "{told:#}");
        assert!(of(trial, "received_pps") < 22_000.0, "{told:#}");
    }
    let ran = send(
        &lab,
        &SERVER.to_string(),
        &["--rate", "30000", "--seconds", "0.5", "--code-file", &code],
    );
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        text.contains("lost on the way") || text.contains("the limit"),
        "{text}"
    );
}

#[test]
fn either_end_or_the_link_may_go_in_the_middle() {
    let lab = gateway();
    let receiver = Receiver::start(&lab, &[]);
    let client = lab.node("client").expect("there");
    let code = receiver.code_file();
    let router = lab.node("router").expect("there");
    let host = SERVER.to_string();
    let start = |seconds: &str| {
        let arguments = [
            "--rate",
            "500",
            "--seconds",
            seconds,
            "--json",
            "--code-file",
            &code,
        ];
        let mut command = sender(client, &host, &arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("weir runs")
    };
    // The sender is killed: the receiver waits for the next.
    let mut child = start("60");
    receiver.wait_for("measures");
    std::thread::sleep(Duration::from_secs(1));
    child.kill().expect("it runs");
    child.wait().expect("it is gone");
    receiver.wait_for("disconnected; waiting");
    // Ctrl-C at the sender: the report has the measured part, with a mark.
    let child = start("60");
    receiver.wait_for_times("measures", 2);
    std::thread::sleep(Duration::from_secs(1));
    let process = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGINT).expect("it runs");
    let told = json(&child.wait_with_output().expect("it ends"));
    assert_eq!(told["complete"], false);
    // A link that flaps gives no figure.
    let child = start("7");
    receiver.wait_for_times("measures", 3);
    std::thread::sleep(Duration::from_secs(3));
    router.run("ip link set lan0 down").expect("down");
    std::thread::sleep(Duration::from_millis(300));
    router.run("ip link set lan0 up").expect("up");
    let told = json(&child.wait_with_output().expect("it ends"));
    let trial = &told["trials"][0];
    assert_eq!(
        (&trial["judgement"], &trial["received_pps"]),
        (&Value::from("link-flapped"), &Value::Null),
        "{told:#}"
    );
    // The receiver is killed: the sender reports that and ends.
    let child = start("60");
    receiver.wait_for_times("measures", 4);
    std::thread::sleep(Duration::from_secs(1));
    receiver.process.stop();
    let text = refusal(&child.wait_with_output().expect("it ends"));
    assert!(text.contains("closed the connection"), "{text}");
    let text = refusal(&send(&lab, &host, &["--code-file", &code]));
    assert!(text.contains("no receiver listens"), "{text}");
}

#[test]
fn what_cannot_be_measured_is_told() {
    let lab = gateway();
    let receiver = Receiver::start(&lab, &[]);
    let client = lab.node("client").expect("there");
    let code = receiver.code_file();
    let host = SERVER.to_string();
    let quick = [
        "--rate",
        "100",
        "--seconds",
        "0.5",
        "--json",
        "--code-file",
        &code,
    ];
    let session = "192.168.1.1 50000 192.168.1.2 22";
    // The user's own SSH session leaves by the same device.
    let ran = sender(client, &host, &quick)
        .env("SSH_CONNECTION", session)
        .output();
    let text = refusal(&ran.expect("weir runs"));
    assert!(
        text.contains("eth0 carries your own SSH session") && text.contains("--force"),
        "{text}"
    );
    assert!(
        !receiver.read("err").contains("measures"),
        "nothing was begun"
    );
    let ran = sender(client, &host, &[&quick[..], &["--force"]].concat())
        .env("SSH_CONNECTION", session)
        .output();
    json(&ran.expect("weir runs"));
    for (host, more, words) in [
        ("127.0.0.1", &[][..], "this machine itself"),
        ("192.168.1.2", &[], "this machine itself"),
        ("host.invalid", &[], "cannot find the host host.invalid"),
        (&host, &["--device", "nosuch0"], "no device nosuch0"),
        (&format!("{SERVER}:9"), &[], "no receiver listens"),
        (&format!("[{SERVER6}]"), &["--length", "60"], "--length 80"),
    ] {
        let text = refusal(&send(&lab, host, &[&quick[..], more].concat()));
        assert!(text.contains(words), "{host} {more:?}: {text}");
    }
    // Both sides refuse a wrong code.
    let wrong = receiver.folder.join("wrong");
    std::fs::write(&wrong, "0000-0000-0000-0000\n").expect("written");
    let text = refusal(&send(
        &lab,
        &SERVER.to_string(),
        &["--rate", "100", "--code-file", &wrong.display().to_string()],
    ));
    assert!(text.contains("shows another code"), "{text}");
    receiver.wait_for("wrong code");
    std::fs::write(&wrong, "password\n").expect("written");
    let text = refusal(&send(
        &lab,
        &SERVER.to_string(),
        &["--code-file", &wrong.display().to_string()],
    ));
    assert!(text.contains("invalid code"), "{text}");
    let text = refusal(&send(&lab, &SERVER.to_string(), &[]));
    assert!(text.contains("--code-file"), "{text}");
    // The receiver still waits for the next sender.
    assert_eq!(json(&send(&lab, &host, &quick))["complete"], true);
    // Another server answers.
    let server = lab.node("server").expect("there");
    let listener = server
        .enter(|| std::net::TcpListener::bind((SERVER, 9468)))
        .expect("there")
        .expect("a port");
    let stranger = std::thread::spawn(move || {
        for line in [
            "HTTP/1.1 400 Bad Request\r\n\r\n",
            "{\"say\":\"hello\",\"schema\":\"weir-bench-wires/9\",\"challenge\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}\n",
        ] {
            let (mut stream, _) = listener.accept().expect("a sender");
            let _ = stream.write_all(line.as_bytes());
            let _ = stream.read(&mut [0; 64]);
        }
    });
    let at = format!("{SERVER}:9468");
    let text = refusal(&send(&lab, &at, &quick));
    assert!(text.contains("is not `weir bench receive`"), "{text}");
    let text = refusal(&send(&lab, &at, &quick));
    assert!(
        text.contains("weir-bench-wires/9") && text.contains("same version"),
        "{text}"
    );
    stranger.join().expect("it ends");
    // An impossible receiver.
    let ran = server
        .command(&binary().display().to_string())
        .args(["bench", "receive", "--listen", "192.0.2.1:9467"])
        .output();
    let text = refusal(&ran.expect("weir runs"));
    assert!(text.contains("cannot listen at 192.0.2.1:9467"), "{text}");
    // UDP does not get through.
    drop_udp(&lab, "drop");
    let text = refusal(&send(&lab, &host, &quick));
    assert!(text.contains("no UDP packet arrives"), "{text}");
}

/// The sender's link is slower than the sender: its own queue drops packets, which are not the
/// router's loss.
#[test]
fn what_the_senders_own_queue_drops_was_not_sent() {
    let lab = gateway();
    let receiver = Receiver::start(&lab, &["--once"]);
    let client = lab.node("client").expect("there");
    // 1 Mbit/s of frames of 60 bytes is 2083 a second; the queue holds a hundredth of a second.
    let narrow = "tc qdisc replace dev eth0 root tbf rate 1mbit burst 2000 limit 1500";
    client.run(narrow).expect("a queue");
    let arguments = [
        "--rate",
        "8000",
        "--seconds",
        "2",
        "--json",
        "--code-file",
        &receiver.code_file(),
    ];
    let told = json(&send(&lab, &SERVER.to_string(), &arguments));
    let trial = &told["trials"][0];
    assert_eq!(trial["judgement"], "sender-limit", "{told:#}");
    let [sent, received] = ["sent", "received"].map(|name| of(trial, name));
    assert!((1000.0..6000.0).contains(&sent), "{told:#}");
    assert!((sent - received).abs() < 50.0, "{told:#}");
    // A receiver that serves only the first sender was requested.
    let ended = receiver.process.wait(LIMIT).expect("it ends by itself");
    assert_eq!(ended.code(), Some(0));
}

/// Returns numbers that are equal in each run.
fn noise(seed: u64) -> impl Iterator<Item = u8> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    })
}

#[test]
fn strangers_and_a_second_sender_count_for_nothing() {
    let lab = gateway();
    let receiver = Receiver::start(&lab, &[]);
    let client = lab.node("client").expect("there");
    let code = receiver.code_file();
    let target: SocketAddr = (SERVER, PORT).into();
    let mut command = sender(
        client,
        &SERVER.to_string(),
        &[
            "--rate",
            "1000",
            "--seconds",
            "5",
            "--json",
            "--code-file",
            &code,
        ],
    );
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("weir runs");
    receiver.wait_for("measures");
    let second = ["--rate", "500", "--code-file", &code];
    let text = refusal(&send(&lab, &SERVER.to_string(), &second));
    assert!(text.contains("is measuring with another sender"), "{text}");
    client
        .enter(|| {
            let udp = UdpSocket::bind("0.0.0.0:0").expect("a port");
            for seed in 0..1000u64 {
                let mut octets: Vec<u8> = noise(seed).take(seed as usize % 64).collect();
                if seed % 2 == 0 && octets.len() >= 2 {
                    octets[..2].copy_from_slice(b"wB");
                }
                let _ = udp.send_to(&octets, target);
            }
            for seed in 0..20 {
                let Ok(mut stream) = TcpStream::connect(target) else {
                    continue;
                };
                let octets: Vec<u8> = noise(seed).take(40_000).collect();
                let _ = stream.write_all(&octets);
            }
            for text in [
                "\n",
                "{}\n",
                "{\"say\":\"bye\"}\n",
                "{\"say\":\"trial\",\"run\":1,\"flows\":1,\"length\":60,\"seconds\":1}\n",
            ] {
                let Ok(mut stream) = TcpStream::connect(target) else {
                    continue;
                };
                let _ = stream.write_all(text.as_bytes());
            }
        })
        .expect("inside");
    let told = json(&child.wait_with_output().expect("it ends"));
    let trial = &told["trials"][0];
    assert_eq!(
        (of(trial, "received"), of(trial, "duplicates")),
        (of(trial, "sent"), 0.0),
        "{told:#}"
    );
    receiver.wait_for("not a sender");
    // The port is closed while no measurement runs.
    let server = lab.node("server").expect("there");
    let open = server.run("ss -Hlun").expect("told");
    assert!(!open.contains(&PORT.to_string()), "{open}");
    let told = json(&send(
        &lab,
        &SERVER.to_string(),
        &[
            "--rate",
            "100",
            "--seconds",
            "0.5",
            "--json",
            "--code-file",
            &code,
        ],
    ));
    assert_eq!(told["complete"], true);
}
