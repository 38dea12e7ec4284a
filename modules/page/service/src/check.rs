//! Checks of the page's listeners in `weir check`: addresses without protection.

use std::net::SocketAddr;

use super::config::{MetricsAccess, PageTls, Web};
use super::running::refused;
use runtime::Error;
use runtime::check::Feature;
use runtime::config::Effective;

/// Returns a line for each address that others can eavesdrop on; one if no page can be served.
pub fn check(effective: &Effective, _: Option<&api::Client>) -> Result<Vec<Feature>, Error> {
    Ok(features(effective.of()))
}

fn features(web: &Web) -> Vec<Feature> {
    if !*web.enabled {
        return Vec::new();
    }
    if let Some(error) = refused(web) {
        return vec![Feature {
            name: "web page".into(),
            why_needed: "Shows and changes everything in a browser.".into(),
            detail: Some(format!("no page will be served: {error}")),
            hint: Some(error.hint().to_owned()),
            ..Feature::default()
        }];
    }
    let open = (web.listen.iter()).filter(|listener| !listener.ip().to_canonical().is_loopback());
    let is_encrypted = *web.tls != PageTls::Off;
    open.map(|listener| tls(listener, is_encrypted, &web.metrics))
        .collect()
}

fn tls(listener: &SocketAddr, is_encrypted: bool, metrics: &MetricsAccess) -> Feature {
    let readable = match metrics {
        MetricsAccess::Token(_) => "the password, the token of /metrics and everything on the page",
        MetricsAccess::Off | MetricsAccess::Loopback => "the password and everything on the page",
    };
    Feature {
        name: format!("TLS of the page at {listener}"),
        present: is_encrypted,
        why_needed: "Without TLS, others on the network can read the traffic.".into(),
        detail: (!is_encrypted).then(|| format!("others can read {readable}: [web] has no TLS")),
        hint: (!is_encrypted).then(|| {
            "set tls = \"own\" under [web] and remove `insecure`, or listen on 127.0.0.1 only"
                .to_owned()
        }),
        ..Feature::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::SECTIONS;
    use super::*;
    use runtime::config;

    fn check(text: &str) -> Vec<Feature> {
        let text = format!("[web]\n{text}");
        let effective = config::parse(&SECTIONS, &text, "weir.toml").expect("good");
        features(effective.of())
    }

    #[test]
    fn a_listener_beyond_this_machine_without_tls_is_told() {
        assert_eq!(check(""), []);
        assert_eq!(check("enabled = false\nlisten = [\"0.0.0.0:80\"]\n"), []);
        assert_eq!(
            check("listen = [\"[::1]:9347\", \"[::ffff:127.0.0.1]:9347\"]\n"),
            []
        );
        let refused = check("listen = [\"192.168.1.1:80\"]\n");
        assert!(!refused[0].present && refused.len() == 1, "{refused:?}");
        assert!(
            refused[0]
                .detail
                .as_ref()
                .is_some_and(|why| why.contains("no page will be served"))
        );

        let open = "listen = [\"127.0.0.1:9347\", \"192.168.1.1:80\", \"[::]:80\"]\n";
        let found = check(&format!(
            "{open}insecure = true\nmetrics = \"/etc/weir/token\"\n"
        ));
        let names: Vec<_> = found.iter().map(|feature| &*feature.name).collect();
        assert_eq!(
            names,
            [
                "TLS of the page at 192.168.1.1:80",
                "TLS of the page at [::]:80"
            ]
        );
        for feature in &found {
            assert!(!feature.present && !feature.required);
            let detail = feature.detail.as_deref().unwrap_or_default();
            assert!(detail.contains("the token of /metrics"), "{detail}");
            assert!(
                feature
                    .hint
                    .as_ref()
                    .is_some_and(|hint| hint.contains("tls = \"own\""))
            );
        }
        let encrypted = check(&format!("{open}tls = \"own\"\n"));
        assert!(encrypted.len() == 2 && encrypted.iter().all(|feature| feature.present));
    }
}
