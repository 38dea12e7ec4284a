//! A machine without configuration becomes a router by a user's choices; by IPv6 with a delegated
//! prefix, from networkd over dnsmasq to a client.

use std::process::{Command, Stdio};

use lab::Error;
use lab::namespace::wait_until;
use testing::Directory;
use weir_tests::LIMIT;

use super::DECIDED;
use super::router::{
    FAR, Provider, Router, WAN, ask, lab as scene, lease, say_by, serve, unexpected,
};

/// Prefix that the provider delegates to the router's networks.
const PREFIX: &str = "2001:db8:77:aa00::/56";
/// The host behind the provider.
const FAR6: &str = "[2001:db8:ffff::1]:81";

/// Choices become options, options files, and files a client's path to the Internet. WIDE's dhcp6s
/// delegates a prefix to a DUID only. A client inside forms an address in the prefix and reaches
/// the host behind the provider by TCP.
#[test]
fn what_is_decided_carries_traffic() -> Result<(), Error> {
    let lab = scene()?;
    let (node, far, client) = (lab.node("router")?, lab.node("far")?, lab.node("client")?);
    let _provider = Provider::start(far)?;
    far.run("sysctl -q -w net.ipv6.conf.all.forwarding=1")?;
    far.ip("address add 2001:db8:ffff::1/128 dev lo\naddress add fe80::1/64 dev eth0 nodad\n")?;
    // The client uses autoconfiguration, which hosts of a lab do not by default.
    for (key, value) in [
        ("accept_ra", "2"),
        ("autoconf", "1"),
        ("addr_gen_mode", "0"),
    ] {
        let set = format!("sysctl -q -w net.ipv6.conf.eth0.{key}={value}");
        client.run(&set)?;
    }
    let _host = say_by(far, "TCP6", 81, "echo $SOCAT_PEERADDR")?;
    let folder = Directory::new();
    let start = |name: &str, text: &str, words: &[&str]| {
        let file = folder.join(name);
        std::fs::write(&file, text).map_err(Error::system("write a file"))?;
        let mut command = Command::new(name);
        command.args(words).arg(&file);
        command.arg(if name == "radvd" { "-p" } else { "-P" });
        command.arg(folder.join(format!("{name}.pid")));
        if name == "dhcp6s" {
            command.arg("eth0");
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        far.start(&mut command)
    };
    let _routes = start(
        "radvd",
        "interface eth0 { AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4;\n\
         AdvManagedFlag on; };\n",
        &["--nodaemon", "--logmethod=stderr", "-C"],
    )?;
    // WIDE's server also needs an address: otherwise it denies all requests, and networkd accepts
    // nothing.
    let _delegates = start(
        "dhcp6s",
        &format!(
            "option domain-name-servers 2001:db8:ffff::1;\nhost router {{\n \
             duid 00:02:00:00:ab:11:01:02:03:04:05:06:07:08;\n prefix {PREFIX} 3600;\n \
             address 2001:db8:fffe::2 3600;\n}};\n"
        ),
        &["-f", "-c"],
    )?;
    let router = Router::start(node, &[])?;
    let told = |error| unexpected(format!("{error}\n{}", router.logs()));
    router.write(
        "systemd/networkd.conf",
        "[DHCPv6]\nDUIDType=vendor\nDUIDRawData=00:00:ab:11:01:02:03:04:05:06:07:08\n",
    )?;
    router.write("document.toml", DECIDED)?;
    let said = router
        .setup("import --within 300 /etc/document.toml")
        .map_err(told)?;
    assert!(
        said.contains("The router is 192.168.77.1/24 inside."),
        "{said}"
    );
    router.wait("br-lan", "192.168.77.1/24")?;
    router.wait("eth0", &format!("{WAN}/24"))?;
    router.setup("confirm")?;

    let has = |show: &dyn Fn(&str) -> Result<String, Error>, device: &str| {
        let shown = show(&format!(
            "ip -6 -brief address show dev {device} scope global"
        ))?;
        Ok(shown.contains("2001:db8:77:aa"))
    };
    wait_until("the router has a part of the prefix", LIMIT, || {
        has(&|line| router.run(line), "br-lan")
    })
    .map_err(told)?;
    wait_until("the client has an address of it", LIMIT, || {
        has(&|line| client.run(line), "eth0")
    })
    .map_err(told)?;
    // Adds the route that a provider's router derives from its answer; WIDE's server does not.
    let shown = router.run("ip -6 -brief address show dev eth0 scope link")?;
    let gateway = shown.split_whitespace().nth(2).unwrap_or_default();
    let gateway = gateway.split('/').next().unwrap_or_default();
    far.run(&format!("ip -6 route add {PREFIX} via {gateway} dev eth0"))?;
    let mut seen = None;
    wait_until("the far host answers", LIMIT, || {
        seen = ask(client, FAR6)?;
        Ok(seen.is_some())
    })
    .map_err(told)?;
    let seen = seen.unwrap_or_default();
    assert!(seen.contains("2001:0db8:0077:aa"), "{seen}");
    // Connections from outside to the delegated prefix are refused.
    let inside = say_by(client, "TCP6", 80, "echo inside")?;
    let address = seen.trim_matches(['[', ']']);
    assert!(ask(node, &format!("[{address}]:80"))?.is_some());
    assert_eq!(ask(far, &format!("[{address}]:80"))?, None);
    drop(inside);

    // IPv4 works, too.
    let reaches = || {
        wait_until("the far host answers", LIMIT, || {
            Ok(ask(client, FAR)?.as_deref() == Some(WAN))
        })
        .map_err(told)
    };
    let address = lease(client, "eth0").map_err(told)?;
    assert!(address.starts_with("192.168.77."), "{address}");
    reaches()?;
    assert!(router.read("shadow").contains("root:$6$"), "the password");
    assert_eq!(router.run("hostname")?.trim(), "attic");

    // Only the open port is reachable.
    client.ip("address add 192.168.77.2/24 dev eth0\n")?;
    let _inside = serve(client, 80)?;
    let _own = serve(node, 22)?;
    assert!(
        ask(far, &format!("{WAN}:8080"))?.is_some(),
        "{}",
        router.logs()
    );
    assert_eq!(ask(far, &format!("{WAN}:22"))?, None);

    // A device is blocked from the Internet, and unblocked again.
    let link = client.run("ip -brief link show dev eth0")?;
    let mac = link.split_whitespace().nth(2).unwrap_or_default();
    let blocked =
        |list: &str| format!("format = 1\n[firewall]\nforwards = []\nblocked = [{list}]\n");
    let one = format!("{{ name = \"Telly\", mac = \"{mac}\" }}");
    router.write("document.toml", &blocked(&one))?;
    router.setup("import /etc/document.toml").map_err(told)?;
    router.setup("confirm")?;
    assert_eq!(ask(client, FAR)?, None);
    assert_eq!(ask(far, &format!("{WAN}:8080"))?, None, "closed again");
    router.write("document.toml", &blocked(""))?;
    router.setup("import /etc/document.toml").map_err(told)?;
    reaches()
}
