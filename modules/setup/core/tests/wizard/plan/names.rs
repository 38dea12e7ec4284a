//! Servers of names that the wizard does not offer.

use uci::Package;
use weir_setup_core::choices::{Dns, DnsServer};
use weir_setup_core::plan::Config;
use weir_setup_core::read;

use super::{document, facts, fresh, good, lines};

/// A fresh router with options of its dnsmasq.
fn asking(options: &str) -> Config {
    let config = fresh("24.10");
    Config::new(config.packages().map(|package| match package.name() {
        "dhcp" => {
            let text = format!("config dnsmasq 'main'\n{options}");
            Package::read("dhcp", text.as_bytes()).unwrap()
        }
        _ => package.clone(),
    }))
}

const STUBBY: &str = "\toption noresolv '1'\n\tlist server '/pool.ntp.org/1.1.1.1'\n\
    \tlist server '127.0.0.1#5453'\n\tlist server '::1#5453'\n";

fn asks(text: &str, config: &Config) -> (Vec<String>, Option<String>) {
    let after = good(&document(text), config, &facts(24)).config;
    let servers = after.list("dhcp", "main", "server");
    (servers, after.get("dhcp", "main", "noresolv"))
}

#[test]
fn servers_that_the_wizard_does_not_offer_are_kept() {
    for options in [
        STUBBY,
        "\toption noresolv '1'\n\tlist server '9.9.9.9#53'\n",
        "\toption noresolv '1'\n\tlist server '9.9.9.9'\n\tlist server '127.0.0.1#5453'\n",
        "\toption noresolv '1'\n\toption server '127.0.0.1#5453'\n",
        // dnsmasq has no upstream, or one from another file.
        "\toption noresolv '1'\n\tlist server '/lan/192.168.1.9'\n",
    ] {
        let config = asking(options);
        let kept = Dns {
            server: DnsServer::Kept,
            servers: None,
        };
        assert_eq!(read(&config).dns, Some(kept), "{options}");
        let text = toml::to_string(&read(&config)).unwrap();
        let plan = good(&toml::from_str(&text).unwrap(), &config, &facts(24));
        assert_eq!(lines(&config, &plan.config), [""; 0], "{options}");
    }
    for options in [
        "",
        "\toption noresolv '0'\n",
        "\tlist server '/lan/192.168.1.9'\n",
        "\tlist server '1.1.1.1'\n",
    ] {
        let dns = read(&asking(options)).dns.unwrap();
        assert_eq!(dns.server, DnsServer::Provider, "{options}");
    }
    // Another router keeps its settings.
    let own = asking("\toption noresolv '1'\n\tlist server '9.9.9.9'\n");
    let plan = good(&document("[dns]\nserver = \"kept\""), &own, &facts(24));
    assert_eq!(lines(&own, &plan.config), [""; 0]);
}

#[test]
fn other_servers_replace_all_but_those_of_a_domain() {
    let ntp = "/pool.ntp.org/1.1.1.1".to_owned();
    let alone = Some("1".to_owned());
    let config = asking(STUBBY);
    let own = "[dns]\nserver = \"own\"\nservers = [\"9.9.9.9\"]";
    assert_eq!(
        asks(own, &config),
        (vec![ntp.clone(), "9.9.9.9".to_owned()], alone.clone())
    );
    assert_eq!(
        asks("[dns]\nserver = \"provider\"", &config),
        (vec![ntp.clone()], None)
    );
    assert_eq!(
        asks("[dns]\nserver = \"quad9\"", &config),
        (vec![ntp, "127.0.0.1#5053".to_owned()], alone.clone())
    );
    let beside = asking("\tlist server '8.8.8.8'\n");
    assert_eq!(asks(own, &beside), (vec!["9.9.9.9".to_owned()], alone));
}

/// https-dns-proxy adds its instances to dnsmasq's list at each start, unless an option forbids it.
#[test]
fn proxies_by_hand_do_not_come_back() {
    let text = "config main 'config'\n\toption dnsmasq_config_update '*'\n\
        config https-dns-proxy\n\toption resolver_url 'https://a.example/'\n\
        \toption listen_port '5053'\n";
    let proxy = Package::read("https-dns-proxy", text.as_bytes()).unwrap();
    let asking = asking("\toption noresolv '1'\n\tlist server '127.0.0.1#5053'\n");
    let config = Config::new(asking.packages().cloned().chain([proxy]));
    for server in ["\"provider\"", "\"own\"\nservers = [\"9.9.9.9\"]"] {
        let text = format!("[dns]\nserver = {server}");
        let after = good(&document(&text), &config, &facts(24)).config;
        let update = after.get("https-dns-proxy", "config", "dnsmasq_config_update");
        assert_eq!(update.as_deref(), Some("-"), "{server}");
    }
}
